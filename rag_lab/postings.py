"""Which units hold a term, and how often? Kept so that a search can take in a whole block of units at once.

Units are numbered by size (BM25: tokens; cosine: squared norm), those of one size by id. So in a block of one size a term
adds the same to every unit that holds it equally often, and of the units that hold the same terms equally often the first
are the best. A posting list holds a unit as many times as the term stands in it. For small corpora too: it is a dictionary
of lists.
"""
import bisect
import functools
import gc
from collections import Counter, defaultdict
from itertools import compress
from typing import Callable, Hashable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from .index import Selection, sorted_units

SMALLEST, LARGEST = 1 << 12, 1 << 15   # units of a block: a size with so many of them has blocks of its own
SPREAD = 1.1                           # how far apart the sizes of a shared block may lie
SPARSE = 16                            # units of which one may stand in a list that is still told as a list, not as a set
KEPT_BYTES = 1 << 27                   # memory for the sets of the terms that were asked for last

Row = tuple[int, int]                  # (how often a term stands, the set of the units of a block that hold it so often)


class Block(NamedTuple):
    """The units from `start` up to `end`, in order of size and id."""

    start: int
    end: int
    even: bool   # whether all have one size


def cut_blocks(sizes: Sequence[int], start: int = 0) -> list[Block]:
    """Blocks over units of rising size, the first of which is number `start`.

    A size that many units have gets blocks of its own; sizes that few have share one, as long as they lie close together.

    >>> cut_blocks([3, 3, 4, 9])
    [Block(start=0, end=2, even=True), Block(start=2, end=3, even=True), Block(start=3, end=4, even=True)]
    """
    blocks, at = [], 0
    while at < len(sizes):
        end = bisect.bisect_right(sizes, sizes[at], at)
        if end - at < SMALLEST:
            end = max(end, min(bisect.bisect_right(sizes, sizes[at] * SPREAD, at), at + SMALLEST))
        end = min(end, at + LARGEST)
        blocks.append(Block(start + at, start + end, sizes[at] == sizes[end - 1]))
        at = end
    return blocks


class Postings:
    """The units of an index with their sizes and blocks, and a posting list for each term. It never changes."""

    def __init__(self, units: Iterable[tuple[str, Iterable[Hashable], int]], by_size: bool = True):
        """`units`: (unit id, terms with repeats, size). Without `by_size`, a unit's size has no part in its score, and units
        are numbered by id. Raises `UsageError` for an id that is no string or stands twice."""
        collecting = gc.isenabled()
        gc.disable()   # millions of objects are made and none thrown away: looking for garbage would take most of the time
        try:
            ordered = sorted_units(units)
            if by_size:
                ordered.sort(key=lambda unit: unit[2])
            self.ids: Sequence[str] = [unit_id for unit_id, _, _ in ordered]
            self.sizes: Sequence[int] = [size for _, _, size in ordered]
            self.blocks = cut_blocks(self.sizes if by_size else [0] * len(ordered))
            lists = defaultdict(list)
            for number, (_, terms, _) in enumerate(ordered):
                for term in terms:
                    lists[term].append(number)
            self.lists: Mapping[Hashable, Sequence[int]] = dict(lists)
        finally:
            if collecting:
                gc.enable()
        self._keep_rows()

    def _keep_rows(self) -> None:
        kept = 1 + KEPT_BYTES // (1 + len(self.sizes) // 8)
        self.rows_of = functools.lru_cache(kept)(self._rows_of)

    def terms(self) -> Iterable[Hashable]:
        """All terms that have a posting list."""
        return self.lists.keys()

    def list_of(self, term: Hashable) -> Sequence[int]:
        """The units that hold a term, in rising order, each as often as the term stands in it; empty if none does."""
        return self.lists.get(term, ())

    def vocabulary(self, live: "Live", df: Callable[[Hashable], int]) -> int:
        """How many different terms the live units hold. `df` would tell in how many of them a term stands."""
        if live.everything:
            return len(self.lists)
        return sum(any(map(live.flags.__getitem__, units)) for units in self.lists.values())

    def number(self, unit_id: str) -> int | None:
        """The number of a unit; None if there is none of that id."""
        return self._numbers.get(unit_id)

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        return {unit_id: number for number, unit_id in enumerate(self.ids)}

    def _rows_of(self, term: Hashable) -> dict[int, tuple[Row, ...]]:
        """{block number: rows, the most frequent first}, the blocks that hold the term only."""
        units, rows = self.list_of(term), defaultdict(list)
        for times, members in by_times(units, len(self.sizes)):
            for place, here in cut(members, self.blocks):
                rows[place].append((times, here))
        return {place: tuple(found) for place, found in rows.items()}


def by_times(units: Sequence[int], size: int) -> Iterator[tuple[int, Sequence[int] | int]]:
    """(how often, the units that stand so often in a posting list), the most frequent first.

    The units come in rising order, or as a set where they are many of `size`.
    """
    if len(units) * SPARSE > size:
        from .bits import tallied   # here, for a small corpus does without
        try:
            yield from tallied(units, size, SPARSE)
            return
        except ValueError:          # more often in one unit than a byte can tell
            pass
    groups = defaultdict(list)
    for unit, times in counts(units).items():
        groups[times].append(unit)
    yield from sorted(groups.items(), reverse=True)


def cut(members: Sequence[int] | int, blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """(block number, the members that lie in it as a set, its first unit being 0) for each block that holds any."""
    from .bits import set_of
    if isinstance(members, int):
        for place, block in enumerate(blocks):
            if here := (members >> block.start) & ((1 << (block.end - block.start)) - 1):
                yield place, here
        return
    at = 0
    while at < len(members):
        place = bisect.bisect_right(blocks, members[at], key=lambda block: block.start) - 1
        block = blocks[place]
        end = bisect.bisect_left(members, block.end, at)
        yield place, set_of([unit - block.start for unit in members[at:end]])
        at = end


def counts(units: Sequence[int]) -> dict[int, int]:
    """{unit: how often the term stands in it} of a posting list.

    >>> counts([4, 7, 7])
    {4: 1, 7: 2}
    """
    once = dict.fromkeys(units, 1)
    return once if len(once) == len(units) else dict(Counter(units))


class Live:
    """The units that take part; the others, hidden or deleted, might as well not be there."""

    def __init__(self, postings: Postings, flags: bytes | None = None, selection: Selection | None = None):
        """`flags`: a byte of 0 or 1 for each unit; without them, all are live. `selection`: what told them, if not ids."""
        self.selection = selection
        self.everything = flags is None or 0 not in flags
        self.flags = bytes([1]) * len(postings.sizes) if self.everything else flags
        self.count = self.flags.count(1)
        self._postings = postings

    @functools.cached_property
    def total_size(self) -> int:
        """The sizes of the live units, summed."""
        sizes = self._postings.sizes
        return sum(sizes if self.everything else compress(sizes, self.flags))

    @functools.cached_property
    def sets(self) -> list[int]:
        """Block number -> its live units."""
        from .bits import set_of_flags   # here, for a small corpus does without
        return [set_of_flags(self.flags[block.start:block.end]) for block in self._postings.blocks]

    def rows(self, rows: Mapping[int, tuple[Row, ...]]) -> Mapping[int, tuple[Row, ...]]:
        """The same rows with live units only; rows and blocks that have none are left away."""
        if self.everything:
            return rows
        kept = ((place, tuple((times, left) for times, units in here if (left := units & self.sets[place])))
                for place, here in rows.items())
        return {place: here for place, here in kept if here}
