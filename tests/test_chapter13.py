"""Chapter 13: the worked fusion, the starved top 2 and its cure, two tenants, the walk on three points."""
import pytest
from test_cli import printed

from rag_lab import build_lab, fusion
from rag_lab.ann.graph import walk
from rag_lab.experiments import chapter13
from rag_lab.experiments.chapter13 import cut_then_filter

A, B, C, D = "私有A", "私有B", "公开C", "公开D"


def test_13_5_rrf_of_the_figure():
    expected = [("B", 1 / 62 + 1 / 61), ("A", 1 / 61 + 1 / 63), ("C", 1 / 63 + 1 / 62)]
    fused = fusion.rrf([["A", "B", "C"], ["B", "C", "A"]], 60)
    assert [one for one, _ in fused] == [one for one, _ in expected]
    assert [score for _, score in fused] == pytest.approx([score for _, score in expected], abs=1e-15)
    assert [round(score, 6) for _, score in fused] == [0.032522, 0.032266, 0.032002]


def test_13_5_what_one_list_repeats_counts_once():
    assert fusion.rrf([["a", "a", "b"]]) == [("a", 1 / 61), ("b", 1 / 62)]


def test_13_5_two_versions_under_one_name_stay_two():
    assert chapter13.rrf()["two_versions_stay_two"] == ["guide@1", "guide@2"]


def test_13_5_the_order_of_the_lists_does_not_matter():
    assert chapter13.rrf()["order_of_lists_matters"] is False


def test_13_2_what_the_chapter_says_of_bm25():
    assert list(chapter13.bm25().values()) == [True] * 5


def test_13_6_the_top_2_starves_and_filtering_first_cures_it():
    found = chapter13.starved_top_k()
    assert (found["ranking"], found["cut_then_filter"], found["filter_then_cut"]) == ([A, B, C, D], [], [C, D])


def test_13_6_recall_is_relative_to_what_the_caller_may_see():
    found = chapter13.starved_top_k()
    assert found["recall_of_allowed"] == {"cut_then_filter": 0.0, "filter_then_cut": 1.0}
    assert found["recall_of_everything"] == 0.5


def test_13_6_the_person_for_whom_they_are_kept_sees_them_and_others_do_not():
    assert chapter13.starved_top_k()["owner"] == [A, B]
    for flags, expected in (([], [C, D]), (["--principal", "lin"], [A, B]), (["--principal", "wang"], [C, D])):
        document = printed("--corpus", "acl", "--query", chapter13.QUERY, "--threshold", "0", *flags)
        assert [hit["doc_id"] for hit in document["results"]] == expected


def test_13_6_the_command_finds_c_and_d_with_its_defaults():
    document = printed("--corpus", "acl", "--query", chapter13.QUERY)
    assert [hit["doc_id"] for hit in document["results"]] == [C, D] and document["corpus"]["documents"] == 2


def test_13_6_rights_are_checked_again_at_the_output():
    assert chapter13.rechecked_at_output() == {"candidates": [C, D], "shown": [C]}


def test_13_6_a_hundred_documents_of_another_tenant_move_nothing():
    found = chapter13.other_tenant_grows()
    assert found["other_tenant_documents"] == [2, 102]
    assert [row["equal"] for row in found["callers"].values()] == [True, True]
    assert found["hidden_is_like_unknown"] == {"reader": True, "owner": True}


def test_13_6_an_index_that_does_not_ask_for_rights_does_move():
    assert chapter13.other_tenant_grows(1)["over_everything"] == {"equal": False}


def test_13_6_the_other_tenant_is_named_in_nothing_that_is_told():
    lab = build_lab("acl")
    lab.put(chapter13.neighbour(1))
    report = printed("--corpus", "acl", "--query", "青瓷仓库的盘点", "--hybrid", "--explain")
    assert (report["refused"], report["results"], report["channel_sizes"]["bm25"]) == (True, [], 0)
    assert {hit["doc_id"] for hit in report["top_candidates"]} <= {C, D}
    told = chapter13.told(lab, lab.scope).replace('"doc_id": "邻户E"', "").replace('"doc_id": "邻户-001"', "")   # as asked
    assert "邻户" not in told and "south" not in told and "青瓷仓库每月" not in told


def test_13_6_told_does_show_what_the_tenant_itself_changes():
    lab = build_lab("acl")
    before = chapter13.told(lab, lab.scope)
    lab.put(chapter13.neighbour(1)._replace(tenant="north"))
    assert chapter13.told(lab, lab.scope) != before


@pytest.mark.parametrize("k, expected", [(1, []), (2, []), (3, ["C"]), (4, ["C", "D"])])
def test_13_6_over_fetching_feeds_the_caller_only_once_it_is_large_enough(k, expected):
    assert cut_then_filter(["A", "B", "C", "D"], {"C": 1, "D": 1}, k) == expected


def test_13_4_the_greedy_walk_stops_at_a_and_one_worse_point_leads_to_c():
    walks = chapter13.graph_walk()
    assert (walks["greedy"]["best"], walks["greedy"]["distance"]) == ("A", 4)
    assert (walks["one_worse_kept"]["best"], walks["one_worse_kept"]["distance"], walks["exact"]) == ("C", 1, "C")
    assert walks["greedy"]["visited"] == ["A", "B"] and walks["one_worse_kept"]["visited"] == ["A", "B", "C"]


def test_13_4_a_budget_is_no_promise():
    """A second dead end, B at 6 behind X at 5: one worse point is not enough where two stand in the way."""
    positions, links = (4, 5, 6, 1), {0: (1,), 1: (0, 2), 2: (1, 3), 3: (2,)}   # A, X, B, C on the line; query 0
    found = [walk([0], links, [-at for at in positions], width)[0][0] for width in (1, 2, 3)]
    assert found == [0, 0, 3]


def test_13_every_listing_is_read_by_the_reproduction_and_agrees():
    rows = [row for row in printed("reproduce")["rows"] if row["chapter"] == "13"]
    assert len(rows) == 20 and all(row["equal"] for row in rows)
    assert {row["listing"] for row in rows} == set(chapter13.LISTINGS)
