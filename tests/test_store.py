"""Whatever happens to an index file, it answers as before or is refused, and told are what was found and the remedy."""
import os
import random
import shutil
import sqlite3

import pytest
from support import answers, write_rows

from rag_lab import DataError
from rag_lab.building import build_index, update_index
from rag_lab.store import REBUILD, Store, seal, sum_of_file
from rag_lab.stored import StoredLab

ROWS = [{"_id": f"d{number}", "title": "a", "text": text} for number, text in enumerate(
    ["a b c", "a b", "a", "b b c", "c d", "d e a b", "登录 上限", "", "e e e", "f"])]
ASKED = [{"threshold": 0.0, "explain": True, "rerank": True, "k": 20}]


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> str:
    """An index of two segments and a deleted document."""
    folder = tmp_path_factory.mktemp("store")
    build_index(write_rows(folder / "rows.jsonl", ROWS), str(folder / "index.db"))
    update_index(str(folder / "index.db"), write_rows(folder / "rows.jsonl", [{"_id": "new", "text": "a g"}]), ["d5"])
    return str(folder / "index.db")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> str:
    """An index of one segment, from which nothing was deleted."""
    folder = tmp_path_factory.mktemp("fresh")
    build_index(write_rows(folder / "rows.jsonl", ROWS), str(folder / "index.db"))
    return str(folder / "index.db")


@pytest.fixture()
def copy(index, tmp_path) -> str:
    return str(shutil.copy(index, tmp_path / "copy.db"))


def asked(path: str, queries=("a", "b c d e", "登录 g"), options=ASKED) -> list[str]:
    lab = StoredLab(path)
    try:
        return [str(lab.manifest), *answers(lab, queries, asked=options)]
    finally:
        lab.close()


def fate(path: str, before: list[str], **how) -> str:
    """ "same" or "refused"; anything else is what must not be."""
    try:
        return "same" if asked(path, **how) == before else "another answer"
    except DataError as error:
        assert REBUILD in str(error) and path in str(error)
        return "refused"


def change(path: str, statement: str, sealed: bool = True) -> None:
    """Change an index by SQL; `sealed`, so that only the sums of the rows can tell."""
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    if sealed:
        seal(path)


def test_an_index_is_refused_or_answers_as_before_whichever_byte_is_another(fresh, tmp_path):
    """Words that are there only: whatever is not there makes the whole file be read, and the change be found."""
    choose, before, copy = random.Random(5), asked(fresh, ["a", "b c d e"]), str(shutil.copy(fresh, tmp_path / "copy.db"))
    with open(fresh, "rb") as file:
        data = file.read()
    written = [at for at, octet in enumerate(data) if octet]   # half of a small file is empty
    fates = []
    with open(copy, "r+b") as file:
        for at in choose.sample(written, 300) + choose.sample(range(len(data)), 50):
            file.seek(at)
            file.write(bytes([data[at] ^ (1 << choose.randrange(8))]))
            file.flush()
            fates.append(fate(copy, before, queries=["a", "b c d e"]))
            file.seek(at)
            file.write(data[at:at + 1])
    assert sorted(set(fates)) == ["refused", "same"]


def test_a_word_that_is_nowhere_makes_every_changed_byte_be_found(index, copy):
    choose = random.Random(6)
    with open(index, "rb") as file:
        data = file.read()
    for at in choose.sample(range(len(data)), 40):
        with open(copy, "wb") as file:
            file.write(data[:at] + bytes([data[at] ^ 64]) + data[at + 1:])
        with pytest.raises(DataError, match="no index that can be used"):
            asked(copy, ["nowhere"])


@pytest.mark.parametrize("change_by", [-1, 1, 4096, -4096])
def test_a_file_of_another_length_is_refused_with_both_lengths(copy, change_by):
    size = os.path.getsize(copy)
    os.truncate(copy, size + change_by)
    with pytest.raises(DataError, match=f"{size + change_by} bytes, expected {size}|malformed"):
        StoredLab(copy)


def test_a_file_is_refused_wherever_it_was_cut_off(index, copy):
    before, size = asked(index), os.path.getsize(index)
    for left in (0, 1, 15, 16, 30, 70, 100, 512, 4095, 4096, 4097, size // 3, size // 2, size - 5000):
        shutil.copy(index, copy)
        os.truncate(copy, left)
        assert (left, fate(copy, before)) == (left, "refused")


@pytest.mark.parametrize("content", [b"", b"a text file\n" * 1000, bytes(9000), "表".encode("utf-16")])
def test_a_file_that_is_no_database_is_refused_with_what_it_begins_with(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError, match="it begins with b.*expected b'SQLite format 3"):
        StoredLab(str(tmp_path / "x"))


def test_another_database_is_refused(tmp_path):
    change(str(tmp_path / "other"), "CREATE TABLE settings (name, value, sum)", sealed=False)
    with pytest.raises(DataError, match="something else: its application id is 0x0, expected 0x7261676c"):
        StoredLab(str(tmp_path / "other"))


@pytest.mark.parametrize("name, found", [("", "this is no file"), ("nowhere", "there is no such file"),
                                         ("a\0b", "there is no such file")])
def test_a_path_without_a_file_is_refused(tmp_path, name, found):
    with pytest.raises(DataError, match=found):
        StoredLab(os.path.join(tmp_path, name))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(copy):
    os.chmod(copy, 0)
    with pytest.raises(DataError, match="cannot be read"):
        StoredLab(copy)


def test_a_format_of_another_version_is_refused_with_both(copy, monkeypatch):
    monkeypatch.setattr("rag_lab.store.FORMAT", "rag_lab.index/2")
    with pytest.raises(DataError, match="its format is 'rag_lab.index/1', expected 'rag_lab.index/2'"):
        StoredLab(copy)


@pytest.mark.parametrize("statement", [
    "UPDATE documents SET text = 'a b c d' WHERE doc_id = 'd0'", "UPDATE documents SET title = 'b' WHERE doc_id = 'd0'",
    "UPDATE documents SET version = '2' WHERE doc_id = 'd0'", "UPDATE places SET path = 'elsewhere'",
    "UPDATE documents SET doc_id = 'other' WHERE doc_id = 'd0'", "DELETE FROM documents WHERE doc_id = 'd0'",
    "UPDATE documents SET number = 99 WHERE doc_id = 'd0'", "DELETE FROM places",
    "UPDATE classes SET rights = replace(rights, 'reader', 'writer')", "UPDATE classes SET documents = 5",
    "UPDATE classes SET total = '1'", "DELETE FROM classes", "DELETE FROM tombstones",
    "UPDATE tombstones SET record = replace(record, 'd5', 'd6')", "UPDATE postings SET classes = 4 WHERE term = 'a'",
    "UPDATE postings SET segment = 9 WHERE term = 'a' AND segment = 1", "UPDATE segments SET segment = segment + 7",
    "UPDATE segments SET sizes = documents", "UPDATE segments SET documents = ordinals", "DELETE FROM segments",
    "DELETE FROM segments WHERE channel = 'bm25' AND segment > 1", "UPDATE postings SET units = zeroblob(9) WHERE term = 'b'",
    "UPDATE postings SET units = (SELECT units FROM postings WHERE term = 'c') WHERE term = 'b'",
    *(f"DELETE FROM settings WHERE name = '{name}'" for name in
      ("format", "corpus", "made", "rows", "segments", "units_left")),
    "UPDATE settings SET value = replace(value, 'a', 'b') WHERE name = 'made'",
    *(f"DROP TABLE {table}" for table in
      ("settings", "classes", "places", "documents", "segments", "postings", "tombstones", "chunks"))])
def test_every_row_that_shapes_an_answer_is_refused_if_it_is_another(copy, statement, index):
    """The sum over the file is set right again, so it is the sums of the rows that tell."""
    change(copy, statement)
    assert fate(copy, asked(index)) == "refused"


@pytest.mark.parametrize("statement", ["DELETE FROM settings WHERE name = 'vocabulary'",
                                       "UPDATE settings SET value = '7' WHERE name = 'vocabulary'"])
def test_the_number_of_terms_is_checked_like_any_row(fresh, tmp_path, statement):
    copy = str(shutil.copy(fresh, tmp_path / "copy.db"))
    change(copy, statement)
    assert fate(copy, asked(fresh)) == "refused"


def test_a_row_that_was_lost_is_missed_through_the_sum_over_the_file(copy, index):
    change(copy, "DELETE FROM postings WHERE term = 'c'", sealed=False)
    assert fate(copy, asked(index)) == "refused"


def test_a_damaged_index_is_not_updated(copy, tmp_path):
    change(copy, "UPDATE documents SET text = 'other words' WHERE doc_id = 'd9'", sealed=False)
    with open(copy, "rb") as file:
        before = file.read()
    with pytest.raises(DataError, match="the sum over the file is"):
        update_index(copy, write_rows(tmp_path / "rows.jsonl", [{"_id": "z", "text": "z"}]))
    with open(copy, "rb") as file:
        assert file.read() == before
    assert sorted(os.listdir(tmp_path)) == ["copy.db", "rows.jsonl"]


def test_the_sum_of_a_file_stands_in_its_header_and_leaves_itself_out(index):
    with open(index, "rb") as file:
        data = file.read()
        assert sum_of_file(file) == int.from_bytes(data[60:64], "big")
    assert sqlite3.connect(f"file:{index}?immutable=1", uri=True).execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_reading_writes_nothing_beside_the_file(index, copy, tmp_path):
    lab = StoredLab(copy)
    lab.search("a", hybrid=True)
    lab.delete("d0")
    assert os.listdir(tmp_path) == ["copy.db"]
    lab.close()
    with open(copy, "rb") as one, open(index, "rb") as other:
        assert one.read() == other.read()


def test_a_file_that_is_refused_is_closed(tmp_path):
    """On Linux the open files of a process can be counted."""
    (tmp_path / "x").write_bytes(b"text")
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("there is no list of open files")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(DataError) as caught:
        Store(str(tmp_path / "x"))
    assert len(os.listdir("/proc/self/fd")) == before and caught
