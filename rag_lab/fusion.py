"""How do several ranked lists become one, when their scores cannot be compared?

Reciprocal rank fusion (Cormack, Clarke and Buettcher 2009): only ranks count. What a list does not hold adds nothing.
"""
import math
from typing import Iterable, Mapping, Sequence

from .errors import UsageError, whole_number
from .index import best_first

RRF_K = 60


def ranks(ranked_ids: Sequence[str]) -> dict[str, int]:
    """id -> rank from 1. An id that stands twice counts once, at its best place, and the rest move up.

    >>> ranks(["a", "a", "b"])
    {'a': 1, 'b': 2}
    """
    for doc_id in ranked_ids:
        if not isinstance(doc_id, str):
            raise UsageError(f"id {doc_id!r} is not a string; lists can only be fused on ids of one form")
    return {doc_id: rank for rank, doc_id in enumerate(dict.fromkeys(ranked_ids), start=1)}


def rrf(lists: Iterable[Sequence[str]], k: int = RRF_K) -> list[tuple[str, float]]:
    """[(id, sum over the lists of 1 / (k + rank))], best first, equal sums in id order.

    Source: Cormack et al. 2009, equation 1; they take k = 60. Raises `UsageError` for an id that is not a string or k < 0.

    >>> [(doc_id, round(score, 6)) for doc_id, score in rrf([["D1", "D2"], ["D2", "D4"]])]
    [('D2', 0.032522), ('D1', 0.016393), ('D4', 0.016129)]
    """
    whole_number("rrf k", k, 0)
    found: dict[str, list[int]] = {}
    for ranked_ids in lists:
        for doc_id, rank in ranks(ranked_ids).items():
            found.setdefault(doc_id, []).append(rank)
    return best_first(((doc_id, rrf_score(its_ranks, k)) for doc_id, its_ranks in found.items()), None)


def rrf_score(its_ranks: Iterable[int], k: int = RRF_K) -> float:
    """The sum of 1 / (k + rank), as one fraction of whole numbers that is divided once.

    So equal sums are equal floats, whatever ranks they are made of, and the order of the lists cannot matter.

    >>> rrf_score([2, 1]) == rrf_score([1, 2]), round(rrf_score([1, 2]), 6)
    (True, 0.032522)
    """
    divisors = [k + rank for rank in its_ranks]
    whole = math.prod(divisors)
    return sum(whole // divisor for divisor in divisors) / whole


def rrf_part(rank: int, k: int = RRF_K) -> float:
    """1 / (k + rank): what one list adds."""
    return 1 / (k + rank)


def explain(ranks_by_list: Mapping[str, int], k: int = RRF_K) -> dict:
    """{score, k, parts: [{channel, rank, part}]} of one document; the parts sum to the score."""
    rows = [{"channel": name, "rank": rank, "part": rrf_part(rank, k)} for name, rank in ranks_by_list.items()]
    return {"score": rrf_score(ranks_by_list.values(), k), "k": k, "parts": rows}
