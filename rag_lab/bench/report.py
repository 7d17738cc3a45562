"""In which order is everything measured, and what stands in the JSON document of a bench?

Engines of this process are built one after the other and asked in common rounds; peers follow, each in a process of its own.
Times and ratios differ from run to run; the corpus, its digest and the agreement do not.
"""
import os
import platform
import tempfile
from typing import Callable, Mapping, NamedTuple

from . import fts5, live_set, peers
from .agreement import TOLERANCE
from .engines import ENGINES
from .measure import CLOCK, Measured, in_rounds
from .rows import FAILED, NOT_AVAILABLE, line, missing, rate, row
from .texts import Texts

SCHEMA = "rag_lab.bench/1"
LIVE_SET = "live set"

Say = Callable[[str], None]
Ours = Mapping[str, Measured]   # formula -> what was measured of the lab's own index


class Options(NamedTuple):
    """How to measure."""

    k: int = 10
    rounds: int = 5
    seconds: int = 30                # an engine that has used them up in queries sits out the remaining rounds
    peer_python: str | None = None   # the path of a Python that has the peers; None for none


def report(texts: Texts, options: Options, say: Say) -> tuple[dict, int]:
    """(the JSON document, its exit code: 1 if scores that ought to be equal are not, or if a peer failed)."""
    with tempfile.TemporaryDirectory(prefix="rag_lab-bench-") as folder:
        rows, narrow, ours = _measure_here(texts, options, folder, say)
        rows += _measure_peers(texts, options, ours, folder, say)
    document = {
        "schema": SCHEMA,
        "python": platform.python_version(),
        "settings": {"k": options.k, "rounds": options.rounds, "seconds": options.seconds, "clock": CLOCK,
                     "tolerance": TOLERANCE, "milliseconds": "of each query, the least of its rounds",
                     "ratios": "theirs / ours"},
        "corpus": _corpus_block(texts),
        "analysis": {"units_per_second": rate(len(texts.units), texts.analysis_seconds),
                     "query_milliseconds": round(1000 * texts.query_analysis_seconds / len(texts.queries), 5)},
        "engines": rows,
        "live_set": narrow,
    }
    return document, 1 if any(map(_at_fault, [*rows, {"status": None, **narrow}])) else 0


def _at_fault(one: dict) -> bool:
    found = one["agreement"]
    return one["status"] == FAILED or found is not None and found["equal_scores"] not in (None, found["queries"])


def _corpus_block(texts: Texts) -> dict:
    tokens = sum(len(words) for _, words in texts.units)
    return {"source": texts.source, "units": len(texts.units), "avg_tokens": round(tokens / len(texts.units), 1),
            "terms": len({term for _, words in texts.units for term in words}), "queries": len(texts.queries),
            "avg_query_tokens": round(sum(map(len, texts.queries)) / len(texts.queries), 1),
            "queries_without_terms": texts.without_terms, "digest": texts.digest()}


def _measure_here(texts: Texts, options: Options, folder: str, say: Say) -> tuple[list[dict], dict, Ours]:
    """(rows, the block of the live set, what the lab's own indexes took)."""
    engines = [engine for engine in ENGINES if engine.name != "fts5" or fts5.available()]
    built = {}
    for engine in engines:
        say(f"building {engine.name} ({engine.formula})")
        built[engine] = engine.build(texts.units, folder)
    view, alone = live_set.narrowed(built[engines[0]].index, texts.units)
    say(f"asking {len(texts.queries)} queries in up to {options.rounds} rounds")
    searches = {engine: built[engine].search for engine in engines} | {LIVE_SET: view.search}
    answers = in_rounds(searches, texts.queries, options.k, options.rounds, options.seconds)
    found, ours, rows = {}, {}, []
    for engine in engines:
        index = built[engine]
        found[engine] = Measured(engine.name, engine.formula, engine.version, index.build_seconds, index.bytes,
                                 index.open_seconds, answers[engine])
        ours.setdefault(engine.formula, found[engine])   # the lab's own stands first
        rows.append(row(found[engine], ours[engine.formula], engine.same_scores, engine.note, len(texts.units)))
    rows += [missing(engine.name, engine.formula, NOT_AVAILABLE, "the SQLite of this Python is built without FTS5")
             for engine in ENGINES if engine not in built]
    for printed in rows:
        say(line(printed))
    return rows, live_set.block(view, alone, answers[LIVE_SET], ours["bm25"].answers, texts.queries, options.k), ours


def _measure_peers(texts: Texts, options: Options, ours: Ours, folder: str, say: Say) -> list[dict]:
    if options.peer_python is None:
        return []
    job, rows = os.path.join(folder, "job.jsonl"), []
    peers.write_job(job, texts, {"k": options.k, "rounds": options.rounds, "seconds": options.seconds})
    for peer in peers.PEERS:
        say(f"asking {peer.name}")
        try:
            found = peers.measure(peer, options.peer_python, job)
            rows.append(row(found, ours[peer.formula], peer.same_scores, peer.note, len(texts.units)))
        except peers.PeerProblem as problem:
            rows.append(missing(peer.name, peer.formula, problem.status, str(problem)))
        say(line(rows[-1]))
    return rows
