"""Citations: the span that is chosen, that it holds, that an edit is noticed, and that offsets are code points."""
import random
import shutil
import subprocess

import pytest

from rag_lab import Citation
from rag_lab.citation import CONTEXT_WIDTH, choose, cite, context, verify
from rag_lab.files import canonical_json, decode, text_digest
from rag_lab.spans import tokens
from rag_lab.text import terms
from support import document, lab_of

MEETING = document("d", "会议😀在周三")


def span_of(term: str, text: str) -> tuple[int, int]:
    (token,) = [token for token in tokens(text) if token.term == term]
    return token.start, token.end


# --- cite and choose ----------------------------------------------------------------------------------------------------

def test_a_citation_holds_id_title_version_span_quote_and_hash():
    made = cite(document("d", "退款三天到账", "退款", version=9), 2, 4)
    assert made == Citation("d", "退款", 9, 2, 4, "三天", text_digest("三天"))


def test_the_sentence_that_covers_most_is_chosen():
    chosen = choose(document("d", "退款说明。退款三天到账。到账。"), ["退款", "到账"])   # 1/2, 2/2, 1/2
    assert (chosen.start, chosen.end, chosen.quote) == (5, 12, "退款三天到账。")


def test_of_equal_sentences_the_earliest_is_chosen():
    assert choose(document("d", "无关。退款甲。退款乙。"), ["退款"]).quote == "退款甲。"
    assert choose(document("d", "甲。乙。"), ["退款"]).quote == choose(document("d", "甲。乙。"), []).quote == "甲。"


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_a_document_without_a_sentence_has_no_citation(text):
    assert choose(document("d", text), ["退款"]) is None


def test_every_chosen_citation_slices_back_and_holds():
    pieces = ["退款", "到账。", "😀", "５㎏", "ﾊﾞ", "\n", "\n\n", " ", "# ", "- ", "e\u0301", "？！”", "a. ", "𠮷", "\u200b", "|x|"]
    for seed in range(500):
        chance = random.Random(seed)
        one = document("d", "".join(chance.choice(pieces) for _ in range(chance.randint(1, 25))))
        chosen = choose(one, ["退款", "到账", "5kg"])
        if chosen is None:
            assert not one.text.strip()
        else:
            assert one.text[chosen.start:chosen.end] == chosen.quote and verify(chosen, one) is None


# --- cases: offsets -----------------------------------------------------------------------------------------------------

def test_b019_offsets_count_code_points():
    assert span_of("周三", MEETING.text) == (4, 6)   # 会0 议1 😀2 在3; UTF-16 would say 5, UTF-8 bytes 13


@pytest.mark.parametrize("text", [
    "会议👨\u200d👩\u200d👧在周三", "𠮷野在周三", "e\u0301在周三", "🇨🇳在周三", "ﬁ㎏在周三", "\u200b在周三", "在周三", "\ufeff在周三"])
def test_b019_offsets_count_code_points_after_anything(text):
    start, end = span_of("周三", text)
    assert (start, end) == (len(text) - 2, len(text)) and text[start:end] == "周三"


def test_b019_a_citation_after_an_emoji_slices_back():
    one = document("d", "😀会议。在周三开。")
    chosen = choose(one, terms("周三"))
    assert (chosen.start, chosen.end) == (4, 9) and one.text[4:9] == chosen.quote == "在周三开。"


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not here")
def test_b020_jq_slices_the_same_quote():
    chosen = cite(MEETING, *span_of("周三", MEETING.text))
    printed = canonical_json({"text": MEETING.text, "citation": chosen._asdict()})
    result = subprocess.run(["jq", ".text[.citation.start:.citation.end] == .citation.quote"], input=printed.encode(),
                            capture_output=True, check=True, timeout=60)
    assert result.stdout.strip() == b"true"


def test_b020_a_reader_who_counts_in_utf16_must_convert():
    chosen = cite(MEETING, 4, 6)
    units = MEETING.text.encode("utf-16-le")
    before = len(MEETING.text[:chosen.start].encode("utf-16-le")) // 2
    assert before == 5 and units[2 * before:2 * before + 4].decode("utf-16-le") == "周三"


def test_b022_each_of_several_equal_sentences_has_its_own_place():
    one = document("d", "同意。\n同意。\n同意。最终条款生效")
    assert choose(one, terms("最终条款")).start == 11 and choose(one, terms("同意")).start == 0   # 3 + 1 + 3 + 1 + 3


def test_b023_a_piece_of_a_compound_is_cited_exactly():
    one = document("d", "read-only-mode enabled")
    assert cite(one, *span_of("mode", one.text)).quote == "mode"


# --- cases: value and source --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("options", [{}, {"rerank": True}, {"hybrid": True}, {"hybrid": True, "rerank": True}])
def test_b025_every_result_cites_itself_and_nothing_else_is_cited(options):
    lab = lab_of(document("a", "退货期限为7天。"), document("b", "退货说明。期限另议。"), document("c", "无关"))
    outcome = lab.search("退货期限", **options)
    assert [hit.rank for hit in outcome.results] == list(range(1, len(outcome.results) + 1))
    assert len({hit.candidate.doc_id for hit in outcome.results}) == len(outcome.results) >= 2
    for hit in outcome.results:
        assert hit.citation.doc_id == hit.candidate.doc_id and verify(hit.citation, lab.docs[hit.candidate.doc_id]) is None


@pytest.mark.parametrize("options", [{}, {"rerank": True}, {"hybrid": True}, {"hybrid": True, "rerank": True}])
def test_b026_the_answer_is_the_quote_of_the_first_result_and_stands_in_its_document(options):
    lab = lab_of(document("d1", "退货期限为7天", version=1), document("d2", "退货期限为15天", version=2))
    outcome = lab.search("退货期限", **options)
    first = outcome.results[0].citation
    assert outcome.answer == first.quote == lab.docs[first.doc_id].text[first.start:first.end]
    assert first.version == lab.docs[first.doc_id].version
    assert {hit.citation.doc_id: hit.citation.quote for hit in outcome.results} == {"d1": "退货期限为7天", "d2": "退货期限为15天"}


# --- verify -------------------------------------------------------------------------------------------------------------

HELD = document("d", "甲方同意。乙方同意。", version=3)
QUOTE = cite(HELD, 5, 10)   # 乙方同意。


def test_a_citation_holds_for_the_document_it_was_taken_from():
    assert verify(QUOTE, HELD) is None


@pytest.mark.parametrize("change, broken", [
    ({"doc_id": "e"}, "id"), ({"version": 2}, "version"), ({"start": 4}, "quote"), ({"end": 9}, "quote"),
    ({"quote": "乙方同意"}, "quote"),
    ({"start": 0, "end": 5}, "quote"), ({"start": 10, "end": 10, "quote": ""}, "quote"), ({"start": -5}, "quote"),
    ({"start": -5, "end": -1}, "quote"),
    ({"start": 10, "end": 5}, "quote"), ({"end": 11}, "quote"), ({"end": 10_000}, "quote"),
    ({"content_hash": "0" * 16}, "hash"), ({"content_hash": ""}, "hash"),
    ({"quote": "甲方同意。"}, "quote")])
def test_a_citation_with_one_thing_wrong_does_not_hold(change, broken):
    assert verify(QUOTE._replace(**change), HELD) == broken


def test_a_quote_at_another_place_of_the_same_text_does_not_hold():
    one = document("d", "同意。同意。")
    assert verify(cite(one, 0, 3)._replace(start=1, end=4), one) == "quote"
    assert verify(cite(one, 0, 3)._replace(start=3, end=6), one) is None   # it does stand there too


def test_b028_a_changed_word_makes_the_old_citation_stale():
    edited = document("d", "甲方同意。乙方反对。", version=3)
    assert verify(QUOTE, edited) == "quote" and verify(QUOTE, edited._replace(version=4)) == "version"


def test_b028_an_edit_elsewhere_that_moves_the_quote_makes_it_stale_too():
    assert verify(QUOTE, document("d", "甲方不同意。乙方同意。", version=3)) == "quote"


def test_b029_line_ends_of_the_file_change_neither_span_nor_hash():
    lf, crlf = [document("d", decode(data, "f")) for data in (b"one.\ntwo.\n", b"one.\r\ntwo.\r\n")]
    assert choose(lf, ["two"]) == choose(crlf, ["two"]) and lf.content_digest == crlf.content_digest


# --- context ------------------------------------------------------------------------------------------------------------

def test_context_is_forty_code_points_on_each_side():
    text = "前" * 50 + "引文" + "😀" * 50
    assert CONTEXT_WIDTH == 40 and context(cite(document("d", text), 50, 52), text) == ("前" * 40, "😀" * 40)


def test_context_ends_where_the_text_does():
    text = "前引文后"
    assert context(cite(document("d", text), 1, 3), text) == ("前", "后")
    assert context(cite(document("d", text), 0, 4), text) == ("", "")
