"""What happens to one query, from the caller's rights to the decision? These stages, in this order.

     1 scope     who asks, as of when, for which product version: from the caller, never from the query text
     2 live      the catalog decides which documents are eligible
     3 recall    each channel ranks chunks of live documents only
     4 fuse      reciprocal rank fusion over the channels
     5 soften    documents that miss a soft filter stand after the rest
     6 rerank    a dearer look at few candidates
     7 gate      the catalog is asked again; stale candidates are dropped and counted
     8 cut       the best k
     9 cite      a verbatim span for each, checked before it leaves
    10 decide    answer or refuse, with the reason
    11 measure   over many judged queries: `evaluation`

The gate also stands before the rerank, so that nothing stale is looked at; the rerank takes time, so it stands after it too.
"""
from typing import Mapping, NamedTuple, Sequence

from . import citation, evidence, fusion
from .bm25 import Bm25
from .catalog import Catalog, Live, in_force
from .chunking import Chunks
from .index import LiveIndex
from .injection import no_evidence
from .model import Asked, Candidate, Channel, Chunk, Document, Hit, Outcome, Preference, Scope, Settings
from .rerank import Look, looked_at, rerank
from .text import TermSet, term_set

STAGES = ("scope", "live", "recall", "fuse", "soften", "rerank", "gate", "cut", "cite", "decide", "measure")


class Parts(NamedTuple):
    """What a lab retrieves with: its chunks, its indexes, its closer look."""

    chunks: Chunks
    bm25: Bm25
    dense: LiveIndex | None   # may be None unless `Settings.hybrid`
    look: Look
    terms_of: TermSet = term_set   # of the corpus's analyzer


def run(query: str, scope: Scope, catalog: Catalog, parts: Parts, settings: Settings) -> Outcome:
    """One query through all stages."""
    live = catalog.eligible(scope)                                                      # 1 scope, 2 live
    chunks, documents = parts.chunks.by_id, live.documents
    live_ids = parts.chunks.of(documents)
    bm25 = parts.bm25.over(live_ids)
    dense = parts.dense.over(live_ids) if settings.hybrid else None
    channels = recall(query, bm25, dense, settings)                                     # 3 recall
    fused = fuse(channels, chunks, settings)                                            # 4 fuse
    fused = soften(fused, documents, settings.prefer)                                   # 5 soften
    candidates = fused[:settings.pool]
    asked = ask(query, scope, bm25, settings, parts.terms_of)
    current, early = gate(candidates, catalog, scope, chunks)                           # 6 rerank
    if settings.rerank:
        current = rerank(looked_at(parts.look, asked, current, chunks, documents))
    current, late = gate(current, catalog, scope, chunks)                               # 7 gate
    live = catalog.eligible(scope)   # as the gate has just seen it: citations and counts are of now
    documents = live.documents
    if settings.threshold_on == "each_result":
        current = looked_at(parts.look, asked, current, chunks, documents)
    admitted, left_out = admissible(current, chunks, documents)
    shown = admitted
    if settings.threshold_on == "each_result":
        shown = [candidate for candidate in admitted if candidate.parts.support >= settings.threshold]
    # 8 cut; where nothing reaches the threshold, what came closest is kept for the refusal
    top = looked_at(parts.look, asked, (shown or admitted)[:settings.k], chunks, documents)
    hits = cite(asked, top, chunks, documents, bm25, dense, settings)                   # 9 cite
    supports = [hit.candidate.parts.support for hit in hits if hit.citation]   # no words to cite, no support
    decision, reason = evidence.decide(query, len(documents), supports, settings.threshold)    # 10 decide
    results, closest = (hits, ()) if decision == "answer" else ((), hits)
    sizes = {channel.name: len(channel.hits) if channel.ran else None for channel in channels}
    funnel = {"live": len(documents), **sizes, "fused": len(fused), "pool": len(candidates), "gate": len(current),
              "threshold": len(shown), "cut": len(shown[:settings.k])}
    return Outcome(query, scope, settings, statistics(live, catalog, scope, bm25), channels, funnel,
                   tuple(fused), tuple(current), tuple(shown), (*early, *late), left_out, decision, reason,
                   max(supports, default=0.0), _answer(results), results, closest, catalog.tombstones_of(scope))


def ask(query: str, scope: Scope, bm25: Bm25, settings: Settings, terms_of: TermSet) -> Asked:
    """What the closer look may know: the query, the scope, and what its words weigh in the live corpus."""
    best_fused = 2 * fusion.rrf_part(1, settings.rrf_k) if settings.hybrid else None
    return Asked(query, scope, tuple(bm25.known(bm25.analyze(query))), bm25.idf, terms_of, best_fused)


def statistics(live: Live, catalog: Catalog, scope: Scope, bm25: Bm25) -> dict:
    """What the corpus looks like to this scope; `terms` and `avg_tokens` are of the active chunks."""
    tombstoned = len(catalog.tombstones_of(scope))
    return {"documents": len(live.documents) + tombstoned, "active": len(live.documents), "tombstoned": tombstoned,
            "terms": bm25.vocabulary_size, "avg_tokens": bm25.avgdl}


def recall(query: str, bm25: Bm25, dense: LiveIndex | None, settings: Settings) -> tuple[Channel, ...]:
    """Stage 3: what each channel ranks, at most `pool` of it; a channel with nothing says why."""
    return (_channel(bm25, query, settings, "none of the query's terms occurs in the live documents"),
            _channel(dense, query, settings, "no live document has a cosine above 0") if dense
            else Channel("dense", (), "not asked for", ran=False))


def _channel(index: LiveIndex, query: str, settings: Settings, nothing: str) -> Channel:
    hits = tuple(index.search(query, settings.pool))
    note = None if hits else nothing if index.usable(query) else "the query holds nothing that this channel can use"
    return Channel(index.name, hits, note)


def fuse(channels: Sequence[Channel], chunks: Mapping[str, Chunk], settings: Settings) -> list[Candidate]:
    """Stage 4: one list. With one channel its own scores stand; with several, their reciprocal ranks are summed."""
    ran = [channel for channel in channels if channel.ran]
    lists = {channel.name: [chunk_id for chunk_id, _ in channel.hits] for channel in ran}
    ranks = {name: fusion.ranks(ids) for name, ids in lists.items()}
    scores = {channel.name: dict(channel.hits) for channel in ran}
    fused = ran[0].hits if len(ran) == 1 else fusion.rrf(lists.values(), settings.rrf_k)
    return [Candidate(chunk_id, chunks[chunk_id].doc_id, score,
                      {name: found[chunk_id] for name, found in ranks.items() if chunk_id in found},
                      {name: found[chunk_id] for name, found in scores.items() if chunk_id in found})
            for chunk_id, score in fused]


def soften(candidates: Sequence[Candidate], documents: Mapping[str, Document], prefer: Preference) -> list[Candidate]:
    """Stage 5: documents that miss fewer soft filters first; among equals the order stays."""
    counted = [candidate._replace(unmet=unmet_filters(documents[candidate.doc_id], prefer)) for candidate in candidates]
    return sorted(counted, key=lambda candidate: candidate.unmet)


def unmet_filters(document: Document, prefer: Preference) -> int:
    """How many of the soft filters that are set a document misses."""
    return sum([prefer.kind is not None and document.kind != prefer.kind,
                prefer.language is not None and document.language != prefer.language,
                prefer.valid_at is not None and not in_force(document, prefer.valid_at)])


def gate(candidates: Sequence[Candidate], catalog: Catalog, scope: Scope,
         chunks: Mapping[str, Chunk]) -> tuple[list[Candidate], tuple[tuple[str, str], ...]]:
    """Stage 7: (the candidates that may be shown now, (chunk id, rule) of those that may not).

    An index can be older than the catalog. Whatever the catalog now hides, or whose document has changed since it was cut
    into chunks, is dropped, whichever index it came from.
    """
    kept, rejected = [], []
    for candidate in candidates:
        rule = catalog.broken_rule(candidate.doc_id, scope)
        document = catalog.current(candidate.doc_id, scope)
        if document and document.content_digest != chunks[candidate.chunk_id].document_digest:
            rule = "changed"
        if rule is None:
            kept.append(candidate)
        else:
            rejected.append((candidate.chunk_id, rule))
    return kept, tuple(rejected)


def admissible(candidates: Sequence[Candidate], chunks: Mapping[str, Chunk],
               documents: Mapping[str, Document]) -> tuple[list[Candidate], tuple[tuple[str, str], ...]]:
    """(the candidates that may be evidence, (chunk id, reason) of those whose words may not reach an answer)."""
    reasons = [no_evidence(chunks[candidate.chunk_id], documents[candidate.doc_id]) for candidate in candidates]
    return ([candidate for candidate, reason in zip(candidates, reasons) if reason is None],
            tuple((candidate.chunk_id, reason) for candidate, reason in zip(candidates, reasons) if reason is not None))


def cite(asked: Asked, candidates: Sequence[Candidate], chunks: Mapping[str, Chunk], documents: Mapping[str, Document],
         bm25: Bm25, dense: LiveIndex | None, settings: Settings) -> tuple[Hit, ...]:
    """Stage 9: each candidate with its evidence. A citation that does not slice back is a fault of the lab: it raises."""
    hits = []
    for rank, candidate in enumerate(candidates, start=1):
        chunk, document = chunks[candidate.chunk_id], documents[candidate.doc_id]
        evidence_span = citation.choose(document, asked.known_terms, chunk.start, chunk.end, asked.terms_of)
        if evidence_span and (broken := citation.verify(evidence_span, document)):
            raise RuntimeError(f"the citation of {document.doc_id!r} does not hold: {broken}")
        context = citation.context(evidence_span, document.text) if evidence_span and settings.show_context else None
        explanation = explain(asked, candidate, bm25, dense, settings) if settings.explain else None
        hits.append(Hit(rank, candidate, chunk, document.title, evidence_span, context, explanation))
    return tuple(hits)


def explain(asked: Asked, candidate: Candidate, bm25: Bm25, dense: LiveIndex | None, settings: Settings) -> dict:
    """Where each number of a candidate comes from: the channels' parts, the fusion's, the reranker's."""
    return {"bm25": bm25.explain(asked.query, candidate.chunk_id) if bm25.name in candidate.ranks else None,
            "dense": dense.explain(asked.query, candidate.chunk_id) if dense and dense.name in candidate.ranks else None,
            "rrf": fusion.explain(candidate.ranks, settings.rrf_k) if settings.hybrid else None,
            "rerank": {"known_terms": list(asked.known_terms), **candidate.parts._asdict(),
                       "support": candidate.parts.support}}


def _answer(results: Sequence[Hit]) -> str | None:
    """The quote of the first result that has one."""
    return next((hit.citation.quote for hit in results if hit.citation), None)
