"""The code-aware rule: what it splits, and the spans of what it finds."""
import random

import pytest

from rag_lab.source_code import code_terms, code_tokens
from rag_lab.text import terms as bigram_terms


def terms(text: str) -> list[str]:
    return list(code_terms(text))


# --- what is split ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text, expected", [
    ("snake_case_name", ["snake", "case", "name"]), ("__init__", ["init"]), ("MAX_RETRY", ["max", "retry"]),
    ("a__b", ["a", "b"]), ("kebab-case", ["kebab", "case"])])
def test_snake_case_is_split_into_its_words(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize("text, expected", [
    ("getUserName", ["get", "user", "name"]), ("UserName", ["user", "name"]), ("username", ["username"]), ("aB", ["a", "b"]),
    ("iOS", ["i", "os"])])
def test_camel_case_is_split_before_each_capital(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize("text, expected", [
    ("HTTPServer", ["http", "server"]), ("getURL", ["get", "url"]), ("parseHTTPResponse", ["parse", "http", "response"]),
    ("HTTP", ["http"]), ("XMLHttpRequest", ["xml", "http", "request"]), ("IDs", ["i", "ds"])])
def test_an_acronym_ends_before_the_last_capital_that_begins_a_word(text, expected):
    """`IDs` shows the price: the rule knows no dictionary."""
    assert terms(text) == expected


@pytest.mark.parametrize("text, expected", [
    ("retry2", ["retry", "2"]), ("v3.2", ["v", "3.2"]), ("3.10", ["3.10"]), ("sha256sum", ["sha", "256", "sum"]),
    ("utf8_2", ["utf", "8", "2"]), ("2026", ["2026"])])
def test_numbers_stand_apart_and_keep_their_points(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize("text, expected", [
    ("重", ["重"]), ("重试", ["重", "试"]), ("重试次数", ["重", "试", "次", "数"]), ("重试retry次", ["重", "试", "retry", "次"]),
    ("重试，次数", ["重", "试", "次", "数"]), ("重重重", ["重", "重", "重"]), ("ひらカナ", ["ひ", "ら", "カ", "ナ"]),
    ("한글", ["한", "글"]), ("getUser的值", ["get", "user", "的", "值"]), ("𠮷野", ["𠮷", "野"])])
def test_scripts_without_spaces_become_single_characters(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize("text", ["", " ", "___", "，。", "\u200b"])
def test_a_text_without_words_has_no_terms(text):
    assert code_tokens(text) == []


@pytest.mark.parametrize("one, other", [
    ("ＲＥＴＲＹ", "retry"), ("Größe", "GRÖSSE"), ("重\u200d试", "重试"), ("が", "か\u3099"), ("ガ", "ｶﾞ"), ("ガス", "ｶﾞｽ"),
    ("㍿", "株式会社"), ("각", "\u1100\u1161\u11a8")])
def test_what_compares_equal_by_the_one_rule_compares_equal_by_the_other(one, other):
    assert bigram_terms(one) == bigram_terms(other)
    assert terms(one) == terms(other)


# --- spans ------------------------------------------------------------------------------------------------------------

SOURCE = "def getUserName(user_id):  # 取用户名，失败重试3次\n    return HTTPServer.cache_v2[user_id]"


def test_spans_slice_back_to_the_words_as_they_are_written():
    spans = [(token.term, SOURCE[token.start:token.end]) for token in code_tokens(SOURCE)]
    assert spans[:6] == [("def", "def"), ("get", "get"), ("user", "User"), ("name", "Name"), ("user", "user"), ("id", "id")]
    assert all(written.lower() == term for term, written in spans)


PIECES = ["getUserName", "snake_case", "HTTPServer", "重试", "的", "3.10", "v2", " ", "\n",
          "，", "_", "é", "か", "한글", "😀", "\u200d", "X"]


@pytest.mark.parametrize("seed", range(40))
def test_spans_rise_and_do_not_overlap_and_each_slice_is_the_term_itself(seed):
    choose = random.Random(seed)
    text = "".join(choose.choices(PIECES, k=12))
    found = code_tokens(text)
    assert all(token.start < token.end <= len(text) for token in found)
    assert all(one.end <= other.start for one, other in zip(found, found[1:]))
    for token in found:
        assert text[token.start:token.end].replace("\u200d", "").lower() == token.term
