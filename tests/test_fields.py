"""What may stand in a field: every reader takes what it should, and says of anything else the rule and the remedy."""
from datetime import datetime, timedelta, timezone

import pytest

from rag_lab import fields
from rag_lab.model import Fact

status = fields.one_of("active", "retired", "withdrawn")
FACT = {"id": "f1", "quote": "即时到账"}

REFUSED = {
    fields.text: [7, 1.5, True, None, ["a"], "", "  ", "\n", "\ud83d"],
    fields.identifier: [7, None, "", "a b", "报告 终版", "a\tb", "a\nb", "a\u3000b", "a\u00a0b", "a\x00b", "a\x7fb", "\ud83d"],
    fields.names: ["employee", None, {"a": 1}, [1], ["a", None], [""], ["a", "a"]],
    fields.count: [1.0, "1", True, 0, -1, None, float("nan")],
    fields.instant: [
        "2024-05-01T10:00:00", "2024-05-01", "2024-05-01T10:00:00 Europe/London", "2024-03-31T01:30[Europe/London]",
        "20240101T000000Z", "2024-W01-1", "2024-W01-1T00:00:00Z", "2026-03-03T01:26:14.1234567Z",
        "2026-03-03T01:26:14,5Z", "2024-02-30T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:60Z",
        "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+08:60", "2024-01-01T00:00:00+0800", "2024-01-01T00:00:00+08",
        "2024-01-01T00:00:00+08:00:30", "２０２４-01-01T00:00:00Z", "2024-01-01T00:00:00Z ", "now", "", 1714528800,
        1.5, None, datetime(2024, 5, 1, 10), datetime(2024, 5, 1).date()],
    fields.product_version: [3, 3.1, True, None, "", "3.", ".3", "3..1", "v3", "3.x", "3-1", "３.１", "1_0", " 3", "3\n",
                             "-1"],
    fields.facts: ["即时到账", [FACT["quote"]], [{"id": "f1"}], [FACT | {"page": 3}], FACT, [FACT, FACT], [FACT | {"id": 1}],
                   [FACT | {"id": "a b"}], [FACT | {"quote": " "}]],
    status: ["Active", "active ", "deleted", "", None, True, 1, ["active"], {"active": 1}],
}


@pytest.mark.parametrize("reader, value", [
    pytest.param(reader, value, id=f"{reader.__name__}-{value!a}")
    for reader, values in REFUSED.items() for value in values])
def test_a_value_that_a_field_may_not_have_is_refused_with_rule_and_remedy(reader, value):
    with pytest.raises(fields.BadField) as caught:
        reader(value)
    assert caught.value.rule and caught.value.remedy


@pytest.mark.parametrize("reader, value, shown", [
    (fields.count, "3", "'3'"), (fields.product_version, 3.1, "3.1"), (fields.names, "employee", "'employee'"),
    (fields.identifier, 7, "7"), (fields.instant, "2024-05-01", "'2024-05-01'"), (status, "gone", "'gone'")])
def test_the_rule_shows_the_value_as_it_was_written(reader, value, shown):
    with pytest.raises(fields.BadField) as caught:
        reader(value)
    assert shown in caught.value.rule


@pytest.mark.parametrize("reader, value, read", [
    (fields.text, " 退款 政策 ", " 退款 政策 "), (fields.identifier, "退款-2026_08.v1", "退款-2026_08.v1"),
    (fields.names, ["b", "a"], ("b", "a")), (fields.names, [], ()), (fields.count, 9, 9),
    (fields.product_version, "3.10", "3.10"), (fields.product_version, "0", "0"), (status, "retired", "retired"),
    (fields.facts, [FACT], (Fact("f1", "即时到账"),)), (fields.facts, [], ())])
def test_a_good_value_is_read_as_it_stands(reader, value, read):
    assert reader(value) == read


def test_b070_an_identifier_that_looks_like_a_number_keeps_its_zeros():
    assert fields.identifier("007") == "007"


def test_b124_z_and_the_offset_zero_are_one_instant_with_one_printed_form():
    zulu, zero = fields.instant("2024-03-20T19:26:08Z"), fields.instant("2024-03-20T19:26:08+00:00")
    assert zulu == zero == datetime(2024, 3, 20, 19, 26, 8, tzinfo=timezone.utc)
    assert zulu.isoformat() == zero.isoformat() == "2024-03-20T19:26:08+00:00"


def test_an_offset_is_kept_and_compared_in_utc():
    read = fields.instant("2026-10-19T09:00:00+08:00")
    assert read.utcoffset() == timedelta(hours=8) and read == fields.instant("2026-10-19T01:00Z")


@pytest.mark.parametrize("fraction, microseconds", [(".5", 500000), (".000001", 1), (".123456", 123456)])
def test_b125_up_to_six_digits_of_a_second_are_kept(fraction, microseconds):
    assert fields.instant(f"2026-03-03T01:26:14{fraction}Z").microsecond == microseconds


@pytest.mark.parametrize("lower, higher", [("3.2", "3.10"), ("9", "10"), ("1.9.9", "1.10"), ("3", "3.0.1"), ("0.9", "1")])
def test_product_versions_compare_as_numbers(lower, higher):
    assert fields.version_key(lower) < fields.version_key(higher)


def test_zeros_at_the_end_of_a_product_version_say_nothing():
    assert fields.version_key("3") == fields.version_key("3.0") == fields.version_key("3.0.0") != fields.version_key("3.0.1")


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf"), True, "0.5", None])
def test_a_number_out_of_its_range_is_refused(value):
    with pytest.raises(fields.BadField):
        fields.number(0, 1)(value)


@pytest.mark.parametrize("value", [0, 1, 0.75])
def test_both_ends_of_a_range_of_numbers_belong_to_it(value):
    assert fields.number(0, 1)(value) == value
