"""What has to be counted of a document before it is in an index?

All that takes time and depends on nothing but the document itself, so that several processes can share it (see `workers`).
"""
from typing import NamedTuple

from .analyzers import analyzer_of
from .catalog import document_row
from .chunking import CHUNKERS, chunk_row, searchable
from .corpus import CorpusSettings
from .model import Chunk, Document
from .stored import vector_key
from .sums import share


class UnitTally(NamedTuple):
    """A chunk, counted."""

    chunk: Chunk
    terms: list[str]           # with repeats
    vector: dict[str, int]     # key of a signed feature -> its weight without the sign
    share: int                 # for the digest of all chunks


class Tally(NamedTuple):
    """A document, counted."""

    document: Document
    units: list[UnitTally]
    share: int                 # for the digest of all documents


def count(document: Document, settings: CorpusSettings, vectors: bool) -> Tally:
    """Cut a document into chunks and count their terms, and the features of their vectors if these are wanted."""
    units = [_count_chunk(chunk, settings, vectors) for chunk in CHUNKERS[settings.chunker](document)]
    return Tally(document, units, share(document_row(document)))


def _count_chunk(chunk: Chunk, settings: CorpusSettings, vectors: bool) -> UnitTally:
    text = searchable(chunk)
    terms = list(analyzer_of(settings.analyzer).terms(text))
    if not vectors:
        features = {}
    elif settings.encoder == "concepts":
        from .concepts import embed   # here, for only one corpus needs it
        features = embed(text)
    else:
        from .hashed import embed
        features = embed(terms)
    vector = {vector_key((feature, 1 if weight > 0 else -1)): abs(weight) for feature, weight in features.items()}
    return UnitTally(chunk, terms, vector, share(chunk_row(chunk)))
