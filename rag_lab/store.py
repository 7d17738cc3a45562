"""How does an index lie in one file, and how is no more of it read than a query needs?

One SQLite file: documents, the spans of their chunks, posting lists of both channels, tombstones, and what they were made with. A
published file never changes: an update writes a new one beside it that then takes its place. So readers need no locks, and one
that has a file open goes on reading the state it opened. Every value is checked against a sum that was kept with it.
"""
import functools
import json
import os
import sqlite3
import zlib
from array import array
from datetime import datetime
from typing import Callable, Hashable, NamedTuple, Sequence

from .errors import DataError, Fault
from .files import compact_json
from .model import Document, Tombstone
from .numbers import Damaged, unpack, unpack_rising
from .postings import Live, Postings, cut_blocks

FORMAT = "rag_lab.index/1"   # raised when the layout or the meaning of a value changes
APPLICATION = 0x7261676C     # "ragl", in the header of the file
REBUILD = "build it again: python -m rag_lab index CORPUS --out FILE"
MASKS = 62                   # rights classes that the mask of a posting list can tell apart

SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE classes (class INTEGER PRIMARY KEY, rights TEXT NOT NULL, documents INTEGER NOT NULL, total TEXT NOT NULL,
    sum INTEGER NOT NULL);
CREATE TABLE places (place INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE documents (number INTEGER PRIMARY KEY, doc_id TEXT NOT NULL UNIQUE, class INTEGER NOT NULL, gone INTEGER NOT NULL,
    title TEXT NOT NULL, text TEXT NOT NULL, place INTEGER NOT NULL, version INTEGER NOT NULL, parent TEXT, facts TEXT,
    sum INTEGER NOT NULL);
CREATE INDEX regions ON documents (parent) WHERE parent IS NOT NULL;
CREATE TABLE chunks (document INTEGER NOT NULL, ordinal INTEGER NOT NULL, chunk_id TEXT NOT NULL UNIQUE, start INTEGER NOT NULL,
    stop INTEGER NOT NULL, headings TEXT NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (document, ordinal)) WITHOUT ROWID;
CREATE TABLE segments (channel TEXT NOT NULL, segment INTEGER NOT NULL, sizes BLOB NOT NULL, documents BLOB NOT NULL,
    ordinals BLOB NOT NULL, classes BLOB NOT NULL, PRIMARY KEY (channel, segment)) WITHOUT ROWID;
CREATE TABLE postings (channel TEXT NOT NULL, term TEXT NOT NULL, segment INTEGER NOT NULL, classes INTEGER NOT NULL,
    units BLOB NOT NULL, PRIMARY KEY (channel, term, segment)) WITHOUT ROWID;
CREATE TABLE tombstones (position INTEGER PRIMARY KEY, record TEXT NOT NULL, sum INTEGER NOT NULL);
"""

SEGMENTS_OF = "FROM segments WHERE channel = ? ORDER BY segment"


def check_sum(*values) -> int:
    """The sum that is kept with the values of a row."""
    return zlib.crc32(repr(values).encode("utf-8"))


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
        self.path = path
        self.connection = connection or self._open()

    def _open(self) -> sqlite3.Connection:
        if not os.path.isfile(self.path):
            raise DataError([Fault(self.path, None, "there is no such file", REBUILD)])
        address = "file:" + "".join(f"%{octet:02x}" for octet in os.fsencode(os.path.abspath(self.path)))
        self.connection = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        if self.rows("PRAGMA application_id")[0][0] != APPLICATION:
            self.refuse("it is a database of something else")
        if (found := self.setting("format")) != FORMAT:
            self.refuse(f"its format is {found!r}, expected {FORMAT!r}")
        size = self.rows("PRAGMA page_count")[0][0] * self.rows("PRAGMA page_size")[0][0]
        if os.path.getsize(self.path) != size:
            self.refuse(f"it has {os.path.getsize(self.path)} bytes, expected {size}")
        return self.connection

    def refuse(self, found: str):
        """Raise the error that tells what is wrong with the file, and how to come by a whole one."""
        raise DataError([Fault(self.path, None, f"this is no index that can be used: {found}", REBUILD)])

    def rows(self, query: str, values: Sequence = ()) -> list[tuple]:
        """The rows of a query."""
        try:
            return self.connection.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
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

    def numbers(self, packed: bytes, what: str, rising: bool = False) -> array:
        """The numbers of a packed value."""
        try:
            return (unpack_rising if rising else unpack)(packed)
        except Damaged as error:
            self.refuse(f"{what} is damaged ({error})")

    # --- units and their documents ------------------------------------------------------------------------------------

    def unit_id(self, document: int, ordinal: int) -> str:
        """The id of a chunk of a document; ordinal 0 is the document as a whole."""
        table = ("chunks WHERE document = ? AND ordinal = ?", "chunk_id") if ordinal else ("documents WHERE number = ?", "doc_id")
        found = self.rows(f"SELECT {table[1]} FROM {table[0]}", (document, ordinal) if ordinal else (document,))
        return found[0][0] if found else self.refuse(f"unit {ordinal} of document {document} is missing")

    def unit_ids(self, documents: Sequence[int], ordinals: Sequence[int]) -> list[str]:
        """The ids of many units at once; those that have left the index have the id "" here."""
        whole = dict(self.rows("SELECT number, doc_id FROM documents"))
        chunks = {(document, ordinal): chunk_id for document, ordinal, chunk_id in
                  self.rows("SELECT document, ordinal, chunk_id FROM chunks")}
        return [chunks.get(owner, "") if owner[1] else whole.get(owner[0], "") for owner in zip(documents, ordinals)]

    def owner(self, unit_id: str) -> tuple[int | None, int]:
        """(number of the document, ordinal) of a unit; (None, 0) if there is none."""
        found = (self.rows("SELECT document, ordinal FROM chunks WHERE chunk_id = ?", (unit_id,))
                 or self.rows("SELECT number, 0 FROM documents WHERE doc_id = ? AND gone = 0", (unit_id,)))
        return found[0] if found else (None, 0)

    def close(self) -> None:
        """Close the file."""
        self.connection.close()


class StoredPostings(Postings):
    """The posting lists of one channel of a store, over all its segments; a list is read when it is asked for."""

    def __init__(self, store: Store, channel: str, by_size: bool = True, key: Callable[[Hashable], str] = str):
        """`key` writes a term as the text under which its list is kept."""
        self.store, self.channel, self._key = store, channel, key
        self.sizes, self.blocks, self._starts = array("I"), [], {}   # segment -> number of its first unit
        for segment, packed in store.rows(f"SELECT segment, sizes {SEGMENTS_OF}", (channel,)):
            start = self._starts[segment] = len(self.sizes)
            sizes = store.numbers(packed, f"segment {segment} of {channel}")
            self.sizes += sizes
            self.blocks += cut_blocks(sizes if by_size else [0] * len(sizes), start)
        self.ids = StoredIds(self)
        self.list_of = functools.lru_cache(256)(self._list_of)
        self._keep_rows()

    def _column(self, name: str) -> array:
        """A number for each unit."""
        found = array("I")
        for segment, packed in self.store.rows(f"SELECT segment, {name} {SEGMENTS_OF}", (self.channel,)):
            found += self.store.numbers(packed, f"segment {segment} of {self.channel}")
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

    def _list_of(self, term: Hashable) -> array:
        found = array("I")
        query = "SELECT segment, units FROM postings WHERE channel = ? AND term = ? ORDER BY segment"
        for segment, packed in self.store.rows(query, (self.channel, self._key(term))):
            units, start = self.store.numbers(packed, f"the posting list of {term!r}", rising=True), self._starts[segment]
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
        classes, lost = live.selection.classes, live.selection.terms_lost()
        if max(classes, default=0) > MASKS:
            terms = self.store.rows("SELECT DISTINCT term FROM postings WHERE channel = ?", (self.channel,))
            return sum(any(map(live.flags.__getitem__, self._list_of(term))) for (term,) in terms)
        held = "SELECT count(DISTINCT term) FROM postings WHERE channel = ? AND classes & ?"
        (found,), = self.store.rows(held, (self.channel, sum(1 << one for one in classes)))
        return found - sum(df(term) == 0 for term in lost)


class StoredIds(Sequence):
    """The ids of the units of a channel by their numbers, read one at a time; all of them once many were asked for."""

    MANY = 512

    def __init__(self, postings: StoredPostings):
        self._postings, self._known, self._all = postings, {}, None

    def __len__(self) -> int:
        return len(self._postings.sizes)

    def __getitem__(self, number: int) -> str:
        if number not in self._known:
            if len(self._known) < self.MANY:
                document, ordinal = self._postings.documents[number], self._postings.ordinals[number]
                self._known[number] = self._postings.store.unit_id(document, ordinal)
            else:
                self._known = dict(enumerate(self._postings.store.unit_ids(self._postings.documents, self._postings.ordinals)))
        return self._known[number]
