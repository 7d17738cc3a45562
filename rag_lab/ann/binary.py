"""How much of a vector is left in its signs? Binary codes: a coarse ranking by Hamming distance, the best rescored.

Two kinds of sign bits, 512 each, kept as one Python int a unit:

    plain      bit b is set where the weight of bucket b is above 0. Bits mean something where most weights are not 0;
               of a short text nearly all are, and its code says little more than how long it is.
    rotated    bit j is the side of random plane j on which the vector lies (Charikar 2002, "Similarity Estimation
               Techniques from Rounding Algorithms"): the share of differing bits estimates the angle.

The `candidates` nearest codes are rescored by the exact nearness, which repairs the order among them but brings back
none that the codes had put behind. All codes are compared, which is cheap; only candidates count as touched.
"""
from typing import Container

from ..hashed import DIMENSIONS
from .space import Gauge, Lazy, Ranked, Space, Vector, chance, rank

CODE_BYTES = DIMENSIONS // 8


def bits(numbers) -> int:
    """The signs of numbers as an int, the first as its highest bit: 1 for above 0.

    >>> bin(bits([3, -1, 0, 2]))
    '0b1001'
    """
    return int("0" + "".join("1" if number > 0 else "0" for number in numbers), 2)


def plane_signs(feature: int, seed: int) -> tuple[int, ...]:
    """The side of each of the 512 random planes on which a bucket's axis lies, +1 or -1: the bits of one BLAKE2b."""
    word = chance(seed, "plane", str(feature), CODE_BYTES)
    return tuple(1 if word >> place & 1 else -1 for place in range(DIMENSIONS))


def projections(vector: Vector, signs: Lazy) -> list[int]:
    """On which side of each plane, and how far: the sum of weight x sign over the buckets; 512 whole numbers."""
    sums = [0] * DIMENSIONS
    for feature, weight in vector.items():
        sums = [number + weight * sign for number, sign in zip(sums, signs[feature])]
    return sums


class Codes:
    """Binary codes over the placed units of a space, `rotated` or plain."""

    knob = "candidates"

    def __init__(self, space: Space, rotated: bool = True, seed: int = 1):
        self.space, self.rotated = space, rotated
        self.name = "binary" if rotated else "binary-plain"
        self.signs = Lazy(lambda feature: plane_signs(feature, seed))     # bucket -> 512 signs
        self.codes = {at: bits(self.numbers(space.vector(at))) for at in space.placed}

    def numbers(self, vector: Vector) -> list[int]:
        """The 512 numbers whose signs are the code of a vector."""
        return projections(vector, self.signs) if self.rotated else [vector.get(at, 0) for at in range(DIMENSIONS)]

    def search(self, gauge: Gauge, count: int, budget: int, live: Container[int] | None = None) -> Ranked:
        """The `count` nearest of the `budget` candidates (at least `count`); with `live`, only live codes are compared.

        Planes on which the query itself lies have no side and are left out of the Hamming distance.
        """
        numbers = self.numbers(gauge.vector)
        code = bits(numbers)
        mask = bits(map(abs, numbers)) if self.rotated else (1 << DIMENSIONS) - 1
        distances = sorted((((code ^ other) & mask).bit_count(), at) for at, other in self.codes.items()
                           if live is None or at in live)
        return rank(gauge, [at for _, at in distances[:max(budget, count)]], count)

    @property
    def bytes(self) -> int:
        """The vectors, which rescoring needs, and 64 bytes a code."""
        return self.space.bytes + CODE_BYTES * len(self.codes)

    def coarse(self, budget: int | None = None) -> int:
        """Cheap comparisons a query makes beside the distance evaluations: one with each code."""
        return len(self.codes)
