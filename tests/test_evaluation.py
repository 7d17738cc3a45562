"""Every metric against arithmetic that stands in the test, and against the values that its peers publish."""
import itertools
import json
import math
import os

import pytest
from support import SHARED, document, lab_of

from rag_lab import Settings, UsageError, trec
from rag_lab.evaluation import (citation_precision, citation_recall, evaluate, faithfulness, mean, ndcg_at_k,
                                precision_at_k, recall_at_k, reciprocal_rank)
from rag_lab.files import canonical_json, read_lines
from rag_lab.scores import evaluation_report
from rag_lab.trec import Judged, Query

METRICS = (recall_at_k, precision_at_k, reciprocal_rank, ndcg_at_k)


def judged(queries: dict, qrels: dict) -> Judged:
    """Query id -> text, and query id -> document id -> grade."""
    return Judged(tuple(Query(query_id, text) for query_id, text in queries.items()), qrels, "digest")


def log2(rank: int) -> float:
    return math.log2(rank + 1)


# --- by hand --------------------------------------------------------------------------------------------------------

TWO = {"a": 1, "b": 1, "x": 0}


@pytest.mark.parametrize("returned, k, recall, precision, rr, ndcg", [
    (["a", "b"], 2, 2 / 2, 2 / 2, 1 / 1, 1.0),
    (["x", "a"], 2, 1 / 2, 1 / 2, 1 / 2, (1 / log2(2)) / (1 / log2(1) + 1 / log2(2))),
    (["x", "a", "b"], 2, 1 / 2, 1 / 2, 1 / 2, (1 / log2(2)) / (1 / log2(1) + 1 / log2(2))),
    (["x", "y", "b"], 3, 1 / 2, 1 / 3, 1 / 3, (1 / log2(3)) / (1 / log2(1) + 1 / log2(2))),
    (["x", "y"], 2, 0.0, 0.0, 0.0, 0.0),
    (["a"], 4, 1 / 2, 1 / 4, 1 / 1, (1 / log2(1)) / (1 / log2(1) + 1 / log2(2))),   # P@4 divides by 4 all the same
    ([], 5, 0.0, 0.0, 0.0, 0.0),
    (["x", "a", "b"], 1, 0.0, 0.0, 0.0, 0.0)])
def test_metrics_of_one_query_by_hand(returned, k, recall, precision, rr, ndcg):
    assert [metric(returned, TWO, k) for metric in METRICS] == pytest.approx([recall, precision, rr, ndcg])


def test_the_value_of_the_chapter_for_ranks_1_and_3():
    grades = {"sla": 1, "faq": 1}   # 退款申请多久到账 after reranking: the two right documents at ranks 1 and 3
    expected = (1 / log2(1) + 1 / log2(3)) / (1 / log2(1) + 1 / log2(2))
    assert ndcg_at_k(["sla", "script", "faq"], grades, 5) == pytest.approx(expected) == pytest.approx(0.919721, abs=1e-6)


def test_b076_the_gain_decides_and_is_named():
    grades = {"a": 3, "b": 1}
    linear = (1 / log2(1) + 3 / log2(2)) / (3 / log2(1) + 1 / log2(2))         # gains 1 and 3
    exponential = (1 / log2(1) + 7 / log2(2)) / (7 / log2(1) + 1 / log2(2))    # gains 2^1 - 1 and 2^3 - 1
    assert ndcg_at_k(["b", "a"], grades, 2, "linear") == pytest.approx(linear) == pytest.approx(0.7967, abs=5e-5)
    assert ndcg_at_k(["b", "a"], grades, 2) == pytest.approx(exponential) == pytest.approx(0.7098, abs=5e-5)
    with pytest.raises(UsageError, match="gain"):
        ndcg_at_k(["b", "a"], grades, 2, "burges")


def test_b077_a_document_that_stands_twice_counts_once():
    assert [metric(["a", "a"], {"a": 1}, 2) for metric in METRICS] == [1.0, 1 / 2, 1.0, 1.0]   # never nDCG 1.6309
    assert recall_at_k(["a", "a", "b"], TWO, 2) == 1.0   # the second place is b's


def test_b079_the_ideal_is_of_all_judged_documents():
    grades = dict.fromkeys("abc", 1)
    expected = 1 / (1 / log2(1) + 1 / log2(2) + 1 / log2(3))
    assert ndcg_at_k(["a", "x", "y"], grades, 3) == pytest.approx(expected) == pytest.approx(0.4693, abs=5e-5)


def test_b079_the_ideal_is_cut_at_k_too():
    assert ndcg_at_k(["a"], dict.fromkeys("abc", 1), 1) == 1.0


def test_b082_a_grade_below_zero_is_judged_and_gains_nothing():
    grades = {"a": -1, "b": 1}
    for gain in ("linear", "exponential"):
        assert ndcg_at_k(["a", "b"], grades, 2, gain) == pytest.approx(1 / log2(2))
    assert (precision_at_k(["a", "b"], grades, 1), recall_at_k(["a", "b"], grades, 1)) == (0.0, 0.0)
    assert reciprocal_rank(["a", "b"], grades, 2) == 1 / 2
    assert ndcg_at_k(["a"], {"a": -2}, 1) is None and recall_at_k(["a"], {"a": -2}, 1) is None


@pytest.mark.parametrize("grades", [{}, {"a": 0}, {"a": 0, "b": -1}])
def test_b085_without_a_relevant_document_a_metric_is_undefined_and_not_zero(grades):
    assert recall_at_k(["a"], grades, 5) is reciprocal_rank(["a"], grades, 5) is ndcg_at_k(["a"], grades, 5) is None
    assert precision_at_k(["a"], grades, 5) == 0.0   # its divisor is k: always defined


def test_b086_the_reciprocal_rank_stops_at_the_cutoff():
    returned = [f"x{number}" for number in range(11)] + ["a"]
    assert reciprocal_rank(returned, {"a": 1}, 10) == 0.0
    assert reciprocal_rank(returned, {"a": 1}, 12) == 1 / 12


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [0, -1, 1.5, True, None])
def test_a_cutoff_below_one_is_a_fault_of_the_call(metric, k):
    with pytest.raises(UsageError):
        metric(["a"], {"a": 1}, k)


def test_the_mean_is_over_what_is_defined():
    assert mean([1.0, None, 0.0, 0.5]) == 0.5 and mean([None, None]) is None and mean([]) is None


def test_the_mean_does_not_depend_on_the_order():
    values = [0.1] * 7 + [1 / 3] * 5 + [1.0, 1e-9]
    assert len({mean(values), mean(values[::-1]), mean(sorted(values, key=str))}) == 1


def test_metrics_of_an_answer_are_shares_of_counts():
    assert (faithfulness(3, 4), citation_precision(1, 3), citation_recall(2, 2)) == (0.75, 1 / 3, 1.0)
    assert faithfulness(0, 0) is citation_precision(0, 0) is citation_recall(0, 0) is None


def test_a_claim_can_be_cited_and_not_supported():
    assert (citation_recall(4, 4), faithfulness(1, 4)) == (1.0, 0.25)   # chapter 6, 6.7


@pytest.mark.parametrize("metric", [faithfulness, citation_precision, citation_recall])
@pytest.mark.parametrize("part, whole", [(5, 4), (-1, 4), (1, 0)])
def test_a_share_of_more_than_all_is_a_fault_of_the_call(metric, part, whole):
    with pytest.raises(UsageError):
        metric(part, whole)


# --- a whole evaluation ---------------------------------------------------------------------------------------------

LAB = lab_of(document("a", "alpha beta"), document("b", "alpha gamma gamma"), document("c", "delta"))


def test_b083_a_query_that_returns_nothing_counts_as_zero_and_is_listed():
    queries = judged({"q1": "alpha beta", "q2": "omega"}, {"q1": {"a": 1}, "q2": {"b": 1}})
    evaluation = evaluate(LAB.search, queries, Settings(k=2))
    assert evaluation.macro == {"recall@k": (1 + 0) / 2, "mrr": (1 + 0) / 2, "ndcg@k": (1 + 0) / 2,
                                "citation_relevance": (1 + 0) / 2, "refusal_rate": 1 / 2}
    assert evaluation.counts == {"queries": 2, "undefined": 0, "refused": 1, "missed": 1}
    assert [(one.query.query_id, one.returned, one.recall) for one in evaluation.queries] == [
        ("q1", ("a", "b"), 1.0), ("q2", (), 0.0)]


def test_b085_an_undefined_query_is_null_left_out_of_the_mean_and_counted():
    queries = judged({"q1": "alpha beta", "q2": "delta"}, {"q1": {"a": 0}, "q2": {"c": 2}})
    report = evaluation_report(evaluate(LAB.search, queries, Settings()))
    assert report["counts"]["undefined"] == 1 and report["macro"]["recall@k"] == 1.0
    undefined = report["queries"][0]
    assert [undefined[name] for name in ("recall", "rr", "ndcg", "citation_relevance")] == [None] * 4
    assert '"recall": null' in canonical_json(report)


def test_b085_all_queries_undefined_make_the_means_null():
    macro = evaluate(LAB.search, judged({"q": "alpha"}, {"q": {"a": 0}}), Settings()).macro
    assert macro["recall@k"] is macro["mrr"] is macro["ndcg@k"] is macro["citation_relevance"] is None
    assert macro["refusal_rate"] == 0.0


def test_b089_a_query_that_fails_stops_the_evaluation_and_does_not_leave_the_mean():
    def search(query, settings):
        return LAB.search(query, settings) if query != "bad" else 1 / 0

    with pytest.raises(ZeroDivisionError):
        evaluate(search, judged({"q1": "alpha", "q2": "bad"}, {"q1": {"a": 1}, "q2": {"b": 1}}), Settings())


def test_b080_ties_stand_in_one_order_for_every_metric_and_for_search():
    documents = [document(doc_id, "alpha") for doc_id in "abc"]
    queries = judged({"q": "alpha"}, {"q": {"b": 1}})
    outcomes = set()
    for order in itertools.permutations(documents):
        lab = lab_of(*order)
        (result,) = evaluate(lab.search, queries, Settings(k=3, hybrid=True)).queries
        outcomes.add((result.returned, result.recall, result.reciprocal_rank, result.ndcg))
        assert result.returned == tuple(hit.candidate.doc_id for hit in lab.search("alpha", k=3, hybrid=True).results)
    assert outcomes == {(("a", "b", "c"), 1.0, 1 / 2, 1 / log2(2))}


def test_citation_relevance_looks_at_the_first_result_only():
    queries = judged({"q1": "alpha beta", "q2": "alpha beta"}, {"q1": {"b": 1}, "q2": {"a": 1}})
    assert [one.citation_relevance for one in evaluate(LAB.search, queries, Settings()).queries] == [0, 1]


def test_relevant_documents_are_listed_in_id_order_without_those_of_grade_zero():
    (result,) = evaluate(LAB.search, judged({"q": "alpha"}, {"q": {"c": 1, "b": 0, "a": 2, "z": -1}}), Settings()).queries
    assert result.relevant == ("a", "c")


def test_an_evaluation_leaves_its_judgements_as_they_were():
    queries = judged({"q": "alpha"}, {"q": {"b": 1, "a": 2}})
    before = json.dumps(queries)
    evaluate(LAB.search, queries, Settings())
    assert json.dumps(queries) == before


def test_what_needs_a_judge_is_null_and_not_zero():
    report = evaluation_report(evaluate(LAB.search, judged({"q": "alpha"}, {"q": {"a": 1}}), Settings()))
    assert report["unmeasured"] == {"faithfulness": None, "citation_precision": None, "citation_recall": None}
    assert report["gain"] == "exponential"


# --- published values -----------------------------------------------------------------------------------------------

def shared(*names) -> str:
    path = os.path.join(SHARED, *names)
    if not os.path.exists(path):
        pytest.skip("the peers' published values lie outside the repository")
    return path


def published(*names):
    with open(shared(*names), encoding="utf-8") as file:
        return json.load(file)


def by_score(row: dict) -> list[str]:
    """A run as a ranked list: by falling score, equal ones by falling id, as trec_eval takes it."""
    return sorted(row, key=lambda doc_id: (row[doc_id], doc_id), reverse=True)


def test_pytrec_eval_publishes_the_same_ndcg():
    compared = 0
    for case in published("eval-pytrec_eval", "expected.json"):
        for expected in case.get("expected", ()):
            k = int(expected["measure"].removeprefix("ndcg").removeprefix("_cut_") or 1000)
            query_id = expected["query"]
            ours = ndcg_at_k(by_score(case["run"][query_id]), case["qrels"][query_id], k, "linear")
            assert ours == pytest.approx(expected["value"], abs=expected["tolerance"]), case["id"]
            compared += 1
    assert compared >= 9


RANX = {"precision": precision_at_k, "recall": recall_at_k, "mrr": reciprocal_rank,
        "ndcg": lambda *args: ndcg_at_k(*args, "linear"), "ndcg_burges": ndcg_at_k}


def test_ranx_publishes_the_same_means():
    compared = 0
    for case in published("eval-ranx", "metrics.json"):
        measure, _, cutoff = str(case["args"][-1]).partition("@")
        if case["function"] != "evaluate" or measure not in RANX:
            continue
        judgements, runs, _ = case["args"]
        ours = mean([RANX[measure]([str(doc_id) for doc_id, _ in run], {str(doc_id): grade for doc_id, grade in grades},
                                   int(cutoff)) for grades, run in zip(judgements, runs)])
        assert ours == pytest.approx(case["expected"][0]["value"], abs=1e-8), case["id"]
        compared += 1
    assert compared == 12


def test_ranx_counts_a_query_without_results_as_zero():
    compared = 0
    for case in published("eval-ranx", "metrics.json"):
        if case["id"].startswith("zero_division_error_test") and case["function"] in RANX:
            qrels, run = case["args"]
            values = [RANX[case["function"]](by_score(run[query_id]), qrels[query_id], 1) for query_id in qrels]
            assert mean(values) == case["expected"][0]["value"] == 0.75
            compared += 1
    assert compared == 2


TREC_EVAL = {"recall": recall_at_k, "P": precision_at_k}


@pytest.mark.parametrize("qrels, expected, level", [
    ("qrels.test", "out.test.aq", 1), ("qrels.rel_level", "out.test.aql", 2)])
def test_trec_eval_publishes_the_same_values_for_each_query(qrels, expected, level):
    runs: dict[str, dict[str, float]] = {}
    for _, line in read_lines(shared("eval-trec_eval", "results.test")):
        query_id, _, doc_id, _, score, _ = line.split()
        runs.setdefault(query_id, {})[doc_id] = float(score)
    qrels = trec.read_qrels(shared("eval-trec_eval", qrels))
    compared = 0
    for _, line in read_lines(shared("eval-trec_eval", expected)):
        measure, query_id, value = line.split()
        if query_id not in runs:
            continue
        ranked, grades = by_score(runs[query_id]), qrels[query_id]
        relevant = {doc_id: int(grade >= level) for doc_id, grade in grades.items()}
        name, _, cutoff = measure.rpartition("_")
        if name in TREC_EVAL and cutoff.isdigit():
            ours = TREC_EVAL[name](ranked, relevant, int(cutoff))
        elif measure == "recip_rank":
            ours = reciprocal_rank(ranked, relevant, len(ranked))
        elif name == "ndcg_cut":
            ours = ndcg_at_k(ranked, grades, int(cutoff), "linear")
        else:
            continue
        assert f"{ours:.4f}" == value, (measure, query_id)
        compared += 1
    assert compared == 3 * (9 + 9 + 1 + 9)   # recall, P, recip_rank and ndcg_cut of three queries
