"""Which documents stand in the rows of a JSONL file, as in BEIR? What each row says, before anything is checked.

A row is `{"_id", "title", "text"}`; `id` is taken too, and any field that the head of a Markdown document may have.
"""
from typing import Callable, Iterator

from .errors import DataError, Fault
from .files import has_surrogate, stream_lines
from .strict_json import parse_json_object


def read_rows(path: str, faults: list[Fault],
              read: Callable[[float], None] = lambda share: None) -> Iterator[tuple[int, dict, str]]:
    """(line, field -> value, text) of each row that can be read, as the file is read; the others are added to `faults`.

    `read`: as for `stream_lines`.
    """
    if has_surrogate(path):
        raise DataError([Fault(path, None, "the name of the file is not UTF-8", "rename the file")])
    number = 0
    for number, line in stream_lines(path, read):
        try:
            head = parse_json_object(line)
        except ValueError as error:
            faults.append(Fault(path, number, f"the row cannot be read: {error}", "write one JSON object a line"))
            continue
        text = head.pop("text", None)
        if not isinstance(text, str):
            faults.append(Fault(path, number, f"text is {text!r}, not a string", 'write "text": "..."'))
        elif "_id" in head and "id" in head:
            faults.append(Fault(path, number, "_id and id both stand in the row", "keep one of them"))
        else:
            yield number, _fields_of(head), text
    if not number:
        faults.append(Fault(path, None, "the file is empty", "write one JSON object a line"))


def _fields_of(head: dict) -> dict:
    """The fields under the names that Markdown heads have."""
    if "_id" in head:
        head["id"] = head.pop("_id")
    if head.get("title") == "":
        head["title"] = None
    if isinstance(head.get("metadata"), dict):
        del head["metadata"]   # BEIR rows carry one; nothing in it governs anything
    return head
