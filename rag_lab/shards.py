"""How does each of many machines rank its own share of the units, so that together they answer as one index would?

A BM25 score is made of the unit itself and of a few counts over all units: N, their tokens, df. Counts of parts add up to
the counts of the whole, so two rounds are enough (Elasticsearch calls them `dfs_query_then_fetch`):

    1  every shard counts                  whole = merged(*(statistics(shard, terms) for shard in shards))
    2  every shard ranks under the whole   best = merged_top_k((top_k(shard, whole, query, k) for shard in shards), k)

The counts are whole numbers and the formula is the same, so ids, scores and order are those of one index bit for bit,
however many shards there are and however the units lie in them. A cosine needs no counts: its index only merges
(`merged_top_k` of each shard's `search`). Not for starting processes or carrying data: an existing engine does that, see
`examples/`.
"""
from typing import Iterable, Mapping, NamedTuple, Sequence

from .analyzers import analyzer_of
from .bm25 import Bm25
from .chunking import CHUNKERS, Chunks, searchable
from .errors import UsageError, whole_number
from .index import best_first
from .model import Document

Ranking = Iterable[Sequence]   # (unit id, score), best first, as `search` returns it


class _Statistics(NamedTuple):
    n: int                  # live units
    total_tokens: int       # of all live units together; over n, it is avgdl
    df: Mapping[str, int]   # term -> how many live units hold it


class Statistics(_Statistics):
    """What BM25 counts over a collection. `df` is of its whole vocabulary, or of the terms that were asked for.

    Plain values that can be pickled, or written as JSON and read back with `Statistics(*row)`. Raises `UsageError` for a
    number that is below 0 or not whole, and for a df above n.
    """

    __slots__ = ()

    def __new__(cls, n: int, total_tokens: int, df: Mapping[str, int]):
        whole_number("n", n, 0)
        whole_number("total_tokens", total_tokens, 0)
        for term, count in df.items():
            if whole_number(f"df of {term!r}", count, 0) > n:
                raise UsageError(f"df of {term!r} is {count}, but n is {n}; no more units can hold a term than there are")
        return super().__new__(cls, n, total_tokens, df)


def statistics(index: Bm25, terms: Iterable[str] | None = None) -> Statistics:
    """The statistics of a shard's live units, terms in code-point order.

    With `terms`, df is of these alone, 0 included: `index.analyze(query)` is all that ranking that query needs. Without them
    it is of the whole vocabulary: larger to carry, and good for every query.
    """
    counted = {term: index.df(term) for term in sorted(index.postings.terms() if terms is None else frozenset(terms))}
    return Statistics(index.n, index.total_tokens, {term: df for term, df in counted.items() if df or terms is not None})


def merged(*parts: Statistics) -> Statistics:
    """The statistics of several shards together: sums, so neither order nor grouping matters. Of no shards: all 0.

    All of them have to be of the same terms, or of whole vocabularies: a term that one leaves out counts as 0 there.

    >>> merged(Statistics(2, 9, {"tea": 1}), Statistics(1, 4, {"tea": 1, "cup": 1}))
    Statistics(n=3, total_tokens=13, df={'cup': 1, 'tea': 2})
    """
    df: dict[str, int] = {}
    for part in parts:
        for term, count in part.df.items():
            df[term] = df.get(term, 0) + count
    return Statistics(sum(part.n for part in parts), sum(part.total_tokens for part in parts), dict(sorted(df.items())))


def top_k(index: Bm25, whole: Statistics, query: str, k: int | None = 5) -> list[tuple[str, float]]:
    """[(unit id, score)] of the `k` best live units of a shard (all for None) under the statistics of all shards together.

    Raises `UsageError` for k < 1, and if the shard itself holds more than `whole` counts.
    """
    return index.under(whole).search(query, k)


def merged_top_k(rankings: Iterable[Ranking], k: int | None = 5) -> list[tuple[str, float]]:
    """The `k` best (all for None) of the shards' rankings, each of its `k` best or more.

    By falling score, equal scores by id; merging some of them first changes nothing. Raises `UsageError` for k < 1, and for
    an id that two shards return.

    >>> merged_top_k([[("b", 2.0), ("d", 1.0)], [("a", 2.0)], []], k=2)
    [('a', 2.0), ('b', 2.0)]
    """
    found: dict[str, float] = {}
    for unit_id, score in (row for ranking in rankings for row in ranking):
        if unit_id in found:
            raise UsageError(f"unit id {unit_id!r} comes from two shards; put each unit into one of them")
        found[unit_id] = score
    return best_first(found.items(), k)


def index_of(documents: Iterable[Document], analyzer: str = "bigram", chunker: str = "whole", k1: float = 1.2,
             b: float = 0.75) -> Bm25:
    """The index of a shard: over the chunks of its documents, all of which are live. The names are those of `corpus.toml`.

    Which documents are live the whole catalog decides before they are dealt out: a region stands and falls with its
    document, which may lie in another shard. All arguments can be pickled, an index cannot: it is made where it is used.
    """
    analyze = analyzer_of(analyzer).terms
    chunks = Chunks(documents, CHUNKERS[chunker]).by_id.items()
    return Bm25(((chunk_id, list(analyze(searchable(chunk)))) for chunk_id, chunk in chunks), k1, b,
                lambda query: list(analyze(query)))
