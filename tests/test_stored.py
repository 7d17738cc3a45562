"""A lab over an index in a file answers as the lab over the corpus, in every byte, whoever asks and whatever is deleted."""
from datetime import datetime, timezone

import pytest
from support import answers, receipts

from rag_lab import Scope, UsageError, build_lab
from rag_lab.building import build_index
from rag_lab.scores import evaluation_report
from rag_lab.files import canonical_json
from rag_lab.stored import StoredLab

JUNE, LATER = datetime(2026, 6, 1, tzinfo=timezone.utc), datetime(2027, 3, 1, tzinfo=timezone.utc)
SHIPPED = {   # corpus -> (queries, scopes, documents to ask about and to delete)
    "handbook": (["退款多久到账", "上线 回滚 database", "refund SLA", "量子"],
                 [None, Scope("handbook", ()), Scope("handbook", ("employee",), JUNE), Scope("other", ("employee",))],
                 ["refund-policy", "canary", "no-such"]),
    "starboat": (["公司登录还能照旧吗", "SAML 429", "Team 计划 成员上限"],
                 [None, Scope("starboat", ("public", "support", "security")), Scope("starboat", ("public",), LATER, "3.0"),
                  Scope("starboat", ("public",), JUNE, "9.9")], []),
    "scheduler": (["最大并发是多少", "retry 3.2"], [None, Scope("scheduler", ("reader",), None, "2.0")], []),
    "acl": (["导出任务超时", "仓库盘点 邻户"],
            [None, Scope("north", ("reader",), principal="lin"), Scope("south", ("reader",), principal="lin")],
            ["私有A", "公开C", "公开D"]),
}


@pytest.fixture(scope="module")
def shipped(tmp_path_factory) -> dict[str, str]:
    """Corpus -> an index in a file over it."""
    folder = tmp_path_factory.mktemp("shipped")
    for name in SHIPPED:
        build_index(name, str(folder / name))
    return {name: str(folder / name) for name in SHIPPED}


def both(name: str, path: str, qrels: str | None = None):
    plain = build_lab(name, qrels)
    return plain, StoredLab(path, plain.qrels_path)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_corpora_answer_from_a_file_as_from_memory(name, shipped):
    queries, scopes, why = SHIPPED[name]
    plain, stored = both(name, shipped[name])
    why = why or list(plain.docs)[:3]
    assert answers(stored, queries, scopes, why=why) == answers(plain, queries, scopes, why=why)
    seen = [scope or plain.scope for scope in scopes]
    assert receipts(stored, seen) == receipts(plain, seen)
    assert [stored.catalog.filtered(scope) for scope in seen] == [plain.catalog.filtered(scope) for scope in seen]
    assert stored.docs == plain.docs


@pytest.mark.parametrize("name", ["handbook", "starboat"])
def test_an_evaluation_from_a_file_is_that_from_memory(name, shipped):
    plain, stored = both(name, shipped[name])
    for options in ({}, {"hybrid": True, "rerank": True}):
        reports = [canonical_json(evaluation_report(lab.evaluate(**options))) for lab in (plain, stored)]
        assert reports[0] == reports[1]


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_deleted_in_the_open_lab_is_gone_as_from_memory_and_back_in_the_next(name, shipped):
    queries, scopes, _ = SHIPPED[name]
    plain, stored = both(name, shipped[name])
    before = answers(stored, queries, scopes)
    for doc_id in list(plain.docs)[1:4]:
        assert stored.delete(doc_id) == plain.delete(doc_id)
        assert answers(stored, queries, scopes, why=[doc_id]) == answers(plain, queries, scopes, why=[doc_id])
        with pytest.raises(UsageError):
            stored.delete(doc_id)
    assert stored.manifest == plain.manifest
    assert answers(StoredLab(shipped[name]), queries, scopes) == before
