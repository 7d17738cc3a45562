"""Which units share surface features with the query, seen through 512 hashed buckets?

The signed hashing trick (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning"): each term adds
+1 or -1 to one of 512 buckets, and units are ranked by the cosine of the bucket vectors. Terms of CJK text are character
pairs. Not an embedding and not semantic: it sees shared surface and chance collisions, and `explain` shows which.
"""
import functools
import hashlib
from collections import Counter
from typing import Callable, Iterable

from .counted import Counted
from .index import Unit
from .postings import Postings
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


class Hashed(Counted):
    """A hashed-vector index over units (unit id, terms), with the same contract as `Bm25`."""

    def __init__(self, units: Iterable[Unit] | Postings, analyze: Callable[[str], list[str]] = terms):
        self.analyze = analyze
        vectors = units if isinstance(units, Postings) else ((unit_id, embed(unit_terms)) for unit_id, unit_terms in units)
        super().__init__(vectors, lambda query: embed(analyze(query)))

    def origins(self, query: str) -> dict[int, list[str]]:
        """bucket -> the query terms in it. Compare them with the text: a shared bucket without a shared term is a collision."""
        found: dict[int, list[str]] = {}
        for term in dict.fromkeys(self.analyze(query)):
            found.setdefault(bucket(term)[0], []).append(term)
        return found
