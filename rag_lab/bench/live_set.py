"""Does a search become slower where only one unit in a thousand may be found?

The same postings under another live set, asked the same queries. What it finds has to be what an index over these units
alone finds, score for score: the others might as well not be there.
"""
from typing import Sequence

from ..bm25 import Bm25
from .agreement import agreement
from .engines import Units
from .measure import Answers, Built, timed
from .rows import ratio, times_block

ONE_IN = 1000


def narrowed(index: Bm25, units: Units) -> tuple[Built, Bm25]:
    """(the index with one unit in a thousand live, an index over these units alone)."""
    kept = sorted(units)[::ONE_IN]
    view, seconds = timed(lambda: index.over([unit_id for unit_id, _ in kept]))
    return Built(view.search, seconds), Bm25(kept, analyze=list)


def block(view: Built, alone: Bm25, narrow: Answers, everything: Answers, queries: Sequence[list[str]], k: int) -> dict:
    """What is printed of it; `ratios` are to the same index with all units live."""
    expected = [alone.search(query, k) for query in queries]
    times, whole = times_block(narrow), times_block(everything)
    return {"one_in": ONE_IN, "units": len(alone.ids), "set_seconds": round(view.build_seconds, 6), **times,
            "ratios": {name: ratio(times["milliseconds"][name], whole["milliseconds"][name]) for name in ("median", "p95")},
            "agreement": agreement(expected, narrow.found, comparable=True)}
