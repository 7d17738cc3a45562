"""Which documents do these files hold? All of them, or one error that lists every fault.

A corpus is a folder of Markdown files with a TOML head between `+++` lines and a `corpus.toml` beside them; or a JSONL
file of `{"_id", "title", "text"}` rows, as in BEIR; or a BEIR folder with a `corpus.jsonl`. Not for deciding who may
read what: that is the catalog.
"""
import functools
import os
import re
from types import MappingProxyType
from typing import Callable, Iterable, Iterator, Mapping, NamedTuple

from . import fields
from .analyzers import ANALYZERS
from .chunking import CHUNKERS
from .errors import DataError, Fault, UsageError
from .files import digest, has_surrogate, read_text, text_digest
from .model import DEFAULT_POOL, THRESHOLDS, Document, Scope

ENCODERS = ("hashed", "concepts")
RERANKERS = ("coverage", "governed")


class CorpusSettings(NamedTuple):
    """What `corpus.toml` says of the corpus as a whole."""

    name: str
    clock: str | None = None             # the corpus's "now": an ISO time with an offset
    analyzer: str = "bigram"
    chunker: str = "whole"
    k1: float = 1.2
    b: float = 0.75
    encoder: str = "hashed"              # what the dense channel compares
    reranker: str = "coverage"
    settings: Mapping = MappingProxyType({})   # field of Settings -> the corpus's own default
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
    line_of: Callable[[str], int | None]   # field -> its line, where known: asked only for a field with a fault


def load_corpus(path: str) -> Corpus:
    """Read the corpus at `path`. Raises `UsageError` if there is none, `DataError` with every fault of its files."""
    faults: list[Fault] = []
    settings, rows = open_corpus(path, faults)
    return Corpus(settings, make_documents(rows, settings, faults))


def open_corpus(path: str, faults: list[Fault],
                read: Callable[[float], None] = lambda share: None) -> tuple[CorpusSettings, Iterable[_Row]]:
    """The settings of the corpus at `path`, and its rows, those of a JSONL file as they are read; raises as `load_corpus`.

    `read` is told what share of the corpus has been read, from 0 to 1: of a file's bytes, or of a folder's files.
    """
    if os.path.isdir(path) and os.path.exists(os.path.join(path, "corpus.toml")):
        settings = _read_settings(os.path.join(path, "corpus.toml"), faults)
        return settings, _told(_markdown_rows(path, settings.name, faults), read)
    if os.path.isfile(path) or os.path.isfile(os.path.join(path, "corpus.jsonl")):
        file = path if os.path.isfile(path) else os.path.join(path, "corpus.jsonl")
        settings = _settings_of_rows(path)
        return settings, _jsonl_rows(file, settings.name, faults, read)
    raise UsageError(f"{path!r} is no corpus; name a folder with a corpus.toml, a BEIR folder with a corpus.jsonl, "
                     "or a JSONL file")


def make_documents(rows: Iterable[_Row], settings: CorpusSettings,
                   faults: list[Fault] | None = None) -> tuple[Document, ...]:
    """The documents of the rows in id order, or one `DataError` with all faults, those given among them."""
    faults = [] if faults is None else faults
    in_order = sorted(rows, key=lambda row: (row.path, row.line or 0))
    documents = {document.doc_id: document for document in stream_documents(in_order, settings, faults)}
    if faults:
        raise DataError(faults)
    return tuple(documents[doc_id] for doc_id in sorted(documents))


def stream_documents(rows: Iterable[_Row], settings: CorpusSettings, faults: list[Fault],
                     deleted: Mapping = MappingProxyType({})) -> Iterator[Document]:
    """The documents of the rows one by one, without those that have a fault: faults are added to `faults`.

    It is a fault if an id stands twice, or is that of a document that was `deleted`.
    """
    homes: dict[str, tuple[str, int | None]] = {}
    for row in rows:
        made = _documents(row, settings, faults)
        own, before = row.head.get("id"), len(faults)
        for doc_id in dict.fromkeys([own] * isinstance(own, str) + [document.doc_id for document in made]):   # regions too
            if doc_id in deleted:
                rule = f"id {doc_id!r} was deleted, and stays so"
                faults.append(Fault(row.path, row.line_of("id"), rule, "give the document a new id"))
            elif doc_id in homes:
                path, line = homes[doc_id]
                rule = f"id {doc_id!r} stands in {path if line is None else f'{path}:{line}'} too"
                faults.append(Fault(row.path, row.line_of("id"), rule, "give each document its own id"))
            else:
                homes[doc_id] = row.path, row.line
        if len(faults) == before:
            yield from made


# --- corpus.toml ----------------------------------------------------------------------------------------------------

_SETTINGS = {"name": fields.identifier, "clock": fields.instant, "analyzer": fields.one_of(*ANALYZERS),
             "chunker": fields.one_of(*CHUNKERS)}
_RETRIEVAL = {"encoder": fields.one_of(*ENCODERS), "reranker": fields.one_of(*RERANKERS)}
_QUERY = {"k": fields.count, "pool": fields.count, "threshold": fields.number(0, 1),
          "threshold_on": fields.one_of(*THRESHOLDS)}
_TABLES = {"bm25": {"k1": fields.number(0), "b": fields.number(0, 1)}, "defaults": fields.DEFAULTS,
           "retrieval": {**_RETRIEVAL, **_QUERY},
           "scope": {"tenant": fields.text, "roles": fields.names, "principal": fields.text, "as_of": fields.instant,
                     "product_version": fields.product_version}}


def _read_settings(path: str, faults: list[Fault]) -> CorpusSettings:
    """The settings; each of their faults is added to `faults`, and what could be read is returned all the same."""
    try:
        source = read_text(path)
        table = _parse_toml(source, path, 0, faults)
    except DataError as error:
        faults += error.faults
        return CorpusSettings("unreadable")
    line_of = functools.partial(_line_of, source, 0)
    sections = {name: table.pop(name, {}) for name in _TABLES}
    values = _read_fields(table, _SETTINGS, path, line_of, faults)
    read = {}
    for name, readers in _TABLES.items():
        if isinstance(sections[name], dict):
            inside = functools.partial(_line_of, source, 0, table=f"{name}.")
            read[name] = _read_fields(sections[name], readers, path, inside, faults)
        else:
            faults.append(Fault(path, line_of(name), f"{name} is not a table", f"write it under [{name}]"))
    if "name" not in table:
        faults.append(Fault(path, None, "name is missing", 'write name = "..."'))
    missing = [name for name in ("tenant", "roles") if isinstance(sections["scope"], dict) and name not in sections["scope"]]
    if missing:
        faults.append(Fault(path, line_of("scope"), f"[scope] lacks {' and '.join(missing)}",
                            "say for whom the command line asks"))
    query = {name: value for name, value in read.get("retrieval", {}).items() if name in _QUERY}
    if query.get("pool", DEFAULT_POOL) < query.get("k", 1):
        line = line_of("retrieval.pool") or line_of("retrieval.k")
        faults.append(Fault(path, line, "pool is below k", "let it hold at least k"))
    if "clock" in values:
        values["clock"] = values["clock"].isoformat()
    scope = {"scope": Scope(**read["scope"])} if {"tenant", "roles"} <= set(read.get("scope", ())) else {}
    retrieval = read.get("retrieval", {})
    return CorpusSettings(**{"name": "unnamed", **values}, **read.get("bm25", {}), **scope,
                          **{name: value for name, value in retrieval.items() if name in _RETRIEVAL},
                          settings=query,
                          defaults=read.get("defaults", {}))


def _settings_of_rows(path: str) -> CorpusSettings:
    """The settings of a JSONL corpus, which has no corpus.toml: its own name, everything readable by its one user."""
    name = re.sub(r"\s+", "-", os.path.basename(os.path.abspath(path)).removesuffix(".jsonl"))
    return CorpusSettings(name, defaults={"tenant": "local", "roles": ("reader",)})


# --- files into rows ------------------------------------------------------------------------------------------------

def _markdown_rows(root: str, name: str, faults: list[Fault]) -> list[_Row]:
    rows = []
    paths = _markdown_files(root, faults)
    for path in paths:
        place = "/".join([name, *os.path.relpath(path, root).split(os.sep)])
        if has_surrogate(path):
            faults.append(Fault(path, None, "the name of the file is not UTF-8", "rename the file"))
            continue
        try:
            rows.append(_split_head(read_text(path), path, place, faults))
        except DataError as error:
            faults += error.faults
    if not paths and not faults:
        faults.append(Fault(root, None, "the folder holds no .md file", "put the documents of the corpus there"))
    return rows


def _markdown_files(root: str, faults: list[Fault]) -> list[str]:
    """The paths of the Markdown files below a folder, hidden ones aside; a folder that cannot be read is a fault."""
    def unreadable(error: OSError) -> None:
        """Take note of a folder that cannot be read."""
        rule = f"the folder cannot be read ({error.strerror})"
        faults.append(Fault(error.filename, None, rule, "allow it, or move it away"))

    found = []
    for folder, below, names in os.walk(root, onerror=unreadable):
        below[:] = [name for name in below if not name.startswith(".")]
        linked = [name for name in below if os.path.islink(os.path.join(folder, name))]
        faults += [Fault(os.path.join(folder, name), None, "the folder is a link", "put the files themselves there")
                   for name in linked]
        found += [os.path.join(folder, name) for name in names
                  if name.lower().endswith(".md") and not name.startswith(".")]
    return sorted(found)


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
    return _Row(path, None, place, _parse_toml(before, path, 1, faults), text, functools.partial(_line_of, before, 1))


def _told(rows: list[_Row], read: Callable[[float], None]) -> Iterator[_Row]:
    """The rows, and word of what share of them has been taken."""
    for number, row in enumerate(rows, start=1):
        read(number / len(rows))
        yield row


def _jsonl_rows(path: str, name: str, faults: list[Fault], read: Callable[[float], None]) -> Iterator[_Row]:
    from .jsonl import read_rows   # here, for a folder of Markdown does without
    place = f"{name}/{os.path.basename(path)}"
    return (_Row(path, number, place, head, text, lambda field, number=number: number)
            for number, head, text in read_rows(path, faults, read))


def _parse_toml(source: str, path: str, lines_before: int, faults: list[Fault]) -> dict:
    """The table; `DataError` if it is no TOML. A time with more digits than tomllib keeps is added to `faults`."""
    import tomllib   # here, for a JSONL corpus does without
    try:
        table = tomllib.loads(source)
    except (ValueError, RecursionError) as error:   # also a number or a nesting that is too long for Python
        at = re.search(r"\(at line (\d+)", str(error))
        line = int(at[1]) + lines_before if at else lines_before + source.count("\n") + 1
        remedy = 'write lines such as key = "value"'
        rule = f"the TOML cannot be read: {str(error).partition(' (at ')[0]}"
        raise DataError([Fault(path, line, rule, remedy)]) from error
    for number, line in enumerate(source.split("\n"), start=1 + lines_before):
        if "." in line and re.match(r"[\w\"'. -]+=\s*\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d\.\d{7,}", line):
            faults.append(Fault(path, number, "the time has more than six digits of a second", "write six at most"))
    return table


def _line_of(source: str, lines_before: int, field: str, table: str = "") -> int | None:
    """The line of the first `field =` or `[field]`; `table` is "bm25." for a field of [bm25]. None if there is none."""
    within = ""
    for number, line in enumerate(source.split("\n"), start=1 + lines_before):
        match = re.match(r"\s*(?:\[+\s*([\w-]+)\s*\]+|[\"']?([\w-]+)[\"']?\s*=)", line)
        if match and match[1]:
            within = f"{match[1]}."
        if match and (match[1] or within + match[2]) == table + field:
            return number
    return None


# --- rows into documents --------------------------------------------------------------------------------------------

def _read_fields(table: dict, readers: dict, path: str, line_of: Callable, faults: list[Fault]) -> dict:
    """The fields of `table` that can be read; unknown and unreadable ones become faults."""
    values = {}
    for name, value in table.items():
        if name not in readers:
            remedy = f"remove it; the fields are {', '.join(readers)}"
            faults.append(Fault(path, line_of(name), f"{name!r} is no field", remedy))
            continue
        try:
            values[name] = readers[name](value)
        except fields.BadField as error:
            faults.append(Fault(path, line_of(name), f"{name}: {error.rule}", error.remedy))
    return values


def _documents(row: _Row, settings: CorpusSettings, faults: list[Fault]) -> tuple[Document, ...]:
    """The document of one row, and one for each of its regions; none if it has a fault."""
    before = len(faults)
    head = {name: value for name, value in row.head.items() if value is not None}   # JSON null: not said
    values = _read_fields(head, fields.MARKDOWN_HEAD, row.path, row.line_of, faults)
    for name in ("id",) if row.line else ("id", "title"):
        if name not in head:
            faults.append(Fault(row.path, row.line or 1, f"{name} is missing", f'write {name} = "..."'))
    faults += [Fault(row.path, row.line_of(name), f"{name}: {rule}", remedy)
               for name, rule, remedy in _contradictions(values, row.text)]
    if len(faults) > before:
        return ()
    values = {**settings.defaults, **values}
    title, parts = values.pop("title", ""), values.pop("regions", ())
    values.pop("digest", None)
    document = Document(values.pop("id"), title, row.text, row.place, values.pop("version", 1), digest([title, row.text]),
                        **values)
    if not parts:
        return (document,)
    from .regions import BadRegion, project   # here, for few documents have any
    try:
        return project(document, parts)
    except BadRegion as error:
        faults.append(Fault(row.path, row.line_of("regions"), f"regions: {error}",
                            "name each heading as it stands, and keep every quote inside or outside"))
        return ()


def _contradictions(values: dict, text: str) -> Iterator[tuple[str, str, str]]:
    """(field, rule, remedy) for each pair of fields that cannot both hold."""
    low, high = values.get("valid_from"), values.get("valid_to")
    if low and high and not low < high:
        yield "valid_to", f"{high.isoformat()} is not after valid_from {low.isoformat()}", "let the window end later"
    low, high = values.get("applies_from"), values.get("applies_to")
    if low and high and fields.version_key(low) > fields.version_key(high):
        yield "applies_to", f"{high} is below applies_from {low}", "let the range end at a later version"
    if values.get("digest") not in (None, text_digest(text)):
        found = f"{values['digest']} is not that of the text, {text_digest(text)}"
        yield "digest", found, "read the text again, then correct it"
    for fact in values.get("facts", ()):
        if fact.quote not in text:
            yield "facts", f"fact {fact.fact_id!r}: its quote does not stand in the text", "copy the quote from the text"
