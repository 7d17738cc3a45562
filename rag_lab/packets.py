"""Which required facts does the evidence cover, and what may be said with it?

Of a question whose required facts are known, the chunks that may be evidence become a packet, and the packet decides: every
fact covered, some, or none. Not for meaning: that a quote stands in a chunk was annotated by a person.
"""
from typing import Iterable, Mapping, NamedTuple, Sequence

from .chunking import version_range
from .errors import UsageError
from .files import digest
from .injection import no_evidence
from .model import Chunk, Document


def facts_of(chunk: Chunk, document: Document) -> tuple[str, ...]:
    """The ids of the document's facts whose quote stands wholly inside the chunk, in the order of the document's head.

    A quote that stands several times counts in each chunk that holds one of its places whole; a place that a border cuts
    counts in neither. Raises `UsageError` if the chunk was not cut from this state of the document.
    """
    if chunk.doc_id != document.doc_id or chunk.document_digest != document.content_digest:
        raise UsageError(f"chunk {chunk.chunk_id!r} was not cut from {document.doc_id!r} as it stands; cut it anew")
    return tuple(fact.fact_id for fact in document.facts
                 if document.text.find(fact.quote, chunk.start, chunk.end) >= 0)


# --- the packet ---------------------------------------------------------------------------------------------------------

class ChunkCitation(NamedTuple):
    """Where a piece of evidence stands, precisely enough to find it again or to see that it has changed."""

    label: str                       # C1, C2, ...
    doc_id: str
    chunk_id: str
    product_versions: str            # that the document speaks of
    heading_path: tuple[str, ...]
    start: int                       # span in the document: code points from 0, half-open
    end: int
    content_digest: str              # of the chunk
    document_digest: str
    fact_ids: tuple[str, ...]        # facts whose quote stands whole in the chunk


class EvidencePacket(NamedTuple):
    """What may be said, and what is missing."""

    citations: tuple[ChunkCitation, ...]
    chunks: tuple[Chunk, ...]               # the text behind each citation: the whole answer context, and nothing else
    left_out: tuple[tuple[str, str], ...]   # (chunk id, reason) of those that may be no evidence
    present_fact_ids: tuple[str, ...]       # in the order in which they are required
    missing_fact_ids: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A digest of what an answer may rest on."""
        return digest([self.citations, self.present_fact_ids, self.missing_fact_ids])


def build_packet(chunks: Iterable[Chunk], documents: Mapping[str, Document], required: Sequence[str]) -> EvidencePacket:
    """The packet of the chunks that were found, in their order. A fact counts only for the chunk that holds its words."""
    found = list(chunks)
    reasons = [no_evidence(chunk, documents[chunk.doc_id]) for chunk in found]
    admitted = tuple(chunk for chunk, reason in zip(found, reasons) if reason is None)
    left_out = tuple((chunk.chunk_id, reason) for chunk, reason in zip(found, reasons) if reason is not None)
    citations = tuple(_cite(f"C{number}", chunk, documents[chunk.doc_id]) for number, chunk in enumerate(admitted, start=1))
    covered = {fact_id for citation in citations for fact_id in citation.fact_ids}
    return EvidencePacket(citations, admitted, left_out, tuple(one for one in required if one in covered),
                          tuple(one for one in required if one not in covered))


def _cite(label: str, chunk: Chunk, document: Document) -> ChunkCitation:
    return ChunkCitation(label, chunk.doc_id, chunk.chunk_id, version_range(document), chunk.heading_path, chunk.start,
                         chunk.end, chunk.content_digest, chunk.document_digest, facts_of(chunk, document))


# --- the scripted answer --------------------------------------------------------------------------------------------

class Claim(NamedTuple):
    """A sentence that a person wrote beforehand, and the fact that must be covered for it to be said."""

    text: str
    fact_id: str


class BoundClaim(NamedTuple):
    """A claim with the labels of the citations that support it; never without one."""

    text: str
    fact_id: str
    citations: tuple[str, ...]


class Decision(NamedTuple):
    """What may be answered: "answer" with its claims, "partial" or "abstain" with what is missing."""

    status: str
    claims: tuple[BoundClaim, ...]
    missing_fact_ids: tuple[str, ...]


def answer(packet: EvidencePacket, claims: Sequence[Claim]) -> Decision:
    """The decision over a packet. Claims are said only when every required fact is covered, each bound to its citations.

    Raises `UsageError` for a claim whose fact the packet does not cover: the script promises what it was not asked for.
    """
    if not packet.present_fact_ids:
        return Decision("abstain", (), packet.missing_fact_ids)
    if packet.missing_fact_ids:
        return Decision("partial", (), packet.missing_fact_ids)
    return Decision("answer", tuple(_bind(claim, packet) for claim in claims), ())


def _bind(claim: Claim, packet: EvidencePacket) -> BoundClaim:
    labels = tuple(citation.label for citation in packet.citations if claim.fact_id in citation.fact_ids)
    if not labels:
        raise UsageError(f"claim {claim.text!r} rests on {claim.fact_id!r}, which is not covered; require the fact too")
    return BoundClaim(claim.text, claim.fact_id, labels)
