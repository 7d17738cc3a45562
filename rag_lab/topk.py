"""Which k units score best, without scoring each of them?

Exact, by bounds: a unit is looked at on its own only if what its terms can add at most reaches the k-th best score so far.

    split     few terms: a block is split by its terms into classes of units that hold the same terms equally often; classes
              that cannot reach the k-th score are passed over, and of the others the first k units are enough
    add_up    many terms, or units that fit into one row: what each term adds, rounded up, stands in a row of small numbers,
              a lane for each unit; the rows are summed, and the few units whose sums reach far enough are scored one by one

Blocks come in the order of what they can hold at most, and the first that cannot reach the k-th score ends the search
(block-max pruning: Ding and Suel 2011, "Faster Top-k Document Retrieval Using Block-Max Indexes").
"""
import functools
import math
from array import array
from typing import Callable, Mapping, NamedTuple, Sequence

from .bits import LANE, TOP, Lanes, lowest
from .postings import Block

Scored = list[tuple[int, float]]                 # (unit number, score)
Score = Callable[[Sequence[int], int], float]    # (how often each term stands in a unit, its size) -> its exact score


class Formula(NamedTuple):
    """How a score is made of what the terms of a query add to it."""

    total: Callable[[Sequence[float], int], float]     # (the part of each term, the unit's size) -> score
    unit: float = 1.0                                  # bounds are reckoned in this many times a score


class Best:
    """The units found so far; `floor` is the k-th best of their scores (0.0 until there are k), `bar` that as a bound."""

    def __init__(self, k: int, unit: float):
        self.k, self.unit = k, unit
        self.found: Scored = []
        self.floor = self.bar = 0.0
        self._top = [0.0] * k   # the k best scores, rising

    def add(self, units: Sequence[int], scores: Sequence[float]) -> None:
        """Take in units with their scores, in the order of both."""
        self.found += zip(units, scores)
        self._top = sorted([*self._top, *scores])[-self.k:]
        if self._top[0] > 0:
            self.floor = self._top[0]
            # Bounds are sums of rounded numbers, and where a term lowers a cosine, small differences of large ones.
            self.bar = (self.floor * (1 - 1e-9) - 1e-13) * self.unit

    def reached(self) -> Scored:
        """The units at or above the floor: the k best, and all found that tie with the last of them."""
        return [(unit, score) for unit, score in self.found if score >= self.floor and score > 0]


# --- few terms: split a block into classes ----------------------------------------------------------------------------

class Plan(NamedTuple):
    """What one term of a query adds at most, block by block."""

    best: Sequence[float]   # block number -> the most it adds to a live unit, 0.0 where none holds it
    rows: Sequence[tuple]   # block number -> ((the most it adds, how often it stands there, set of live units), ...)
    part: Callable[[int, int], float]   # (how often it stands in a unit, the unit's size) -> its exact part of the score


def split(plans: Sequence[Plan], blocks: Sequence[Block], live: Sequence[int], k: int, sizes: Sequence[int],
          formula: Formula) -> Scored:
    """[(unit, score)]: the k best units with a score above 0, and units that tie with the last of them; in no order.

    `live`: block number -> set of the units that take part.
    """
    best = Best(k, formula.unit)
    plans = sorted(plans, key=lambda plan: -max(plan.best))   # without the terms that add most, little can be reached
    parts = [plan.part for plan in plans]

    def score(times: Sequence[int], size: int) -> float:
        """The exact score of a unit of this size in which the terms stand so often."""
        return formula.total([part(often, size) for part, often in zip(parts, times) if often], size)

    bounds = list(map(sum, zip(*(plan.best for plan in plans))))
    for place in sorted(range(len(blocks)), key=bounds.__getitem__, reverse=True):
        if bounds[place] <= 0 or bounds[place] < best.bar:
            break
        _split_block(blocks[place], live[place], [plan.rows[place] for plan in plans],
                     [plan.best[place] for plan in plans], best, sizes, score)
    return best.reached()


def _split_block(block: Block, live: int, rows: Sequence[tuple], most: Sequence[float], best: Best, sizes: Sequence[int],
                 score: Score) -> None:
    """Visit the classes of one block, those that hold the first terms most often before the others."""
    last = len(rows)
    rest = [sum(most[at:]) for at in range(1, last + 1)]   # the most that the terms after this one add
    times = [0] * last            # how often each term stands in the units of the class at hand

    def visit(at: int, units: int, bound: float) -> None:
        """Split `units`, which are alike in the terms before `at`, by the others; `bound`: what those before add at most."""
        if at == last:
            _take(block, units, times, best, sizes, score)
            return
        for adds, often, holders in rows[at]:
            if bound + adds + rest[at] < best.bar and adds > 0:
                return            # nor can units that hold the term less often
            both = units & holders
            if both:
                times[at] = often
                visit(at + 1, both, bound + adds)
                units ^= both
                if not units:
                    return
        if bound + rest[at] >= best.bar:
            times[at] = 0
            visit(at + 1, units, bound)

    visit(0, live, 0.0)


def _take(block: Block, units: int, times: Sequence[int], best: Best, sizes: Sequence[int], score: Score) -> None:
    """Take the units of one class in order of size and id, as long as they reach the floor."""
    if block.even:
        exact = score(times, sizes[block.start])
        if exact >= best.floor:
            taken = [block.start + at for at in lowest(units, best.k)]
            best.add(taken, [exact] * len(taken))
        return
    while units:
        one = units & -units
        units ^= one
        unit = block.start + one.bit_length() - 1
        exact = score(times, sizes[unit])
        if exact < best.floor:
            return
        best.add([unit], [exact])


# --- many terms: add up rows of rounded numbers ------------------------------------------------------------------------

PIECE = 1 << 14   # units in one row
ENOUGH = 2        # times k: so many units are scored one by one rather than told apart by their bounds
SAMPLED = 1 << 12 # lanes from which a look at an eighth of them pays


class Piece(NamedTuple):
    """What one term of a query adds to the units of one piece of the index."""

    size: int                      # units of the piece
    row: int                       # a lane for each: what the term adds at most, rounded up to a whole number, plus `lift`
    lift: int                      # so that no lane is negative where a term can lower a score; 0 for BM25
    most: int                      # the most it adds to a unit, rounded up
    parts: Mapping[int, float]     # unit of the piece -> the term's exact part of its score


def piece_of(bounds: Mapping[int, float], parts: Mapping[int, float], size: int) -> Piece:
    """The piece of `size` units that these numbers make, both by unit of the piece."""
    rounded = {unit: math.ceil(bound) for unit, bound in bounds.items()}
    lift = max(0, -min(rounded.values()))
    numbers = array("H", [lift]) * size
    for unit, number in rounded.items():
        numbers[unit] = number + lift
    return Piece(size, lanes_of(size).row(numbers), lift, max(0, *rounded.values()), parts)


@functools.lru_cache(maxsize=8)
def lanes_of(size: int) -> Lanes:
    """The lanes of a piece of so many units: all pieces of an index but the last have one size."""
    return Lanes(size)


def add_up(terms: Sequence[Mapping[int, Piece]], grid: float, k: int, sizes: Sequence[int], formula: Formula) -> Scored:
    """The same as `split`. `terms`: of each term, piece number -> what it adds there, in steps of 1/grid."""
    best = Best(k, formula.unit)
    bounds: dict[int, int] = {}
    for pieces in terms:
        for place, piece in pieces.items():
            bounds[place] = bounds.get(place, 0) + piece.most
    for place in sorted(bounds, key=lambda place: (-bounds[place], place)):
        if bounds[place] <= 0 or bounds[place] < best.bar * grid:
            break
        _add_up_piece([pieces[place] for pieces in terms if place in pieces], place * PIECE, grid, best, sizes,
                      formula.total)
    return best.reached()


def _add_up_piece(pieces: Sequence[Piece], start: int, grid: float, best: Best, sizes: Sequence[int], total) -> None:
    """Score about k units of one piece, those with the highest sums, then all that may still reach the floor they set."""
    lanes, columns = lanes_of(pieces[0].size), [piece.parts.get for piece in pieces]
    lift = sum([piece.lift for piece in pieces])
    halvings, high = _halvings(lift + sum([piece.most for piece in pieces]), len(pieces))
    row = sum([lanes.halved(piece.row, halvings) for piece in pieces])

    def lane_of_bar() -> int:
        """The least sum of a unit that may reach the bar."""
        return max(1, math.ceil((best.bar * grid + lift) / (1 << halvings)))

    def take(found: int) -> None:
        """Score the units whose lanes are marked."""
        units = lanes.marked(found)
        numbers = [start + unit for unit in units]
        parts_of_units = zip(*[[get(unit, 0.0) for unit in units] for get in columns])
        best.add(numbers, [total(parts, sizes[number]) for number, parts in zip(numbers, parts_of_units)])

    low, found = _about_k(lanes, row, lane_of_bar(), high, best.k)
    take(found)
    if lane_of_bar() < low:
        take(lanes.at_least(row, lane_of_bar()) ^ found)


def _halvings(largest: int, count: int) -> tuple[int, int]:
    """(how often to halve `count` rows, none of whose sums is above `largest`; how much their sums hold then at most).

    Each row is rounded up on its own, so the sums can grow by as much as there are rows; they have to stay below `TOP`.
    """
    halvings = 0
    while (high := (largest >> halvings) + count) >= TOP:
        halvings += 1
    return halvings, high


def _about_k(lanes: Lanes, row: int, low: int, high: int, k: int) -> tuple[int, int]:
    """(a number, the lanes that hold it or more): `low`, or the least above it that was found to leave no more than enough.

    At least k lanes hold it, unless it is `low`; none holds more than `high`.
    """
    if low > 1:                                    # a floor is known
        found = lanes.at_least(row, low)
        if found.bit_count() <= ENOUGH * k:
            return low, found
    found, least, above, middle = None, low, high + 1, _guess(lanes, row, low, high, k)
    while above - least > 1:                       # fewer than k lanes hold `above`
        holding = lanes.at_least(row, middle)
        count = holding.bit_count()
        if count < k:
            above = middle
        else:
            least, found = middle, holding
            if count <= ENOUGH * k:
                break
        middle = least - (least - above) // 3      # at least one higher, and below `above`
    return least, lanes.at_least(row, low) if found is None else found


def _guess(lanes: Lanes, row: int, low: int, high: int, k: int) -> int:
    """Between `low` and `high`, which number about k lanes hold: told from an eighth of the lanes, where these are many."""
    if lanes.count < SAMPLED:
        return low - (low - high) // 3             # the k-th sum is rarely above a third of the greatest there can be
    sample = lanes_of(lanes.count // 8)
    middle_lanes = (row >> LANE * (lanes.count // 2)) & sample.everything
    return max(low + 1, min(_about_k(sample, middle_lanes, low, high, max(1, k // 4))[0], high))
