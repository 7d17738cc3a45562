"""At which stage was a document lost that a query should have returned, and what would have had to differ?

Told from the outcome of the query itself, for live documents only: of a document that the caller may not see the answer is
the same as of one that never was.
"""
import math
from typing import Mapping, NamedTuple, Sequence

from . import fusion
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
    needed: str | None                    # what would have had to differ; None if it was returned, or not asked for


Rankings = Mapping[str, Sequence[tuple[str, float]]]   # channel that ran -> its whole ranking of (chunk id, score)


def whole_rankings(query: str, indexes: Sequence[LiveIndex]) -> Rankings:
    """What each channel ranks if no pool cuts it. `indexes`: those of the channels that ran, over live chunks."""
    return {index.name: index.search(query, None) for index in indexes}


def fate(outcome: Outcome, doc_id: str, documents: Mapping[str, Document], owner: Mapping[str, str], rankings: Rankings,
         tell: bool = True) -> Fate:
    """The fate of a document. `owner`: chunk id -> document id; without `tell`, `needed` is left out, which is dearer."""
    if doc_id not in documents:
        return Fate(doc_id, "not_eligible", {}, {}, None, None, None, "a scope that sees the document, and a document to see")
    found = {name: _best(ranked, doc_id, owner) for name, ranked in rankings.items()}
    fused = _place([candidate.chunk_id for candidate in outcome.fused], doc_id, owner)
    final = _place([candidate.chunk_id for candidate in outcome.ranked], doc_id, owner)
    stage = _stage(outcome, doc_id, owner, [rank for rank, _ in found.values()], fused, final)
    candidate = outcome.ranked[final - 1] if final else outcome.fused[fused - 1] if fused else None
    return Fate(doc_id, stage, {name: rank for name, (rank, _) in found.items()},
                {name: score for name, (_, score) in found.items()}, fused, final, candidate,
                _needed(stage, outcome, rankings, doc_id, owner) if tell else None)


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


def _needed(stage: str | None, outcome: Outcome, rankings: Rankings, doc_id: str, owner: Mapping[str, str]) -> str | None:
    """What would have had to differ to bring the document past this stage, in one sentence; None if it was returned."""
    place = _place([candidate.chunk_id for candidate in outcome.shown], doc_id, owner)
    if stage in ("rerank", "cut"):
        return f"k of at least {place}" + (", or no reranker" if stage == "rerank" else "") + _answering(outcome)
    if stage in ("below_pool", "fusion"):
        pool = _enough(outcome, rankings, doc_id, owner)
        return f"a pool of at least {pool}" + ("" if outcome.settings.rerank else f", and k of at least {pool}")
    barred = [chunk_id for chunk_id, _ in outcome.left_out]
    mine = [one for one in outcome.ranked if one.doc_id == doc_id and one.chunk_id not in barred]
    mine += [hit.candidate for hit in outcome.closest if hit.candidate.doc_id == doc_id]
    support = max((candidate.parts.support for candidate in mine if candidate.parts), default=0.0)
    told = support if outcome.settings.threshold_on == "each_result" else outcome.best_support
    return {
        None: None,
        "not_recalled": "a word or feature in common with the query, or another channel",
        "gate": "an index as new as the catalog",
        "no_evidence": "a source that is trusted, and words that do not talk to a model",
        "threshold": f"a threshold of at most {_floor(support)}",
        "refused": f"a threshold of at most {_floor(told)}",
    }[stage]


def _answering(outcome: Outcome) -> str:
    """What is needed besides when the lab did not answer at all."""
    return f", and a threshold of at most {_floor(outcome.best_support)}" if outcome.refused else ""


def _floor(support: float) -> str:
    """Four decimals, never above the value: a threshold of 0.6667 would refuse a support of 2/3."""
    return f"{math.floor(support * 10_000) / 10_000:.4f}"


def _enough(outcome: Outcome, rankings: Rankings, doc_id: str, owner: Mapping[str, str]) -> int:
    """A pool that lets the document through recall and fusion: its fused rank moves with the pool, so the fusion is tried."""
    def passes(pool: int) -> bool:
        """Whether the document is among the first of the fusion of so many candidates a channel."""
        lists = [[chunk_id for chunk_id, _ in ranking[:pool]] for ranking in rankings.values()]
        fused = lists[0] if len(lists) == 1 else [one for one, _ in fusion.rrf(lists, outcome.settings.rrf_k)]
        place = _place(fused, doc_id, owner)
        return place is not None and place <= pool

    longest = max(map(len, rankings.values()))   # the end of the search, should a retriever not rank alike twice
    low, high = outcome.settings.pool, 2 * outcome.settings.pool
    while high < longest and not passes(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high
