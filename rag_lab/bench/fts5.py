"""How long does the full-text search of SQLite take, over the same terms?

A table FTS5 without the texts (contentless), in a file, merged into one segment; its `rank` is a BM25 with the same k1 and
b and with another IDF, so what it finds is compared by overlap only. Terms are stored under names of letters and digits, so
that its tokenizer cannot cut them otherwise. Source: sqlite.org/fts5.html.
"""
import os
import sqlite3
from typing import Sequence

from .measure import Built, Found, timed

SCHEMA = "CREATE VIRTUAL TABLE units USING fts5(terms, content='', tokenize='ascii')"
ASK = "SELECT rowid, rank FROM units WHERE units MATCH ? ORDER BY rank LIMIT ?"


def available() -> bool:
    """Whether this build of SQLite has FTS5."""
    with sqlite3.connect(":memory:") as connection:
        try:
            connection.execute(SCHEMA)
        except sqlite3.OperationalError:
            return False
    return True


def build(units: Sequence[tuple[str, Sequence[str]]], folder: str) -> Built:
    """The table in a file in `folder`; rows get their numbers from 1 in id order, as equal ranks are given in that order."""
    path, names, ids, rows = os.path.join(folder, "fts5.db"), {}, [], []
    for unit_id, words in sorted(units):
        ids.append(unit_id)
        rows.append((len(ids), " ".join([names.setdefault(term, f"t{len(names)}") for term in words])))
    _, seconds = timed(lambda: _write(path, rows))
    connection, open_seconds = timed(lambda: _open(path))

    def search(query: Sequence[str], k: int) -> Found:
        """The k best rows for the terms of a query, any of which may stand in them."""
        wanted = " OR ".join([f'"{names[term]}"' for term in query if term in names])
        return [(ids[row - 1], -rank) for row, rank in connection.execute(ASK, (wanted, k))] if wanted else []

    return Built(search, seconds, os.path.getsize(path), open_seconds)


def _write(path: str, rows: Sequence[tuple[int, str]]) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    with connection:
        connection.execute(SCHEMA)
        connection.executemany("INSERT INTO units(rowid, terms) VALUES (?, ?)", rows)
        connection.execute("INSERT INTO units(units) VALUES ('optimize')")
    connection.close()


def _open(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA cache_size = -1000000")   # KiB: all of it stays in memory
    connection.execute("SELECT rowid FROM units WHERE units MATCH 't0' LIMIT 1").fetchall()
    return connection
