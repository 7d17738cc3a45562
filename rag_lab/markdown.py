"""Which blocks does a Markdown text consist of, and where does each stand?

Headings, fenced code, tables, lists and paragraphs, each with its span; enough to cut a document without cutting a table or
a code block. Not a renderer: a quotation or raw HTML counts as a paragraph, and headings are those with `#`.
"""
import re
from typing import Iterator, NamedTuple, Sequence

class Block(NamedTuple):
    """A stretch of lines that is one thing, without the line end behind it."""

    kind: str           # "heading", "code", "table", "list" or "paragraph"
    start: int          # span in the text: code points from 0, half-open
    end: int
    text: str
    level: int = 0      # of a heading: 1 to 6
    heading: str = ""   # its words, without the marks


class _Line(NamedTuple):
    start: int
    end: int            # before the line end
    text: str


_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_DELIMITER_ROW = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")


def blocks(text: str) -> list[Block]:
    """The Markdown blocks of a text, in order; blank lines between them belong to none.

    >>> [(block.kind, block.text) for block in blocks("# A\\n\\nwords\\n```\\n# no heading\\n```")]
    [('heading', '# A'), ('paragraph', 'words'), ('code', '```\\n# no heading\\n```')]
    """
    lines, found, at = list(_lines(text)), [], 0
    while at < len(lines):
        if not lines[at].text.strip():
            at += 1
            continue
        kind = _kind(lines, at)
        stop = _ENDS[kind](lines, at)
        start, end = lines[at].start, lines[stop - 1].end
        found.append(Block(kind, start, end, text[start:end], *(_heading(lines[at].text) if kind == "heading" else ())))
        at = stop
    return found


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    for line in text.split("\n"):
        yield _Line(start, start + len(line), line)
        start += len(line) + 1


def _heading(line: str) -> tuple[int, str]:
    """(level, words) of a heading line; marks that close it are no words of it, but those of "C#" are."""
    opening = _HEADING.match(line)
    words = line[opening.end():].strip()
    unclosed = words.rstrip("#")
    return len(opening[1]), unclosed.rstrip() if not unclosed or unclosed[-1] in " \t" else words


def _kind(lines: Sequence[_Line], at: int) -> str:
    """What kind of block begins at this line; the line is not blank."""
    line = lines[at].text
    if _FENCE.match(line):
        return "code"
    if _HEADING.match(line):
        return "heading"
    if "|" in line and at + 1 < len(lines) and "|" in lines[at + 1].text and _DELIMITER_ROW.fullmatch(lines[at + 1].text):
        return "table"
    return "list" if _LIST_ITEM.match(line) else "paragraph"


def _heading_end(lines: Sequence[_Line], at: int) -> int:
    return at + 1


def _code_end(lines: Sequence[_Line], at: int) -> int:
    """The line after the closing fence: the same mark, at least as long, alone. Without one the code runs to the end."""
    opening = _FENCE.match(lines[at].text)
    mark, deepest = opening[1], opening.start(1) + 3   # a mark indented further is a line of the code
    for number in range(at + 1, len(lines)):
        closing = lines[number].text.strip()
        if len(closing) >= len(mark) and not closing.strip(mark[0]) and lines[number].text.index(mark[0]) <= deepest:
            return number + 1
    return len(lines)


def _table_end(lines: Sequence[_Line], at: int) -> int:
    """The first line after head and delimiter that has no column mark or begins another kind of block."""
    return next((number for number in range(at + 2, len(lines)) if "|" not in lines[number].text
                 or _kind(lines, number) in ("code", "heading", "list")), len(lines))


def _list_end(lines: Sequence[_Line], at: int) -> int:
    """The line after the last item with all that belongs to it: wrapped lines, indented ones, code within an item."""
    stop = number = at + 1
    while number < len(lines):
        line = lines[number].text
        if line.strip():
            belongs = line[0] in " \t" or _LIST_ITEM.match(line)
            wraps = number == stop and _kind(lines, number) == "paragraph"
            if not (belongs or wraps):
                break
            stop = _code_end(lines, number) if _FENCE.match(line) else number + 1
        number = max(stop, number + 1)
    return stop


def _paragraph_end(lines: Sequence[_Line], at: int) -> int:
    return next((number for number in range(at + 1, len(lines))
                 if not lines[number].text.strip() or _kind(lines, number) != "paragraph"), len(lines))


_ENDS = {"heading": _heading_end, "code": _code_end, "table": _table_end, "list": _list_end, "paragraph": _paragraph_end}
