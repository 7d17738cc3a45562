"""Which vectors are there, how near is one to another, and how often was that asked? And the truth: looking at all.

Vectors are sparse and of whole numbers (`hashed.embed`), so every product is exact and equal directions tie exactly.
Nothing approximate is decided here. Not for encoders with fractional weights, whose sums would depend on their order.
"""
import hashlib
from operator import mul
from typing import Any, Callable, Container, Iterable, Mapping

from ..dense import squared_norm
from ..hashed import DIMENSIONS
from ..index import sorted_units

Vector = Mapping[int, int]         # bucket in 0..511 -> signed count, no zeros
Ranked = list[tuple[int, float]]   # [(position, nearness)], best first, equal ones by position

PAIR_BYTES = 4   # a bucket and its weight, two bytes each: what a compact file would need, not what Python objects take


class Lazy(dict):
    """key -> value, worked out when first asked for; its length says how many were."""

    def __init__(self, work_out: Callable[[Any], Any]):
        super().__init__()
        self.work_out = work_out

    def __missing__(self, key):
        self[key] = value = self.work_out(key)
        return value


class Gauge(Lazy):
    """position -> nearness to `vector`, worked out when first asked for; its length is the number of units touched."""

    def __init__(self, measure: Callable[[int], float], vector: "Vector"):
        super().__init__(measure)
        self.vector = vector


def nearness(dot: int, one_squared: int, other_squared: int) -> float:
    """The square of the cosine with the sign of the cosine, in [-1, 1]: it orders as the cosine, and is rounded once.

    >>> nearness(3, 9, 1), nearness(-1, 2, 2)
    (1.0, -0.25)
    """
    return dot * abs(dot) / (one_squared * other_squared)


def chance(seed: int, purpose: str, key: str, size: int = 8) -> int:
    """A whole number of `size` bytes that looks random and is the same everywhere: BLAKE2b of seed, purpose and key."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{purpose}:{key}".encode("utf-8"), digest_size=size).digest(), "big")


class Space:
    """Units (unit id, vector) under their numbers in id order. One with an empty vector has a number and no place."""

    def __init__(self, units: Iterable[tuple[str, Vector]]):
        found = sorted_units(units)
        self.ids = [unit_id for unit_id, _ in found]
        self.features = [tuple(vector) for _, vector in found]            # position -> its buckets
        self.weights = [tuple(vector.values()) for _, vector in found]    # position -> their weights
        self.squares = [squared_norm(vector) for _, vector in found]      # position -> |vector|^2
        self.placed = tuple(at for at, square in enumerate(self.squares) if square)

    def vector(self, at: int) -> Vector:
        """The vector of a unit."""
        return dict(zip(self.features[at], self.weights[at]))

    def measure(self, vector: Vector) -> Callable[[int], float]:
        """position -> nearness of that unit to `vector`, neither of them empty. One call is one distance evaluation."""
        dense = [0] * DIMENSIONS
        for feature, weight in vector.items():
            dense[feature] = weight
        weight_of, square = dense.__getitem__, squared_norm(vector)
        features, weights, squares = self.features, self.weights, self.squares

        def near(at: int) -> float:
            """How near the unit at a position lies to the vector."""
            dot = sum(map(mul, weights[at], map(weight_of, features[at])))
            return dot * abs(dot) / (square * squares[at])   # `nearness`, without the call: this runs millions of times
        return near

    def gauge(self, vector: Vector) -> Gauge:
        """position -> nearness to `vector`; its length is the number of units touched, each counted once."""
        return Gauge(self.measure(vector), vector)

    def in_chance_order(self, seed: int, purpose: str) -> list[int]:
        """The placed positions as a fixed shuffle that depends on ids and seed only."""
        return sorted(self.placed, key=lambda at: (chance(seed, purpose, self.ids[at]), at))

    @property
    def bytes(self) -> int:
        """Size of the vectors in a compact file."""
        return PAIR_BYTES * sum(map(len, self.features))


def rank(gauge: Mapping[int, float], positions: Iterable[int], count: int) -> Ranked:
    """The `count` nearest of the positions whose nearness is above 0: by falling nearness, equal ones by position."""
    near = [(at, gauge[at]) for at in positions]
    return sorted((row for row in near if row[1] > 0), key=lambda row: (-row[1], row[0]))[:count]


class Exact:
    """The exact scan: every unit is looked at. The truth that the others are measured by."""

    name, knob = "exact", None

    def __init__(self, space: Space):
        self.space = space

    def search(self, gauge: Gauge, count: int, budget: int | None = None, live: Container[int] | None = None) -> Ranked:
        """The `count` nearest units; with `live`, those only, and no other is looked at. There is no budget to set."""
        return rank(gauge, [at for at in self.space.placed if live is None or at in live], count)

    @property
    def bytes(self) -> int:
        """The vectors and nothing else."""
        return self.space.bytes

    def coarse(self, budget: int | None = None) -> int:
        """Cheap comparisons a query makes beside the distance evaluations."""
        return 0


def agreement(returned: Ranked, truth: Ranked) -> float | None:
    """Recall against the exact scan, in [0, 1]: the share of `truth` found; None where the truth is empty.

    A unit as near as the last of the truth counts as found, whichever of the equal ones stands in the truth; its id is
    an accident of the cut. More such units than the truth holds count no more than it holds.

    >>> agreement([(7, 0.5), (8, 0.2)], [(3, 0.9), (6, 0.5)])
    0.5
    """
    if not truth:
        return None
    least = truth[-1][1]
    return min(len({at for at, near in returned if near >= least}), len(truth)) / len(truth)
