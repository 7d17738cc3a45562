"""How does a source announce that a document changed? By a record that cannot contradict itself; see `Catalog.apply`."""
from typing import NamedTuple

from .errors import UsageError, whole_number
from .model import Document


class _Event(NamedTuple):
    kind: str                          # "publish" or "withdraw"
    doc_id: str
    version: int                       # of the change: each change of a document has a higher one
    document: Document | None = None   # what is published


class Event(_Event):
    """A change of one document, as a source announces it."""

    __slots__ = ()

    def __new__(cls, *fields, **named):
        self = super().__new__(cls, *fields, **named)
        if self.kind not in ("publish", "withdraw"):
            raise UsageError(f"event kind is {self.kind!r}; it must be publish or withdraw")
        whole_number("event version", self.version, 1)
        published = self.document and (self.document.doc_id, self.document.version)
        if published != ((self.doc_id, self.version) if self.kind == "publish" else None):
            raise UsageError(f"event {self.kind} of {self.doc_id!r} at {self.version} carries {published}; they must agree")
        return self
