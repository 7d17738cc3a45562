"""Seams: an encoder, a retriever and a reranker of the user's own, as tiny fakes, with the lab's rules around them."""
import json
import os
import subprocess
import sys

import pytest
from support import ROOT, document

from rag_lab import Lab, Scope, UsageError, build_lab
from rag_lab.corpus import Corpus, CorpusSettings
from rag_lab.model import Outcome
from rag_lab.seams import Seams, load_seams

SCOPE = Scope("t", ("r",))
QUERY = "升级到 3.2 的 Team 可以继续使用 SAML 吗？"
FAKES = '''
def as_list(text): return [text.count("SAML"), text.count("OIDC")]
def as_mapping(text): return {word: text.count(word) for word in ("SAML", "OIDC")}
def nan(text): return [float("nan")]
def retrieve(query, texts, k): return [(one, 1.0) for one in sorted(texts, reverse=True)]
def unknown(query, texts, k): return [("nobody#1", 1.0)]
def shortest(query, text): return -len(text)
def words(query, text): return "much"
number = 7
class Box:
    value = as_list
'''


def command(folder, *arguments: str) -> subprocess.CompletedProcess:
    """The real command, with the module of fakes in its current folder."""
    (folder / "fakes.py").write_text(FAKES, encoding="utf-8")
    return subprocess.run([sys.executable, "-m", "rag_lab", *arguments], cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, encoding="utf-8",
                          env={**os.environ, "PYTHONPATH": ROOT, "PYTHONIOENCODING": "utf-8"})


def asked(folder, *flags: str) -> dict:
    """What the command prints for `QUERY` with these flags, hybrid and reranked."""
    done = command(folder, "--corpus", "starboat", "--query", QUERY, "--hybrid", "--rerank", "--k", "12", "--threshold", "0",
                   *flags)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def lab_with(*documents, **callables) -> Lab:
    """A lab over these documents, cut by structure, with these callables under their own names."""
    settings = CorpusSettings("test", chunker="structure", scope=SCOPE)
    names = {seam: f"m:{seam}" for seam in callables}
    return Lab(Corpus(settings, documents), seams=Seams(**callables, names=names))


def search(lab: Lab, query: str = "退款", **options) -> Outcome:
    return lab.search(query, **{"hybrid": True, "rerank": True, "threshold": 0, **options})


def found(outcome: Outcome) -> list[str]:
    return [hit.candidate.doc_id for hit in (*outcome.results, *outcome.closest)]


VISIBLE = document("a", "退款甲"), document("b", "退款乙")
HIDDEN = document("h", "退款机密", roles=("boss",)), document("i", "退款机密", tenant="u"), document("j", "退款机密", status="retired")


# --- through the command ----------------------------------------------------------------------------------------------

def test_an_encoder_takes_the_place_of_the_second_channel_as_a_list_or_as_a_mapping(tmp_path):
    reports = [asked(tmp_path, "--encoder", f"fakes:{name}") for name in ("as_list", "as_mapping")]
    scores = [[(hit["chunk"]["chunk_id"], hit["dense_score"]) for hit in report["results"]] for report in reports]
    assert scores[0] == scores[1] and reports[0]["receipt"]["index"] != reports[1]["receipt"]["index"]
    # The query says SAML once, OIDC never; the chunk of the FAQ says SAML in heading, question and answer, and OIDC once.
    assert [round(3 / (1 * (9 + 1) ** 0.5), 4)] == [score for chunk_id, score in scores[0]
                                                    if chunk_id.startswith("faq-3.2-sso")]


def test_a_retriever_takes_the_place_of_the_second_channel_and_sees_live_chunks_only(tmp_path):
    report = asked(tmp_path, "--retriever", "fakes:retrieve")
    assert report["channel_sizes"]["dense"] == 12 and {hit["dense_score"] for hit in report["results"]} <= {1.0, None}
    assert not {"runbook-3.2-support", "plans-2.8", "preview-3.3"} & {hit["doc_id"] for hit in report["results"]}


def test_a_reranker_takes_the_place_of_the_labs_own(tmp_path):
    hits = asked(tmp_path, "--reranker", "fakes:shortest")["results"]
    lengths = [hit["chunk"]["end"] - hit["chunk"]["start"] for hit in hits]
    assert lengths == sorted(lengths) and [hit["rerank_score"] for hit in hits] == [-length for length in lengths]
    assert all(set(hit["parts"]) == {"score", "support"} and 0 <= hit["support"] <= 1 for hit in hits)


def test_a_part_of_the_users_own_changes_the_receipt_and_nothing_in_the_corpus(tmp_path):
    plain = asked(tmp_path)["receipt"]
    for flags in (["--encoder", "fakes:as_list"], ["--retriever", "fakes:retrieve"], ["--reranker", "fakes:shortest"]):
        receipt = asked(tmp_path, *flags)["receipt"]
        assert receipt["index"] != plain["index"]
        assert receipt | {"index": None} == plain | {"index": None}


def test_the_same_call_prints_the_same_bytes(tmp_path):
    assert len({json.dumps(asked(tmp_path, "--encoder", "fakes:as_list")) for _ in range(2)}) == 1


def test_an_evaluation_takes_a_part_of_the_users_own_too(tmp_path):
    done = command(tmp_path, "--corpus", "starboat", "--eval", "--hybrid", "--encoder", "fakes:as_list")
    assert done.returncode == 0 and json.loads(done.stdout)["counts"]["queries"] == 11


@pytest.mark.parametrize("flags, told", [
    (["--encoder", "fakes:nan"], "encoder 'fakes:nan' returned nan"),
    (["--retriever", "fakes:unknown"], "returned ('nobody#1', 1.0)"),
    (["--reranker", "fakes:words"], "reranker 'fakes:words' returned 'much'"),
    (["--encoder", "fakes:as_list", "--retriever", "fakes:retrieve"], "give one of them"),
    (["--encoder", "nowhere_at_all:f"], "cannot be loaded"), (["--encoder", "fakes:nothing"], "cannot be loaded"),
    (["--reranker", "fakes:number"], "is no callable"), (["--retriever", "fakes"], "is not module:name"),
    (["--encoder", "fakes:"], "is not module:name"), (["--encoder", ":as_list"], "is not module:name"),
    (["--encoder", ""], "is not module:name"), (["--encoder", "fakes.as_list"], "is not module:name"),
    (["--encoder", "fakes:as_list", "--encoder", "fakes:as_mapping"], "given twice")])
def test_a_part_that_cannot_be_used_is_a_usage_fault_without_traceback(flags, told, tmp_path):
    done = command(tmp_path, "--corpus", "starboat", "--query", QUERY, "--hybrid", "--rerank", *flags)
    assert (done.returncode, done.stdout) == (2, "") and told in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("flags, told", [
    (["--encoder", "fakes:as_list"], "add --hybrid"), (["--retriever", "fakes:retrieve", "--rerank"], "add --hybrid"),
    (["--reranker", "fakes:shortest", "--hybrid"], "goes with --rerank")])
def test_a_part_that_would_not_be_asked_is_a_usage_fault(flags, told, tmp_path):
    done = command(tmp_path, "--corpus", "starboat", "--query", QUERY, *flags)
    assert (done.returncode, done.stdout) == (2, "") and told in done.stderr


# --- hidden texts are never handed over -------------------------------------------------------------------------------

def test_an_encoder_is_handed_live_texts_only():
    texts = []
    outcome = search(lab_with(*VISIBLE, *HIDDEN, encoder=lambda text: texts.append(text) or [len(text)]))
    assert found(outcome) == ["a", "b"] and not any("机密" in text for text in texts)


def test_a_retriever_is_handed_live_texts_only():
    handed = []
    search(lab_with(*VISIBLE, *HIDDEN, retriever=lambda query, texts, k: handed.append(dict(texts)) or []))
    assert [sorted(texts.values()) for texts in handed] == [["退款乙", "退款甲"]]


def test_a_reranker_is_handed_live_texts_only():
    texts = []
    search(lab_with(*VISIBLE, *HIDDEN, reranker=lambda query, text: texts.append(text) or 1.0))
    assert sorted(texts) == ["退款乙", "退款甲"]


def test_a_retriever_is_handed_what_the_asking_scope_may_see():
    handed = []
    lab = lab_with(*VISIBLE, *HIDDEN, retriever=lambda query, texts, k: handed.append(sorted(texts.values())) or [])
    for scope in (Scope("t", ("boss",)), Scope("u", ("r",)), SCOPE._replace(roles=("nobody",))):
        search(lab, scope=scope)
    assert handed == [["退款机密"], ["退款机密"]]   # nobody has nothing to be searched


def test_a_deleted_document_is_no_longer_handed_over():
    handed = []
    lab = lab_with(*VISIBLE, retriever=lambda query, texts, k: handed.append(sorted(texts.values())) or [])
    lab.delete("a")
    search(lab)
    assert handed == [["退款乙"]]


# --- what they return is checked --------------------------------------------------------------------------------------

def test_a_retriever_that_returns_a_hidden_id_is_refused():
    hidden = next(iter(lab_with(*HIDDEN[:1]).chunks.by_id))
    with pytest.raises(UsageError, match="an id it was given"):
        search(lab_with(*VISIBLE, *HIDDEN, retriever=lambda query, texts, k: [(hidden, 1.0)]))


@pytest.mark.parametrize("rows", [None, 7, ["a"], [("x",)], [([], 1.0)], [{"id": "a"}], "text"])
def test_a_retriever_that_returns_anything_but_pairs_is_refused(rows):
    with pytest.raises(UsageError, match="retriever 'm:retriever' returned"):
        search(lab_with(*VISIBLE, retriever=lambda query, texts, k: rows))


@pytest.mark.parametrize("score", [float("nan"), float("inf"), "1", None, True, pytest.param(10 ** 400, id="huge")])
def test_a_score_that_is_no_finite_number_is_refused(score):
    with pytest.raises(UsageError, match="must return"):
        search(lab_with(*VISIBLE, retriever=lambda query, texts, k: [(next(iter(texts)), score)]))
    with pytest.raises(UsageError, match="must return a finite number"):
        search(lab_with(*VISIBLE, reranker=lambda query, text: score))


def test_ties_of_a_retriever_are_broken_by_id_repeats_count_once_and_no_more_than_asked_for_are_taken():
    def retriever(query, texts, k):
        first, *others = sorted(texts, reverse=True)
        return [(first, 0.5), *((one, 0.5) for one in others), (first, 0.9), (first, 0.9)]

    lab = lab_with(*(document(name, "x") for name in "abc"), retriever=retriever)
    hits = lab.search("y", hybrid=True, k=2, pool=2, threshold=0).channels[1].hits
    assert [(chunk_id[0], score) for chunk_id, score in hits] == [("a", 0.5), ("b", 0.5)]


def test_ties_of_a_reranker_keep_the_fused_order():
    assert found(search(lab_with(*VISIBLE[::-1], reranker=lambda query, text: 0))) == ["a", "b"]


def test_an_encoder_that_sees_nothing_finds_nothing():
    outcome = search(lab_with(*VISIBLE, encoder=lambda text: []))
    assert outcome.channels[1].hits == () and outcome.channels[1].note and found(outcome) == ["a", "b"]


def test_a_reranker_orders_but_the_labs_own_support_decides_whether_to_answer():
    lab = lab_with(document("a", "退款"), document("b", "退货"), reranker=lambda query, text: 1e9)
    assert lab.search("退款", rerank=True).decision == "answer" and lab.search("换新", rerank=True).refused


def test_parts_of_the_users_own_can_be_explained():
    lab = lab_with(*VISIBLE, retriever=lambda query, texts, k: [(one, 2.5) for one in texts], reranker=lambda query, text: 3)
    (hit, _) = search(lab, explain=True).results
    assert hit.explanation["dense"] == {"score": 2.5} and hit.explanation["rerank"]["score"] == 3


# --- loading, names, receipt ------------------------------------------------------------------------------------------

def test_seams_given_to_build_lab_take_the_place_of_the_labs_own_parts():
    def encoder(text):
        return {"saml": text.count("SAML")}

    lab = build_lab("starboat", seams=Seams(encoder=encoder, names={"encoder": "mine:encoder"}))
    plain = build_lab("starboat").search(QUERY, hybrid=True)
    outcome = lab.search(QUERY, hybrid=True)
    assert outcome.receipt["index"] != plain.receipt["index"] and outcome.receipt["corpus"] == plain.receipt["corpus"]
    assert {score for _, score in outcome.channels[1].hits} == {1.0}
    assert (lab.manifest["embedding_model_id"], lab.manifest["embedding_dimension"]) == ("mine:encoder", None)


@pytest.mark.parametrize("seam", ["encoder", "retriever", "reranker"])
def test_a_part_without_a_name_changes_the_receipt_too(seam):
    named = build_lab("starboat", seams=Seams(**{seam: lambda *given: [1.0]}))
    plain = build_lab("starboat")
    assert named.receipt(named.options(), named.scope)["index"] != plain.receipt(plain.options(), plain.scope)["index"]
    assert list(named.manifest) == list(plain.manifest)


def test_seams_are_loaded_by_module_and_name(tmp_path, monkeypatch):
    (tmp_path / "fakes_of_mine.py").write_text(FAKES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    seams = load_seams(encoder="fakes_of_mine:as_list", reranker="fakes_of_mine:shortest", retriever=None)
    assert seams.encoder("SAML OIDC SAML") == [2, 1] and seams.reranker("", "abc") == -3 and seams.retriever is None
    assert dict(seams.names) == {"encoder": "fakes_of_mine:as_list", "reranker": "fakes_of_mine:shortest"}


def test_an_encoder_and_a_retriever_are_refused_both_at_once_however_they_are_given():
    with pytest.raises(UsageError, match="give one of them"):
        load_seams(encoder="a:b", retriever="c:d")
    with pytest.raises(UsageError, match="give one of them"):
        lab_with(*VISIBLE, encoder=lambda text: [1], retriever=lambda query, texts, k: [])


def test_a_retriever_is_always_told_a_number_also_when_the_whole_ranking_is_asked_for():
    told = []

    def retriever(query, texts, k):
        told.append(k)
        return [(one, 1.0) for one in sorted(texts)][:k]

    lab = lab_with(*(document(f"d{number}", "red") for number in range(9)), retriever=retriever)
    outcome = lab.search("red", hybrid=True, k=1, pool=1, explain=True)
    assert lab.fate(outcome, "d8").channel_ranks == {"bm25": 9, "dense": 9} and set(told) == {1, 9}


def test_a_deletion_while_the_reranker_works_counts_no_document_twice():
    lab = lab_with(document("a", "red"), document("b", "red"), reranker=lambda query, text: doomed())

    def doomed() -> float:
        if not lab.catalog.tombstones:
            lab.delete("a")
        return 1.0

    outcome = search(lab, "red")
    assert [hit.candidate.doc_id for hit in outcome.results] == ["b"] and outcome.dropped == {"deleted": 1}
    assert {name: outcome.statistics[name] for name in ("documents", "active", "tombstoned")} == {
        "documents": 2, "active": 1, "tombstoned": 1}
