"""Which units share surface features with the query, seen through 512 hashed buckets?

The signed hashing trick (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning"): each term adds
+1 or -1 to one of 512 buckets, and units are ranked by the cosine of the bucket vectors. Terms of CJK text are character
pairs. Not an embedding and not semantic: it sees shared surface and chance collisions, and `explain` shows which.
"""
import functools
import hashlib
import math
from collections import Counter
from typing import Callable, Iterable, Mapping

from .index import LiveIndex, Unit, best_first, sorted_units
from .text import terms

DIMENSIONS = 512


@functools.lru_cache(maxsize=1 << 20)
def bucket(term: str) -> tuple[int, int]:
    """(bucket in 0..511, sign +1 or -1) of a term: BLAKE2b of its UTF-8 bytes, 8 bytes, read big-endian.

    The bucket is the value modulo 512, the sign its top bit. The same in every process, unlike the built-in `hash`.
    """
    value = int.from_bytes(hashlib.blake2b(term.encode("utf-8"), digest_size=8).digest(), "big")
    return value % DIMENSIONS, 1 if value >> 63 else -1


def embed(unit_terms: Iterable[str]) -> dict[int, int]:
    """{bucket: signed count} of a bag of terms, buckets that cancel out left away, in bucket order."""
    vector: Counter[int] = Counter()
    for term, count in Counter(unit_terms).items():
        place, sign = bucket(term)
        vector[place] += sign * count
    return {place: vector[place] for place in sorted(vector) if vector[place]}


def squared_norm(vector: Mapping[int, int]) -> int:
    """Sum of the squared counts, a whole number."""
    return sum(count * count for count in vector.values())


def cosine(one: Mapping[int, int], other: Mapping[int, int]) -> float:
    """dot / sqrt(|one|^2 |other|^2), in [-1, 1]; 0.0 where a vector is empty. Whole numbers until the one division.

    >>> cosine({1: 1}, {1: 2}), cosine({1: 1}, {1: -3}), cosine({1: 1}, {})
    (1.0, -1.0, 0.0)
    """
    scale = squared_norm(one) * squared_norm(other)
    dot = sum(count * other.get(place, 0) for place, count in one.items())
    return dot / math.sqrt(scale) if scale else 0.0


class Hashed(LiveIndex):
    """A hashed-vector index over units (unit id, terms), with the same contract as `Bm25`."""

    name = "dense"

    def __init__(self, units: Iterable[Unit], analyze: Callable[[str], list[str]] = terms):
        self.analyze = analyze
        self.ids = []
        self.squared_norms: list[int] = []     # position -> |vector|^2
        self.buckets: list[dict[int, int]] = [{} for _ in range(DIMENSIONS)]  # bucket -> {position: signed count}
        for position, (unit_id, unit_terms) in enumerate(sorted_units(units)):
            vector = embed(unit_terms)
            self.ids.append(unit_id)
            self.squared_norms.append(squared_norm(vector))
            for place, count in vector.items():
                self.buckets[place][position] = count
        self._set_live(self.ids)

    def search(self, query: str, k: int | None = 5) -> list[tuple[str, float]]:
        """[(unit id, cosine)] of the `k` best live units with a cosine above 0 (all for None), equal ones in id order.

        A query or unit without terms has a zero vector and matches nothing. Raises `UsageError` for k < 1.
        """
        wanted = embed(self.analyze(query))
        norm = squared_norm(wanted)
        dots: Counter[int] = Counter()    # position -> dot product, a whole number
        for place, count in wanted.items():
            for at, other in self.buckets[place].items():
                dots[at] += count * other
        scored = ((self.ids[at], dot / math.sqrt(norm * self.squared_norms[at]))
                  for at, dot in dots.items() if dot > 0 and at in self.live)
        return best_first(scored, k)

    def explain(self, query: str, unit_id: str) -> dict | None:
        """Where the cosine of a live unit comes from; None if the unit is not live. The parts sum to the cosine.

        {score, query_norm, unit_norm, buckets: [{bucket, query_terms, query, unit, part}]}, shared buckets only. Compare
        `query_terms` with the text: a shared bucket without a shared term is a collision.
        """
        at = self.live_position(unit_id)
        if at is None:
            return None
        query_terms = list(dict.fromkeys(self.analyze(query)))
        wanted = embed(self.analyze(query))
        scale = math.sqrt(squared_norm(wanted) * self.squared_norms[at])
        rows = [{"bucket": place, "query_terms": [term for term in query_terms if bucket(term)[0] == place],
                 "query": count, "unit": self.buckets[place][at], "part": count * self.buckets[place][at] / scale}
                for place, count in wanted.items() if at in self.buckets[place]]
        dot = sum(row["query"] * row["unit"] for row in rows)
        return {"score": dot / scale if scale else 0.0, "query_norm": math.sqrt(squared_norm(wanted)),
                "unit_norm": math.sqrt(self.squared_norms[at]), "buckets": rows}
