"""Which of its units does an index over posting lists return, and in which order?

The k best without scoring the rest where there are many (`bounds`), one by one where there are few; the results are the
same. What a term adds to a score, and what the sum of that is worth, `bm25` and `counted` say.
"""
import bisect
import functools
from typing import Callable, Hashable, Iterable, Mapping, Sequence

from .errors import whole_number
from .index import LiveIndex, Selection, best_first
from .postings import KEPT_BYTES, Live, Postings, counts

FEW_POSTINGS = 512   # so many, or those of so many units, are scored one by one: to bound them would cost more
SHORT = 32           # postings of a list of which many are kept
KEPT_SHORT, KEPT_LONGER = 1 << 15, 1 << 12   # so many short lists are kept with their parts, and so many up to FEW_POSTINGS
MOST_REPEATS = 15    # of one term in a query; beyond, its part would not fit into a lane of a row
MOST_TERMS = 1000    # beyond, the rows of so many would be rounded until a lane tells nothing


class PostingIndex(LiveIndex):
    """Which units are best is decided here, what a term adds to a score by `Bm25` and `Counted`."""

    postings: Postings
    live: Live

    def _wanted(self, query: str) -> dict[Hashable, int]:
        """term -> how often it stands in the query; below 0 where it takes away from a score."""
        raise NotImplementedError

    def _lists(self, term: Hashable) -> Sequence[tuple[int, Hashable]]:
        """(sign, key) of the posting lists of a term: of a signed one, where it counts for and where against a unit."""
        return ((1, term),)

    def _part(self, term: Hashable, count: int) -> Callable[[int, int], float]:
        """(how often it stands in a unit, size of the unit) -> what a term adds that stands `count` times in the query.

        It rises with the one and falls with the other; below 0 for a term that takes away.
        """
        raise NotImplementedError

    def _total(self, wanted: Mapping[Hashable, int]) -> Callable[[Sequence[float], int], float]:
        """(the parts of some terms, size of the unit) -> score."""
        raise NotImplementedError

    def _bound(self, part: float, size: int) -> float:
        """A part in the measure in which sums of parts may be compared between units of different sizes."""
        return part

    def _greatest(self) -> float:
        """The most that a term which stands once in a query can add to a unit, in that measure."""
        raise NotImplementedError

    def _unit(self, wanted: Mapping[Hashable, int]) -> float:
        """How many times a score that measure is."""
        return 1.0

    def _set_live(self, live_ids: Iterable[str] | Selection | None) -> None:
        """Take these units as the live set, all for None."""
        self.live_ids = live_ids
        flags = None if live_ids is None else self._flags(live_ids)
        self.live = Live(self.postings, flags, live_ids if isinstance(live_ids, Selection) else None)
        self._derive()

    def _derive(self) -> None:
        """Start afresh with all that follows from the live set; subclasses derive their statistics here."""
        kept = 1 + KEPT_BYTES // (1 + len(self.postings.sizes) // 8)
        self.df = functools.lru_cache(kept)(self._df)
        self._shortest = functools.lru_cache(KEPT_SHORT)(self._make_parts)
        self._short = functools.lru_cache(KEPT_LONGER)(self._make_parts)
        self.__dict__.pop("_bounds", None)   # of the old live set

    def _flags(self, live_ids: Iterable[str] | Selection) -> bytes | None:
        """A byte of 0 or 1 for each unit; None if all are live."""
        if isinstance(live_ids, Selection):
            return live_ids.flags(self.postings)
        flags = bytearray(len(self.postings.sizes))
        for number in map(self.postings.number, live_ids):
            if number is not None:
                flags[number] = 1
        return bytes(flags)

    def live_position(self, unit_id: str) -> int | None:
        """The number of a live unit; None if there is none of that id."""
        number = self.postings.number(unit_id)
        return number if number is not None and self.live.flags[number] else None

    def posting(self, term: Hashable) -> dict[int, int]:
        """{number: how often the term stands there} of the live units that hold a term."""
        flags = self.live.flags
        return {unit: sign * times for sign, key in self._lists(term)
                for unit, times in counts(self.postings.list_of(key)).items() if flags[unit]}

    def times(self, term: Hashable, number: int) -> int:
        """How often a term stands in a unit."""
        lists = ((sign, self.postings.list_of(key)) for sign, key in self._lists(term))
        return sum(sign * (bisect.bisect_right(units, number) - bisect.bisect_left(units, number)) for sign, units in lists)

    def _df(self, term: Hashable) -> int:
        """In how many live units a term stands."""
        if self._length(term) <= FEW_POSTINGS:
            return len(self.posting(term))
        return self._bounds.df(term)

    def _length(self, term: Hashable) -> int:
        return sum(len(self.postings.list_of(key)) for _, key in self._lists(term))

    def search(self, query: str, k: int | None = 5) -> list[tuple[str, float]]:
        """[(unit id, score)] of the `k` best live units (all for None), best first, equal scores in id order.

        Units that share no term with the query are not among them. Raises `UsageError` for k < 1.
        """
        wanted = self._wanted(query)
        found = {term: df for term in wanted if (df := self.df(term))}
        known = {term: wanted[term] for term in found}
        total = self._total(wanted)
        if k is None or whole_number("k", k, 1) and self._few(known, sum(found.values())):
            scored = self._one_by_one(known, found, k, total)
        else:
            scored = self._bounds.best(known, min(k, self.live.count), total, self._unit(wanted))
        ids = self.ids
        return best_first([(ids[number], score) for number, score in scored if score > 0], k)

    def _few(self, known: Mapping[Hashable, int], postings: int) -> bool:
        """Whether the units that hold these terms are few enough, or the terms too many, for bounds to be worth it."""
        return (postings <= FEW_POSTINGS or self.live.count <= FEW_POSTINGS or len(known) > MOST_TERMS
                or max(known.values()) > MOST_REPEATS or -min(known.values()) > MOST_REPEATS)

    @functools.cached_property
    def _bounds(self) -> "Bounds":
        from .bounds import Bounds   # here, for a small corpus does without
        return Bounds(self)

    def _one_by_one(self, known: Mapping[Hashable, int], dfs: Mapping[Hashable, int], k: int | None,
                    total) -> list[tuple[int, float]]:
        """[(number, score)] of the live units that hold one of these terms; of those among the k best if `k` is given.

        Which these are, plain sums tell but for their rounding; exact scores are made of those alone that come so far.
        """
        columns, sizes = [self._column(term, count, dfs[term]) for term, count in known.items()], self.postings.sizes
        columns.sort(key=len)
        sums = dict(columns[-1]) if columns else {}   # the longest as a whole
        get = sums.get
        for column in columns[:-1]:
            for number, part in column.items():
                sums[number] = get(number, 0.0) + part
        numbers: Iterable[int] = sums
        if k is not None and len(sums) > 2 * k:
            worths = self._worths(sums)
            kth = sorted(worths.values())[-k]
            numbers = [number for number, worth in worths.items() if worth >= kth - abs(kth) * 1e-9]
        return [(number, total([column[number] for column in columns if number in column], sizes[number]))
                for number in numbers]

    def _worths(self, sums: Mapping[int, float]) -> Mapping[int, float]:
        """Sums of parts, by unit, in the measure in which units of different sizes may be compared."""
        sizes = self.postings.sizes
        return {number: self._bound(added, sizes[number]) for number, added in sums.items()}

    def _column(self, term: Hashable, count: int, df: int) -> dict[int, float]:
        """{number: what a term adds to its score} of the `df` live units that hold a term; kept if they are few."""
        make = self._shortest if df <= SHORT else self._short if df <= FEW_POSTINGS else self._make_parts
        return make(term, count)

    def _make_parts(self, term: Hashable, count: int) -> dict[int, float]:
        part, sizes = self._part(term, count), self.postings.sizes
        return {number: part(times, sizes[number]) for number, times in self.posting(term).items()}
