"""How do many whole numbers become few bytes, and come back whole?

Four or eight bytes a number, lowest byte first, compressed where that pays. Numbers that rise are kept as the gaps between
them, numbers that repeat as runs. A sum goes along, over the numbers and a label that says what they are: bytes which are
not those that were written, or stand where others belong, are found when they are read.
"""
import sys
import zlib
from array import array
from itertools import accumulate, groupby
from operator import sub
from typing import Sequence

COMPRESSED, WIDE, RUNS = 1, 2, 4   # bits of the first byte, which the four bytes of the sum follow
WORTH = 64                 # so many bytes are worth compressing


class Damaged(ValueError):
    """The bytes are not those that were written."""


def pack(numbers: array, label: str = "") -> bytes:
    """An array of type "I" (below 2^32) or "Q" (below 2^64) as bytes.

    >>> len(pack(array("I", [7, 7]))), len(pack(array("I", [7] * 10_000))) < 100
    (13, True)
    """
    raw = _little_endian(numbers).tobytes()
    body = zlib.compress(raw, 6) if len(raw) >= WORTH else raw
    if 2 * len(body) >= len(raw):
        return _plain(numbers, label)
    return bytes([COMPRESSED | WIDE * (numbers.typecode == "Q")]) + _sum(raw, numbers.typecode, label) + body


def _plain(numbers: array, label: str) -> bytes:
    raw = _little_endian(numbers).tobytes()
    return bytes([WIDE * (numbers.typecode == "Q")]) + _sum(raw, numbers.typecode, label) + raw


def pack_runs(numbers: array, label: str = "") -> bytes:
    """The same of numbers that repeat: a number and how often it follows itself, in turn, eight bytes each.

    Numbers that do not repeat stand as they are: all of them are read at once, and that has to be quick.
    """
    runs = array("Q", [part for number, run in groupby(numbers) for part in (number, sum(1 for _ in run))])
    if 2 * len(runs) > len(numbers):
        return _plain(numbers, label)
    raw = _little_endian(runs).tobytes()
    return bytes([RUNS | WIDE * (numbers.typecode == "Q")]) + _sum(raw, f"runs of {numbers.typecode}", label) + raw


def unpack(packed: bytes, label: str = "") -> array:
    """The array that was packed under this label, as runs or not. Raises `Damaged`.

    >>> unpack(pack(array("I", [3, 1]))), unpack(pack_runs(array("I", [3, 3, 3, 3, 3])))
    (array('I', [3, 1]), array('I', [3, 3, 3, 3, 3]))
    """
    try:
        raw = zlib.decompress(packed[5:]) if packed[0] & COMPRESSED else packed[5:]
        typecode = "Q" if packed[0] & WIDE else "I"
        if _sum(raw, f"runs of {typecode}" if packed[0] & RUNS else typecode, label) != packed[1:5]:
            raise Damaged("its sum does not fit")
        numbers = _little_endian(array("Q" if packed[0] & RUNS else typecode, raw))
        return _repeated(numbers, typecode) if packed[0] & RUNS else numbers
    except (zlib.error, ValueError, IndexError, TypeError, OverflowError, MemoryError) as error:
        raise Damaged(str(error)) from error


def _repeated(runs: array, typecode: str) -> array:
    """The numbers from what `pack_runs` made of them."""
    numbers = array(typecode)
    for number, times in zip(runs[::2], runs[1::2]):
        numbers += array(typecode, [number]) * times
    return numbers


def _sum(raw: bytes, kind: str, label: str) -> bytes:
    return zlib.crc32(raw, zlib.crc32(f"{kind} {label}".encode("utf-8"))).to_bytes(4, "little")


def pack_rising(numbers: Sequence[int], label: str = "") -> bytes:
    """Numbers that never fall, as bytes."""
    return pack(array("I", map(sub, numbers, [0, *numbers[:-1]])), label)


def unpack_rising(packed: bytes, label: str = "") -> array:
    """The numbers that `pack_rising` packed. Raises `Damaged`.

    >>> unpack_rising(pack_rising([4, 7, 7]))
    array('I', [4, 7, 7])
    """
    return array("I", accumulate(unpack(packed, label)))


def _little_endian(numbers: array) -> array:
    """The same numbers with their bytes swapped where the machine has the highest byte first."""
    if sys.byteorder == "little":
        return numbers
    swapped = array(numbers.typecode, numbers)
    swapped.byteswap()
    return swapped
