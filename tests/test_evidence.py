"""Answer or refuse: the decision, its reason, and that a query which finds nothing never gets a document."""
import pytest

from rag_lab.evidence import EMPTY_CORPUS, EMPTY_QUERY, INSUFFICIENT_EVIDENCE, QUERY_TOO_SHORT, decide
from support import document, lab_of

BLANK = ["", "   ", "？！", "\u200b", "\ufeff", "\u00ad", "。。。", "\n\t", "\u3000", "\ufe0f", "\u0301", "——", "\ud83d"]


@pytest.mark.parametrize("supports, threshold, expected", [
    ([0.3], 0.3, ("answer", None)), ([0.29], 0.3, ("refuse", INSUFFICIENT_EVIDENCE)), ([0.1, 0.9], 0.3, ("answer", None)),
    ([], 0.3, ("refuse", INSUFFICIENT_EVIDENCE)), ([0.0], 0.0, ("answer", None)),
    ([], 0.0, ("refuse", INSUFFICIENT_EVIDENCE)),
    ([1.0], 1.0, ("answer", None)), ([0.85], 1.0, ("refuse", INSUFFICIENT_EVIDENCE))])
def test_the_best_support_is_compared_with_the_threshold(supports, threshold, expected):
    assert decide("退款多久", 3, supports, threshold) == expected


def test_a_scope_without_documents_is_refused_as_such_whatever_the_query():
    assert decide("退款", 0, [], 0.3) == decide("", 0, [], 0.3) == ("refuse", EMPTY_CORPUS)


@pytest.mark.parametrize("query", BLANK)
def test_b040_a_query_without_usable_terms_is_refused_as_empty(query):
    assert decide(query, 3, [], 0.0) == ("refuse", EMPTY_QUERY)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("query", BLANK)
def test_b040_an_empty_query_gets_no_document_and_a_reason(query, hybrid):
    outcome = lab_of(document("a", "退款"), document("b", "到账")).search(query, hybrid=hybrid, threshold=0)
    assert (outcome.decision, outcome.reason) == ("refuse", EMPTY_QUERY)
    assert outcome.results == outcome.closest == () and outcome.answer is None


@pytest.mark.parametrize("query", ["猫", "か", "カ", "ｶ", "한", "ก", "𠮷", "〇", "々", "猫？", "猫 狗"])
def test_b004_a_lone_character_of_a_paired_script_that_is_not_found_is_too_short(query):
    assert decide(query, 3, [], 0.3) == ("refuse", QUERY_TOO_SHORT)


def test_b004_a_lone_character_inside_a_run_is_refused_with_the_reason_and_never_in_silence():
    outcome = lab_of(document("a", "猫在屋顶")).search("猫")
    assert outcome.refused and outcome.reason == QUERY_TOO_SHORT and outcome.channels[0].note


def test_b004_a_lone_character_that_stands_alone_is_found():
    outcome = lab_of(document("a", "一只 猫 在屋顶")).search("猫")
    assert outcome.decision == "answer" and outcome.results[0].candidate.doc_id == "a"


@pytest.mark.parametrize("query", ["🎉", "é", "я", "ß", "7", "a", "٣", "退款", "猫 退款", "猫 a", "🎉 猫"])
def test_b004_a_query_of_anything_else_is_not_called_too_short(query):
    assert decide(query, 3, [], 0.3) == ("refuse", INSUFFICIENT_EVIDENCE)


def test_b016_an_emoji_that_no_document_holds_gets_no_document():
    outcome = lab_of(document("a", "发布失败"), document("b", "发布成功 🎉")).search("🦄", threshold=0)
    assert outcome.refused and outcome.results == outcome.closest == () and outcome.reason == INSUFFICIENT_EVIDENCE


def test_b016_an_emoji_that_a_document_holds_finds_it():
    (hit,) = lab_of(document("a", "发布失败"), document("b", "发布成功 🎉")).search("🎉\ufe0f").results
    assert hit.candidate.doc_id == "b"


@pytest.mark.parametrize("query", ["退款", "🎉", "retry", "猫"])
def test_b002_a_channel_that_finds_nothing_says_so(query):
    outcome = lab_of(document("a", "无关的文字")).search(query, hybrid=True)
    for channel in outcome.channels:
        assert channel.ran and bool(channel.note) == (not channel.hits)


def test_b002_the_lexical_channel_holds_the_hit_of_a_substring_query():
    outcome = lab_of(document("a", "本季度差旅报销流程调整说明"), document("b", "无关")).search("报销流程", hybrid=True)
    assert [doc_id for doc_id, _ in outcome.channels[0].hits] == ["a"] and outcome.channels[0].name == "bm25"


def test_a_corpus_of_empty_texts_is_searched_and_refused_without_a_crash():
    for hybrid in (False, True):
        lab = lab_of(document("a", ""), document("b", "   "), document("c", "。。。"))
        outcome = lab.search("退款", hybrid=hybrid, rerank=True)
        assert outcome.reason == INSUFFICIENT_EVIDENCE and outcome.statistics["avg_tokens"] == 0


def test_words_that_no_document_holds_do_not_lower_the_support():
    outcome = lab_of(document("a", "退款")).search("退款 3.2 p0 新人", threshold=1.0)   # known is only 退款: 1 of 1
    assert outcome.decision == "answer" and outcome.best_support == 1.0


def test_a_refusal_shows_what_came_closest_and_no_result():
    lab = lab_of(document("a", "退款"), document("b", "新人"))
    outcome = lab.search("退款新人", threshold=0.6)   # known: 退款, 新人; each document holds 1 of 2
    assert outcome.refused and outcome.best_support == 0.5 and outcome.results == () and outcome.answer is None
    assert [hit.candidate.doc_id for hit in outcome.closest] == ["a", "b"]
