"""How does a Spark cluster answer as one index would? Each partition of an RDD holds a share of the documents.

    python examples/spark_shards.py --corpus handbook --query "P0 故障多久响应" --k 3 --shards 5
    spark-submit --master URL examples/spark_shards.py --corpus ... --query ...

Prints one JSON document, the same bytes as `processes.py` for any number of shards; Spark talks on stderr. Needs pyspark
and a Java. An index cannot travel, and Spark keeps no objects in its workers: each of the two rounds makes its own from the
documents.
"""
import argparse
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from typing import Iterator

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))   # a clone need not be installed

from pyspark import SparkConf, SparkContext

import rag_lab
from rag_lab.analyzers import analyzer_of
from rag_lab.catalog import Catalog
from rag_lab.corpus import load_corpus
from rag_lab.errors import LabError, whole_number
from rag_lab.files import canonical_json
from rag_lab.lab import shipped
from rag_lab.shards import index_of, merged, merged_top_k, statistics, top_k


def main() -> int:
    """Read the arguments, search, print; returns the exit code."""
    args = arguments()
    try:
        print_json(search(args.corpus, args.query, whole_number("k", args.k, 1), whole_number("shards", args.shards, 1)))
    except LabError as error:
        print(f"spark_shards.py: error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def search(name: str, query: str, k: int, shards: int) -> dict:
    """The document that is printed: the counts of all shards together, and the k best units."""
    corpus = load_corpus(shipped("corpus").get(name, name))
    settings = (corpus.settings.analyzer, corpus.settings.chunker, corpus.settings.k1, corpus.settings.b)
    catalog = Catalog(corpus.documents, corpus.settings.clock)
    live = catalog.eligible(corpus.settings.scope).documents   # no others leave this process
    terms = list(analyzer_of(corpus.settings.analyzer).terms(query))
    with started() as spark:
        documents = spark.parallelize(list(live.values()), shards)   # slices in id order: no hash decides
        whole = documents.mapPartitions(lambda share: [statistics(index_of(share, *settings), terms)]).reduce(merged)
        best = documents.mapPartitions(lambda share: [top_k(index_of(share, *settings), whole, query, k)]).collect()
    return {"query": query, "k": k, "statistics": whole._asdict(),
            "results": [{"rank": at, "id": unit_id, "score": score}
                        for at, (unit_id, score) in enumerate(merged_top_k(best, k), start=1)]}


@contextmanager
def started() -> Iterator[SparkContext]:
    """A context whose workers have the package; on this machine, unless spark-submit names a master."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf().setIfMissing("spark.master", "local[2]").setIfMissing("spark.app.name", "rag_lab shards")
    conf.setIfMissing("spark.ui.enabled", "false")
    home = os.path.dirname(os.path.dirname(rag_lab.__file__))
    with tempfile.TemporaryDirectory() as folder, SparkContext(conf=conf) as spark:
        spark.addPyFile(shutil.make_archive(os.path.join(folder, "rag_lab"), "zip", home, "rag_lab"))
        yield spark


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description="One search over the partitions of an RDD.", allow_abbrev=False)
    parser.add_argument("--corpus", default="handbook", metavar="NAME|PATH")
    parser.add_argument("--query", required=True, metavar="TEXT")
    parser.add_argument("--k", type=int, default=5, metavar="N", help="results (default 5)")
    parser.add_argument("--shards", type=int, default=2, metavar="N", help="partitions (default 2)")
    return parser.parse_args()


def print_json(document: dict) -> None:
    """Print a document as the package prints its own: UTF-8, LF."""
    sys.stdout.buffer.write(canonical_json(document).encode("utf-8"))


if __name__ == "__main__":
    sys.exit(main())
