"""An index that was updated is the one built anew, nothing of what was removed is left in it, and a kill leaves it whole."""
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest
from support import ROOT, answers, write_rows

from rag_lab import DataError, Scope, UsageError, build_lab
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
        one, two = {"heading": "one", "roles": [choose.choice(["staff", "boss"])]}, {"heading": "two", "roles": ["staff", "x"]}
        row["regions"] = choose.choice([[one], [two], [one, two]])
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
        visible = [doc_id for doc_id in StoredLab(path).docs if "#" not in doc_id]   # no regions
        removed = choose.sample(visible, k=min(len(visible), choose.choice([0, 1, 1])))
        left = [doc_id for doc_id in rows if doc_id not in [*gone, *removed]]
        came = choose.sample(left, k=min(len(left), choose.randint(0, 3)))
        came += [f"d{number}" for number in range(len(rows), len(rows) + choose.choice([0, 1, 4]))]
        changed = {doc_id: random_row(choose, doc_id) if choose.random() < 0.8 or doc_id not in rows else rows[doc_id]
                   for doc_id in came}
        update_index(path, rows_in(folder / f"{step}", changed) if changed else None, removed)
        rows, gone = rows | changed, [*gone, *removed]
        compare(path, rows_in(folder / f"all{step}", rows), gone)


@pytest.mark.parametrize("seed", range(3))
def test_an_updated_index_answers_as_one_built_anew(seed, tmp_path):
    random_history(tmp_path, seed)


# --- how it was built does not show ---------------------------------------------------------------------------------------

def tables(path: str) -> dict[str, list]:
    """Every row of an index file, by table."""
    connection = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    names = [name for name, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    found = {name: connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in names}
    connection.close()
    return found


def some_rows(count: int, seed: int = 0) -> dict:
    choose = random.Random(seed)
    return {f"d{number}": random_row(choose, f"d{number}") for number in range(count)}


@pytest.mark.parametrize("how", [{"workers": 2}, {"workers": 3, "memory": 1}, {"memory": 1}])
def test_neither_workers_nor_memory_change_a_row_of_the_file(how, tmp_path, monkeypatch):
    corpus, more = rows_in(tmp_path / "one", some_rows(300)), rows_in(tmp_path / "two", some_rows(100, seed=1))
    files = [str(tmp_path / "plain.db"), str(tmp_path / "other.db")]
    for path, options in zip(files, ({}, how)):
        if "memory" in options:
            monkeypatch.setattr("rag_lab.segments.BYTES_OF_POSTING", 2 ** 13)   # so that a run goes to disk every 64 postings
        build_index(corpus, path, **options)
        removed = next(doc_id for doc_id in StoredLab(path).docs if len(doc_id) == 4)   # d100 to d299: not one of `more`
        update_index(path, more, [removed], **options)
    assert tables(files[0]) == tables(files[1])


def test_segments_are_merged_when_they_are_close_in_size_and_then_hold_what_one_would(tmp_path, monkeypatch):
    path, rows = str(tmp_path / "index.db"), some_rows(12)
    build_index(rows_in(tmp_path / "all", rows), str(tmp_path / "once.db"))
    monkeypatch.setattr("rag_lab.segments.BYTES_OF_POSTING", 2 ** 20)   # a run for every posting, in merges too
    for number, row in enumerate(rows.values()):
        corpus = rows_in(tmp_path / str(number), {"row": row})
        told = update_index(path, corpus, memory=1) if number else build_index(corpus, path, memory=1)
        assert told["segments"] <= 3   # 12 units: 7 and 3 and 1 may stand apart, each more than twice as large as the next
    compare(path, str(tmp_path / "all" / "rows.jsonl"), [])
    assert told["terms"] == StoredLab(str(tmp_path / "once.db")).store.setting("vocabulary")


# --- what was removed ---------------------------------------------------------------------------------------------------

def test_no_word_of_what_was_replaced_or_deleted_stands_in_the_file(tmp_path):
    """Rare words, in titles, texts, facts and regions, of many documents, so that pages are split and joined on the way."""
    path = str(tmp_path / "index.db")

    def row(number: int, mark: str) -> dict:
        words = [f"{mark}{number}x{at}" for at in range(60)]
        text = f"{' '.join(words)}\n\n# head\n\n{mark}region{number}"
        return {"_id": f"d{number}", "title": f"{mark}title{number}", "text": text,
                "facts": [{"id": "f", "quote": words[3]}], "regions": [{"heading": "head", "roles": ["staff"]}]}
    build_index(rows_in(tmp_path / "old", {number: row(number, "before") for number in range(80)}), path)
    update_index(path, rows_in(tmp_path / "new", {number: row(number, "after") for number in range(0, 80, 2)}))
    gone = [f"d{number}" for number in range(1, 80, 2)]
    update_index(path, None, gone)
    with open(path, "rb") as file:
        data = file.read()
    assert data.count(b"before") == 0 and b"after0x59" in data and b"after1x" not in data
    assert sorted(os.listdir(tmp_path)) == ["index.db", "new", "old"]


# --- what goes wrong ------------------------------------------------------------------------------------------------------

def test_all_faults_are_told_at_once_and_nothing_is_replaced(tmp_path):
    path = str(tmp_path / "index.db")
    build_index(rows_in(tmp_path / "one", some_rows(5)), path)
    update_index(path, None, ["d0"] if "d0" in StoredLab(path).docs else [])
    before = tables(path)
    bad = write_rows(tmp_path / "bad.jsonl", [{"_id": "a", "text": "x"}, {"_id": "b", "text": 3}, {"_id": "a", "text": "y"},
                                              {"_id": "d9", "text": "x", "roles": []}, {"_id": "a", "text": "z"}])
    for work in (build_index, lambda corpus, out: update_index(out, corpus)):
        with pytest.raises(DataError) as caught:
            work(bad, path)
        assert [fault.line for fault in caught.value.faults] == [2, 3, 4, 5]
    assert tables(path) == before and sorted(os.listdir(tmp_path)) == ["bad.jsonl", "index.db", "one"]


def test_a_deleted_id_cannot_come_again_and_the_line_is_told(tmp_path):
    path = str(tmp_path / "index.db")
    corpus = write_rows(tmp_path / "rows.jsonl", [{"_id": "a", "text": "x"}, {"_id": "b", "text": "x"}])
    build_index(corpus, path)
    with pytest.raises(DataError, match="rows.jsonl:1: id 'a' was deleted, and stays so; give the document a new id"):
        update_index(path, corpus, ["a"])
    assert list(StoredLab(path).docs) == ["a", "b"]
    with pytest.raises(UsageError, match="no document 'zz' to delete"):
        update_index(path, None, ["a", "zz"])
    assert list(StoredLab(path).docs) == ["a", "b"]


def test_an_index_is_not_updated_by_a_corpus_with_other_settings(tmp_path):
    path = str(tmp_path / "index.db")
    build_index("handbook", path)
    with pytest.raises(UsageError, match="analyzer|chunker is 'structure', in the index 'whole'"):
        update_index(path, "scheduler")
    told = update_index(path, "handbook")
    assert told["changes"] == {"added": 0, "replaced": 0, "unchanged": told["documents"], "deleted": 0}


# --- limits ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("classes", [61, 62, 63, 64, 300])
def test_many_rights_classes_are_told_apart(classes, tmp_path):
    path, rows = str(tmp_path / "index.db"), {}
    for number in range(classes):
        roles = [f"r{number}", *["reader"] * (number % 3 > 0)]
        rows[number] = {"_id": f"d{number:03}", "text": f"x w{number % 7} v{number}", "roles": roles}
    corpus = rows_in(tmp_path / "one", rows)
    build_index(corpus, path)
    scopes = [READER, Scope("local", ("r1",)), Scope("local", (f"r{classes - 1}", "r0", "r60")), NOBODY]
    compare(path, corpus, [], ["x w1"], scopes)
    plain, stored = build_lab(corpus), StoredLab(path)
    for lab in (plain, stored):
        lab.delete("d001")
        lab.delete("d058")
    assert answers(stored, ["x w1"], scopes) == answers(plain, ["x w1"], scopes)


def test_ids_and_texts_of_any_kind(tmp_path):
    ids = ["a'b", 'a"b', "%", "é😀", "a#b", "#", "*", "_", "a%20", "/", "\\", "d1"]
    texts = ["x \0 y", "", "!?", "x" * 9, "x"] * 3
    rows = {doc_id: {"_id": doc_id, "title": "'%", "text": text} for doc_id, text in zip(ids, texts)}
    path, corpus = str(tmp_path / "an 'odd' %20 name?#.db"), rows_in(tmp_path / "rows", rows)
    build_index(corpus, path)
    compare(path, corpus, [], ["x y", "%"])
    update_index(path, None, ["a'b", "é😀", "#"])
    compare(path, corpus, ["a'b", "é😀", "#"], ["x y", "%"])


def test_numbers_beyond_thirty_two_bits(tmp_path):
    """A word 70,000 times: the squared norm of its vector is 4,900,000,000."""
    corpus = rows_in(tmp_path / "rows", {0: {"_id": "d1", "text": "word " * 70_000, "version": 10 ** 30}})
    build_index(corpus, str(tmp_path / "index.db"))
    compare(str(tmp_path / "index.db"), corpus, [], ["word"], [READER])


def test_a_corpus_of_which_everything_is_deleted(tmp_path):
    path, rows = str(tmp_path / "index.db"), {name: {"_id": name, "text": "a b"} for name in ("d1", "d2")}
    corpus = rows_in(tmp_path / "rows", rows)
    build_index(corpus, path)
    update_index(path, None, ["d2", "d1"])
    compare(path, corpus, ["d2", "d1"])
    told = update_index(path, rows_in(tmp_path / "more", {"d3": {"_id": "d3", "text": "b c"}}))
    assert (told["documents"], told["terms"], told["segments"]) == (1, 2, 1)
    compare(path, rows_in(tmp_path / "all", {**rows, "d3": {"_id": "d3", "text": "b c"}}), ["d2", "d1"])


def test_thousands_of_documents_are_ranked_as_from_memory(tmp_path):
    """Of words that are as unequal in frequency as those of a language; several segments, and more ids than are kept singly."""
    choose, words = random.Random(3), [f"w{at}" for at in range(400)]
    weights = [1 / (at + 1) for at in range(400)]
    rows = {number: {"_id": f"d{number:04}", "text": " ".join(choose.choices(words, weights, k=choose.choice([3, 5, 8, 30])))}
            for number in range(2000)}
    path = str(tmp_path / "index.db")
    build_index(rows_in(tmp_path / "first", {number: rows[number] for number in range(1500)}), path)
    update_index(path, rows_in(tmp_path / "second", {number: rows[number] for number in range(1500, 2000)}))
    plain, stored = build_lab(rows_in(tmp_path / "all", rows)), StoredLab(path)
    assert len(stored.store.column("bm25", "sizes")) == 2
    for at in range(50):
        query = " ".join(choose.choices(words, weights, k=choose.choice([1, 2, 4, 9, 20])))
        k = choose.choice([1, 10, 100, 700])
        assert stored.bm25.search(query, k) == plain.bm25.search(query, k)
        assert stored.dense.search(query, k) == plain.dense.search(query, k)
    assert stored.bm25.search("w1 w5", None) == plain.bm25.search("w1 w5", None)


# --- killed, interrupted, watched -----------------------------------------------------------------------------------------

PROGRAM = """
import os, signal, sys
from rag_lab import building, segments, swap
point, at, sign, work, corpus, index = sys.argv[1:]
def die(*_, **__):
    os.kill(os.getpid(), int(sign))
def before(module, name, last=False):
    usual = getattr(module, name)
    def instead(*given, **named):
        if last: usual(*given, **named)
        die()
        return usual(*given, **named)
    setattr(module, name, instead)
if point != "watch":
    home, name = point.split(".")
    homes = {"segments": segments, "building": building, "swap": swap, "os": os, "shutil": building.shutil}
    before(homes[home], name, at == "after")
watch = lambda count: die() if point == "watch" and count == int(at) else None
if work == "build":
    building.build_index(corpus, index, watch=watch)
else:
    building.update_index(index, corpus, ["d0"], watch=watch)
"""
POINTS = [("build", "watch", "1"), ("build", "watch", "30"), ("build", "segments.write_columns", ""),
          ("build", "building.merge", ""), ("build", "os.fsync", ""), ("build", "os.replace", "after"),
          ("update", "shutil.copyfile", ""), ("update", "shutil.copyfile", "after"), ("update", "watch", "20"),
          ("update", "building.purge", ""), ("update", "segments.write_list", "after"), ("update", "building.seal", ""),
          ("update", "os.replace", ""), ("update", "swap._sync_folder", "")]


@pytest.fixture(scope="module")
def stages(tmp_path_factory) -> dict:
    """An index, the corpus of the next build or update, and what is answered before and after."""
    folder = tmp_path_factory.mktemp("stages")
    files = {"old": str(folder / "old.db"), "build": str(folder / "build.db"), "update": str(folder / "update.db")}
    first = {f"d{number}": {"_id": f"d{number}", "text": f"a w{number}"} for number in range(40)}
    second = {f"d{number}": {"_id": f"d{number}", "text": f"a b v{number}"} for number in range(5, 60)}
    build_index(rows_in(folder / "first", first), files["old"])
    shutil.copy(files["old"], files["update"])
    corpus = rows_in(folder / "second", second)
    build_index(corpus, files["build"])
    update_index(files["update"], corpus, ["d0"])
    return {"corpus": corpus, **files, "answers": {name: told_by(path) for name, path in files.items()}}


def told_by(path: str) -> list[str]:
    lab = StoredLab(path)
    try:
        return [str(lab.manifest), *answers(lab, ["a w3", "v30 b nowhere"])]
    finally:
        lab.close()


def run_until(point: str, at: str, sign: int, work: str, corpus: str, path: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", PROGRAM, point, at, str(int(sign)), work, corpus, path], cwd=ROOT, timeout=120,
                          env={**os.environ, "PYTHONPATH": ROOT}, stdin=subprocess.DEVNULL, capture_output=True)


@pytest.mark.parametrize("work, point, at", POINTS)
def test_killed_at_any_point_the_file_answers_as_before_or_after_and_can_be_written_again(work, point, at, stages, tmp_path):
    path = str(shutil.copy(stages["old"], tmp_path / "index.db"))
    done = run_until(point, at, signal.SIGKILL, work, stages["corpus"], path)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    replaced = point == "swap._sync_folder" or (point, at) == ("os.replace", "after")
    assert told_by(path) == stages["answers"][work if replaced else "old"]
    assert os.path.exists(f"{path}.new") is not replaced
    build_index(stages["corpus"], path)
    assert told_by(path) == stages["answers"]["build"] and os.listdir(tmp_path) == ["index.db"]


def test_a_first_build_that_is_killed_leaves_no_index(stages, tmp_path):
    path = str(tmp_path / "index.db")
    assert run_until("os.fsync", "", signal.SIGKILL, "build", stages["corpus"], path).returncode == -signal.SIGKILL
    with pytest.raises(DataError, match="there is no such file"):
        StoredLab(path)


@pytest.mark.parametrize("work, point, at", [("build", "watch", "30"), ("update", "building.merge", "")])
def test_interrupted_by_the_keyboard_nothing_half_made_is_left(work, point, at, stages, tmp_path):
    path = str(shutil.copy(stages["old"], tmp_path / "index.db"))
    done = run_until(point, at, signal.SIGINT, work, stages["corpus"], path)
    assert b"KeyboardInterrupt" in done.stderr
    assert os.listdir(tmp_path) == ["index.db"] and told_by(path) == stages["answers"]["old"]


def test_who_has_the_file_open_goes_on_reading_what_was_there_and_who_opens_it_sees_what_is(stages, tmp_path):
    path = str(shutil.copy(stages["old"], tmp_path / "index.db"))
    early, seen = StoredLab(path), []
    expected = [str(early.manifest), *answers(early, ["a w3"])]

    def watch(count: int) -> None:
        if count == 20:
            seen.append(told_by(path))
            with pytest.raises(UsageError, match="another process is writing"):
                build_index(stages["corpus"], path)
    update_index(path, stages["corpus"], ["d0"], watch=watch)
    assert seen == [stages["answers"]["old"]] and told_by(path) == stages["answers"]["update"]
    assert [str(early.manifest), *answers(early, ["a w3"])] == expected
    assert early.search("nowhere w7").statistics["terms"] == 41   # a, w0 to w39: read, and the whole file verified, only now
    assert early.bm25.search("w39", 1)[0][0] == "d39"
