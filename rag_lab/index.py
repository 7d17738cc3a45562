"""What do the two indexes have in common? Their numbering, their live set, and the order of their results.

Units are numbered by what they are, never by the order in which they came. Results stand by falling score, equal scores by
id in code-point order. An index never changes: `over` gives another view of the same postings, and one kept from before a
deletion still answers from before it.
"""
import heapq
from typing import Iterable, Self

from .errors import UsageError, whole_number


class Selection:
    """A live set that is told by other means than a list of ids, and never changes; see `listed.PostingIndex`."""


class LiveIndex:
    """Units (unit id, terms) under their numbers, and the set of those that are live. `Bm25` and `Hashed` build on it."""

    name: str         # the channel it serves
    ids: list[str]    # number -> unit id, in an order that depends on the units alone

    def usable(self, query: str) -> bool:
        """Whether the query holds anything that this index could find."""
        raise NotImplementedError

    def search(self, query: str, k: int | None = 5) -> list[tuple[str, float]]:
        """[(unit id, score)] of the `k` best live units (all for None), best first, equal scores in id order."""
        raise NotImplementedError

    def explain(self, query: str, unit_id: str) -> dict | None:
        """Where the score of a live unit comes from, in parts that sum to it; None if the unit is not live."""
        raise NotImplementedError

    def over(self, live_ids: Iterable[str] | Selection) -> Self:
        """The same index with another live set: all statistics and candidates come from it. Unknown ids are passed over."""
        if live_ids is self.live_ids and isinstance(live_ids, (tuple, Selection)):   # it cannot have changed since
            return self
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)   # the postings are shared, never copied
        other._set_live(live_ids)
        return other

    def _set_live(self, live_ids: Iterable[str]) -> None:
        """Take `live_ids` as the live set; subclasses derive their statistics from it here."""
        wanted = frozenset(live_ids)
        self.live_ids = live_ids
        self.live = frozenset(at for at, unit_id in enumerate(self.ids) if unit_id in wanted)  # positions; for membership

    def live_position(self, unit_id: str) -> int | None:
        """The number of a live unit; None if there is none of that id."""
        at = self.ids.index(unit_id) if unit_id in self.ids else None
        return at if at in self.live else None


Unit = tuple[str, Iterable[str]]   # (unit id, its terms with repeats, or a Counter of them)


def sorted_units(units: Iterable[Unit]) -> list[Unit]:
    """The units by id. Raises `UsageError` for an id that is not a string or stands twice."""
    found = list(units)
    for unit_id, *_ in found:
        if not isinstance(unit_id, str):
            raise UsageError(f"unit id {unit_id!r} is not a string; write it as one before it enters an index")
    found.sort(key=lambda unit: unit[0])
    for (one, *_), (other, *_) in zip(found, found[1:]):
        if one == other:
            raise UsageError(f"unit id {one!r} stands twice; ids must differ")
    return found


def best_first(scored: Iterable[tuple[str, float]], k: int | None) -> list[tuple[str, float]]:
    """The `k` best of (id, score), or all for None: by falling score, equal scores by id.

    Raises `UsageError` for k < 1.

    >>> best_first([("b", 1.0), ("a", 1.0), ("c", 2.0)], 2)
    [('c', 2.0), ('a', 1.0)]
    """
    def order(row):
        """By falling score, then by id."""
        return -row[1], row[0]

    found = list(scored)
    if k is None or len(found) <= 4 * whole_number("k", k, 1):
        return sorted(found, key=order)[:k]
    return heapq.nsmallest(k, found, key=order)
