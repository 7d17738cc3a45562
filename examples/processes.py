"""How do several processes answer as one index would? Each holds a share of the documents and never sees the others.

    python examples/processes.py --corpus handbook --query "P0 故障多久响应" --k 3 --shards 5

Prints one JSON document, the same bytes for any number of shards. Each shard is a pool of one process, so that its index
stays there between the two rounds; with a pool on another machine in its place, nothing else would change.
"""
import argparse
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))   # a clone need not be installed

from rag_lab.analyzers import analyzer_of
from rag_lab.catalog import Catalog
from rag_lab.corpus import load_corpus
from rag_lab.errors import LabError, whole_number
from rag_lab.files import canonical_json
from rag_lab.lab import shipped
from rag_lab.shards import index_of, merged, merged_top_k, statistics, top_k


# --- in the process of a shard ----------------------------------------------------------------------------------------

def build(documents, settings):
    """Make the index of this process; it stays here."""
    global index
    index = index_of(documents, *settings)


def count(terms):
    """Round 1: what this shard holds."""
    return statistics(index, terms)


def rank(whole, query, k):
    """Round 2: the best of this shard, by the counts of all."""
    return top_k(index, whole, query, k)


# --- in the process that asks -----------------------------------------------------------------------------------------

def main() -> int:
    """Read the arguments, search, print; returns the exit code."""
    args = arguments()
    try:
        print_json(search(args.corpus, args.query, whole_number("k", args.k, 1), whole_number("shards", args.shards, 1)))
    except LabError as error:
        print(f"processes.py: error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def search(name: str, query: str, k: int, shards: int) -> dict:
    """The document that is printed: the counts of all shards together, and the k best units."""
    corpus = load_corpus(shipped("corpus").get(name, name))
    settings = (corpus.settings.analyzer, corpus.settings.chunker, corpus.settings.k1, corpus.settings.b)
    catalog = Catalog(corpus.documents, corpus.settings.clock)
    live = catalog.eligible(corpus.settings.scope).documents   # no others leave this process
    terms = list(analyzer_of(corpus.settings.analyzer).terms(query))
    with ExitStack() as stack:
        pools = [stack.enter_context(ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), build, (share, settings)))
                 for share in dealt(list(live.values()), shards)]
        whole = merged(*ask(pools, count, terms))
        best = merged_top_k(ask(pools, rank, whole, query, k), k)
    return {"query": query, "k": k, "statistics": whole._asdict(),
            "results": [{"rank": at, "id": unit_id, "score": score} for at, (unit_id, score) in enumerate(best, start=1)]}


def dealt(documents: list, shards: int) -> list[list]:
    """The documents in so many slices, in their order; some are empty if there are fewer documents than shards."""
    cuts = [len(documents) * at // shards for at in range(shards + 1)]
    return [documents[start:end] for start, end in zip(cuts, cuts[1:])]


def ask(pools: list, function, *given) -> list:
    """What the function returns in each shard; they work at the same time."""
    answers = [pool.submit(function, *given) for pool in pools]
    return [answer.result() for answer in answers]


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description="One search over shards in processes of their own.", allow_abbrev=False)
    parser.add_argument("--corpus", default="handbook", metavar="NAME|PATH")
    parser.add_argument("--query", required=True, metavar="TEXT")
    parser.add_argument("--k", type=int, default=5, metavar="N", help="results (default 5)")
    parser.add_argument("--shards", type=int, default=2, metavar="N", help="processes (default 2)")
    return parser.parse_args()


def print_json(document: dict) -> None:
    """Print a document as the package prints its own: UTF-8, LF."""
    sys.stdout.buffer.write(canonical_json(document).encode("utf-8"))


if __name__ == "__main__":
    sys.exit(main())
