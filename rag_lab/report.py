"""How does an outcome look on paper? One JSON layout, keys in a fixed order, none ever missing.

`SEARCH` names the layout; a change of keys changes the number. Scores are rounded here and nowhere
before: four decimals, six in an explanation, so that its parts can be summed by hand.
"""
from .model import Citation, Hit, Outcome, Settings

SEARCH = "rag_lab.search/1"


def rounded(value, digits: int = 4):
    """`value` with every float in it rounded; the rest is left as it is."""
    if isinstance(value, float):
        return round(value, digits)
    if isinstance(value, dict):
        return {key: rounded(entry, digits) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(entry, digits) for entry in value]
    return value


def search_report(outcome: Outcome, fate: "Fate | None" = None) -> dict:
    """The JSON document of one query; `fate` is what --why asked for."""
    return {
        "schema": SEARCH,
        "query": outcome.query,
        "settings": settings_block(outcome.settings),
        "corpus": outcome.statistics | {"avg_tokens": round(outcome.statistics["avg_tokens"], 1)},
        "channel_sizes": {channel.name: len(channel.hits) if channel.ran else None for channel in outcome.channels},
        "channel_notes": {channel.name: channel.note for channel in outcome.channels},
        "funnel": outcome.funnel,
        "dropped": outcome.dropped,
        "left_out": [{"chunk_id": chunk_id, "reason": reason} for chunk_id, reason in outcome.left_out],
        "decision": outcome.decision,
        "refused": outcome.refused,
        "reason": outcome.reason,
        "best_support": round(outcome.best_support, 4),
        "answer": outcome.answer,
        "results": [hit_block(hit) for hit in outcome.results],
        "top_candidates": [hit_block(hit) for hit in outcome.closest] if outcome.refused else None,
        "why": fate_block(fate) if fate else None,
        "tombstones": [tombstone._asdict() for tombstone in outcome.tombstones],
        "receipt": outcome.receipt,
    }


def fate_block(fate: "Fate") -> dict:
    """The story of one document in one query."""
    from .loss import STAGES   # here, for a plain query does without
    candidate = fate.candidate
    return {"doc_id": fate.doc_id, "stage": fate.stage, "meaning": STAGES[fate.stage] if fate.stage else "it was returned",
            "channel_ranks": dict(fate.channel_ranks), "channel_scores": rounded(dict(fate.channel_scores)),
            "fused_rank": fate.fused_rank, "fused_score": rounded(candidate.score) if candidate else None,
            "final_rank": fate.final_rank,
            "parts": rounded(candidate.parts._asdict()) if candidate and candidate.parts else None, "needed": fate.needed}


def settings_block(settings: Settings) -> dict:
    """The settings that shape the ranking, with what the threshold is compared with."""
    return {"k": settings.k, "pool": settings.pool, "hybrid": settings.hybrid, "rerank": settings.rerank,
            "rrf_k": settings.rrf_k, "threshold": settings.threshold, "threshold_on": settings.threshold_on}


def hit_block(hit: Hit) -> dict:
    """One result. `score` is the fused score, or BM25's own when it ran alone; offsets count code points."""
    candidate = hit.candidate
    return {
        "rank": hit.rank,
        "doc_id": candidate.doc_id,
        "title": hit.title,
        "chunk": {"chunk_id": hit.chunk.chunk_id, "heading_path": list(hit.chunk.heading_path), "start": hit.chunk.start,
                  "end": hit.chunk.end},
        "score": round(candidate.score, 4),
        "support": round(candidate.parts.support, 4),
        "bm25_score": rounded(candidate.scores.get("bm25")),
        "dense_score": rounded(candidate.scores.get("dense")),
        "rerank_score": round(candidate.parts.score, 4) if candidate.reranked else None,
        "parts": rounded(candidate.parts._asdict()),
        "citation": citation_block(hit.citation) if hit.citation else None,
        "context": dict(zip(("before", "after"), hit.context)) if hit.context else None,
        "explain": rounded(hit.explanation, 6),
    }


def citation_block(citation: Citation) -> dict:
    """A citation; the keys and their order are the chapter's."""
    return citation._asdict()
