"""Of the chunks that recall found, which answer the question best, and is the best of them good enough?

A dearer look at few candidates that are already allowed. Each part of the score is a field of its own, so that a person
can see whether words, recall, trust or version decided. It orders and it refuses; it can neither let in what the catalog
keeps out nor make a fact true. A teaching rule, not a trained model: weights and threshold are fitted to the numbers that
chapter 8 prints, and say nothing about any other corpus.
"""
import functools
import math
from typing import Callable, Mapping, NamedTuple, Sequence

from .chunking import searchable
from .fields import version_key
from .injection import injection_phrases
from .model import Asked, Candidate, Chunk, Document
from .text import sentences, squeeze, terms

# --- what is fitted -------------------------------------------------------------------------------------------------

WEIGHTS: Mapping[str, float] = {   # what adds, adds up to 1
    "coverage": 0.65, "phrase": 0.20, "recall": 0.05, "trust": 0.05, "version": 0.05, "injection": -0.50}
TRUST: Mapping[str, float] = {"official": 1.0, "community": 0.5, "untrusted": 0.0}


# --- the question, read once ----------------------------------------------------------------------------------------

class Sentence(NamedTuple):
    """A sentence of the query, in the two forms in which it is compared."""

    terms: tuple[str, ...]    # its different terms, in order
    squeezed: str             # folded, without white space


@functools.lru_cache(maxsize=64)
def read_question(query: str) -> tuple[Sentence, ...]:
    """The query by sentences, for a chunk that answers one question of several answers that one wholly."""
    pieces = [query[start:end] for start, end in sentences(query)]
    read = [Sentence(tuple(dict.fromkeys(terms(piece))), squeeze(piece)) for piece in pieces]
    return tuple(sentence for sentence in read if sentence.terms)


# --- the parts ------------------------------------------------------------------------------------------------------

class GovernedParts(NamedTuple):
    """What the score of one chunk is made of: parts in [0, 1], each with its weight, and their sum."""

    coverage: float                       # weighted share of a sentence's terms that stand in headings or text
    phrase: float                         # longest stretch of a sentence that stands in the text, as a share of it
    recall: float                         # the fused score, as a share of the best there could be
    trust: float                          # of the source
    version: float                        # how closely the document is about the version asked for
    injection: float                      # 1.0 if the text talks to a model; this part takes away
    injection_phrases: tuple[str, ...]    # ... and the words that gave it away
    score: float                          # sum of part * weight

    @property
    def support(self) -> float:
        """What the threshold is for: the score itself, and nothing below 0."""
        return max(0.0, self.score)


def look(asked: Asked, candidate: Candidate, chunk: Chunk, document: Document) -> GovernedParts:
    """The parts of one chunk for one query. `document` is the one it was cut from."""
    question, talks = read_question(asked.query), injection_phrases(chunk.text)
    values = {"coverage": best_coverage(question, asked.terms_of(searchable(chunk)), asked.idf),
              "phrase": longest_phrase(question, chunk.text),
              "recall": recall_share(candidate.score, asked.best_fused), "trust": TRUST[document.trust],
              "version": version_reward(document, asked.scope.product_version), "injection": 1.0 if talks else 0.0}
    return GovernedParts(**values, injection_phrases=talks, score=governed_score(values))


def governed_score(values: Mapping[str, float]) -> float:
    """Sum over `WEIGHTS` of weight * value, rounded once; from -0.5 to 1.

    Source: chapter 8 names relevance of the pair, trust, version reward and injection penalty. Recall as a part, and all
    weights, are ours.
    """
    return math.fsum(weight * values[part] for part, weight in WEIGHTS.items())


def best_coverage(question: Sequence[Sentence], present: frozenset[str], weight: Callable[[str], float]) -> float:
    """The coverage of the sentence that the terms present cover best, in [0, 1]; 0.0 for a query without terms."""
    return max((coverage(sentence.terms, present, weight) for sentence in question), default=0.0)


def coverage(query_terms: Sequence[str], present: frozenset[str], weight: Callable[[str], float]) -> float:
    """Sum of weight(t) over the query terms that are present, divided by the sum over all of them; in [0, 1].

    A term that no live chunk holds weighs most: what the corpus never speaks of speaks against an answer from it.

    >>> coverage(["team", "saml", "量子"], frozenset(["team", "saml"]), {"team": 1.0, "saml": 1.0, "量子": 2.0}.get)
    0.5
    """
    return (math.fsum(weight(term) for term in query_terms if term in present)
            / math.fsum(weight(term) for term in query_terms))


def longest_phrase(question: Sequence[Sentence], text: str) -> float:
    """The longest stretch of a sentence that stands in `text`, as a share of the sentence; of the best one, in [0, 1]."""
    squeezed = squeeze(text)
    return max((common_length(sentence.squeezed, squeezed) / len(sentence.squeezed) for sentence in question), default=0.0)


def common_length(one: str, other: str) -> int:
    """Length of the longest common substring, in code points: by bisection, for what has one of length n has one of n - 1.

    >>> common_length("继续使用saml", "不能继续使用旧saml")
    4
    """
    low, high = 0, min(len(one), len(other))
    while low < high:
        length = (low + high + 1) // 2
        pieces = frozenset(one[at:at + length] for at in range(len(one) - length + 1))   # for membership alone
        if any(other[at:at + length] in pieces for at in range(len(other) - length + 1)):
            low = length
        else:
            high = length - 1
    return low


def recall_share(score: float, best_fused: float | None) -> float:
    """The fused score as a share of the best there could be: 1.0 for a chunk that every channel ranks first.

    0.0 where nothing was fused: the score of a single channel is a share of nothing.

    >>> round(recall_share(1 / 61 + 1 / 62, 2 / 61), 4)
    0.9919
    """
    return score / best_fused if best_fused else 0.0


def version_reward(document: Document, product_version: str | None) -> float:
    """1.0 for a document about exactly the version asked for, 0.5 for one whose range merely includes it.

    The catalog has let the document in, so its range does include the version. 0.0 if no version is asked for.
    """
    if product_version is None:
        return 0.0
    ends = [end and version_key(end) for end in (document.applies_from, document.applies_to)]
    return 1.0 if ends == [version_key(product_version)] * 2 else 0.5
