"""Slots, coverage, windows, and one constructed case for every verdict of the substitution test."""
import itertools
import json

import pytest
from support import document, lab_of
from test_cli import printed, refused, run

from rag_lab import Scope, build_lab, diagnosis
from rag_lab.diagnosis import Answer, Passage, Question, Slot, coverage, is_met, joined, merged, verdict, widen
from rag_lab.errors import DataError, UsageError
from rag_lab.model import Fact


def slot(slot_id="s", *supports, **fields) -> Slot:
    return Slot(**{"slot_id": slot_id, "query": slot_id, "product": None, "product_version": None,
                   "claim": f"claim {slot_id}", "supports": supports or ((slot_id,),), **fields})


def question(*slots: Slot, text="q", to_verify=("open",)) -> Question:
    return Question("q", text, "why", slots, to_verify, "too much")


def passage(*fact_ids: str) -> Passage:
    return Passage("d", 1, 0, 1, "x", fact_ids)


# --- slots and coverage ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("facts, met", [
    (["a", "b"], True), (["c"], True), (["a"], False), (["b"], False), ([], False), (["a", "c"], True), (["x"], False)])
def test_any_one_supporting_set_whole_meets_a_slot(facts, met):
    assert is_met(slot("s", ("a", "b"), ("c",)), facts) is met


def test_halves_of_two_sets_are_not_a_whole_one():
    assert not is_met(slot("s", ("a", "b"), ("c", "d")), ["a", "c"])


def test_the_nearest_support_lacks_fewest_and_is_the_first_of_equals():
    one = slot("s", ("a", "b"), ("c",), ("d",))
    assert diagnosis.nearest_support(one, ["a"]) == ("a", "b")       # lacks 1, as do the others: the first
    assert diagnosis.nearest_support(one, ["d"]) == ("d",)


def test_004_full_coverage_ten_questions_two_pieces_each_one_found():
    """Section 用“全证据覆盖”识别假进步: 100% by any hit, half of the pieces, not one question complete."""
    found = coverage([[True, False]] * 10)
    assert (found.any_hit_rate, found.piece_recall, found.complete_rate) == (1.0, 0.5, 0.0)
    assert (found.questions, found.needed, found.found, found.complete, found.hit) == (10, 20, 10, 0, 10)


@pytest.mark.parametrize("met, rates", [   # (found / needed, complete / questions, hit / questions)
    ([[True, True], [False, False]], (2 / 4, 1 / 2, 1 / 2)), ([[True, False], [True, False]], (2 / 4, 0.0, 1.0)),
    ([[True], [False, False, False]], (1 / 4, 1 / 2, 1 / 2)), ([[False]], (0.0, 0.0, 0.0)), ([[True]], (1.0, 1.0, 1.0)),
    ([[True], []], (1.0, 1.0, 1.0)), ([], (None, None, None)), ([[]], (None, None, None))])
def test_the_three_rates_are_counted_apart_and_over_nothing_are_none(met, rates):
    assert coverage(met)[-3:] == rates


def test_equal_pieces_found_can_be_all_of_one_question_or_half_of_two():
    whole, halves = coverage([[True, True], [False, False]]), coverage([[True, False], [True, False]])
    assert whole.piece_recall == halves.piece_recall
    assert whole.complete_rate > halves.complete_rate and whole.any_hit_rate < halves.any_hit_rate


# --- merging --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("lists, expected", [
    ([["a", "b"], ["b", "c"]], ("a", "b", "c")), ([["a"], ["a"]], ("a",)), ([], ()), ([[], ["a"]], ("a",)),
    ([["a", "b", "c"], ["d"]], ("a", "d", "b", "c"))])
def test_lists_are_merged_in_turns_and_what_stands_twice_counts_once(lists, expected):
    assert merged(lists) == expected


def test_the_best_of_each_slot_is_kept_however_often_another_chunk_was_found():
    lists = [[f"best{at}", "everywhere"] for at in range(5)]
    assert merged(lists)[:5] == ("best0", "best1", "best2", "best3", "best4")


# --- scope and product of a slot --------------------------------------------------------------------------------------

@pytest.mark.parametrize("fields, serves", [
    ({}, True), ({"kind": "A"}, False), ({"applies_from": "1.0", "applies_to": "1.0"}, False),
    ({"applies_from": None, "applies_to": None}, False), ({"applies_from": "1.0", "applies_to": "3.0"}, True),
    ({"applies_to": None}, True)])
def test_a_document_serves_a_slot_of_its_product_and_version(fields, serves):
    one = document("d", "text", **{"kind": "B", "applies_from": "2.0", "applies_to": "2.0", **fields})
    assert diagnosis.serves(slot(product="B", product_version="2.0"), one) is serves


def test_one_corpus_holds_two_products_with_the_same_version_number():
    lab = lab_of(document("a", "重启 恢复", kind="A", applies_from="2.0", applies_to="2.0"),
                 document("b", "重启", kind="B", applies_from="2.0", applies_to="2.0"))
    asked = question(slot(product="B", product_version="2.0", query="重启 恢复"))
    (found,) = diagnosis.run_plan(lab, diagnosis.slot_by_slot(asked, 1))
    assert [one.doc_id for one in found.candidates] == [one.doc_id for one in found.kept] == ["b"]


def test_who_asks_does_not_change_from_slot_to_slot():
    scope = Scope("t", ("r",), product_version="1.0", principal="p")
    assert diagnosis.slot_scope(scope, "2.0") == Scope("t", ("r",), product_version="2.0", principal="p")


def test_one_query_takes_the_version_that_all_slots_share_and_none_where_they_differ():
    same = question(slot("a", product="A", product_version="2.0"), slot("b", product="B", product_version="2.0"))
    (search,) = diagnosis.one_query(same, 3)
    assert (search.product, search.product_version, search.k) == (None, "2.0", 6)
    (search,) = diagnosis.one_query(question(slot("a", product_version="1.0"), slot("b", product_version="2.0")), 1)
    assert search.product_version is None


@pytest.mark.parametrize("plan", [diagnosis.slot_by_slot, diagnosis.one_query])
@pytest.mark.parametrize("k", [0, -1, True, 1.0])
def test_k_must_be_a_whole_number_from_1(plan, k):
    with pytest.raises(UsageError, match="k is"):
        plan(question(slot()), k)


def test_a_document_that_the_scope_does_not_see_serves_nothing_and_is_named_nowhere():
    lab = lab_of(document("a", "重启", facts=(Fact("s", "重启"),)),
                 document("b", "重启 恢复", tenant="u", facts=(Fact("h", "恢复"),)))
    (found,) = diagnosis.run_plan(lab, diagnosis.slot_by_slot(question(slot(query="重启 恢复")), 5))
    assert diagnosis.kept_chunks([found]) == ("a",)
    with pytest.raises(UsageError, match="no supporting set"):
        diagnosis.gold_passages(lab, question(slot("h")))


# --- verdicts -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("gold, real, reordered, recalled, expected", [
    (True, True, True, True, "none"), (True, False, True, True, "ranking"), (True, False, False, False, "recall"),
    (True, False, False, True, "composer"), (False, True, True, True, "composer"),
    (False, False, False, False, "composer")])
def test_the_first_change_that_matters_names_the_stage(gold, real, reordered, recalled, expected):
    assert verdict(gold, real, reordered, recalled) == expected


def test_every_combination_has_a_verdict():
    found = {verdict(*flags) for flags in itertools.product([True, False], repeat=4)}
    assert found == set(diagnosis.VERDICTS)


def two_facts(*extra, **fields):
    """A lab in which "甲乙" finds d2 before d1, and nothing finds d3; each states one fact."""
    return lab_of(document("d1", "甲乙 其他的话很长很长很长", facts=(Fact("one", "甲乙"),), **fields),
                  document("d2", "甲乙 甲乙", facts=(Fact("two", "甲乙"),), **fields),
                  document("d3", "完全无关", facts=(Fact("three", "无关"),), **fields), *extra)


def substituted(lab, asked, compose=diagnosis.careful, k=1):
    return diagnosis.substitute(lab, asked, diagnosis.run_plan(lab, diagnosis.slot_by_slot(asked, k)), compose)


def test_nothing_is_at_fault_where_the_evidence_comes_first():
    assert substituted(two_facts(), question(slot("two", query="甲乙"))) == (True, True, True, True, "none")


def test_ranking_is_at_fault_where_the_evidence_is_recalled_and_stands_too_low():
    assert substituted(two_facts(), question(slot("one", query="甲乙"))) == (True, False, True, True, "ranking")


def test_a_larger_k_takes_the_blame_from_the_ranking():
    assert substituted(two_facts(), question(slot("one", query="甲乙")), k=2).verdict == "none"


def test_recall_is_at_fault_where_the_evidence_is_no_candidate():
    assert substituted(two_facts(), question(slot("three", query="甲乙"))) == (True, False, False, False, "recall")


def test_the_composer_is_at_fault_where_gold_evidence_does_not_help():
    asked = question(slot("two", query="甲乙"))
    assert substituted(two_facts(), asked, diagnosis.overreaching) == (False, False, False, True, "composer")


def test_the_composer_is_at_fault_where_it_goes_wrong_with_all_evidence_before_it():
    def distracted(asked, passages):
        return diagnosis.careful(asked, passages) if len(passages) == 1 else Answer((), ())

    found = substituted(two_facts(), question(slot("two", query="甲乙")), distracted, k=2)
    assert found == (True, False, False, True, "composer")


def test_an_alternative_supporting_set_is_as_good():
    asked = question(slot("s", ("three",), ("two",), query="甲乙"))
    assert substituted(two_facts(), asked).verdict == "none"


def test_a_k_that_no_ranking_could_serve_is_refused_and_not_blamed_on_a_stage():
    with pytest.raises(UsageError, match="stands in 2 chunks; raise k"):
        substituted(two_facts(), question(slot("s", ("one", "two"), query="甲乙")), k=1)


def test_deleted_evidence_is_no_gold_evidence():
    lab = two_facts()
    lab.delete("d2")
    with pytest.raises(UsageError, match="no supporting set"):
        substituted(lab, question(slot("two", query="甲乙")))


# --- composers ------------------------------------------------------------------------------------------------------

def test_a_careful_composer_lists_what_it_lacks():
    asked = question(slot("a"), slot("b"))
    assert diagnosis.careful(asked, [passage("a")]) == Answer(("claim a",), ("open", "b"))
    assert not diagnosis.is_right(asked, diagnosis.careful(asked, [passage("a")]))
    assert diagnosis.is_right(asked, diagnosis.careful(asked, [passage("a"), passage("b")]))


def test_a_right_answer_names_what_is_still_to_be_verified_and_claims_nothing_more():
    asked = question(slot("a"))
    assert not diagnosis.is_right(asked, Answer(("claim a",), ()))
    assert not diagnosis.is_right(asked, Answer(("claim a", "too much"), ("open",)))
    assert diagnosis.is_right(asked, Answer(("claim a",), ("open",)))


# --- windows --------------------------------------------------------------------------------------------------------

TEXT = "能恢复。前提是已启用。还要去重。"     # sentences [0, 4), [4, 11), [11, 16)


@pytest.mark.parametrize("start, end, by, unit, expected", [
    (0, 4, 0, "sentence", (0, 4)), (0, 4, 1, "sentence", (0, 11)), (0, 4, 9, "sentence", (0, 16)),
    (5, 6, 0, "sentence", (4, 11)),
    (3, 5, 0, "sentence", (0, 11)), (4, 11, 1, "sentence", (0, 16)), (4, 11, 0, "code_point", (4, 11)),
    (4, 11, 2, "code_point", (2, 13)), (4, 11, 99, "code_point", (0, 16))])
def test_a_span_is_widened_within_its_text(start, end, by, unit, expected):
    assert widen(TEXT, start, end, by, unit) == expected


@pytest.mark.parametrize("by, unit", [(-1, "sentence"), (1.5, "sentence"), (True, "sentence"), (1, "token")])
def test_a_window_that_is_none_is_refused(by, unit):
    with pytest.raises(UsageError):
        widen(TEXT, 0, 4, by, unit)


def test_a_text_without_sentences_is_left_as_it_is():
    assert widen("   ", 0, 1, 3, "sentence") == (0, 1)


@pytest.mark.parametrize("spans, expected", [
    ([], []), ([(0, 2), (2, 4)], [(0, 4)]), ([(0, 2), (3, 4)], [(0, 2), (3, 4)]), ([(0, 9), (1, 2)], [(0, 9)]),
    ([(5, 6), (0, 1), (0, 5)], [(0, 6)])])
def test_windows_that_overlap_are_one(spans, expected):
    assert joined(spans) == expected


def test_a_condition_counts_only_where_it_stands_wholly_inside_a_window():
    one = document("d", TEXT, facts=(Fact("can", "能恢复"), Fact("if", "前提是已启用"), Fact("then", "还要去重")))
    asked = [slot("s", ("can", "if")), slot("t", ("then",))]
    rows = [diagnosis.reading(asked, {"d": [(0, 4)]}, {"d": one}, width, unit)
            for width, unit in [(0, "sentence"), (1, "sentence"), (2, "sentence"), (5, "code_point"),
                                (6, "code_point")]]
    assert [(row.inside, row.missing, row.code_points) for row in rows] == [
        (1, 2, 4), (2, 1, 11), (3, 0, 16), (1, 2, 9), (2, 1, 10)]    # 前提是已启用 ends at 10
    assert {row.needed for row in rows} == {3}


def test_a_quote_across_two_windows_is_whole_once_they_touch():
    one = document("d", TEXT, facts=(Fact("both", "能恢复。前提是已启用"),))
    asked = [slot("s", ("both",))]
    assert diagnosis.reading(asked, {"d": [(0, 4), (4, 11)]}, {"d": one}, 0, "sentence").missing == 0
    assert diagnosis.reading(asked, {"d": [(0, 3), (4, 11)]}, {"d": one}, 0, "code_point").missing == 1


def test_what_is_missing_never_grows_with_the_window():
    lab = build_lab("scheduler")
    documents = {one.doc_id: one for one in lab.catalog.documents}
    slots = [slot("s", ("a2-recovers", "a2-needs-database"), ("a2-dedupe",)), slot("t", ("a2-default-loss",))]
    spans = {"D2": [(0, 17)], "D1": [(0, 5)]}
    for unit in diagnosis.UNITS:
        missing = [diagnosis.reading(slots, spans, documents, width, unit).missing for width in range(40)]
        assert missing == sorted(missing, reverse=True)


# --- questions on file ------------------------------------------------------------------------------------------------

GOOD = {"id": "q", "text": "t", "why": "w", "to_verify": [], "overreach": "o",
        "slots": [{"id": "s", "query": "q", "product": None, "product_version": None, "claim": "c",
                   "supports": [["f"]]}]}


def written(tmp_path, value) -> str:
    path = tmp_path / "questions.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


def test_questions_are_read_in_the_order_of_the_file(tmp_path):
    path = written(tmp_path, {"questions": [{**GOOD, "id": "b"}, {**GOOD, "id": "a"}]})
    assert [one.question_id for one in diagnosis.read_questions(path)] == ["b", "a"]


@pytest.mark.parametrize("value, rule", [
    ("{", "no list of questions"), ([], "no list of questions"), ({"questions": []}, "no list of questions"),
    ({"questions": [1]}, "question 1 is no object"), ({"questions": [{**GOOD, "slots": []}]}, "slots is"),
    ({"questions": [{**GOOD, "text": ""}]}, "text is ''"), ({"questions": [GOOD, GOOD]}, "'q' stands twice"),
    ({"questions": [{**GOOD, "slots": GOOD["slots"] * 2}]}, "slot id 's' stands twice"),
    ({"questions": [{**GOOD, "slots": [{**GOOD["slots"][0], "supports": [[]]}]}]}, "supports is"),
    ({"questions": [{**GOOD, "slots": [{**GOOD["slots"][0], "supports": [["f", "f"]]}]}]}, "supports is"),
    ({"questions": [{**GOOD, "slots": [{**GOOD["slots"][0], "product_version": "v2"}]}]}, "product_version is"),
    ({"questions": [{**GOOD, "slots": ["s"]}]}, "question 1, slot 1 is no object")], ids=ascii)
def test_a_file_that_is_no_list_of_questions_is_told_with_its_rule(tmp_path, value, rule):
    with pytest.raises(DataError, match=rule):
        diagnosis.read_questions(written(tmp_path, value))


def test_all_faults_of_a_file_come_at_once(tmp_path):
    broken = {"questions": [{**GOOD, "text": 1, "why": ""}, {**GOOD, "id": None}]}
    with pytest.raises(DataError) as caught:
        diagnosis.read_questions(written(tmp_path, broken))
    assert len(caught.value.faults) == 3


# --- the command ------------------------------------------------------------------------------------------------------

def test_diagnose_prints_one_document_with_its_keys_in_order_and_the_same_bytes_twice():
    document_ = printed("diagnose")
    assert list(document_) == ["schema", "corpus", "k", "setups", "windows", "receipt"]
    assert document_["schema"] == "rag_lab.diagnose/1"
    assert run("diagnose", PYTHONHASHSEED="1").stdout == run("diagnose", PYTHONHASHSEED="2").stdout


def test_diagnose_takes_questions_of_the_users_own(tmp_path):
    path = written(tmp_path, {"questions": [{**GOOD, "slots": [{**GOOD["slots"][0], "supports": [["b1-memory"]],
                                                                 "query": "内存"}]}]})
    document_ = printed("diagnose", "--questions", path, "--k", "5")
    assert [setup["coverage"]["needed"] for setup in document_["setups"]] == [1, 1, 1, 1]


@pytest.mark.parametrize("argv, code, word", [
    (("--corpus", "handbook"), 2, "--questions"), (("--k", "0"), 2, "k is 0"),
    (("--questions", "nowhere.json"), 1, "nowhere.json"), (("--k", "1", "--k", "2"), 2, "twice")])
def test_diagnose_tells_what_is_wrong_with_a_call(argv, code, word):
    assert word in refused(run("diagnose", *argv), code)
