"""Which engines run in this process, and how are they built from the same terms?

The lab's two indexes, the plain scorers, and FTS5 where SQLite has it. A query reaches each of them as a list of terms.
"""
import gc
import sqlite3
import sys
import types
from typing import Callable, NamedTuple, Sequence

from .. import __version__
from ..bm25 import Bm25
from ..hashed import Hashed
from . import fts5, in_file, plain
from .measure import Built, timed

Units = Sequence[tuple[str, Sequence[str]]]


class Engine(NamedTuple):
    """An engine that this process can build; the first of a formula is the lab's own, with which the others are compared."""

    name: str
    formula: str
    version: str | None
    same_scores: bool                        # whether the formula is ours to the letter
    note: str | None
    build: Callable[[Units, str], Built]     # (units, a folder for files)


def build_bm25(units: Units, folder: str) -> Built:
    """The lab's BM25 index."""
    return _built(lambda: Bm25(units, analyze=list))


def build_hashed(units: Units, folder: str) -> Built:
    """The lab's index of hashed vectors; hashing the terms is part of building it, and of a query."""
    return _built(lambda: Hashed(units, analyze=list))


def _built(make: Callable[[], Bm25 | Hashed]) -> Built:
    index, seconds = timed(make)
    return Built(index.search, seconds, reachable_bytes(index.postings), index=index)


ENGINES = (
    Engine("rag_lab", "bm25", __version__, True, None, build_bm25),
    Engine("rag_lab_file", "bm25", __version__, True, "in one file, with texts and catalog", in_file.build),
    Engine("plain", "bm25", None, True, "a dictionary of scores", plain.build_bm25),
    Engine("fts5", "bm25", sqlite3.sqlite_version, False, "another IDF", fts5.build),
    Engine("rag_lab", "cosine", __version__, True, None, build_hashed),
    Engine("plain", "cosine", None, True, "a dictionary of scores", plain.build_cosine))


def reachable_bytes(root: object) -> int:
    """The bytes of all objects that an object leads to, each once; modules, classes and functions are no data."""
    code = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
    seen, waiting, total = {id(root)}, [root], 0
    while waiting:
        one = waiting.pop()
        total += sys.getsizeof(one)
        for other in gc.get_referents(one):
            if id(other) not in seen and not isinstance(other, code):
                seen.add(id(other))
                waiting.append(other)
    return total
