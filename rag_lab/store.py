"""How does an index lie in one file, and how is no more of it read than a query needs?

One SQLite file: documents, the spans of their chunks, posting lists of both channels, tombstones, and what they were made
with. A published file never changes: an update writes a new one beside it that then takes its place. So readers need no
locks, and one that has a file open goes on reading the state it opened.

What is found is checked against a sum that was kept with it. What is not found may have been lost: that it was never there
is believed after the sum over the whole file, kept in its header, was checked once.
"""
import functools
import json
import os
import sqlite3
import zlib
from array import array
from datetime import datetime
from typing import Callable, Hashable, Iterable, NamedTuple, Sequence

from .errors import DataError, Fault
from .files import READABLE, compact_json
from .model import Document, Tombstone
from .numbers import Damaged, unpack, unpack_rising
from .postings import Live, Postings, cut_blocks

FORMAT = "rag_lab.index/1"   # raised when the layout or the meaning of a value changes
MAGIC = b"SQLite format 3\0"  # how the file begins
APPLICATION = 0x7261676C     # "ragl", in its header
REBUILD = "build it again: python -m rag_lab index CORPUS --out FILE"
MASKS = 62                   # the mask of a posting list has a bit for each rights class below, and this one for all others
SUM_AT = 60                  # where the header of an SQLite file has four bytes for its user: here, the sum over all others

SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE classes (class INTEGER PRIMARY KEY, rights TEXT NOT NULL, documents INTEGER NOT NULL, total TEXT NOT NULL,
    sum INTEGER NOT NULL);
CREATE TABLE places (place INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE documents (number INTEGER PRIMARY KEY, doc_id TEXT NOT NULL UNIQUE, class INTEGER NOT NULL,
    gone INTEGER NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL, place INTEGER NOT NULL, version TEXT NOT NULL,
    parent TEXT, facts TEXT, sum INTEGER NOT NULL);
CREATE INDEX regions ON documents (parent) WHERE parent IS NOT NULL;
CREATE TABLE chunks (document INTEGER NOT NULL, ordinal INTEGER NOT NULL, chunk_id TEXT NOT NULL UNIQUE,
    start INTEGER NOT NULL, stop INTEGER NOT NULL, headings TEXT NOT NULL, sum INTEGER NOT NULL,
    PRIMARY KEY (document, ordinal)) WITHOUT ROWID;
CREATE TABLE segments (channel TEXT NOT NULL, segment INTEGER NOT NULL, sizes BLOB NOT NULL, documents BLOB NOT NULL,
    ordinals BLOB NOT NULL, classes BLOB NOT NULL, PRIMARY KEY (channel, segment)) WITHOUT ROWID;
CREATE TABLE postings (channel TEXT NOT NULL, term TEXT NOT NULL, segment INTEGER NOT NULL, classes INTEGER NOT NULL,
    units BLOB NOT NULL, PRIMARY KEY (channel, term, segment)) WITHOUT ROWID;
CREATE TABLE tombstones (position INTEGER PRIMARY KEY, record TEXT NOT NULL, sum INTEGER NOT NULL);
"""

COLUMNS = ("sizes", "documents", "ordinals", "classes")   # of a segment: a number for each unit


def check_sum(*values) -> int:
    """The sum that is kept with the values of a row."""
    return zlib.crc32(repr(values).encode("utf-8"))


def posting_label(channel: str, term: str, segment: int, classes: int) -> str:
    """What the numbers of a posting list are, for their sum."""
    return f"{channel} {segment} {classes} {term}"


def sum_of_file(file) -> int:
    """CRC-32 of a file that is open for reading, but for the four bytes at `SUM_AT`."""
    file.seek(0)
    total = zlib.crc32(file.read(SUM_AT))
    file.seek(SUM_AT + 4)
    while part := file.read(1 << 20):
        total = zlib.crc32(part, total)
    return total


def seal(path: str) -> None:
    """Write the sum over a file into its header."""
    with open(path, "r+b") as file:
        total = sum_of_file(file)
        file.seek(SUM_AT)
        file.write(total.to_bytes(4, "big"))


class RightsClass(NamedTuple):
    """What governs all documents of a class alike, how many are live, and the sum of their shares (see `sums`)."""

    rights: str        # as `rights_row` writes it
    documents: int
    total: int

    @property
    def fields(self) -> dict:
        """The fields of a document that make up its class."""
        return rights_of(self.rights)


class Made(NamedTuple):
    """What an index is made of, for its manifest: sums of shares (see `sums`) and counts."""

    catalog: int       # of the documents
    content: int       # of the chunks
    documents: int
    chunks: int

    def row(self) -> list:
        """As JSON has it."""
        return [f"{self.catalog:x}", f"{self.content:x}", self.documents, self.chunks]


GOVERNING = ("tenant", "roles", "status", "valid_from", "valid_to", "applies_from", "applies_to", "trust", "kind", "topic",
             "language", "principals", "within")   # the fields of a document that make up its class
TIMES, TUPLES = ("valid_from", "valid_to"), ("roles", "principals", "within")


def rights_row(document: Document) -> str:
    """What governs a document, as JSON."""
    fields = {name: getattr(document, name) for name in GOVERNING}
    return compact_json({**fields, **{name: fields[name] and fields[name].isoformat() for name in TIMES}})


def rights_of(row: str) -> dict:
    """The fields of a document from what `rights_row` wrote."""
    fields = json.loads(row)
    return {**fields, **{name: fields[name] and datetime.fromisoformat(fields[name]) for name in TIMES},
            **{name: fields[name] if fields[name] is None else tuple(fields[name]) for name in TUPLES}}


class Store:
    """An index file, open for reading. Raises `DataError` for a file that is none, is damaged, or has another format."""

    def __init__(self, path: str, connection: sqlite3.Connection | None = None):
        """`connection`: that of a file in the making, which is not checked yet."""
        self.path, self.connection, self._file, self._whole = path, connection, None, connection is not None
        if connection is None:
            try:
                self._open()
            except BaseException:
                self.close()
                raise

    def _open(self) -> None:
        if not os.path.isfile(self.path):
            there = os.path.exists(self.path)
            raise DataError([Fault(self.path, None, "this is no file" if there else "there is no such file", REBUILD)])
        try:
            self._file = open(self.path, "rb")   # also for the sum over all: another file may take the place of this one
            begin = self._file.read(len(MAGIC))
            if begin != MAGIC:
                self.refuse(f"it begins with {begin!r}, expected {MAGIC!r}")
            address = "file:" + "".join(f"%{octet:02x}" for octet in os.fsencode(os.path.abspath(self.path)))
            self.connection = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True, check_same_thread=False)
            replaced = not os.path.samestat(os.fstat(self._file.fileno()), os.stat(self.path))
        except OSError as error:
            raise DataError([Fault(self.path, None, f"cannot be read ({error.strerror})", READABLE)]) from error
        except sqlite3.Error as error:
            self.refuse(f"SQLite says: {error}")
        if replaced:   # between the two openings
            self.close()
            self._open()
        else:
            self._check()

    def _check(self) -> None:
        """Look at what tells another file, another format and a file cut off."""
        if (found := self.rows("PRAGMA application_id")[0][0]) != APPLICATION:
            self.refuse(f"it is a database of something else: its application id is {found:#x}, expected {APPLICATION:#x}")
        if (found := self.setting("format")) != FORMAT:
            self.refuse(f"its format is {found!r}, expected {FORMAT!r}")
        size = self.rows("PRAGMA page_count")[0][0] * self.rows("PRAGMA page_size")[0][0]
        if (found := os.fstat(self._file.fileno()).st_size) != size:
            self.refuse(f"it has {found} bytes, expected {size}")
        for table, expected in self.setting("rows").items():
            if (found := self.rows(f"SELECT count(*) FROM {table}")[0][0]) != expected:
                self.refuse(f"it has {found} {table}, expected {expected}")

    def refuse(self, found: str):
        """Raise the error that tells what is wrong with the file, and how to come by a whole one."""
        raise DataError([Fault(self.path, None, f"this is no index that can be used: {found}", REBUILD)])

    def verify(self) -> None:
        """Read the whole file once and compare it with its sum: before a thing is believed to be missing from it."""
        if self._whole:
            return
        self._file.seek(SUM_AT)
        expected, found = int.from_bytes(self._file.read(4), "big"), sum_of_file(self._file)
        if found != expected:
            self.refuse(f"the sum over the file is {found:08x}, expected {expected:08x}")
        self._whole = True

    def rows(self, query: str, values: Sequence = ()) -> list[tuple]:
        """The rows of a query."""
        try:
            return self.connection.execute(query, values).fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:   # the second: of a message that quotes damaged text
            self.refuse(f"SQLite says: {error}")

    def checked(self, row: tuple, what: str) -> tuple:
        """The row without the sum at its end, if that fits."""
        *values, total = row
        if check_sum(*values) != total:
            self.refuse(f"{what} is damaged")
        return tuple(values)

    def setting(self, name: str):
        """A value that was kept under a name."""
        found = self.rows("SELECT name, value, sum FROM settings WHERE name = ?", (name,))
        if not found:
            self.refuse(f"setting {name!r} is missing")
        return json.loads(self.checked(found[0], f"setting {name!r}")[1])

    @functools.cached_property
    def classes(self) -> dict[int, RightsClass]:
        """The rights classes by their numbers, from 1."""
        found = (self.checked(row, "a rights class") for row in
                 self.rows("SELECT class, rights, documents, total, sum FROM classes ORDER BY class"))
        return {number: RightsClass(rights, documents, int(total, 16)) for number, rights, documents, total in found}

    @property
    def made(self) -> Made:
        """What the index is made of."""
        catalog, content, documents, chunks = self.setting("made")
        return Made(int(catalog, 16), int(content, 16), documents, chunks)

    def tombstones(self) -> dict[str, Tombstone]:
        """The tombstones by document, in the order of deletion."""
        rows = (self.checked(row, "a tombstone") for row in
                self.rows("SELECT position, record, sum FROM tombstones ORDER BY position"))
        stones = (Tombstone(*json.loads(record)) for _, record in rows)
        return {stone.doc_id: stone for stone in stones}

    def column(self, channel: str, name: str) -> list[tuple[int, array]]:
        """[(segment, a number for each of its units)] of one of the `COLUMNS`, in order."""
        rows = self.rows(f"SELECT segment, {name} FROM segments WHERE channel = ? ORDER BY segment", (channel,))
        return [(segment, self._unpacked(unpack, packed, f"{channel} {segment} {name}")) for segment, packed in rows]

    def lists(self, channel: str, term: str) -> list[tuple[int, array]]:
        """[(segment, units)] of a term, in order, the segments only that hold it."""
        rows = self.rows("SELECT segment, classes, units FROM postings WHERE channel = ? AND term = ? ORDER BY segment",
                         (channel, term))
        return [(segment, self._unpacked(unpack_rising, packed, posting_label(channel, term, segment, classes)))
                for segment, classes, packed in rows]

    def _unpacked(self, how, packed: bytes, label: str) -> array:
        try:
            return how(packed, label)
        except Damaged as error:
            self.refuse(f"the numbers of {label!r} are damaged ({error})")

    # --- units and their documents ------------------------------------------------------------------------------------

    def unit_id(self, document: int, ordinal: int) -> str:
        """The id of a chunk of a document; ordinal 0 is the document as a whole."""
        found = (self.rows("SELECT chunk_id FROM chunks WHERE document = ? AND ordinal = ?", (document, ordinal)) if ordinal
                 else self.rows("SELECT doc_id FROM documents WHERE number = ?", (document,)))
        if not found or self.owner(found[0][0]) != (document, ordinal):   # an index of its own leads from the id
            self.refuse(f"unit {ordinal} of document {document} is missing")
        return found[0][0]

    def unit_ids(self, documents: Sequence[int], ordinals: Sequence[int]) -> list[str]:
        """The ids of many units at once; those that have left the index have the id "" here."""
        self.verify()
        whole = dict(self.rows("SELECT number, doc_id FROM documents"))
        chunks = {(document, ordinal): chunk_id for document, ordinal, chunk_id in
                  self.rows("SELECT document, ordinal, chunk_id FROM chunks")}
        return [chunks.get(owner, "") if owner[1] else whole.get(owner[0], "") for owner in zip(documents, ordinals)]

    def owner(self, unit_id: str) -> tuple[int | None, int]:
        """(number of the document, ordinal) of a unit; (None, 0) if there is none."""
        found = (self.rows("SELECT document, ordinal FROM chunks WHERE chunk_id = ?", (unit_id,))
                 or self.rows("SELECT number, 0 FROM documents WHERE doc_id = ? AND gone = 0", (unit_id,)))
        if not found:
            self.verify()
        return found[0] if found else (None, 0)

    def close(self) -> None:
        """Close the file."""
        for opened in (self.connection, self._file):
            if opened is not None:
                opened.close()


class StoredPostings(Postings):
    """The posting lists of one channel of a store, over all its segments; a list is read when it is asked for."""

    def __init__(self, store: Store, channel: str, by_size: bool = True, key: Callable[[Hashable], str] = str):
        """`key` writes a term as the text under which its list is kept."""
        self.store, self.channel, self._key = store, channel, key
        self.sizes, self.blocks, self._starts = array("Q"), [], {}   # segment -> number of its first unit
        for segment, sizes in store.column(channel, "sizes"):
            start = self._starts[segment] = len(self.sizes)
            self.sizes += sizes
            self.blocks += cut_blocks(sizes if by_size else [0] * len(sizes), start)
        if len(self._starts) != (expected := store.setting("segments")[channel]):
            store.refuse(f"it has {len(self._starts)} segments of {channel}, expected {expected}")
        self.ids = StoredIds(self)
        self.list_of = functools.lru_cache(256)(self._list_of)
        self._keep_rows()

    def _column(self, name: str) -> array:
        """A number for each unit."""
        found = array("I")
        for _, numbers in self.store.column(self.channel, name):
            found += numbers
        return found

    @functools.cached_property
    def documents(self) -> array:
        """Unit -> number of its document; 0 for a unit whose document has left the index."""
        return self._column("documents")

    @functools.cached_property
    def ordinals(self) -> array:
        """Unit -> its place among the chunks of its document; 0 for the document as a whole."""
        return self._column("ordinals")

    @functools.cached_property
    def classes(self) -> array:
        """Unit -> rights class of its document; 0 for a unit whose document has left the index."""
        return self._column("classes")

    def terms(self) -> Iterable[str]:
        """All keys that have a posting list."""
        query = "SELECT DISTINCT term FROM postings WHERE channel = ? ORDER BY term"
        return [term for term, in self.store.rows(query, (self.channel,))]

    def _list_of(self, term: Hashable) -> array:
        found, lists = array("I"), self.store.lists(self.channel, self._key(term))
        if len(lists) < len(self._starts):
            self.store.verify()
        for segment, units in lists:
            start = self._starts[segment]
            found += array("I", [start + unit for unit in units]) if start else units
        return found

    def number(self, unit_id: str) -> int | None:
        """The number of a unit; None if there is none of that id."""
        document, ordinal = self.store.owner(unit_id)
        return next((number for number in self.units_of(document) if self.ordinals[number] == ordinal), None)

    def units_of(self, document: int | None) -> list[int]:
        """The numbers of the units of a document, given by its number."""
        found = []
        try:
            while document is not None:
                found.append(self.documents.index(document, found[-1] + 1 if found else 0))
        except ValueError:   # there is no further one
            pass
        return found

    def vocabulary(self, live: Live, df: Callable[[Hashable], int]) -> int:
        """How many different terms the live units hold. `df` tells in how many of them a term stands."""
        if live.everything:
            return self.store.setting("vocabulary")
        self.store.verify()
        sure = sum(1 << one for one in live.selection.classes if one < MASKS)
        (found,), = self.store.rows("SELECT count(DISTINCT term) FROM postings WHERE channel = ? AND classes & ?",
                                    (self.channel, sure))
        doubtful = self._doubtful(sure) if max(live.selection.classes, default=0) >= MASKS else {}
        return (found - sum(df(term) == 0 for term in live.selection.terms_lost() if term not in doubtful)
                + sum(any(map(live.flags.__getitem__, self._list_of(term))) for term in doubtful))

    def _doubtful(self, sure: int) -> dict[str, None]:
        """The terms of units of the classes that share a bit, without those that a mask finds anyway."""
        return dict.fromkeys(term for term, in self.store.rows(
            "SELECT term FROM postings WHERE channel = ? GROUP BY term HAVING max(classes & ?) = 0 AND max(classes & ?) > 0",
            (self.channel, sure, 1 << MASKS)))


class StoredIds(Sequence):
    """The ids of the units of a channel by their numbers, read one at a time; all of them once many were asked for."""

    MANY = 512

    def __init__(self, postings: StoredPostings):
        self._postings, self._known = postings, {}

    def __len__(self) -> int:
        return len(self._postings.sizes)

    def __getitem__(self, number: int) -> str:
        if number not in self._known:
            if len(self._known) < self.MANY:
                document, ordinal = self._postings.documents[number], self._postings.ordinals[number]
                self._known[number] = self._postings.store.unit_id(document, ordinal)
            else:
                postings = self._postings
                self._known = dict(enumerate(postings.store.unit_ids(postings.documents, postings.ordinals)))
        return self._known[number]
