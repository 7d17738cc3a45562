"""Reciprocal rank fusion: arithmetic, published fusions of other programs, ties, and what a whole search makes of it."""
import itertools
import json
import math
import os
import random
from fractions import Fraction

import pytest

from rag_lab import Settings, UsageError
from rag_lab.fusion import explain, ranks, rrf, rrf_part
from support import SHARED, document, lab_of


def folder(name: str) -> str:
    return os.path.join(SHARED, f"fusion-{name}")


def needs(name: str):
    return pytest.mark.skipif(not os.path.isdir(folder(name)), reason="the published fusions are not here")


def run_lists(path: str) -> dict[str, list[str]]:
    """Query -> ids by rank, of a TREC run file."""
    with open(path, encoding="utf-8") as file:
        rows = sorted((line.split() for line in file if line.strip()), key=lambda row: (row[0], int(row[3])))
    return {query: [row[2] for row in rows if row[0] == query] for query in dict.fromkeys(row[0] for row in rows)}


# --- arithmetic ---------------------------------------------------------------------------------------------------------

def test_ranks_count_from_one():
    assert ranks(["a", "b", "c"]) == {"a": 1, "b": 2, "c": 3} and ranks([]) == {}


def test_an_id_that_stands_twice_counts_once_at_its_best_place_and_the_rest_move_up():
    assert ranks(["a", "b", "a", "c", "b"]) == {"a": 1, "b": 2, "c": 3}


def test_what_a_list_adds_is_one_over_k_plus_rank():
    assert rrf_part(1) == 1 / 61 and rrf_part(3, k=1) == 1 / 4 and rrf_part(1, k=0) == 1.0


def test_the_sum_runs_over_the_lists_that_hold_the_id():
    assert rrf([["a", "b"], ["b", "c"]]) == [("b", pytest.approx(1 / 62 + 1 / 61)), ("a", 1 / 61), ("c", 1 / 62)]


def test_no_list_and_empty_lists_fuse_to_nothing():
    assert rrf([]) == rrf([[], []]) == []


def test_an_empty_list_beside_another_adds_nothing():
    assert rrf([["a", "b"], []]) == rrf([["a", "b"]]) == [("a", 1 / 61), ("b", 1 / 62)]


def test_a_list_may_be_given_as_any_sequence_and_the_lists_as_any_iterable():
    assert rrf(iter([("a", "b"), ["b"]])) == rrf([["a", "b"], ["b"]])


@pytest.mark.parametrize("k", [-1, 1.5, "60", True, None])
def test_a_k_below_zero_or_no_whole_number_is_refused(k):
    with pytest.raises(UsageError, match="k is .*whole number of at least 0"):
        rrf([["a"]], k)


def test_sums_equal_exact_fractions():
    for seed in range(200):
        choose = random.Random(seed)
        lists = [choose.sample("abcdefgh", choose.randint(0, 8)) for _ in range(choose.randint(1, 4))]
        k = choose.choice([0, 1, 60])
        exact = {}
        for ranked in lists:
            for rank, doc_id in enumerate(ranked, start=1):
                exact[doc_id] = exact.get(doc_id, 0) + Fraction(1, k + rank)
        fused = rrf(lists, k)
        assert dict(fused) == pytest.approx({doc_id: float(total) for doc_id, total in exact.items()}, rel=1e-15)
        assert [doc_id for doc_id, _ in fused] == sorted(exact, key=lambda doc_id: (-exact[doc_id], doc_id))


def test_the_order_of_the_lists_moves_nothing():
    for seed in range(100):
        choose = random.Random(seed)
        lists = [choose.sample("abcdefgh", choose.randint(0, 8)) for _ in range(4)]
        assert all(rrf(order) == rrf(lists) for order in itertools.permutations(lists))


# --- published fusions --------------------------------------------------------------------------------------------------

@needs("elasticsearch-docs")
def test_the_example_of_elasticsearchs_documentation():
    with open(os.path.join(folder("elasticsearch-docs"), "expected.json"), encoding="utf-8") as file:
        case = json.load(file)
    fused = rrf([[doc_id for doc_id, _ in ranked["hits"]] for ranked in case["lists"]], case["rank_constant"])
    assert dict(fused) == pytest.approx(case["fused"], abs=1e-6) and [doc_id for doc_id, _ in fused] == case["order"]


@needs("anserini")
def test_fused_scores_equal_those_of_anserini():
    with open(os.path.join(folder("anserini"), "expected.json"), encoding="utf-8") as file:
        cases = [case for case in json.load(file) if case["options"]["method"] == "rrf"]
    assert cases
    for case in cases:
        runs = [run_lists(os.path.join(folder("anserini"), "runs", name)) for name in case["runs"]]
        expected = {}
        for query, _, doc_id, _, score, _ in map(str.split, case["expected_trec"]):
            expected.setdefault(query, {})[doc_id] = float(score)
        for query, scores in expected.items():
            fused = dict(rrf([run.get(query, []) for run in runs], int(case["options"]["rrf_k"])))
            assert fused == pytest.approx(scores, abs=5.1e-7)   # printed to six places


@needs("ranx")
def test_fused_scores_equal_those_of_ranx():
    with open(os.path.join(folder("ranx"), "fusion.json"), encoding="utf-8") as file:
        (case,) = [case for case in json.load(file) if case["function"] == "rrf"]
    runs = case["args"][0]
    for row in case["expected"]:
        query, doc_id = row["path"]
        lists = [sorted(run.get(query, {}), key=lambda one: -run[query][one]) for run in runs]
        assert dict(rrf(lists))[doc_id] == pytest.approx(row["value"], rel=1e-14)


@needs("pyserini")
def test_fused_scores_equal_those_of_pyserini_where_its_rank_column_has_no_gap():
    runs = [run_lists(os.path.join(folder("pyserini"), f"simple_trec_run_fusion_{number}.txt")) for number in (1, 2)]
    with open(os.path.join(folder("pyserini"), "simple_trec_run_rrf_verify.txt"), encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip()]
    for query, _, doc_id, _, score, _ in rows:
        if doc_id != "2054tkb7":   # at rank 3 of a list of two: 1/62 + 1/63 there, 1/62 + 1/62 by position
            assert dict(rrf([run.get(query, []) for run in runs]))[doc_id] == pytest.approx(float(score), rel=1e-14)


# --- cases --------------------------------------------------------------------------------------------------------------

def test_b052_a_document_missing_from_a_list_gets_nothing_from_it():
    fused = rrf([["x", "a", "y"], ["b", "c", "y"]])
    assert fused == [("y", pytest.approx(2 / 63)), ("b", 1 / 61), ("x", 1 / 61), ("a", 1 / 62), ("c", 1 / 62)]


def test_b053_ranks_start_at_one_not_at_zero():
    assert rrf([["p", "q"], ["n", "q"]], k=1) == [("q", pytest.approx(2 / 3)), ("n", 1 / 2), ("p", 1 / 2)]


@pytest.mark.parametrize("wrong", [4, None, ("a",), b"a", 4.0])
def test_b055_an_id_that_is_no_string_is_refused_rather_than_kept_apart(wrong):
    with pytest.raises(UsageError, match="is not a string"):
        rrf([["4"], [wrong]])


def test_b055_a_document_that_both_channels_find_is_one_result_with_two_contributions():
    outcome = lab_of(document("4", "退款多久到账"), document("5", "别的事情")).search("退款到账", hybrid=True, explain=True, threshold=0)
    (hit,) = [hit for hit in outcome.results if hit.candidate.doc_id == "4"]
    assert hit.candidate.ranks == {"bm25": 1, "dense": 1}
    assert hit.explanation["rrf"]["score"] == hit.candidate.score == pytest.approx(1 / 61 + 1 / 61)
    assert [row["part"] for row in hit.explanation["rrf"]["parts"]] == [1 / 61, 1 / 61]


def test_b056_equal_sums_stand_in_id_order():
    assert rrf([["d2"], ["d1"]]) == [("d1", 1 / 61), ("d2", 1 / 61)]
    assert [doc_id for doc_id, _ in rrf([["\U00020bb7"], ["\uff5e"], ["b"], ["B"], ["10"], ["9"]])] == [
        "10", "9", "B", "b", "\uff5e", "\U00020bb7"]


@pytest.mark.parametrize("one, other", [
    # 1/63 + 1/140 = 203/8820 = 29/1260 and 1/84 + 1/90 = 174/7560 = 29/1260
    ((3, 80), (24, 30)),
    # 1/65 + 1/117 = 182/7605 = 14/585 and 1/78 + 1/90 = 168/7020 = 14/585
    ((5, 57), (18, 30)),
    # 1/66 + 1/99 = 165/6534 = 5/198 and 1/72 + 1/88 = 160/6336 = 5/198
    ((6, 39), (12, 28)),
    # 1/70 + 1/126 = 1/72 + 1/120 = 1/90 + 1/90 = 1/45
    ((10, 66), (30, 30)), ((12, 60), (30, 30))])
def test_b056_sums_that_are_equal_as_fractions_tie_though_their_ranks_differ(one, other):
    lists = [[f"filler-{at}-{rank}" for rank in range(1, 101)] for at in range(2)]
    for ranked, a_rank, z_rank in zip(lists, one, other):
        ranked[a_rank - 1], ranked[z_rank - 1] = "z", "a"   # z gets the ranks `one`, a the ranks `other`
    scores = dict(rrf(lists))
    fused = [doc_id for doc_id in scores if doc_id in "az"]
    assert scores["a"] == scores["z"] and fused == ["a", "z"]


def test_b058_swapping_the_channels_changes_no_fused_row():
    keyword, vector = ["d1", "d2", "d3"], ["d3", "d1", "d4"]
    assert rrf([keyword, vector]) == rrf([vector, keyword])


def test_b058_what_a_result_shows_comes_from_the_document_not_from_a_channel():
    lab = lab_of(document("a", "退款到账。退款多久？"), document("b", "退款说明。"))
    for options in ({"hybrid": False}, {"hybrid": True}):
        (hit,) = [hit for hit in lab.search("退款多久", threshold=0, **options).results if hit.candidate.doc_id == "a"]
        assert hit.citation.quote == "退款多久？"


def test_b059_a_single_hit_keeps_a_score_above_zero():
    assert rrf([["only"]]) == [("only", 1 / 61)]


def test_b059_equal_scores_of_a_channel_stay_equal_and_above_zero():
    (one, other) = lab_of(document("a", "退款"), document("b", "退款")).search("退款").results
    assert one.candidate.score == other.candidate.score > 0


def test_b061_the_threshold_is_compared_with_the_support_and_not_with_fused_scores():
    outcome = lab_of(document("a", "退款多久到账")).search("退款多久", hybrid=True, threshold=0.3)
    assert outcome.results[0].candidate.score == pytest.approx(2 / 61) and 2 / 61 < 0.3   # and yet:
    assert outcome.decision == "answer" and outcome.best_support == 1.0


@pytest.mark.parametrize("threshold", [1.01, -0.01, 30, math.nan, math.inf, "0.3", None, True])
def test_b061_a_threshold_that_no_support_can_have_is_a_usage_error(threshold):
    with pytest.raises(UsageError, match="threshold is .*between 0 and 1"):
        Settings(threshold=threshold)


@pytest.mark.parametrize("rerank", [False, True])
def test_b062_the_threshold_is_met_in_the_scale_that_is_shown(rerank):
    lab = lab_of(document("a", "退款"), document("b", "申请多久到账"))
    for threshold in (0.0, 0.2, 0.25, 0.26, 0.5, 0.75, 0.76, 1.0):
        outcome = lab.search("退款申请多久", rerank=rerank, threshold=threshold)   # known: 退款, 申请, 请多, 多久: a 1/4, b 3/4
        shown = [hit.candidate.parts.support for hit in outcome.results or outcome.closest]
        assert outcome.best_support == max(shown) == 0.75
        assert outcome.refused == (0.75 < threshold)


def test_b064_two_middling_ranks_beat_one_first_rank():
    fused = rrf([["a", "b", "d"], ["e", "c", "d"]])
    assert fused[0] == ("d", pytest.approx(1 / 63 + 1 / 63)) and dict(fused)["e"] == 1 / 61 < 2 / 63


# --- explain ------------------------------------------------------------------------------------------------------------

def test_the_explained_parts_are_those_of_the_ranks_and_sum_to_the_score():
    told = explain({"bm25": 3, "dense": 2})
    assert told["k"] == 60 and told["score"] == pytest.approx(1 / 63 + 1 / 62) and told["parts"] == [
        {"channel": "bm25", "rank": 3, "part": 1 / 63}, {"channel": "dense", "rank": 2, "part": 1 / 62}]


def test_the_explained_score_is_the_fused_score():
    for seed in range(100):
        choose = random.Random(seed)
        lists = [choose.sample("abcdefgh", choose.randint(0, 8)) for _ in range(3)]
        for doc_id, score in rrf(lists, k=7):
            places = {f"list{at}": ranked.index(doc_id) + 1 for at, ranked in enumerate(lists) if doc_id in ranked}
            told = explain(places, k=7)
            parts = math.fsum(row["part"] for row in told["parts"])
            assert told["score"] == pytest.approx(score, rel=1e-15) and parts == pytest.approx(score, abs=1e-12)


def test_a_document_in_no_list_is_explained_with_zero():
    assert explain({}) == {"score": 0.0, "k": 60, "parts": []}
