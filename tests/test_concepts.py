"""Concept vectors: which phrases stand for what, cosines by hand, and what the hand-made table misses."""
import math

import pytest

from rag_lab.concepts import CONCEPTS, Concepts, concepts_of, phrases_of


@pytest.mark.parametrize("text, expected", [
    ("公司登录还能照旧吗", [("sign-in", "公司登录"), ("keep-as-is", "还能"), ("keep-as-is", "照旧")]),
    ("SAML 单点登录", [("sign-in", "saml"), ("sign-in", "单点登录")]),
    ("登录方式", [("sign-in", "登录方式")]),                              # the longer phrase, not 登录 in it
    ("升级后删除成员", [("upgrade", "升级"), ("removal", "删除"), ("members", "成员")]),
    ("桌面客户端", [("client", "桌面客户端")]), ("429", [("api-error", "429")]), ("", []), ("今天天气", [])])
def test_the_phrases_of_a_text_stand_in_order_and_the_longer_wins(text, expected):
    assert phrases_of(text) == expected


@pytest.mark.parametrize("text", ["teamwork", "steam", "saml2", "x429", "4290", "ssoteam"])
def test_an_english_phrase_is_a_whole_word(text):
    assert phrases_of(text) == []


@pytest.mark.parametrize("text", ["SAML", "saml", "ＳＡＭＬ", "SA\u200bML", "用SAML吗"])
def test_letter_case_width_and_what_cannot_be_seen_do_not_matter(text):
    assert concepts_of(text) == ["sign-in"]


def test_repeats_are_kept():
    assert concepts_of("删除、删除、移除") == ["removal"] * 3


def test_every_phrase_stands_for_one_concept():
    phrases = [phrase for group in CONCEPTS.values() for phrase in group]
    assert len(set(phrases)) == len(phrases)
    assert all(concepts_of(phrase) == [concept] for concept, group in CONCEPTS.items() for phrase in group)


# --- cosines ------------------------------------------------------------------------------------------------------------

UNITS = [("a", "SAML 单点登录"),        # sign-in 2
         ("b", "升级后继续使用 SAML"),   # upgrade 1, keep-as-is 1, sign-in 1
         ("c", "删除成员"),             # removal 1, members 1
         ("d", "今天天气")]             # nothing


@pytest.mark.parametrize("query, expected", [
    ("公司登录还能照旧吗", {"a": 1 * 2 / (math.sqrt(1 + 4) * 2), "b": (1 * 1 + 2 * 1) / (math.sqrt(1 + 4) * math.sqrt(3))}),
    ("SSO", {"a": 1.0, "b": 1 / math.sqrt(3)}),
    ("人太多会踢出同事吗", {"c": (2 * 1 + 1 * 1) / (math.sqrt(4 + 1) * math.sqrt(2))}),   # members 2, removal 1
    ("限流", {}), ("今天天气", {}), ("", {})])
def test_a_cosine_is_that_of_the_concept_counts(query, expected):
    assert dict(Concepts(UNITS).search(query, None)) == pytest.approx(expected)


def test_best_first_and_equal_ones_by_id():
    units = [("b", "SAML"), ("c", "SAML 升级"), ("a", "SAML OIDC")]   # 1, 1 / sqrt(2), 2 / sqrt(4)
    assert [unit_id for unit_id, _ in Concepts(units).search("登录")] == ["a", "b", "c"]


def test_other_words_for_the_same_thing_are_found_without_a_shared_character():
    assert Concepts([("a", "SAML")]).search("身份认证") == [("a", 1.0)]


def test_everyday_english_is_missed():
    assert Concepts(UNITS).search("Can my coworkers still sign in the old way after the upgrade?") == []


def test_an_explanation_names_the_phrases_of_the_query_and_its_parts_sum_to_the_cosine():
    told = Concepts(UNITS).explain("公司登录还能照旧吗", "b")
    norm = math.sqrt(5) * math.sqrt(3)
    assert told["features"] == [
        {"feature": "sign-in", "from": ["公司登录"], "query": 1, "unit": 1, "part": pytest.approx(1 / norm)},
        {"feature": "keep-as-is", "from": ["还能", "照旧"], "query": 2, "unit": 1, "part": pytest.approx(2 / norm)}]
    assert told["score"] == pytest.approx(3 / norm)
    assert (told["query_norm"], told["unit_norm"]) == (pytest.approx(math.sqrt(5)), pytest.approx(math.sqrt(3)))


def test_a_query_without_a_concept_is_not_usable():
    assert Concepts(UNITS).usable("登录") and not Concepts(UNITS).usable("今天天气")
