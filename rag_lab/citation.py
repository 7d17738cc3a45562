"""Which words of a document are the evidence, where exactly do they stand, and do they still stand there?

A citation is a verbatim span of one version. It is checked before it is printed, and after an edit it is either found
again or given up, never quietly moved. Not for meaning: that a quote is real does not say that it answers.
"""
from typing import NamedTuple, Sequence

from .files import text_digest
from .model import Citation, Document
from .rerank import coverage
from .text import sentences

CONTEXT_WIDTH = 40   # code points shown on each side


def choose(document: Document, known_terms: Sequence[str]) -> Citation | None:
    """The sentence that covers most of the query, the earliest of equals; None if the document has no sentence."""
    spans = sentences(document.text)
    if not spans:
        return None
    start, end = max(spans, key=lambda span: coverage(known_terms, document.text[span[0]:span[1]]))
    return cite(document, start, end)


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
    if not 0 <= citation.start < citation.end or document.text[citation.start:citation.end] != citation.quote:
        return "quote"
    if text_digest(citation.quote) != citation.content_hash:
        return "hash"
    return None


class Anchor(NamedTuple):
    """What became of a citation after an edit."""

    status: str                  # "unchanged", "moved", "ambiguous" or "invalid"; the last two want a person's review
    citation: Citation | None    # for the edited version; None for "ambiguous" and "invalid"
    matches: tuple[int, ...]     # where the quote stands in the edited text


def reanchor(citation: Citation, edited: Document) -> Anchor:
    """Look for the quote in an edited version of its document.

    It stands once: "unchanged" or "moved", with the new offsets and version. Several times: "ambiguous". Not at all, or in
    another document: "invalid". The old citation is left as it is; whoever holds it decides whether to take the new one.
    """
    if citation.doc_id != edited.doc_id or not citation.quote:
        return Anchor("invalid", None, ())
    matches = _occurrences(citation.quote, edited.text)
    if len(matches) != 1:
        return Anchor("ambiguous" if matches else "invalid", None, matches)
    start = matches[0]
    found = citation._replace(title=edited.title, version=edited.version, start=start, end=start + len(citation.quote))
    return Anchor("unchanged" if start == citation.start else "moved", found, matches)


def _occurrences(quote: str, text: str) -> tuple[int, ...]:
    """Every place where `quote` begins in `text`, overlapping ones too."""
    found, at = [], text.find(quote)
    while at >= 0:
        found.append(at)
        at = text.find(quote, at + 1)
    return tuple(found)


def context(citation: Citation, text: str) -> tuple[str, str]:
    """Up to 40 code points before and after the quote."""
    return text[max(0, citation.start - CONTEXT_WIDTH):citation.start], text[citation.end:citation.end + CONTEXT_WIDTH]
