"""Is what was found enough to answer, or does the lab keep silent, and why?

The best support is compared with the threshold; scores of BM25, of cosines and of fusion are not on one scale and never
are. Refusing is an answer of its own: it names its reason and shows what came closest. Of a question whose required facts
are known, a packet decides: see `packets`.
"""
from typing import Sequence

from .text import terms, unspaced

EMPTY_CORPUS = "empty_corpus"                    # the scope sees no document
EMPTY_QUERY = "empty_query"                      # the query holds no usable term
QUERY_TOO_SHORT = "query_too_short"              # only lone characters of a script that is indexed in pairs
INSUFFICIENT_EVIDENCE = "insufficient_evidence"  # what was found does not carry an answer


def decide(query: str, live_count: int, supports: Sequence[float], threshold: float) -> tuple[str, str | None]:
    """("answer", None), or ("refuse", reason). `supports` are those of the candidates that would be returned."""
    if live_count == 0:
        return "refuse", EMPTY_CORPUS
    found = terms(query)
    if not found:
        return "refuse", EMPTY_QUERY
    if not supports or max(supports) < threshold:
        too_short = not any(supports) and _only_lone_characters(found)
        return "refuse", QUERY_TOO_SHORT if too_short else INSUFFICIENT_EVIDENCE
    return "answer", None


def _only_lone_characters(found: Sequence[str]) -> bool:
    return all(len(term) == 1 and unspaced(term) for term in found)
