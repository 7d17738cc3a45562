"""How does a corpus become an index in a file, in bounded memory, so that no reader ever meets half of one?

Documents stream in; each is cut into chunks and counted; what was counted lies in memory until that is full, then in runs on disk,
which are merged term by term at the end. All of it goes into a file beside the one that readers know, and takes its place in one
step when it is whole. An update begins with a copy of the old file: what it adds is a segment of its own, and segments that are
close in size are merged.
"""
import contextlib
import functools
import itertools
import os
import shutil
import sqlite3
from array import array
from collections import Counter as Bag
from collections import defaultdict
from typing import Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from .analyzers import analyzer_of
from .catalog import document_row
from .chunking import CHUNKERS, chunk_row, searchable
from .corpus import CorpusSettings, open_corpus, stream_documents
from .errors import DataError, Fault
from .files import compact_json
from .lab import find, shipped
from .model import Chunk, Document, Tombstone
from .numbers import pack, pack_rising, unpack, unpack_rising
from .store import APPLICATION, FORMAT, GOVERNING, MASKS, SCHEMA, Made, RightsClass, Store, check_sum, rights_row
from .stored import StoredLab, StoredRow, read_document, settings_of, settings_row, vector_key
from .sums import added, share
from .swap import replacing
from .workers import in_order

MEMORY = 512             # megabytes for what was counted and not yet written, unless told otherwise
BYTES_OF_POSTING = 16    # what one posting takes in memory until then, with its share of everything else
MERGE = 2                # a segment is merged with the one before it unless that is more than so many times as large


# --- counting: what can be given to several processes ------------------------------------------------------------------

class Unit(NamedTuple):
    """A chunk, counted."""

    chunk: Chunk
    terms: list[str]           # with repeats
    vector: dict[str, int]     # key of a signed feature -> its weight without the sign
    share: int                 # for the digest of all chunks


class Counted(NamedTuple):
    """A document, counted."""

    document: Document
    units: list[Unit]
    share: int                 # for the digest of all documents


def count(document: Document, settings: CorpusSettings, vectors: bool) -> Counted:
    """Cut a document into chunks and count their terms, and the features of their vectors if these are wanted."""
    units = [_count_chunk(chunk, settings, vectors) for chunk in CHUNKERS[settings.chunker](document)]
    return Counted(document, units, share(document_row(document)))


def _count_chunk(chunk: Chunk, settings: CorpusSettings, vectors: bool) -> Unit:
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
    return Unit(chunk, terms, vector, share(chunk_row(chunk)))


# --- one channel: from the order of arrival to a segment ------------------------------------------------------------------

class Channel:
    """The units of a segment in the making, in the order in which they arrived, and the posting lists over that order."""

    def __init__(self, connection: sqlite3.Connection, name: str, by_size: bool = True):
        self._connection, self.name, self.by_size = connection, name, by_size
        self.ids: list[str] = []
        self.sizes, self.documents, self.ordinals, self.classes = (array("I") for _ in range(4))
        self._lists: dict[str, array] = defaultdict(functools.partial(array, "I"))
        self._runs = 0
        self.held = 0   # postings in memory

    def add(self, unit_id: str, document: int, ordinal: int, group: int, size: int, terms: Iterable[str]) -> None:
        """Take in a unit: `terms` with repeats, `document` and `group` by number."""
        arrival = len(self.ids)
        self.ids.append(unit_id)
        for column, value in zip((self.sizes, self.documents, self.ordinals, self.classes), (size, document, ordinal, group)):
            column.append(value)
        lists = self._lists
        for term in terms:
            lists[term].append(arrival)
            self.held += 1

    def extend(self, term: str, arrivals: Iterable[int]) -> None:
        """Say of units that were taken in without terms that they hold one."""
        before = len(self._lists[term])
        self._lists[term].extend(arrivals)
        self.held += len(self._lists[term]) - before

    def spill(self) -> None:
        """Write the posting lists that are in memory as a run."""
        rows = ((self.name, term, self._runs, pack(units)) for term, units in sorted(self._lists.items()))
        self._connection.executemany("INSERT INTO runs.runs VALUES (?, ?, ?, ?)", rows)
        self._lists.clear()
        self._runs, self.held = self._runs + 1, 0

    def lists(self) -> Iterator[tuple[str, array]]:
        """(term, arrivals) in the order of terms."""
        if not self._runs:
            yield from sorted(self._lists.items())
            return
        self.spill()
        rows = self._connection.execute("SELECT term, units FROM runs.runs WHERE channel = ? ORDER BY term, run", (self.name,))
        for term, runs in itertools.groupby(rows, key=lambda row: row[0]):
            units = array("I")
            for _, packed in runs:
                units += unpack(packed)
            yield term, units

    def write(self, segment: int) -> None:
        """Write everything as a segment: units by size and id, posting lists over that order."""
        order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
        if self.by_size:
            order.sort(key=self.sizes.__getitem__)   # a stable sort: the ids stay in order within a size
        place = array("I", bytes(4 * len(order)))    # arrival -> number
        for number, arrival in enumerate(order):
            place[arrival] = number
        columns = [array("I", map(column.__getitem__, order)) for column in (self.sizes, self.documents, self.ordinals, self.classes)]
        self._connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?)", (self.name, segment, *map(pack, columns)))
        mask = mask_of(columns[3])
        rows = ((self.name, term, segment, mask(units), pack_rising(units))
                for term, units in ((term, sorted(map(place.__getitem__, arrivals))) for term, arrivals in self.lists()))
        self._connection.executemany("INSERT INTO postings VALUES (?, ?, ?, ?, ?)", rows)


def mask_of(classes: Sequence[int]) -> Callable[[Iterable[int]], int]:
    """(units of a posting list) -> the set of their rights classes as a mask; -1, all of them, if there are too many classes."""
    present = sorted(set(classes))
    if not present or present[-1] > MASKS:
        return lambda units: -1
    if len(present) == 1:
        return lambda units: 1 << present[0]
    return lambda units: sum(1 << one for one in dict.fromkeys(map(classes.__getitem__, units)))


# --- the file that is being written ------------------------------------------------------------------------------------

class Writer:
    """An index file in the making, a new one or a copy of an old one. Nobody reads it before it is finished."""

    def __init__(self, path: str, memory: int = MEMORY):
        """`memory`: megabytes that what was counted may take before it goes to disk."""
        self._most = memory * 2 ** 20 // BYTES_OF_POSTING
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA secure_delete = ON; "
                                      "PRAGMA cache_size = -65536; ATTACH DATABASE '' AS runs; BEGIN")
        self.connection.execute("CREATE TABLE runs.runs (channel TEXT, term TEXT, run INTEGER, units BLOB, "
                                "PRIMARY KEY (channel, term, run)) WITHOUT ROWID")
        self.store = Store(path, self.connection)
        self.changes = {"added": 0, "replaced": 0, "unchanged": 0, "deleted": 0}
        self._removed: list[StoredRow] = []                   # whose units are still in the segments
        self._regions: dict[str, StoredRow] = {}              # regions of documents that came anew, until they come too
        self._places: dict[str, int] = {}

    def begin(self, corpus: CorpusSettings, vectors: bool, shipped: bool) -> None:
        """Begin a new file."""
        for statement in SCHEMA.split(";"):
            self.connection.execute(statement)
        self.connection.execute(f"PRAGMA application_id = {APPLICATION}")
        self._take({"format": FORMAT, "corpus": settings_row(corpus), "vectors": vectors, "shipped": shipped}, Made(0, 0, 0, 0))

    def go_on(self) -> None:
        """Go on with a file that was copied."""
        self._take({name: self.store.setting(name) for name in ("format", "corpus", "vectors", "shipped")}, self.store.made)

    def _take(self, settings: dict, made: Made) -> None:
        self.settings, self.corpus = settings, settings_of(settings["corpus"])
        self._made, self._classes, self._class_of_fields = made, dict(self.store.classes), {}
        self._next = self.store.rows("SELECT coalesce(max(number), 0) + 1 FROM documents")[0][0]
        self.channels = [Channel(self.connection, "bm25", self.corpus.k1 * self.corpus.b > 0)]
        self.channels += [Channel(self.connection, "dense")] if settings["vectors"] else []

    # --- documents in, documents out --------------------------------------------------------------------------------

    def add(self, counted: Counted) -> None:
        """Take in a document, in place of the one with its id if there is one. A fault: a `DataError`."""
        document, held = counted.document, self._held(counted.document.doc_id)
        self._regions.pop(document.doc_id, None)
        if held and held.gone:
            raise DataError([Fault(document.path, None, f"{document.doc_id!r} was deleted, and stays so", "give it a new id")])
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

    def _add_unit(self, number: int, group: int, unit: Unit) -> None:
        chunk, ordinal = unit.chunk, 0
        if self.corpus.chunker != "whole":
            ordinal = chunk.ordinal
            row = number, ordinal, chunk.chunk_id, chunk.start, chunk.end, compact_json(chunk.heading_path)
            self.connection.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, check_sum(*row)))
        lexical, *dense = self.channels
        lexical.add(chunk.chunk_id, number, ordinal, group, len(unit.terms), unit.terms)
        for channel in dense:
            size = sum(weight * weight for weight in unit.vector.values())
            channel.add(chunk.chunk_id, number, ordinal, group, size, Bag(unit.vector).elements())
        if sum(channel.held for channel in self.channels) > self._most:
            for channel in self.channels:
                channel.spill()

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
        row = (document.doc_id, number, group, gone, document.title, document.text, document.path, document.version,
               document.parent, facts)
        kept = (*row[:6], self._place_of(document.path), *row[7:], check_sum(*row))
        self.connection.execute("INSERT OR REPLACE INTO documents (doc_id, number, class, gone, title, text, place, version, "
                                "parent, facts, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", kept)

    def _place_of(self, path: str) -> int:
        if path not in self._places:
            self.connection.execute("INSERT OR IGNORE INTO places (path) VALUES (?)", (path,))
            self._places[path] = self.store.rows("SELECT place FROM places WHERE path = ?", (path,))[0][0]
        return self._places[path]

    def _class_of(self, document: Document) -> int:
        governing = tuple(getattr(document, name) for name in GOVERNING)
        if governing not in self._class_of_fields:
            rights = rights_row(document)
            known = next((number for number, group in self._classes.items() if group.rights == rights), None)
            self._class_of_fields[governing] = known or len(self._classes) + 1
            self._classes.setdefault(self._class_of_fields[governing], RightsClass(rights, 0, 0))
        return self._class_of_fields[governing]

    def _count(self, group: int, sign: int, counted: Counted) -> None:
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
        for channel in self.channels:
            self._purge(channel)
            if channel.ids:
                channel.write(self._segments(channel.name)[-1][0] + 1 if self._segments(channel.name) else 0)
            self._merge(channel)
        left = sum(units.count(0) for _, units in self._segments("bm25"))
        terms = self.store.rows("SELECT count(DISTINCT term) FROM postings WHERE channel = 'bm25'")[0][0]
        settings = dict(self.settings, made=self._made.row(), units_left=left, vocabulary=terms)
        for name, value in settings.items():
            row = name, compact_json(value)
            self.connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?, ?)", (*row, check_sum(*row)))
        for number, (rights, documents, total) in self._classes.items():
            row = number, rights, documents, f"{total:x}"
            self.connection.execute("INSERT OR REPLACE INTO classes VALUES (?, ?, ?, ?, ?)", (*row, check_sum(*row)))
        self.connection.execute("COMMIT")
        self.close()

    def close(self) -> None:
        """Close the file, finished or not."""
        self.connection.close()

    def _segments(self, channel: str) -> list[tuple[int, array]]:
        """(segment, document of each unit, 0 if it has left) of a channel, in order."""
        rows = self.store.rows("SELECT segment, documents FROM segments WHERE channel = ? ORDER BY segment", (channel,))
        return [(segment, unpack(packed)) for segment, packed in rows]

    def _purge(self, channel: Channel) -> None:
        """Take the units of removed documents out of the segments, and their terms with them."""
        gone = {held.number for held in self._removed}
        if not gone:
            return
        units = [unit for held in self._removed for unit in count(held.document, self.corpus, self.settings["vectors"]).units]
        keys = {key: None for unit in units for key in (unit.terms if channel.name == "bm25" else unit.vector)}
        for segment, documents in self._segments(channel.name):
            lost = {at: None for at, number in enumerate(documents) if number in gone}
            if lost:
                self._purge_segment(channel.name, segment, lost, sorted(keys))

    def _purge_segment(self, channel: str, segment: int, lost: Mapping[int, None], keys: Iterable[str]) -> None:
        where = "WHERE channel = ? AND segment = ?", (channel, segment)
        columns = [unpack(one) for one in self.store.rows(f"SELECT documents, ordinals, classes FROM segments {where[0]}", where[1])[0]]
        for column in columns:
            for at in lost:
                column[at] = 0
        self.connection.execute(f"UPDATE segments SET documents = ?, ordinals = ?, classes = ? {where[0]}",
                                (*map(pack, columns), *where[1]))
        mask = mask_of(columns[2])
        for key in keys:
            for packed, in self.store.rows(f"SELECT units FROM postings {where[0]} AND term = ?", (*where[1], key)):
                units = [unit for unit in unpack_rising(packed) if unit not in lost]
                if units:
                    self.connection.execute(f"UPDATE postings SET classes = ?, units = ? {where[0]} AND term = ?",
                                            (mask(units), pack_rising(units), *where[1], key))
                else:
                    self.connection.execute(f"DELETE FROM postings {where[0]} AND term = ?", (*where[1], key))

    def _merge(self, channel: Channel) -> None:
        """Merge the last two segments as long as they are close in size."""
        while len(segments := self._segments(channel.name)) > 1:
            (first, older), (second, newer) = segments[-2:]
            if len(older) > MERGE * len(newer) and len(newer) > newer.count(0):
                return
            merged = Channel(self.connection, channel.name, channel.by_size)
            arrivals = {segment: self._move(merged, segment) for segment in (first, second)}
            rows = self.connection.execute("SELECT term, segment, units FROM postings WHERE channel = ? AND segment >= ? "
                                           "ORDER BY term, segment", (channel.name, first))
            for term, segment, packed in rows:
                merged.extend(term, map(arrivals[segment].__getitem__, unpack_rising(packed)))
                if merged.held > self._most:
                    merged.spill()
            for table in ("postings", "segments"):
                self.connection.execute(f"DELETE FROM {table} WHERE channel = ? AND segment >= ?", (channel.name, first))
            merged.write(first)

    def _move(self, merged: Channel, segment: int) -> array:
        """Put the units of a segment into another; unit -> its arrival there."""
        row = self.store.rows("SELECT sizes, documents, ordinals, classes FROM segments WHERE channel = ? AND segment = ?",
                              (merged.name, segment))[0]
        sizes, documents, ordinals, classes = map(unpack, row)
        ids = self.store.unit_ids(documents, ordinals)
        arrivals = array("I", bytes(4 * len(sizes)))
        for at, document in enumerate(documents):
            if document:
                arrivals[at] = len(merged.ids)
                merged.add(ids[at], document, ordinals[at], classes[at], sizes[at], ())
        return arrivals


# --- a build, an update ------------------------------------------------------------------------------------------------

def build_index(corpus: str, out: str, vectors: bool = True, workers: int = 1, memory: int = MEMORY,
                watch: Callable[[int], None] = lambda count: None, read: Callable[[float], None] = lambda share: None) -> dict:
    """Build an index file over a corpus, given as for `build_lab`, and put it in the place of `out`; what it holds, in numbers.

    `workers`: processes that analyse; `watch` is called with the number of documents that are in, `read` with the share of the
    corpus that has been read, from 0 to 1. Raises `UsageError`, or `DataError` with every fault of the corpus.
    """
    path, shipped_names = find("corpus", corpus), shipped("corpus")
    faults: list[Fault] = []
    settings, rows = open_corpus(path, faults, read)
    with replacing(out) as beside, contextlib.closing(Writer(beside, memory)) as writer:
        writer.begin(settings, vectors, corpus in shipped_names)
        _stream(writer, stream_documents(rows, settings, faults), workers, watch)
        if faults:
            raise DataError(faults)
        writer.finish()
    return told(out, writer.changes)


def update_index(index: str, corpus: str | None = None, deleted: Sequence[str] = (), workers: int = 1, memory: int = MEMORY,
                 watch: Callable[[int], None] = lambda count: None, read: Callable[[float], None] = lambda share: None) -> dict:
    """Add the documents of a corpus to an index file, each in place of the one with its id, and delete others.

    All of it happens or nothing. Parameters and errors as for `build_index`.
    """
    faults: list[Fault] = []
    with replacing(index) as beside:
        lab = StoredLab(index)
        stones = [lab.delete(doc_id) for doc_id in deleted]
        shutil.copyfile(index, beside)
        with contextlib.closing(Writer(beside, memory)) as writer:
            writer.go_on()
            for stone in stones:
                writer.delete(stone)
            if corpus is not None:
                settings, rows = open_corpus(find("corpus", corpus), faults, read)
                _stream(writer, stream_documents(rows, settings, faults), workers, watch)
            if faults:
                raise DataError(faults)
            writer.finish()
    return told(index, writer.changes)


def _stream(writer: Writer, documents: Iterable[Document], workers: int, watch: Callable[[int], None]) -> None:
    """Count the documents, by several processes if there are to be several, and add them in the order in which they came."""
    work = functools.partial(count, settings=writer.corpus, vectors=writer.settings["vectors"])
    with contextlib.closing(in_order(work, documents, workers)) as stream:   # its processes end here, whatever happens
        for number, counted in enumerate(stream, start=1):
            writer.add(counted)
            watch(number)


def told(path: str, changes: dict) -> dict:
    """What an index file holds, in numbers."""
    with contextlib.closing(Store(path)) as store:
        made = store.made
        return {"schema": "rag_lab.index/1", "documents": made.documents, "chunks": made.chunks,
                "terms": store.setting("vocabulary"), "vectors": store.setting("vectors"), "changes": changes,
                "segments": store.rows("SELECT count(*) FROM segments WHERE channel = 'bm25'")[0][0],
                "bytes": os.path.getsize(path)}
