"""Chapter 8: its twenty cases, hand calculations, evidence, ablation, trace and reports, and the faults of its exercises."""
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest
from support import ROOT

from rag_lab import DataError, UsageError, build_lab, packets, trec
from rag_lab.experiments import chapter8, rag_evidence
from rag_lab.experiments.worked_scores import worked_scores
from rag_lab.report import rounded

CASES = chapter8.read_cases()
ASKING = [case for case in CASES.values() if case.scope]
QRELS = os.path.join(ROOT, "qrels")
NOW_DOCUMENTS = build_lab("starboat").catalog.documents


@pytest.fixture(scope="module")
def asked() -> dict:
    """case id -> what asking it brought."""
    return {case.id: chapter8.ask(build_lab("starboat"), case) for case in ASKING}


@pytest.fixture(scope="module")
def reports() -> dict:
    return rag_evidence.reports()


def command(folder, *arguments: str, seed: str = "0") -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": ROOT, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run([sys.executable, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          encoding="utf-8", env=environment)


# --- the cases --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_expected_value_of_a_case_holds(case):
    assert rounded(chapter8.run_case(case)) == case.expected


def test_there_are_twenty_cases_in_five_groups():
    assert Counter(case.group for case in CASES.values()) == {
        "baseline": 2, "chunking": 3, "retrieval": 5, "governance": 5, "evidence": 5}


def test_ten_cases_conform_three_probes_fail_as_they_should_and_nothing_is_unexpected():
    assert list(chapter8.summary().values()) == [10, 3, 0, 0, 3]


def test_a_conforming_case_that_missed_and_a_probe_that_did_not_fail_are_unexpected():
    results = {case.id: {"outcome": {"conformance": "match", "failure_probe": "false_abstain"}.get(case.expectation_mode)}
               for case in CASES.values()}
    results["retrieval-exact-version"] = {"outcome": "false_answer"}
    results["retrieval-english-login"] = {"outcome": "match"}
    assert list(chapter8.outcome_summary(results).values()) == [10, 3, 2, 1, 2]


@pytest.mark.parametrize("expected, actual, told", [
    ("answer", "answer", "match"), ("answer", "abstain", "false_abstain"), ("abstain", "answer", "false_answer"),
    ("partial", "answer", "false_answer"), ("answer", "partial", "false_partial"), (None, "answer", "not_comparable")])
def test_a_status_is_compared_with_the_one_expected(expected, actual, told):
    assert chapter8.compare(expected, actual) == told


# The metrics of the chapter, from ranks: gains at ranks 1 to 3 are divided by log2 of 2, 3 and 4.
METRICS = {
    "governance-compound-upgrade": (1 / 1, 2 / 3, 2 / 3, (1 + 1 / math.log2(3)) / (1 + 1 / math.log2(3) + 1 / 2)),
    "retrieval-compound": (1 / 3, 1 / 1, 1 / 3, (1 / 2) / 1),
    "governance-public-internal": (1 / 1, 1 / 1, 1 / 3, 1 / 1),
    "retrieval-exact-version": (1 / 1, 2 / 2, 2 / 3, 1.0),
    "retrieval-colloquial-login": (0.0, 0.0, 0.0, 0.0),
    "evidence-no-answer-quantum": (None, None, 0.0, None),
}


@pytest.mark.parametrize("case_id", METRICS)
def test_the_metrics_of_a_case_are_those_of_its_ranks(case_id):
    found = chapter8.run_case(CASES[case_id])
    names = ("reciprocal_rank", "recall_at_3", "precision_at_3", "ndcg_at_3")
    assert [found[name] for name in names] == [value if value is None else pytest.approx(value)
                                               for value in METRICS[case_id]]


def test_metrics_count_different_documents_and_precision_always_divides_by_three():
    assert chapter8.metrics(["a", "a", "b"], ("a", "b", "c")) == pytest.approx({
        "reciprocal_rank": 1.0, "recall_at_3": 2 / 3, "precision_at_3": 2 / 3,
        "ndcg_at_3": (1 + 1 / math.log2(3)) / (1 + 1 / math.log2(3) + 1 / 2)})
    assert chapter8.metrics(["a"], ("a",))["precision_at_3"] == pytest.approx(1 / 3)


def test_a_wrong_mapping_halves_precision_recall_and_the_supported_share():
    given = chapter8.run_case(CASES["evidence-citation-mismatch"])   # C1 right, C3 for C2: 1 of 2 given, needed, supported
    assert given == {"citation_precision": 1 / 2, "citation_recall": 1 / 2, "supported_claim_ratio": 1 / 2}


def test_an_answer_from_nowhere_supports_none_of_its_claims():
    assert chapter8.run_case(CASES["baseline-parametric-guess"])["unsupported_claim_count"] == 1


# --- the catalog ------------------------------------------------------------------------------------------------------

def test_each_role_sees_as_many_documents_as_the_chapter_says():
    assert chapter8.eligible_counts() == {"public": 9, "support": 10, "security": 10, "maintainer": 12}


def test_nine_of_eighteen_fall_to_their_first_rule_six_in_conflict_five_internal_two_both():
    lab = build_lab("starboat")
    ledger = lab.catalog.eligible(lab.scope).ledger
    assert dict(ledger) == {"tenant": 0, "deleted": 0, "status": 2, "time": 2, "version": 2, "role": 3, "principal": 0}
    conflicts, internal = set(chapter8.conflicts(lab.catalog)), set(chapter8.internal(lab.catalog))
    assert (len(NOW_DOCUMENTS), len(conflicts), len(internal), len(conflicts & internal)) == (18, 6, 5, 2)
    assert {doc_id for doc_id, _ in lab.catalog.filtered(lab.scope)} == conflicts | internal   # 6 + 5 - 2 = 9


def test_every_quote_stands_in_one_chunk_of_its_document_whole():
    lab = build_lab("starboat")
    for document in NOW_DOCUMENTS:
        held = {fact for chunk in lab.chunks.by_id.values() if chunk.doc_id == document.doc_id
                for fact in packets.facts_of(chunk, document)}
        assert held == {fact.fact_id for fact in document.facts}


# --- the hand calculations --------------------------------------------------------------------------------------------

# idf of 1 and of 2 texts in 3
RARE, COMMON = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5)), math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))


def worked(name: str) -> dict:
    return {row["text"]: row["score"] for row in worked_scores()[name]}


def test_the_bm25_scores_are_those_of_the_hand():
    # Every text has three terms, so each norm is 1 and a term that stands once counts 1 * 2.5 / (1 + 1.5) = 1.
    assert worked("bm25") == pytest.approx({"D1": 2 * COMMON + RARE, "D2": COMMON, "D3": COMMON}, abs=5e-7)
    assert list(worked("bm25").items()) == [("D1", 1.920837), ("D2", 0.470004), ("D3", 0.470004)]   # a tie, by id


def test_three_more_words_make_the_first_text_longer_and_its_score_lower():
    long, average = 6, (6 + 3 + 3) / 3
    saturation = 1 * 2.5 / (1 + 1.5 * (1 - 0.75 + 0.75 * long / average))
    assert worked("bm25_longer_d1")["D1"] == 1.56803 == round((2 * COMMON + RARE) * saturation, 6)


def test_the_parts_of_each_worked_score_sum_to_it():
    for rows in (worked_scores()["bm25"], worked_scores()["bm25_longer_d1"]):
        for row in rows:
            assert math.fsum(term["part"] for term in row["terms"]) == pytest.approx(row["score"], abs=3e-6)
    for row in worked_scores()["rrf"]:
        assert math.fsum(part["part"] for part in row["parts"]) == pytest.approx(row["score"], abs=3e-6)


def test_the_fused_scores_are_those_of_the_hand():
    assert {row["document"]: row["score"] for row in worked_scores()["rrf"]} == {
        "A": round(1 / 61 + 1 / 62, 6), "B": round(1 / 63 + 1 / 61, 6)} == {"A": 0.032522, "B": 0.032266}


# --- inspect and the evidence -----------------------------------------------------------------------------------------

def test_inspect_shows_request_evidence_decision_and_trace_of_the_through_line():
    shown = chapter8.inspect()
    assert list(shown) == ["schema", "case", "query", "scope", "required_fact_ids", "present_fact_ids", "missing_fact_ids", "status", "evidence",
                           "decision", "trace"]
    assert (shown["case"], shown["status"], shown["missing_fact_ids"]) == ("governance-compound-upgrade", "answer", [])
    assert shown["present_fact_ids"] == ["sso-team-32", "members-preserved-32"]
    assert [(row["label"], row["doc_id"], row["heading_path"], row["fact_ids"]) for row in shown["evidence"]] == [
        ("C1", "migration-2x-to-3.2", ("SSO 迁移",), ("sso-team-32",)),
        ("C2", "migration-2x-to-3.2", ("成员处理",), ("members-preserved-32",)),
        ("C3", "plans-3.2", ("Team 计划与 SAML",), ("sso-team-32",))]
    assert [claim["citations"] for claim in shown["decision"]["claims"]] == [("C1", "C3"), ("C2",)]


@pytest.mark.parametrize("case", ASKING, ids=lambda case: case.id)
def test_what_inspect_quotes_stands_in_the_document_where_it_says(case):
    texts = {document.doc_id: document for document in NOW_DOCUMENTS}
    for row in chapter8.inspect(case.id)["evidence"]:
        assert texts[row["doc_id"]].text[row["start"]:row["end"]] == row["text"]
        assert row["document_digest"] == texts[row["doc_id"]].content_digest and row["product_versions"] in ("3.2", "3.0 起")


@pytest.mark.parametrize("case_id", ["no-such-case", "", "baseline-parametric-guess", "chunking-structure",
                                     "evidence-citation-mismatch"])
def test_a_case_that_is_unknown_or_asks_no_question_cannot_be_inspected(case_id):
    with pytest.raises(UsageError, match="the cases are retrieval-exact-version, "):
        chapter8.inspect(case_id)


def test_without_the_second_citation_the_answer_is_partial_and_with_the_command_alone_there_is_none():
    found = chapter8.reduced_evidence()
    assert (found["without_c2"]["status"], found["without_c2"]["missing_fact_ids"]) == ("partial", ("members-preserved-32",))
    assert (found["command_only"]["status"], found["command_only"]["missing_fact_ids"]) == (
        "abstain", ("sso-team-32", "members-preserved-32"))
    assert found["without_c2"]["claims"] == found["command_only"]["claims"] == ()


def test_what_is_said_is_the_script_and_every_claim_has_its_citations(asked):
    assert chapter8.spoken() == {"text": "Team 版不能保留旧式 SAML SSO；升级不会自动删除成员。"}
    for one in asked.values():
        labels = {citation.label for citation in one.packet.citations}
        assert len(labels) == len(one.packet.citations)
        assert all(claim.citations and set(claim.citations) <= labels for claim in one.decision.claims)


def test_the_words_of_the_malicious_post_reach_no_answer_context(asked):
    assert any(chapter8.MALICIOUS in "".join(one.outcome.pool) for one in asked.values())
    for one in asked.values():
        assert chapter8.MALICIOUS not in [chunk.doc_id for chunk in one.packet.chunks]


def test_the_withdrawn_advisory_is_rejected_once_and_cited_nowhere(asked):
    one = asked["governance-stale-index"]
    (row,) = one.trace["rejected"]
    assert (row["chunk"].partition("#")[0], row["reason"]) == ("advisory-3.2-session", "status")
    assert "advisory-3.2-session" not in [citation.doc_id for citation in one.packet.citations]
    assert "advisory-3.2-session" in "".join(one.trace["recalled"]["bm25"])   # it was a candidate


# --- the trace --------------------------------------------------------------------------------------------------------

def test_a_trace_has_exactly_the_fields_that_are_allowed(asked):
    for one in asked.values():
        assert tuple(one.trace) == chapter8.TRACE_FIELDS


def stretches(text: str) -> set[str]:
    return {text[at:at + 12] for at in range(len(text) - 11)}


def test_no_twelve_characters_of_a_document_or_a_query_stand_in_the_trace(reports):
    said = set().union(*(stretches(document.text) for document in NOW_DOCUMENTS),
                       *(stretches(case.query) for case in ASKING))
    assert len(said) > 1000 and not said & stretches(reports["rag-trace.jsonl"])


def test_the_trace_has_a_line_for_each_question_and_no_character_outside_ascii(reports):
    lines = reports["rag-trace.jsonl"].splitlines()
    assert [json.loads(line)["case_id"] for line in lines] == [case.id for case in ASKING]
    assert reports["rag-trace.jsonl"].isascii()


# --- ablation and the lesson of filtering after the cut ---------------------------------------------------------------

VARIANTS = ["bm25_only", "concepts_only", "hybrid", "hybrid_rerank"]


def test_the_ablation_runs_four_variants_over_the_same_queries_and_labels():
    found = chapter8.ablation()
    assert [list(row) for row in found["queries"]] == [["case_id", *VARIANTS]] * 9 and list(found["means"]) == VARIANTS
    asked = [CASES[row["case_id"]] for row in found["queries"]]
    assert len({case.query for case in asked}) == 9 == len({case.query for case in ASKING if case.relevant_document_ids})
    for row, case in zip(found["queries"], asked):
        for variant in VARIANTS:
            documents = row[variant]["documents"]
            assert row[variant] == {"documents": documents, **chapter8.metrics(documents, case.relevant_document_ids)}


def test_the_means_of_the_ablation_are_those_of_its_rows():
    found = chapter8.ablation()
    for variant in VARIANTS:
        for name, value in found["means"][variant].items():
            assert value == pytest.approx(sum(row[variant][name] for row in found["queries"]) / 9)


def test_no_variant_shows_a_document_that_the_caller_may_not_see():
    visible = set(build_lab("starboat").docs)
    for row in chapter8.ablation()["queries"]:
        assert all(set(row[variant]["documents"]) <= visible for variant in VARIANTS)


def test_filtering_after_the_cut_starves_the_list_and_filtering_before_fills_it():
    found, visible = chapter8.starved_top_k(), build_lab("starboat").docs
    assert len(found["filter_then_cut"]) == 3 > len(found["cut_then_filter"])
    assert all(doc_id in visible for row in found.values() for doc_id in row)


# --- judgements -------------------------------------------------------------------------------------------------------

def test_queries_and_judgements_agree_with_the_labelled_cases():
    judged = trec.read_judged(os.path.join(QRELS, "starboat.tsv"))
    assert {query_id: sorted(grades) for query_id, grades in judged.qrels.items()} == {
        case.id: sorted(case.relevant_document_ids) for case in CASES.values() if case.relevant_document_ids}
    assert {grade for grades in judged.qrels.values() for grade in grades.values()} == {1}
    asking = {query.query_id: (query.text, query.kind, query.why)
              for query in trec.read_queries(os.path.join(QRELS, "starboat.queries.jsonl"))}
    assert asking.items() <= {case.id: (case.query, case.group, case.why) for case in ASKING}.items()
    assert set(judged.qrels) <= set(asking)


def test_the_judgements_belong_to_the_corpus_and_the_failure_probes_are_missed():
    measured = build_lab("starboat").evaluate(hybrid=True, rerank=True)
    recall = {result.query.query_id: result.recall for result in measured.queries}
    assert [query_id for query_id, value in recall.items() if value == 0] == [
        case.id for case in CASES.values() if case.expectation_mode == "failure_probe"]


# --- reports ----------------------------------------------------------------------------------------------------------

def test_the_report_has_its_blocks_in_order_and_what_was_not_measured_is_null(reports):
    report = json.loads(reports["rag-evidence.json"])
    assert list(report)[:5] == ["schema", "scope", "metric_contract", "unmeasured", "outcome_summary"]
    assert report["unmeasured"] == dict.fromkeys(("provider_cost", "provider_latency_ms", "provider_tokens",
                                                  "real_model_quality"))
    assert (report["scope"]["corpus_document_count"], report["scope"]["question_case_count"]) == (18, 20)
    assert [row["case_id"] for row in report["cases"]] == list(CASES) and report["claims"] and report["non_claims"]


def test_every_value_of_a_case_stands_in_the_report(reports):
    for row in json.loads(reports["rag-evidence.json"])["cases"]:
        told = {name: value for values in [*row["layers"].values(), row["other"]] for name, value in (values or {}).items()}
        assert told == CASES[row["case_id"]].expected


def test_the_table_for_people_has_a_row_for_each_case_and_a_dash_where_nothing_is_defined(reports):
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in reports["rag-evidence.md"].splitlines()
            if line.startswith("| ")}
    assert set(CASES) <= set(rows)
    assert "| abstain | abstain | - | - | 0.0 | - |" in rows["evidence-no-answer-quantum"]


@pytest.mark.parametrize("name", ["rag-evidence.json", "rag-evidence.md", "rag-trace.jsonl"])
def test_no_report_holds_a_path_or_a_date_that_the_corpus_does_not_have(name, reports):
    given = "".join(case.scope["as_of"] for case in ASKING)
    assert not re.search(r"[A-Za-z]:\\|(?<![\w.])/(?:home|tmp|root|usr|Users)\b|\.md\b|\.py\b", reports[name])
    assert ROOT not in reports[name] and os.path.expanduser("~") + os.sep not in reports[name]
    assert all(date in given for date in re.findall(r"\d{4}-\d\d-\d\d", reports[name]))


def test_two_hash_seeds_give_the_same_bytes(reports, tmp_path):
    program = ("import sys\nfrom rag_lab.experiments.rag_evidence import reports\n"
               "sys.stdout.buffer.write(chr(0).join(reports().values()).encode())")
    printed = [command(tmp_path, "-c", program, seed=seed) for seed in ("1", "4242")]
    assert [one.returncode for one in printed] == [0, 0]
    assert printed[0].stdout == printed[1].stdout == "\0".join(reports.values())


# --- exercise 2: a catalog with faults --------------------------------------------------------------------------------

def bad_document(folder, name: str, **changes: str) -> str:
    """A file of the corpus with a sound head, less what is changed; returns its path. Line 1 is +++, then a field a line."""
    head = {"id": f'"{name}"', "title": '"坏"', "version": "1", "roles": '["public"]', "valid_from": "2026-07-15T00:00:00Z",
            "valid_to": "2027-07-15T00:00:00Z", "applies_from": '"3.2"', "applies_to": '"3.2"', **changes}
    path = folder / "product" / f"{name}.md"
    path.write_text("+++\n" + "".join(f"{field} = {value}\n" for field, value in head.items()) + "+++\n正文。\n",
                    encoding="utf-8")
    return str(path)


FAULTS = {   # file -> (what is changed, the line, what is told)
    "upside-down": ({"valid_to": "2026-07-14T00:00:00Z"}, 7, "valid_to: 2026-07-14T00:00:00+00:00 is not after valid_from"),
    "empty-window": ({"valid_to": "2026-07-15T08:00:00+08:00"}, 7, "is not after valid_from"),   # the same moment
    "wrong-digest": ({"digest": '"0000000000000000"'}, 10, "digest: 0000000000000000 is not that of the text"),
    "nobody": ({"roles": "[]"}, 5, "roles: it is empty, so nobody could read it"),
    "versions": ({"applies_from": '"3.10"'}, 9, "applies_to: 3.2 is below applies_from 3.10"),
    "local-time": ({"valid_from": "2026-07-15T00:00:00"}, 6, "has no offset from UTC"),
    "number": ({"applies_from": "3.2"}, 8, "applies_from: 3.2 is not a product version"),
    "mistyped": ({"rolez": '["public"]'}, 10, "'rolez' is no field"),
    "status": ({"status": '"live"'}, 10, "status: 'live' is not one of active, retired, withdrawn"),
    "plans-3.2": ({}, None, "id 'plans-3.2' stands in"),
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """(folder of a copy of the corpus with all the faults, file -> path)."""
    folder = tmp_path_factory.mktemp("faulty") / "starboat"
    shutil.copytree(os.path.join(ROOT, "corpus", "starboat"), folder)
    paths = {name: bad_document(folder, name, **changes) for name, (changes, _, _) in FAULTS.items() if changes}
    twin = folder / "security" / "z-twin.md"
    shutil.copy(folder / "product" / "plans-3.2.md", twin)
    return folder, paths | {"plans-3.2": str(twin)}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_with_file_line_rule_and_remedy(name, faulty):
    folder, paths = faulty
    with pytest.raises(DataError) as error:
        build_lab(str(folder))
    (fault,) = [fault for fault in error.value.faults if fault.path == paths[name]]
    _, line, told = FAULTS[name]
    assert fault.line == (line or 2) and told in fault.rule and fault.remedy
    assert str(fault).startswith(f"{paths[name]}:{line or 2}: ")


def test_all_faults_come_at_once_and_only_they(faulty, tmp_path):
    folder, paths = faulty
    with pytest.raises(DataError) as error:
        build_lab(str(folder))
    assert sorted(fault.path for fault in error.value.faults) == sorted(paths.values())
    done = command(tmp_path, "-m", "rag_lab", "--corpus", str(folder), "--query", "SAML")
    assert (done.returncode, done.stdout) == (1, "") and "Traceback" not in done.stderr
    assert f"{len(FAULTS)} faults in the data:" in done.stderr and all(path in done.stderr for path in paths.values())


def test_a_document_with_the_right_digest_is_taken(tmp_path):
    folder = tmp_path / "starboat"
    shutil.copytree(os.path.join(ROOT, "corpus", "starboat"), folder)
    digest = hashlib.sha256("正文。".encode()).hexdigest()[:16]
    bad_document(folder, "good", digest=f'"{digest}"')
    assert build_lab(str(folder)).docs["good"].text == "正文。"


# --- the commands -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("arguments, document",
                         [(["inspect"], lambda: chapter8.inspect()), (["worked-scores"], worked_scores),
                                                 (["inspect", "--case", "evidence-missing-members"],
                                                  lambda: chapter8.inspect("evidence-missing-members"))],
                         ids=["inspect", "worked-scores", "inspect-case"])
def test_a_command_prints_one_document_from_any_folder(arguments, document, tmp_path):
    done = command(tmp_path, "-m", "rag_lab", *arguments)
    assert (done.returncode, done.stderr) == (0, "") and json.loads(done.stdout) == json.loads(json.dumps(document()))


def test_an_unknown_case_is_a_usage_fault(tmp_path):
    done = command(tmp_path, "-m", "rag_lab", "inspect", "--case", "nothing")
    assert (done.returncode, done.stdout) == (2, "") and "there is no case 'nothing'" in done.stderr
