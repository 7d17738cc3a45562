"""rank_bm25 (BM25Okapi): the scores of all units, then the k best of them by argpartition.

Its IDF is another one, so only times can be compared.
"""
from harness import run, timed


def build(units):
    """BM25Okapi with k1 = 1.2 and b = 0.75."""
    from importlib.metadata import version

    import numpy
    from rank_bm25 import BM25Okapi
    index, seconds = timed(lambda: BM25Okapi([terms for _, terms in units], k1=1.2, b=0.75))

    def ask(terms, k):
        scores = index.get_scores(terms)
        k = min(k, len(scores))
        best = numpy.argpartition(scores, -k)[-k:]
        best = best[numpy.argsort(-scores[best])]
        return best, scores[best]

    def found(answer):
        return [(units[at][0], float(score)) for at, score in zip(*answer)]

    return {"version": version("rank_bm25"), "build_seconds": seconds, "bytes": None, "open_seconds": None,
            "ask": ask, "found": found}


if __name__ == "__main__":
    run(build)
