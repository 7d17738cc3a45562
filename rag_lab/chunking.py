"""Into which pieces is a document cut, so that each can be found, cited and traced back on its own?

    whole                   the document as one chunk
    fixed_window            so many code points each, wherever that cuts: the control group
    structure               one chunk per paragraph, table, list or fenced code block, under its headings
    structure_with_prefix   the same chunks, each with lines of context that are searched but never quoted

A chunk is a span: `chunk.text == document.text[chunk.start:chunk.end]`, always. Not for deciding who may read a chunk: a
chunk has no rights of its own, the catalog is asked about its document.
"""
from typing import Callable, Iterable, Mapping, Sequence

from .errors import UsageError, whole_number
from .files import digest, text_digest
from .model import Chunk, Document

WINDOW = 90   # code points of a fixed window when a corpus asks for one; source: chapter 8

Chunker = Callable[[Document], tuple[Chunk, ...]]


class Chunks:
    """The chunks of a corpus by id, and which of them belong to live documents."""

    def __init__(self, documents: Iterable[Document], cut: Chunker):
        self.by_id = {chunk.chunk_id: chunk for document in documents for chunk in cut(document)}
        self.owner = {chunk_id: chunk.doc_id for chunk_id, chunk in self.by_id.items()}   # chunk id -> document id
        self._last: tuple = (None, ())

    def of(self, documents: Mapping[str, Document]) -> tuple[str, ...]:
        """The ids of the chunks of these documents, in id order; the same tuple for as long as they are the same mapping."""
        if self._last[0] is not documents:
            self._last = documents, tuple(sorted(one for one, chunk in self.by_id.items() if chunk.doc_id in documents))
        return self._last[1]


# --- strategies -----------------------------------------------------------------------------------------------------

def whole(document: Document) -> tuple[Chunk, ...]:
    """The document as one chunk under the document's own id, also if its text is empty; its title is searched with it."""
    return (Chunk(document.doc_id, document.doc_id, (), 1, 0, len(document.text), document.text, text_digest(document.text),
                  document.content_digest, prefix=f"{document.title}\n"),)


def fixed_window(document: Document, width: int, overlap: int = 0) -> tuple[Chunk, ...]:
    """Windows of `width` code points, each `overlap` of them shared with the one before; the last may be shorter.

    Raises `UsageError` unless 0 <= overlap < width.
    """
    whole_number("width", width, 1)
    if whole_number("overlap", overlap, 0) >= width:
        raise UsageError(f"overlap is {overlap} and width is {width}; the overlap must be smaller, or no window moves on")
    size = len(document.text)
    starts = range(0, max(size - overlap, min(size, 1)), width - overlap)   # the window that reaches the end is the last
    return tuple(_chunk(document, (), ordinal, start, min(start + width, size))
                 for ordinal, start in enumerate(starts, start=1))


def structure(document: Document, budget: int | None = None) -> tuple[Chunk, ...]:
    """One chunk per block, each with the path of its headings; a heading with nothing under it is a chunk itself.

    `budget` is the longest paragraph in code points, None for no limit. A longer paragraph is cut there, in the middle of
    a sentence if so it falls, and a fact whose quote is cut is then in no chunk; tables, lists and code stay whole.
    """
    if budget is not None:
        whole_number("budget", budget, 1)
    from .sections import spans   # here, for a corpus of whole documents does without
    return tuple(_chunk(document, path, ordinal, start, end)
                 for ordinal, (path, start, end) in enumerate(spans(document, budget), start=1))


def structure_with_prefix(document: Document, budget: int | None = None) -> tuple[Chunk, ...]:
    """The chunks of `structure`, ids and texts unchanged, each with its context prefix."""
    return tuple(chunk._replace(prefix=context_prefix(document, chunk.heading_path))
                 for chunk in structure(document, budget))


def context_prefix(document: Document, heading_path: Sequence[str]) -> str:
    """Where a chunk comes from, in four lines made of catalog fields alone: no model writes them.

    Source of the layout: chapter 8, on contextual retrieval.
    """
    section = " / ".join(heading_path) or "（无标题）"
    return f"文档：{document.title}\n版本：{version_range(document)}\n章节：{section}\n---\n"


def version_range(document: Document) -> str:
    """The product versions a document speaks of, as a person reads it: "3.2", "3.0 至 3.2", "3.0 起", "至 3.2", "不限"."""
    low, high = document.applies_from, document.applies_to
    if low == high:
        return low or "不限"
    return f"{low} 起" if high is None else f"至 {high}" if low is None else f"{low} 至 {high}"


def searchable(chunk: Chunk) -> str:
    """What an index reads of a chunk: its context on lines of its own, so that no term reaches over, then its text.

    The context is the prefix if there is one (it names the headings), else the headings.
    """
    return chunk.prefix + chunk.text if chunk.prefix else "\n".join((*chunk.heading_path, chunk.text))


def chunk_row(chunk: Chunk) -> list[str]:
    """What an index makes of a chunk, for digests: its id and a digest of what is searched."""
    return [chunk.chunk_id, text_digest(searchable(chunk))]


def _chunk(document: Document, path: tuple[str, ...], ordinal: int, start: int, end: int) -> Chunk:
    text = document.text[start:end]
    content = text_digest(text)
    identity = digest([document.doc_id, path, ordinal, content], 12)
    return Chunk(f"{document.doc_id}#{ordinal:03d}-{identity}", document.doc_id, path, ordinal, start, end, text, content,
                 document.content_digest)


CHUNKERS: dict[str, Chunker] = {   # name in corpus.toml -> strategy
    "whole": whole, "fixed": lambda document: fixed_window(document, WINDOW), "structure": structure,
    "structure_with_prefix": structure_with_prefix}
