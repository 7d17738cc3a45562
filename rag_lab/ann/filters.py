"""What does a strict filter do to an index? The same search with the filter before, during and after it.

    partition   an index over the live units alone. The only one whose result cannot depend on a hidden unit
    pre         one index over all; hidden units are skipped before they are looked at
    through     hidden units are looked at on the way and never kept (for the graph, whose ways lead over them)
    over-fetch  `factor` times as many are asked for, the hidden ones dropped, the rest cut
    post        just as many are asked for and the hidden ones dropped: few may be left

Not how the lab itself filters: its indexes rank live units only, and the gate asks again. Here the others are measured.
"""
from typing import Callable, Container

from ..evaluation import mean
from .space import Exact, Gauge, Ranked, Space, agreement, chance

MODES = ("partition", "pre", "through", "over-fetch", "post")
OVER_FETCH = 4


def one_in(space: Space, share: int, seed: int) -> frozenset[int]:
    """A live set of about one unit in `share`, chosen by a hash of the ids: unrelated to what the units say."""
    return frozenset(at for at, unit_id in enumerate(space.ids) if chance(seed, "live", unit_id) % share == 0)


def search_filtered(mode: str, index, gauge: Gauge, count: int, budget: int, live: Container[int],
                    factor: int = OVER_FETCH) -> Ranked:
    """At most `count` live units, by one of the modes that need no index of their own."""
    if mode == "pre":
        return index.search(gauge, count, budget, live)
    if mode == "through":
        return index.search_through(gauge, count, budget, live)
    asked = count * factor if mode == "over-fetch" else count
    return [row for row in index.search(gauge, asked, budget) if row[0] in live][:count]


def partition(space: Space, live: Container[int]) -> Space:
    """The live units as a space of their own, numbered anew."""
    return Space((unit_id, space.vector(at)) for at, unit_id in enumerate(space.ids) if at in live)


def measure_filters(space: Space, index, build: Callable, queries: list, count: int, budget: int,
                    live: frozenset[int]) -> list[dict]:
    """One row for each mode that the index has; `build` makes the index of a space.

    `recall` is against the exact scan of the live units; `starved` counts queries that returned fewer units than that;
    `touched` and `hidden_touched` are distance evaluations, with any and with hidden units, as shares of all units.
    """
    own_space = partition(space, live)
    own = build(own_space)
    rows = [_row("partition", own_space, range(len(own_space.ids)), queries, count, len(space.ids),
                 lambda gauge: own.search(gauge, count, budget))]
    for mode in MODES[1:]:
        if mode != "through" or hasattr(index, "search_through"):
            rows.append(_row(mode, space, live, queries, count, len(space.ids),
                             lambda gauge: search_filtered(mode, index, gauge, count, budget, live)))
    return [{"index": index.name, "budget": budget if index.knob else None, **row} for row in rows]


def _row(mode: str, space: Space, live: Container[int], queries: list, count: int, units: int,
         search: Callable[[Gauge], Ranked]) -> dict:
    """Measure one mode: means over the queries that have a vector, recall over those that have a truth."""
    exact, found, starved, touched, hidden = Exact(space), [], 0, 0, 0
    for vector in queries:
        gauge = space.gauge(vector)
        returned = search(gauge)
        touched += len(gauge)
        hidden += sum(at not in live for at in gauge)
        truth = exact.search(space.gauge(vector), count, live=live)
        found.append(agreement(returned, truth))
        starved += len(returned) < len(truth)
    asked = max(1, len(queries) * units)
    return {"mode": mode, "recall": mean(found), "starved": starved, "touched": touched / asked,
            "hidden_touched": hidden / asked}

