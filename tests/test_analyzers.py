"""The two rules by which a text becomes terms: their forms, a corpus and its rule."""
import json
import random

import pytest
from support import document
from test_cli import printed, refused, run
from test_source_code import PIECES

from rag_lab import Lab, Scope, build_lab
from rag_lab.analyzers import ANALYZERS, analyzer_of, side_by_side
from rag_lab.corpus import Corpus, CorpusSettings


@pytest.mark.parametrize("seed", range(20))
def test_the_forms_of_a_rule_agree(seed):
    text = "".join(random.Random(seed).choices(PIECES, k=12))
    for name in ANALYZERS:
        analyzer, shown = analyzer_of(name), side_by_side(text)["analyzers"][name]
        assert list(analyzer.terms(text)) == [row["term"] for row in shown]
        assert analyzer.term_set(text) == frozenset(analyzer.terms(text))


# --- a corpus and its rule --------------------------------------------------------------------------------------------

def lab(analyzer: str, *documents) -> Lab:
    return Lab(Corpus(CorpusSettings("test", analyzer=analyzer, scope=Scope("t", ("r",))), documents))


DOCS = (document("code", "Call getUserName before you retry."), document("other", "Nothing of that kind stands here."))


def returned(one: Lab, query: str, **options) -> list[str]:
    return [hit.candidate.doc_id for hit in one.search(query, **options).results]


@pytest.mark.parametrize("query", ["user", "name", "USER", "user_name", "getUserName", "get_user_name", "userNames user"])
def test_words_in_a_name_find_it_where_the_corpus_says_code(query):
    assert returned(lab("code", *DOCS), query) == ["code"]


@pytest.mark.parametrize("query, expected", [("user", []), ("getUserName", ["code"]), ("get_user_name", [])])
def test_by_the_other_rule_only_the_whole_name_finds_it(query, expected):
    assert returned(lab("bigram", *DOCS), query) == expected


@pytest.mark.parametrize("query, expected", [("试", ["chinese"]), ("试重", ["chinese"]), ("数", [])])
def test_single_characters_find_what_pairs_do_not_and_lose_their_order(query, expected):
    chinese = document("chinese", "失败后重试一次")
    assert returned(lab("code", chinese), query) == expected
    assert returned(lab("bigram", chinese), "试重") == []


@pytest.mark.parametrize("options", [{"hybrid": True}, {"rerank": True}, {"hybrid": True, "rerank": True}])
def test_every_stage_reads_by_the_rule_of_the_corpus(options):
    outcome = lab("code", *DOCS).search("user name", explain=True, **options)
    hit = outcome.results[0]
    assert hit.candidate.doc_id == "code" and outcome.best_support == 1.0   # both words, of two, stand in the text
    assert hit.explanation["rerank"]["known_terms"] == ["user", "name"] and hit.candidate.parts.body_coverage == 1.0
    assert [term["term"] for term in hit.explanation["bm25"]["terms"]] == ["user", "name"]
    if "hybrid" in options:
        assert "dense" in hit.candidate.ranks


def test_the_title_counts_by_the_rule_of_the_corpus():
    titled = document("titled", "Nothing here.", title="getUserName")
    hit = lab("code", titled).search("user name", rerank=True).results[0]
    assert (hit.candidate.parts.title_coverage, hit.candidate.parts.body_coverage) == (1.0, 0.0)


def test_the_sentence_cited_is_chosen_by_the_rule_of_the_corpus():
    text = "The name of a file. Call getUserName to read the user. Then nothing."
    cited = {name: lab(name, document("d", text)).search("get name").results[0].citation for name in ANALYZERS}
    assert cited["code"].quote == "Call getUserName to read the user." and cited["bigram"].quote == "The name of a file."
    assert all(text[one.start:one.end] == one.quote for one in cited.values())


TOML = 'name = "source"\nanalyzer = "{}"\n[defaults]\ntenant = "t"\nroles = ["r"]\n[scope]\ntenant = "t"\nroles = ["r"]\n'


def source_corpus(folder, analyzer: str) -> str:
    folder.mkdir()
    (folder / "corpus.toml").write_text(TOML.format(analyzer), encoding="utf-8")
    (folder / "one.md").write_text('+++\nid = "one"\ntitle = "api"\n+++\nCall getUserName first.\n', encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize("analyzer, expected", [("code", ["one"]), ("bigram", [])])
def test_corpus_toml_names_the_rule_for_the_command(tmp_path, analyzer, expected):
    folder = source_corpus(tmp_path / analyzer, analyzer)
    assert [hit["doc_id"] for hit in printed("--corpus", folder, "--query", "user")["results"]] == expected


def test_two_corpora_that_differ_in_the_rule_only_have_other_indexes(tmp_path):
    receipts = [build_lab(source_corpus(tmp_path / name, name)).search("first").receipt for name in ("code", "bigram")]
    assert receipts[0]["index"] != receipts[1]["index"]


def test_an_unknown_rule_is_a_data_fault_that_names_the_two(tmp_path):
    talk = refused(run("--corpus", source_corpus(tmp_path / "wrong", "trigram"), "--query", "user"), 1)
    assert "corpus.toml:2" in talk and "bigram" in talk and "code" in talk


# --- the command ------------------------------------------------------------------------------------------------------

def test_analyze_prints_the_tokens_of_both_rules_side_by_side():
    told = printed("analyze", "getName 重试次")
    assert list(told) == ["schema", "text", "analyzers"] and told["schema"] == "rag_lab.analyze/1"
    assert list(told["analyzers"]) == ["bigram", "code"]
    assert told["analyzers"]["bigram"] == [
        {"term": "getname", "start": 0, "end": 7, "text": "getName"}, {"term": "重试", "start": 8, "end": 10, "text": "重试"},
        {"term": "试次", "start": 9, "end": 11, "text": "试次"}]
    assert told["analyzers"]["code"] == [
        {"term": "get", "start": 0, "end": 3, "text": "get"}, {"term": "name", "start": 3, "end": 7, "text": "Name"},
        {"term": "重", "start": 8, "end": 9, "text": "重"}, {"term": "试", "start": 9, "end": 10, "text": "试"},
        {"term": "次", "start": 10, "end": 11, "text": "次"}]


def test_analyze_reads_standard_input_for_a_dash_and_says_the_same():
    done = run("analyze", "-", stdin="getName 重试\n".encode())
    assert (done.returncode, json.loads(done.stdout)) == (0, side_by_side("getName 重试"))


def test_analyze_of_nothing_is_two_empty_lists():
    assert printed("analyze", "")["analyzers"] == {"bigram": [], "code": []}


@pytest.mark.parametrize("argv", [(), ("one", "two"), ("--text", "one")])
def test_analyze_without_exactly_one_text_is_a_usage_fault(argv):
    refused(run("analyze", *argv), 2)


def test_analyze_of_bytes_that_are_no_utf8_is_a_fault_and_no_traceback():
    refused(run("analyze", "-", stdin=b"\xff\xfe"), 1)
