"""Which part of the units is worth looking at? Inverted lists (IVF): units in lists around centres.

The lists of Sivic and Zisserman 2003 ("Video Google") as Jegou, Douze and Schmid 2011 ("Product Quantization for
Nearest Neighbor Search") use them for vectors, without the product codes. Centres are those of a spherical k-means
(Dhillon and Modha 2001): each the direction of the sum of its units. A query looks into the `probes` lists of the
nearest centres. A near unit just across a border is missed. Probing every list is the exact scan.
"""
import math
from collections import Counter
from typing import Container, Sequence

from ..hashed import DIMENSIONS
from .space import Gauge, Ranked, Space, Vector, rank

UNIT_LENGTH = 4096          # units are scaled to this length and rounded, so that sums are whole numbers in any order
TRAIN_PER_LIST = 40         # k-means sees at most so many units for each list
CENTRE_BYTES, ENTRY_BYTES = 4 * DIMENSIONS, 4


def scaled(vector: Vector) -> Vector:
    """The vector at length 4096, weights rounded to whole numbers.

    >>> scaled({1: 3, 9: -4})
    {1: 2458, 9: -3277}
    """
    length = math.sqrt(sum(weight * weight for weight in vector.values()))
    return {feature: round(weight * UNIT_LENGTH / length) for feature, weight in vector.items()}


def nearest_centres(space: Space, positions: Sequence[int], centres: Sequence[Vector]) -> list[int]:
    """For each position the number of its nearest centre; the lowest of equally near ones."""
    home, best = [0] * len(positions), [-math.inf] * len(positions)
    for number, centre in enumerate(centres):
        for index, near in enumerate(map(space.measure(centre), positions)):
            if near > best[index]:
                home[index], best[index] = number, near
    return home


def spherical_k_means(space: Space, sample: Sequence[int], count: int, rounds: int) -> list[Vector]:
    """`count` centres (fewer if the sample is smaller): the first of the sample, moved `rounds` times at most.

    A centre that no unit is nearest to, or whose units cancel out, stays where it was.
    """
    centres = [scaled(space.vector(at)) for at in sample[:count]]
    scaled_units = [scaled(space.vector(at)) for at in sample]
    home: list[int] = []
    for _ in range(rounds):
        moved = nearest_centres(space, sample, centres)
        if moved == home:
            break
        home = moved
        sums: list[Counter[int]] = [Counter() for _ in centres]
        for number, vector in zip(home, scaled_units):
            sums[number].update(vector)
        found = [{feature: weight for feature, weight in one.items() if weight} for one in sums]
        centres = [new or old for new, old in zip(found, centres)]
    return centres


class Lists:
    """Inverted lists over the placed units of a space: `count` of them, by default the root of the number of units."""

    name, knob = "ivf", "probes"

    def __init__(self, space: Space, count: int | None = None, rounds: int = 5, seed: int = 1):
        self.space = space
        wanted = count or max(1, math.isqrt(len(space.placed)))
        sample = space.in_chance_order(seed, "k-means")[:TRAIN_PER_LIST * wanted]
        centres = spherical_k_means(space, sample, wanted, rounds)
        self.centres = Space((f"{number:09}", centre) for number, centre in enumerate(centres))   # numbered as given
        self.lists: list[list[int]] = [[] for _ in centres]   # number of the centre -> positions, rising
        for at, number in zip(space.placed, nearest_centres(space, space.placed, centres)):
            self.lists[number].append(at)

    def search(self, gauge: Gauge, count: int, budget: int, live: Container[int] | None = None) -> Ranked:
        """The `count` nearest units of the `budget` lists probed; with `live`, hidden ones are not looked at."""
        positions = [at for number in self.probed(gauge.vector, budget) for at in self.lists[number]]
        return rank(gauge, [at for at in positions if live is None or at in live], count)

    def probed(self, vector: Vector, probes: int) -> list[int]:
        """The numbers of the `probes` nearest lists, nearest first, equally near ones by number."""
        near = self.centres.gauge(vector)
        return sorted(self.centres.placed, key=lambda number: (-near[number], number))[:probes]

    @property
    def bytes(self) -> int:
        """The vectors, the centres as 512 four-byte numbers, and four bytes for each entry of a list."""
        return self.space.bytes + CENTRE_BYTES * len(self.lists) + ENTRY_BYTES * len(self.space.placed)

    def coarse(self, budget: int | None = None) -> int:
        """Cheap comparisons a query makes beside the distance evaluations: one with each centre."""
        return len(self.lists)
