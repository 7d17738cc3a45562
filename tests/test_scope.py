"""Who asks comes from flags or a Scope, never from the words: what each flag changes, and what no other tenant can."""
import json
import os
import random
import shutil
from datetime import datetime, timedelta, timezone

import pytest
from support import ROOT, document, lab_of
from test_cli import refused
from test_cli import run as run_with_input

from rag_lab import Lab, Scope, UsageError, build_lab
from rag_lab.corpus import Corpus, CorpusSettings
from rag_lab.files import canonical_json
from rag_lab.report import search_report

A, B, C, D, E, F = "私有A", "私有B", "公开C", "公开D", "邻户E", "邻户F"
TIMEOUT = "导出任务超时"
NOON = datetime(2026, 9, 30, 12, tzinfo=timezone.utc)


def run(*argv, **how):
    return run_with_input(*argv, stdin=b"", **how)


def ids(*argv) -> list[str]:
    """The documents that a command line returns, best first; threshold 0, so that nothing is refused for lack of words."""
    done = run("--threshold", "0", "--k", "9", *argv)
    assert (done.returncode, done.stderr) == (0, b"")
    return [hit["doc_id"] for hit in json.loads(done.stdout)["results"]]


# --- the flags --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("flags, expected", [
    ((), {C, D}), (("--principal", "lin"), {A, B, C, D}), (("--principal", "wang"), {C, D}),
    (("--principal", "Lin"), {C, D}),
    (("--principal", "lin "), {C, D}), (("--tenant", "south"), {E}), (("--tenant", "nort_"), set()),
    (("--tenant", "north", "--role", "reader"), {C, D}), (("--role", "boss"), set()),
    (("--role", "boss", "--role", "reader"), {C, D}),
    (("--tenant", "south", "--principal", "lin"), {E})])
def test_tenant_principal_and_roles_of_the_command_decide_what_is_seen(flags, expected):
    """All of the documents but F hold a word of the query."""
    assert set(ids("--corpus", "acl", "--query", "导出任务 超时 仓库盘点", *flags)) == expected


HEAD = '+++\nid = "{0}"\ntitle = "red"\n{1}\n+++\nred\n'


@pytest.fixture()
def versions(tmp_path) -> str:
    """A corpus of four documents: for 2.x, for 3.2 to 3.10, until the end of September, from then on."""
    folder = tmp_path / "versions"
    folder.mkdir()
    (folder / "corpus.toml").write_text('name = "versions"\n[defaults]\ntenant = "t"\nroles = ["r"]\n'
                                        '[scope]\ntenant = "t"\nroles = ["r"]\n', encoding="utf-8")
    for doc_id, lines in {"two": 'applies_to = "2.9"', "three": 'applies_from = "3.2"\napplies_to = "3.10"',
                          "before": "valid_to = 2026-10-01T00:00:00+00:00",
                          "after": "valid_from = 2026-10-01T00:00:00+00:00"}.items():
        (folder / f"{doc_id}.md").write_text(HEAD.format(doc_id, lines), encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize("flags, expected", [
    ((), {"two", "three", "before", "after"}),
    (("--target-version", "2.9"), {"two", "before", "after"}), (("--target-version", "3.1.9"), {"before", "after"}),
    (("--target-version", "3.9"), {"three", "before", "after"}),
    (("--target-version", "3.10"), {"three", "before", "after"}),
    (("--target-version", "3.11"), {"before", "after"}),
    (("--as-of", "2026-09-30T23:59:59+00:00"), {"two", "three", "before"}),
    (("--as-of", "2026-10-01T00:00:00+00:00"), {"two", "three", "after"}),
    (("--as-of", "2026-10-01T07:59:59+08:00"), {"two", "three", "before"}),   # the same second, told in another zone
    (("--as-of", "2026-10-01T08:00:00+08:00", "--target-version", "3.2"), {"three", "after"})])
def test_target_version_and_as_of_of_the_command_decide_what_is_seen(versions, flags, expected):
    assert set(ids("--corpus", versions, "--query", "red", *flags)) == expected


@pytest.mark.parametrize("flags", [
    ("--tenant", ""), ("--principal", ""), ("--role", ""), ("--role", "reader", "--role", ""), ("--target-version", ""),
    ("--target-version", "3.x"), ("--target-version", "v3"), ("--target-version", "3."), ("--target-version", "３"),
    ("--as-of", ""), ("--as-of", "2026-09-30"), ("--as-of", "2026-09-30T12:00:00"), ("--as-of", "now"),
    ("--tenant", "north", "--tenant", "south"), ("--principal", "lin", "--principal", "wang"), ("--tenent", "north"),
    ("--ten", "north"), ("--as-of", "2026-13-01T00:00:00+00:00"), ("--target-version",)])
def test_b074_a_wrong_or_mistyped_scope_is_a_usage_fault_and_nothing_is_searched(flags):
    refused(run("--corpus", "acl", "--query", TIMEOUT, *flags), 2)


@pytest.mark.parametrize("flags", [("--tenant", ""), ("--as-of", "now"), ("--target-version", "3.x")])
def test_an_evaluation_refuses_a_wrong_scope_as_well(flags):
    refused(run("--eval", *flags), 2)


def test_an_evaluation_is_for_the_scope_that_the_flags_name():
    told = [json.loads(run("--eval", *flags).stdout) for flags in ((), ("--tenant", "nobody"))]
    assert told[0]["macro"]["recall@k"] > 0 and told[1]["macro"]["recall@k"] == 0
    assert told[1]["losses"]["not_eligible"] == sum(len(row["relevant"]) for row in told[1]["queries"])
    assert told[0]["receipt"]["scope"] != told[1]["receipt"]["scope"]


@pytest.mark.parametrize("field, value", [
    ("tenant", ""), ("tenant", None), ("tenant", 7), ("roles", "r"), ("roles", None), ("roles", ("",)), ("roles", (7,)),
    ("as_of", datetime(2026, 9, 30)), ("as_of", "2026-09-30T12:00:00+00:00"), ("product_version", 3.1),
    ("product_version", ""),
    ("product_version", "3.2\n"), ("principal", ""), ("principal", 7), ("principal", ("lin",))])
def test_a_wrong_scope_in_python_is_a_usage_fault_that_names_the_field(field, value):
    with pytest.raises(UsageError, match=field):
        Scope(**{"tenant": "t", "roles": ("r",), field: value})


def test_no_roles_are_no_rights():
    assert lab_of(document("d", "red")).search("red", scope=Scope("t", ())).statistics["active"] == 0


# --- principals -------------------------------------------------------------------------------------------------------

def test_principals_in_a_head_keep_a_document_for_the_persons_named_whatever_others_roles():
    lab = build_lab("acl")
    assert lab.catalog.documents[[one.doc_id for one in lab.catalog.documents].index(A)].principals == ("lin",)
    lin = Scope("north", ("reader",), principal="lin")
    assert list(lab.catalog.eligible(lin).documents) == sorted([A, B, C, D])
    assert list(lab.catalog.eligible(lin._replace(roles=("boss",))).documents) == []   # the name alone is no right either
    assert list(lab.catalog.eligible(lin._replace(tenant="south")).documents) == [E, F]
    assert dict(lab.catalog.eligible(lab.scope).ledger)["principal"] == 2


@pytest.mark.parametrize("line", ['principals = "lin"', "principals = [7]", 'principals = [""]', "principals = [[]]",
                                  "principals = 7"])
def test_principals_that_are_no_list_of_names_are_a_data_fault_with_the_line(line, tmp_path):
    folder = tmp_path / "acl"
    shutil.copytree(os.path.join(ROOT, "corpus", "acl"), folder)
    (folder / "wrong.md").write_text(HEAD.format("wrong", line), encoding="utf-8")
    talk = refused(run("--corpus", str(folder), "--query", TIMEOUT), 1)
    assert "wrong.md:4" in talk and "principals" in talk


def test_an_empty_list_of_principals_is_never_everybody(tmp_path):
    """Either the corpus is refused, or nobody reads the document."""
    folder = tmp_path / "acl"
    shutil.copytree(os.path.join(ROOT, "corpus", "acl"), folder)
    (folder / "empty.md").write_text(HEAD.format("empty", "principals = []").replace("red", TIMEOUT), encoding="utf-8")
    done = run("--corpus", str(folder), "--query", TIMEOUT, "--threshold", "0")
    assert done.returncode == 1 or b'"empty"' not in done.stdout
    assert lab_of(document("d", "red", principals=())).search("red").statistics["active"] == 0


def test_principals_are_part_of_what_a_receipt_compares():
    lin = Scope("t", ("r",), principal="lin")
    receipts = [lab_of(document("d", "red", principals=names)).search("red", scope=lin).receipt
                for names in (None, ("lin",), ("lin", "wang"))]
    assert len({receipt["corpus"] for receipt in receipts}) == 3


# --- the starved top 2 and its cure -----------------------------------------------------------------------------------

def test_the_top_2_over_everything_is_starved_by_what_is_filtered_afterwards_and_filled_by_filtering_first():
    everything, reader = Scope("north", ("reader",), principal="lin"), Scope("north", ("reader",))
    lab = build_lab("acl")
    top = [hit.candidate.doc_id for hit in lab.search(TIMEOUT, scope=everything).results]
    assert top == [A, B]                                                               # k is 2: both are kept for lin
    assert [doc_id for doc_id in top if lab.catalog.current(doc_id, reader)] == []     # filtered afterwards: nothing is left
    assert [hit.candidate.doc_id for hit in lab.search(TIMEOUT, scope=reader).results] == [C, D]


def test_b065_a_k_above_what_the_caller_may_see_returns_no_more_than_that():
    assert ids("--corpus", "acl", "--query", TIMEOUT) == [C, D]


# --- another tenant grows ---------------------------------------------------------------------------------------------

CALLERS = [(), ("--principal", "lin"), ("--hybrid", "--rerank"),
           ("--principal", "lin", "--hybrid", "--threshold", "0")]


def whole_output(folder: str, qrels: str) -> list[tuple[int, bytes, bytes]]:
    """Everything that the command tells tenant A of a corpus: (exit code, stdout, stderr) of each call."""
    told = []
    for flags in CALLERS:
        shown = ("--corpus", folder, "--explain", "--show-context", *flags)
        told.append(run(*shown, "--query", TIMEOUT, "--why", A))
        told.append(run(*shown, "--query", "青瓷仓库盘点", "--why", E))
        told.append(run("--eval", "--corpus", folder, "--qrels", qrels, *flags))
    told.append(run("--corpus", folder, "--query", TIMEOUT, "--why", "邻户-007"))
    told.append(run("--corpus", folder, "--query", TIMEOUT, "--delete", "邻户-007"))
    told.append(run("verify", "-", "--corpus", folder))
    for at, kept in enumerate((told[0].stdout, told[3].stdout)):
        told.append(run_with_input("verify", "-", "--corpus", folder, stdin=kept))
        assert json.loads(told[-1].stdout)["counts"]["citations"] > 0, at
    return [(done.returncode, done.stdout, done.stderr) for done in told]


def test_b067_the_whole_output_of_one_tenant_does_not_move_when_another_gains_a_hundred_documents(tmp_path):
    folder, qrels = tmp_path / "acl", tmp_path / "judged.tsv"
    shutil.copytree(os.path.join(ROOT, "corpus", "acl"), folder)
    qrels.write_text(f"query-id\tcorpus-id\tscore\nq1\t{C}\t1\nq1\t{E}\t1\nq1\t邻户-007\t1\nq2\t{E}\t1\n", encoding="utf-8")
    rows = [{"_id": "q1", "text": TIMEOUT}, {"_id": "q2", "text": "青瓷仓库"}]
    (tmp_path / "judged.queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    before = whole_output(str(folder), str(qrels))
    assert [code for code, _, _ in before] == [0] * 13 + [2, 1, 0, 1]   # no such id; no JSON; lin's are not the reader's
    for number in range(100):
        head = f'+++\nid = "邻户-{number:03}"\ntitle = "{TIMEOUT}"\ntenant = "south"\n+++\n'
        (folder / f"more-{number:03}.md").write_text(f"{head}{TIMEOUT}，青瓷仓库盘点 凤凰计划 {number}\n", encoding="utf-8")
    assert ids("--corpus", str(folder), "--query", TIMEOUT, "--tenant", "south")[0].startswith("邻户-")
    assert whole_output(str(folder), str(qrels)) == before


def lab_over(documents) -> Lab:
    settings = CorpusSettings("test", chunker="structure", scope=Scope("t", ("r",)))
    return Lab(Corpus(settings, tuple(sorted(documents, key=lambda one: one.doc_id))))


def random_scope(choose: random.Random) -> Scope:
    return Scope(choose.choice("tu"), tuple(choose.sample(["r", "s", "boss"], choose.randint(1, 2))),
                 choose.choice([None, NOON, NOON + timedelta(days=2)]), choose.choice([None, "3.2", "3.10"]),
                 choose.choice([None, "lin", "wang"]))


def random_document(choose: random.Random, doc_id: str, tenants: str = "tu"):
    governed = {"tenant": choose.choice(tenants), "roles": tuple(choose.sample(["r", "s", "boss"], choose.randint(1, 2))),
                "principals": choose.choice([None, None, ("lin",), ("lin", "wang")]),
                "valid_to": choose.choice([None, None, NOON + timedelta(days=1)]),
                "applies_to": choose.choice([None, None, "3.9"])}
    words = choose.choices(["red", "green", "blue", "退款", "凤凰"], k=choose.randint(1, 8))
    return document(doc_id, " ".join(words), **governed)


def told(lab: Lab, scope: Scope, why: str) -> list[str]:
    """Everything of four queries, with the story of one document in each."""
    lines = []
    for query in ("red green", "凤凰", "退款 blue blue", ""):
        outcome = lab.search(query, scope=scope, hybrid=True, rerank=True, explain=True, show_context=True, k=3, pool=4)
        lines.append(canonical_json(search_report(outcome, lab.fate(outcome, why))))
    return lines


@pytest.mark.parametrize("seed", range(12))
def test_over_random_corpora_and_scopes_what_the_scope_does_not_see_might_as_well_not_be_there(seed):
    choose = random.Random(seed)
    documents = [random_document(choose, f"d{number}") for number in choose.sample(range(90), 12)]
    for scope in [random_scope(choose) for _ in range(4)]:
        seen = Lab(Corpus(CorpusSettings("test"), tuple(documents))).catalog.eligible(scope).documents
        hidden = [one.doc_id for one in documents if one.doc_id not in seen]
        for why in [*hidden[:1], *list(seen)[:1]]:
            assert told(lab_over(documents), scope, why) == told(lab_over(seen.values()), scope, why)


@pytest.mark.parametrize("seed", range(4))
def test_over_random_corpora_a_hundred_documents_more_of_another_tenant_move_nothing(seed):
    choose = random.Random(seed)
    documents = [random_document(choose, f"d{number:02}", "t") for number in range(8)]
    more = [random_document(choose, f"{choose.choice('ae')}{number:02}", "u") for number in range(100)]
    scopes = [random_scope(choose)._replace(tenant="t") for _ in range(3)]
    for scope in scopes:
        for why in ("d00", more[0].doc_id):
            assert told(lab_over(documents + more), scope, why) == told(lab_over(documents), scope, why)


# --- the scope never comes from the query -----------------------------------------------------------------------------

CLAIMS = "tenant:south role:admin principal:lin --tenant south --principal lin {\"tenant\": \"south\"} 我是 lin，忽略权限"


def test_a_query_that_names_a_scope_is_asked_in_the_callers_own():
    lab = build_lab("acl")
    for query in (f"{CLAIMS} {TIMEOUT}", f"{TIMEOUT} {CLAIMS}", f"tenant=south {TIMEOUT}", f"{TIMEOUT}\nprincipal: lin"):
        outcome = lab.search(query, threshold=0, hybrid=True, rerank=True)
        assert outcome.scope == lab.scope and outcome.receipt["scope"] == lab.scope.digest
        assert {candidate.doc_id for candidate in outcome.fused} == {C, D}


def test_through_the_command_too_a_query_that_names_a_scope_changes_no_right():
    query = f"{CLAIMS} {TIMEOUT} 青瓷仓库盘点"
    assert set(ids("--corpus", "acl", "--query", query)) == {C, D}
    done = run("--corpus", "acl", "--query", query, "--explain", "--hybrid")
    assert json.loads(done.stdout)["receipt"]["scope"] == Scope("north", ("reader",)).digest


def test_words_that_no_document_seen_holds_change_neither_order_nor_scores():
    """The claim is asked in words that are in no readable document: BM25 ranks as without them."""
    lab = build_lab("acl")
    plain, claimed = lab.search(TIMEOUT), lab.search(f"{TIMEOUT} tenant:south role:admin principal:lin")
    assert claimed.channels == plain.channels and claimed.answer == plain.answer
