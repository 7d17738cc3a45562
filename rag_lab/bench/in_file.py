"""How large is the lab's own index in a file, and how long does it take to build and to open?

The file of the `index` command, lexical, with the texts and the catalog in it, made from the same terms as the index in memory.
"""
import contextlib
import os
from typing import Sequence

from ..bm25 import Bm25
from ..building import Writer
from ..catalog import document_row
from ..chunking import chunk_row, whole
from ..corpus import CorpusSettings
from ..files import digest
from ..model import Document
from ..store import Store, StoredPostings
from ..sums import share
from ..swap import replacing
from ..tally import Tally, UnitTally
from .measure import Built, timed


def build(units: Sequence[tuple[str, Sequence[str]]], folder: str) -> Built:
    """The index in a file in `folder`; the text of a unit is its terms with blanks between."""
    path = os.path.join(folder, "rag_lab.db")
    _, seconds = timed(lambda: _write(path, units))
    index, open_seconds = timed(lambda: Bm25(StoredPostings(Store(path), "bm25"), analyze=list))
    return Built(index.search, seconds, os.path.getsize(path), open_seconds)


def _write(path: str, units: Sequence[tuple[str, Sequence[str]]]) -> None:
    with replacing(path) as beside, contextlib.closing(Writer(beside)) as writer:
        writer.begin(CorpusSettings("bench"), vectors=False, shipped=False)
        for unit_id, terms in units:
            writer.add(_tally(unit_id, terms))
        writer.finish()


def _tally(unit_id: str, terms: Sequence[str]) -> Tally:
    text = " ".join(terms)
    document = Document(unit_id, "", text, "bench", 1, digest(["", text]), "local", ("reader",))
    (chunk,) = whole(document)
    return Tally(document, [UnitTally(chunk, list(terms), {}, share(chunk_row(chunk)))], share(document_row(document)))
