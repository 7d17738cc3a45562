"""JSON that is read, and JSON that is refused."""
import pytest

from rag_lab.strict_json import parse_json_object


def test_an_object_is_read():
    assert parse_json_object('{"a": [1, 2.5, null, true], "b": {"a": "\\ud83c\\udf89"}}') == {
        "a": [1, 2.5, None, True], "b": {"a": "🎉"}}


@pytest.mark.parametrize("line, reason", [
    ('{"tenant": "a", "tenant": "b", "text": "x"}', "'tenant' stands twice"),
    ('{"a": {"b": 1, "b": 1}}', "'b' stands twice"),
    ('{"a": [{"b": 1, "b": 2}]}', "'b' stands twice"), ('{"a": 1, "\\u0061": 2}', "'a' stands twice")])
def test_b140_a_key_that_stands_twice_is_refused_at_any_depth(line, reason):
    with pytest.raises(ValueError, match=reason):
        parse_json_object(line)


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_lacks_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} is not a number that JSON has"):
        parse_json_object(f'{{"score": {name}}}')


@pytest.mark.parametrize("line", [
    '{"text": "\\ud83d"}', '{"\\ude00": 1}', '{"a": ["x", {"b": "\\udfff!"}]}', '{"text": "\ud800"}'])
def test_b134_a_lone_surrogate_is_refused_wherever_it_stands(line):
    with pytest.raises(ValueError, match="lone surrogate"):
        parse_json_object(line)


@pytest.mark.parametrize("line", ["[1]", '"a"', "1", "null", "true"])
def test_json_that_is_no_object_is_refused(line):
    with pytest.raises(ValueError, match="not a JSON object"):
        parse_json_object(line)


@pytest.mark.parametrize("line", [
    "", "{", '{"a": 1,}', "{'a': 1}", '{"a": 01}', '{"a": 1} x', '{"a": "\n"}', '{"a": ' + "9" * 5000 + "}",
    '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"], ids=range(9))
def test_what_is_no_json_is_a_value_error_and_nothing_worse(line):
    with pytest.raises(ValueError):
        parse_json_object(line)
