"""Loss by stage: one constructed case for each stage, totals that add up, and the story of one document behind them."""
import itertools
import json
import os
import random

import pytest
from support import SHARED, document, lab_of
from test_cli import printed, refused, run
from test_noninterference import ASKING, lab_over, random_corpus

from rag_lab import Lab, Settings, build_lab, evaluation, trec
from rag_lab.files import canonical_json
from rag_lab.evaluation import channel_losses
from rag_lab.loss import STAGES, Fate
from rag_lab.report import fate_block, search_report
from rag_lab.trec import Judged, Query


def stage(lab: Lab, query: str, doc_id: str, **options) -> str | None:
    return lab.fate(lab.search(query, **options), doc_id).stage


def needed(lab: Lab, query: str, doc_id: str, **options) -> str | None:
    return lab.fate(lab.search(query, **options), doc_id).needed


def returned(lab: Lab, query: str, **options) -> list[str]:
    return [hit.candidate.doc_id for hit in lab.search(query, **options).results]


# --- one case for each stage ------------------------------------------------------------------------------------------

# BM25 ranks equal tf by length: the more blanks of other words a text has, the lower. a > b > c > d for "red".
LADDER = [document(doc_id, "red" + " grey" * more) for more, doc_id in enumerate("abcd")]


def stale() -> Lab:
    """A lab whose index still holds the words of `a` of before an edit."""
    lab = lab_of(*LADDER)
    lab.catalog.put(document("a", "red as never before"))
    return lab


TITLED = [document("plain", "red green red green"), document("titled", "red green" + " grey" * 9, title="red green")]

CASES = {
    "not_eligible": (lambda: lab_of(*LADDER, document("x", "red", tenant="u")), "red", "x", {}),
    "not_recalled": (lambda: lab_of(*LADDER, document("x", "blue")), "red", "x", {}),
    "below_pool": (lambda: lab_of(*LADDER), "red", "d", {"k": 1, "pool": 3}),
    "gate": (stale, "red", "a", {}),
    "no_evidence": (lambda: lab_of(*LADDER, document("x", "red", trust="untrusted")), "red", "x", {}),
    "threshold": (lambda: lab_of(document("both", "red green"), document("x", "red")), "red green", "x",
                  {"threshold": 0.6, "threshold_on": "each_result"}),
    "rerank": (lambda: lab_of(*TITLED), "red green", "plain", {"k": 1, "rerank": True}),
    "cut": (lambda: lab_of(*LADDER), "red", "b", {"k": 1}),
    "refused": (lambda: lab_of(document("a", "red"), document("b", "green")), "red green", "a", {"threshold": 0.6}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_document_is_lost_at(name):
    make, query, doc_id, options = CASES[name]
    assert stage(make(), query, doc_id, **options) == name


def test_a_document_that_is_returned_is_lost_nowhere_and_needs_nothing():
    fate = lab_of(*LADDER).fate(lab_of(*LADDER).search("red"), "a")
    assert (fate.stage, fate.needed, fate.final_rank) == (None, None, 1)


def opposed() -> Lab:
    """Two channels with a pool of 1 each, that differ in whom they rank first: `a` for one, `b` for the other."""
    lab = lab_of(*(document(doc_id, "red") for doc_id in "abc"))
    lab._dense = Ranked({"b": 0.9, "c": 0.8, "a": 0.7}, "dense", lab.dense)
    lab._bm25 = Ranked({"a": 9.0, "c": 8.0, "b": 7.0}, "bm25", lab._bm25)
    return lab


class Ranked:
    """An index whose scores are given; for the rest it is the index it stands for."""

    def __init__(self, scores: dict, name: str, real):
        self.scores, self.name, self.real = scores, name, real

    def over(self, live_ids):
        return Ranked(self.scores, self.name, self.real.over(live_ids))

    def search(self, query, k):
        return sorted(self.scores.items(), key=lambda row: (-row[1], row[0]))[:k]

    def __getattr__(self, name):
        return getattr(self.real, name)


def test_a_document_is_lost_at_fusion():
    """With a pool of 1: a and b have 1/61 each; the id decides, so a goes on and b does not."""
    fate = opposed().fate(opposed().search("red", hybrid=True, k=1, pool=1), "b")
    assert (fate.stage, fate.fused_rank, dict(fate.channel_ranks)) == ("fusion", 2, {"bm25": 3, "dense": 1})


def test_every_stage_has_a_case():
    assert sorted([*CASES, "fusion"]) == sorted(STAGES)


# --- what would have had to differ ------------------------------------------------------------------------------------

def number_in(sentence: str) -> float:
    """The first number of a sentence."""
    return float(next(word for word in sentence.replace(",", " ").split() if word[0].isdigit()))


@pytest.mark.parametrize("doc_id, rank", [("b", 2), ("c", 3), ("d", 4)])
def test_a_document_below_the_cut_comes_back_with_the_k_that_is_named_and_not_with_one_less(doc_id, rank):
    lab = lab_of(*LADDER)
    assert needed(lab, "red", doc_id, k=1) == f"k of at least {rank}"
    assert doc_id in returned(lab, "red", k=rank) and doc_id not in returned(lab, "red", k=rank - 1)


def test_what_the_reranker_pushed_down_comes_back_with_the_k_that_is_named_or_without_a_reranker():
    lab = lab_of(*TITLED)
    assert needed(lab, "red green", "plain", k=1, rerank=True) == "k of at least 2, or no reranker"
    assert returned(lab, "red green", k=2, rerank=True) == ["titled", "plain"]
    assert returned(lab, "red green", k=1) == ["plain"]


def test_what_lies_below_the_pool_comes_back_with_the_pool_that_is_named_if_the_reranker_likes_it():
    lab = lab_of(*TITLED)
    options = {"k": 1, "rerank": True}
    assert needed(lab, "red green", "titled", pool=1, **options) == "a pool of at least 2"
    assert returned(lab, "red green", pool=2, **options) == ["titled"]


def test_what_lies_below_the_pool_is_recalled_with_the_pool_that_is_named_and_not_with_one_less():
    lab = lab_of(*LADDER)
    assert number_in(needed(lab, "red", "d", k=1, pool=2)) == 4
    assert (stage(lab, "red", "d", k=1, pool=3), stage(lab, "red", "d", k=1, pool=4)) == ("below_pool", "cut")


def test_what_lies_below_the_pool_of_one_channel_needs_the_k_as_well():
    """Without a reranker rank 4 stays rank 4: a pool of 4 alone returns nothing more."""
    lab = lab_of(*LADDER)
    said = needed(lab, "red", "d", k=1, pool=2)
    assert returned(lab, "red", k=1, pool=4) == ["a"] and returned(lab, "red", k=4, pool=4) == ["a", "b", "c", "d"]
    assert "k of at least 4" in said


def test_what_was_lost_in_fusion_goes_on_with_the_pool_that_is_named():
    """Pool 2: c is second in both, 2/62, above a and b with 1/61 each, so that b is third. Pool 3 takes all three."""
    lab = opposed()
    pool = int(number_in(needed(lab, "red", "b", hybrid=True, k=1, pool=1)))
    assert stage(lab, "red", "b", hybrid=True, k=1, pool=2) == "fusion"
    assert stage(lab, "red", "b", hybrid=True, k=1, pool=pool) in (None, "cut")


# Of the query's words, all known, the text holds the share `support`; printed with four decimals it must not be rounded up.
SHARES = [("one", "one two three", 1 / 3), ("one two", "one two three", 2 / 3),
          ("one two", "one two three four five six seven", 2 / 7)]


@pytest.mark.parametrize("text, query, share", SHARES)
def test_what_was_refused_comes_back_with_the_threshold_that_is_named(text, query, share):
    lab = lab_of(document("a", text), document("b", "one two three four five six seven", trust="untrusted"))
    assert lab.search(query, threshold=1).best_support == pytest.approx(share)
    threshold = number_in(needed(lab, query, "a", threshold=1))
    assert threshold == pytest.approx(share, abs=1e-4) and returned(lab, query, threshold=threshold) == ["a"]


@pytest.mark.parametrize("text, query, share", SHARES)
def test_what_fell_below_a_threshold_on_each_result_comes_back_with_the_threshold_that_is_named(text, query, share):
    lab = lab_of(document("a", text), document("b", "one two three four five six seven"))
    options = {"threshold_on": "each_result"}
    assert stage(lab, query, "a", threshold=1, **options) == "threshold"
    threshold = number_in(needed(lab, query, "a", threshold=1, **options))
    assert "a" in returned(lab, query, threshold=threshold, **options)


def test_what_was_refused_on_each_result_is_told_its_own_support_not_the_best():
    """a holds two of four words, b one: with a threshold of 0.5 only a comes back, with 0.25 both."""
    lab = lab_of(document("a", "one two"), document("b", "three"), document("c", "four", trust="untrusted"))
    options = {"threshold_on": "each_result"}
    query = "one two three four"
    assert stage(lab, query, "b", threshold=0.9, **options) == "refused"
    assert number_in(needed(lab, query, "b", threshold=0.9, **options)) == 0.25
    assert returned(lab, query, threshold=0.25, **options) == ["a", "b"]


def test_what_stands_below_the_first_k_of_a_refusal_is_told_of_the_threshold_too():
    """a and b hold one of two words; with k of 2 the lab would still refuse, so a larger k alone brings nothing back."""
    lab = lab_of(document("a", "one"), document("b", "one grey"), document("c", "two" + " grey" * 20, trust="untrusted"))
    said = needed(lab, "one one one two", "b", k=1, threshold=0.6)
    assert returned(lab, "one one one two", k=2, threshold=0.6) == []
    assert returned(lab, "one one one two", k=2, threshold=0.5) == ["a", "b"]
    assert "k of at least 2" in said and "a threshold of at most 0.5" in said


def test_what_may_be_no_evidence_takes_no_place_among_the_first_k():
    """x ranks first and is left out, so that c is the third of those that may come out, not the fourth."""
    lab = lab_of(*LADDER, document("x", "red red", trust="untrusted"))
    assert lab.search("red").ranked[0].doc_id == "x"
    assert needed(lab, "red", "c", k=1) == "k of at least 3" and returned(lab, "red", k=3) == ["a", "b", "c"]


# --- totals -----------------------------------------------------------------------------------------------------------

def measured(lab: Lab, judged: Judged, **options) -> evaluation.Evaluation:
    return evaluation.evaluate(lab.search, judged, lab.options(**options), lab.fate)


def missed(result) -> list[str]:
    return [doc_id for doc_id in result.relevant if doc_id not in result.returned]


def assert_adds_up(lab: Lab, judged: Judged, every: int = 1, **options) -> None:
    """Each missed judgement has one stage, --eval's totals are their counts, and the story of a sample of them agrees."""
    found = measured(lab, judged, **options)
    assert list(found.losses) == list(STAGES)
    assert sum(found.losses.values()) == sum(len(missed(result)) for result in found.queries)
    for result in found.queries:
        assert [doc_id for doc_id, _ in result.lost] == missed(result)
    for name in STAGES:
        assert found.losses[name] == sum(one == name for result in found.queries for _, one in result.lost)
    for result in found.queries[::every]:
        outcome = lab.search(result.query.text, **options)
        assert all(fate_block(lab.fate(outcome, doc_id))["stage"] == name for doc_id, name in result.lost)
        assert all(lab.fate(outcome, doc_id).stage is None for doc_id in result.returned)


HOW = [{}, {"k": 1, "pool": 1}, {"k": 1, "pool": 2, "hybrid": True}, {"k": 2, "pool": 3, "hybrid": True, "rerank": True},
       {"k": 2, "rerank": True, "threshold": 0.7, "threshold_on": "each_result"}, {"hybrid": True, "threshold": 0.9}]


def random_judged(seed: int, doc_ids: list[str]) -> Judged:
    choose = random.Random(seed)
    texts = ("退款 SAML", "凤凰", "Team 升级 成员", "3.2 删除", "OIDC")
    queries = tuple(Query(f"q{at}", text) for at, text in enumerate(texts))
    qrels = {query.query_id: {doc_id: choose.randint(0, 2) for doc_id in [*doc_ids, "none-such"] if choose.random() < 0.7}
             for query in queries}
    return Judged(queries, qrels, "test")


@pytest.mark.parametrize("seed", range(30))
def test_over_random_corpora_the_stages_add_up_to_the_missed_judgements(seed):
    settings, visible, hidden = random_corpus(seed)
    lab = lab_over(settings, visible + hidden)
    judged = random_judged(seed, [one.doc_id for one in visible + hidden])
    for options in HOW:
        assert_adds_up(lab, judged, **options)


@pytest.mark.parametrize("name, queries, every", [("xquad-zh", 200, 10), ("cranfield", 30, 5)])
def test_over_shared_data_the_stages_add_up_to_the_missed_judgements(name, queries, every):
    folder = os.path.join(SHARED, name)
    if not os.path.exists(os.path.join(folder, "corpus.jsonl")):
        pytest.skip(f"../shared/data/{name} is not here")
    lab = build_lab(folder)
    judged = trec.read_judged(lab.qrels_path)
    assert_adds_up(lab, judged._replace(queries=judged.queries[:queries]), every, rerank=True)


@pytest.mark.parametrize("flags", [(), ("--hybrid", "--rerank"), ("--k", "1", "--pool", "2", "--hybrid")])
def test_the_command_tells_the_same_stage_of_a_document_as_its_evaluation(flags):
    told = printed("--eval", *flags)
    assert list(told["losses"]) == list(STAGES)
    lost = [(row["query"], one) for row in told["queries"] for one in row["lost"]]
    assert len(lost) == sum(told["losses"].values()) == sum(len(set(row["relevant"]) - set(row["returned"]))
                                                            for row in told["queries"])
    for query, one in lost[:3]:
        assert printed("--query", query, "--why", one["doc_id"], *flags)["why"]["stage"] == one["stage"]


# --- the story of one document ----------------------------------------------------------------------------------------

WHY_KEYS = ["doc_id", "stage", "meaning", "channel_ranks", "channel_scores", "fused_rank", "fused_score", "final_rank",
            "parts", "needed"]


def story(lab: Lab, query: str, doc_id: str, **options) -> str:
    outcome = lab.search(query, **options)
    return canonical_json(search_report(outcome, lab.fate(outcome, doc_id)))


@pytest.mark.parametrize("seed", range(20))
def test_the_story_of_a_hidden_document_is_that_of_one_that_never_was(seed):
    settings, visible, hidden = random_corpus(seed)
    lab, without = lab_over(settings, visible + hidden), lab_over(settings, visible)
    for one, options in itertools.product(hidden, HOW):
        for query in ("退款 凤凰", one.text):
            with_it = story(lab, query, one.doc_id, scope=ASKING, **options)
            assert with_it == story(without, query, one.doc_id, scope=ASKING, **options)
            assert with_it.replace(f'"{one.doc_id}"', '"?"') == story(lab, query, "nobody", scope=ASKING,
                                                                    **options).replace('"nobody"', '"?"')


@pytest.mark.parametrize("hidden", ["私有A", "邻户E"])
def test_the_command_answers_for_a_hidden_id_as_for_an_unknown_one(hidden):
    asked = {doc_id: run("--corpus", "acl", "--query", "导出任务超时", "--why", doc_id) for doc_id in (hidden, "无此文档")}
    assert [done.returncode for done in asked.values()] == [0, 0] and [done.stderr for done in asked.values()] == [b"", b""]
    one, other = (done.stdout.replace(doc_id.encode(), b"?") for doc_id, done in asked.items())
    assert one == other and json.loads(one)["why"]["stage"] == "not_eligible"


def test_the_story_has_its_keys_in_order_whatever_became_of_the_document():
    for doc_id in ("私有A", "公开C", "公开D"):
        why = printed("--corpus", "acl", "--query", "导出任务超时", "--k", "1", "--why", doc_id)["why"]
        assert list(why) == WHY_KEYS and why["doc_id"] == doc_id


def test_a_deleted_document_has_the_story_of_one_that_never_was():
    deleted = printed("--corpus", "acl", "--query", "导出", "--delete", "公开C", "--why", "公开C")["why"]
    unknown = printed("--corpus", "acl", "--query", "导出", "--why", "无此文档")["why"]
    assert {**deleted, "doc_id": None} == {**unknown, "doc_id": None}


def test_without_why_the_key_is_there_and_null():
    assert printed("--corpus", "acl", "--query", "导出")["why"] is None


@pytest.mark.parametrize("flags", [("--eval", "--why", "公开C"), ("--why", "公开C"), ("--eval", "--why", "")])
def test_why_without_a_query_is_a_usage_fault(flags):
    refused(run("--corpus", "handbook", *flags), 2)


def test_the_numbers_of_a_story_are_those_of_the_ranking():
    lab = lab_of(*LADDER)
    fate = lab.fate(lab.search("red", k=1), "c")
    scores = dict(lab.search("red").channels[0].hits)
    assert (dict(fate.channel_ranks), dict(fate.channel_scores)) == ({"bm25": 3}, {"bm25": scores["c"]})
    assert (fate.fused_rank, fate.final_rank, fate.candidate.score) == (3, 3, scores["c"])
    assert fate_block(fate)["meaning"] == STAGES["cut"] == "it stands below the first k"


def test_a_settings_object_is_judged_by_its_own_k():
    lab = lab_of(*LADDER)
    assert lab.fate(lab.search("red", Settings(k=3)), "c").stage is None


def test_the_losses_by_channel_tell_which_channel_never_found_what_was_missed():
    """"red" is in a to d; e holds no word of the query, and d lies below a pool of 3 of the one channel that ran."""
    fates = [Fate("d", "below_pool", {"bm25": 4, "dense": None}, {}, None, None, None, None),
             Fate("e", "not_recalled", {"bm25": None, "dense": None}, {}, None, None, None, None),
             Fate("hidden", "not_eligible", {}, {}, None, None, None, None)]
    assert channel_losses(fates, 3) == {"bm25": {"not_recalled": 1, "below_pool": 1},
                                        "dense": {"not_recalled": 2, "below_pool": 0}}
