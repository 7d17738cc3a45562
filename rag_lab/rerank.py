"""Of the few candidates that recall found, which hold most of the query, and how far could each support an answer?

A dearer look at a handful of documents: how many of the query's terms stand in the text, how many in the title, and
whether the whole query stands there as a phrase. Not for finding: what recall missed stays missed, so recall after
reranking is at most the recall of the candidates. Not for meaning: coverage is words, not answers.
"""
import re
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from .model import Asked, Candidate, Chunk, Document
from .text import TermSet, fold, squeeze, term_set, unspaced

BODY_WEIGHT, TITLE_WEIGHT, PHRASE_WEIGHT = 0.40, 0.45, 0.15
TITLE_SUPPORT = PHRASE_SUPPORT = 0.85   # a title or a phrase supports an answer a little less than the text itself


def coverage(known_terms: Sequence[str], text: str, terms_of: TermSet = term_set) -> float:
    """Share of `known_terms` that occur in `text`, in [0, 1]; 0.0 if there are none.

    `known_terms` are the different query terms that occur in the live corpus, so that no unheard-of word dilutes it.
    `terms_of` gives the terms of a text by the corpus's own analyzer.
    """
    if not known_terms:
        return 0.0
    present = terms_of(text)
    return sum(term in present for term in known_terms) / len(known_terms)


def contains_phrase(query: str, *texts: str) -> bool:
    """Whether the query as a whole, white space aside, stands in one of the texts, and not in the middle of a longer word."""
    phrase = squeeze(query)
    return bool(phrase) and any(phrase in squeeze(text) and _stands_alone(phrase, fold(text)) for text in texts)


def _stands_alone(phrase: str, folded: str) -> bool:
    """Whether a phrase, with any white space in between, stands in a folded text without a letter or digit grown onto it."""
    before = r"(?<![^\W_])" if not unspaced(phrase[0]) and phrase[0].isalnum() else ""
    after = r"(?![^\W_])" if not unspaced(phrase[-1]) and phrase[-1].isalnum() else ""
    if not before and not after:
        return True
    # Letters of a script without spaces may stand right beside a word.
    apart = "".join(f" {char} " if unspaced(char) else char for char in folded)
    return re.search(before + r"\s*".join(map(re.escape, phrase)) + after, apart) is not None


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


class CoverageParts(NamedTuple):
    """What the score and the support of a chunk are made of, each part in [0, 1]."""

    body_coverage: float     # share of the query's known terms that stand in the text
    title_coverage: float    # ... in the document's title
    phrase: bool             # the whole query stands in title or text
    score: float             # the weighted sum by which the reranker sorts
    support: float           # how far the chunk can support an answer; the threshold is for this


def look(asked: Asked, candidate: Candidate, chunk: Chunk, document: Document) -> CoverageParts:
    """The parts of one chunk for one query."""
    body, title = (coverage(asked.known_terms, text, asked.terms_of) for text in (chunk.text, document.title))
    phrase = contains_phrase(asked.query, document.title, chunk.text)
    return CoverageParts(body, title, phrase, rerank_score(body, title, phrase), support(body, title, phrase))


# --- any reranker ---------------------------------------------------------------------------------------------------

# (asked, candidate, chunk, document) -> a record with `score`, by which candidates are sorted, and `support`, in [0, 1],
# which the threshold is for; every other field of it is a part that explains them.
Look = Callable[[Asked, Candidate, Chunk, Document], Any]


def looked_at(look: Look, asked: Asked, candidates: Iterable[Candidate], chunks: Mapping[str, Chunk],
              documents: Mapping[str, Document]) -> list[Candidate]:
    """The candidates with their parts, in the order in which they came; parts that are known are kept."""
    return [candidate if candidate.parts else
            candidate._replace(parts=look(asked, candidate, chunks[candidate.chunk_id], documents[candidate.doc_id]))
            for candidate in candidates]


def rerank(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates that were looked at by falling score; equal ones keep the order in which they came."""
    return sorted((candidate._replace(reranked=True) for candidate in candidates),
                  key=lambda candidate: (candidate.unmet, -candidate.parts.score))
