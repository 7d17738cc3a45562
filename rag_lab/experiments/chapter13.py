"""What does chapter 13 work out by hand, and does the lab say the same? Fusion, rights, a walk on a graph.

The rights are shown on `corpus/acl/`: what filtering after the cut loses, and that nothing a tenant is told moves when
another tenant's documents change. Not for speed, and not for approximate search as such: the graph has three points.
"""
from typing import Mapping, Sequence

from .. import evaluation, fusion
from ..bm25 import idf, saturation
from ..files import canonical_json, text_digest
from ..lab import Lab, build_lab
from ..model import Document, Scope
from ..report import fate_block, rounded, search_report

CORPUS = "acl"
QUERY = "导出任务超时"
TOP = 2                              # the chapter wants two
OWNER = "lin"                        # for whom 私有A and 私有B are kept
OTHER_TENANT = "south"
ADDED = 100
PROBES = (QUERY, "青瓷仓库的盘点", "重试", "没有任何文档谈到的事")   # the second is about the other tenant's documents


# --- 13.5: fusion by rank ---------------------------------------------------------------------------------------------

def rrf() -> dict:
    """The worked fusion of the figure: keyword A, B, C; semantic B, C, A; then repeats, versions, list order."""
    lists = [["A", "B", "C"], ["B", "C", "A"]]
    fused = fusion.rrf(lists)
    return {"k": fusion.RRF_K, "order": [one for one, _ in fused], "scores": rounded(dict(fused), 6),
            "order_of_lists_matters": fusion.rrf(lists[::-1]) != fused,
            "repeated": rounded(dict(fusion.rrf([["a", "a", "b"]])), 6),
            "two_versions_stay_two": [one for one, _ in fusion.rrf([["guide@1", "guide@2"], ["guide@2", "guide@1"]])]}


# --- 13.2: BM25 -------------------------------------------------------------------------------------------------------

def bm25() -> dict:
    """What the chapter says of the formula: rarer weighs more, repeats count less and less, long texts gain less."""
    rarity = [idf(10, df) for df in (1, 5, 10)]
    gains = [saturation(tf + 1, 10, 10.0, 1.2, 0.75) - saturation(tf, 10, 10.0, 1.2, 0.75) for tf in (1, 2, 99)]
    return {"rarer_weighs_more": rarity == sorted(rarity, reverse=True), "idf_is_never_negative": min(rarity) > 0,
            "gain_shrinks": gains == sorted(gains, reverse=True) and gains[-1] > 0,
            "hundred_times_is_below": saturation(100, 10, 10.0, 1.2, 0.75) < 2.2,
            "longer_scores_less": saturation(1, 20, 10.0, 1.2, 0.75) < saturation(1, 10, 10.0, 1.2, 0.75)}


# --- 13.6: rights before ranking --------------------------------------------------------------------------------------

def starved_top_k() -> dict:
    """The four documents, a caller who may see two of them, and two results wanted: both orders of filter and cut.

    A lesson: the product path has no such switch. Recall is over the relevant documents that this caller may see, and,
    for comparison, over all that are labelled relevant.
    """
    lab = build_lab(CORPUS)
    everything = lab.bm25.over(tuple(sorted(lab.chunks.by_id)))
    ranking = documents_of(lab, everything.search(QUERY, None))
    live = lab.catalog.eligible(lab.scope).documents
    starved = cut_then_filter(ranking, live, TOP)
    served = [hit.candidate.doc_id for hit in lab.search(QUERY, k=TOP).results]
    allowed = dict.fromkeys((one for one in ranking if one in live), 1)
    return {"ranking": ranking, "cut_then_filter": starved, "filter_then_cut": served,
            "owner": [hit.candidate.doc_id for hit in lab.search(QUERY, scope=owner(lab.scope), k=TOP).results],
            "recall_of_allowed": {"cut_then_filter": evaluation.recall_at_k(starved, allowed, TOP),
                                  "filter_then_cut": evaluation.recall_at_k(served, allowed, TOP)},
            "recall_of_everything": evaluation.recall_at_k(served, dict.fromkeys(ranking, 1), TOP)}


def cut_then_filter(ranking: Sequence[str], allowed: Mapping[str, object], k: int) -> list[str]:
    """What is left of the first k when it is filtered only then.

    >>> cut_then_filter(["A", "B", "C", "D"], {"C": 1, "D": 1}, 2)
    []
    """
    return [one for one in ranking[:k] if one in allowed]


def documents_of(lab: Lab, hits: Sequence[tuple[str, float]]) -> list[str]:
    """The documents of ranked chunks, each once, at its best place."""
    return list(dict.fromkeys(lab.chunks.by_id[chunk_id].doc_id for chunk_id, _ in hits))


def owner(scope: Scope) -> Scope:
    """The scope of the person for whom the private documents are kept."""
    return scope._replace(principal=OWNER)


def rechecked_at_output() -> dict:
    """Step 4 of the table: a right that is withdrawn between two looks. The list from before is checked again."""
    lab = build_lab(CORPUS)
    candidates = documents_of(lab, lab.bm25.search(QUERY, TOP))
    lab.catalog.withdraw("公开D", lab.docs["公开D"].version)
    return {"candidates": candidates, "shown": [one for one in candidates if lab.catalog.current(one, lab.scope)]}


# --- 13.6: one tenant does not move another ---------------------------------------------------------------------------

def neighbour(number: int) -> Document:
    """A document of the other tenant that speaks of everything the probes ask for, again and again."""
    text = f"导出任务超时，导出任务超时，青瓷仓库的盘点，重试第 {number} 次。"
    title = f"导出任务超时 {number}"
    return Document(f"邻户-{number:03d}", title, text, f"{CORPUS}/south-{number:03d}.md", 1,
                    text_digest(title + "\n" + text), tenant=OTHER_TENANT, roles=("reader",))


def told(lab: Lab, scope: Scope) -> str:
    """All that a caller is told for the probes, as canonical JSON.

    Answers, scores, explanations, citations, statistics and receipts; what the caller's own tenant keeps back; and the
    fate of every document, those of the other tenant among them.
    """
    rows = []
    for query in PROBES:
        outcome = lab.search(query, scope=scope, hybrid=True, rerank=True, threshold=0.0, k=TOP, explain=True,
                             show_context=True)
        fates = [fate_block(lab.fate(outcome, doc_id)) for doc_id in ("私有A", "私有B", "公开C", "公开D", "邻户E", "邻户-001")]
        rows.append({"report": search_report(outcome), "fates": fates,
                     "candidates": [one.chunk_id for one in outcome.fused],
                     "rejected": list(outcome.rejected), "filtered": lab.catalog.filtered(scope)})
    return canonical_json(rows)


def other_tenant_grows(added: int = ADDED) -> dict:
    """What two callers of one tenant are told before and after the other tenant gains documents: the same bytes.

    `over_everything` is the control: an index that ranks without asking for rights does move.
    """
    lab = build_lab(CORPUS)
    callers = {"reader": lab.scope, "owner": owner(lab.scope)}
    neighbours = lab.scope._replace(tenant=OTHER_TENANT)

    def look() -> tuple[dict, int, list]:
        """What the callers are told, what a neighbour may see, and what an index over everything would rank."""
        return ({name: told(lab, scope) for name, scope in callers.items()},
                len(lab.catalog.eligible(neighbours).documents),
                lab.bm25.over(tuple(sorted(lab.chunks.by_id))).search(QUERY, TOP))

    before, there_before, everything_before = look()
    for number in range(1, added + 1):
        lab.put(neighbour(number))
    after, there_after, everything_after = look()
    return {"other_tenant_documents": [there_before, there_after],
            "over_everything": {"equal": everything_before == everything_after},
            "callers": {name: {"before": text_digest(before[name]), "after": text_digest(after[name]),
                               "equal": before[name] == after[name]} for name in callers},
            "hidden_is_like_unknown": {name: _same_fate(lab, scope) for name, scope in callers.items()}}


def _same_fate(lab: Lab, scope: Scope) -> bool:
    """Whether --why says the same of a document of the other tenant as of one that does not exist."""
    outcome = lab.search(QUERY, scope=scope)
    hidden, unknown = (lab.fate(outcome, doc_id)._replace(doc_id="") for doc_id in ("邻户E", "查无此文"))
    return hidden == unknown


# --- 13.4: a walk on a graph ------------------------------------------------------------------------------------------

def graph_walk() -> dict:
    """The three points, by the walk that also searches the graph of `ann`: strictly greedy, then with one worse point kept."""
    from ..ann.line import line_walks   # here, for only this listing needs it
    greedy, wider, *_ = line_walks()
    return {"greedy": {"best": greedy["found"], "distance": greedy["distance"], "visited": greedy["visited"]},
            "one_worse_kept": {"best": wider["found"], "distance": wider["distance"], "visited": wider["visited"]},
            "exact": next(row["found"] for row in line_walks() if row["is_nearest"])}


LISTINGS = {"rrf": rrf, "bm25": bm25, "starved_top_k": starved_top_k, "rechecked_at_output": rechecked_at_output,
            "other_tenant_grows": other_tenant_grows, "graph_walk": graph_walk}
