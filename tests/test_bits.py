"""Sets of units and rows of numbers in one integer: against plain lists, and at the edges of a lane."""
import random
from array import array

import pytest

from rag_lab.bits import LANE, TOP, Lanes, lowest, set_of, set_of_flags


def row_of(*numbers: int) -> int:
    """The row of these numbers, from its definition: digits in base 2^16, unit 0 the lowest."""
    return sum(number << (16 * unit) for unit, number in enumerate(numbers))


# --- sets -------------------------------------------------------------------------------------------------------------

def test_bit_u_of_a_set_says_whether_unit_u_is_in_it():
    assert set_of([0, 3]) == 2 ** 0 + 2 ** 3 and set_of(iter([70, 8, 7])) == 2 ** 7 + 2 ** 8 + 2 ** 70
    assert set_of([]) == 0 and set_of([5, 5]) == 2 ** 5


def test_a_set_of_flags_is_the_set_of_the_units_whose_flag_is_1():
    assert set_of_flags(bytes([1, 0, 0, 1])) == set_of([0, 3]) == set_of_flags(bytearray([1, 0, 0, 1, 0]))
    assert set_of_flags(b"") == 0 == set_of_flags(bytes(3))


def test_the_lowest_members_of_a_set_in_rising_order():
    assert [lowest(0b101001, count) for count in (0, 1, 2, 3, 9)] == [[], [0], [0, 3], [0, 3, 5], [0, 3, 5]]
    assert lowest(0, 4) == []


@pytest.mark.parametrize("seed", range(20))
def test_random_sets_equal_plain_lists(seed):
    choose = random.Random(seed)
    flags = [choose.random() < seed / 20 for _ in range(choose.randint(1, 300))]
    members = [unit for unit, flag in enumerate(flags) if flag]
    assert set_of(members) == set_of_flags(bytes(flags)) == sum(2 ** unit for unit in members)
    assert lowest(set_of(members), seed) == members[:seed] and set_of(members).bit_count() == len(members)


# --- rows -------------------------------------------------------------------------------------------------------------

def numbers_of(count: int, row: int) -> list[int]:
    """The digits of a row in base 2^16, unit 0 first."""
    return [(row >> 16 * unit) & 0xFFFF for unit in range(count)]


def test_a_lane_has_16_bits_and_numbers_stay_below_the_highest():
    assert (LANE, TOP) == (16, 32768)


def test_a_row_holds_the_number_of_each_unit_in_its_lane():
    lanes = Lanes(3)
    assert lanes.row(array("H", [5, 2, 9])) == row_of(5, 2, 9) and numbers_of(lanes.count, row_of(5, 2, 9)) == [5, 2, 9]
    assert (lanes.ones, lanes.tops) == (row_of(1, 1, 1), row_of(TOP, TOP, TOP))


def test_adding_two_rows_adds_the_numbers_of_each_unit():
    lanes = Lanes(4)
    one, other = array("H", [0, 1, TOP - 2, TOP - 1]), array("H", [0, TOP - 2, 1, 0])
    assert numbers_of(lanes.count, lanes.row(one) + lanes.row(other)) == [0, TOP - 1, TOP - 1, TOP - 1]


def test_halving_rounds_up():
    lanes = Lanes(5)
    row = row_of(0, 1, 2, 3, TOP - 1)
    assert lanes.halved(row, 0) == row
    assert numbers_of(lanes.count, lanes.halved(row)) == [0, 1, 1, 2, 16384]          # (32767 + 1) / 2
    assert numbers_of(lanes.count, lanes.halved(row, 2)) == [0, 1, 1, 1, 8192]


def test_at_least_marks_the_lanes_that_hold_so_much_or_more():
    lanes = Lanes(4)
    row = row_of(4, 5, 6, 0)
    assert lanes.at_least(row, 5) == row_of(0, TOP, TOP, 0)
    assert lanes.marked(lanes.at_least(row, 5)) == [1, 2] and lanes.marked(lanes.at_least(row, 7)) == []


def test_marked_units_come_in_rising_order():
    assert Lanes(4).marked(row_of(TOP, 0, TOP, TOP)) == [0, 2, 3] and Lanes(4).marked(0) == []


@pytest.mark.parametrize("number", [1, 2, TOP - 2, TOP - 1, TOP])
def test_the_edges_of_a_lane_never_reach_its_neighbours(number):
    edges = [0, TOP - 1, 0, 1, TOP - 1, TOP - 2, 0]
    lanes = Lanes(len(edges))
    assert lanes.marked(lanes.at_least(row_of(*edges), number)) == [at for at in range(7) if edges[at] >= number]


@pytest.mark.parametrize("times", [1, 2, 7, 12])
def test_halving_leaves_the_neighbours_alone_up_to_the_numbers_of_a_lifted_row(times):
    highest = 2 ** 16 - 2 ** times    # beyond, rounding up would carry into the next lane
    lanes = Lanes(3)
    assert numbers_of(lanes.count, lanes.halved(row_of(0, highest, 0), times)) == [0, highest >> times, 0]


@pytest.mark.parametrize("seed", range(20))
def test_random_rows_equal_plain_lists(seed):
    choose = random.Random(seed)
    count = choose.randint(1, 100)
    one, other = ([choose.randrange(TOP // 2) for _ in range(count)] for _ in range(2))
    lanes, times, number = Lanes(count), choose.randint(0, 12), choose.randint(1, TOP)
    total = lanes.row(array("H", one)) + lanes.row(array("H", other))
    plain = [mine + its for mine, its in zip(one, other)]
    assert numbers_of(lanes.count, total) == plain and total == row_of(*plain)
    assert numbers_of(lanes.count, lanes.halved(total, times)) == [-(-value // 2 ** times) for value in plain]
    assert lanes.marked(lanes.at_least(total, number)) == [at for at in range(count) if plain[at] >= number]
