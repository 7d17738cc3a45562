"""Which documents do these files hold? All of them, or one error that lists every fault.

A corpus is a folder of Markdown files with a TOML head between `+++` lines and a `corpus.toml` beside them; or a JSONL
file of `{"_id", "title", "text"}` rows, as in BEIR; or a BEIR folder with a `corpus.jsonl`. Not for deciding who may
read what: that is the catalog.
"""
import os
import re
from types import MappingProxyType
from typing import Iterable, Iterator, Mapping, NamedTuple

from . import fields
from .errors import DataError, Fault, UsageError
from .files import digest, parse_json_object, read_lines, read_text
from .model import Document, Scope

ANALYZERS = ("bigram",)
CHUNKERS = ("whole",)


class CorpusSettings(NamedTuple):
    """What `corpus.toml` says of the corpus as a whole."""

    name: str
    clock: str | None = None             # the corpus's "now": an ISO time with an offset
    analyzer: str = "bigram"
    chunker: str = "whole"
    k1: float = 1.2
    b: float = 0.75
    scope: Scope = Scope("local", ("reader",))
    defaults: Mapping = MappingProxyType({})   # field -> value for documents that do not say


class Corpus(NamedTuple):
    """A corpus as read: its settings, and its documents in id order."""

    settings: CorpusSettings
    documents: tuple[Document, ...]


class _Row(NamedTuple):
    """A document as found, before anything is checked."""

    path: str              # as the user can find it, for error messages
    line: int | None       # of the row in a JSONL file
    place: str             # Document.path
    head: dict             # field -> value as TOML or JSON gave it
    text: str
    lines: dict            # field -> line, where known


def load_corpus(path: str) -> Corpus:
    """Read the corpus at `path`. Raises `UsageError` if there is none, `DataError` with every fault of its files."""
    faults: list[Fault] = []
    if os.path.isdir(path) and os.path.exists(os.path.join(path, "corpus.toml")):
        settings = _read_settings(os.path.join(path, "corpus.toml"), faults)
        rows = _markdown_rows(path, settings.name, faults)
    elif os.path.isfile(path) or os.path.isfile(os.path.join(path, "corpus.jsonl")):
        file = path if os.path.isfile(path) else os.path.join(path, "corpus.jsonl")
        settings = _settings_of_rows(path)
        rows = _jsonl_rows(file, settings.name, faults)
    else:
        raise UsageError(f"{path!r} is no corpus; name a folder with a corpus.toml, a BEIR folder with a corpus.jsonl, "
                         "or a JSONL file")
    return Corpus(settings, make_documents(rows, settings, faults))


def make_documents(rows: Iterable[_Row], settings: CorpusSettings, faults: Iterable[Fault] = ()) -> tuple[Document, ...]:
    """The documents of the rows in id order, or one `DataError` with all faults, those given among them."""
    faults = list(faults)
    documents: dict[str, Document] = {}
    homes: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: (row.path, row.line or 0)):
        doc_id = row.head.get("id")
        if isinstance(doc_id, str) and doc_id in homes:
            rule = f"id {doc_id!r} stands in {homes[doc_id]} too"
            faults.append(Fault(row.path, row.lines.get("id", row.line), rule, "give each document its own id"))
        elif isinstance(doc_id, str):
            homes[doc_id] = row.path if row.line is None else f"{row.path}:{row.line}"
        document = _document(row, settings, faults)
        if document:
            documents[document.doc_id] = document
    if faults:
        raise DataError(faults)
    return tuple(documents[doc_id] for doc_id in sorted(documents))


# --- corpus.toml ----------------------------------------------------------------------------------------------------

_SETTINGS = {"name": fields.identifier, "clock": fields.instant, "analyzer": fields.one_of(*ANALYZERS),
             "chunker": fields.one_of(*CHUNKERS)}
_TABLES = {"bm25": {"k1": fields.number(0), "b": fields.number(0, 1)}, "defaults": fields.DEFAULTS,
           "scope": {"tenant": fields.text, "roles": fields.names}}


def _read_settings(path: str, faults: list[Fault]) -> CorpusSettings:
    """The settings; each of their faults is added to `faults`, and what could be read is returned all the same."""
    try:
        source = read_text(path)
        table, lines = _parse_toml(source, path, 0, faults), _key_lines(source, 0)
    except DataError as error:
        faults += error.faults
        return CorpusSettings("unreadable")
    sections = {name: table.pop(name, {}) for name in _TABLES}
    values = _read_fields(table, _SETTINGS, path, None, lines, faults)
    read = {}
    for name, readers in _TABLES.items():
        if isinstance(sections[name], dict):
            read[name] = _read_fields(sections[name], readers, path, None, lines, faults)
        else:
            faults.append(Fault(path, lines.get(name), f"{name} is not a table", f"write it under [{name}]"))
    if "name" not in table:
        faults.append(Fault(path, None, "name is missing", 'write name = "..."'))
    missing = [name for name in ("tenant", "roles") if name not in sections["scope"]]
    if missing:
        faults.append(Fault(path, lines.get("scope"), f"[scope] lacks {' and '.join(missing)}",
                            "say for whom the command line asks"))
    if "clock" in values:
        values["clock"] = values["clock"].isoformat()
    scope = {"scope": Scope(**read["scope"])} if len(read.get("scope", ())) == 2 else {}
    return CorpusSettings(**{"name": "unnamed", **values}, **read.get("bm25", {}), **scope,
                          defaults=read.get("defaults", {}))


def _settings_of_rows(path: str) -> CorpusSettings:
    """The settings of a JSONL corpus, which has no corpus.toml: its own name, everything readable by its one user."""
    name = re.sub(r"\s+", "-", os.path.basename(os.path.abspath(path)).removesuffix(".jsonl"))
    return CorpusSettings(name, defaults={"tenant": "local", "roles": ("reader",)})


# --- files into rows ------------------------------------------------------------------------------------------------

def _markdown_rows(root: str, name: str, faults: list[Fault]) -> list[_Row]:
    rows = []
    for path in _markdown_files(root):
        place = "/".join([name, *os.path.relpath(path, root).split(os.sep)])
        try:
            rows.append(_split_head(read_text(path), path, place, faults))
        except DataError as error:
            faults += error.faults
    if not _markdown_files(root):
        faults.append(Fault(root, None, "the folder holds no .md file", "put the documents of the corpus there"))
    return rows


def _markdown_files(root: str) -> list[str]:
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names
                  if name.endswith(".md") and not name.startswith("."))


def _split_head(source: str, path: str, place: str, faults: list[Fault]) -> _Row:
    """Cut a Markdown file into head and text; the text begins right after the head and ends before trailing blank."""
    if not source.strip():
        raise DataError([Fault(path, None, "the file is empty", "write a head and a text, or remove the file")])
    before, closing, text = source.removeprefix("+++\n").partition("\n+++\n")
    if not source.startswith("+++\n") or not closing:
        remedy = 'begin the file with +++, a line id = "...", a line title = "...", and +++'
        raise DataError([Fault(path, 1, "there is no head between two +++ lines", remedy)])
    text = text.strip("\n").rstrip()
    if not text:
        raise DataError([Fault(path, before.count("\n") + 3, "there is no text after the head", "write the text")])
    return _Row(path, None, place, _parse_toml(before, path, 1, faults), text, _key_lines(before, 1))


def _jsonl_rows(path: str, name: str, faults: list[Fault]) -> list[_Row]:
    rows = []
    for number, line in read_lines(path):
        try:
            head = parse_json_object(line)
        except ValueError as error:
            faults.append(Fault(path, number, f"the row cannot be read: {error}", "write one JSON object a line"))
            continue
        text = head.pop("text", None)
        if not isinstance(text, str):
            faults.append(Fault(path, number, f"text is {text!r}, not a string", 'write "text": "..."'))
            continue
        if "_id" in head:
            head["id"] = head.pop("_id")
        if head.get("title") == "":
            head["title"] = None
        if isinstance(head.get("metadata"), dict):
            del head["metadata"]   # BEIR rows carry one; nothing in it governs anything
        rows.append(_Row(path, number, f"{name}/{os.path.basename(path)}", head, text, {}))
    if not rows and not faults:
        faults.append(Fault(path, None, "the file is empty", "write one JSON object a line"))
    return rows


def _parse_toml(source: str, path: str, lines_before: int, faults: list[Fault]) -> dict:
    """The table; `DataError` if it is no TOML. A time with more digits than tomllib keeps is added to `faults`."""
    import tomllib   # here, for a JSONL corpus does without
    try:
        table = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at line (\d+)", str(error))
        line = int(at[1]) + lines_before if at else lines_before + source.count("\n") + 1
        remedy = 'write lines such as key = "value"'
        rule = f"the TOML cannot be read: {str(error).partition(' (at ')[0]}"
        raise DataError([Fault(path, line, rule, remedy)]) from error
    for number, line in enumerate(source.split("\n"), start=1 + lines_before):
        if "." in line and re.match(r"[^\"'#]*=\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.\d{7,}", line):
            faults.append(Fault(path, number, "the time has more than six digits of a second", "write six at most"))
    return table


def _key_lines(source: str, lines_before: int) -> dict[str, int]:
    """field -> line of its first `field =` or `[field]`."""
    found: dict[str, int] = {}
    for number, line in enumerate(source.split("\n"), start=1 + lines_before):
        match = re.match(r"\s*(?:\[+\s*([\w-]+)\s*\]+|\"?([\w-]+)\"?\s*=)", line)
        if match:
            found.setdefault(match[1] or match[2], number)
    return found


# --- rows into documents --------------------------------------------------------------------------------------------

def _read_fields(table: dict, readers: dict, path: str, line: int | None, lines: dict, faults: list[Fault]) -> dict:
    """The fields of `table` that can be read; unknown and unreadable ones become faults."""
    values = {}
    for name, value in table.items():
        where = lines.get(name, line)
        if name not in readers:
            faults.append(Fault(path, where, f"{name!r} is no field", f"remove it; the fields are {', '.join(readers)}"))
            continue
        try:
            values[name] = readers[name](value)
        except fields.BadField as error:
            faults.append(Fault(path, where, f"{name}: {error.rule}", error.remedy))
    return values


def _document(row: _Row, settings: CorpusSettings, faults: list[Fault]) -> Document | None:
    """The document of one row; None if it has a fault."""
    before = len(faults)
    head = {name: value for name, value in row.head.items() if value is not None}   # JSON null: not said
    values = _read_fields(head, fields.MARKDOWN_HEAD, row.path, row.line, row.lines, faults)
    for name in ("id",) if row.line else ("id", "title"):
        if name not in head:
            faults.append(Fault(row.path, row.line or 1, f"{name} is missing", f'write {name} = "..."'))
    faults += [Fault(row.path, row.lines.get(name, row.line), f"{name}: {rule}", remedy)
               for name, rule, remedy in _contradictions(values, row.text)]
    if len(faults) > before or "id" not in values:
        return None
    values = {**settings.defaults, **values}
    title = values.pop("title", "")
    return Document(values.pop("id"), title, row.text, row.place, values.pop("version", 1),
                    digest([title, row.text]), **values)


def _contradictions(values: dict, text: str) -> Iterator[tuple[str, str, str]]:
    """(field, rule, remedy) for each pair of fields that cannot both hold."""
    low, high = values.get("valid_from"), values.get("valid_to")
    if low and high and not low < high:
        yield "valid_to", f"{high.isoformat()} is not after valid_from {low.isoformat()}", "let the window end later"
    low, high = values.get("applies_from"), values.get("applies_to")
    if low and high and fields.version_key(low) > fields.version_key(high):
        yield "applies_to", f"{high} is below applies_from {low}", "let the range end at a later version"
    for fact in values.get("facts", ()):
        if fact.quote not in text:
            yield "facts", f"fact {fact.fact_id!r}: its quote does not stand in the text", "copy the quote from the text"
