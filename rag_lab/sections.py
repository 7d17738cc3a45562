"""Under which headings does each block of a document stand, and where does it begin and end?"""
from typing import Iterable, Iterator

from .markdown import Block, blocks
from .model import Chunk, Document


def spans(document: Document, budget: int | None) -> list[tuple[tuple[str, ...], int, int]]:
    """[(path of headings, start, end)] of the blocks in order, a paragraph longer than `budget` in several pieces."""
    return [(path, *span) for path, block in _sections(document) for span in _within_budget(block, budget)]


def _sections(document: Document) -> Iterator[tuple[tuple[str, ...], Block]]:
    """Each block with the path of its headings; a heading only if neither block nor heading stands under it."""
    found = blocks(document.text)
    path: list[Block] = []
    for block, following in zip(found, [*found[1:], None]):
        if block.kind == "heading":
            path = [above for above in path if above.level < block.level] + [block]
            if following and (following.kind != "heading" or following.level > block.level):
                continue
        yield tuple(above.heading for above in path if not _is_title(above, document)), block


def _is_title(heading: Block, document: Document) -> bool:
    """Whether a heading repeats the title of the document, and so opens no section of its own."""
    return heading.level == 1 and heading.heading == document.title


def _within_budget(block: Block, budget: int | None) -> Iterator[tuple[int, int]]:
    """The span of a block, or those of its pieces if it is a paragraph longer than `budget`."""
    width = budget if budget is not None and block.kind == "paragraph" else block.end - block.start
    return ((start, min(start + width, block.end)) for start in range(block.start, block.end, width))


def intact(document: Document, chunks: Iterable[Chunk], kind: str) -> tuple[int, int]:
    """(blocks of a kind that stand whole in one of the chunks, blocks of that kind in the document)."""
    cut = list(chunks)
    spans = [(block.start, block.end) for block in blocks(document.text) if block.kind == kind]
    return sum(any(_inside(span, chunk) for chunk in cut) for span in spans), len(spans)


def _inside(span: tuple[int, int], chunk: Chunk) -> bool:
    return chunk.start <= span[0] and span[1] <= chunk.end
