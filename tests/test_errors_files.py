"""Errors that name value, rule and remedy; files read as strict UTF-8 and JSON, and written whole or not at all."""
import hashlib
import json
import math
import os

import pytest

from rag_lab import files
from rag_lab.errors import DataError, Fault, LabError, UsageError, unit_interval, whole_number

# --- errors -------------------------------------------------------------------------------------------------------------


def test_a_fault_reads_as_place_rule_and_remedy():
    assert str(Fault("a.md", 3, "id is missing", "write it")) == "a.md:3: id is missing; write it"
    assert str(Fault("a.md", None, "the file is empty", "fill it")) == "a.md: the file is empty; fill it"


def test_a_data_error_lists_every_fault_once_by_path_and_line():
    late, early, whole = Fault("b.md", 2, "r", "m"), Fault("a.md", 10, "r", "m"), Fault("a.md", None, "r", "m")
    error = DataError([late, early, whole, early])
    assert error.faults == (whole, early, late)
    assert str(error) == "3 faults in the data:\na.md: r; m\na.md:10: r; m\nb.md:2: r; m"


def test_one_fault_is_told_in_the_singular():
    assert str(DataError([Fault("a.md", 1, "r", "m")])).startswith("1 fault in the data:\n")


def test_lines_are_ordered_as_numbers():
    error = DataError(Fault("a", line, "r", "m") for line in (10, 9, 100))
    assert [fault.line for fault in error.faults] == [9, 10, 100]


def test_the_order_of_the_faults_given_does_not_matter():
    faults = [Fault("a", 1, rule, "m") for rule in "cab"]
    assert str(DataError(faults)) == str(DataError(faults[::-1]))


def test_data_and_usage_have_exit_codes_of_their_own():
    assert (DataError.exit_code, UsageError.exit_code) == (1, 2)
    assert issubclass(DataError, LabError) and issubclass(UsageError, LabError)


@pytest.mark.parametrize("value", [1, 2, 10 ** 30])
def test_a_whole_number_that_is_large_enough_passes(value):
    assert whole_number("k", value, 1) == value


@pytest.mark.parametrize("value", [0, -1, 1.0, "1", None, True, math.nan, [1]])
def test_anything_else_is_refused_with_its_name_and_value(value):
    with pytest.raises(UsageError) as caught:
        whole_number("pool", value, 1)
    assert str(caught.value) == f"pool is {value!r}; it must be a whole number of at least 1"


@pytest.mark.parametrize("value", [0, 0.0, 0.3, 1, 1.0])
def test_a_number_of_the_unit_interval_passes_as_a_float(value):
    assert unit_interval("threshold", value) == value and isinstance(unit_interval("threshold", value), float)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, "0.3", None, True, False])
def test_a_number_outside_the_unit_interval_is_refused(value):
    with pytest.raises(UsageError, match="threshold is .*; it must be a number between 0 and 1"):
        unit_interval("threshold", value)


# --- reading ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("data, text", [
    (b"a\nb\n", "a\nb\n"), (b"a\r\nb\r\n", "a\nb\n"), (b"a\rb\r", "a\nb\n"), (b"a\r\r\nb", "a\n\nb"),
    (b"\xef\xbb\xbfa\r\n", "a\n"), (b"", ""),
    (b"\xef\xbb\xbf", ""), ("退款🎉".encode(), "退款🎉"), ("a\u2028b\u0085c\x0bd".encode(), "a\u2028b\u0085c\x0bd"),
    ("e\u0301".encode(), "e\u0301")])
def test_b029_a_byte_order_mark_and_the_kind_of_line_end_leave_no_trace(data, text):
    assert files.decode(data, "f") == text


@pytest.mark.parametrize("data, line", [
    (b"\xff", 1), (b"a\nb\n\xc3(", 3), (b"a\r\nb\xa3", 2), ("退款".encode("gbk"), 1), ("a\n退".encode()[:-1], 2),
    (b"\xed\xa0\x80", 1), (b"a\rb\xff", 2)])
def test_bytes_that_are_not_utf8_are_a_fault_with_its_line(data, line):
    with pytest.raises(DataError) as caught:
        files.decode(data, "f.md")
    (fault,) = caught.value.faults
    assert (fault.path, fault.line, fault.remedy) == ("f.md", line, "save the file as UTF-8")
    assert "is not UTF-8" in fault.rule


def test_a_file_that_is_not_there_is_a_fault_of_the_data(tmp_path):
    for path in (tmp_path / "none.md", tmp_path):
        with pytest.raises(DataError) as caught:
            files.read_text(str(path))
        assert caught.value.faults[0].path == str(path) and caught.value.faults[0].rule.startswith("cannot be read")


def test_a_file_is_read_as_it_decodes(tmp_path):
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf\xe9\x80\x80\r\n")
    assert files.read_text(str(tmp_path / "f")) == "退\n"


def test_b137_lines_end_at_line_feeds_only(tmp_path):
    (tmp_path / "f").write_bytes("a\u2028b\n\n \u0085\x0b\x1c\r\nc\x0cd".encode())
    assert files.read_lines(str(tmp_path / "f")) == [(1, "a\u2028b"), (4, "c\x0cd")]


# --- JSON ---------------------------------------------------------------------------------------------------------------

def test_surrogates_are_told_from_characters_of_supplementary_planes():
    assert files.has_surrogate("a\ud83d") and not files.has_surrogate("a🎉")


def test_canonical_json_keeps_the_order_of_keys_and_every_character():
    assert files.canonical_json({"b": 1, "a": ["退款", None, 0.5]}) == (
        '{\n  "b": 1,\n  "a": [\n    "退款",\n    null,\n    0.5\n  ]\n}\n')


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_canonical_json_refuses_numbers_that_json_lacks(value):
    with pytest.raises(ValueError):
        files.canonical_json({"score": [value]})


# --- digests ------------------------------------------------------------------------------------------------------------

def test_the_digest_of_a_text_is_the_published_sha256_of_its_bytes():
    # FIPS 180-2, appendix B.1
    assert files.text_digest("abc", 64) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert files.text_digest("abc") == "ba7816bf8f01cfea"
    assert files.text_digest("", 8) == "e3b0c442"


def test_the_digest_of_a_value_is_that_of_its_compact_json_with_sorted_keys():
    assert files.digest({"b": [1, None], "a": "退"}) == hashlib.sha256('{"a":"退","b":[1,null]}'.encode()).hexdigest()[:16]


def test_b098_the_order_of_keys_does_not_change_a_digest():
    row = {"id": "a", "text": "x", "meta": {"p": 1, "q": 2}}
    turned = {"meta": {"q": 2, "p": 1}, "text": "x", "id": "a"}
    assert files.digest(row) == files.digest(turned) and list(row) != list(turned)


def test_values_that_only_look_alike_have_different_digests():
    alike = [["ab", "c"], ["a", "bc"], ["abc"], "abc", ["abc", None], 1, "1", [1], None, "", [], {}]
    assert len({files.digest(value) for value in alike}) == len(alike)


def test_b029_one_file_saved_with_either_line_end_has_one_digest():
    lf, crlf = b"first\nsecond\n", b"first\r\nsecond\r\n"
    assert files.text_digest(files.decode(lf, "f")) == files.text_digest(files.decode(crlf, "f"))


# --- writing ------------------------------------------------------------------------------------------------------------

def test_what_is_written_is_utf8_with_line_feeds(tmp_path):
    path = tmp_path / "out.json"
    files.write_text(str(path), "退款\n🎉\n")
    assert path.read_bytes() == "退款\n🎉\n".encode() and os.listdir(tmp_path) == ["out.json"]


def test_writing_takes_the_place_of_the_old_file(tmp_path):
    path = tmp_path / "out.json"
    files.write_text(str(path), "a long old text")
    files.write_text(str(path), "new")
    assert path.read_bytes() == b"new" and os.listdir(tmp_path) == ["out.json"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError, MemoryError])
def test_b110_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, stop):
    path = tmp_path / "out.json"
    path.write_bytes(b"old")

    def interrupted(source, target):
        raise stop

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(stop):
        files.write_text(str(path), "new")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["out.json"]


def test_b134_a_text_that_cannot_be_utf8_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.json"
    path.write_bytes(b"old")
    with pytest.raises(UnicodeEncodeError):
        files.write_text(str(path), "new \ud83d")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["out.json"]


def test_what_canonical_json_writes_reads_back_equal(tmp_path):
    value = {"text": "a\u2028b \u0085 退款🎉 \"\\", "n": [0.1, 1e-300, 123456789012345678], "none": None}
    files.write_text(str(tmp_path / "f"), files.canonical_json(value))
    assert json.loads(files.read_text(str(tmp_path / "f"))) == value
