"""The committed reports are what the command writes, byte for byte, and the reproduction says so when a number moves."""
import hashlib
import json
import os
import re
import time

import pytest
from support import ROOT
from test_cli import checkout, printed, refused, run

from rag_lab.experiments import reproduce

COMMITTED = os.path.join(ROOT, "reports")
NAMES = ["handbook.bm25.json", "handbook.hybrid-rerank.json", "handbook.hybrid.json", "rag-evidence.json",
         "rag-evidence.md", "rag-trace.jsonl", "reproduction.json"]


def read(folder, name) -> bytes:
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(folder, what the command printed)"""
    folder = tmp_path_factory.mktemp("reports") / "made" / "here"
    return str(folder), printed("reports", "--out", str(folder))


def test_the_command_writes_the_committed_reports_and_no_others(written):
    assert sorted(os.listdir(written[0])) == sorted(os.listdir(COMMITTED)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_committed_report_is_what_the_command_writes(written, name):
    assert read(written[0], name) == read(COMMITTED, name)


def test_the_command_lists_what_it_wrote_with_digests(written):
    folder, document = written
    assert list(document) == ["schema", "written"]
    assert {row["file"]: row["sha256"] for row in document["written"]} == {
        name: hashlib.sha256(read(folder, name)).hexdigest() for name in NAMES}


def test_writing_again_over_old_reports_changes_nothing(tmp_path):
    (tmp_path / "reproduction.json").write_text("old", encoding="utf-8")
    printed("reports", "--out", str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == NAMES
    assert read(tmp_path, "reproduction.json") == read(COMMITTED, "reproduction.json")


def test_a_folder_that_cannot_be_written_is_told_without_a_traceback(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert str(tmp_path / "file") in refused(run("reports", "--out", str(tmp_path / "file")), 1)


@pytest.mark.parametrize("name", NAMES)
def test_no_report_holds_a_path_or_the_day(name):
    text = read(COMMITTED, name).decode("utf-8")
    assert ROOT not in text and os.path.expanduser("~") not in text
    assert not re.search(r'"(/|[A-Za-z]:\\)', text)
    assert time.strftime("%Y-%m-%d") not in text.replace("2026-10-19T09:00:00+08:00", "the clock of the corpus")


@pytest.mark.parametrize("name, command", [
    ("handbook.bm25.json", ["--eval", "--k", "5"]), ("handbook.hybrid.json", ["--eval", "--k", "5", "--hybrid"]),
    ("handbook.hybrid-rerank.json", ["--eval", "--k", "5", "--hybrid", "--rerank"]), ("reproduction.json", ["reproduce"])])
def test_each_report_is_what_its_command_prints(name, command):
    assert run(*command).stdout == read(COMMITTED, name)


# --- reproduce ------------------------------------------------------------------------------------------------------

def test_every_printed_value_of_the_chapter_is_reproduced():
    table = printed("reproduce")
    assert table["counts"] == {"printed": len(table["rows"]), "equal": len(table["rows"]), "different": 0}
    assert all(row["equal"] is True and row["printed"] == row["ours"] for row in table["rows"])
    assert {"6.9", "6.9.1", "6.9.2", "6.9.3", "6.9.4", "6.9.5", "6.9.6", "6.9.7", "6.8.1", "6.8.2", "6.5.1"} <= {
        row["section"] for row in table["rows"]}


def test_every_row_says_where_it_is_printed_and_how_it_is_made():
    for row in printed("reproduce")["rows"]:
        assert list(row) == ["chapter", "section", "command", "listing", "read", "printed", "ours", "equal"]
        assert (row["command"] is None) != (row["listing"] is None)


def test_what_could_not_be_pinned_is_listed_with_its_reason():
    left_out = printed("reproduce")["not_pinned"]
    assert left_out and all(entry["section"] and entry["value"] and entry["reason"] for entry in left_out)


@pytest.mark.parametrize("file, old, new", [
    ("chapter6.json", "11.9923", "11.9922"), ("chapter6.json", "0.8462", "0.8463"),
    ("chapter6.json", '"version": 6', '"version": 7'), ("chapter8.json", '"value": 18}', '"value": 19}')])
def test_a_printed_value_that_differs_is_shown_and_exits_1(tmp_path, file, old, new):
    copy, path = checkout(tmp_path), tmp_path / "rag_lab" / "experiments" / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    done = run("reproduce", cwd=copy, PYTHONPATH=copy)
    table = json.loads(done.stdout)
    assert (done.returncode, done.stderr, table["counts"]["different"]) == (1, b"", 1)
    (row,) = [row for row in table["rows"] if not row["equal"]]
    assert row["printed"] != row["ours"]


def test_a_corpus_that_changed_makes_the_reproduction_differ(tmp_path):
    copy, path = checkout(tmp_path), tmp_path / "corpus" / "handbook" / "oncall" / "sev.md"
    path.write_text(path.read_text(encoding="utf-8").rstrip("\n") + "故障。\n", encoding="utf-8")
    done = run("reproduce", cwd=copy, PYTHONPATH=copy)
    assert done.returncode == 1 and json.loads(done.stdout)["counts"]["different"] >= 1


@pytest.mark.parametrize("printed_value, ours", [
    (1, True), (0, False), (1, 1.0), ("1", 1), (0.84, 0.8400001), ([1, 2], [2, 1]), (None, 0), ([], {}),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ("退款", "退款 ")], ids=ascii)
def test_equal_means_equal_in_value_type_and_order(printed_value, ours):
    assert not reproduce.same(printed_value, ours) and reproduce.same(printed_value, printed_value)
