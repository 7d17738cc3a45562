"""The reranker: coverage, phrase, the two weighted sums, and the order that follows."""
import pytest

from rag_lab import Scope
from rag_lab.model import Asked, Candidate
from rag_lab.text import term_set
from rag_lab.rerank import contains_phrase, coverage, look, looked_at, rerank, rerank_score, support
from support import chunk_of, document


def candidate(doc_id: str, unmet: int = 0) -> Candidate:
    return Candidate(f"{doc_id}#1", doc_id, 1.0, {"bm25": 1}, {"bm25": 1.0}, unmet)


def asked(query: str, known: list[str]) -> Asked:
    """The question, with no more than this reranker looks at: it knows terms, and neither weights nor rights."""
    return Asked(query, Scope("t", ("r",)), tuple(known), idf=None, terms_of=term_set, best_fused=None)


def looked(query: str, known: list[str], candidates: list[Candidate], *documents) -> list[Candidate]:
    """The candidates with their parts; the chunk of document d is d#1."""
    chunks = {f"{one.doc_id}#1": chunk_of(one, f"{one.doc_id}#1") for one in documents}
    return looked_at(look, asked(query, known), candidates, chunks, {one.doc_id: one for one in documents})


# --- coverage -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("known, text, expected", [
    (["退款", "到账"], "退款三天到账", 2 / 2), (["退款", "到账"], "退款到", 1 / 2), (["退款"], "到账", 0 / 1),
    (["退款", "3.2", "p0"], "P0 与 3.2", 2 / 3),
    (["retry"], "Retry?", 1.0), (["retry"], "retrying", 0.0), (["3.2"], "13.2", 0.0), (["退款"], "", 0.0), ([], "退款", 0.0),
    ([], "", 0.0)])
def test_coverage_is_the_share_of_known_terms_in_the_text(known, text, expected):
    assert coverage(known, text) == pytest.approx(expected)


def test_how_often_a_term_stands_in_the_text_does_not_count():
    assert coverage(["退款", "到账"], "退款 退款 退款") == 1 / 2


# --- phrase -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("query, title, text", [
    ("退款到账", "", "关于退款到账的说明"), ("退款 到账", "", "关于退款到账的说明"), ("退款到账", "", "退款 到账"), ("退款到账？", "", "退款到账。"),
    ("退款到账", "退款到账", "无"),
    ("p0 故障", "", "Ｐ０故障"), ("office", "", "oﬃce"), ("a\u200bb", "", "ab"), ("“退款”", "", "退款"), ("gpt-4", "", "GPT‑4"),
    ("🎉", "", "成功🎉\ufe0f")])
def test_a_phrase_is_the_whole_query_in_title_or_text_white_space_and_outer_punctuation_aside(query, title, text):
    assert contains_phrase(query, title, text)


@pytest.mark.parametrize("query, title, text", [
    ("退款到账", "", "退款，到账"), ("退款到账", "退款", "到账"), ("退款到账", "", "到账退款"), ("", "", "退款"), ("？！", "", "退款？！"),
    ("\u200b", "", "退款"),
    ("退款", "", ""), ("   ", "标题", "退款")])
def test_no_phrase_stands_across_punctuation_or_from_title_to_text_and_an_empty_query_is_none(query, title, text):
    assert not contains_phrase(query, title, text)


# --- the two sums -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("body, title, phrase, expected", [
    (1.0, 1.0, True, 0.40 + 0.45 + 0.15), (1.0, 0.0, False, 0.40), (0.0, 1.0, False, 0.45), (0.0, 0.0, True, 0.15),
    (0.0, 0.0, False, 0.0),
    (4 / 6, 2 / 6, False, 0.40 * 4 / 6 + 0.45 * 2 / 6)])
def test_the_rerank_score_is_the_weighted_sum(body, title, phrase, expected):
    assert rerank_score(body, title, phrase) == pytest.approx(expected)


def test_the_rerank_scores_that_chapter_6_prints():
    assert round(rerank_score(4 / 6, 2 / 6, False), 4) == 0.4167   # billing-refund-sla
    assert round(rerank_score(4 / 6, 1 / 6, False), 4) == 0.3417   # support-refund-script, billing-refund-faq


@pytest.mark.parametrize("body, title, phrase, expected", [
    (0.9, 1.0, True, 0.9), (0.5, 1.0, False, 0.85 * 1.0), (0.5, 0.5, True, 0.85), (0.2, 0.4, False, 0.85 * 0.4),
    (0.0, 0.0, False, 0.0)])
def test_the_support_is_the_largest_of_three(body, title, phrase, expected):
    assert support(body, title, phrase) == pytest.approx(expected)


def test_a_close_look_holds_the_parts_and_both_sums():
    (one,) = looked("退款到账", ["退款", "款到", "到账"], [candidate("d")], document("d", "退款说明", "到账"))
    parts = one.parts                                                                   # body 1/3, title 1/3, no phrase
    assert (parts.body_coverage, parts.title_coverage, parts.phrase) == (1 / 3, 1 / 3, False)
    assert parts.score == pytest.approx(0.40 / 3 + 0.45 / 3) and parts.support == pytest.approx(1 / 3)


def test_the_body_is_the_chunk_and_not_its_document():
    one = document("d", "退款说明。到账说明。", "到账")
    chunk = chunk_of(one)._replace(start=0, end=5, text="退款说明。", prefix="到账到账\n")
    parts = look(asked("退款到账", ["退款", "到账"]), candidate("d"), chunk, one)
    assert (parts.body_coverage, parts.title_coverage, parts.phrase) == (1 / 2, 1 / 2, False)


@pytest.mark.parametrize("title, text, prefix, phrase", [
    ("", "退款到账", "", True), ("退款到账", "无关", "", True), ("", "无关", "退款到账\n", False), ("退款", "到账", "", False)])
def test_the_phrase_may_stand_in_the_title_or_in_the_chunk_but_not_in_its_context(title, text, prefix, phrase):
    one = document("d", text, title)
    parts = look(asked("退款到账", ["退款", "款到", "到账"]), candidate("d"), chunk_of(one)._replace(prefix=prefix), one)
    assert parts.phrase is phrase and (parts.support >= 0.85) == phrase


def test_a_look_leaves_the_order_and_the_place_of_a_candidate_as_they_are():
    documents = document("a", "无关"), document("b", "退款")
    found = looked("退款", ["退款"], [candidate("a"), candidate("b", unmet=1)], *documents)
    assert [one._replace(parts=None) for one in found] == [candidate("a"), candidate("b", unmet=1)]


def test_parts_that_are_known_are_not_looked_for_again():
    known = candidate("a")._replace(parts=looked("退款", ["退款"], [candidate("a")], document("a", "无关"))[0].parts)
    assert looked("到账", ["到账"], [known], document("a", "到账 到账")) == [known]


# --- order --------------------------------------------------------------------------------------------------------------

def reranked(query: str, known: list[str], candidates: list[Candidate], *documents) -> list[str]:
    return [one.doc_id for one in rerank(looked(query, known, candidates, *documents))]


def test_candidates_stand_by_falling_rerank_score():
    documents = document("a", "无关"), document("b", "退款"), document("c", "退款到账")
    assert reranked("退款到账", ["退款", "到账"], [candidate("a"), candidate("b"), candidate("c")], *documents) == ["c", "b", "a"]


def test_equal_candidates_keep_the_order_in_which_they_came():
    documents = document("a", "退款"), document("b", "退款"), document("c", "退款")
    assert reranked("退款", ["退款"], [candidate("b"), candidate("c"), candidate("a")], *documents) == ["b", "c", "a"]


def test_a_candidate_that_misses_a_soft_filter_stays_after_the_rest():
    documents = document("a", "无关"), document("b", "退款")
    assert reranked("退款", ["退款"], [candidate("a"), candidate("b", unmet=1)], *documents) == ["a", "b"]


def test_reranking_marks_its_candidates_and_leaves_their_scores():
    (before,) = looked("退款", ["退款"], [candidate("a")], document("a", "退款"))
    (one,) = rerank([before])
    assert not before.reranked and one.reranked and one.score == 1.0
    assert one.parts == look(asked("退款", ["退款"]), candidate("a"), chunk_of(document("a", "退款")), document("a", "退款"))


def test_nothing_reranked_is_nothing():
    assert rerank(looked("退款", ["退款"], [])) == []
