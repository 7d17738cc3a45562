"""Which units hold the words of the query, weighed by how rare and how frequent they are?

BM25 (Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework"), with the IDF that is never negative (the
one of Lucene). N, df and avgdl are counted over the live units alone: a hidden unit moves no score.
Not for synonyms: a unit that shares no term with the query is not found.
"""
import functools
import math
from collections import Counter
from typing import Callable, Iterable, Mapping, Self, Sequence

from .errors import UsageError
from .index import Unit
from .listed import PostingIndex
from .postings import Postings
from .text import terms


def idf(n: int, df: int) -> float:
    """ln(1 + (n - df + 0.5) / (df + 0.5)): n live units, df of them with the term. Positive for every df in 0..n.

    Source: Lucene's BM25Similarity.

    >>> round(idf(30, 1), 6), round(idf(30, 30), 6)
    (3.028522, 0.016261)
    """
    return math.log(1 + (n - df + 0.5) / (df + 0.5))


def saturation(tf: int, length: int, avgdl: float, k1: float, b: float) -> float:
    """tf (k1 + 1) / (tf + k1 (1 - b + b length / avgdl)): how much `tf` occurrences count, in [0, k1 + 1).

    Source: Robertson and Zaragoza 2009, equation 3.15. `length` and `avgdl` are in tokens.

    >>> saturation(1, 10, 10.0, k1=1.2, b=0.75)
    1.0
    """
    return tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / avgdl))


class Bm25(PostingIndex):
    """A lexical index over units (unit id, terms). `search` ranks, `explain` shows the parts of one score."""

    name = "bm25"

    def __init__(self, units: Iterable[Unit] | Postings, k1: float = 1.2, b: float = 0.75,
                 analyze: Callable[[str], list[str]] = terms):
        if not (isinstance(k1, (int, float)) and 0 <= k1 <= 1e100):   # beyond, tf (k1 + 1) overflows one day
            raise UsageError(f"k1 is {k1!r}; it must be a number of at least 0 and at most 1e100")
        if not (isinstance(b, (int, float)) and 0 <= b <= 1):
            raise UsageError(f"b is {b!r}; it must be a number between 0 and 1")
        self.k1, self.b, self.analyze = k1, b, analyze
        self.postings = postings_of(units, k1 * b > 0) if not isinstance(units, Postings) else units
        self.ids = self.postings.ids
        self.given: "Statistics | None" = None   # statistics to rank under instead of those of the live units
        self._set_live(None)

    def under(self, statistics: "Statistics") -> Self:
        """The same units, ranked under the statistics of a larger collection that they belong to (see `shards`), also `over`
        another live set.

        Raises `UsageError` if there are fewer units or tokens in the statistics than among the live units; a search does so
        for the df of its terms.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)   # the postings and the live set are shared, never copied
        other.given = statistics
        other._derive()
        return other

    def _derive(self) -> None:
        super()._derive()
        self.__dict__.pop("vocabulary_size", None)   # cached, and of the old live set
        self.n, self.total_tokens = self.live.count, self.live.total_size
        if self.given is not None:
            self.n = _at_least("n", self.given.n, self.n)
            self.total_tokens = _at_least("total_tokens", self.given.total_tokens, self.total_tokens)
        self.avgdl = self.total_tokens / self.n if self.n else 0.0
        self.saturation = functools.lru_cache(1 << 16)(self._saturation)

    @functools.cached_property
    def vocabulary_size(self) -> int:
        """How many different terms the live units hold."""
        return self.postings.vocabulary(self.live, self.df)

    def _df(self, term: str) -> int:
        held = super()._df(term)
        return held if self.given is None else _at_least(f"df of {term!r}", self.given.df.get(term, 0), held)

    def usable(self, query: str) -> bool:
        """Whether the query holds any term at all."""
        return bool(self.analyze(query))

    def idf(self, term: str) -> float:
        """The IDF of a term over the live units, above 0 also for a term that none of them holds."""
        return idf(self.n, self.df(term))

    def _saturation(self, tf: int, length: int) -> float:
        return saturation(tf, length, self.avgdl, self.k1, self.b)

    def known(self, query_terms: Iterable[str]) -> list[str]:
        """The different terms among `query_terms` that some live unit holds, in the order of the query."""
        return [term for term in dict.fromkeys(query_terms) if self.df(term)]

    def _wanted(self, query: str) -> dict[str, int]:
        return Counter(self.analyze(query))

    def _part(self, term: str, count: int) -> Callable[[int, int], float]:
        weight = count * self.idf(term)
        return lambda tf, length: weight * self.saturation(tf, length)

    def _greatest(self) -> float:
        return idf(self.n, 0) * (self.k1 + 1)

    def _worths(self, sums: Mapping[int, float]) -> Mapping[int, float]:
        return sums

    def _total(self, wanted: Mapping[str, int]) -> Callable[[Sequence[float], int], float]:
        # fsum rounds once, so the order of the query's words cannot move a score or break a tie.
        return lambda parts, length: math.fsum(parts)

    def explain(self, query: str, unit_id: str) -> dict | None:
        """Where the score of a live unit comes from; None if the unit is not live. The parts sum to the score.

        {score, n, avgdl, length, terms: [{term, count, tf, df, idf, saturation, part}]}
        """
        number = self.live_position(unit_id)
        if number is None:
            return None
        length, rows = self.postings.sizes[number], []
        for term, count in self._wanted(query).items():
            tf, weight = self.times(term, number), self.idf(term)
            share = self.saturation(tf, length) if tf else 0.0
            rows.append({"term": term, "count": count, "tf": tf, "df": self.df(term), "idf": weight, "saturation": share,
                         "part": count * weight * share})
        return {"score": math.fsum(row["part"] for row in rows), "n": self.n, "avgdl": self.avgdl,
                "length": length, "terms": rows}


def postings_of(units: Iterable[Unit], by_size: bool) -> Postings:
    """The posting lists of units; where lengths count, they are ordered by length."""
    listed = ((unit_id, list(unit_terms.elements() if isinstance(unit_terms, Counter) else unit_terms))
              for unit_id, unit_terms in units)
    return Postings(((unit_id, unit_terms, len(unit_terms)) for unit_id, unit_terms in listed), by_size)


def _at_least(name: str, given: int, own: int) -> int:
    """`given`, if the index itself does not hold more: a whole is never less than its part."""
    if given < own:
        raise UsageError(f"{name} is {given} in the statistics, but {own} in this index alone; "
                         "merge the statistics of all shards, for all terms of the query")
    return given
