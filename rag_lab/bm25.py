"""Which units hold the words of the query, weighed by how rare and how frequent they are?

BM25 (Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework"), with the IDF that is never negative (the
one of Lucene). N, df and avgdl are counted over the live units alone: a hidden unit moves no score.
Not for synonyms: a unit that shares no term with the query is not found.
"""
import functools
import math
from collections import Counter
from typing import Callable, Iterable

from .errors import UsageError
from .index import LiveIndex, Unit, best_first, sorted_units
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


class Bm25(LiveIndex):
    """A lexical index over units (unit id, terms). `search` ranks, `explain` shows the parts of one score."""

    name = "bm25"

    def __init__(self, units: Iterable[Unit], k1: float = 1.2, b: float = 0.75,
                 analyze: Callable[[str], list[str]] = terms):
        if not (isinstance(k1, (int, float)) and 0 <= k1 < math.inf):
            raise UsageError(f"k1 is {k1!r}; it must be a number of at least 0")
        if not (isinstance(b, (int, float)) and 0 <= b <= 1):
            raise UsageError(f"b is {b!r}; it must be a number between 0 and 1")
        self.k1, self.b, self.analyze = k1, b, analyze
        self.ids = []
        self.lengths: list[int] = []                    # position -> tokens
        self.postings: dict[str, dict[int, int]] = {}   # term -> {position: term frequency}
        for position, (unit_id, unit_terms) in enumerate(sorted_units(units)):
            self.ids.append(unit_id)
            frequencies = Counter(unit_terms)
            self.lengths.append(frequencies.total())
            for term, tf in frequencies.items():
                self.postings.setdefault(term, {})[position] = tf
        self._set_live(self.ids)

    def _set_live(self, live_ids: Iterable[str]) -> None:
        super()._set_live(live_ids)
        self.__dict__.pop("vocabulary_size", None)   # cached, and of the old live set
        self.n = len(self.live)
        self.total_tokens = sum(length for at, length in enumerate(self.lengths) if at in self.live)
        self.avgdl = self.total_tokens / self.n if self.n else 0.0

    @functools.cached_property
    def vocabulary_size(self) -> int:
        """How many different terms the live units hold."""
        return sum(not self.live.isdisjoint(posting) for posting in self.postings.values())

    def usable(self, query: str) -> bool:
        """Whether the query holds any term at all."""
        return bool(self.analyze(query))

    def posting(self, term: str) -> dict[int, int]:
        """{position: term frequency} of the live units that hold `term`; its length is the document frequency."""
        return {at: tf for at, tf in self.postings.get(term, {}).items() if at in self.live}

    def idf(self, term: str) -> float:
        """The IDF of a term over the live units, above 0 also for a term that none of them holds."""
        return idf(self.n, len(self.posting(term)))

    def known(self, query_terms: Iterable[str]) -> list[str]:
        """The different terms among `query_terms` that some live unit holds, in the order of the query."""
        return [term for term in dict.fromkeys(query_terms) if self.posting(term)]

    def search(self, query: str, k: int | None = 5) -> list[tuple[str, float]]:
        """[(unit id, score)] of the `k` best live units (all for None), best first, equal scores in id order.

        Units that share no term with the query are not among them. Raises `UsageError` for k < 1.
        """
        parts: dict[int, list[float]] = {}   # position -> what each query term adds
        for term, count in Counter(self.analyze(query)).items():
            posting = self.posting(term)
            weight = count * idf(self.n, len(posting))
            for at, tf in posting.items():
                part = weight * saturation(tf, self.lengths[at], self.avgdl, self.k1, self.b)
                parts.setdefault(at, []).append(part)
        # fsum rounds once, so the order of the query's words cannot move a score or break a tie.
        return best_first(((self.ids[at], math.fsum(added)) for at, added in parts.items()), k)

    def explain(self, query: str, unit_id: str) -> dict | None:
        """Where the score of a live unit comes from; None if the unit is not live. The parts sum to the score.

        {score, n, avgdl, length, terms: [{term, count, tf, df, idf, saturation, part}]}
        """
        at = self.live_position(unit_id)
        if at is None:
            return None
        rows = []
        for term, count in Counter(self.analyze(query)).items():
            posting = self.posting(term)
            tf, weight = posting.get(at, 0), idf(self.n, len(posting))
            share = saturation(tf, self.lengths[at], self.avgdl, self.k1, self.b) if tf else 0.0
            rows.append({"term": term, "count": count, "tf": tf, "df": len(posting), "idf": weight, "saturation": share,
                         "part": count * weight * share})
        return {"score": math.fsum(row["part"] for row in rows), "n": self.n, "avgdl": self.avgdl,
                "length": self.lengths[at], "terms": rows}
