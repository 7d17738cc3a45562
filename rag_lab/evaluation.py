"""How well does the lab find, rank and cite, over queries whose right documents are known?

Each metric is one small function over a ranked list of ids; an undefined value is None and counted apart, a 0 means
defined and bad. Means are over the queries for which the value is defined. Not for comparing two systems on different
corpora or judgements: compare receipts first.
"""
import math
from typing import Callable, Mapping, NamedTuple, Sequence

from .errors import UsageError, whole_number
from .loss import STAGES, Fate
from .model import Outcome, Settings
from .trec import Judged, Query

Grades = Mapping[str, int]   # document id -> grade; above 0 is relevant


class QueryResult(NamedTuple):
    """What one judged query came to."""

    query: Query
    relevant: tuple[str, ...]
    returned: tuple[str, ...]           # empty when refused
    recall: float | None
    reciprocal_rank: float | None
    ndcg: float | None
    citation_relevance: int | None      # 1 if the first result cites a relevant document, else 0
    fates: tuple[Fate, ...]             # of the relevant documents that were not returned, by id; empty if nobody asked
    refused: bool
    reason: str | None
    best_support: float

    @property
    def lost(self) -> list[tuple[str, str]]:
        """[(relevant document that was not returned, stage that lost it)], by id."""
        return [(fate.doc_id, fate.stage) for fate in self.fates]


class Evaluation(NamedTuple):
    """All judged queries with their means."""

    settings: Settings
    macro: dict
    counts: dict
    losses: dict | None                 # stage -> relevant documents that it lost; together all missed; None: not asked
    channel_losses: dict | None         # channel -> {not_recalled, below_pool} of the missed; None: not asked
    queries: tuple[QueryResult, ...]
    receipt: dict | None = None


def evaluate(search: Callable[[str, Settings], Outcome], judged: Judged, settings: Settings,
             fate: Callable[[Outcome, str], Fate] | None = None) -> Evaluation:
    """Run every judged query through `search`, measure it, and ask `fate`, if given, where each missed document was lost."""
    results = tuple(measure(query, search(query.text, settings), judged.qrels[query.query_id], settings.k, fate)
                    for query in judged.queries)
    return summed_up(results, settings, fate is not None)


def summed_up(results: tuple[QueryResult, ...], settings: Settings, fated: bool = True) -> Evaluation:
    """The evaluation that these results make. `fated`: whether it was asked where the missed documents were lost."""
    macro = {"recall@k": mean([result.recall for result in results]),
             "mrr": mean([result.reciprocal_rank for result in results]),
             "ndcg@k": mean([result.ndcg for result in results]),
             "citation_relevance": mean([result.citation_relevance for result in results]),
             "refusal_rate": mean([int(result.refused) for result in results])}
    counts = {"queries": len(results), "undefined": sum(result.recall is None for result in results),
              "refused": sum(result.refused for result in results),
              "missed": sum(result.recall is not None and result.recall < 1 for result in results)}
    fates = [lost for result in results for lost in result.fates]
    stages = [lost.stage for lost in fates]
    losses = {stage: stages.count(stage) for stage in STAGES} if fated else None
    return Evaluation(settings, macro, counts, losses, channel_losses(fates, settings.pool) if fated else None, results)


def channel_losses(fates: Sequence[Fate], pool: int) -> dict[str, dict[str, int]]:
    """channel -> of the live documents that were missed, how many it did not find at all, and how many below the pool."""
    found: dict[str, dict[str, int]] = {}
    for lost in fates:
        for name, rank in lost.channel_ranks.items():
            row = found.setdefault(name, {"not_recalled": 0, "below_pool": 0})
            row["not_recalled"] += rank is None
            row["below_pool"] += rank is not None and rank > pool
    return found


def measure(query: Query, outcome: Outcome, grades: Grades, k: int,
            fate: Callable[[Outcome, str], Fate] | None) -> QueryResult:
    """What one judged query came to; `fate`, if given, is asked about each relevant document that was not returned."""
    returned = tuple(dict.fromkeys(hit.candidate.doc_id for hit in outcome.results))
    relevant = tuple(sorted(doc_id for doc_id, grade in grades.items() if grade > 0))
    cited = returned[0] in relevant if returned and outcome.results[0].citation else False
    return QueryResult(query, relevant, returned, recall_at_k(returned, grades, k), reciprocal_rank(returned, grades, k),
                       ndcg_at_k(returned, grades, k), int(cited) if relevant else None,
                       tuple(fate(outcome, doc_id) for doc_id in relevant if fate and doc_id not in returned),
                       outcome.refused, outcome.reason, outcome.best_support)


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of the values that are defined; None if none is."""
    defined = [value for value in values if value is not None]
    return math.fsum(defined) / len(defined) if defined else None


# --- metrics of a ranked list ---------------------------------------------------------------------------------------

def _distinct(returned: Sequence[str], k: int) -> list[str]:
    """The first k different ids: a document that stands twice is counted once, at its best place."""
    return list(dict.fromkeys(returned))[:whole_number("k", k, 1)]


def recall_at_k(returned: Sequence[str], grades: Grades, k: int) -> float | None:
    """|top k and relevant| / |relevant|, in [0, 1]; None if nothing is relevant. Source: chapter 6, section 6.7."""
    relevant = {doc_id for doc_id, grade in grades.items() if grade > 0}
    if not relevant:
        return None
    return sum(doc_id in relevant for doc_id in _distinct(returned, k)) / len(relevant)


def precision_at_k(returned: Sequence[str], grades: Grades, k: int) -> float:
    """|top k and relevant| / k, in [0, 1]; the divisor is k however few came back. Source: trec_eval, P_k."""
    return sum(grades.get(doc_id, 0) > 0 for doc_id in _distinct(returned, k)) / k


def reciprocal_rank(returned: Sequence[str], grades: Grades, k: int) -> float | None:
    """1 / rank of the first relevant document among the top k; 0.0 if none; None if nothing is relevant.

    Source: chapter 6, section 6.7.
    """
    if not any(grade > 0 for grade in grades.values()):
        return None
    return next((1 / rank for rank, doc_id in enumerate(_distinct(returned, k), start=1) if grades.get(doc_id, 0) > 0), 0.0)


def ndcg_at_k(returned: Sequence[str], grades: Grades, k: int, gain: str = "exponential") -> float | None:
    """DCG@k / ideal DCG@k, in [0, 1]; None if nothing is relevant.

    DCG sums gain(grade) / log2(rank + 1). Gain "exponential" is 2^grade - 1 (chapter 6, section 6.7; Burges et al. 2005),
    "linear" is the grade (Jarvelin and Kekalainen 2002; trec_eval). The ideal is of all judged documents, not of those that
    were returned. A grade below 0 gains nothing.

    >>> round(ndcg_at_k(["b", "a"], {"a": 3, "b": 1}, 2), 4), round(ndcg_at_k(["b", "a"], {"a": 3, "b": 1}, 2, "linear"), 4)
    (0.7098, 0.7967)
    """
    ideal = _dcg(sorted(grades.values(), reverse=True)[:whole_number("k", k, 1)], gain)
    return _dcg([grades.get(doc_id, 0) for doc_id in _distinct(returned, k)], gain) / ideal if ideal else None


def _dcg(grades: Sequence[int], gain: str) -> float:
    if gain not in ("exponential", "linear"):
        raise UsageError(f"gain is {gain!r}; it must be exponential or linear")
    gains = [max(grade, 0) if gain == "linear" else 2 ** max(grade, 0) - 1 for grade in grades]
    return math.fsum(value / math.log2(rank + 1) for rank, value in enumerate(gains, start=1))


# --- metrics of an answer, from counts that a person or a judge gives -----------------------------------------------

def _share(part: int, whole: int, names: str) -> float | None:
    if not 0 <= part <= whole:
        raise UsageError(f"{part} of {whole} {names}; the part must lie between 0 and the whole")
    return part / whole if whole else None


def faithfulness(supported_claims: int, claims: int) -> float | None:
    """Share of the answer's claims that the cited evidence supports; None without claims. Source: chapter 6, 6.7."""
    return _share(supported_claims, claims, "claims")


def citation_precision(supporting: int, citations: int) -> float | None:
    """Share of the citations that support their claim; None without citations. Source: chapter 6, 6.7."""
    return _share(supporting, citations, "citations")


def citation_recall(cited_claims: int, claims: int) -> float | None:
    """Share of the claims with at least one citation, whether it supports them or not; None without claims."""
    return _share(cited_claims, claims, "claims")
