"""The lab as a user holds it: it answers, deletes, takes in and evaluates, and what is hidden moves nothing in any of it."""
import hashlib
import random
from datetime import datetime, timezone

import pytest
from support import document, lab_of, random_query

from rag_lab import DataError, Lab, Scope, Settings, UsageError, build_lab
from rag_lab.corpus import Corpus, CorpusSettings
from rag_lab.files import canonical_json
from rag_lab.report import search_report
from rag_lab.scores import evaluation_report

NOON = datetime(2026, 8, 1, 12, tzinfo=timezone.utc)
EVERYTHING = {"hybrid": True, "rerank": True, "explain": True, "show_context": True, "k": 3}
HANDBOOK = build_lab()


def lab_for(scope: Scope, *documents) -> Lab:
    return Lab(Corpus(CorpusSettings("test", scope=scope), tuple(sorted(documents, key=lambda one: one.doc_id))))


def printed(lab: Lab, query: str, **options) -> str:
    """The JSON document of one query, as the command line prints it."""
    return canonical_json(search_report(lab.search(query, **options)))


def returned(outcome) -> list[str]:
    return [hit.candidate.doc_id for hit in outcome.results]


def judge(lab: Lab, folder, queries: dict, qrels: dict) -> Lab:
    """The lab with these judgements: query id -> text, and query id -> relevant ids."""
    path = folder / "qrels.tsv"
    rows = [f"{query_id}\t{doc_id}\t1\n" for query_id, ids in qrels.items() for doc_id in ids]
    path.write_text("query-id\tcorpus-id\tscore\n" + "".join(rows), encoding="utf-8")
    lines = [f'{{"_id": "{query_id}", "text": "{text}"}}\n' for query_id, text in queries.items()]
    (folder / "qrels.queries.jsonl").write_text("".join(lines), encoding="utf-8")
    lab.qrels_path = str(path)
    return lab


# --- what is hidden moves nothing -----------------------------------------------------------------------------------

HIDDEN = [{"tenant": "u"}, {"tenant": None}, {"roles": ("boss",)}, {"roles": ()}, {"status": "withdrawn"},
          {"status": "retired"}, {"valid_to": NOON}, {"applies_from": "3.10"}]
ASKING = Scope("t", ("r",), as_of=NOON, product_version="3.2")


def random_documents(seed: int) -> tuple[list, list]:
    """(documents that ASKING sees, documents that it does not), with the same words, some of them rare."""
    choose = random.Random(seed)

    def text():
        return "。".join("".join(choose.choice("甲乙丙丁 ab") for _ in range(choose.randint(0, 9))) for _ in range(2))

    visible = [document(f"v{number}", text(), title=text()) for number in range(choose.randint(0, 6))]
    hidden = [document(f"{choose.choice('avz')}-hidden{number}", text() + "凤凰", title=text(), **choose.choice(HIDDEN))
              for number in range(choose.randint(1, 6))]
    return visible, hidden


@pytest.mark.parametrize("seed", range(30))
def test_whatever_a_query_prints_is_the_same_with_hidden_documents_and_without_them(seed):
    visible, hidden = random_documents(seed)
    without, among = lab_for(ASKING, *visible), lab_for(ASKING, *visible, *hidden)
    for query in ("甲乙丙", "a b", "丁 凤凰", "凤凰", "", "甲" + random_query(seed)):
        for options in ({}, {"hybrid": True}, EVERYTHING, {"threshold": 1, "explain": True}):
            assert printed(among, query, **options) == printed(without, query, **options)


@pytest.mark.parametrize("seed", range(10))
def test_an_evaluation_is_the_same_with_hidden_documents_and_without_them(seed, tmp_path):
    visible, hidden = random_documents(seed)
    queries = {"q1": "甲乙", "q2": "凤凰", "q3": "a b 丙"}
    qrels = {"q1": ["v0", "v1"], "q2": [hidden[0].doc_id], "q3": ["v2", hidden[-1].doc_id]}
    labs = [judge(lab_for(ASKING, *documents), tmp_path, queries, qrels) for documents in (visible, visible + hidden)]
    reports = [canonical_json(evaluation_report(lab.evaluate(hybrid=True, k=2))) for lab in labs]
    assert reports[0] == reports[1]


@pytest.mark.parametrize("seed", range(10))
def test_a_deletion_prints_the_same_with_hidden_documents_and_without_them(seed):
    visible, hidden = random_documents(seed)
    mine = document("mine", "甲乙丙丁")
    labs = [lab_for(ASKING, mine, *visible), lab_for(ASKING, mine, *visible, *hidden)]
    for lab in labs:
        lab.delete("mine")
    assert printed(labs[0], "甲乙", **EVERYTHING) == printed(labs[1], "甲乙", **EVERYTHING)


@pytest.mark.parametrize("seed", range(10))
def test_the_indexes_of_a_lab_are_the_same_with_hidden_documents_and_without_them(seed):
    visible, hidden = random_documents(seed)
    without, among = lab_for(ASKING, *visible), lab_for(ASKING, *visible, *hidden)
    for name in ("bm25", "hashed"):
        assert getattr(among, name).search("甲乙 a", 50) == getattr(without, name).search("甲乙 a", 50)
        for doc_id in [one.doc_id for one in visible + hidden]:
            assert getattr(among, name).explain("甲乙 a", doc_id) == getattr(without, name).explain("甲乙 a", doc_id)
    assert (among.bm25.n, among.bm25.avgdl, among.bm25.vocabulary_size) == (
        without.bm25.n, without.bm25.avgdl, without.bm25.vocabulary_size)


def test_b067_a_hundred_documents_of_another_tenant_change_no_field_that_is_visible():
    mine = [document("a", "凤凰计划 的预算", tenant="A"), document("b", "另一份计划", tenant="A")]
    theirs = [document(f"b{number}", "凤凰计划 凤凰计划", tenant="B") for number in range(100)]
    scope = Scope("A", ("r",))
    before, after = (printed(lab_for(scope, *documents), "凤凰计划", **EVERYTHING) for documents in (mine, mine + theirs))
    assert before == after


def test_b068_what_the_lab_lists_is_of_permitted_documents_only():
    lab = lab_of(document("a", "x", kind="faq"), document("h", "x", kind="secret", tenant="u"),
                 document("r", "x", roles=("boss",)))
    assert list(lab.docs) == ["a"] and {one.kind for one in lab.docs.values()} == {"faq"}
    assert lab.search("x").statistics["documents"] == 1


def test_b068_an_error_does_not_tell_a_hidden_id_from_an_unknown_one():
    lab = lab_of(document("a", "x"), document("hidden", "x", tenant="u"))
    with pytest.raises(UsageError) as hidden:
        lab.delete("hidden")
    with pytest.raises(UsageError) as unknown:
        lab.delete("unknown")
    assert str(hidden.value).replace("hidden", "unknown") == str(unknown.value)


# --- deleting -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(20))
def test_deleting_equals_never_having_had_the_document(seed):
    visible, _ = random_documents(seed)
    lab, fresh = lab_of(document("gone", "甲乙 a b 丙丁"), *visible), lab_of(*visible)
    printed(lab, "甲乙 a", **EVERYTHING)   # whatever this made or kept must know of the deletion
    lab.delete("gone")
    for query in ("甲乙丙", "a b", "丁"):
        reports = [search_report(one.search(query, **EVERYTHING)) for one in (lab, fresh)]
        assert reports[0]["tombstones"] and reports[0]["corpus"]["tombstoned"] == 1
        for report in reports:
            del report["tombstones"], report["corpus"]["tombstoned"], report["corpus"]["documents"]
        assert canonical_json(reports[0]) == canonical_json(reports[1])
        assert lab.bm25.search(query, None) == fresh.bm25.search(query, None)
        assert lab.hashed.search(query, None) == fresh.hashed.search(query, None)


def test_b101_a_deleted_document_is_gone_from_every_read_path(tmp_path):
    lab = lab_of(document("gone", "alpha"), document("kept", "alpha beta"))
    judge(lab, tmp_path, {"q": "alpha"}, {"q": ["gone", "kept"]}).delete("gone")
    assert list(lab.docs) == ["kept"]
    for index in (lab.bm25, lab.hashed):
        assert [doc_id for doc_id, _ in index.search("alpha")] == ["kept"] and index.explain("alpha", "gone") is None
    for threshold in (0, 1):   # as a result, and as what came closest to a refused question
        outcome = lab.search("alpha gamma", threshold=threshold, **EVERYTHING)
        assert [hit.candidate.doc_id for hit in outcome.results + outcome.closest] == ["kept"]
        assert all(doc_id == "kept" for channel in outcome.channels for doc_id, _ in channel.hits)
        assert outcome.statistics["active"] == 1 and outcome.statistics["tombstoned"] == 1
    assert lab.evaluate().queries[0].returned == ("kept",)
    assert "gone" not in printed(lab, "alpha", **EVERYTHING).split('"tombstones"')[0]


def test_b100_deleted_documents_use_up_no_place():
    gone = [document(f"gone{number}", "alpha alpha alpha") for number in range(3)]
    lab = lab_of(*gone, document("live", "alpha beta gamma"))
    for number in range(3):
        lab.delete(f"gone{number}")
    assert returned(lab.search("alpha", k=3, pool=3, hybrid=True)) == ["live"]


def test_objects_taken_before_a_deletion_answer_from_the_past():
    lab = lab_of(document("a", "alpha"), document("b", "alpha beta"))
    bm25, hashed, docs = lab.bm25, lab.hashed, lab.docs
    before = bm25.search("alpha"), hashed.search("alpha"), list(docs)
    lab.delete("a")
    assert (bm25.search("alpha"), hashed.search("alpha"), list(docs)) == before
    assert [doc_id for doc_id, _ in before[0]] == ["a", "b"] and [doc_id for doc_id, _ in lab.bm25.search("alpha")] == ["b"]


def test_the_other_index_knows_of_a_deletion_whether_it_was_made_before_or_after():
    for asked_before in (True, False):
        lab = lab_of(document("a", "alpha"), document("b", "alpha beta"))
        if asked_before:
            lab.search("alpha", hybrid=True)
        lab.delete("a")
        assert returned(lab.search("alpha", hybrid=True)) == ["b"]


def test_delete_returns_the_tombstone_with_its_reason():
    stone = lab_of(document("a", "x", version=4)).delete("a", reason="expired")
    assert (stone.doc_id, stone.version, stone.reason, stone.request_id) == ("a", 4, "expired", "del-a-1")


@pytest.mark.parametrize("doc_id", ["unknown", "A", "a ", "", 7, None])
def test_deleting_what_is_not_there_is_a_fault_of_the_call(doc_id):
    lab = lab_of(document("a", "x"), document("7", "x"))
    with pytest.raises(UsageError):
        lab.delete(doc_id)
    assert list(lab.docs) == ["7", "a"]


# --- putting --------------------------------------------------------------------------------------------------------

def test_b046_replacing_a_long_document_by_a_short_one_equals_a_fresh_build():
    others = [document("b", "alpha beta"), document("c", "beta gamma")]
    lab = lab_of(document("a", "alpha word " * 5000), *others)
    lab.put(document("a", "alpha " * 10))
    fresh = lab_of(document("a", "alpha " * 10), *others)
    assert lab.bm25.avgdl == fresh.bm25.avgdl == (10 + 2 + 2) / 3
    assert printed(lab, "alpha beta", **EVERYTHING) == printed(fresh, "alpha beta", **EVERYTHING)


def test_b103_an_edit_of_one_word_is_searched_at_once_and_the_receipt_changes():
    lab = lab_of(document("a", "alpha beta"), document("b", "beta"))
    before = lab.search("alpha", hybrid=True)
    lab.put(document("a", "omega beta"))
    assert returned(before) == ["a"] and returned(lab.search("alpha")) == []
    after = lab.search("omega", hybrid=True)
    assert returned(after)[0] == "a" and after.results[0].citation.quote == "omega beta"
    assert before.receipt["corpus"] != after.receipt["corpus"] and before.receipt["index"] != after.receipt["index"]


def test_b104_a_catalog_that_changed_under_the_index_is_never_shown_with_the_old_text():
    lab = lab_of(document("a", "alpha"), document("b", "alpha beta"))
    lab.catalog.put(document("a", "omega"))   # not through the lab: the index is now older
    outcome = lab.search("alpha", hybrid=True)
    assert returned(outcome) == ["b"] and outcome.dropped == {"changed": 1}


def test_a_new_document_takes_part_at_once():
    lab = lab_of(document("b", "beta"))
    lab.put(document("a", "alpha beta"))
    fresh = lab_of(document("a", "alpha beta"), document("b", "beta"))
    assert printed(lab, "alpha", **EVERYTHING) == printed(fresh, "alpha", **EVERYTHING)


def test_putting_a_deleted_id_does_not_bring_it_back():
    lab = lab_of(document("a", "alpha"), document("b", "beta"))
    lab.delete("a")
    lab.put(document("a", "alpha again"))
    assert list(lab.docs) == ["b"] and returned(lab.search("alpha", hybrid=True)) == []


def test_putting_a_hidden_document_changes_no_output():
    lab = lab_of(document("a", "alpha"))
    before = printed(lab, "alpha", **EVERYTHING)
    lab.put(document("h", "alpha alpha", tenant="u"))
    assert printed(lab, "alpha", **EVERYTHING) == before


# --- citations ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("options", [{}, {"hybrid": True}, {"hybrid": True, "rerank": True}])
def test_every_citation_of_every_judged_query_slices_back_and_hashes(options):
    checked = 0
    for result in HANDBOOK.evaluate(**options).queries:
        outcome = HANDBOOK.search(result.query.text, **options)
        for hit in outcome.results + outcome.closest:
            cited, text = hit.citation, HANDBOOK.docs[hit.candidate.doc_id].text
            assert text[cited.start:cited.end] == cited.quote != ""
            assert cited.content_hash == hashlib.sha256(cited.quote.encode("utf-8")).hexdigest()[:16]
            assert (cited.doc_id, cited.version) == (hit.candidate.doc_id, HANDBOOK.docs[cited.doc_id].version)
            checked += 1
    assert checked > 13


# --- the ends of the scale ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("query, documents, reason", [
    ("alpha", [], "empty_corpus"), ("", [], "empty_corpus"), ("alpha", [("h", "alpha", {"tenant": "u"})], "empty_corpus"),
    ("", [("a", "alpha", {})], "empty_query"), ("   ", [("a", "alpha", {})], "empty_query"),
    ("？！", [("a", "alpha", {})], "empty_query"), ("\u200b", [("a", "alpha", {})], "empty_query"),
    ("omega", [("a", "alpha", {})], "insufficient_evidence"), ("猫", [("a", "小猫在屋顶", {})], "query_too_short"),
    ("alpha", [("a", "", {}), ("b", " 。", {})], "insufficient_evidence")])
@pytest.mark.parametrize("options", [{}, EVERYTHING])
def test_nothing_to_answer_with_is_a_short_answer_with_a_reason(query, documents, reason, options):
    outcome = lab_of(*(document(doc_id, text, **fields) for doc_id, text, fields in documents)).search(query, **options)
    assert (outcome.decision, outcome.refused, outcome.reason) == ("refuse", True, reason)
    assert (outcome.results, outcome.closest, outcome.answer, outcome.best_support) == ((), (), None, 0.0)
    assert canonical_json(search_report(outcome))   # no NaN anywhere: it would raise


def test_b047_text_without_terms_is_no_hit_and_makes_no_nan():
    lab = lab_of(document("a", "！！"), document("b", "alpha"))
    assert lab.hashed.search("？？") == [] and "NaN" not in printed(lab, "？？", **EVERYTHING)
    assert returned(lab.search("alpha", **EVERYTHING)) == ["b"]


def test_b038_a_k_beyond_the_corpus_returns_what_there_is():
    lab = lab_of(*(document(f"d{number}", "alpha") for number in range(3)))
    outcome = lab.search("alpha", k=50)
    assert returned(outcome) == ["d0", "d1", "d2"] and outcome.settings.pool == 50
    assert [hit.rank for hit in outcome.results] == [1, 2, 3]


@pytest.mark.parametrize("options", [
    {"k": 0}, {"k": -1}, {"k": 2.0}, {"k": True}, {"k": "3"}, {"k": None}, {"pool": 0}, {"k": 5, "pool": 4}, {"rrf_k": -1},
    {"threshold": -0.1}, {"threshold": 1.1}, {"threshold": float("nan")}, {"threshold": "0.3"}, {"threshold": None},
    {"topk": 3}, {"tenant": "u"}, {"filter": {"tenent": "a"}}, {"hybird": True}, {"hybrid": "no"}, {"rerank": 1},
    {"prefer": {"kind": "faq"}}], ids=ascii)
def test_b074_an_option_that_is_unknown_or_out_of_range_is_refused_by_name(options):
    with pytest.raises(UsageError, match=list(options)[-1]):
        lab_of(document("a", "alpha")).search("alpha", **options)


def test_options_and_a_settings_object_are_not_mixed():
    lab = lab_of(document("a", "alpha"))
    assert lab.search("alpha", Settings(k=1)).settings == lab.search("alpha", k=1).settings
    with pytest.raises(UsageError):
        lab.search("alpha", Settings(k=1), k=2)


# --- building -------------------------------------------------------------------------------------------------------

def test_the_handbook_is_built_by_default_with_its_judgements():
    assert len(HANDBOOK.docs) == 30 and HANDBOOK.settings.name == "handbook"
    assert len(HANDBOOK.evaluate(k=5).queries) == 13
    assert list(HANDBOOK.docs) == sorted(HANDBOOK.docs) and HANDBOOK.docs["data-deletion"].version == 6


def test_labs_share_nothing():
    one, other = build_lab(), build_lab()
    one.delete("billing-refund-faq")
    assert "billing-refund-faq" in other.docs and not other.search("退款").tombstones


@pytest.mark.parametrize("name", ["handbok", "handbook/", "no/such/folder", ""])
def test_an_unknown_corpus_is_a_fault_of_the_call_that_names_it(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="corpus"):
        build_lab(name)


def test_judgements_are_found_beside_a_beir_corpus_and_missing_ones_are_named(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "alpha"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="qrels"):
        build_lab(str(tmp_path)).evaluate()
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n", encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "alpha"}\n', encoding="utf-8")
    assert build_lab(str(tmp_path)).evaluate().macro["recall@k"] == 1.0


def test_judgements_that_are_not_there_are_a_fault_of_the_call():
    with pytest.raises(UsageError, match="qrels"):
        build_lab("handbook", "no-such-qrels")


def test_broken_judgements_are_a_fault_of_the_data(tmp_path):
    (tmp_path / "bad.tsv").write_text("q1 0 d1 1_0\n", encoding="utf-8")
    with pytest.raises(DataError):
        build_lab("handbook", str(tmp_path / "bad.tsv")).evaluate()


def test_a_receipt_changes_with_what_it_stands_for_and_with_nothing_else():
    lab = lab_of(document("a", "alpha"), document("b", "beta"))
    first = lab.search("alpha").receipt
    assert lab.search("other query", explain=True, show_context=True).receipt == first
    assert [name for name, value in lab.search("alpha", k=4).receipt.items() if value != first[name]] == ["settings"]
    lab.delete("b")
    assert [name for name, value in lab.search("alpha").receipt.items() if value != first[name]] == ["corpus", "index"]
