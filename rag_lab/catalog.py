"""Who may see which document now? The catalog is asked before anything is ranked and again before anything is shown.

Hard rules only, in a fixed order; a document falls to the first rule that it breaks. What cannot be decided is denied.
Not for relevance, and not for how a document reads.
"""
import functools
from types import MappingProxyType
from typing import Iterable, Mapping

from .errors import UsageError
from .fields import version_key
from .model import Document, Scope, Tombstone, is_instant, is_product_version
from .sums import added, share, sum_digest

RULES = ("tenant", "deleted", "status", "time", "version", "role", "principal")   # in the order in which they are tried


class Live:
    """The documents that a scope may see, and how many fell to each rule. The ledger is for those who may know it."""

    def __init__(self, documents: Mapping[str, Document], ledger: Mapping[str, int]):
        self.documents = documents   # by id, in id order
        self.ledger = ledger         # rule of RULES -> documents that fell to it

    @functools.cached_property
    def digest(self) -> str:
        """A digest of all that these documents say and that governs them, whatever the order they were read in."""
        return sum_digest(added(share(document_row(document)) for document in self.documents.values()))


class Catalog:
    """All documents, deleted ones too, with the tombstones. Each change raises `revision`."""

    def __init__(self, documents: Iterable[Document], clock: str | None = None):
        self.clock = clock
        self.revision = 0
        self.tombstones: dict[str, Tombstone] = {}
        self._documents = {document.doc_id: checked(document) for document in documents}
        self._versions = {doc_id: document.version for doc_id, document in self._documents.items()}   # of the last change
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
        if doc_id in self.tombstones or document.parent in self.tombstones:
            return "deleted"
        return "status" if self._outlived(document) else self._governed(document, scope)

    def _outlived(self, document: Document) -> bool:
        """Whether a region's document is gone, withdrawn, or at another version than the one it was cut from."""
        if document.parent is None:
            return False
        parent = self._documents.get(document.parent)
        return parent is None or parent.status != "active" or parent.version != document.version

    @staticmethod
    def _governed(document: Document, scope: Scope) -> str | None:
        """The first rule that a document's own fields break."""
        if document.status != "active":
            return "status"
        if scope.as_of is not None and not in_force(document, scope.as_of):
            return "time"
        if scope.product_version is not None and not applies_to(document, scope.product_version):
            return "version"
        if not may_read(document, scope.roles):
            return "role"
        if document.principals is not None and scope.principal not in document.principals:
            return "principal"
        return None

    def filtered(self, scope: Scope) -> list[tuple[str, str]]:
        """[(id, rule)] of the documents of the scope's own tenant that it may not see: for an operator, never for the caller.

        Documents of another tenant are not among them, not even their number.
        """
        rules = [(doc_id, self.broken_rule(doc_id, scope)) for doc_id in sorted(self._documents)]
        return [(doc_id, rule) for doc_id, rule in rules if rule not in (None, "tenant")]

    def current(self, doc_id: str, scope: Scope) -> Document | None:
        """The document as it is now, if the scope may see it."""
        return None if self.broken_rule(doc_id, scope) else self._documents[doc_id]

    def put(self, document: Document) -> None:
        """Add a document, or take it in place of the one with its id. A deleted id stays deleted."""
        self._documents[document.doc_id] = checked(document)
        self._versions[document.doc_id] = document.version
        self._changed()

    def apply(self, event: "Event") -> str:
        """Take in one change: "applied", or "stale" if the catalog already knows a later one of that document.

        Events may arrive in any order and more than once: the one with the highest version decides, so nothing that was
        replaced, withdrawn or deleted comes back. Raises `UsageError` for an event that contradicts itself.
        """
        if event.doc_id in self.tombstones:
            return "stale"
        document, held = event.document and checked(event.document), self._documents.get(event.doc_id)
        if event.version <= (known := self._versions.get(event.doc_id, 0)):
            if document and (held.version if held else 0) < event.version < known:   # withdrawn before it arrived
                self._documents[event.doc_id] = document._replace(status="withdrawn")
                self._changed()
            return "stale"
        self._versions[event.doc_id] = event.version
        if document:
            self._documents[event.doc_id] = document
        elif held:
            self._documents[event.doc_id] = held._replace(status="withdrawn")
        self._changed()
        return "applied"

    def publish(self, document: Document, expected_version: int) -> None:
        """Take a document in place of version `expected_version` of it (0: there is none yet), or change nothing.

        Raises `UsageError` if the catalog holds another version by now, or the new version is not higher.
        """
        from .events import Event   # here, for a query changes nothing
        self._expect(document.doc_id, expected_version)
        if self.apply(Event("publish", document.doc_id, document.version, document)) == "stale":
            raise UsageError(f"version {document.version} of {document.doc_id!r} is not above {expected_version}; raise it")

    def withdraw(self, doc_id: str, expected_version: int) -> None:
        """Withdraw version `expected_version` of a document, or change nothing. Raises `UsageError` as `publish` does."""
        from .events import Event
        self._expect(doc_id, expected_version)
        self.apply(Event("withdraw", doc_id, expected_version + 1))

    def _expect(self, doc_id: str, version: int) -> None:
        found = self._versions.get(doc_id, 0)
        if found != version or doc_id in self.tombstones:
            raise UsageError(f"{doc_id!r} is not at version {version} any more; read it again and decide anew")

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
        return tuple(stone for doc_id, stone in self.tombstones.items()
                     if self.broken_rule(doc_id, scope) == "deleted" and not self._governed(self._documents[doc_id], scope)
                     and not self._outlived(self._documents[doc_id]))


def checked(document: Document) -> Document:
    """The document, if what governs it can be compared. Raises `UsageError` that names the field: nothing is guessed."""
    for name, readable in _READABLE.items():
        value = getattr(document, name)
        if not (readable(value) or value is None and name not in ("doc_id", "roles")):
            raise UsageError(f"{name} of document {document.doc_id!r} is {value!r}, which cannot be compared; correct it")
    return document


def _is_text(value) -> bool:
    return isinstance(value, str)


def _are_texts(value) -> bool:
    return isinstance(value, tuple) and all(map(_is_text, value))


_READABLE = {"doc_id": _is_text, "tenant": _is_text, "roles": _are_texts, "within": _are_texts, "principals": _are_texts,
             "parent": _is_text, "valid_from": is_instant,
             "valid_to": is_instant, "applies_from": is_product_version, "applies_to": is_product_version}


def may_read(document: Document, roles: Iterable[str]) -> bool:
    """Whether one of the roles stands among the document's, and of a region among its document's too. No roles: nobody."""
    held = tuple(roles)
    return any(role in document.roles for role in held) and (document.within is None
                                                             or any(role in document.within for role in held))


def in_force(document: Document, moment) -> bool:
    """valid_from <= moment < valid_to; an end that is not given is open."""
    return ((document.valid_from is None or document.valid_from <= moment)
            and (document.valid_to is None or moment < document.valid_to))


def applies_to(document: Document, product_version: str) -> bool:
    """applies_from <= product version <= applies_to, compared as numbers; an end that is not given is open."""
    wanted = version_key(product_version)
    return ((document.applies_from is None or version_key(document.applies_from) <= wanted)
            and (document.applies_to is None or wanted <= version_key(document.applies_to)))


def document_row(document: Document) -> list:
    """Everything a document says and everything that governs it, for digests."""
    return [document.doc_id, document.title, document.path, document.version, document.content_digest, document.tenant,
            sorted(document.roles), document.parent, document.within and sorted(document.within),
            document.principals and sorted(document.principals), document.status,
            *map(_iso, (document.valid_from, document.valid_to)),
            document.applies_from, document.applies_to, document.trust, document.kind, document.topic, document.language,
            [[fact.fact_id, fact.quote] for fact in document.facts]]


def _iso(moment) -> str | None:
    return None if moment is None else moment.isoformat()
