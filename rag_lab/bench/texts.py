"""Which texts are searched, and which queries are asked?

Given as JSONL files of rows {"_id", "title", "text"} and {"_id", "text"}, as in BEIR; or generated: the same in every run,
on every machine. Generated words are about as frequent as those of real texts (Zipf's law: half as often at twice the
rank), and nothing else about them is real.
"""
import hashlib
import json
from typing import Callable, Iterable, Iterator, NamedTuple, Sequence

from ..errors import DataError, Fault, UsageError, whole_number
from ..files import read_lines
from ..strict_json import parse_json_object
from ..text import terms
from .measure import timed

SIZE = 10_000      # units, unless another number is asked for
QUERIES = 200      # how many are generated
OCTAVES = 17       # the generated vocabulary has 2^17 - 1 words


class Texts(NamedTuple):
    """What every engine is given: the same terms, so that none is measured by how it reads texts."""

    source: str                               # "generated", or the file
    units: Sequence[tuple[str, list[str]]]    # (unit id, terms with repeats)
    queries: Sequence[list[str]]              # terms with repeats, at least one each
    without_terms: int                        # queries that were left away, for no term is in them
    analysis_seconds: float                   # to make the terms of all units
    query_analysis_seconds: float             # to make those of all queries

    def digest(self) -> str:
        """16 hex digits of the SHA-256 of all terms: two runs with one digest measured the same."""
        found = hashlib.sha256()
        for row in [*self.units, *self.queries]:
            found.update(json.dumps(row, ensure_ascii=False).encode("utf-8"))
        return found.hexdigest()[:16]


def texts_of(docs: str | None, queries: str | None, size: int | None) -> Texts:
    """What the flags ask for. Raises `UsageError` if they do not go together, `DataError` for faulty files."""
    if docs is None:
        if queries is not None:
            raise UsageError("--queries goes with --docs; generated texts have queries of their own")
        return generated(SIZE if size is None else whole_number("--size", size, 1))
    if size is not None:
        raise UsageError("--size goes with generated texts; leave it away beside --docs")
    return given(docs, queries)


def given(docs: str, queries: str | None) -> Texts:
    """The texts of two files; without a file of queries, they are cut out of the texts.

    Raises `DataError` with every faulty row.
    """
    rows = [(row["_id"], f"{row['title']}\n{row['text']}" if row.get("title") else row["text"]) for row in _rows(docs)]
    return _analyzed(docs, rows, None if queries is None else [row["text"] for row in _rows(queries)])


def generated(size: int) -> Texts:
    """`size` short texts of 4 to 19 words, and queries cut out of them."""
    chance = lottery(1)
    rows = [(f"d{number:07}", " ".join(word(chance) for _ in range(4 + chance(16)))) for number in range(size)]
    return _analyzed("generated", rows, None)


def _analyzed(source: str, rows: Sequence[tuple[str, str]], queries: Sequence[str] | None) -> Texts:
    units, seconds = timed(lambda: [(unit_id, terms(text)) for unit_id, text in rows])
    asked = cut_out([unit_terms for _, unit_terms in units]) if queries is None else queries
    found, query_seconds = timed(lambda: [terms(text) for text in asked])
    kept = [query for query in found if query]
    if not kept:
        raise DataError([Fault(source, None, "there is no query with a term in it", "give queries that hold words")])
    return Texts(source, units, kept, len(found) - len(kept), seconds, query_seconds)


# --- generated ------------------------------------------------------------------------------------------------------

def lottery(seed: int) -> Callable[[int], int]:
    """A function that draws a whole number below its argument: a linear congruential generator, its upper 32 bits.

    Source of the constants: Knuth, MMIX (The Art of Computer Programming, volume 2, 3.3.4).
    """
    state = seed

    def draw(below: int) -> int:
        """The next number, from 0 up to but not including `below`."""
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (state >> 32) % below

    return draw


def word(chance: Callable[[int], int]) -> str:
    """A word by chance: each octave of ranks (1, 2-3, 4-7, ...) is as likely as the next, and so is each word within one."""
    octave = 1 << chance(OCTAVES)
    return f"w{octave + chance(octave)}"


def cut_out(texts: Sequence[Sequence[str]]) -> list[str]:
    """Queries: stretches of 2 to 6 terms of texts drawn by chance, from those texts that hold so many."""
    chance, queries = lottery(2), []
    long_enough = [text for text in texts if len(text) >= 6] or [text for text in texts if text]
    for _ in range(QUERIES if long_enough else 0):
        text, length = long_enough[chance(len(long_enough))], 2 + chance(5)
        start = chance(max(1, len(text) - length + 1))
        queries.append(" ".join(text[start:start + length]))
    return queries


# --- given ----------------------------------------------------------------------------------------------------------

def _rows(path: str) -> list[dict]:
    faults, rows, seen = [], [], set()
    for number, line in read_lines(path):
        try:
            row = parse_json_object(line)
        except ValueError as error:
            faults.append(Fault(path, number, f"the row cannot be read: {error}", "write one JSON object a line"))
            continue
        faults += [Fault(path, number, rule, remedy) for rule, remedy in _wrong(row, seen)]
        rows.append(row)
        seen.add(str(row.get("_id")))
    if not rows and not faults:
        faults.append(Fault(path, None, "the file is empty", "write one JSON object a line"))
    if faults:
        raise DataError(faults)
    return rows


def _wrong(row: dict, seen: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(rule, remedy) of what is wrong with a row."""
    for name in ("_id", "text"):
        if not isinstance(row.get(name), str):
            yield f"{name} is {row.get(name)!r}, not a string", f'write "{name}": "..."'
    if not isinstance(row.get("title", ""), str):
        yield f"title is {row['title']!r}, not a string", 'write "title": "...", or leave it away'
    if str(row.get("_id")) in seen:
        yield f"_id {row['_id']!r} stands twice", "give every row an id of its own"
