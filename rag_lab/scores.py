"""How does an evaluation look on paper? One JSON layout, keys in a fixed order, none ever missing.

`EVALUATION` names the layout; a change of keys changes the number.
"""
from .evaluation import Evaluation, QueryResult
from .report import rounded, settings_block

EVALUATION = "rag_lab.evaluation/1"
UNMEASURED = ("faithfulness", "citation_precision", "citation_recall")   # they need a judge of meaning


def evaluation_report(evaluation: Evaluation) -> dict:
    """The JSON document of one evaluation."""
    return {
        "schema": EVALUATION,
        "settings": settings_block(evaluation.settings),
        "macro": rounded(evaluation.macro),
        "counts": evaluation.counts,
        "losses": evaluation.losses,
        "channel_losses": evaluation.channel_losses,
        "gain": "exponential",
        "unmeasured": dict.fromkeys(UNMEASURED),
        "queries": [query_block(result) for result in evaluation.queries],
        "receipt": evaluation.receipt,
    }


def query_block(result: QueryResult) -> dict:
    """One judged query."""
    return {
        "query_id": result.query.query_id,
        "query": result.query.text,
        "kind": result.query.kind,
        "relevant": list(result.relevant),
        "returned": list(result.returned),
        "recall": rounded(result.recall),
        "rr": rounded(result.reciprocal_rank),
        "ndcg": rounded(result.ndcg),
        "citation_relevance": result.citation_relevance,
        "lost": [{"doc_id": lost.doc_id, "stage": lost.stage} for lost in result.fates],
        "refused": result.refused,
        "reason": result.reason,
        "best_support": round(result.best_support, 4),
    }
