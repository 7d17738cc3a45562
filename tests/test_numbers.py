"""Packed numbers come back whole, or it is told that they do not."""
import random
from array import array

import pytest

from rag_lab.numbers import Damaged, pack, pack_rising, pack_runs, unpack, unpack_rising


@pytest.mark.parametrize("numbers", [[], [0], [2 ** 32 - 1, 0], [7] * 1000, list(range(0, 90_000, 3))])
def test_what_is_packed_comes_back(numbers):
    assert unpack(pack(array("I", numbers), "x"), "x") == array("I", numbers)
    assert unpack(pack_runs(array("I", numbers), "x"), "x") == array("I", numbers)


def test_runs_take_sixteen_bytes_each_and_are_kept_only_where_they_are_few():
    assert len(pack_runs(array("Q", [2 ** 40] * 1000 + [5] * 9))) == 5 + 2 * 16
    assert pack_runs(array("I", [1, 2, 3])) == pack(array("I", [1, 2, 3]))
    assert unpack(pack_runs(array("Q", [2 ** 40] * 6))) == array("Q", [2 ** 40] * 6)


def test_a_changed_byte_of_a_run_is_found():
    packed = pack_runs(array("I", [3] * 50 + [4] * 50), "here")
    for at in range(len(packed)):
        with pytest.raises(Damaged):
            unpack(packed[:at] + bytes([packed[at] ^ 4]) + packed[at + 1:], "here")


def test_numbers_of_eight_bytes_come_back_as_such():
    packed = array("Q", [2 ** 64 - 1, 2 ** 32, 0])
    assert unpack(pack(packed)) == packed and unpack(pack(packed)).typecode == "Q"


@pytest.mark.parametrize("numbers", [[], [5], [0, 0, 3, 3, 3, 2 ** 32 - 1]])
def test_rising_numbers_come_back_with_their_repeats(numbers):
    assert list(unpack_rising(pack_rising(numbers, "x"), "x")) == numbers


def test_the_layout_is_a_kind_a_sum_and_the_numbers_lowest_byte_first():
    assert pack(array("I", [1, 258]))[0] == 0
    assert pack(array("I", [1, 258]))[5:] == bytes([1, 0, 0, 0, 2, 1, 0, 0])


@pytest.mark.parametrize("count", [0, 3, 500])
def test_a_changed_byte_is_found_or_changes_nothing(count):
    """Some bits of a compressed stream say how it was made: the numbers stay."""
    choose = random.Random(count)
    numbers = array("I", [choose.randrange(1000) for _ in range(count)])
    packed = pack(numbers, "here")
    found = 0
    for at in range(len(packed)):
        changed = bytearray(packed)
        changed[at] ^= 1 << choose.randrange(8)
        try:
            assert unpack(bytes(changed), "here") == numbers
        except Damaged:
            found += 1
    assert found >= len(packed) - 4


@pytest.mark.parametrize("left", [0, 1, 4, 5, 8])
def test_what_was_cut_off_is_found(left):
    with pytest.raises(Damaged):
        unpack(pack(array("I", [1, 2]))[:left])


def test_numbers_that_stand_where_others_belong_are_found():
    with pytest.raises(Damaged):
        unpack(pack(array("I", [1]), "postings of a"), "postings of b")
