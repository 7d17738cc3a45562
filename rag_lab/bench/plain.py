"""What does the obvious scorer cost, which visits every posting of every term of the query?

Its parts of scores are made when it is built, so a query only adds them up in a dictionary and picks the best: as fast as
the plain way gets. Written from the formulas and from nothing else of the lab, so what it finds is also a check.
"""
import heapq
import math
from collections import Counter, defaultdict
from typing import Hashable, Iterable, Mapping, Sequence

from ..hashed import embed
from .measure import Built, Found, timed

Unit = tuple[str, Sequence[str]]   # (unit id, terms with repeats)
K1, B = 1.2, 0.75


class PlainScorer:
    """What each term adds to the score of each unit that holds it, in a list for each term."""

    def __init__(self, units: Iterable[tuple[str, Mapping[Hashable, float]]]):
        """`units`: (unit id, term -> what it adds), in id order."""
        self.ids: list[str] = []
        self.lists: dict[Hashable, tuple[list[int], list[float]]] = {}   # term -> (unit numbers, what it adds to each)
        for number, (unit_id, parts) in enumerate(units):
            self.ids.append(unit_id)
            for term, part in parts.items():
                numbers, values = self.lists.setdefault(term, ([], []))
                numbers.append(number)
                values.append(part)

    def best(self, wanted: Mapping[Hashable, float], k: int) -> Found:
        """The `k` best of (unit id, sum of weight times part), those above 0; equal scores in id order."""
        scores: dict[int, float] = defaultdict(float)
        for term, weight in wanted.items():
            for number, part in zip(*self.lists.get(term, ((), ()))):
                scores[number] += weight * part
        best = heapq.nsmallest(k, scores.items(), key=lambda scored: (-scored[1], scored[0]))
        return [(self.ids[number], score) for number, score in best if score > 1e-9]   # a cosine of 0 may be summed to 1e-17


def build_bm25(units: Sequence[Unit], folder: str) -> Built:
    """BM25: a part is idf * tf (k1 + 1) / (tf + k1 (1 - b + b length / avgdl)), idf ln(1 + (N - df + 0.5) / (df + 0.5))."""
    scorer, seconds = timed(lambda: PlainScorer(_bm25_parts(units)))
    return Built(lambda query, k: scorer.best(Counter(query), k), seconds)


def _bm25_parts(units: Sequence[Unit]) -> Iterable[tuple[str, dict[str, float]]]:
    df = Counter(term for _, words in units for term in dict.fromkeys(words))
    average = sum(len(words) for _, words in units) / len(units)
    idf = {term: math.log(1 + (len(units) - count + 0.5) / (count + 0.5)) for term, count in df.items()}
    for unit_id, words in sorted(units):
        norm = K1 * (1 - B + B * len(words) / average) if average else 0.0
        yield unit_id, {term: idf[term] * tf * (K1 + 1) / (tf + norm) for term, tf in Counter(words).items()}


def build_cosine(units: Sequence[Unit], folder: str) -> Built:
    """The cosine of hashed vectors: a part is the unit's weight over the length of its vector."""
    scorer, seconds = timed(lambda: PlainScorer((unit_id, _unit_length(embed(words))) for unit_id, words in sorted(units)))
    return Built(lambda query, k: scorer.best(_unit_length(embed(query)), k), seconds)


def _unit_length(vector: Mapping[int, int]) -> dict[int, float]:
    norm = math.hypot(*vector.values())
    return {place: weight / norm for place, weight in vector.items()}
