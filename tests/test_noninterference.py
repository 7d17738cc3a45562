"""What a caller may not see moves no byte of what the caller is shown: over chapter 8's corpus and over generated ones."""
import os
import random
import shutil
from datetime import datetime, timedelta, timezone

import pytest
from support import ROOT, document

from rag_lab import Lab, Scope, build_lab
from rag_lab.corpus import Corpus, CorpusSettings
from rag_lab.experiments import chapter8
from rag_lab.files import canonical_json
from rag_lab.model import Fact
from rag_lab.report import search_report

STARBOAT = os.path.join(ROOT, "corpus", "starboat")
NOW = datetime(2026, 8, 27, 16, tzinfo=timezone.utc)
QUERIES = list(dict.fromkeys(case.query for case in chapter8.read_cases().values() if case.query))
ROLES = ("public", "support", "security", "maintainer")
SCOPES = [Scope("starboat", tuple(dict.fromkeys(("public", role))), NOW, version)
          for version in ("2.8", "3.2", "3.3") for role in ROLES]
SCOPES += [Scope("starboat", (role,), NOW, "3.2") for role in ROLES[1:]]   # without public
SCOPES += [Scope("starboat", ROLES, as_of, "3.3") for as_of in (datetime(2026, 11, 1, tzinfo=timezone.utc), None)]
LAB = build_lab("starboat")


def name_of(scope: Scope) -> str:
    return "-".join([*scope.roles, scope.product_version, str(scope.as_of and scope.as_of.date())])


def printed(lab: Lab, query: str, scope: Scope, **options) -> str:
    return canonical_json(search_report(lab.search(query, scope=scope, explain=True, show_context=True, **options)))


# --- the corpus of chapter 8 ------------------------------------------------------------------------------------------

def without_hidden_files(scope: Scope, folder) -> Lab:
    """The lab over a copy of the corpus that holds only the files of documents which the scope may see."""
    shutil.copytree(STARBOAT, folder)
    visible = LAB.catalog.eligible(scope).documents
    hidden = [one for one in LAB.catalog.documents if one.doc_id not in visible]
    for one in hidden:
        os.remove(os.path.join(folder, *one.path.split("/")[1:]))
    lab = build_lab(str(folder))
    assert hidden and [one.doc_id for one in lab.catalog.documents] == list(visible)
    return lab


@pytest.mark.parametrize("scope", SCOPES, ids=name_of)
def test_the_output_with_the_hidden_files_is_byte_identical_to_the_output_without_them(scope, tmp_path):
    without = without_hidden_files(scope, tmp_path / "starboat")
    for query in QUERIES:
        for options in ({"hybrid": True, "rerank": True}, {"hybrid": True, "rerank": True, "threshold": 0, "k": 12}, {}):
            assert printed(LAB, query, scope, **options) == printed(without, query, scope, **options)


def test_evidence_decision_and_trace_are_those_of_a_lab_without_the_hidden_files(tmp_path):
    case = chapter8.find_case(chapter8.THROUGH_LINE)
    without = without_hidden_files(chapter8.scope_of(case.scope), tmp_path / "starboat")
    one, other = chapter8.ask(build_lab("starboat"), case), chapter8.ask(without, case)
    assert (one.packet, one.decision) == (other.packet, other.decision)
    assert one.trace | {"filtered": []} == other.trace   # the ledger is for those who may know it


def test_another_tenants_documents_leave_no_mark_in_evidence_decision_or_trace():
    case, lab = chapter8.find_case(chapter8.THROUGH_LINE), build_lab("starboat")
    lab.put(document("plans-0.0", f"{case.query} Team SAML 成员", tenant="other", roles=ROLES))
    assert chapter8.ask(lab, case)[1:] == chapter8.ask(build_lab("starboat"), case)[1:]


def test_words_of_hidden_documents_weigh_nothing():
    public = SCOPES[4]
    for query in ("先吊销受影响的令牌，再隔离节点", "暂定每位成员每月加收 6 元", "90 天宽限期"):
        outcome = LAB.search(query, scope=public, hybrid=True, rerank=True, threshold=0, k=12)
        shown = {hit.candidate.doc_id for hit in (*outcome.results, *outcome.closest)}
        assert shown <= set(LAB.catalog.eligible(public).documents)


# --- generated corpora ------------------------------------------------------------------------------------------------

WORDS = ["退款", "SAML", "单点登录", "Team", "成员", "删除", "3.2", "甲乙丙", "OIDC", "升级"]


def random_text(choose: random.Random, *more: str) -> str:
    """A little Markdown: headings, paragraphs, a table, a list, code, out of few words."""
    def words() -> str:
        return " ".join(choose.choice([*WORDS, *more]) for _ in range(choose.randint(1, 4)))

    makers = [lambda: f"{'#' * choose.randint(1, 3)} {words()}", lambda: f"{words()}。{words()}？",
              lambda: f"| {words()} | b |\n|---|---|\n| {words()} | 2 |", lambda: f"- {words()}\n- {words()}",
              lambda: f"```\n# {words()}\n```"]
    return "\n\n".join(choose.choice(makers)() for _ in range(choose.randint(1, 5)))


ASKING = Scope("t", ("r", "s"), NOW, "3.2")
DAY = timedelta(days=1)
HIDES = [{"tenant": "u"}, {"tenant": None}, {"tenant": "T"}, {"roles": ()}, {"roles": ("boss",)}, {"roles": ("R", "r ")},
         {"roles": ("r",), "within": ("boss",)}, {"status": "retired"}, {"status": "withdrawn"}, {"valid_from": NOW + DAY},
         {"valid_from": NOW - DAY, "valid_to": NOW}, {"applies_from": "3.10"}, {"applies_to": "3.1.9"},
         {"applies_from": "3.2.1"}]
SHOWS = [{}, {"roles": ("s",)}, {"valid_from": NOW}, {"valid_to": NOW + DAY}, {"applies_from": "3.2", "applies_to": "3.2"},
         {"applies_from": "2.8", "applies_to": "3.10"}, {"trust": "untrusted"}, {"trust": "community"},
         {"within": ("s", "boss")}]


def random_corpus(seed: int) -> tuple[CorpusSettings, list, list]:
    """(settings, documents that ASKING sees, documents that it does not), ids of both kinds mixed."""
    choose = random.Random(seed)

    def made(number: int, kinds: list[dict], *more: str):
        text = random_text(choose, *more)
        return document(f"{choose.choice('abc')}{number}", text, title=random_text(random.Random(number)).split("\n")[0],
                        facts=(Fact("f", text[:3]),), **choose.choice(kinds))

    settings = CorpusSettings("test", chunker="structure", encoder=choose.choice(["concepts", "hashed"]), k1=1.5,
                              reranker=choose.choice(["governed", "coverage"]), scope=ASKING)
    visible = [made(number, SHOWS) for number in range(choose.randint(0, 5))]
    hidden = [made(number, HIDES, "凤凰", "退款 凤凰") for number in range(10, 10 + choose.randint(1, 6))]
    return settings, visible, hidden


def lab_over(settings: CorpusSettings, documents: list) -> Lab:
    return Lab(Corpus(settings, tuple(sorted(documents, key=lambda one: one.doc_id))))


@pytest.mark.parametrize("seed", range(60))
def test_over_generated_corpora_hidden_documents_change_no_byte(seed):
    settings, visible, hidden = random_corpus(seed)
    without, among = lab_over(settings, visible), lab_over(settings, visible + hidden)
    assert list(among.docs) == sorted(one.doc_id for one in visible)
    for query in ("退款 SAML 成员", "凤凰", "Team 升级后单点登录还能用吗？成员会删除吗？", "3.2", ""):
        for options in ({"hybrid": True, "rerank": True},
                        {"hybrid": True, "rerank": True, "threshold": 0, "k": 2, "pool": 3},
                        {"hybrid": True, "rerank": True, "threshold": 0.2, "threshold_on": "each_result"}, {"rerank": True}):
            assert printed(among, query, ASKING, **options) == printed(without, query, ASKING, **options)


@pytest.mark.parametrize("seed", range(20))
def test_a_change_of_hidden_documents_changes_no_byte_of_what_is_shown_next(seed):
    settings, visible, hidden = random_corpus(seed)
    lab = lab_over(settings, visible + hidden)
    before = printed(lab, "退款 凤凰 SAML", ASKING, hybrid=True, rerank=True, threshold=0)
    for one in hidden:
        lab.catalog.withdraw(one.doc_id, one.version)
    assert printed(lab, "退款 凤凰 SAML", ASKING, hybrid=True, rerank=True, threshold=0) == before


@pytest.mark.parametrize("seed", range(20))
def test_b073_each_of_two_callers_gets_the_own_answer_whoever_asks_first(seed):
    settings, visible, hidden = random_corpus(seed)
    scopes = [ASKING, ASKING._replace(tenant="u"), ASKING._replace(roles=("boss",)), ASKING._replace(product_version="3.10")]
    lab = lab_over(settings, visible + hidden)
    alone = [printed(lab_over(settings, visible + hidden), "退款 凤凰", scope, hybrid=True, threshold=0) for scope in scopes]
    for order in (scopes, scopes[::-1]):
        shown = {name_of(scope) + scope.tenant: printed(lab, "退款 凤凰", scope, hybrid=True, threshold=0) for scope in order}
        assert [shown[name_of(scope) + scope.tenant] for scope in scopes] == alone
