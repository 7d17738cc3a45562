"""Of the few candidates that recall found, which hold most of the query, and how far could each support an answer?

A dearer look at a handful of documents: how many of the query's terms stand in the text, how many in the title, and
whether the whole query stands there as a phrase. Not for finding: what recall missed stays missed, so recall after
reranking is at most the recall of the candidates. Not for meaning: coverage is words, not answers.
"""
from typing import Iterable, Mapping, Sequence

from .model import Candidate, Document, RerankParts
from .text import squeeze, term_set

BODY_WEIGHT, TITLE_WEIGHT, PHRASE_WEIGHT = 0.40, 0.45, 0.15
TITLE_SUPPORT = PHRASE_SUPPORT = 0.85   # a title or a phrase supports an answer a little less than the text itself


def coverage(known_terms: Sequence[str], text: str) -> float:
    """Share of `known_terms` that occur in `text`, in [0, 1]; 0.0 if there are none.

    `known_terms` are the different query terms that occur in the live corpus, so that no unheard-of word dilutes it.
    """
    if not known_terms:
        return 0.0
    present = term_set(text)
    return sum(term in present for term in known_terms) / len(known_terms)


def contains_phrase(query: str, document: Document) -> bool:
    """Whether the query as a whole, white space aside, stands in the title or in the text."""
    phrase = squeeze(query)
    return bool(phrase) and any(phrase in squeeze(part) for part in (document.title, document.text))


def rerank_score(body: float, title: float, phrase: bool) -> float:
    """0.40 body coverage + 0.45 title coverage + 0.15 for a phrase, in [0, 1]. Source: chapter 6, section 6.9.3.

    >>> round(rerank_score(4/6, 2/6, False), 4), round(rerank_score(4/6, 1/6, False), 4)
    (0.4167, 0.3417)
    """
    return BODY_WEIGHT * body + TITLE_WEIGHT * title + PHRASE_WEIGHT * phrase


def support(body: float, title: float, phrase: bool) -> float:
    """max(body, 0.85 title, 0.85 if the phrase stands), in [0, 1]. Source: chapter 6, section 6.5.2.

    >>> support(0.75, 0.0, False), support(0.0, 1.0, False), support(0.5, 0.0, True)
    (0.75, 0.85, 0.85)
    """
    return max(body, TITLE_SUPPORT * title, PHRASE_SUPPORT * phrase)


def look(query: str, known_terms: Sequence[str], document: Document) -> RerankParts:
    """The parts of one document for one query."""
    body, title = coverage(known_terms, document.text), coverage(known_terms, document.title)
    phrase = contains_phrase(query, document)
    return RerankParts(body, title, phrase, rerank_score(body, title, phrase), support(body, title, phrase))


def rerank(query: str, known_terms: Sequence[str], candidates: Iterable[Candidate],
           documents: Mapping[str, Document]) -> list[Candidate]:
    """The candidates by falling rerank score, each with its parts; equal ones keep the order in which they came."""
    seen = [candidate._replace(parts=look(query, known_terms, documents[candidate.doc_id]), reranked=True)
            for candidate in candidates]
    return sorted(seen, key=lambda candidate: (candidate.unmet, -candidate.parts.score))
