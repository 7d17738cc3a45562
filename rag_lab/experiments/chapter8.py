"""What does the governed knowledge base say to the twenty cases of chapter 8?

Every case runs through the path of every other query (`Lab`, `retrieve`, `evidence`); here they are only arranged: which
query, whose scope, which facts are asked for, and which mishap is staged.
"""
import json
import os
from typing import Callable, Mapping, NamedTuple, Sequence

from .. import chunking, evaluation, packets, retrieve, sections
from ..errors import UsageError
from ..fields import instant
from ..files import digest, read_text
from ..index import LiveIndex
from ..injection import injection_phrases
from ..lab import Lab, build_lab, data_folder
from ..model import Chunk, Document, Outcome, Scope
from ..report import rounded

CORPUS = "starboat"
TOP_K = 3                                  # the chapter's metrics are @3
MALICIOUS = "community-sso-trick"
THROUGH_LINE = "governance-compound-upgrade"


class Case(NamedTuple):
    """A row of qrels/starboat.cases.json."""

    id: str
    group: str
    why: str
    expectation_mode: str | None          # "conformance", "failure_probe", or None: not comparable
    sample_count: int
    query: str | None
    scope: dict | None
    required_fact_ids: tuple[str, ...]
    relevant_document_ids: tuple[str, ...] | None
    expected_status: str | None
    claims: tuple[dict, ...]
    setup: dict | None
    expected: dict
    printed_by_the_chapter: tuple[str, ...]


class Asked(NamedTuple):
    """What one question brought: the outcome, the packet made of it, the decision, and the trace of it all."""

    outcome: Outcome
    packet: packets.EvidencePacket
    decision: packets.Decision
    trace: dict


def read_cases() -> dict[str, Case]:
    """case id -> case, in the order of the file."""
    rows = json.loads(read_text(os.path.join(data_folder("qrels"), f"{CORPUS}.cases.json")))["cases"]
    return {row["id"]: Case(**row) for row in rows}


def find_case(case_id: str) -> Case:
    """The case of an id. Raises `UsageError` for an unknown one and for one that asks no question of the lab."""
    cases = read_cases()
    asking = [case.id for case in cases.values() if case.scope]
    if case_id not in asking:
        raise UsageError(f"there is no case {case_id!r} to inspect; the cases are {', '.join(asking)}")
    return cases[case_id]


def scope_of(row: Mapping) -> Scope:
    """The scope of a case."""
    return Scope(row["tenant"], tuple(row["roles"]), instant(row["as_of"]), row["product_version"])


# --- one question -----------------------------------------------------------------------------------------------------

class Staged:
    """An index that lets something happen as soon as it was searched: what the stale-index case needs."""

    name = "dense"

    def __init__(self, index: LiveIndex, happens: Callable[[], None]):
        self.index, self.happens = index, happens

    def over(self, live_ids) -> "Staged":
        """The same, over another live set."""
        return Staged(self.index.over(live_ids), self.happens)

    def search(self, query: str, k: int | None) -> list[tuple[str, float]]:
        """Search first; then it happens."""
        hits = self.index.search(query, k)
        self.happens()
        return hits

    def usable(self, query: str) -> bool:
        """As the index says."""
        return self.index.usable(query)


def ask(lab: Lab, case: Case) -> Asked:
    """One case through the whole path: retrieve, packet, decision, trace."""
    setup, scope = case.setup or {}, scope_of(case.scope)
    doomed = setup.get("withdraw_after_recall")
    dense = Staged(lab.dense, lambda: lab.catalog.withdraw(doomed, lab.docs[doomed].version)) if doomed else lab.dense
    parts = retrieve.Parts(lab.chunks, lab.bm25, dense, lab.look)
    filtered = lab.catalog.filtered(scope)
    outcome = retrieve.run(case.query, scope, lab.catalog, parts, lab.options(hybrid=True, rerank=True))
    documents = lab.catalog.eligible(scope).documents
    chunks = without_fact([hit.chunk for hit in outcome.results], setup.get("leave_out_chunks_with"), documents)
    packet = packets.build_packet(chunks, documents, case.required_fact_ids)
    decision = packets.answer(packet, [packets.Claim(**claim) for claim in case.claims])
    return Asked(outcome, packet, decision, trace(case.id, outcome, packet, decision, filtered, documents))


def without_fact(chunks: Sequence[Chunk], fact_id: str | None, documents: Mapping[str, Document]) -> list[Chunk]:
    """The chunks, less those that hold a certain fact."""
    return [chunk for chunk in chunks if fact_id not in packets.facts_of(chunk, documents[chunk.doc_id])]


# The only fields that a trace may have: ids, digests, reasons, numbers. No words of a query or of a document.
TRACE_FIELDS = ("case_id", "query_digest", "scope_digest", "catalog_digest", "settings_digest", "filtered", "recalled", "fused",
                "rejected", "final", "left_out", "evidence_digest", "present_fact_ids", "missing_fact_ids", "status")


def trace(case_id: str | None, outcome: Outcome, packet: packets.EvidencePacket, decision: packets.Decision,
          filtered: Sequence[tuple[str, str]], documents: Mapping[str, Document]) -> dict:
    """What happened to one question, in ids, digests and reasons: `TRACE_FIELDS` and nothing else."""
    found = {
        "case_id": case_id,
        "query_digest": digest(outcome.query),
        "scope_digest": outcome.scope.digest,
        "catalog_digest": digest(sorted([one.doc_id, one.content_digest] for one in documents.values())),
        "settings_digest": outcome.settings.digest,
        "filtered": [{"document": doc_id, "reason": rule} for doc_id, rule in filtered],
        "recalled": {channel.name: [chunk_id for chunk_id, _ in channel.hits] for channel in outcome.channels},
        "fused": list(outcome.pool),
        "rejected": [{"chunk": chunk_id, "reason": rule} for chunk_id, rule in outcome.rejected],
        "final": [hit.chunk.chunk_id for hit in outcome.results],
        "left_out": [{"chunk": chunk_id, "reason": reason} for chunk_id, reason in (*outcome.left_out, *packet.left_out)],
        "evidence_digest": packet.digest,
        "present_fact_ids": list(packet.present_fact_ids),
        "missing_fact_ids": list(packet.missing_fact_ids),
        "status": decision.status,
    }
    return {name: found[name] for name in TRACE_FIELDS}


# --- what each case comes to --------------------------------------------------------------------------------------------

def run_case(case: Case) -> dict:
    """What the lab says to one case, under the names of `Case.expected`. Each case has a lab of its own: it may change it."""
    if case.group == "chunking":
        return cut_guide(build_lab(CORPUS), case.setup)
    if case.scope:
        return judge(build_lab(CORPUS), case)
    return {"baseline-parametric-guess": guess, "baseline-full-context-conflict": full_context,
            "evidence-citation-mismatch": mapping_scores}[case.id](case)


def guess(case: Case) -> dict:
    """An answer from nowhere: no document, no citation, so each claim that it makes is without support."""
    return {"retrieved_document_count": 0, "citation_count": 0, "answer_source": "parametric_guess",
            "unsupported_claim_count": len(case.claims)}


def full_context(case: Case) -> dict:
    """Everything at once: how much of it does not belong there."""
    catalog = build_lab(CORPUS).catalog
    return {"context_document_count": len(catalog.documents), "conflict_document_count": len(conflicts(catalog)),
            "internal_document_count": len(internal(catalog)), "citation_count": 0}


def conflicts(catalog) -> list[str]:
    """The ids that are out for a caller with every role: by status, time or product version."""
    every_role = tuple(sorted({role for document in catalog.documents for role in document.roles}))
    public = scope_of(read_cases()[THROUGH_LINE].scope)
    return [doc_id for doc_id, _ in catalog.filtered(public._replace(roles=every_role))]


def internal(catalog) -> list[str]:
    """The ids of documents that a public caller may not read."""
    return [document.doc_id for document in catalog.documents if "public" not in document.roles]


def mapping_scores(case: Case) -> dict:
    """Two hand-made maps of (claim, citation): how many of those given are right, and how many of those needed are there."""
    needed, given = ([tuple(pair) for pair in case.setup[name]] for name in ("needed", "given"))
    right = [pair for pair in given if pair in needed]
    claims = list(dict.fromkeys(claim for claim, _ in needed))
    return {"citation_precision": evaluation.citation_precision(len(right), len(given)),
            "citation_recall": len(right) / len(needed),
            "supported_claim_ratio": evaluation.faithfulness(len({claim for claim, _ in right}), len(claims))}


def cut_guide(lab: Lab, setup: Mapping) -> dict:
    """One document cut in one way: what is left whole."""
    document = lab.docs[setup["document_id"]]
    chunks = (chunking.fixed_window(document, setup["width"]) if setup["strategy"] == "fixed_window"
              else chunking.CHUNKERS[setup["strategy"]](document))
    held = [fact_id for chunk in chunks for fact_id in packets.facts_of(chunk, document)]
    return {"chunk_count": len(chunks), "with_heading_path": sum(bool(chunk.heading_path) for chunk in chunks),
            "tables_intact": sections.intact(document, chunks, "table")[0],
            "code_intact": sections.intact(document, chunks, "code")[0],
            "facts": [fact.fact_id for fact in document.facts if fact.fact_id in held],
            "prefix_count": sum(bool(chunk.prefix) for chunk in chunks),
            "source_content_digest_unchanged":
                all(chunk.document_digest == document.content_digest
                    and chunk.text == document.text[chunk.start:chunk.end] for chunk in chunks)}


def judge(lab: Lab, case: Case) -> dict:
    """One question, and how its answer compares with what was expected."""
    asked, scope = ask(lab, case), scope_of(case.scope)
    returned = [hit.candidate.doc_id for hit in asked.outcome.results]
    rejected = [lab.chunks.by_id[chunk_id].doc_id for chunk_id, _ in asked.outcome.rejected]
    return {"filtered_before_score_count": len(asked.trace["filtered"]), "documents": list(dict.fromkeys(returned)),
            "retrieved_chunk_count": len(returned), **metrics(returned, case.relevant_document_ids),
            "policy_violation_count": sum(lab.catalog.broken_rule(doc_id, scope) is not None for doc_id in returned),
            "catalog_recheck_rejected_count": len(rejected), "recheck_rejected": rejected,
            "malicious_in_candidates": any(lab.chunks.by_id[one].doc_id == MALICIOUS for one in asked.outcome.pool),
            "untrusted_instruction_in_answer_context":
                sum(bool(injection_phrases(chunk.text)) for chunk in asked.packet.chunks),
            "citation_count": len(asked.packet.citations), "present_fact_ids": list(asked.packet.present_fact_ids),
            "missing_fact_ids": list(asked.packet.missing_fact_ids), "status": asked.decision.status,
            "outcome": compare(case.expected_status, asked.decision.status)}


def metrics(returned: Sequence[str], relevant: Sequence[str]) -> dict:
    """Metrics over different documents, at 3; None where no label gives them a meaning."""
    grades = dict.fromkeys(relevant, 1)
    return {"reciprocal_rank": evaluation.reciprocal_rank(returned, grades, TOP_K),
            "recall_at_3": evaluation.recall_at_k(returned, grades, TOP_K),
            "precision_at_3": evaluation.precision_at_k(returned, grades, TOP_K),
            "ndcg_at_3": evaluation.ndcg_at_k(returned, grades, TOP_K)}


def compare(expected: str | None, actual: str) -> str:
    """How a status compares with the one expected. A false answer says too much, a false abstention says nothing."""
    if expected is None:
        return "not_comparable"
    if expected == actual:
        return "match"
    return {"answer": "false_answer", "abstain": "false_abstain", "partial": "false_partial"}[actual]


def outcome_summary(results: Mapping[str, dict]) -> dict:
    """Five counts over the comparable cases. Unexpected: a conformance case without a match, a probe that did not fail."""
    modes = {case.id: case.expectation_mode for case in read_cases().values() if case.expectation_mode}
    wanted = {"conformance": "match", "failure_probe": "false_abstain"}
    found = [results[case_id]["outcome"] for case_id in modes]
    return {"conformance_count": sum(mode == "conformance" for mode in modes.values()),
            "failure_probe_count": sum(mode == "failure_probe" for mode in modes.values()),
            "unexpected_status_count": sum(results[one]["outcome"] != wanted[mode] for one, mode in modes.items()),
            "false_answer_count": found.count("false_answer"), "false_abstain_count": found.count("false_abstain")}


# --- inspect: one request, told whole --------------------------------------------------------------------------------------

def inspect(case_id: str = THROUGH_LINE) -> dict:
    """One request with its evidence, decision and trace. It shows fictional text: a lesson, not a log."""
    case = find_case(case_id)
    asked = ask(build_lab(CORPUS), case)
    rows = [{**citation._asdict(), "text": chunk.text} for citation, chunk in zip(asked.packet.citations, asked.packet.chunks)]
    return {"schema": "rag_lab.inspect/1", "case": case.id, "query": case.query, "scope": case.scope,
            "required_fact_ids": list(case.required_fact_ids), "present_fact_ids": list(asked.packet.present_fact_ids),
            "missing_fact_ids": list(asked.packet.missing_fact_ids),
            "status": asked.decision.status, "evidence": rows,
            "decision": {"status": asked.decision.status, "claims": [claim._asdict() for claim in asked.decision.claims],
                         "missing_fact_ids": list(asked.decision.missing_fact_ids)},
            "trace": asked.trace}


# --- ablation: one query, one label set, one switch --------------------------------------------------------------------------

ABLATION_NOTE = ("The same queries and labels, one switch at a time, rankings without threshold. Nine hand-written queries over a "
                 "corpus that was written to fit: it shows what each stage does to each query, not which method is better.")


def ablation() -> dict:
    """BM25 only, concepts only, hybrid, hybrid + rerank: per labelled query and in the mean."""
    lab = build_lab(CORPUS)
    labelled = {case.query: case for case in reversed(read_cases().values()) if case.relevant_document_ids}
    rows = [{"case_id": case.id, **{variant: _variant_row(ids, case) for variant, ids in _variants(lab, case).items()}}
            for case in reversed(labelled.values())]
    means = {variant: {name: evaluation.mean([row[variant][name] for row in rows])
                       for name in ("reciprocal_rank", "recall_at_3", "precision_at_3", "ndcg_at_3")}
             for variant in ("bm25_only", "concepts_only", "hybrid", "hybrid_rerank")}
    return {"note": ABLATION_NOTE, "queries": rows, "means": means}


def _variant_row(doc_ids: Sequence[str], case: Case) -> dict:
    """What one variant returned for one case, and how good that is."""
    return {"documents": list(dict.fromkeys(doc_ids)), **metrics(doc_ids, case.relevant_document_ids)}


def _variants(lab: Lab, case: Case) -> dict[str, list[str]]:
    """variant -> the documents of its three best chunks."""
    def ranked(**switches) -> list[str]:
        """The documents of the best chunks with these settings, best first."""
        outcome = lab.search(case.query, scope=scope_of(case.scope), threshold=0.0, **switches)
        return [hit.candidate.doc_id for hit in (*outcome.results, *outcome.closest)]

    live = lab.chunks.of(lab.catalog.eligible(scope_of(case.scope)).documents)
    concepts = lab.dense.over(live).search(case.query, TOP_K)
    return {"bm25_only": ranked(), "concepts_only": [lab.chunks.by_id[one].doc_id for one, _ in concepts],
            "hybrid": ranked(hybrid=True), "hybrid_rerank": ranked(hybrid=True, rerank=True)}


# --- the lesson of exercise 11: filtering after the cut ------------------------------------------------------------------------

def starved_top_k(case_id: str = "governance-public-internal") -> dict:
    """What is left for a public caller when the best three are taken first and filtered then, and when it is the other way round.

    A lesson: the product path has no such switch. Both rank by BM25 over the same chunks.
    """
    lab, case = build_lab(CORPUS), find_case(case_id)
    scope = scope_of(case.scope)
    live = lab.catalog.eligible(scope).documents
    everything = lab.bm25.over(tuple(sorted(lab.chunks.by_id)))
    top = [lab.chunks.by_id[one].doc_id for one, _ in everything.search(case.query, TOP_K)]
    allowed = lab.bm25.over(lab.chunks.of(live)).search(case.query, TOP_K)
    return {"cut_then_filter": [doc_id for doc_id in top if doc_id in live],
            "filter_then_cut": [lab.chunks.by_id[one].doc_id for one, _ in allowed]}


# --- what the chapter prints -----------------------------------------------------------------------------------------------

def case_values() -> dict:
    """case id -> what it came to, with metrics rounded as the chapter prints them."""
    return {case.id: rounded(run_case(case)) for case in read_cases().values()}


def summary() -> dict:
    """The five counts of the outcome summary."""
    return outcome_summary({case.id: run_case(case) for case in read_cases().values()})


def eligible_counts() -> dict:
    """role -> how many documents it may see at 3.2."""
    lab = build_lab(CORPUS)
    public = scope_of(read_cases()[THROUGH_LINE].scope)
    return {role: len(lab.catalog.eligible(public._replace(roles=tuple(dict.fromkeys(("public", role))))).documents)
            for role in ("public", "support", "security", "maintainer")}


def reduced_evidence() -> dict:
    """The through-line without its second citation, and with nothing but the command of the guide."""
    lab, case = build_lab(CORPUS), find_case(THROUGH_LINE)
    documents = lab.catalog.eligible(scope_of(case.scope)).documents
    chunks = list(ask(lab, case).packet.chunks)
    command = [chunk for chunk in lab.chunks.by_id.values() if chunk.heading_path == ("执行命令",)]
    return {name: packets.answer(packets.build_packet(given, documents, case.required_fact_ids), ())._asdict()
            for name, given in (("without_c2", [chunks[0], chunks[2]]), ("command_only", command))}


def rrf() -> dict:
    """The two fused scores of section v4, four decimals."""
    from .worked_scores import rrf_steps
    return {row["document"]: round(row["score"], 4) for row in rrf_steps()}


def spoken() -> dict:
    """What the scripted policy says to the through-line."""
    return {"text": "；".join(claim["text"] for claim in inspect()["decision"]["claims"]) + "。"}


def report_blocks() -> dict:
    """The three blocks of the evidence report that the chapter prints, with the keys that it prints."""
    from .rag_evidence import METRIC_CONTRACT, UNMEASURED, scope_block
    return {"scope": {name: value for name, value in scope_block().items() if name != "variants_meaning"},
            "metric_contract": {name: value for name, value in METRIC_CONTRACT.items() if name != "undefined"},
            "unmeasured": UNMEASURED}


LISTINGS = {"case_values": case_values, "summary": summary, "rrf": rrf, "spoken": spoken, "reduced_evidence": reduced_evidence,
            "report_blocks": report_blocks}
