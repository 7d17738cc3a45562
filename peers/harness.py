"""How is a peer measured? As `python -m rag_lab bench` measures the lab's own engines, in a process of its own.

A script `peer_NAME.py` gives `run` a function that builds an index. The argument of the script is a JSONL file: a row
{"k", "rounds", "seconds", "queries"}, then a row [unit id, terms] for each unit, in id order. One JSON document comes out.
Nothing here is part of the package, and the package imports nothing of it.
"""
import contextlib
import json
import sys
import time


# As in rag_lab.bench.measure: the processor time of all threads, where the system counts it finely enough.
now = time.process_time if time.get_clock_info("process_time").resolution <= 1e-6 else time.perf_counter


class LeftOut(Exception):
    """Raised by a builder that would need too much; the message says of what."""


def timed(call):
    """(what a call returns, the seconds it took)."""
    start = now()
    result = call()
    return result, now() - start


def run(build):
    """Measure and print. `build(units)` gives a dictionary:

    version, build_seconds, bytes, open_seconds   (None for what there is not)
    ask(terms, k)                                 what is timed: an answer
    found(answer)                                 [(unit id, score)] of it, best first; not timed
    """
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.loads(next(file))
        units = [json.loads(row) for row in file]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            document = measured(build(units), job)
    except ModuleNotFoundError as error:
        document = {"problem": ["not installed", f"this Python has no module {error.name}"]}
    except LeftOut as reason:
        document = {"problem": ["left out", str(reason)]}
    print(json.dumps(document))


def measured(peer, job):
    """The document of a peer that could be built."""
    rounds, results = [], None
    while len(rounds) < job["rounds"] and sum(map(sum, rounds)) <= 1000 * job["seconds"]:
        asked = [timed(lambda: peer["ask"](terms, job["k"])) for terms in job["queries"]]
        rounds.append([1000 * spent for _, spent in asked])
        results = results or [peer["found"](answer) for answer, _ in asked]
    return {"problem": None, "version": peer["version"], "build_seconds": peer["build_seconds"], "bytes": peer["bytes"],
            "open_seconds": peer["open_seconds"], "rounds": len(rounds), "first_milliseconds": rounds[0],
            "milliseconds": [min(times) for times in zip(*rounds)],
            "results": [[pair for pair in found if pair[1] > 1e-6] for found in results]}   # no score, not found
