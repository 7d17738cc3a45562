"""Posting lists: how units are numbered and cut into blocks, lists with repeats, rows of a block, live units."""
import random

import pytest

from rag_lab import UsageError, postings
from rag_lab.bits import set_of
from rag_lab.postings import Block, Live, Postings, by_times, counts, cut_blocks


@pytest.fixture(autouse=True)
def tiny_blocks(monkeypatch):
    """A size with 3 units has blocks of its own, and no block has more than 5."""
    monkeypatch.setattr(postings, "SMALLEST", 3)
    monkeypatch.setattr(postings, "LARGEST", 5)


def cut(*sizes: int) -> list[tuple[int, int, bool]]:
    return [tuple(block) for block in cut_blocks(sizes)]


def words(**units: str) -> Postings:
    return Postings((unit_id, text.split(), len(text.split())) for unit_id, text in units.items())


# --- blocks -----------------------------------------------------------------------------------------------------------

def test_a_size_that_many_units_have_gets_a_block_of_its_own():
    assert cut(10, 10, 10, 11, 11, 11) == [(0, 3, True), (3, 6, True)]


def test_sizes_that_few_units_have_share_a_block_as_long_as_they_lie_close_together():
    assert cut(10, 11) == [(0, 2, False)]              # 11 <= 10 * 1.1
    assert cut(10, 12) == [(0, 1, True), (1, 2, True)]
    assert cut(10, 10, 11, 11) == [(0, 3, False), (3, 4, True)]


def test_no_block_has_more_than_the_largest_number_of_units():
    assert cut(*[7] * 12) == [(0, 5, True), (5, 10, True), (10, 12, True)]


def test_units_of_size_0_share_no_block_with_others():
    assert cut(0, 0, 1) == [(0, 2, True), (2, 3, True)]


def test_no_units_no_blocks():
    assert cut() == []


def test_blocks_can_start_at_any_number():
    assert cut_blocks([10, 11, 20], start=100) == [(100, 102, False), (102, 103, True)]


@pytest.mark.parametrize("seed", range(50))
def test_blocks_hold_every_unit_once_in_order_and_are_even_where_they_say_so(seed):
    choose = random.Random(seed)
    sizes = sorted(choose.randint(0, choose.choice([1, 5, 50, 10 ** 6])) for _ in range(choose.randint(1, 60)))
    blocks = cut_blocks(sizes)
    assert [at for start, end, _ in blocks for at in range(start, end)] == list(range(len(sizes)))
    assert all(end - start <= 5 and even == (len(set(sizes[start:end])) == 1) for start, end, even in blocks)
    assert all(sizes[end - 1] <= 1.1 * sizes[start] for start, end, _ in blocks)


# --- numbers and lists --------------------------------------------------------------------------------------------------

def test_units_are_numbered_by_size_and_those_of_one_size_by_id():
    index = words(d="x y", c="x", b="x y", a="x y z")
    assert list(index.ids) == ["c", "b", "d", "a"] and list(index.sizes) == [1, 2, 2, 3]
    assert [index.number(unit_id) for unit_id in "abcdz"] == [3, 1, 0, 2, None]


def test_where_sizes_have_no_part_in_the_scores_units_are_numbered_by_id_and_all_blocks_are_even():
    index = Postings([("b", "x", 1), ("c", "", 0), ("a", "xyz", 3)], by_size=False)
    assert list(index.ids) == ["a", "b", "c"] and list(index.sizes) == [3, 1, 0] and index.blocks == [(0, 3, True)]


def test_a_list_holds_a_unit_as_often_as_the_term_stands_in_it():
    index = words(a="x", b="x y x", c="y x y y")
    assert (list(index.list_of("x")), list(index.list_of("y")), list(index.list_of("z"))) == ([0, 1, 1, 2], [1, 2, 2, 2], [])
    assert (counts(index.list_of("x")), counts(index.list_of("y")), counts([])) == ({0: 1, 1: 2, 2: 1}, {1: 1, 2: 3}, {})


def test_ids_that_are_no_strings_or_stand_twice_are_refused():
    with pytest.raises(UsageError, match="7 is not a string"):
        Postings([(7, ["x"], 1)])
    with pytest.raises(UsageError, match="'a' stands twice"):
        Postings([("a", ["x"], 1), ("a", ["y"], 2)])


# --- rows -------------------------------------------------------------------------------------------------------------

def test_units_are_grouped_by_how_often_the_term_stands_in_them():
    assert list(by_times([20, 21, 21, 23, 24, 24], 10_000)) == [(2, [21, 24]), (1, [20, 23])]


def test_a_list_of_many_units_is_grouped_into_sets_and_means_the_same():
    units = sorted([*range(100), *range(3, 100, 7), 50, 50])   # 50 = 3 + 47 is one of the sevens only if 7 divides 47
    assert list(by_times(units, 100)) == [(3, [50]), (2, set_of(range(3, 100, 7))),
                                          (1, set_of([at for at in range(100) if at % 7 != 3 and at != 50]))]


def test_a_unit_that_holds_a_term_more_often_than_a_byte_can_tell_is_grouped_all_the_same():
    assert list(by_times([0] * 300 + [1], 2)) == [(300, [0]), (1, [1])]


@pytest.mark.parametrize("seed", range(10))
def test_both_ways_of_grouping_cut_into_the_same_sets(seed):
    choose = random.Random(seed)
    units = sorted(choose.choices(range(200), k=choose.randint(1, 300)))
    blocks = [Block(0, 60, True), Block(60, 61, True), Block(61, 200, False)]
    listed = [(times, list(postings.cut(members, blocks))) for times, members in by_times(units, 10 ** 9)]
    assert [(times, list(postings.cut(members, blocks))) for times, members in by_times(units, 200)] == listed
    plain = {times: {place: set_of([unit - start for unit in range(start, end) if units.count(unit) == times])
                     for place, (start, end, _) in enumerate(blocks)} for times, _ in listed}
    assert listed == [(times, [(place, here) for place, here in sets.items() if here]) for times, sets in plain.items()]


def test_a_term_has_rows_in_those_blocks_only_that_hold_it():
    index = words(**{f"u{at}": "y" for at in range(7)}, v="x x y y", w="x y y y")    # blocks: u0 to u4, u5 to u6, v to w
    assert index.blocks == [(0, 5, True), (5, 7, True), (7, 9, True)]
    assert index.rows_of("x") == {2: ((2, set_of([0])), (1, set_of([1])))}
    assert index.rows_of("y") == {0: ((1, set_of(range(5))),), 1: ((1, set_of([0, 1])),), 2: ((3, 0b10), (2, 0b01))}
    assert index.rows_of("z") == {}


@pytest.mark.parametrize("seed", range(20))
def test_rows_equal_the_lists(seed):
    choose = random.Random(seed)
    index = words(**{f"u{at:02}": " ".join(choose.choices("xyz", k=choose.randint(0, 9))) for at in range(40)})
    for term in "xyz":
        again = {index.blocks[place].start + bit: times for place, rows in index.rows_of(term).items()
                 for times, units in rows for bit in range(5) if units >> bit & 1}
        assert again == counts(index.list_of(term))


# --- live units ---------------------------------------------------------------------------------------------------------

FIVE_AND_TWO = {**{f"u{at}": "x" for at in range(5)}, "v": "x y", "w": "y y"}   # two blocks


def test_without_flags_all_units_are_live():
    index = words(**FIVE_AND_TWO)
    for live in (Live(index), Live(index, bytes([1] * 7))):
        assert (live.everything, live.count, live.total_size, live.sets) == (True, 7, 5 * 1 + 2 * 2, [0b11111, 0b11])
        assert live.rows(index.rows_of("y")) == index.rows_of("y")


def test_hidden_units_count_for_nothing():
    index = words(**FIVE_AND_TWO)
    live = Live(index, bytes([0, 1, 0, 1, 0, 0, 1]))
    assert (live.everything, live.count, live.total_size, live.sets) == (False, 3, 1 + 1 + 2, [0b01010, 0b10])
    assert live.rows(index.rows_of("x")) == {0: ((1, 0b01010),)}      # v, its only holder in the other block, is hidden
    assert live.rows(index.rows_of("y")) == {1: ((2, 0b10),)}


def test_nobody_may_be_live():
    index = words(**FIVE_AND_TWO)
    live = Live(index, bytes(7))
    assert (live.count, live.total_size, live.sets, live.rows(index.rows_of("x"))) == (0, 0, [0, 0], {})
    assert Live(words()).count == Live(words()).total_size == 0
