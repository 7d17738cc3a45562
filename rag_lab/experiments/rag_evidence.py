"""What do the twenty cases of chapter 8 show, and what do they not? Three reports: data, a table for people, a trace.

    rag-evidence.json    every case with its values, the contract of the metrics, what was not measured, claims and non-claims
    rag-evidence.md      the same for reading
    rag-trace.jsonl      one line per question, ids, digests and reasons only
"""
import json

from ..files import canonical_json
from ..lab import build_lab
from ..report import rounded
from . import chapter8

SCOPE = {
    "corpus_document_count": None,       # filled in from the corpus
    "question_case_count": None,         # filled in from the cases
    "decision_policy": "scripted",
    "semantic_encoder": "frozen-concept-vector",
    "network_access": False,
    "variants_meaning": "groups are kinds of boundary, not stages switched on one after the other; only the ablation switches "
                        "one thing at a time over the same queries and labels",
}
METRIC_CONTRACT = {"retrieval_unit": "unique_document_id", "precision_at_k_denominator": "fixed_k",
                   "unreturned_positions": "count_as_not_relevant", "undefined": "null, never 0"}
UNMEASURED = dict.fromkeys(("provider_cost", "provider_latency_ms", "provider_tokens", "real_model_quality"))
LAYERS = {   # layer -> the values of a case that belong to it
    "retrieval": ("documents", "retrieved_chunk_count", "reciprocal_rank", "recall_at_3", "precision_at_3", "ndcg_at_3"),
    "citation": ("citation_count", "citation_precision", "citation_recall", "supported_claim_ratio"),
    "answer": ("present_fact_ids", "missing_fact_ids", "status", "outcome", "unsupported_claim_count"),
    "freshness": ("catalog_recheck_rejected_count", "recheck_rejected"),
    "isolation": ("filtered_before_score_count", "policy_violation_count", "internal_document_count"),
    "safety": ("malicious_in_candidates", "untrusted_instruction_in_answer_context"),
}
CLAIMS = (
    "Documents out by status, time, product version or role are out before anything is scored.",
    "A document withdrawn after the candidates were taken is dropped by the gate, and counted.",
    "A fact counts only for the chunk that holds its quote whole; a quote that a border cuts is lost, and shown as lost.",
    "Answer, partial and abstain follow from the facts covered; every claim is bound to the citations that support it.",
    "An untrusted post, and a text that talks to a model, are data: their words do not reach the answer context.",
    "The same input gives the same bytes; the trace holds ids, digests and reasons only.",
)
NON_CLAIMS = (
    "No quality of any language model, embedding, reranker or database was measured.",
    "The concept vectors are written by hand and understand nothing; the reranker is a rule, not a trained model.",
    "Weights, threshold and the wording of the corpus were fitted to the chapter's numbers and say nothing about other texts.",
    "Twenty unlike cases are no sample: no rate, no average over groups, no comparison of methods follows from them.",
    "A quote that stands in the text does not prove that the annotation of the fact is right.",
    "A few phrases are no defence against injection, and a gate is neither strong consistency nor physical deletion.",
)


def evidence_report() -> dict:
    """The JSON report."""
    cases = chapter8.read_cases()
    results = {case.id: rounded(chapter8.run_case(case)) for case in cases.values()}
    return {
        "schema": "rag_lab.evidence/1",
        "scope": scope_block(),
        "metric_contract": METRIC_CONTRACT,
        "unmeasured": UNMEASURED,
        "outcome_summary": chapter8.outcome_summary(results),
        "eligible_documents": chapter8.eligible_counts(),
        "cases": [_case(case, results[case.id]) for case in cases.values()],
        "ablation": rounded(chapter8.ablation()),
        "post_filter_lesson": chapter8.starved_top_k(),
        "claims": list(CLAIMS),
        "non_claims": list(NON_CLAIMS),
    }


def scope_block() -> dict:
    """What the report is about, and how far it reaches."""
    return SCOPE | {"corpus_document_count": len(build_lab(chapter8.CORPUS).catalog.documents),
                    "question_case_count": len(chapter8.read_cases())}


def _case(case: chapter8.Case, result: dict) -> dict:
    """One case: what was asked, what came of it by layer, and whether that was expected."""
    layers = {layer: {name: result[name] for name in names if name in result} for layer, names in LAYERS.items()}
    placed = {name for names in LAYERS.values() for name in names}
    other = {name: value for name, value in result.items() if name not in placed}
    return {"case_id": case.id, "group": case.group, "sample_count": case.sample_count, "query": case.query, "why": case.why,
            "required_fact_ids": list(case.required_fact_ids),
            "outcome": {"expectation_mode": case.expectation_mode, "expected_status": case.expected_status,
                        "status": result.get("status"), "comparison": result.get("outcome")},
            "layers": {layer: values or None for layer, values in layers.items()}, "other": other or None}


def evidence_markdown(report: dict) -> str:
    """The report as Markdown: a table of the cases, the ablation, claims and non-claims."""
    summary, scope = report["outcome_summary"], report["scope"]
    lines = ["# Evidence over the governed knowledge base", "",
             f"{scope['corpus_document_count']} documents, {scope['question_case_count']} cases, decision policy "
             f"{scope['decision_policy']}, encoder {scope['semantic_encoder']}. Metrics count different documents; P@3 divides by "
             "3; a dash means undefined or not part of the case, never 0.", "",
             f"{summary['conformance_count']} conforming cases, {summary['failure_probe_count']} failure probes, "
             f"{summary['unexpected_status_count']} unexpected, {summary['false_answer_count']} false answers, "
             f"{summary['false_abstain_count']} false abstentions.", "",
             "| case | group | status | expected | RR | R@3 | P@3 | nDCG@3 | citations | missing facts |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for case in report["cases"]:
        retrieval, citation, answer = (case["layers"][layer] or {} for layer in ("retrieval", "citation", "answer"))
        cells = [case["case_id"], case["group"], answer.get("status"), case["outcome"]["expected_status"],
                 *(retrieval.get(name) for name in ("reciprocal_rank", "recall_at_3", "precision_at_3", "ndcg_at_3")),
                 citation.get("citation_count"), ", ".join(answer.get("missing_fact_ids", ())) or None]
        lines.append(_table_row(cells))
    lines += ["", "## Ablation", "", report["ablation"]["note"], "", "| variant | RR | R@3 | P@3 | nDCG@3 |",
              "| --- | --- | --- | --- | --- |"]
    lines += [_table_row([variant, *means.values()]) for variant, means in report["ablation"]["means"].items()]
    for title, statements in (("What this shows", report["claims"]), ("What this does not show", report["non_claims"])):
        lines += ["", f"## {title}", "", *(f"- {statement}" for statement in statements)]
    return "\n".join(lines) + "\n"


def _table_row(cells) -> str:
    return "| " + " | ".join("-" if cell is None else str(cell) for cell in cells) + " |"


def trace_jsonl() -> str:
    """One line per question that was put to the lab: the allowed fields of its trace and nothing else."""
    asked = [chapter8.ask(build_lab(chapter8.CORPUS), case) for case in chapter8.read_cases().values() if case.scope]
    return "".join(json.dumps(one.trace, ensure_ascii=False, allow_nan=False) + "\n" for one in asked)


def reports() -> dict[str, str]:
    """report name -> its text."""
    report = evidence_report()
    return {"rag-evidence.json": canonical_json(report), "rag-evidence.md": evidence_markdown(report),
            "rag-trace.jsonl": trace_jsonl()}
