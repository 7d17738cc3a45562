"""bm25s with its numpy backend, method "lucene": the scores of all units, then the k best of them by argpartition.

Its own `retrieve` does the same and takes a little longer for one query. It leaves out the factor k1 + 1, which is put back.
It is timed as it comes, with scores of 32 bits; what it finds is compared from a second index with scores of 64.
"""
from harness import run, timed

K1 = 1.2


def build(units):
    """The two indexes; bytes are those of the arrays of the first."""
    import bm25s
    import numpy

    def indexed(kind):
        index = bm25s.BM25(method="lucene", k1=K1, b=0.75, backend="numpy", dtype=kind)
        index.index([terms for _, terms in units], show_progress=False)
        return index

    def best(index, terms, k):
        scores = index.get_scores(terms)
        k = min(k, len(scores))
        first = numpy.argpartition(scores, -k)[-k:]
        first = first[numpy.argsort(-scores[first])]
        return first, scores[first]

    def ask(terms, k):
        return terms, best(index, terms, k)

    def found(answer):
        terms, (first, _) = answer
        return [(units[at][0], float(score) * (K1 + 1)) for at, score in zip(*best(exact, terms, len(first)))]

    index, seconds = timed(lambda: indexed("float32"))
    exact = indexed("float64")
    size = sum(index.scores[name].nbytes for name in ("data", "indices", "indptr"))
    return {"version": bm25s.__version__, "build_seconds": seconds, "bytes": size, "open_seconds": None,
            "ask": ask, "found": found}


if __name__ == "__main__":
    run(build)
