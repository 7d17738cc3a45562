"""What happens to one query, from the caller's rights to the decision? These stages, in this order.

     1 scope     who asks, as of when, for which product version: from the caller, never from the query text
     2 live      the catalog decides which documents are eligible
     3 recall    each channel ranks live documents only
     4 fuse      reciprocal rank fusion over the channels
     5 soften    documents that miss a soft filter stand after the rest
     6 rerank    a dearer look at few candidates
     7 gate      the catalog is asked again; stale candidates are dropped and counted
     8 cut       the best k
     9 cite      a verbatim span for each, checked before it leaves
    10 decide    answer or refuse, with the reason
    11 measure   over many judged queries: `evaluation`
"""
from typing import Mapping, Sequence

from . import citation, evidence, fusion
from .bm25 import Bm25
from .catalog import Catalog, Live, in_force
from .hashed import Hashed
from .index import LiveIndex
from .model import Candidate, Channel, Document, Hit, Outcome, Preference, Scope, Settings
from .rerank import look, rerank

STAGES = ("scope", "live", "recall", "fuse", "soften", "rerank", "gate", "cut", "cite", "decide", "measure")


def run(query: str, scope: Scope, catalog: Catalog, bm25: Bm25, hashed: Hashed | None, indexed: Mapping[str, str],
        settings: Settings) -> Outcome:
    """One query through all stages.

    `hashed` may be None unless `settings.hybrid`. `indexed` holds the content digest that each document had when indexed.
    """
    live = catalog.eligible(scope)                                                        # 1 scope, 2 live
    bm25 = bm25.over(live.documents)
    hashed = hashed.over(live.documents) if settings.hybrid else None
    known_terms = bm25.known(bm25.analyze(query))
    channels = recall(query, bm25, hashed, settings)                                      # 3 recall
    fused = fuse(channels, settings)                                                      # 4 fuse
    candidates = soften(fused, live.documents, settings.prefer)[:settings.pool]           # 5 soften
    if settings.rerank:
        candidates = rerank(query, known_terms, candidates, live.documents)               # 6 rerank
    current, dropped = gate(candidates, catalog, scope, indexed)                          # 7 gate
    top = looked_at(query, known_terms, current[:settings.k], live.documents)             # 8 cut
    hits = cite(query, known_terms, top, live.documents, bm25, hashed, settings)          # 9 cite
    supports = [candidate.parts.support for candidate in top]
    decision, reason = evidence.decide(query, len(live.documents), supports, settings.threshold)    # 10 decide
    results, closest = (hits, ()) if decision == "answer" else ((), hits)
    sizes = {channel.name: len(channel.hits) if channel.ran else None for channel in channels}
    funnel = {"live": len(live.documents), **sizes, "fused": len(fused), "pool": len(candidates), "gate": len(current),
              "cut": len(top)}
    return Outcome(query, scope, settings, statistics(live, catalog, scope, bm25), channels, funnel, dropped, decision,
                   reason, max(supports, default=0.0), _answer(results), results, closest, catalog.tombstones_of(scope))


def statistics(live: Live, catalog: Catalog, scope: Scope, bm25: Bm25) -> dict:
    """What the corpus looks like to this scope; `terms` and `avg_tokens` are of the active documents."""
    tombstoned = len(catalog.tombstones_of(scope))
    return {"documents": len(live.documents) + tombstoned, "active": len(live.documents), "tombstoned": tombstoned,
            "terms": bm25.vocabulary_size, "avg_tokens": bm25.avgdl}


def recall(query: str, bm25: Bm25, hashed: Hashed | None, settings: Settings) -> tuple[Channel, ...]:
    """Stage 3: what each channel ranks, at most `pool` of it; a channel with nothing says why."""
    return (_channel(bm25, query, settings, "none of the query's terms occurs in the live documents"),
            _channel(hashed, query, settings, "no live document has a cosine above 0") if hashed
            else Channel(Hashed.name, (), "not asked for", ran=False))


def _channel(index: LiveIndex, query: str, settings: Settings, nothing: str) -> Channel:
    hits = tuple(index.search(query, settings.pool))
    note = None if hits else nothing if index.analyze(query) else "the query holds no usable term"
    return Channel(index.name, hits, note)


def fuse(channels: Sequence[Channel], settings: Settings) -> list[Candidate]:
    """Stage 4: one list. With one channel its own scores stand; with several, their reciprocal ranks are summed."""
    ran = [channel for channel in channels if channel.ran]
    lists = {channel.name: [doc_id for doc_id, _ in channel.hits] for channel in ran}
    ranks = {name: fusion.ranks(ids) for name, ids in lists.items()}
    scores = {channel.name: dict(channel.hits) for channel in ran}
    fused = ran[0].hits if len(ran) == 1 else fusion.rrf(lists.values(), settings.rrf_k)
    return [Candidate(doc_id, score, {name: found[doc_id] for name, found in ranks.items() if doc_id in found},
                      {name: found[doc_id] for name, found in scores.items() if doc_id in found})
            for doc_id, score in fused]


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
         indexed: Mapping[str, str]) -> tuple[list[Candidate], dict[str, int]]:
    """Stage 7: (the candidates that may be shown now, rule -> how many were dropped for it).

    An index can be older than the catalog. Whatever the catalog now hides, or whose text has changed since it was indexed,
    is dropped, whichever index it came from.
    """
    kept, dropped = [], {}
    for candidate in candidates:
        rule = catalog.broken_rule(candidate.doc_id, scope)
        if rule is None and catalog.current(candidate.doc_id, scope).content_digest != indexed.get(candidate.doc_id):
            rule = "changed"
        if rule is None:
            kept.append(candidate)
        else:
            dropped[rule] = dropped.get(rule, 0) + 1
    return kept, dict(sorted(dropped.items()))


def looked_at(query: str, known_terms: Sequence[str], candidates: Sequence[Candidate],
              documents: Mapping[str, Document]) -> list[Candidate]:
    """The candidates with their parts, worked out now if no reranker did."""
    return [candidate if candidate.parts
            else candidate._replace(parts=look(query, known_terms, documents[candidate.doc_id])) for candidate in candidates]


def cite(query: str, known_terms: Sequence[str], candidates: Sequence[Candidate], documents: Mapping[str, Document],
         bm25: Bm25, hashed: Hashed | None, settings: Settings) -> tuple[Hit, ...]:
    """Stage 9: each candidate with its evidence. A citation that does not slice back is a fault of the lab: it raises."""
    hits = []
    for rank, candidate in enumerate(candidates, start=1):
        document = documents[candidate.doc_id]
        evidence_span = citation.choose(document, known_terms)
        if evidence_span and (broken := citation.verify(evidence_span, document)):
            raise RuntimeError(f"the citation of {document.doc_id!r} does not hold: {broken}")
        context = citation.context(evidence_span, document.text) if evidence_span and settings.show_context else None
        explanation = explain(query, known_terms, candidate, bm25, hashed, settings) if settings.explain else None
        hits.append(Hit(rank, candidate, document.title, evidence_span, context, explanation))
    return tuple(hits)


def explain(query: str, known_terms: Sequence[str], candidate: Candidate, bm25: Bm25, hashed: Hashed | None,
            settings: Settings) -> dict:
    """Where each number of a candidate comes from: the channels' parts, the fusion's, the reranker's."""
    return {"bm25": bm25.explain(query, candidate.doc_id) if "bm25" in candidate.ranks else None,
            "dense": hashed.explain(query, candidate.doc_id) if "dense" in candidate.ranks else None,
            "rrf": fusion.explain(candidate.ranks, settings.rrf_k) if settings.hybrid else None,
            "rerank": {"known_terms": list(known_terms), "body_coverage": candidate.parts.body_coverage,
                       "title_coverage": candidate.parts.title_coverage, "phrase": candidate.parts.phrase,
                       "score": candidate.parts.score, "support": candidate.parts.support}}


def _answer(results: Sequence[Hit]) -> str | None:
    return results[0].citation.quote if results and results[0].citation else None
