"""BM25: the formula, published scores of other programs, a plain scorer over random corpora, and the statistics."""
import itertools
import json
import math
import os
import tracemalloc
from collections import Counter

import pytest

from rag_lab import UsageError
from rag_lab.bm25 import Bm25, idf, saturation
from rag_lab.text import iter_terms, terms
from support import SHARED, document, found, lab_of, plain_bm25, random_query, random_units

PUBLISHED = os.path.join(SHARED, "bm25-scores")
needs_published = pytest.mark.skipif(not os.path.isdir(PUBLISHED), reason="the published scores are not here")
SETTINGS = [(1.2, 0.75), (0.9, 0.4), (0, 0.5), (2.0, 0.0), (1.2, 1.0)]


def words_index(units, **settings) -> Bm25:
    """An index over units of words with white space between them."""
    return Bm25(dict(units).items(), analyze=str.split, **settings)


def texts_index(*texts: str) -> Bm25:
    return Bm25([(f"d{number}", terms(text)) for number, text in enumerate(texts, start=1)])


def published(name: str) -> list:
    if not os.path.isdir(PUBLISHED):
        return []
    with open(os.path.join(PUBLISHED, name), encoding="utf-8") as file:
        return json.load(file)


# --- the formula ----------------------------------------------------------------------------------------------------

def test_idf_is_the_logarithm_of_one_plus_the_odds_of_absence():
    assert idf(30, 1) == pytest.approx(math.log(1 + 29.5 / 1.5)) == pytest.approx(math.log(31 / 1.5))


def test_idf_is_positive_even_for_a_term_of_every_unit():
    assert all(idf(n, df) > 0 for n in range(1, 50) for df in range(n + 1))


def test_idf_falls_as_more_units_hold_the_term():
    assert all(idf(40, df) > idf(40, df + 1) for df in range(40))


def test_one_occurrence_in_a_unit_of_average_length_counts_one():
    assert saturation(1, 10, 10.0, k1=1.2, b=0.75) == pytest.approx(1 * 2.2 / (1 + 1.2))


def test_saturation_stays_below_k1_plus_one():
    shares = [saturation(tf, 10, 10.0, k1=1.2, b=0.75) for tf in (0, 1, 2, 10, 10_000)]
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] < 2.2


def test_saturation_counts_longer_units_less_unless_b_is_zero():
    assert saturation(1, 20, 10.0, k1=1.2, b=0.75) == pytest.approx(2.2 / (1 + 1.2 * (0.25 + 0.75 * 2)))
    assert saturation(1, 20, 10.0, k1=1.2, b=0.0) == saturation(1, 5, 10.0, k1=1.2, b=0.0)


def test_a_score_worked_out_by_hand():
    index = words_index({"d1": ["x", "x", "y"], "d2": ["y"], "d3": ["z", "z"]})   # N 3, avgdl (3 + 1 + 2) / 3 = 2
    x = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5)) * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2))
    y1 = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5)) * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 3 / 2))
    y2 = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5)) * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / 2))
    assert index.search("x y") == [("d1", pytest.approx(x + y1)), ("d2", pytest.approx(y2))]


# --- published scores -------------------------------------------------------------------------------------------------

LUCENE_IDF = "log(1 + (N - n + 0.5)/(n + 0.5))"
CASES = [case for case in published("cases.json") if case["formula"].startswith(LUCENE_IDF)]
WEIGHTS = [(weight, row) for weight in published("term-weights.json") if weight["idf"] == LUCENE_IDF
           for row in weight["rows"]]


@needs_published
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_scores_equal_those_that_other_programs_published(case):
    scale = 1 if case["formula"].endswith("(k1 + 1)") else case["k1"] + 1
    index = words_index(case["documents"], k1=case["k1"], b=case["b"])
    scores = dict(index.search(" ".join(case["query"]), k=None))
    for unit_id, expected in case.get("with_exact_lengths", case["expected"]).items():
        assert scores[unit_id] == pytest.approx(scale * expected, abs=scale * case["tolerance"])


@needs_published
@pytest.mark.parametrize("weight, row", WEIGHTS, ids=[f"{weight['id']}-{at}" for at, (weight, _) in enumerate(WEIGHTS)])
def test_weights_of_single_terms_equal_those_that_other_programs_published(weight, row):
    share = saturation(row["f"], row.get("dl_stored", row["dl"]), row["avgdl"], weight["k1"], weight["b"])
    assert idf(row["N"], row["n"]) * share == pytest.approx(row["score"], abs=weight["tolerance"])


@needs_published
def test_the_published_order_is_our_order():
    for case in CASES:
        index = words_index(case["documents"], k1=case["k1"], b=case["b"])
        ours = [unit_id for unit_id, _ in index.search(" ".join(case["query"]), k=None) if unit_id in case["expected"]]
        assert ours == sorted(case["expected"], key=lambda unit_id: (-round(case["expected"][unit_id], 7), unit_id))


# --- a plain scorer -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("k1, b", SETTINGS)
def test_scores_equal_a_plain_scorer(k1, b):
    for seed in range(200):
        units, query = random_units(seed), random_query(seed)
        results = words_index(units, k1=k1, b=b).search(query, k=None)
        assert dict(results) == pytest.approx(plain_bm25(units, query.split(), k1, b), rel=1e-12, abs=1e-12)


def test_the_order_equals_that_of_a_plain_scorer():
    for seed in range(200):
        units, query = random_units(seed), random_query(seed)
        plain = plain_bm25(units, query.split())
        ours = [unit_id for unit_id, _ in words_index(units).search(query, k=None)]
        assert ours == sorted(plain, key=lambda unit_id: (-round(plain[unit_id], 11), unit_id))


def test_explained_rows_are_the_formulas_factors():
    units = {"d1": ["x", "x", "y"], "d2": ["y"], "d3": []}
    told = words_index(units).explain("y x x z", "d1")
    assert (told["n"], told["avgdl"], told["length"]) == (3, pytest.approx(4 / 3), 3)
    assert [(row["term"], row["count"], row["tf"], row["df"]) for row in told["terms"]] == [
        ("y", 1, 1, 2), ("x", 2, 2, 1), ("z", 1, 0, 0)]
    for row in told["terms"]:
        assert row["idf"] == idf(3, row["df"])
        assert row["saturation"] == pytest.approx(row["tf"] * 2.2 / (row["tf"] + 1.2 * (0.25 + 0.75 * 3 / (4 / 3))))
        assert row["part"] == pytest.approx(row["count"] * row["idf"] * row["saturation"])


# --- statistics of the live units ---------------------------------------------------------------------------------------

def statistics(index: Bm25) -> tuple:
    return index.n, index.total_tokens, index.avgdl, index.vocabulary_size


def test_statistics_are_counts_of_the_units():
    index = words_index({"a": ["x", "x", "y"], "b": [], "c": ["z"]})
    assert statistics(index) == (3, 4, 4 / 3, 3)


def test_statistics_of_nothing_are_zero():
    assert statistics(words_index({})) == (0, 0, 0.0, 0)
    assert statistics(words_index({"a": ["x"]}).over([])) == (0, 0, 0.0, 0)


def test_statistics_of_a_restricted_index_equal_those_of_one_that_never_held_the_rest():
    for seed in range(200):
        units = random_units(seed)
        live = dict(list(units.items())[::2])
        assert statistics(words_index(units).over(live)) == statistics(words_index(live))


def test_statistics_asked_for_before_a_deletion_do_not_outlive_it():
    index = words_index({"a": ["x", "y"], "b": ["z"]})
    assert statistics(index) == (2, 3, 1.5, 3)
    assert statistics(index.over(["b"])) == (1, 1, 1.0, 1)
    assert statistics(index.over(["b"]).over(["a", "b"])) == (2, 3, 1.5, 3)


def test_known_terms_are_those_that_a_live_unit_holds_once_each_in_query_order():
    index = words_index({"a": ["x", "y"], "b": ["z"]})
    assert index.known(["z", "q", "x", "z"]) == ["z", "x"]
    assert index.over(["a"]).known(["z", "q", "x", "z"]) == ["x"]


def test_a_hidden_unit_moves_no_score():
    index = words_index({"a": ["x", "y"], "b": ["x"], "c": ["x"] * 50})
    y, x = math.log(1 + 1.5 / 1.5), math.log(1 + 0.5 / 2.5)   # N 2: df(y) 1, df(x) 2; c would make it N 3, df(x) 3
    share = 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 1.5))         # length 2, avgdl (2 + 1) / 2
    assert index.over(["a", "b"]).search("x y", k=1) == [("a", pytest.approx((x + y) * share))]


@pytest.mark.parametrize("k1", [-0.1, math.nan, math.inf, 1e308, 10 ** 400, "1.2", None])
def test_a_k1_below_zero_or_no_number_or_beyond_reckoning_is_refused(k1):
    with pytest.raises(UsageError, match="k1 is .*at least 0"):
        Bm25([], k1=k1)


@pytest.mark.parametrize("b", [-0.1, 1.1, math.nan, "0.75", None])
def test_a_b_outside_zero_to_one_is_refused(b):
    with pytest.raises(UsageError, match="b is .*between 0 and 1"):
        Bm25([], b=b)


# --- cases --------------------------------------------------------------------------------------------------------------

def test_b031_two_documents_are_enough_to_find_one():
    ((found_id, score),) = texts_index("红茶 报价", "绿茶 库存").search("红茶")
    assert found_id == "d1" and score == pytest.approx(math.log(1 + 1.5 / 1.5))   # N 2, df 1, lengths equal: share 1


def test_b031_a_third_unrelated_document_changes_no_winner():
    assert [unit_id for unit_id, _ in texts_index("红茶 报价", "绿茶 库存", "会议 纪要").search("红茶")] == ["d1"]


def test_b032_a_term_of_every_document_adds_and_never_takes_away():
    index = texts_index("公司 通知", "公司 年会", "公司 制度")
    assert [unit_id for unit_id, _ in index.search("公司 年会")] == ["d2", "d1", "d3"]
    assert all(row["part"] >= 0 for unit_id in index.ids for row in index.explain("公司 年会", unit_id)["terms"])


@pytest.mark.parametrize("texts", [("", "   ", "。。。"), ("",), ("\u200b", "\n")])
def test_b034_a_corpus_of_empty_texts_has_no_hits_and_no_tokens(texts):
    index = texts_index(*texts)
    assert index.search("合同") == [] and index.total_tokens == 0 and index.avgdl == 0


def test_b035_an_empty_text_is_never_a_hit():
    assert found("合同", "", "合同 编号") == ["合同 编号"]


@pytest.mark.parametrize("query", ["retry?", "（retry）", "“retry”", "RETRY！", "retry\u200b", "ｒｅｔｒｙ", "- retry -"])
def test_b041_punctuation_around_a_query_changes_no_score(query):
    index = texts_index("设置 retry 次数", "设置 次数", "retry retry")
    assert index.search(query) == index.search("retry") != []


@pytest.mark.parametrize("query", ["", "   ", "？！", "\u200b", "\ufe0f", "\n"])
def test_b040_a_query_without_usable_terms_finds_nothing(query):
    assert texts_index("红茶", "绿茶", "").search(query) == []


def test_b043_a_query_of_20000_different_words_is_answered_like_the_one_known_word_in_it():
    index = texts_index("w7 alpha", "beta")
    query = " ".join(f"w{number}" for number in range(20_000))
    assert index.search(query) == index.search("w7") != []


def test_b044_a_long_text_is_counted_without_a_list_of_its_tokens():
    text = "retry 退款 3.2 " * 20_000
    tracemalloc.start()
    counts = Counter(iter_terms(text))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts == {"retry": 20_000, "退款": 20_000, "3.2": 20_000}
    assert peak < 12 * len(text)   # a list of the 60,000 tokens alone would take over 50 bytes for each: 3 MB


def test_b046_replacing_a_document_leaves_the_scores_of_a_fresh_build():
    lab = lab_of(document("a", "old " * 10_000), document("b", "new word"))
    lab.search("new")
    lab.put(document("a", "new text of few words here and there to read"))
    fresh = lab_of(*lab.catalog.documents)
    assert statistics(lab.bm25) == statistics(fresh.bm25) == (2, 12, 6.0, 11)   # "new" stands in both
    assert lab.bm25.search("new word") == fresh.bm25.search("new word")
    assert lab.search("new word") == fresh.search("new word")


def test_statistics_after_a_deletion_are_those_of_a_fresh_build_though_they_were_asked_before():
    lab = lab_of(document("a", "xx yy"), document("b", "zz"))
    assert lab.search("zz").statistics["terms"] == 3
    lab.delete("a")
    assert lab.search("zz").statistics["terms"] == lab_of(document("b", "zz")).search("zz").statistics["terms"] == 1


def test_scores_stay_finite_for_very_long_and_very_uneven_texts():
    index = words_index({"a": ["x"] * 100_000, "b": ["x"], "c": ["y"]})
    for _, score in itertools.chain(index.search("x"), index.search("y")):
        assert 0 < score < math.inf
