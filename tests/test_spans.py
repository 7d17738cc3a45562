"""Tokens and their spans in the text as it was given."""
import pytest
from test_text import random_texts

from rag_lab.spans import Token, tokens
from rag_lab.text import iter_terms, terms


def test_a_token_keeps_its_span_in_the_text_as_given():
    assert tokens("看 Ｐ０！") == [Token("看", 0, 1), Token("p0", 2, 4)]


def test_terms_are_those_of_the_tokens_in_order():
    for text in random_texts(1500):
        assert terms(text) == [token.term for token in tokens(text)] == list(iter_terms(text))


def test_spans_stay_inside_the_text_and_rise():
    for text in random_texts(1500):
        spans = [(token.start, token.end) for token in tokens(text)]
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert [start for start, _ in spans] == sorted(start for start, _ in spans)


def test_the_slice_of_a_token_holds_that_token():
    for text in random_texts(1500):
        for token in tokens(text):
            assert token.term in terms(text[token.start:token.end])


def test_the_slice_of_a_word_is_that_word_and_nothing_else():
    text = "Straße oﬃce ５㎏ v3.2 re\u200btry CAFE\u0301 10.0.1 ﾊﾞ"
    for token in tokens(text):
        assert terms(text[token.start:token.end]) == [token.term]


def test_neighbouring_pairs_share_one_character():
    assert tokens("数据库") == [Token("数据", 0, 2), Token("据库", 1, 3)]


def test_b011_a_span_after_forms_that_fold_to_more_characters_is_not_shifted():
    text = "净重 5㎏，ﬁnal 版本在此"   # 净0 重1 _2 5:3 ㎏4 ，5 ﬁ6 n7 a8 l9 _10 版11 本12
    (token,) = [token for token in tokens(text) if token.term == "版本"]
    assert (token.start, token.end, text[token.start:token.end]) == (11, 13, "版本")


@pytest.mark.parametrize("text, expected", [
    ("㎏", [("kg", 0, 1)]), ("①②", [("12", 0, 2)]), ("½升", [("1", 0, 1), ("2", 0, 1), ("升", 1, 2)]), ("℡5", [("tel5", 0, 2)]),
    ("㍿", [("株式", 0, 1), ("式会", 0, 1), ("会社", 0, 1)]), ("x…y", [("x", 0, 1), ("y", 2, 3)]), ("ﬃx", [("ffix", 0, 2)]),
    ("⒈5", [("1.5", 0, 2)]), ("e\u0301t", [("\u00e9t", 0, 3)]), ("\u1112\u1161\u11ab", [("한", 0, 3)])])
def test_b011_a_character_that_folds_to_several_is_never_cut(text, expected):
    assert tokens(text) == [Token(*row) for row in expected]


def test_b013_a_span_holds_the_voice_mark_with_its_letter():
    assert tokens("ﾊﾞｯｸ") == [Token("バッ", 0, 3), Token("ック", 2, 4)]   # ﾊ0 ﾞ1 ｯ2 ｸ3
