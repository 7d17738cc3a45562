"""How does a walk from neighbour to neighbour find near units, and when does it stop too early? HNSW.

Hierarchical navigable small-world graph (Malkov and Yashunin 2018, "Efficient and Robust Approximate Nearest Neighbor
Search Using Hierarchical Navigable Small World Graphs"). A unit stands in layer 0 and, with chance 1/M each time, in
the layer above. Sparse upper layers bring a search near; in layer 0 it keeps the `ef` best seen and goes on from the
nearest not yet visited, until that one is worse than all it keeps.

What differs from the paper: levels and the order of growth come from a hash of the id, not from a random generator; a
unit that has too many links drops the farthest (their algorithm 3; links of a new unit are spread by algorithm 4); and
units that no walk could reach at the end are linked to their nearest reachable unit, so that a large enough `ef`
sees all.
"""
from heapq import heapify, heappop, heappush, heappushpop
from typing import Container, Iterable, Mapping

from .space import Gauge, Lazy, Ranked, Space, chance, rank

Links = Mapping[int, Iterable[int]]   # node -> its neighbours
LINK_BYTES = 4


def walk(entries: Iterable[int], links: Links, near: Mapping[int, float], width: int,
         wanted: Container[int] | None = None) -> Ranked:
    """The `width` nearest nodes met on a best-first walk from `entries`, best first (Malkov and Yashunin, algorithm 2).

    Width 1 is the greedy walk, which stops where no neighbour is nearer. A wider walk visits the same nodes in the same
    order and then more. With `wanted`, other nodes are walked over but not kept.
    """
    seen = set(entries)
    frontier = [(-near[node], node) for node in entries]
    kept = sorted((near[node], -node) for node in entries if wanted is None or node in wanted)[-width:]   # worst first
    heapify(frontier)
    while frontier:
        far, node = heappop(frontier)
        if len(kept) == width and (-far, -node) < kept[0]:
            break
        for other in links[node]:
            if other in seen:
                continue
            seen.add(other)
            row = near[other], -other
            if len(kept) < width or row > kept[0]:
                heappush(frontier, (-row[0], other))
                if wanted is None or other in wanted:
                    (heappush if len(kept) < width else heappushpop)(kept, row)
    return [(-node, value) for value, node in sorted(kept, reverse=True)]


def level_of(value: int, m: int) -> int:
    """The top layer of a unit whose chance is `value` in 0 .. 2^64 - 1: level l or higher has probability m^-l.

    The paper's floor(-ln(u) / ln(m)) with u = (value + 1) / 2^64, in whole numbers.

    >>> level_of(2**64 - 1, 16), level_of(2**60 - 1, 16), level_of(2**60 - 2, 16), level_of(2**56 - 2, 16)
    (0, 0, 1, 2)
    """
    level = 0
    while (value + 1) * m ** (level + 1) < 2 ** 64:
        level += 1
    return level


def spread(space: Space, ranked: Ranked, count: int) -> Ranked:
    """`count` of the ranked units that lie in different directions (Malkov and Yashunin, algorithm 4).

    A unit nearer to one already chosen than to the newcomer is passed over: that neighbour leads to it. Those passed
    over fill what is left, nearest first.
    """
    chosen: Ranked = []
    passed: Ranked = []
    gauges: list[Gauge] = []
    for at, near in ranked:
        if len(chosen) == count:
            break
        if any(gauge[at] > near for gauge in gauges):
            passed.append((at, near))
        else:
            chosen.append((at, near))
            gauges.append(space.gauge(space.vector(at)))
    return chosen + passed[:count - len(chosen)]


class Graph:
    """A small-world graph over the placed units of a space.

    `m` links for each newcomer and layer, at most `m` kept above and 2 m in layer 0; `ef_construction` is the width of
    the walk that finds a newcomer's neighbours.
    """

    name, knob = "hnsw", "ef"

    def __init__(self, space: Space, m: int = 12, ef_construction: int = 64, seed: int = 1):
        self.space, self.m, self.ef_construction = space, m, ef_construction
        self.layers: list[dict[int, dict[int, float]]] = []   # layer -> node -> {neighbour: nearness}
        self.order = space.in_chance_order(seed, "order")
        self.levels = {at: level_of(chance(seed, "level", space.ids[at]), m) for at in self.order}
        self.evaluations = 0                                  # of the walks that built it; `spread` compares some more
        self.entry: int | None = None                         # where walks begin: the first unit of the top layer
        for at in self.order:
            self._add(at)
        self.mended = self._mend()                            # how many units no walk could reach before

    def _add(self, at: int) -> None:
        """Link one more unit into every layer up to its own (Malkov and Yashunin, algorithm 1)."""
        level, top = self.levels[at], len(self.layers) - 1
        if self.entry is not None:
            gauge = self.space.gauge(self.space.vector(at))
            entries = self._descend(gauge, self.entry, top, level, self.layers)
            for layer in range(min(level, top), -1, -1):
                ranked = walk(entries, self.layers[layer], gauge, self.ef_construction)
                self._link(at, layer, spread(self.space, ranked, self.m))
                entries = [node for node, _ in ranked]
            self.evaluations += len(gauge)
        for layer in range(top + 1, level + 1):
            self.layers.append({at: {}})
        if level > top:
            self.entry = at

    def _link(self, at: int, layer: int, neighbours: Ranked) -> None:
        """Links in both directions; a neighbour that has too many drops its farthest."""
        links, most = self.layers[layer], self.m if layer else 2 * self.m
        links[at] = dict(neighbours)
        for node, near in neighbours:
            links[node][at] = near
            if len(links[node]) > most:
                del links[node][min(links[node], key=lambda other: (links[node][other], -other))]

    @staticmethod
    def _descend(gauge: Gauge, entry: int, top: int, level: int, layers: list) -> list[int]:
        """The nearest node that a greedy walk finds in the layers from `top` down to the one above `level`."""
        for layer in range(top, level, -1):
            entry = walk([entry], layers[layer], gauge, 1)[0][0]
        return [entry]

    def _mend(self) -> int:
        """Link each unit that cannot be reached in layer 0 with its nearest that can; the number of links it took."""
        reached: set[int] = set()
        mended = 0
        if self.entry is not None:
            self._reach(self.entry, reached)
        for at in self.order:
            if at not in reached:
                gauge = self.space.gauge(self.space.vector(at))
                node, near = walk([self.entry], self.layers[0], gauge, self.ef_construction)[0]
                self.layers[0][node][at] = self.layers[0][at][node] = near
                self._reach(at, reached)
                mended += 1
        return mended

    def _reach(self, start: int, reached: set[int]) -> None:
        """Add to `reached` all that can be reached from `start` in layer 0."""
        reached.add(start)
        waiting = [start]
        while waiting:
            fresh = [node for node in self.layers[0][waiting.pop()] if node not in reached]
            reached.update(fresh)
            waiting += fresh

    def search(self, gauge: Gauge, count: int, budget: int, live: Container[int] | None = None) -> Ranked:
        """The `count` nearest units that a walk with ef = `budget` (at least `count`) meets.

        With `live`, the others are cut out of the graph: never looked at, and no way leads over them. What is left may
        fall apart.
        """
        layers = self.layers if live is None else [self._live_links(layer, live) for layer in self.layers]
        return self._search(gauge, count, budget, layers, self._entry(live), None)

    def search_through(self, gauge: Gauge, count: int, budget: int, live: Container[int]) -> Ranked:
        """The `count` nearest live units: hidden ones are looked at and walked over, and never kept."""
        return self._search(gauge, count, budget, self.layers, self.entry, live)

    def _search(self, gauge, count, budget, layers, entry, wanted) -> Ranked:
        if entry is None:
            return []
        entries = self._descend(gauge, entry, self.levels[entry], 0, layers)
        ranked = walk(entries, layers[0], gauge, max(budget, count), wanted)
        return rank(gauge, [at for at, _ in ranked], count)

    def _entry(self, live: Container[int] | None) -> int | None:
        """Where a walk among the live units begins: the first that grew, of those in the highest layer."""
        if live is None:
            return self.entry
        return max((at for at in self.order if at in live), key=self.levels.__getitem__, default=None)

    @staticmethod
    def _live_links(layer: Mapping[int, Iterable[int]], live: Container[int]) -> Links:
        return Lazy(lambda node: [other for other in layer[node] if other in live])

    @property
    def links(self) -> int:
        """The number of links in all layers, each direction counted."""
        return sum(len(neighbours) for layer in self.layers for neighbours in layer.values())

    @property
    def bytes(self) -> int:
        """The vectors, and four bytes a link."""
        return self.space.bytes + LINK_BYTES * self.links

    def coarse(self, budget: int | None = None) -> int:
        """Cheap comparisons a query makes beside the distance evaluations: none."""
        return 0
