"""How does a lab work on an index in a file? The same catalog rules, chunks and channels, read as a query needs them.

Documents that are governed alike share a rights class, so the rules are tried once for each class and not for each document:
which units are live, how many documents there are and what their digest is follows from the classes that a scope may see.
"""
import functools
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Iterator, NamedTuple

from .bm25 import Bm25
from .catalog import RULES, Catalog, Live, document_row
from .chunking import CHUNKERS, searchable
from .corpus import CorpusSettings
from .errors import UsageError
from .files import digest
from .index import LiveIndex, Selection
from .lab import Lab, find, shipped
from .model import Chunk, Document, Fact, Scope
from .store import Store, StoredPostings
from .sums import added, share, sum_digest

READ_ONLY = "an index in a file is changed with: python -m rag_lab index CORPUS --update FILE"


class StoredRow(NamedTuple):
    """A document as it lies in a store."""

    number: int
    group: int       # its rights class
    gone: bool       # deleted: its words are no longer there
    document: Document


def read_document(store: Store, doc_id: str) -> StoredRow | None:
    """The row of a document; None if there is none of that id."""
    found = store.rows("SELECT doc_id, number, class, gone, title, text, path, version, parent, facts, documents.sum "
                       "FROM documents LEFT JOIN places ON places.place = documents.place WHERE doc_id = ?", (doc_id,))
    if not found:
        store.verify()
        return None
    doc_id, number, group, gone, title, text, path, version, parent, facts = store.checked(found[0], f"document {doc_id!r}")
    document = Document(doc_id, title, text, path, int(version), digest([title, text]), parent=parent,
                        facts=tuple(Fact(*fact) for fact in json.loads(facts or "[]")), **store.classes[group].fields)
    return StoredRow(number, group, bool(gone), document)


class Documents(Mapping):
    """All documents of a store by id, deleted ones too (without their words), in id order."""

    def __init__(self, store: Store):
        self._store = store
        self.row = functools.lru_cache(4096)(functools.partial(read_document, store))

    def __getitem__(self, doc_id: str) -> Document:
        found = self.row(doc_id)
        if found is None:
            raise KeyError(doc_id)
        return found.document

    def __iter__(self) -> Iterator[str]:
        self._store.verify()
        return (doc_id for doc_id, in self._store.rows("SELECT doc_id FROM documents ORDER BY doc_id"))

    def __len__(self) -> int:
        self._store.verify()
        return self._store.rows("SELECT count(*) FROM documents")[0][0]


class Selected(Selection):
    """The units of the documents that a scope may see: those of some classes, without those deleted since the opening."""

    def __init__(self, store: Store, classes: frozenset[int], gone: Mapping[int, Document], terms_of):
        self.store, self.classes, self.gone, self._terms_of = store, classes, gone, terms_of

    def flags(self, postings: StoredPostings) -> bytes | None:
        """A byte of 0 or 1 for each unit of a channel; None if all are live."""
        if not self.gone and not self.store.setting("units_left") and self.classes >= self.store.classes.keys():
            return None
        seen = bytes(number in self.classes for number in range(1 + max(self.store.classes, default=0)))
        flags = bytearray(map(seen.__getitem__, postings.classes))
        for number in self.gone:
            for unit in postings.units_of(number):
                flags[unit] = 0
        return bytes(flags)

    def __iter__(self) -> Iterator[str]:
        """The ids of the live units, in id order: for the few that must read them all."""
        self.store.verify()
        whole = self.store.setting("corpus")["chunker"] == "whole"
        chunks = "chunk_id, number, class FROM documents JOIN chunks ON document = number ORDER BY chunk_id"
        documents = "doc_id, number, class FROM documents WHERE gone = 0 ORDER BY doc_id"
        return (unit_id for unit_id, number, group in self.store.rows(f"SELECT {documents if whole else chunks}")
                if group in self.classes and number not in self.gone)

    def terms_lost(self) -> list[str]:
        """The different terms of the documents of these classes deleted since: the live units may hold them no more."""
        return list(dict.fromkeys(term for document in self.gone.values() for term in self._terms_of(document)))


class SelectedDocuments(Mapping):
    """The documents of a selection by id, in id order."""

    def __init__(self, documents: Documents, selection: Selected, count: int):
        self._documents, self.selection, self._count = documents, selection, count

    def __getitem__(self, doc_id: str) -> Document:
        found = self._documents.row(doc_id)
        if found is None or found.gone or found.group not in self.selection.classes or found.number in self.selection.gone:
            raise KeyError(doc_id)
        return found.document

    def __iter__(self) -> Iterator[str]:
        return (doc_id for doc_id in self._documents if doc_id in self)

    def __len__(self) -> int:
        return self._count


class StoredLive(Live):
    """What a scope may see of a store; its digest is summed up from those of the classes."""

    def __init__(self, documents: SelectedDocuments, ledger: Mapping[str, int], total: int):
        super().__init__(documents, ledger)
        self._total = total

    @property
    def digest(self) -> str:
        """As `Live.digest`."""
        return sum_digest(self._total)


class StoredCatalog(Catalog):
    """The catalog of a store. Deleting works as in any catalog and lasts as long as the object; others change the file."""

    def __init__(self, store: Store, clock: str | None, terms_of):
        self.clock, self.revision, self._terms_of = clock, 0, terms_of
        self._store, self._documents, self._live = store, Documents(store), {}
        self.tombstones = store.tombstones()
        self._in_file = frozenset(self.tombstones)
        self.all = self._documents

    def _decide(self, scope: Scope) -> StoredLive:
        rules = {number: self._rule_of(group.fields, scope) for number, group in self._store.classes.items()}
        seen = frozenset(number for number, rule in rules.items() if rule is None)
        gone = {row.number: row.document for row in self._gone() if row.group in seen}
        ledger = dict.fromkeys(RULES, 0)
        for number, rule in rules.items():
            ledger[rule or "deleted"] += self._store.classes[number].documents if rule else 0
        ledger["deleted"] += len(gone)
        groups = [self._store.classes[number] for number in seen]
        documents = SelectedDocuments(self._documents, Selected(self._store, seen, gone, self._terms_of),
                                      sum(group.documents for group in groups) - len(gone))
        taken = [-share(document_row(document)) for document in gone.values()]
        return StoredLive(documents, ledger, added([*(group.total for group in groups), *taken]))

    def _rule_of(self, fields: dict, scope: Scope) -> str | None:
        """The rule that keeps a whole class from a scope."""
        document = Document("", "", "", "", 0, "", **fields)
        return "tenant" if document.tenant is None or document.tenant != scope.tenant else self._governed(document, scope)

    def _gone(self) -> list["StoredRow"]:
        """The documents deleted since the file was opened, with their regions."""
        deleted = [doc_id for doc_id in self.tombstones if doc_id not in self._in_file]
        if deleted:
            self._store.verify()   # that they have no more regions
        regions = [region for doc_id in deleted for region, in self._store.rows(
            "SELECT doc_id FROM documents WHERE parent = ? AND gone = 0", (doc_id,))]
        return [self._documents.row(doc_id) for doc_id in dict.fromkeys([*deleted, *regions])]

    def put(self, *change) -> None:
        """Raises `UsageError`, as do all changes but deleting: the file is changed by a command of its own."""
        raise UsageError(READ_ONLY)

    apply = publish = withdraw = put


class StoredChunks:
    """The chunks of a store by id; `of` tells which belong to live documents."""

    def __init__(self, store: Store, documents: Documents, chunker: str):
        self._cut = functools.lru_cache(1024)(lambda doc_id: {
            chunk.chunk_id: chunk for chunk in CHUNKERS[chunker](documents[doc_id])})
        self._store, self._documents, self._whole = store, documents, chunker == "whole"
        self.by_id, self.owner = _Lookup(self, self._chunk), _Lookup(self, self._owner)

    def _chunk(self, chunk_id: str) -> Chunk:
        doc_id = self._owner(chunk_id)
        if chunk_id not in self._cut(doc_id):
            self._store.refuse(f"document {doc_id!r} is not cut into {chunk_id!r} any more")
        return self._cut(doc_id)[chunk_id]

    def _owner(self, chunk_id: str) -> str:
        number, ordinal = self._store.owner(chunk_id)
        if number is None or (ordinal == 0) != self._whole:
            raise KeyError(chunk_id)
        return chunk_id if self._whole else self._store.unit_id(number, 0)

    def ids(self) -> Iterator[str]:
        """The ids of all chunks."""
        self._store.verify()
        documents = "doc_id FROM documents WHERE gone = 0 ORDER BY doc_id"
        chunks = "chunk_id FROM chunks ORDER BY chunk_id"
        return (chunk_id for chunk_id, in self._store.rows(f"SELECT {documents if self._whole else chunks}"))

    def of(self, documents: SelectedDocuments) -> Selected:
        """The units of these documents."""
        return documents.selection


class _Lookup(Mapping):
    """chunk id -> what a function says of it."""

    def __init__(self, chunks: StoredChunks, function):
        self._chunks, self._function = chunks, function

    def __getitem__(self, chunk_id: str):
        return self._function(chunk_id)

    def __iter__(self) -> Iterator[str]:
        return self._chunks.ids()

    def __len__(self) -> int:
        return sum(1 for _ in self)


def open_lab(path: str, qrels: str | None = None, seams: "Seams | None" = None,
             cache: "ResultCache | None" = None) -> "StoredLab":
    """The lab over an index in a file.

    `qrels`: as for `build_lab`; without it, the judgements of the corpus if that comes with the lab.
    Raises `DataError` for a file that is no index, or is damaged.
    """
    lab = StoredLab(path, None if qrels is None else find("qrels", qrels), seams, cache)
    if qrels is None:
        lab.qrels_path = shipped("qrels").get(lab.shipped_name)
    return lab


class StoredLab(Lab):
    """A lab over an index in a file. It answers, deletes for as long as it is open, and evaluates; see `Lab`."""

    def __init__(self, path: str, qrels_path: str | None = None, seams: "Seams | None" = None,
                 cache: "ResultCache | None" = None):
        self.store = Store(path)
        self._prepare(settings_of(self.store.setting("corpus")), qrels_path, seams, cache)
        self.catalog = StoredCatalog(self.store, self.settings.clock, self._terms_of)
        self.chunks = StoredChunks(self.store, self.catalog.all, self.settings.chunker)
        postings = StoredPostings(self.store, "bm25", self.settings.k1 * self.settings.b > 0)
        self._bm25 = Bm25(postings, self.settings.k1, self.settings.b, self._query_terms)
        self._dense = None

    @property
    def shipped_name(self) -> str | None:
        """The name of the corpus that the index was built from; None if it does not come with the lab."""
        return self.settings.name if self.store.setting("shipped") else None

    def _terms_of(self, document: Document) -> Iterator[str]:
        chunks = CHUNKERS[self.settings.chunker](document)
        return (term for chunk in chunks for term in self.analyzer.terms(searchable(chunk)))

    def _index(self, documents) -> None:
        raise UsageError(READ_ONLY)

    def _make_dense(self) -> LiveIndex:
        if self.seams and (self.seams.encoder or self.seams.retriever):
            return super()._make_dense()
        if not self.store.setting("vectors"):
            raise UsageError(f"{self.store.path} was built without vectors; build it again without --lexical")
        return self._dense_over(StoredPostings(self.store, "dense", key=vector_key))

    def close(self) -> None:
        """Close the file."""
        self.store.close()

    @property
    def manifest(self) -> dict:
        """What the index is made of, as it was written."""
        from . import manifest   # here, for a query does without
        made = self.store.made
        return manifest.make(sum_digest(made.catalog), sum_digest(made.content), made.documents, made.chunks,
                             self.settings.chunker, *self._encoder(), self.settings.clock)


def vector_key(feature: tuple) -> str:
    """The key of the posting list of a signed feature: "+17", "-17"."""
    return f"{'+' if feature[1] > 0 else '-'}{feature[0]}"


def settings_row(settings: CorpusSettings) -> dict:
    """The settings of a corpus, as JSON has them."""
    scope = settings.scope._asdict()
    return {**settings._asdict(), "settings": dict(settings.settings), "defaults": {},
            "scope": {**scope, "as_of": scope["as_of"] and scope["as_of"].isoformat()}}


def settings_of(row: dict) -> CorpusSettings:
    """The settings from what `settings_row` wrote."""
    scope = row["scope"]
    return CorpusSettings(**{**row, "scope": Scope(**{**scope, "roles": tuple(scope["roles"]), "as_of":
                             scope["as_of"] and datetime.fromisoformat(scope["as_of"])})})
