"""What can each term of a query add to a score at most, block by block, so that the k best are found without the rest?

Worked out once for a term and a live set, and kept for the next query that holds it. What is done with bounds, `topk` shows.
"""
import functools
from collections import defaultdict
from typing import Callable, Hashable, Mapping, Sequence

from . import topk
from .bits import TOP
from .postings import KEPT_BYTES, Row
from .topk import Formula, Piece, Plan, Scored

FEW_TERMS = 6    # of so many terms a block has few classes
AT_ONCE = 16     # terms of the greatest weight whose sum fits into a lane of a row


class Bounds:
    """The bounds of a view of an index (`listed.PostingIndex`), whose live set stays what it is."""

    def __init__(self, index: "PostingIndex"):
        self._index, self._postings, self._live = index, index.postings, index.live
        self._grid = TOP / AT_ONCE / index._greatest()
        units = len(self._postings.sizes)
        self._plan = functools.lru_cache(1 + KEPT_BYTES // (1 + units // 8))(self._make_plan)
        self._pieces = functools.lru_cache(1 + KEPT_BYTES // (1 + 2 * units))(self._make_pieces)

    def best(self, wanted: Mapping[Hashable, int], k: int, total: Callable[[Sequence[float], int], float],
             unit: float) -> Scored:
        """[(number, score)] of the k best live units, and of those that tie with the last of them; in no order.

        `wanted`: term -> how often it stands in the query; `total` and `unit` as `topk.Formula` has them.
        """
        sizes, formula = self._postings.sizes, Formula(total, unit)
        if len(wanted) <= FEW_TERMS and len(sizes) > topk.PIECE:
            plans = [self._plan(*one) for one in wanted.items()]
            return topk.split(plans, self._postings.blocks, self._live.sets, k, sizes, formula)
        return topk.add_up([self._pieces(*one) for one in wanted.items()], self._grid, k, sizes, formula)

    def df(self, term: Hashable) -> int:
        """In how many live units a term stands."""
        return sum(units.bit_count() for rows in self._rows(term).values() for _, units in rows)

    def _rows(self, term: Hashable) -> dict[int, list[Row]]:
        """{block number: rows of live units}, times below 0 where the term counts against them."""
        found: dict[int, list[Row]] = {}
        for sign, key in self._index._lists(term):
            for place, rows in self._live.rows(self._postings.rows_of(key)).items():
                found.setdefault(place, []).extend((sign * times, units) for times, units in rows)
        return found

    def _make_plan(self, term: Hashable, count: int) -> Plan:
        blocks, sizes, bound = self._postings.blocks, self._postings.sizes, self._index._bound
        part = self._index._part(term, count)
        best, plan = [0.0] * len(blocks), [()] * len(blocks)
        for place, rows in self._rows(term).items():
            size = sizes[blocks[place].start]   # the smallest: there a sum of parts is worth most, if it is above 0
            bounded = [(bound(part(times, size), size), times, units) for times, units in rows]
            plan[place] = tuple(sorted(bounded, reverse=True))
            best[place] = max(0.0, plan[place][0][0])
        return Plan(best, plan, part)

    def _make_pieces(self, term: Hashable, count: int) -> dict[int, Piece]:
        sizes, part = self._postings.sizes, self._index._part(term, count)
        bounds: dict[int, dict[int, float]] = defaultdict(dict)
        parts: dict[int, dict[int, float]] = defaultdict(dict)
        for unit, times in self._index.posting(term).items():
            place, at = divmod(unit, topk.PIECE)
            parts[place][at] = exact = part(times, sizes[unit])
            bounds[place][at] = self._grid * self._index._bound(exact, sizes[unit])
        return {place: topk.piece_of(bounds[place], parts[place], min(topk.PIECE, len(sizes) - place * topk.PIECE))
                for place in parts}
