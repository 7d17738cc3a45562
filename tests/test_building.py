"""An index that was updated is the one built anew; nothing of what was removed is left in it; how it was built does not show."""
import os
import random
import sqlite3

import pytest
from support import answers, receipts, write_rows

from rag_lab import DataError, Scope, UsageError, build_lab
from rag_lab import building
from rag_lab.building import build_index, update_index
from rag_lab.stored import StoredLab

READER, NOBODY = Scope("local", ("reader",)), Scope("local", ())
SCOPES = [READER, Scope("local", ("reader", "staff")), Scope("local", ("staff",), principal="lin"), NOBODY]
QUERIES = ["a", "b c d", "a b c d e a b", "e e secret", "z"]


def random_row(choose: random.Random, doc_id: str) -> dict:
    """A row of few words, so that ties are common; now and then without words, kept for some readers, or with a region."""
    words = [choose.choice("abcde") for _ in range(choose.choice([0, 1, 3, 3, 3, 6]))]
    row = {"_id": doc_id, "title": choose.choice(["", "a", "b c"]), "text": " ".join(words)}
    row |= choose.choice([{}, {}, {"roles": ["reader", "staff"]}, {"roles": ["staff"]}, {"principals": ["lin"]},
                          {"status": "retired"}, {"trust": "community", "version": choose.randint(1, 3)}])
    if choose.random() < 0.3 and words:
        row["text"] += "\n\n# one\n\nsecret a\n\n# two\n\nsecret b c\n"
        row["regions"] = choose.choice([[{"heading": "one", "roles": ["staff"]}], [{"heading": "two", "roles": ["staff", "boss"]}],
                                        [{"heading": "one", "roles": ["boss"]}, {"heading": "two", "roles": ["staff"]}]])
    return row


def rows_in(folder, rows: dict) -> str:
    """A JSONL corpus of the same name wherever the folder is, as the name is a part of every path."""
    folder.mkdir()
    return write_rows(folder / "rows.jsonl", rows.values())


def compare(path: str, corpus: str, deleted, queries=QUERIES, scopes=SCOPES) -> None:
    """An index in a file and a lab over the corpus, from which the same documents were deleted, are the same."""
    plain, stored = build_lab(corpus), StoredLab(path)
    for doc_id in deleted:
        plain.delete(doc_id)
    assert answers(stored, queries, [*scopes], why=["d1"]) == answers(plain, queries, [*scopes], why=["d1"])
    seen = [[live.digest, list(live.documents)] for lab in (stored, plain) for live in map(lab.catalog.eligible, scopes)]
    assert seen[:len(scopes)] == seen[len(scopes):]


def random_history(folder, seed: int) -> None:
    """Build, then change rows, add some, repeat some and delete some, several times; compare after each step."""
    choose, path, gone = random.Random(seed), str(folder / "index.db"), []
    rows = {f"d{number}": random_row(choose, f"d{number}") for number in range(choose.choice([1, 3, 8]))}
    build_index(rows_in(folder / "0", rows), path)
    for step in range(1, 6):
        visible = list(StoredLab(path).docs)
        removed = choose.sample([one for one in visible if "#" not in one], k=0 if choose.random() < 0.4 else min(1, len(visible)))
        left = [doc_id for doc_id in rows if doc_id not in [*gone, *removed]]
        came = choose.sample(left, k=min(len(left), choose.randint(0, 3)))
        came += [f"d{number}" for number in range(len(rows), len(rows) + choose.choice([0, 1, 4]))]
        changed = {doc_id: random_row(choose, doc_id) if choose.random() < 0.8 or doc_id not in rows else rows[doc_id]
                   for doc_id in came}
        update_index(path, rows_in(folder / f"{step}", changed) if changed else None, removed)
        rows, gone = rows | changed, [*gone, *removed]
        compare(path, rows_in(folder / f"all{step}", rows), gone)


@pytest.mark.parametrize("seed", range(6))
def test_an_updated_index_answers_as_one_built_anew(seed, tmp_path):
    random_history(tmp_path, seed)
