"""How do bytes become text, and text bytes? One rule for every file that the lab reads or writes.

Reading: UTF-8 only, a byte order mark is dropped, CRLF and CR become LF, lines end at LF and nowhere else. Writing: UTF-8
with LF, to a temporary file that then takes the place of the old one, so that a reader never sees half a file.
"""
import hashlib
import json
import os
from typing import Callable, Iterator

from .errors import DataError, Fault

READABLE = "name an existing file that you may read"


def read_text(path: str) -> str:
    """The text of a UTF-8 file without byte order mark, its line ends made LF.

    Raises `DataError` if the file cannot be read or is not UTF-8.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise DataError([Fault(path, None, f"cannot be read ({error.strerror})", READABLE)]) from error
    return decode(data, path)


def decode(data: bytes, path: str) -> str:
    """UTF-8 bytes as text without byte order mark, line ends made LF; `DataError` names the line of the first bad byte."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[:error.start].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        line = before.count(b"\n") + 1
        rule = f"byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8"
        raise DataError([Fault(path, line, rule, "save the file as UTF-8")]) from error
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: str) -> list[tuple[int, str]]:
    """[(line number from 1, line)] of a text file, split at LF only; blank lines are left out."""
    return numbered(read_text(path))


def numbered(text: str) -> list[tuple[int, str]]:
    """[(line number from 1, line)] of a text, without its blank lines."""
    return [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]


def stream_lines(path: str, read: Callable[[float], None] = lambda share: None) -> Iterator[tuple[int, str]]:
    """What `read_lines` gives, one line at a time, for a file that memory need not hold.

    `read` is told what share of the file's bytes has been read, from 0 to 1.
    """
    number = octets = 0
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            for data in file:
                octets += len(data)
                read(min(1.0, octets / size) if size else 1.0)   # it may have grown in the meantime
                try:
                    text = decode(data, path) if number == 0 else decode(b" " + data, path)[1:]   # one BOM, at the start
                except DataError as error:   # it counted from this line on
                    raise DataError([fault._replace(line=number + fault.line) for fault in error.faults]) from error
                for line in text.removesuffix("\n").split("\n"):   # a CR alone ends a line too
                    number += 1
                    if line.strip():
                        yield number, line
    except OSError as error:
        raise DataError([Fault(path, None, f"cannot be read ({error.strerror})", READABLE)]) from error


def has_surrogate(text: str) -> bool:
    """Whether `text` holds a code point that cannot be written as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def canonical_json(value) -> str:
    """The one printed form of a JSON document: two-space indent, keys in the order given, no NaN, LF at the end."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def json_line(value) -> str:
    """A JSON document on one line: without white space, keys in the order given, no NaN, LF at the end."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def digest(value, length: int = 16) -> str:
    """The first `length` hex digits of the SHA-256 of `value` as compact JSON with sorted keys."""
    return text_digest(compact_json(value), length)


def compact_json(value) -> str:
    """A JSON value on one line, without white space, its keys sorted."""
    return _COMPACT.encode(value)


_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def text_digest(text: str, length: int = 16) -> str:
    """The first `length` hex digits of the SHA-256 of the UTF-8 bytes of `text`."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:length]


def write_text(path: str, text: str) -> None:
    """Write a UTF-8 file whole or not at all: beside it first, then in its place."""
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(beside, "wb") as file:
            file.write(text.encode("utf-8"))
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.remove(beside)
        raise
