"""At which stage was a document lost that a query should have returned, and what would have had to differ?

Told from the outcome of the query itself, for live documents only: of a document that the caller may not see the answer is
the same as of one that never was.
"""
from typing import Mapping, NamedTuple, Sequence

from .index import LiveIndex
from .model import Candidate, Document, Outcome

STAGES = {   # stage -> what it means, in the order of the path
    "not_eligible": "the caller sees no such document",
    "not_recalled": "no channel finds it at all",
    "below_pool": "a channel finds it, but below the pool",
    "fusion": "it was recalled, but its fused rank lies below the pool",
    "gate": "the catalog had changed when it was asked again",
    "no_evidence": "it may be read, but its source or its words may not support an answer",
    "threshold": "its support lies below the threshold",
    "rerank": "the fusion had it among the first k, the reranker pushed it down",
    "cut": "it stands below the first k",
    "refused": "it came closest, but the lab did not answer",
}


class Fate(NamedTuple):
    """What became of one document in one query."""

    doc_id: str
    stage: str | None                     # one of STAGES; None if it was returned
    channel_ranks: Mapping[str, int | None]   # channel that ran -> rank of its best chunk in the whole ranking
    channel_scores: Mapping[str, float | None]
    fused_rank: int | None                # of its best chunk, from 1
    final_rank: int | None                # after gate and rerank, before threshold and cut
    candidate: Candidate | None           # its best chunk where it got furthest
    needed: str | None                    # what would have had to differ; None if it was returned


def fate(outcome: Outcome, doc_id: str, documents: Mapping[str, Document], owner: Mapping[str, str],
         indexes: Sequence[LiveIndex]) -> Fate:
    """The fate of a document. `owner`: chunk id -> document id; `indexes`: those of the channels that ran, over live chunks."""
    if doc_id not in documents:
        return Fate(doc_id, "not_eligible", {}, {}, None, None, None, "a scope that sees the document, and a document to see")
    found = {index.name: _best(index.search(outcome.query, None), doc_id, owner) for index in indexes}
    fused = _place([candidate.chunk_id for candidate in outcome.fused], doc_id, owner)
    final = _place([candidate.chunk_id for candidate in outcome.ranked], doc_id, owner)
    stage = _stage(outcome, doc_id, owner, [rank for rank, _ in found.values()], fused, final)
    candidate = outcome.ranked[final - 1] if final else outcome.fused[fused - 1] if fused else None
    return Fate(doc_id, stage, {name: rank for name, (rank, _) in found.items()},
                {name: score for name, (_, score) in found.items()}, fused, final, candidate,
                _needed(stage, outcome, [rank for rank, _ in found.values()], fused, final, candidate))


def _best(hits: Sequence[tuple[str, float]], doc_id: str, owner: Mapping[str, str]) -> tuple[int | None, float | None]:
    """(rank, score) of the best chunk of a document in a whole ranking."""
    return next(((rank, score) for rank, (chunk_id, score) in enumerate(hits, start=1) if owner[chunk_id] == doc_id),
                (None, None))


def _place(chunk_ids: Sequence[str], doc_id: str, owner: Mapping[str, str]) -> int | None:
    """Rank of the first chunk of a document, from 1."""
    return next((rank for rank, chunk_id in enumerate(chunk_ids, start=1) if owner[chunk_id] == doc_id), None)


def _stage(outcome: Outcome, doc_id: str, owner: Mapping[str, str], ranks: Sequence[int | None], fused: int | None,
           final: int | None) -> str | None:
    settings = outcome.settings
    if any(hit.candidate.doc_id == doc_id for hit in outcome.results):
        return None
    if any(hit.candidate.doc_id == doc_id for hit in outcome.closest):
        return "refused"
    if any(candidate.doc_id == doc_id for candidate in outcome.shown):
        return "rerank" if settings.rerank and fused <= settings.k else "cut"
    if final is not None:
        barred = [chunk_id for chunk_id, _ in outcome.left_out]
        mine = [candidate.chunk_id for candidate in outcome.ranked if candidate.doc_id == doc_id]
        return "no_evidence" if all(chunk_id in barred for chunk_id in mine) else "threshold"
    if any(owner[chunk_id] == doc_id for chunk_id, _ in outcome.rejected):
        return "gate"
    if fused is not None:
        return "fusion"
    return "below_pool" if any(rank is not None for rank in ranks) else "not_recalled"


def _needed(stage: str | None, outcome: Outcome, ranks: Sequence[int | None], fused: int | None, final: int | None,
            candidate: Candidate | None) -> str | None:
    """What would have had to differ, in one sentence."""
    best = min((rank for rank in ranks if rank is not None), default=None)
    return {
        None: None,
        "not_recalled": "a word or feature in common with the query, or another channel",
        "below_pool": f"a pool of at least {best}",
        "fusion": f"a pool of at least {fused}",
        "gate": "an index as new as the catalog",
        "no_evidence": "a source that is trusted, and words that do not talk to a model",
        "threshold": f"a threshold of at most {candidate.parts.support:.4f}" if stage == "threshold" else None,
        "rerank": f"k of at least {final}, or no reranker",
        "cut": f"k of at least {final}",
        "refused": f"a threshold of at most {outcome.best_support:.4f}",
    }[stage]
