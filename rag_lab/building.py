"""How does a corpus become an index in a file, in bounded memory, so that no reader ever meets half of one?

Documents stream in, are counted (`tally`) and become a segment (`segments`). All of it goes into a file beside the one that
readers know, and takes its place in one step when it is whole (`swap`). An update begins with a copy of the old file: what
it adds is a segment of its own, and segments that are close in size are merged.
"""
import contextlib
import functools
import itertools
import os
import shutil
import sqlite3
from collections import Counter
from typing import Callable, Iterable, Sequence

from .catalog import document_row
from .corpus import CorpusSettings, open_corpus, stream_documents
from .errors import DataError, Fault, UsageError, whole_number
from .files import compact_json
from .lab import find, shipped
from .model import Document, Scope, Tombstone
from .segments import Segment, merge, purge
from .store import APPLICATION, FORMAT, GOVERNING, SCHEMA, Made, RightsClass, Store, check_sum, rights_row, seal
from .stored import StoredLab, StoredRow, read_document, settings_of, settings_row
from .sums import added, share
from .swap import replacing
from .tally import Tally, UnitTally, count
from .workers import in_order

MEMORY = 512             # megabytes for what was counted and not yet written, unless told otherwise


class Writer:
    """An index file in the making, a new one or a copy of an old one. Nobody reads it before it is finished."""

    def __init__(self, path: str, memory: int = MEMORY):
        """`memory`: megabytes that what was counted may take before it goes to disk."""
        self._path, self._memory = path, whole_number("memory", memory, 1) * 2 ** 20
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA secure_delete = ON; "
                                      "PRAGMA cache_size = -65536; ATTACH DATABASE '' AS runs; BEGIN")
        self.connection.execute("CREATE TABLE runs.runs (channel TEXT, term TEXT, run INTEGER, units BLOB, "
                                "PRIMARY KEY (channel, term, run)) WITHOUT ROWID")
        self.store = Store(path, self.connection)
        self.changes = {"added": 0, "replaced": 0, "unchanged": 0, "deleted": 0}
        self._removed: list[StoredRow] = []                   # their units are still in the segments
        self._regions: dict[str, StoredRow] = {}              # regions of documents that came anew, until they come too
        self._places: dict[str, int] = {}

    def begin(self, corpus: CorpusSettings, vectors: bool, shipped: bool) -> None:
        """Begin a new file."""
        for statement in SCHEMA.split(";"):
            self.connection.execute(statement)
        self.connection.execute(f"PRAGMA application_id = {APPLICATION}")
        settings = {"format": FORMAT, "corpus": settings_row(corpus), "vectors": vectors, "shipped": shipped}
        self._take(settings, Made(0, 0, 0, 0))

    def go_on(self) -> None:
        """Go on with a file that was copied."""
        self._take({name: self.store.setting(name) for name in ("format", "corpus", "vectors", "shipped")}, self.store.made)

    def _take(self, settings: dict, made: Made) -> None:
        self.settings, self.corpus = settings, settings_of(settings["corpus"])
        self._made, self._classes = made, dict(self.store.classes)
        self._class_of_rights = {group.rights: number for number, group in self._classes.items()}
        self._class_of_fields: dict[tuple, int] = {}          # the same, before the fields are written as JSON
        self._next = self.store.rows("SELECT coalesce(max(number), 0) + 1 FROM documents")[0][0]
        self._by_size = {"bm25": self.corpus.k1 * self.corpus.b > 0}   # channel -> whether its units are numbered by size
        if settings["vectors"]:
            self._by_size["dense"] = True
        memory = self._memory // len(self._by_size)
        self._segments = [Segment(self.store, channel, by_size, memory) for channel, by_size in self._by_size.items()]

    # --- documents in, documents out --------------------------------------------------------------------------------

    def add(self, counted: Tally) -> None:
        """Take in a document, in place of the one with its id if there is one; not one that was deleted."""
        document, held = counted.document, self._held(counted.document.doc_id)
        self._regions.pop(document.doc_id, None)
        if document.parent is None and held:
            self._regions |= {region: self._held(region) for region in self._regions_of(document.doc_id)}
        if held and share(document_row(held.document)) == counted.share:
            self.changes["unchanged"] += 1
            return
        if held:
            self._take_out(held)
        self.changes["replaced" if held else "added"] += 1
        number = held.number if held else self._next
        self._next = max(self._next, number + 1)
        group = self._class_of(document)
        self._write_document(number, group, 0, document)
        self._count(group, 1, counted)
        for unit in counted.units:
            self._add_unit(number, group, unit)

    def _add_unit(self, number: int, group: int, unit: UnitTally) -> None:
        chunk, ordinal = unit.chunk, 0
        if self.corpus.chunker != "whole":
            ordinal = chunk.ordinal
            row = number, ordinal, chunk.chunk_id, chunk.start, chunk.end, compact_json(chunk.heading_path)
            self.connection.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, check_sum(*row)))
        lexical, *dense = self._segments
        lexical.add(chunk.chunk_id, len(unit.terms), number, ordinal, group, unit.terms)
        for segment in dense:
            squared = sum(weight * weight for weight in unit.vector.values())
            segment.add(chunk.chunk_id, squared, number, ordinal, group, Counter(unit.vector).elements())

    def delete(self, tombstone: Tombstone) -> None:
        """Take out the words of a document and of its regions; that it was there stays known."""
        position = self.store.rows("SELECT count(*) + 1 FROM tombstones")[0][0]
        row = position, compact_json(list(tombstone))
        self.connection.execute("INSERT INTO tombstones VALUES (?, ?, ?)", (*row, check_sum(*row)))
        for doc_id in [tombstone.doc_id, *self._regions_of(tombstone.doc_id)]:
            held = self._held(doc_id)
            self._take_out(held)
            self._write_document(held.number, held.group, 1, held.document._replace(title="", text="", facts=()))
        self.changes["deleted"] += 1

    def _take_out(self, held: StoredRow) -> None:
        """Take a document out of the counts; its units follow when the file is finished."""
        self._removed.append(held)
        self._count(held.group, -1, count(held.document, self.corpus, False))
        self.connection.execute("DELETE FROM chunks WHERE document = ?", (held.number,))

    def _held(self, doc_id: str) -> StoredRow | None:
        return read_document(self.store, doc_id)

    def _regions_of(self, doc_id: str) -> list[str]:
        return [region for region, in self.store.rows(
            "SELECT doc_id FROM documents WHERE parent = ? AND gone = 0 ORDER BY doc_id", (doc_id,))]

    def _write_document(self, number: int, group: int, gone: int, document: Document) -> None:
        facts = compact_json([list(fact) for fact in document.facts]) if document.facts else None
        version = str(document.version)   # which may be longer than an integer of SQLite
        row = (document.doc_id, number, group, gone, document.title, document.text, document.path, version, document.parent,
               facts)
        kept = (*row[:6], self._place_of(document.path), *row[7:], check_sum(*row))
        self.connection.execute("INSERT OR REPLACE INTO documents (doc_id, number, class, gone, title, text, place, "
                                "version, parent, facts, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", kept)

    def _place_of(self, path: str) -> int:
        if path not in self._places:
            self.connection.execute("INSERT OR IGNORE INTO places (path) VALUES (?)", (path,))
            self._places[path] = self.store.rows("SELECT place FROM places WHERE path = ?", (path,))[0][0]
        return self._places[path]

    def _class_of(self, document: Document) -> int:
        governing = tuple(getattr(document, name) for name in GOVERNING)
        if governing not in self._class_of_fields:
            rights = rights_row(document)
            number = self._class_of_rights.setdefault(rights, len(self._classes) + 1)
            self._classes.setdefault(number, RightsClass(rights, 0, 0))
            self._class_of_fields[governing] = number
        return self._class_of_fields[governing]

    def _count(self, group: int, sign: int, counted: Tally) -> None:
        """Move the counts and sums by a document that comes (sign 1) or goes (-1): of its class, and of the whole index."""
        rights, documents, total = self._classes[group]
        self._classes[group] = RightsClass(rights, documents + sign, added([total, sign * counted.share]))
        made = self._made
        self._made = Made(added([made.catalog, sign * counted.share]),
                          added([made.content, *(sign * unit.share for unit in counted.units)]),
                          made.documents + sign, made.chunks + sign * len(counted.units))

    # --- the end ------------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Write what is left, and close the file."""
        for held in self._regions.values():   # of documents that came anew without them
            self._take_out(held)
            self.connection.execute("DELETE FROM documents WHERE number = ?", (held.number,))
            self.changes["deleted"] += 1
        self._purge()
        for segment in self._segments:
            if segment.ids:
                segment.write(self.store.rows("SELECT coalesce(max(segment), 0) + 1 FROM segments")[0][0])
            merge(self.store, segment.channel, self._by_size[segment.channel], self._memory)
        for number, (rights, documents, total) in self._classes.items():
            row = number, rights, documents, f"{total:x}"
            self.connection.execute("INSERT OR REPLACE INTO classes VALUES (?, ?, ?, ?, ?)", (*row, check_sum(*row)))
        settings = self.settings | self._figures()
        for name, value in settings.items():
            row = name, compact_json(value)
            self.connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?, ?)", (*row, check_sum(*row)))
        self.connection.execute("COMMIT")
        self.close()
        seal(self._path)

    def _figures(self) -> dict:
        """What is known of an index without reading it through."""
        return {"made": self._made.row(),
                "rows": {table: self.store.rows(f"SELECT count(*) FROM {table}")[0][0]
                         for table in ("classes", "tombstones")},
                "segments": {channel: len(self.store.column(channel, "documents")) for channel in self._by_size},
                "units_left": sum(documents.count(0) for _, documents in self.store.column("bm25", "documents")),
                "vocabulary": self.store.rows("SELECT count(DISTINCT term) FROM postings WHERE channel = 'bm25'")[0][0]}

    def _purge(self) -> None:
        """Take the units of removed documents out of the segments, and their terms with them."""
        gone = {held.number for held in self._removed}
        counted = [count(held.document, self.corpus, self.settings["vectors"]) for held in self._removed]
        units = [unit for one in counted for unit in one.units]
        terms = {"bm25": [term for unit in units for term in unit.terms],
                 "dense": [key for unit in units for key in unit.vector]}
        for channel in self._by_size if gone else ():
            purge(self.store, channel, gone, sorted(dict.fromkeys(terms[channel])))

    def close(self) -> None:
        """Close the file, finished or not."""
        self.connection.close()


# --- a build, an update ------------------------------------------------------------------------------------------------

def build_index(corpus: str, out: str, vectors: bool = True, workers: int = 1, memory: int = MEMORY,
                watch: Callable[[int], None] = lambda count: None,
                read: Callable[[float], None] = lambda share: None) -> dict:
    """Build an index file over a corpus, given as for `build_lab`, in the place of `out`; what it holds, in numbers.

    `workers`: processes that analyse; `watch` is called with the number of documents that are in, `read` with the share of
    the corpus that has been read, from 0 to 1. Raises `UsageError`, or `DataError` with every fault of the corpus.
    """
    path, shipped_names = find("corpus", corpus), shipped("corpus")
    faults: list[Fault] = []
    settings, rows = open_corpus(path, faults, read)
    with replacing(out) as beside, contextlib.closing(Writer(beside, memory)) as writer:
        writer.begin(settings, vectors, corpus in shipped_names)
        _stream(writer, stream_documents(rows, settings, faults), faults, workers, watch)
        writer.finish()
    return told(out, writer.changes)


def update_index(index: str, corpus: str | None = None, deleted: Sequence[str] = (), workers: int = 1, memory: int = MEMORY,
                 watch: Callable[[int], None] = lambda count: None,
                 read: Callable[[float], None] = lambda share: None,
                 scope_from: Callable[[Scope], Scope] = lambda default: default) -> dict:
    """Add the documents of a corpus to an index file, each in place of the one with its id, and delete others.

    All of it happens or nothing. Documents are deleted by the scope that `scope_from` makes of the index's own. Other
    parameters and errors as for `build_index`; a `UsageError` too for a corpus that is to be cut or searched otherwise than
    the index, and for the id of a document that the scope cannot delete.
    """
    faults: list[Fault] = []
    with replacing(index) as beside:
        with contextlib.closing(StoredLab(index)) as lab:
            lab.store.verify()
            lab.scope = scope_from(lab.scope)
            stones = [lab.delete(doc_id) for doc_id in deleted]
        shutil.copyfile(index, beside)
        with contextlib.closing(Writer(beside, memory)) as writer:
            writer.go_on()
            for stone in stones:
                writer.delete(stone)
            if corpus is not None:
                path = find("corpus", corpus)
                settings, rows = open_corpus(path, faults, read)
                _check_settings(path, settings, writer.corpus)
                gone = dict(writer.store.rows("SELECT doc_id, gone FROM documents WHERE gone = 1"))
                _stream(writer, stream_documents(rows, settings, faults, gone), faults, workers, watch)
            writer.finish()
    return told(index, writer.changes)


def _check_settings(path: str, found: CorpusSettings, held: CorpusSettings) -> None:
    """An update keeps the settings of the index, so a corpus that states others is refused; rows state none."""
    stated, known = settings_row(found), settings_row(held)
    differing = [name for name in known if stated[name] != known[name]]
    if differing and os.path.exists(os.path.join(path, "corpus.toml")):
        both = ", ".join(f"{name} is {stated[name]!r}, in the index {known[name]!r}" for name in differing)
        raise UsageError(f"{path!r} has other settings than the index: {both}; build the index anew")


def _stream(writer: Writer, documents: Iterable[Document], faults: list[Fault], workers: int,
            watch: Callable[[int], None]) -> None:
    """Count the documents, by several processes if there are to be several, and add them in the order in which they came.

    Raises `DataError` if there are `faults` when all of them are read; from the first on, the rest is only read.
    """
    work = functools.partial(count, settings=writer.corpus, vectors=writer.settings["vectors"])
    sound = itertools.takewhile(lambda document: not faults, documents)
    with contextlib.closing(in_order(work, sound, workers)) as stream:   # its processes end here, whatever happens
        for number, counted in enumerate(stream, start=1):
            writer.add(counted)
            watch(number)
    for _ in documents:   # for their faults
        pass
    if faults:
        raise DataError(faults)


def told(path: str, changes: dict) -> dict:
    """What an index file holds, in numbers."""
    with contextlib.closing(Store(path)) as store:
        made = store.made
        return {"schema": "rag_lab.index/1", "documents": made.documents, "chunks": made.chunks,
                "terms": store.setting("vocabulary"), "vectors": store.setting("vectors"), "changes": changes,
                "segments": store.setting("segments")["bm25"], "bytes": os.path.getsize(path)}
