"""The path of one query: the stages stand in one order everywhere, and each does its own thing and nothing else."""
import os
import re
from datetime import datetime, timezone

import pytest
from support import ROOT, chunk_of, document, lab_of

import rag_lab
from rag_lab import Preference, Scope, Settings, citation, evidence, retrieve
from rag_lab.bm25 import Bm25
from rag_lab.catalog import Catalog
from rag_lab.chunking import Chunks, searchable, structure, whole
from rag_lab.files import read_text
from rag_lab.hashed import Hashed
from rag_lab.model import Candidate, Channel
from rag_lab.report import search_report
from rag_lab.rerank import look
from rag_lab.text import terms

SCOPE = Scope("t", ("r",))


def candidates(*ids) -> list[Candidate]:
    """Candidates of falling score in this order."""
    return [Candidate(f"{doc_id}#1", doc_id, 1 / rank, {"bm25": rank}, {"bm25": 1 / rank})
            for rank, doc_id in enumerate(ids, start=1)]


def chunks_of(*documents) -> dict:
    """A chunk d#1 for each document d, as `candidates` name them."""
    return {f"{one.doc_id}#1": chunk_of(one, f"{one.doc_id}#1") for one in documents}


def ids(rows) -> list[str]:
    return [row.doc_id for row in rows]


def indexes(documents) -> tuple[Bm25, Hashed]:
    units = [(chunk.chunk_id, terms(searchable(chunk))) for one in documents for chunk in whole(one)]
    return Bm25(units), Hashed(units)


def parts_of(documents, look=look) -> retrieve.Parts:
    return retrieve.Parts(Chunks(documents, whole), *indexes(documents), look)


def run(query, catalog, scope, settings=Settings(), indexed=()):
    """The query over a catalog; `indexed` are the documents as they were when indexed, if not as they are."""
    return retrieve.run(query, scope, catalog, parts_of(indexed or catalog.documents), settings)


# --- the stages -----------------------------------------------------------------------------------------------------

def stage_lines(text: str) -> list[tuple[str, ...]]:
    """(number, name, what it does) of each numbered stage in a text."""
    return re.findall(r"^ *(\d+) ([a-z]+) +(\S.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("text", [
    retrieve.__doc__, rag_lab.__doc__, read_text(os.path.join(ROOT, "README.md")),
    read_text(os.path.join(ROOT, "README.zh-CN.md"))], ids=["retrieve", "package", "README", "README.zh-CN"])
def test_every_list_of_the_stages_is_the_one_of_the_code(text):
    lines = stage_lines(text)
    assert [(int(number), name) for number, name, _ in lines] == list(enumerate(retrieve.STAGES, start=1))
    assert lines == stage_lines(retrieve.__doc__)


def test_a_query_passes_the_stages_in_that_order(monkeypatch):
    passed = []

    def watch(owner, name, stage):
        real = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args: passed.append(stage) or real(*args))

    for name in ("recall", "fuse", "soften", "rerank", "gate", "cite"):
        watch(retrieve, name, name)
    watch(evidence, "decide", "decide")
    watch(Catalog, "eligible", "live")
    run("alpha", Catalog([document("a", "alpha")]), SCOPE, Settings(hybrid=True, rerank=True))
    before = passed.index("gate")   # the gate stands right before the rerank too
    assert passed[before + 1] == "rerank" and passed.count("gate") == 2
    del passed[before]
    del passed[passed.index("gate") + 1]   # behind the gate the documents are read again, as it has just seen them
    assert passed == [stage for stage in retrieve.STAGES if stage in passed]
    assert set(retrieve.STAGES) - set(passed) == {"scope", "cut", "measure"}   # an argument, a slice, and over many queries


# --- 3 recall -------------------------------------------------------------------------------------------------------

def test_a_channel_that_ran_and_found_something_has_no_note():
    channels = retrieve.recall("alpha", *indexes([document("a", "alpha")]), Settings())
    assert [(channel.name, channel.ran, channel.note, len(channel.hits)) for channel in channels] == [
        ("bm25", True, None, 1), ("dense", True, None, 1)]


def test_b002_a_channel_with_nothing_says_why():
    by_query = {query: retrieve.recall(query, *indexes([document("a", "alpha")]), Settings()) for query in ("omega", "？！")}
    assert all(not channel.hits and channel.ran and channel.note for found in by_query.values() for channel in found)
    assert by_query["omega"][0].note != by_query["？！"][0].note == by_query["？！"][1].note


def test_b088_a_channel_that_did_not_run_is_not_one_that_found_nothing():
    lexical, dense = retrieve.recall("alpha", indexes([document("a", "alpha")])[0], None, Settings())
    assert lexical.ran and not dense.ran and dense.note
    report = search_report(lab_of(document("a", "alpha")).search("omega"))
    assert report["channel_sizes"] == {"bm25": 0, "dense": None} and report["funnel"]["dense"] is None


def test_a_channel_hands_on_no_more_than_the_pool():
    documents = [document(f"d{number}", "alpha") for number in range(9)]
    assert [len(channel.hits) for channel in retrieve.recall("alpha", *indexes(documents), Settings(k=2, pool=4))] == [4, 4]


# --- 4 fuse ---------------------------------------------------------------------------------------------------------

CHUNKS = {chunk_id: chunk_of(document(f"of-{chunk_id}", "x"), chunk_id) for chunk_id in "abcd"}


def test_one_channel_keeps_its_own_order_and_scores():
    channels = Channel("bm25", (("b", 3.5), ("a", 0.25))), Channel("dense", (), "off", ran=False)
    fused = retrieve.fuse(channels, CHUNKS, Settings())
    assert [(one.chunk_id, one.doc_id, one.score, one.ranks, one.scores) for one in fused] == [
        ("b", "of-b", 3.5, {"bm25": 1}, {"bm25": 3.5}), ("a", "of-a", 0.25, {"bm25": 2}, {"bm25": 0.25})]


def test_b059_a_single_hit_keeps_a_score_above_zero():
    (alone,) = retrieve.fuse([Channel("bm25", (("a", 0.95),)), Channel("dense", (), "off", ran=False)], CHUNKS, Settings())
    (fused,) = retrieve.fuse([Channel("bm25", (("a", 0.95),)), Channel("dense", (), "nothing")], CHUNKS, Settings())
    assert (alone.score, fused.score) == (0.95, 1 / 61)


def test_two_channels_are_fused_by_rank_and_each_chunk_keeps_what_each_channel_said():
    channels = Channel("bm25", (("a", 9.0), ("b", 8.0))), Channel("dense", (("b", 0.5), ("c", 0.4)))
    fused = retrieve.fuse(channels, CHUNKS, Settings())
    assert [(one.chunk_id, one.score) for one in fused] == [("b", (61 + 62) / (61 * 62)), ("a", 1 / 61), ("c", 1 / 62)]
    assert [one.doc_id for one in fused] == ["of-b", "of-a", "of-c"]
    assert (fused[0].ranks, fused[0].scores) == ({"bm25": 2, "dense": 1}, {"bm25": 8.0, "dense": 0.5})
    assert (fused[1].ranks, fused[2].scores) == ({"bm25": 1}, {"dense": 0.4})


def test_the_constant_of_the_fusion_is_the_one_of_the_settings():
    fused = retrieve.fuse([Channel("bm25", (("a", 9.0),)), Channel("dense", (("a", 0.5),))], CHUNKS, Settings(rrf_k=1))
    assert fused[0].score == 1 / 2 + 1 / 2


# --- 5 soften -------------------------------------------------------------------------------------------------------

NOON = datetime(2026, 8, 1, 12, tzinfo=timezone.utc)
BY_ID = {"faq": document("faq", "x", kind="faq", language="zh"),
         "policy": document("policy", "x", kind="policy", language="zh"),
         "expired": document("expired", "x", kind="faq", language="en", valid_to=NOON)}


@pytest.mark.parametrize("prefer, order, unmet", [
    (Preference(), ["expired", "policy", "faq"], [0, 0, 0]),
    (Preference(kind="faq"), ["expired", "faq", "policy"], [0, 0, 1]),
    (Preference(language="zh"), ["policy", "faq", "expired"], [0, 0, 1]),
    (Preference(valid_at=NOON), ["policy", "faq", "expired"], [0, 0, 1]),
    (Preference(kind="faq", language="zh", valid_at=NOON), ["faq", "policy", "expired"], [0, 1, 2]),
    (Preference(kind="script"), ["expired", "policy", "faq"], [1, 1, 1])])
def test_what_misses_a_soft_filter_stands_after_the_rest_and_is_never_removed(prefer, order, unmet):
    softened = retrieve.soften(candidates("expired", "policy", "faq"), BY_ID, prefer)
    assert ids(softened) == order and [one.unmet for one in softened] == unmet


def test_softening_moves_places_and_no_scores():
    softened = retrieve.soften(candidates("policy", "faq"), BY_ID, Preference(kind="faq"))
    assert [(one.doc_id, one.score) for one in softened] == [("faq", 1 / 2), ("policy", 1.0)]


def test_the_reranker_does_not_lift_a_document_over_a_soft_filter():
    lab = lab_of(document("full", "alpha beta", kind="policy"), document("half", "alpha", kind="faq"))
    asked = {"rerank": True, "k": 2}
    assert [hit.candidate.doc_id for hit in lab.search("alpha beta", **asked).results] == ["full", "half"]
    preferred = lab.search("alpha beta", prefer=Preference(kind="faq"), **asked).results
    assert [hit.candidate.doc_id for hit in preferred] == ["half", "full"]


# --- 7 gate ---------------------------------------------------------------------------------------------------------

def alphas(*ids) -> list:
    return [document(doc_id, "alpha") for doc_id in ids]


def change(catalog: Catalog) -> None:
    """Hide or alter all that `alphas` put into the catalog, but for "ok"."""
    catalog.delete("deleted", SCOPE)
    catalog.put(document("changed", "beta"))
    catalog.put(document("renamed", "alpha", title="beta"))
    catalog.put(document("moved", "alpha", tenant="u"))
    catalog.put(document("retired", "alpha", status="retired"))
    catalog.put(document("expired", "alpha", valid_to=NOON))
    catalog.put(document("newer", "alpha", applies_from="9"))
    catalog.put(document("secret", "alpha", roles=("boss",)))


CHANGED = ("changed", "deleted", "expired", "moved", "newer", "ok", "renamed", "retired", "secret")
RULES = (("changed", "changed"), ("deleted", "deleted"), ("expired", "time"), ("moved", "tenant"), ("newer", "version"),
         ("renamed", "changed"), ("retired", "status"), ("secret", "role"))
ASKING = Scope("t", ("r",), as_of=NOON, product_version="3.2")


def test_the_gate_drops_what_the_catalog_hides_by_now_and_says_by_which_rule():
    documents = alphas(*CHANGED)
    catalog = Catalog(documents)
    change(catalog)
    chunks = chunks_of(*documents, document("never", "alpha"))
    kept, rejected = retrieve.gate(candidates(*CHANGED, "never"), catalog, ASKING, chunks)
    assert ids(kept) == ["ok"]
    assert rejected == (*((f"{doc_id}#1", rule) for doc_id, rule in RULES), ("never#1", "missing"))


def test_what_is_hidden_while_the_reranker_works_is_dropped_after_it_and_counted_by_rule():
    documents = alphas(*CHANGED)
    catalog = Catalog(documents)
    looked = []

    def slow_look(asked, candidate, chunk, document):
        if not looked:
            change(catalog)
        looked.append(candidate.doc_id)
        return look(asked, candidate, chunk, document)

    outcome = retrieve.run("alpha", ASKING, catalog, parts_of(documents, slow_look), Settings(k=9, rerank=True))
    assert sorted(looked) == sorted(CHANGED) and [hit.candidate.doc_id for hit in outcome.results] == ["ok"]
    assert (outcome.funnel["pool"], outcome.funnel["gate"], outcome.funnel["cut"]) == (9, 1, 1)
    assert outcome.rejected == RULES
    assert list(outcome.dropped.items()) == [
        ("changed", 2), ("deleted", 1), ("role", 1), ("status", 1), ("tenant", 1), ("time", 1), ("version", 1)]


def test_what_is_stale_before_the_rerank_is_not_looked_at():
    old = alphas("a", "b")
    catalog = Catalog(old)
    catalog.put(document("a", "gamma"))
    looked = []
    parts = parts_of(old, lambda asked, candidate, *rest: looked.append(candidate.doc_id) or look(asked, candidate, *rest))
    outcome = retrieve.run("alpha", SCOPE, catalog, parts, Settings(rerank=True))
    assert looked == ["b"] and outcome.rejected == (("a", "changed"),)


def test_the_gate_leaves_the_rest_in_its_order():
    catalog = Catalog([document("a", "x"), document("c", "x")])
    chunks = chunks_of(*catalog.documents, document("b", "x"))
    assert ids(retrieve.gate(candidates("c", "b", "a"), catalog, SCOPE, chunks)[0]) == ["c", "a"]


def test_every_chunk_of_a_document_that_changed_is_dropped():
    old = document("a", "# 甲\n\nalpha 一\n\n# 乙\n\nalpha 二")
    catalog = Catalog([old._replace(text=old.text + "。", content_digest="0")])
    chunks = {chunk.chunk_id: chunk for chunk in structure(old)}
    found = [Candidate(chunk_id, "a", 1.0, {"bm25": 1}, {"bm25": 1.0}) for chunk_id in chunks]
    assert retrieve.gate(found, catalog, SCOPE, chunks) == ([], tuple((chunk_id, "changed") for chunk_id in chunks))
    assert len(chunks) == 2


def test_a_text_that_changed_since_it_was_indexed_is_not_shown_and_leaves_its_place_to_the_next():
    old = [document("a", "alpha alpha"), document("b", "alpha beta")]
    catalog = Catalog(old)
    catalog.put(document("a", "gamma"))
    outcome = run("alpha", catalog, SCOPE, Settings(k=1), indexed=old)
    assert [hit.candidate.doc_id for hit in outcome.results] == ["b"] and outcome.dropped == {"changed": 1}
    assert (outcome.funnel["pool"], outcome.funnel["gate"], outcome.funnel["cut"]) == (2, 1, 1)


def test_a_title_that_changed_since_it_was_indexed_is_a_change_too():
    old = [document("a", "alpha", title="one")]
    assert run("alpha", Catalog([document("a", "alpha", title="two")]), SCOPE, indexed=old).dropped == {"changed": 1}


def test_nothing_is_dropped_while_index_and_catalog_agree():
    assert run("alpha", Catalog([document("a", "alpha")]), SCOPE).dropped == {}


# --- 8 cut, 9 cite --------------------------------------------------------------------------------------------------

def test_the_funnel_counts_what_left_each_stage():
    documents = [document("a", "alpha"), document("b", "alpha beta"), document("c", "beta"), document("d", "gamma"),
                 document("h", "alpha", tenant="u")]
    funnel = run("alpha", Catalog(documents), SCOPE, Settings(k=1, pool=2)).funnel
    assert funnel == {"live": 4, "bm25": 2, "dense": None, "fused": 2, "pool": 2, "gate": 2, "threshold": 2, "cut": 1}


@pytest.mark.parametrize("threshold_on, shown, decision", [("best_support", 3, "answer"), ("each_result", 1, "answer")])
def test_a_threshold_on_each_result_drops_what_does_not_reach_it_and_one_on_the_best_does_not(threshold_on, shown, decision):
    documents = [document("a", "alpha beta"), document("b", "alpha"), document("c", "beta")]
    outcome = run("alpha beta", Catalog(documents), SCOPE, Settings(threshold=0.6, threshold_on=threshold_on))
    assert (outcome.funnel["gate"], outcome.funnel["threshold"], outcome.funnel["cut"]) == (3, shown, shown)
    assert (len(outcome.results), outcome.decision, outcome.best_support) == (shown, decision, 1.0)


def test_a_threshold_on_each_result_that_nothing_reaches_is_a_refusal():
    outcome = run("alpha beta", Catalog([document("a", "alpha"), document("b", "beta")]), SCOPE,
                  Settings(threshold=0.6, threshold_on="each_result"))
    assert (outcome.decision, outcome.reason, outcome.results) == ("refuse", "insufficient_evidence", ())
    assert (outcome.funnel["gate"], outcome.funnel["threshold"]) == (2, 0)


def test_fusing_can_find_more_than_the_pool_holds_and_the_pool_is_cut_after_it():
    lists = Channel("bm25", (("a", 2.0), ("b", 1.0))), Channel("dense", (("c", 0.2), ("d", 0.1)))
    assert len(retrieve.fuse(lists, CHUNKS, Settings(k=1, pool=2))) == 4
    documents = [document("a", "alpha beta beta"), document("b", "alpha alpha beta"), document("c", "alpha")]
    funnel = run("alpha", Catalog(documents), SCOPE, Settings(k=1, pool=1, hybrid=True)).funnel
    assert (funnel["bm25"], funnel["dense"], funnel["pool"]) == (1, 1, 1) and funnel["fused"] <= 2


def test_b094_scores_that_look_equal_when_rounded_keep_their_order():
    longer, shorter = document("a", "alpha" + " filler" * 5001), document("b", "alpha" + " filler" * 5000)
    outcome = lab_of(longer, shorter).search("alpha", k=2)
    assert [hit.candidate.doc_id for hit in outcome.results] == ["b", "a"]   # by id it would be a, b
    first, second = search_report(outcome)["results"]
    assert first["score"] == second["score"]


def test_b026_the_quote_comes_from_the_document_that_the_result_names():
    lab = lab_of(document("d1", "退货期限为7天"), document("d2", "退货期限为15天", version=2))
    for hit in lab.search("退货期限", k=2).results:
        cited = lab.docs[hit.candidate.doc_id]
        assert (hit.citation.doc_id, hit.citation.version) == (cited.doc_id, cited.version)
        assert cited.text[hit.citation.start:hit.citation.end] == hit.citation.quote == cited.text


def test_b020_offsets_count_code_points_of_the_text_as_stored():
    outcome = lab_of(document("a", "会议😀在周一。\n退款在周三。")).search("周三")
    assert (outcome.results[0].citation.start, outcome.results[0].citation.end) == (8, 14)   # UTF-16 would say 9 and 15


def test_a_citation_that_does_not_hold_stops_the_query(monkeypatch):
    choose = citation.choose
    monkeypatch.setattr(citation, "choose", lambda *args: choose(*args)._replace(start=1))
    with pytest.raises(RuntimeError, match="quote"):
        lab_of(document("a", "alpha beta")).search("alpha")


@pytest.mark.parametrize("show", [True, False])
def test_the_context_is_shown_when_asked_for(show):
    text = "x" * 50 + "。" + "退款。" + "y" * 50
    hit = lab_of(document("a", text)).search("退款", show_context=show).results[0]
    assert hit.context == (("x" * 39 + "。", "y" * 40) if show else None)


# --- explaining -----------------------------------------------------------------------------------------------------

def test_the_parts_of_an_explanation_are_the_numbers_of_the_result():
    documents = [document("a", "alpha beta", title="alpha"), document("b", "beta"), document("c", "gamma")]
    for hit in lab_of(*documents).search("alpha beta", hybrid=True, rerank=True, explain=True, k=3).results:
        parts, candidate = hit.explanation, hit.candidate
        assert parts["bm25"]["score"] == pytest.approx(candidate.scores["bm25"])
        assert sum(row["part"] for row in parts["bm25"]["terms"]) == pytest.approx(candidate.scores["bm25"])
        assert sum(row["part"] for row in parts["dense"]["features"]) == pytest.approx(candidate.scores["dense"])
        assert [(row["channel"], row["rank"]) for row in parts["rrf"]["parts"]] == list(candidate.ranks.items())
        assert sum(1 / (60 + row["rank"]) for row in parts["rrf"]["parts"]) == pytest.approx(candidate.score)
        assert (parts["rerank"]["score"], parts["rerank"]["support"]) == (candidate.parts.score, candidate.parts.support)


def test_what_took_no_part_is_null_in_an_explanation():
    explanation = lab_of(document("a", "alpha")).search("alpha", explain=True).results[0].explanation
    assert explanation["dense"] is None and explanation["rrf"] is None and explanation["bm25"]["n"] == 1


def test_a_refusal_explains_what_came_closest():
    outcome = lab_of(document("a", "alpha"), document("b", "beta gamma delta")).search(
        "alpha beta gamma delta", threshold=0.9, explain=True)
    assert outcome.refused and not outcome.results and outcome.answer is None
    assert [hit.candidate.doc_id for hit in outcome.closest] == ["b", "a"]
    assert all(hit.citation and hit.explanation for hit in outcome.closest)


# --- scopes ---------------------------------------------------------------------------------------------------------

def test_b073_two_scopes_ask_the_same_question_and_each_gets_its_own_answer():
    catalog = Catalog([document("a", "凤凰计划 属于甲", tenant="A"), document("b", "凤凰计划 属于乙", tenant="B")])
    answers = [run("凤凰计划", catalog, Scope(tenant, ("r",))).answer for tenant in ("A", "B", "A")]
    assert answers == ["凤凰计划 属于甲", "凤凰计划 属于乙", "凤凰计划 属于甲"]


def test_b073_the_same_question_as_of_two_moments_gets_two_answers():
    catalog = Catalog([document("old", "价格 100", valid_to=NOON), document("new", "价格 120", valid_from=NOON)])
    before = datetime(2026, 7, 1, tzinfo=timezone.utc)
    answers = [run("价格", catalog, Scope("t", ("r",), as_of=moment)).answer for moment in (before, NOON)]
    assert answers == ["价格 100", "价格 120"]


def test_b065_hidden_documents_do_not_fill_up_the_results():
    mine = [document(f"mine{number}", "alpha", tenant="A") for number in range(2)]
    theirs = [document(f"theirs{number}", "alpha alpha", tenant="B") for number in range(3)]
    outcome = run("alpha", Catalog(mine + theirs), Scope("A", ("r",)), Settings(k=4, hybrid=True))
    assert [hit.candidate.doc_id for hit in outcome.results] == ["mine0", "mine1"]
