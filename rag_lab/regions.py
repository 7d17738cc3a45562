"""Which parts of a document may fewer people read, and how are they kept apart? They become documents of their own.

A region is a section under one heading with roles of its own. It is cut out before anything else happens: what is left is
the document that everybody with its roles sees, and no offset, count or score of it can tell that something was there. The
region can be read only by callers who may read the document and hold one of the region's roles, so it is never wider.
"""
from typing import Sequence

from .files import digest, text_digest
from .markdown import blocks
from .model import Document, Region


class BadRegion(ValueError):
    """A region that cannot be cut out of its document."""


def project(document: Document, regions: Sequence[Region]) -> tuple[Document, ...]:
    """The document without its regions, and a document for each region, in the order given.

    Raises `BadRegion` for a heading that does not stand exactly once, for regions within each other, and for a fact whose
    quote a border cuts.
    """
    if not regions:
        return (document,)
    spans = [_span(document.text, region.heading) for region in regions]
    ordered = sorted(spans)
    for (_, end), (start, _) in zip(ordered, ordered[1:]):
        if start < end:
            raise BadRegion("regions stand within each other")
    rest = "".join(document.text[start:end] for start, end in _between(ordered, len(document.text))).strip("\n").rstrip()
    if not rest:
        raise BadRegion("regions leave no text for those who may read the document")
    pieces = [_piece(document, document.doc_id, document.title, rest)]
    for region, (start, end) in zip(regions, spans):
        text = document.text[start:end].strip("\n").rstrip()
        doc_id = f"{document.doc_id}#region-{text_digest(region.heading, 12)}"   # of the heading: a number would count the others
        piece = _piece(document, doc_id, f"{document.title} / {region.heading}", text)
        pieces.append(piece._replace(roles=region.roles, parent=document.doc_id, within=document.roles))
    kept = {fact.fact_id for piece in pieces for fact in piece.facts}
    for fact in document.facts:
        if fact.fact_id not in kept:
            raise BadRegion(f"the quote of fact {fact.fact_id!r} reaches over the border of a region")
    return tuple(pieces)


def _piece(document: Document, doc_id: str, title: str, text: str) -> Document:
    facts = tuple(fact for fact in document.facts if fact.quote in text)
    return document._replace(doc_id=doc_id, title=title, text=text, facts=facts, content_digest=digest([title, text]))


def _span(text: str, heading: str) -> tuple[int, int]:
    """Span of the section under a heading: up to the next heading of its level or above, or to the end."""
    found = [block for block in blocks(text) if block.kind == "heading"]
    places = [number for number, block in enumerate(found) if block.heading == heading]
    if len(places) != 1:
        raise BadRegion(f"heading {heading!r} stands {len(places)} times")
    opening = found[places[0]]
    closing = next((block.start for block in found[places[0] + 1:] if block.level <= opening.level), len(text))
    return opening.start, closing


def _between(spans: Sequence[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """The stretches of [0, length) that no span covers."""
    borders = [0, *(border for span in spans for border in span), length]
    return list(zip(borders[::2], borders[1::2]))
