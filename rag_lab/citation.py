"""Which words of a document are the evidence, where exactly do they stand, and do they still stand there?

A citation is a verbatim span of one version. It is checked before it is printed. What becomes of one that was kept: see
`audit`. Not for meaning: that a quote is real does not say that it answers.
"""
from typing import Sequence

from .files import text_digest
from .model import Citation, Document
from .rerank import coverage
from .text import TermSet, sentences, term_set

CONTEXT_WIDTH = 40   # code points shown on each side


def choose(document: Document, known_terms: Sequence[str], low: int = 0, high: int | None = None,
           terms_of: TermSet = term_set) -> Citation | None:
    """The sentence of text[low:high] that covers most of the query, the earliest of equals; None if it has no sentence."""
    text = document.text[low:high]
    spans = sentences(text)
    if not spans:
        return None
    start, end = max(spans, key=lambda span: coverage(known_terms, text[span[0]:span[1]], terms_of))
    return cite(document, low + start, low + end)


def cite(document: Document, start: int, end: int) -> Citation:
    """The citation of document.text[start:end]."""
    quote = document.text[start:end]
    return Citation(document.doc_id, document.title, document.version, start, end, quote, text_digest(quote))


def verify(citation: Citation, document: Document) -> str | None:
    """None if the citation holds for the document as it stands; else what does not: id, version, quote or hash."""
    if citation.doc_id != document.doc_id:
        return "id"
    if citation.version != document.version:
        return "version"
    if citation.title != document.title:
        return "title"
    if (not 0 <= citation.start < citation.end <= len(document.text)
            or document.text[citation.start:citation.end] != citation.quote):
        return "quote"
    if text_digest(citation.quote) != citation.content_hash:
        return "hash"
    return None


def context(citation: Citation, text: str) -> tuple[str, str]:
    """Up to 40 code points before and after the quote."""
    return text[max(0, citation.start - CONTEXT_WIDTH):citation.start], text[citation.end:citation.end + CONTEXT_WIDTH]
