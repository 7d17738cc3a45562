"""Who may see which document now? The catalog is asked before anything is ranked and again before anything is shown.

Hard rules only, in a fixed order; a document falls to the first rule that it breaks. What cannot be decided is denied.
Not for relevance, and not for how a document reads.
"""
import functools
from types import MappingProxyType
from typing import Iterable, Mapping

from .errors import UsageError
from .fields import version_key
from .files import digest
from .model import Document, Scope, Tombstone

RULES = ("tenant", "role", "deleted", "status", "time", "version")   # in the order in which they are tried


class Live:
    """The documents that a scope may see, and how many fell to each rule. The ledger is for those who may know it."""

    def __init__(self, documents: Mapping[str, Document], ledger: Mapping[str, int]):
        self.documents = documents   # by id, in id order
        self.ledger = ledger         # rule of RULES -> documents that fell to it

    @functools.cached_property
    def digest(self) -> str:
        """A digest of all that these documents say and that governs them, whatever the order they were read in."""
        return digest([_row(document) for document in self.documents.values()])


class Catalog:
    """All documents, deleted ones too, with the tombstones. Each change raises `revision`."""

    def __init__(self, documents: Iterable[Document], clock: str | None = None):
        self.clock = clock
        self.revision = 0
        self.tombstones: dict[str, Tombstone] = {}
        self._documents = {document.doc_id: document for document in documents}
        self._live: dict[Scope, Live] = {}   # of this revision

    @property
    def documents(self) -> tuple[Document, ...]:
        """Every document, hidden and deleted ones too, in id order: for building indexes, not for showing."""
        return tuple(self._documents[doc_id] for doc_id in sorted(self._documents))

    def eligible(self, scope: Scope) -> Live:
        """The live documents of a scope. The same object until the catalog changes."""
        if scope not in self._live:
            self._live[scope] = self._decide(scope)
        return self._live[scope]

    def _decide(self, scope: Scope) -> Live:
        documents, ledger = {}, dict.fromkeys(RULES, 0)
        for doc_id in sorted(self._documents):
            rule = self.broken_rule(doc_id, scope)
            if rule:
                ledger[rule] += 1
            else:
                documents[doc_id] = self._documents[doc_id]
        return Live(MappingProxyType(documents), MappingProxyType(ledger))

    def broken_rule(self, doc_id: str, scope: Scope) -> str | None:
        """The first rule of `RULES` that keeps a document from a scope, "missing" for an unknown id, None if it may pass."""
        document = self._documents.get(doc_id)
        if document is None:
            return "missing"
        if document.tenant is None or document.tenant != scope.tenant:
            return "tenant"
        if not any(role in document.roles for role in scope.roles):
            return "role"
        if doc_id in self.tombstones:
            return "deleted"
        if document.status != "active":
            return "status"
        if scope.as_of is not None and not in_force(document, scope.as_of):
            return "time"
        if scope.product_version is not None and not applies_to(document, scope.product_version):
            return "version"
        return None

    def current(self, doc_id: str, scope: Scope) -> Document | None:
        """The document as it is now, if the scope may see it."""
        return None if self.broken_rule(doc_id, scope) else self._documents[doc_id]

    def put(self, document: Document) -> None:
        """Add a document, or take it in place of the one with its id. A deleted id stays deleted."""
        self._documents[document.doc_id] = document
        self._changed()

    def delete(self, doc_id: str, scope: Scope, reason: str = "user_request") -> Tombstone:
        """Write a tombstone. Raises one and the same `UsageError` for an id that is unknown, hidden or deleted before."""
        document = self.current(doc_id, scope)
        if document is None:
            raise UsageError(f"there is no document {doc_id!r} to delete; name one that a query can return")
        request = f"del-{doc_id}-{len(self.tombstones_of(scope)) + 1}"
        self.tombstones[doc_id] = Tombstone(doc_id, document.version, self.clock, reason, request)
        self._changed()
        return self.tombstones[doc_id]

    def _changed(self) -> None:
        self.revision += 1
        self._live.clear()

    def tombstones_of(self, scope: Scope) -> tuple[Tombstone, ...]:
        """The tombstones of documents that the scope could have seen, in the order of deletion."""
        return tuple(stone for doc_id, stone in self.tombstones.items() if self.broken_rule(doc_id, scope) == "deleted")


def in_force(document: Document, moment) -> bool:
    """valid_from <= moment < valid_to; an end that is not given is open."""
    return ((document.valid_from is None or document.valid_from <= moment)
            and (document.valid_to is None or moment < document.valid_to))


def applies_to(document: Document, product_version: str) -> bool:
    """applies_from <= product version <= applies_to, compared as numbers; an end that is not given is open."""
    wanted = version_key(product_version)
    return ((document.applies_from is None or version_key(document.applies_from) <= wanted)
            and (document.applies_to is None or wanted <= version_key(document.applies_to)))


def _row(document: Document) -> list:
    return [document.doc_id, document.title, document.path, document.version, document.content_digest, document.tenant,
            sorted(document.roles), document.status, *map(_iso, (document.valid_from, document.valid_to)),
            document.applies_from, document.applies_to, document.trust, document.kind, document.topic, document.language,
            [[fact.fact_id, fact.quote] for fact in document.facts]]


def _iso(moment) -> str | None:
    return None if moment is None else moment.isoformat()
