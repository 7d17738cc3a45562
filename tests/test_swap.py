"""A file is replaced whole or not at all, by one writer at a time."""
import os

import pytest

from rag_lab import UsageError
from rag_lab.swap import replacing


def read(path) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def write(path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


@pytest.fixture()
def path(tmp_path) -> str:
    write(tmp_path / "file", b"old")
    return str(tmp_path / "file")


def test_the_new_file_takes_the_place_of_the_old_when_it_is_done(path):
    with replacing(path) as beside:
        write(beside, b"new")
        assert read(path) == b"old"
    assert read(path) == b"new" and os.listdir(os.path.dirname(path)) == ["file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_goes_wrong_leaves_the_old_file_and_nothing_beside_it(path, error):
    with pytest.raises(error), replacing(path) as beside:
        write(beside, b"half")
        raise error
    assert read(path) == b"old" and os.listdir(os.path.dirname(path)) == ["file"]


def test_what_a_killed_writer_left_is_written_over(path):
    write(f"{path}.new", b"x" * 100)
    with replacing(path) as beside:
        assert read(beside) == b""
        write(beside, b"new")
    assert read(path) == b"new"


def test_a_second_writer_is_told_so_and_the_first_one_ends_well(path):
    with replacing(path) as beside:
        write(beside, b"first")
        with pytest.raises(UsageError, match="another process is writing"), replacing(path):
            pass
    assert read(path) == b"first"


@pytest.mark.skipif(os.name == "nt", reason="no such modes there")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_nobody_can_read_the_new_file_who_could_not_read_the_old_one(mode, path):
    os.chmod(path, mode)
    with replacing(path) as beside:
        assert os.stat(beside).st_mode & 0o777 == mode
        write(beside, b"new")
    assert os.stat(path).st_mode & 0o777 == mode and read(path) == b"new"


def test_a_link_stays_one_and_the_file_behind_it_is_replaced(path, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    try:
        os.symlink(path, link)
    except OSError:
        pytest.skip("no links here")
    with replacing(str(link)) as beside:
        write(beside, b"new")
    assert os.path.islink(link) and read(path) == b"new" and os.listdir(tmp_path / "elsewhere") == ["link"]


@pytest.mark.parametrize("name", ["", "folder", "no/such/file", "a\0b", "folder/"])
def test_a_name_that_no_file_can_have_is_refused_before_anything_is_written(name, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="cannot be"), replacing(os.path.join(tmp_path, name)):
        pytest.fail("there is nothing to write to")
    assert os.listdir(tmp_path) == ["folder"] and os.listdir(tmp_path / "folder") == []
