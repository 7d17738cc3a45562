"""Which units point the same way as the query, where the weights of the vectors are whole numbers?

The same exact cosine as `dense.Dense`, over posting lists: a weight is how often a feature stands in a unit, below 0 where
it stands against it, so the units of one norm can be ranked block by block as BM25 ranks those of one length.
"""
import math
from typing import Any, Callable, Iterable, Mapping, Sequence

from .dense import cosine_of, explained, squared_norm
from .listed import PostingIndex
from .postings import Postings

Counts = Mapping[Any, int]   # feature -> weight, a whole number other than 0


class Counted(PostingIndex):
    """An index over units (unit id, whole-number vector), same contract as `Bm25`. `encode` makes the query's vector."""

    name = "dense"

    def __init__(self, units: Iterable[tuple[str, Counts]] | Postings, encode: Callable[[str], Counts]):
        self.encode = encode
        self.postings = units if isinstance(units, Postings) else Postings(
            (unit_id, listed(vector), squared_norm(vector)) for unit_id, vector in units)
        self.ids = self.postings.ids
        self._set_live(None)

    def usable(self, query: str) -> bool:
        """Whether the query has a vector at all."""
        return bool(self.encode(query))

    def _wanted(self, query: str) -> Counts:
        return self.encode(query)

    def _lists(self, feature: Any) -> Sequence[tuple[int, Any]]:
        return (1, (feature, 1)), (-1, (feature, -1))

    def _part(self, feature: Any, weight: int) -> Callable[[int, int], float]:
        return lambda times, squared: weight * times

    def _total(self, wanted: Counts) -> Callable[[Sequence[float], int], float]:
        norm = squared_norm(wanted)
        return lambda parts, squared: cosine_of(int(sum(parts)), norm, squared)

    def _greatest(self) -> float:
        return 1.0

    def _bound(self, part: float, squared: int) -> float:
        return part / math.sqrt(squared)

    def _unit(self, wanted: Counts) -> float:
        return math.sqrt(squared_norm(wanted))

    def explain(self, query: str, unit_id: str) -> dict | None:
        """As `dense.Dense.explain`."""
        number = self.live_position(unit_id)
        if number is None:
            return None
        wanted = self.encode(query)
        shared = {feature: times for feature in wanted if (times := self.times(feature, number))}
        return explained(wanted, shared, self.postings.sizes[number], self.origins(query))

    def origins(self, query: str) -> dict[Any, list[str]]:
        """feature -> the words of the query that gave rise to it; encoders that can tell say it here."""
        return {}


def listed(vector: Counts) -> list[tuple[Any, int]]:
    """The features of a vector with their signs, each as often as its weight says.

    >>> listed({"x": 2, "y": -1})
    [('x', 1), ('x', 1), ('y', -1)]
    """
    return [sign for feature, weight in vector.items() for sign in [(feature, 1 if weight > 0 else -1)] * abs(weight)]
