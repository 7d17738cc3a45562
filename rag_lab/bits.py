"""How are a set of units, or a small number for each of them, held in one whole number?

Python's integers have any length, and `&`, `^` and `+` run over them at the speed of memory. So a set of units is an integer
whose bit u says whether unit u is in it; and a row of small numbers is an integer whose digits, in base 2^16, are these
numbers: adding two rows adds them for all units at once. Nothing here knows what is searched.
"""
from array import array
from typing import Iterable, Iterator, Sequence

LANE = 16                 # bits of one number in a row
TOP = 1 << (LANE - 1)     # the highest bit of a lane; numbers stay below it, so that comparisons can be read off it


def set_of(units: Iterable[int]) -> int:
    """The set of these units.

    >>> bin(set_of([0, 3]))
    '0b1001'
    """
    found = list(units)
    octets = bytearray((max(found, default=0) >> 3) + 1)
    for unit in found:
        octets[unit >> 3] |= 1 << (unit & 7)
    return int.from_bytes(octets, "little")


def set_of_flags(flags: bytes) -> int:
    """The set of the units whose flag is 1; `flags` holds a byte of 0 or 1 for each unit.

    >>> set_of_flags(bytes([1, 0, 0, 1])) == set_of([0, 3])
    True
    """
    return int(b"0" + flags[::-1].translate(_DIGITS), 2)


def tallied(units: Iterable[int], size: int, sparse: int) -> Iterator[tuple[int, Sequence[int] | int]]:
    """(how often, the units below `size` that stand in a list so often), the most frequent first: the fast way for long lists.

    They come as a set if they are more than one in `sparse`, else in rising order. Raises `ValueError` for a unit that stands
    there 256 times or more.

    >>> list(tallied([4, 7, 7], 8, 4)) == [(2, [7]), (1, [4])]
    True
    """
    tally = bytearray(size)
    for unit in units:
        tally[unit] += 1
    often = max(tally.translate(None, b"\0\1"), default=1)   # few stand there more than once, and those are looked at alone
    for times in range(often, 0, -1):
        count = tally.count(times)
        if count * sparse > size:
            yield times, set_of_flags(tally.translate(bytes(times) + b"\1" + bytes(255 - times)))
        elif count:
            yield times, _places(tally, times)


def _places(tally: bytearray, number: int) -> list[int]:
    """Where a byte of that value stands, in rising order."""
    found = [tally.find(number)]
    while (following := tally.find(number, found[-1] + 1)) >= 0:
        found.append(following)
    return found


_DIGITS = bytes([*b"01", *bytes(254)])


def lowest(units: int, count: int) -> list[int]:
    """The `count` lowest members of a set, or all if there are fewer, in rising order.

    >>> lowest(0b101001, 2)
    [0, 3]
    """
    found = []
    while units and len(found) < count:
        one = units & -units
        found.append(one.bit_length() - 1)
        units ^= one
    return found


class Lanes:
    """Rows of `count` numbers, a lane of 16 bits for each; every number and every sum has to stay below `TOP`."""

    def __init__(self, count: int):
        self.count = count
        self.ones = int.from_bytes(b"\1\0" * count, "little")   # the row of ones; times a number, a row of that number
        self.tops = self.ones << (LANE - 1)
        self.everything = (1 << (LANE * count)) - 1             # all bits of all lanes

    def row(self, numbers: array) -> int:
        """The row of an array of type "H", unit 0 in the lowest lane."""
        if _BIG_ENDIAN:
            numbers = array("H", numbers)
            numbers.byteswap()
        return int.from_bytes(numbers.tobytes(), "little")

    def halved(self, row: int, times: int = 1) -> int:
        """Each number of a row over 2^times, rounded up."""
        if not times:
            return row
        lifted = row + self.ones * ((1 << times) - 1)
        return (lifted >> times) & (self.ones * ((1 << (LANE - times)) - 1))

    def at_least(self, row: int, number: int) -> int:
        """The highest bits of those lanes that hold `number` or more: lifted by TOP - number, they reach it."""
        return (row + self.ones * (TOP - number)) & self.tops

    def marked(self, tops: int) -> list[int]:
        """The units whose lanes are marked by their highest bit and nothing else, in rising order.

        >>> lanes = Lanes(3)
        >>> lanes.marked(lanes.at_least(lanes.row(array("H", [5, 2, 9])), 5))
        [0, 2]
        """
        octets, mark, found = tops.to_bytes(LANE // 8 * self.count, "little"), b"\x80", []
        at = octets.find(mark)
        while at >= 0:
            found.append(at // (LANE // 8))
            at = octets.find(mark, at + 1)
        return found


_BIG_ENDIAN = array("H", [1]).tobytes() == b"\0\1"
