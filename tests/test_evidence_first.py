"""Seed 004, evidence before answer: four documents, and each worked example under the heading of its section."""
from fractions import Fraction

import pytest
from test_cli import printed

from rag_lab import build_lab, diagnosis, fusion
from rag_lab.experiments import evidence_first
from rag_lab.experiments.evidence_first import SETUPS, questions_of


@pytest.fixture(scope="module")
def diagnosed() -> dict:
    return printed("diagnose")


def row(document: dict, setup: str, question_id: str) -> dict:
    (found,) = [one for one in document["setups"] if one["setup"] == setup]
    return next(one for one in found["questions"] if one["question_id"] == question_id)


def unmet(question: dict) -> list[str]:
    return [slot["slot_id"] for slot in question["slots"] if not slot["met"]]


# --- 先建立一个会出错的小语料 -----------------------------------------------------------------------------------------

def test_small_corpus_the_table_of_the_four_documents():
    assert [list(one.values()) for one in evidence_first.corpus_table()["rows"]] == [
        ["D1", "A", "2.0"], ["D2", "A", "2.0"], ["D3", "B", "1.0"], ["D4", "B", "2.0"]]


@pytest.mark.parametrize("doc_id, words", [
    ("D1", ["默认", "只在内存", "调度任务", "丢失的风险"]), ("D2", ["前提是已经启用数据库", "恢复", "按任务 ID 去重"]),
    ("D3", ["B 1.0", "内存", "不能", "代表 B 2.0"]), ("D4", ["持久化状态，再确认接收", "可能重投"])])
def test_small_corpus_each_document_says_what_the_table_says(doc_id, words):
    text = build_lab("scheduler").docs[doc_id].text
    assert [word for word in words if word not in text] == []


def test_small_corpus_d3_comes_first_for_b_2_0_unless_the_version_is_asked_for(diagnosed):
    without, with_version = row(diagnosed, "slots-without-versions", "state-b"), row(diagnosed, "slots", "state-b")
    assert ([one["doc_id"] for one in without["passages"]], without["mismatched"]) == (["D3"], ["D3"])
    assert ([one["doc_id"] for one in with_version["passages"]], with_version["mismatched"]) == (["D4"], [])


def test_small_corpus_d3_serves_b_2_0_at_no_k():
    lab = build_lab("scheduler")
    for question in questions_of():
        for found in diagnosis.run_plan(lab, diagnosis.slot_by_slot(question, 7)):
            served = {one.doc_id for one in found.candidates}
            assert found.search.product_version == "1.0" or "D3" not in served
            assert diagnosis.mismatched(found.search, found.candidates, lab.docs) == ()


def test_small_corpus_two_versions_in_one_question_take_a_scope_for_each_slot(diagnosed):
    question = row(diagnosed, "slots", "change-b")
    assert [one["doc_id"] for one in question["passages"]] == ["D3", "D4"] and unmet(question) == []


def test_small_corpus_the_product_counts_as_well_as_the_version():
    """Version 2.0 alone lets A through for B; product and version together leave D4."""
    lab = build_lab("scheduler")
    (slot,) = next(one for one in questions_of() if one.question_id == "state-b").slots
    plans = [diagnosis.slot_by_slot(diagnosis.Question("q", "q", "w", (one,), (), "o"), 7)
             for one in (slot._replace(product=None), slot)]
    served = [list(dict.fromkeys(c.doc_id for c in diagnosis.run_plan(lab, plan)[0].candidates)) for plan in plans]
    assert served == [["D4", "D2", "D1"], ["D4"]]


# --- 召回目标不是单一关键词 -------------------------------------------------------------------------------------------

def test_one_keyword_covers_the_first_group_and_slots_cover_both(diagnosed):
    assert unmet(row(diagnosed, "one-query", "recovery-a")) == ["a-repeat"]
    assert unmet(row(diagnosed, "slots", "recovery-a")) == []


def test_a_reranker_cannot_bring_back_what_was_not_recalled():
    lab = build_lab("scheduler")
    question = next(one for one in questions_of() if one.question_id == "recovery-a")
    found = diagnosis.run_plan(lab, diagnosis.one_query(question, 3), rerank=True)
    assert diagnosis.substitute(lab, question, found, diagnosis.careful).verdict == "recall"


# --- 排序融合怎样避免错误尺度相加 ---------------------------------------------------------------------------------------

def test_rrf_of_d1_d2_d4():
    fused = fusion.rrf([["D1", "D2"], ["D2", "D4"]], 60)
    assert fused == [("D2", float(Fraction(1, 62) + Fraction(1, 61))), ("D1", 1 / 61), ("D4", 1 / 62)]
    assert evidence_first.rrf()["sums"] == {"D1": "1/61", "D2": "1/62 + 1/61", "D4": "1/62"}


def test_rrf_lets_d3_win_if_it_stands_in_both_lists():
    assert evidence_first.rrf()["with_d3_in_both"][0] == "D3"


def test_no_score_flows_into_the_answer(diagnosed):
    for setup in diagnosed["setups"]:
        for question in setup["questions"]:
            assert list(question["answer"]) == ["claims", "to_verify"]
            assert not any("score" in key for one in question["passages"] for key in one)


# --- 切块单位要与证据单位一致 -------------------------------------------------------------------------------------------

def test_recovery_and_its_duty_stand_in_two_chunks_of_d2():
    lab = build_lab("scheduler")
    held = [diagnosis.read(lab, [one])[0].fact_ids for one, chunk in lab.chunks.by_id.items() if chunk.doc_id == "D2"]
    assert held == [("a2-recovers", "a2-needs-database"), ("a2-dedupe",)]


def test_a_larger_window_holds_every_condition_and_costs_more(diagnosed):
    rows = {unit: [one for one in diagnosed["windows"] if one["unit"] == unit] for unit in diagnosis.UNITS}
    for found in rows.values():
        assert [one["missing"] for one in found] == sorted((one["missing"] for one in found), reverse=True)
        assert [one["code_points"] for one in found] == sorted(one["code_points"] for one in found)
        assert found[0]["missing"] == 2 and found[-1]["missing"] == 0   # 前提是已经启用数据库, in two questions
        assert all(one["needed"] == 12 == one["inside"] + one["missing"] for one in found)


def test_a_passage_slices_back_out_of_its_document(diagnosed):
    docs = build_lab("scheduler").docs
    for setup in diagnosed["setups"]:
        for one in (passage for question in setup["questions"] for passage in question["passages"]):
            document = docs[one["doc_id"]]
            assert document.text[one["start"]:one["end"]] == one["text"] and one["version"] == document.version


# --- 用“全证据覆盖”识别假进步 -------------------------------------------------------------------------------------------

def test_full_coverage_any_hit_says_1_where_no_question_is_complete():
    assert list(evidence_first.coverage().values()) == [1.0, 0.5, 0.0]


def test_full_coverage_the_any_hit_rate_hides_what_one_query_loses(diagnosed):
    found = {setup["setup"]: setup["coverage"] for setup in diagnosed["setups"]}
    one = found["one-query"]
    assert (one["any_hit_rate"], one["piece_recall"], one["complete_rate"]) == (1.0, 0.8, 0.5)     # 4/4, 8/10, 2/4
    assert list(found["slots"].values())[-3:] == [1.0, 1.0, 1.0]


# --- 通过替换中间产物定位错误 -------------------------------------------------------------------------------------------

def test_substitution_the_gold_evidence_is_d1_d2_d4():
    assert evidence_first.gold()["documents"] == ["D1", "D2", "D4"]


@pytest.mark.parametrize("setup, question_id, expected", [
    ("slots", "compare-2.0", "none"), ("one-query", "recovery-a", "recall"), ("one-query", "compare-2.0", "ranking"),
    ("slots-without-versions", "state-b", "ranking"), ("slots-overreaching", "compare-2.0", "composer")])
def test_substitution_names_the_stage(diagnosed, setup, question_id, expected):
    assert row(diagnosed, setup, question_id)["substitution"]["verdict"] == expected


def test_substitution_each_set_up_differs_from_the_first_in_one_thing():
    for setup in SETUPS[1:]:
        assert sum(one != other for one, other in zip(setup[1:], SETUPS[0][1:])) == 1


# --- 交付时必须保留资料的限定条件 ---------------------------------------------------------------------------------------

def test_delivery_keeps_the_conditions_and_lists_what_is_open(diagnosed):
    answer = row(diagnosed, "slots", "compare-2.0")["answer"]
    assert len(answer["claims"]) == 5 and any("启用数据库" in claim for claim in answer["claims"])
    assert answer["to_verify"] == ["处理端的业务幂等是否已经实现"]
    assert "恰好" not in "".join(answer["claims"])


def test_every_listing_is_read_by_the_reproduction_and_agrees():
    rows = [one for one in printed("reproduce")["rows"] if one["chapter"] == "evidence-first"]
    assert len(rows) == 19 and all(one["equal"] for one in rows)
    assert {one["listing"] for one in rows} == set(evidence_first.LISTINGS)


def test_every_fact_of_a_slot_stands_in_the_corpus():
    known = {fact.fact_id for document in build_lab("scheduler").catalog.documents for fact in document.facts}
    asked = {fact for one in questions_of() for slot in one.slots for support in slot.supports for fact in support}
    assert asked == known
