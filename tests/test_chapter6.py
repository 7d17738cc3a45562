"""What chapter 6 prints, from the real command: the values below are copied from the chapter, section by section."""
import functools
import hashlib
import itertools
import os
import re
import subprocess
import sys

import pytest
from support import ROOT
from test_cli import environment
from test_cli import printed as run_printed

from rag_lab import Settings, build_lab
from rag_lab.evaluation import ndcg_at_k, recall_at_k, reciprocal_rank
from rag_lab.files import read_text

printed = functools.cache(run_printed)   # one process for all tests that read the same command
SEED = os.path.join(ROOT, "..", "shared", "seeds", "000_a9a7419dece84aca.txt")


def table(document: dict, *names) -> list[list]:
    """Rows of results as jq's @tsv would give them."""
    return [[hit[name] for name in names] for hit in document["results"]]


# --- 6.9: the printed outputs ---------------------------------------------------------------------------------------

def test_6_9_the_size_of_the_corpus():
    assert printed("--query", "P0 故障多久响应", "--k", "3")["corpus"] == {
        "documents": 30, "active": 30, "tombstoned": 0, "terms": 1104, "avg_tokens": 55.8}


def test_6_9_1_bm25():
    assert table(printed("--query", "P0 故障多久响应", "--k", "3"), "rank", "doc_id", "score", "support") == [
        [1, "oncall-sev", 11.9923, 0.75], [2, "billing-refund-faq", 3.0014, 0.25], [3, "oncall-alert-noise", 2.6089, 0.25]]


def test_6_9_1_another_wording_catches_the_one_word_that_it_shares():
    assert printed("--query", "线上事故怎么定级")["results"][0]["title"] == "事故复盘模板"


def test_6_9_2_hybrid():
    document = printed("--query", "退款申请多久到账", "--k", "3", "--hybrid")
    assert table(document, "rank", "doc_id", "score", "bm25_score", "dense_score") == [
        [1, "support-refund-script", 0.0325, 9.7195, 0.3668], [2, "billing-refund-sla", 0.032, 9.6719, 0.3328],
        [3, "billing-refund-faq", 0.0318, 11.6879, 0.2182]]


def test_6_9_3_rerank():
    document = printed("--query", "退款申请多久到账", "--k", "3", "--hybrid", "--rerank")
    assert table(document, "rank", "doc_id", "rerank_score", "support") == [
        [1, "billing-refund-sla", 0.4167, 0.6667], [2, "support-refund-script", 0.3417, 0.6667],
        [3, "billing-refund-faq", 0.3417, 0.6667]]


def test_6_9_4_citation():
    citation = printed("--query", "删除用户数据要清理哪些副本", "--k", "1", "--hybrid", "--rerank")["results"][0]["citation"]
    assert list(citation.items()) == [
        ("doc_id", "data-deletion"), ("title", "用户数据删除请求"), ("version", 6), ("start", 0), ("end", 43),
        ("quote", "收到删除请求后，先冻结相关数据，再在 72 小时内删除主库、索引、缓存与摘要中的副本。"),
        ("content_hash", "9ea48b3439c6f557")]


def test_6_9_4_the_cited_document_lies_where_the_chapter_says():
    assert build_lab().docs["data-deletion"].path == "handbook/data/deletion.md"


def test_6_9_5_delete():
    document = printed("--query", "退款多久到账", "--delete", "billing-refund-faq", "--k", "3", "--hybrid", "--rerank")
    assert document["corpus"] == {"documents": 30, "active": 29, "tombstoned": 1, "terms": 1081, "avg_tokens": 55.7}
    assert [hit["doc_id"] for hit in document["results"]] == [
        "billing-refund-sla", "support-refund-script", "billing-changelog-2026-08"]
    assert [list(stone.items()) for stone in document["tombstones"]] == [[
        ("doc_id", "billing-refund-faq"), ("version", 9), ("deleted_at", "2026-10-19T09:00:00+08:00"),
        ("reason", "user_request"), ("request_id", "del-billing-refund-faq-1")]]


def test_6_9_5_refuse():
    document = printed("--query", "新人报到要办什么", "--k", "3", "--hybrid")
    assert [document[name] for name in ("refused", "reason", "best_support", "channel_sizes")] == [
        True, "insufficient_evidence", 0.0, {"bm25": 0, "dense": 9}]


def test_6_9_6_evaluation():
    assert list(printed("--eval", "--k", "5", "--hybrid", "--rerank")["macro"].items()) == [
        ("recall@k", 0.8462), ("mrr", 0.8462), ("ndcg@k", 0.84), ("citation_relevance", 0.8462), ("refusal_rate", 0.0769)]


def test_6_9_6_the_two_failures():
    rows = printed("--eval", "--k", "5", "--hybrid", "--rerank")["queries"]
    assert len(rows) == 13
    assert [[row["query"], ",".join(row["returned"]), row["refused"]] for row in rows if row["recall"] < 1] == [
        ["线上事故怎么定级", "oncall-postmortem,data-pii,hr-onboarding,sec-injection,rag-eval", False],
        ["新人报到要办什么", "", True]]


@pytest.mark.parametrize("flags, mrr", [((), 0.8462), (("--hybrid",), 0.8077), (("--hybrid", "--rerank"), 0.8462)])
def test_6_9_8_the_second_channel_costs_what_the_reranker_wins_back(flags, mrr):
    macro = printed("--eval", "--k", "5", *flags)["macro"]
    assert (macro["mrr"], macro["recall@k"]) == (mrr, 0.8462)


def test_6_9_8_a_larger_pool_does_not_change_recall():
    pools = [printed("--eval", "--hybrid", "--rerank", "--pool", pool)["macro"]["recall@k"] for pool in ("10", "30")]
    assert pools == [0.8462, 0.8462]


def test_6_5_1_the_first_quote_is_about_the_question_and_does_not_answer_it():
    document = printed("--query", "数据库迁移能自动回滚吗", "--hybrid", "--rerank")
    assert document["results"][0]["doc_id"] == "deploy-rollback-db"
    assert document["answer"] == "数据库迁移的回滚脚本必须与正向迁移一起评审。"
    (second,) = [hit for hit in document["results"] if hit["doc_id"] == "deploy-rollback"]
    assert second["citation"]["quote"] == "数据库迁移不可自动回滚，必须提前准备反向迁移脚本。"


# --- 6.8: the chapter's own listings --------------------------------------------------------------------------------

def listing(section: str, following: str) -> tuple[str, str]:
    """(the Python listing of a section of the chapter, what the chapter prints below it)."""
    if not os.path.exists(SEED):
        pytest.skip("the chapter lies outside the repository")
    body = re.search(rf"^{re.escape(section)} .*?(?=^{re.escape(following)} )", read_text(SEED), re.MULTILINE | re.DOTALL)[0]
    lines = body[body.index("import sys\n"):].split("\n")
    code = list(itertools.takewhile(lambda line: not re.match(r"(old|quote) ?: ?", line), lines))
    output = itertools.takewhile(str.strip, lines[len(code):])
    return "\n".join(code), "\n".join(output) + "\n"


@pytest.mark.parametrize("section, following", [("6.8.1", "6.8.2"), ("6.8.2", "6.8.3")])
def test_6_8_the_listings_of_the_chapter_run_with_only_the_import_path_changed(section, following):
    code, expected = listing(section, following)
    unchanged = [line for line in code.split("\n") if "sys.path" not in line]
    assert len(code.split("\n")) - len(unchanged) == 1
    done = subprocess.run([sys.executable, "-c", "\n".join(unchanged)], cwd=ROOT, stdin=subprocess.DEVNULL,
                          capture_output=True, env=environment(PYTHONIOENCODING="utf-8"), timeout=60)
    assert (done.returncode, done.stderr, done.stdout.decode("utf-8")) == (0, b"", expected)
    assert len(expected.split("\n")) - 1 == {"6.8.1": 2, "6.8.2": 4}[section]


# --- 6.9.7: the chapter's nine tests, under their names -------------------------------------------------------------

LAB = build_lab()


def test_bm25_ranks_exact_topic_first():
    (first, best), (_, second) = LAB.bm25.search("P0 故障多久响应", k=2)
    assert first == "oncall-sev" and best > 3 * second


def test_citation_offsets_slice_back_to_source():
    for query in ("删除用户数据要清理哪些副本", "退款申请多久到账", "P0 故障多久响应"):
        for hit in LAB.search(query, hybrid=True, rerank=True).results:
            cited = hit.citation
            assert LAB.docs[cited.doc_id].text[cited.start:cited.end] == cited.quote
            assert hashlib.sha256(cited.quote.encode("utf-8")).hexdigest()[:16] == cited.content_hash


def test_deleted_document_is_not_recalled():
    lab = build_lab()
    assert lab.search("退款多久到账", hybrid=True).results[0].candidate.doc_id == "billing-refund-faq"
    lab.delete("billing-refund-faq")
    outcome = lab.search("退款多久到账", hybrid=True, k=20)
    assert "billing-refund-faq" not in [hit.candidate.doc_id for hit in outcome.results]
    assert all(chunk_id != "billing-refund-faq" for channel in outcome.channels for chunk_id, _ in channel.hits)


def test_eval_metrics_include_known_failures():
    evaluation = LAB.evaluate(k=5, hybrid=True, rerank=True)
    assert [one.query.text for one in evaluation.queries if one.recall < 1] == ["线上事故怎么定级", "新人报到要办什么"]
    assert evaluation.macro["recall@k"] == 11 / 13 and evaluation.counts["missed"] == 2


def test_hybrid_rrf_uses_rank_not_raw_score():
    results = LAB.search("退款申请多久到账", hybrid=True, k=3).results
    ranks = {"support-refund-script": (2, 1), "billing-refund-sla": (3, 2), "billing-refund-faq": (1, 5)}
    for hit in results:
        assert tuple(hit.candidate.ranks.values()) == ranks[hit.candidate.doc_id]
        assert hit.candidate.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks[hit.candidate.doc_id]))
    strongest = max(results, key=lambda hit: hit.candidate.scores["bm25"])
    assert (strongest.candidate.doc_id, strongest.rank) == ("billing-refund-faq", 3)


def test_recall_mrr_ndcg_definitions():
    returned, grades = ["x", "a", "y", "b"], {"a": 1, "b": 1, "c": 1}
    assert recall_at_k(returned, grades, 4) == 2 / 3 and reciprocal_rank(returned, grades, 4) == 1 / 2
    ideal = 1 + 1 / 1.5849625 + 1 / 2                       # 1 / log2 of 2, 3 and 4
    gained = 1 / 1.5849625 + 1 / 2.3219281                  # ranks 2 and 4: 1 / log2 of 3 and 5
    assert ndcg_at_k(returned, grades, 4) == pytest.approx(gained / ideal)


def test_refusal_on_out_of_vocabulary_query():
    outcome = LAB.search("新人报到要办什么", hybrid=True)
    assert outcome.refused and outcome.reason == "insufficient_evidence" and outcome.best_support == 0.0
    assert outcome.answer is None and outcome.closest and "hr-onboarding" in LAB.docs


def test_rerank_changes_order_but_not_recall():
    grades = {"billing-refund-sla": 1, "billing-refund-faq": 1}
    before, after = ([hit.candidate.doc_id for hit in LAB.search("退款申请多久到账", hybrid=True, rerank=rerank, k=3).results]
                     for rerank in (False, True))
    assert before != after and sorted(before) == sorted(after)
    assert recall_at_k(before, grades, 3) == recall_at_k(after, grades, 3) == 1.0
    assert (before[0], after[0]) == ("support-refund-script", "billing-refund-sla")


def test_threshold_is_configurable_and_calibration_is_visible():
    refused = {threshold: LAB.search("P0 故障多久响应", threshold=threshold).refused for threshold in (0, 0.3, 0.75, 0.76, 1)}
    assert refused == {0: False, 0.3: False, 0.75: False, 0.76: True, 1: True}   # best support is 3 of 4 terms
    assert LAB.search("P0 故障多久响应", threshold=1).best_support == 0.75
    rates = [LAB.evaluate(Settings(threshold=threshold)).macro["refusal_rate"] for threshold in (0.1, 0.7, 1)]
    assert rates[0] == 1 / 13 and rates == sorted(rates) and rates[2] > rates[0]
