"""numpy: the cosines of all units as one product of a dense float32 matrix and the query's vector, then argpartition.

The vectors are the lab's hashed ones: 512 buckets, to one of which each term adds +1 or -1 (BLAKE2b of its UTF-8 bytes, 8
bytes: the value modulo 512, the sign its top bit).
"""
import functools
import hashlib

from harness import LeftOut, run, timed

DIMENSIONS = 512
MOST_BYTES = 2 << 30


@functools.lru_cache(1 << 20)
def bucket(term):
    """(bucket, sign) of a term."""
    value = int.from_bytes(hashlib.blake2b(term.encode("utf-8"), digest_size=8).digest(), "big")
    return value % DIMENSIONS, 1 if value >> 63 else -1


def build(units):
    """The matrix, a row of length 1 for each unit."""
    import numpy
    size = 4 * DIMENSIONS * len(units)
    if size > MOST_BYTES:
        raise LeftOut(f"the dense matrix would take {size / 1e9:.1f} GB")

    def vector(terms):
        row = numpy.zeros(DIMENSIONS, "float32")
        for term in terms:
            place, sign = bucket(term)
            row[place] += sign
        norm = numpy.linalg.norm(row)
        return row / norm if norm else row

    def matrix_of():
        matrix = numpy.zeros((len(units), DIMENSIONS), "float32")
        for number, (_, terms) in enumerate(units):
            matrix[number] = vector(terms)
        return matrix

    def ask(terms, k):
        cosines = matrix @ vector(terms)
        k = min(k, len(cosines))
        best = numpy.argpartition(cosines, -k)[-k:]
        best = best[numpy.argsort(-cosines[best])]
        return best, cosines[best]

    def found(answer):
        return [(units[at][0], float(cosine)) for at, cosine in zip(*answer)]

    matrix, seconds = timed(matrix_of)
    return {"version": numpy.__version__, "build_seconds": seconds, "bytes": matrix.nbytes, "open_seconds": None,
            "ask": ask, "found": found}


if __name__ == "__main__":
    run(build)
