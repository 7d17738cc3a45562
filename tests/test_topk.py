"""The k best without the rest: both methods against scoring every unit, and cases in which a bound could come out too low."""
import math
import random

import pytest

from rag_lab import postings, topk
from rag_lab.bits import set_of
from rag_lab.postings import Block, cut_blocks
from rag_lab.topk import Best, Formula, Plan, add_up, piece_of, split

SUM = Formula(lambda parts, size: math.fsum(parts))   # a score is the sum of its parts


def by_score(scored) -> list:
    return sorted(scored, key=lambda row: (-row[1], row[0]))


def best_of(scored, k: int) -> list:
    return by_score(row for row in scored if row[1] > 0)[:k]


# --- the units found so far ---------------------------------------------------------------------------------------------

def test_the_floor_is_the_kth_score_and_ties_with_it_are_kept():
    best = Best(2, unit=1.0)
    best.add([0, 1, 2, 3], [1.0, 3.0, 2.0, 0.0])
    best.add([4, 5, 6], [-1.0, 2.0, 1.5])
    assert best.floor == 2.0 and best.reached() == [(1, 3.0), (2, 2.0), (5, 2.0)]


def test_the_bar_is_the_floor_as_a_bound_and_a_little_below_it():
    best = Best(1, unit=10.0)
    assert best.floor == best.bar == 0.0
    best.add([0], [0.5])
    assert best.floor == 0.5 and 4.999 < best.bar < 5.0


# --- few terms: split ---------------------------------------------------------------------------------------------------

def plan_of(times: dict[int, int], weight: float, sizes: list[int], blocks: list[Block]) -> Plan:
    """A term that adds weight * times / size: what it adds in a block at most, and to which units."""
    def part(often, size):
        return weight * often / size

    plans = []
    for start, end, _ in blocks:
        here = {unit: times[unit] for unit in range(start, end) if unit in times}
        plans.append(tuple(sorted(((max(part(often, sizes[start]), part(often, sizes[end - 1])), often,
                                    set_of([unit - start for unit in here if here[unit] == often]))
                                   for often in set(here.values())), reverse=True)))
    return Plan([max([0.0, *(adds for adds, _, _ in rows)]) for rows in plans], plans, part)


def split_of(terms: list[tuple[dict[int, int], float]], sizes: list[int], k: int, unit: float = 1.0, live=None) -> list:
    """`split` over terms ({unit: times}, weight)."""
    blocks = cut_blocks(sizes)
    alive = [set_of([at - start for at in range(start, end) if live is None or at in live]) for start, end, _ in blocks]
    terms = [({at: often for at, often in times.items() if live is None or at in live}, weight) for times, weight in terms]
    return split([plan_of(times, weight, sizes, blocks) for times, weight in terms], blocks, alive, k, sizes,
                 Formula(SUM.total, unit))


def test_of_the_units_that_hold_the_terms_equally_often_the_first_are_the_best():
    sizes = [1, 1, 1, 1, 1]
    assert by_score(split_of([({1: 1, 2: 1, 3: 2, 4: 1}, 2.0)], sizes, 2)) == [(3, 4.0), (1, 2.0), (2, 2.0)]


def test_units_of_other_sizes_that_tie_with_the_kth_are_all_returned():
    # 1/20 = 2/40 = 3/60: units of three blocks tie, and their numbers do not tell which of them stands first
    found = split_of([({0: 1, 1: 2, 2: 3}, 1.0)], [20, 40, 60], 1)
    assert by_score(found) == [(0, 0.05), (1, 0.05), (2, 0.05)]


@pytest.mark.parametrize("seed", range(150))
def test_splitting_equals_scoring_every_unit(seed, monkeypatch):
    choose = random.Random(seed)
    monkeypatch.setattr(postings, "SMALLEST", 3)
    monkeypatch.setattr(postings, "LARGEST", choose.choice([3, 4, 100]))
    monkeypatch.setattr(postings, "SPREAD", choose.choice([1.1, 3]))
    n, signed = choose.randint(1, 60), seed % 2
    sizes = sorted(choose.randint(1, choose.choice([1, 3, 30])) for _ in range(n))
    terms = [({unit: choose.choice([1, 1, 1, 2, 3]) * (choose.choice([1, -1]) if signed else 1)
               for unit in range(n) if choose.random() < 0.6}, choose.choice([1.0, 1.0, 0.3, 5.0]))
             for _ in range(choose.randint(1, 6))]
    live = None if seed % 3 else {unit for unit in range(n) if choose.random() < 0.7}
    scored = {unit: math.fsum(weight * times[unit] / sizes[unit] for times, weight in terms if unit in times)
              for unit in range(n) if live is None or unit in live}
    for k in (1, 2, 5, n):
        assert best_of(split_of(terms, sizes, k, live=live), k) == best_of(scored.items(), k)


def test_a_bound_that_is_a_small_difference_of_large_numbers_does_not_come_out_too_low():
    # Cosine with the query x - y. Both units have the dot product 1 and one norm, so they tie, and unit 0 is the first. Its
    # bound is the difference of two numbers near 0.7; rounded, it lies below 1 / norm by two parts in 10^9.
    times = 20_000_000
    squared = (times + 1) ** 2 + times ** 2
    norm = math.sqrt(squared)
    assert (times + 1) / norm - times / norm < (1 - 2e-9) / norm
    against = Plan([0.0], [((-(times - 1) / norm, times - 1, 0b10), (-times / norm, times, 0b01))], lambda often, _: -often)
    for_it = Plan([(times + 1) / norm], [(((times + 1) / norm, times + 1, 0b01), (times / norm, times, 0b10))],
                  lambda often, _: often)
    cosine = Formula(lambda parts, _: sum(parts) / norm / math.sqrt(2), unit=math.sqrt(2))
    score = 1 / norm / math.sqrt(2)
    found = split([against, for_it], [Block(0, 2, True)], [0b11], 1, [squared, squared], cosine)
    assert by_score(found) == [(0, score), (1, score)]


# --- many terms: add up rows --------------------------------------------------------------------------------------------

def test_a_piece_holds_what_a_term_adds_rounded_up_and_lifted_above_0():
    piece = piece_of({0: 2.1, 3: -1.5}, {0: 21.0, 3: -15.0}, 4)     # rounded up: 3 and -1; lifted by 1
    assert ([piece.row >> 16 * unit & 0xFFFF for unit in range(4)], piece.lift, piece.most) == ([4, 1, 1, 0], 1, 3)
    assert (piece.size, piece.parts) == (4, {0: 21.0, 3: -15.0})
    only_against = piece_of({1: -7.0}, {1: -7.0}, 2)
    assert ([only_against.row >> 16 * unit & 0xFFFF for unit in range(2)], only_against.lift, only_against.most) == ([7, 0], 7, 0)


def pieces_of(parts: dict[int, float], n: int) -> dict:
    """The pieces of a term that adds `parts`, by unit, in steps of 1."""
    found = {}
    for place in sorted({unit // topk.PIECE for unit in parts}):
        here = {unit % topk.PIECE: part for unit, part in parts.items() if unit // topk.PIECE == place}
        found[place] = piece_of(here, here, min(topk.PIECE, n - place * topk.PIECE))
    return found


def added_up(terms: list[dict[int, float]], n: int, *ks: int) -> list[list]:
    """What `add_up` returns for each k."""
    pieces = [pieces_of(parts, n) for parts in terms]
    return [add_up(pieces, 1.0, k, [1] * n, SUM) for k in ks]


def total_of(terms: list[dict[int, float]]) -> dict[int, float]:
    """Unit -> the sum of what the terms add to it."""
    units = sorted({unit for parts in terms for unit in parts})
    return {unit: math.fsum(parts.get(unit, 0.0) for parts in terms) for unit in units}


@pytest.mark.parametrize("seed", range(150))
def test_adding_up_equals_scoring_every_unit(seed, monkeypatch):
    choose = random.Random(seed)
    monkeypatch.setattr(topk, "PIECE", choose.choice([3, 8, 64]))
    n, count = choose.randint(1, 60), choose.choice([1, 2, 7, 40, 40, 150])
    highest = choose.choice([3, 3, 100, 2047, 30_000])
    numbers = [choose.randint(1, highest) if seed % 5 else choose.uniform(0, highest)
               for _ in range(choose.choice([1, 3, 30]))]
    signs = [1] if seed % 2 else [1, -1]
    terms = [{unit: float(choose.choice(numbers) * choose.choice(signs)) for unit in range(n) if choose.random() < 0.5}
             for _ in range(count)]
    ks = (1, 2, 5, n)
    assert list(map(best_of, added_up(terms, n, *ks), ks)) == [best_of(total_of(terms).items(), k) for k in ks]


def test_halved_rows_that_round_up_do_not_reach_the_top_of_a_lane():
    # 10 * 1639 + 30 * 1637 = 65500 < 2^16, but halved once and rounded up 10 * 820 + 30 * 819 = 32770 >= TOP = 32768.
    highest = [1639.0] * 10 + [1637.0] * 30
    terms = [{0: part, 1: 1.0, 2: 1.0} for part in highest]
    assert added_up(terms, 3, 1) == [[(0, 65500.0)]]


def test_units_whose_parts_are_rounded_up_by_more_do_not_push_out_a_better_one():
    # 20 terms. Units 1 to 20 have 20 parts of 1.01: 20.2 in all, but rounded up 40. Unit 0 has 21 from one term, rounded 21.
    terms = [{unit: 1.01 for unit in range(1, 21)} for _ in range(20)]
    terms[0][0] = 21.0
    assert by_score(added_up(terms, 21, 1)[0])[0] == (0, 21.0)
