"""How do queries and judgements come in? As BEIR or TREC files, read strictly.

    BEIR     queries.jsonl rows {"_id", "text"}, or "id"; judgements as tab-separated query-id, corpus-id, score under a header
    TREC     judgements as white-space separated query, iteration, document, grade
"""
import os
import re
from typing import Callable, Mapping, NamedTuple

from .errors import DataError, Fault
from .files import digest, numbered, read_lines, read_text
from .strict_json import parse_json_object

_WHOLE = re.compile(r"[+-]?\d{1,9}", re.ASCII)
LARGEST_GRADE = 1000   # 2^grade must be a number that can be printed
BEIR_HEADER = ["query-id", "corpus-id", "score"]


class Query(NamedTuple):
    """A query of an evaluation set; `kind` and `why` say what it is there for."""

    query_id: str
    text: str
    kind: str | None = None
    why: str | None = None


class Judged(NamedTuple):
    """Queries with their judgements. Queries stand in file order; only those with a judgement are evaluated."""

    queries: tuple[Query, ...]
    qrels: Mapping[str, Mapping[str, int]]   # query id -> document id -> grade; a grade above 0 is relevant
    digest: str


def read_judged(qrels_path: str, queries_path: str | None = None) -> Judged:
    """Judgements with the queries that lie beside them. Raises `DataError` with every fault of both files."""
    queries_path = queries_path or _queries_beside(qrels_path)
    qrels, queries = _both(lambda: read_qrels(qrels_path), lambda: read_queries(queries_path))
    known = {query.query_id for query in queries}
    missing = [query_id for query_id in qrels if query_id not in known]
    if missing:
        raise DataError(Fault(qrels_path, None, f"query {query_id!r} is judged but not in {queries_path}",
                              "add the query or remove its judgements") for query_id in missing)
    judged = tuple(query for query in queries if query.query_id in qrels)
    content = [[query.query_id, query.text, sorted(qrels[query.query_id].items())] for query in judged]
    return Judged(judged, qrels, digest(content))


def _both(one: Callable, other: Callable) -> tuple:
    """What two readers return, or one `DataError` with the faults of both."""
    found, faults = [], []
    for read in (one, other):
        try:
            found.append(read())
        except DataError as error:
            faults += error.faults
    if faults:
        raise DataError(faults)
    return tuple(found)


def _queries_beside(qrels_path: str) -> str:
    """x.tsv -> x.queries.jsonl beside it, or the queries.jsonl of the BEIR folder."""
    beside = os.path.splitext(qrels_path)[0] + ".queries.jsonl"
    beir = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(qrels_path))), "queries.jsonl")
    return beir if not os.path.exists(beside) and os.path.exists(beir) else beside


def read_queries(path: str) -> tuple[Query, ...]:
    """The queries of a JSONL file, in file order."""
    return queries_in(read_text(path), path)


def queries_in(text: str, path: str) -> tuple[Query, ...]:
    """The queries of a text in JSONL, in its order; `path` is what to call it when there are faults."""
    found: dict[str, Query] = {}
    faults = []
    for number, line in numbered(text):
        try:
            query = _query(parse_json_object(line))
        except ValueError as error:
            faults.append(Fault(path, number, f"the query cannot be read: {error}",
                                'write {"_id": "...", "text": "..."}, with kind and why if wanted'))
            continue
        if query.query_id in found:
            faults.append(Fault(path, number, f"query id {query.query_id!r} stands twice", "give each query its own id"))
        found[query.query_id] = query
    if not found and not faults:
        faults.append(Fault(path, None, "the file holds no query", "write one JSON object a line"))
    if faults:
        raise DataError(faults)
    return tuple(found.values())


def _query(row: dict) -> Query:
    if isinstance(row.get("metadata"), dict):
        del row["metadata"]   # BEIR rows carry one
    if "_id" not in row and "id" in row:
        row["_id"] = row.pop("id")
    unknown = sorted(set(row) - {"_id", "text", "kind", "why"})
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no field of a query")
    for name in ("_id", "text"):
        if not isinstance(row.get(name), str):
            raise ValueError(f"{name} is {row.get(name)!r}, not a string")
    for name in ("kind", "why"):
        if not isinstance(row.get(name), str | None):
            raise ValueError(f"{name} is {row[name]!r}, not a string")
    if not row["_id"]:
        raise ValueError("_id is empty")
    return Query(row["_id"], row["text"], row.get("kind"), row.get("why"))


def read_qrels(path: str) -> dict[str, dict[str, int]]:
    """query id -> document id -> grade, in file order, of a BEIR or TREC file.

    The first line tells which it is: BEIR begins with its header. Grades are whole numbers; a pair judged twice is a fault.
    """
    lines = read_lines(path)
    beir = bool(lines) and lines[0][1].split("\t") == BEIR_HEADER
    qrels: dict[str, dict[str, int]] = {}
    faults = []
    for number, line in lines[1:] if beir else lines:
        cells = line.split("\t") if beir else line.split()
        if len(cells) != (3 if beir else 4):
            want = "query-id, corpus-id, score" if beir else "query, iteration, document, grade"
            faults.append(Fault(path, number, f"the line has {len(cells)} columns", f"write {want}; a header makes it BEIR"))
            continue
        query_id, doc_id, grade = cells if beir else (cells[0], cells[2], cells[3])
        if not _WHOLE.fullmatch(grade) or abs(int(grade)) > LARGEST_GRADE:
            faults.append(Fault(path, number, f"grade {grade!r} is not a whole number up to {LARGEST_GRADE}",
                                "write digits, such as 0, 1 or 2"))
        elif not query_id.strip() or not doc_id.strip():
            faults.append(Fault(path, number, "an id is empty", "name the query and the document"))
        elif doc_id in qrels.setdefault(query_id, {}):
            faults.append(Fault(path, number, f"{query_id!r} and {doc_id!r} are judged twice", "keep one of the two lines"))
        else:
            qrels[query_id][doc_id] = int(grade)
    if not qrels and not faults:
        faults.append(Fault(path, None, "the file holds no judgement", "write query-id, corpus-id, score lines"))
    if faults:
        raise DataError(faults)
    return qrels
