"""How long does an engine take to build, and how long for each query?

The only module of the lab that looks at a clock: at that of the processor time of this process, for on a busy machine a
long query is always interrupted and a short one seldom, so that by the clock on the wall the short one would look better
than it is. Queries are asked one at a time, in rounds: a round asks every engine every query once. What a query takes is the
least of its rounds, for whatever else the machine does only adds to it; what it took in the first round is kept apart, for
in later ones an engine may use what it has worked out before.
"""
import math
import time
from typing import Callable, Mapping, NamedTuple, Sequence

Found = list[tuple[str, float]]                  # (unit id, score), best first
Search = Callable[[Sequence[str], int], Found]   # (the terms of a query, k)


# The processor time of all threads; where the system counts it too coarsely for a query, the time that goes by.
CLOCK = "process_time" if time.get_clock_info("process_time").resolution <= 1e-6 else "perf_counter"
_now = getattr(time, CLOCK)


class Built(NamedTuple):
    """An index that can be asked, and what it took to make it."""

    search: Search
    build_seconds: float
    bytes: int | None = None            # of the file if there is one, else of the postings in memory; None if not known
    open_seconds: float | None = None   # from the file to an index that can be asked; None if there is no file
    index: object = None                # what `search` is of, where more is asked of it


class Answers(NamedTuple):
    """What one engine gave, in the order of the queries: times in milliseconds, and what it found."""

    rounds: int
    first: Sequence[float]
    least: Sequence[float]
    found: Sequence[Found]


class Measured(NamedTuple):
    """What was measured of one engine, here or in another Python."""

    engine: str
    formula: str                   # "bm25" or "cosine"
    version: str | None            # None for what has none of its own
    build_seconds: float
    bytes: int | None
    open_seconds: float | None
    answers: Answers


def timed(call: Callable[[], object]) -> tuple[object, float]:
    """(what a call returns, the seconds it took)."""
    start = _now()
    result = call()
    return result, _now() - start


def in_rounds(searches: Mapping[str, Search], queries: Sequence[Sequence[str]], k: int, rounds: int,
              seconds: float) -> dict[str, Answers]:
    """What each engine gives in `rounds` rounds; one that has used up its `seconds` sits out the rest, never the first."""
    taken: dict[str, list[list[float]]] = {name: [] for name in searches}
    found: dict[str, list[Found]] = {}
    for _ in range(rounds):
        for name, search in searches.items():
            if sum(map(sum, taken[name])) <= seconds * 1000:
                asked = [timed(lambda: search(query, k)) for query in queries]
                taken[name].append([1000 * spent for _, spent in asked])
                found.setdefault(name, [results for results, _ in asked])
    return {name: Answers(len(times), times[0], [min(of_query) for of_query in zip(*times)], found[name])
            for name, times in taken.items()}


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that at least this share of the values do not exceed (nearest rank). `values` must not be empty.

    >>> percentile([30, 10, 20, 40], 0.5), percentile([30, 10, 20, 40], 0.95)
    (20, 40)
    """
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
