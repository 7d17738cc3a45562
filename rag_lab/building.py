"""How does a corpus become an index in a file, in bounded memory, so that no reader ever meets half of one?

Documents stream in; each is cut into chunks, its terms are counted, and what was counted lies in memory until that is full, then
in runs on disk, which are merged term by term at the end. All of it happens in a file beside the one that readers know, which it
replaces in one step when it is whole. An update is the same with the old file's contents to begin with.
"""
import contextlib
import itertools
import json
import os
import sqlite3
from array import array
from collections import Counter, defaultdict
from typing import Callable, Iterable, Iterator, NamedTuple

from .analyzers import ANALYZERS
from .chunking import CHUNKERS, chunk_row, searchable
from .corpus import CorpusSettings
from .catalog import checked, document_row
from .errors import DataError, Fault, UsageError
from .files import compact_json
from .model import Document
from .numbers import pack, pack_rising, unpack_rising
from .store import APPLICATION, FORMAT, MASKS, SCHEMA, Store, check_sum, rights_row
from .stored import settings_row, vector_key
from .sums import added, share

MEMORY = 512             # megabytes for what was counted and not yet written
BYTES_OF_POSTING = 8     # what a posting and its share of the lists take in memory, roughly
BATCH = 500              # documents that are analysed at a time


class Unit(NamedTuple):
    """One chunk, counted."""

    chunk_id: str
    ordinal: int
    start: int
    stop: int
    headings: tuple[str, ...]
    terms: list[str]              # with repeats
    vector: dict[str, int]        # signed key -> how often
    share: int                    # of the chunk, for the manifest


class Counted(NamedTuple):
    """A document with all that the index needs of it."""

    document: Document
    units: list[Unit]
    share: int


def counted(documents: Iterable[Document], settings: CorpusSettings, vectors: bool = True) -> list[Counted]:
    """Analyse some documents: the step that can be given to several processes."""
    return [Counted(one, [_unit(chunk, settings, vectors) for chunk in CHUNKERS[settings.chunker](one)],
                    share(document_row(one))) for one in documents]


def _unit(chunk, settings: CorpusSettings, vectors: bool) -> Unit:
    text = searchable(chunk)
    terms = list(ANALYZERS[settings.analyzer].terms(text))
    vector = {vector_key((feature, 1 if weight > 0 else -1)): abs(weight)
              for feature, weight in _vector(terms, text, settings).items()} if vectors else {}
    ordinal = 0 if settings.chunker == "whole" else chunk.ordinal
    return Unit(chunk.chunk_id, ordinal, chunk.start, chunk.end, chunk.heading_path, terms, vector, share(chunk_row(chunk)))


def _vector(terms: list[str], text: str, settings: CorpusSettings) -> dict:
    if settings.encoder == "concepts":
        from .concepts import embed   # here, for only one corpus needs it
        return embed(text)
    from .hashed import embed
    return embed(terms)
