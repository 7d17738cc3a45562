"""How do many whole numbers become few bytes, and come back whole?

Four or eight bytes a number, lowest byte first, compressed where there are many. Numbers that rise are kept as the gaps
between them. A sum goes along, over the numbers and a label that says what they are: bytes which are not those that were
written, or stand where others belong, are found when they are read.
"""
import sys
import zlib
from array import array
from itertools import accumulate
from operator import sub
from typing import Sequence

COMPRESSED, WIDE = 1, 2    # bits of the first byte, which the four bytes of the sum follow
WORTH = 64                 # so many bytes are worth compressing


class Damaged(ValueError):
    """The bytes are not those that were written."""


def pack(numbers: array, label: str = "") -> bytes:
    """An array of type "I" (below 2^32) or "Q" (below 2^64) as bytes.

    >>> len(pack(array("I", [7, 7]))), len(pack(array("I", [7] * 10_000))) < 100
    (13, True)
    """
    raw = _little_endian(numbers).tobytes()
    kind, body = (COMPRESSED, zlib.compress(raw, 6)) if len(raw) >= WORTH else (0, raw)
    return bytes([kind | WIDE * (numbers.typecode == "Q")]) + _sum(raw, numbers.typecode, label) + body


def unpack(packed: bytes, label: str = "") -> array:
    """The array that was packed under this label. Raises `Damaged`.

    >>> unpack(pack(array("I", [3, 1])))
    array('I', [3, 1])
    """
    try:
        raw = zlib.decompress(packed[5:]) if packed[0] & COMPRESSED else packed[5:]
        numbers = array("Q" if packed[0] & WIDE else "I", raw)
    except (zlib.error, ValueError, IndexError, TypeError) as error:
        raise Damaged(str(error)) from error
    if _sum(raw, numbers.typecode, label) != packed[1:5]:
        raise Damaged("its sum does not fit")
    return _little_endian(numbers)


def _sum(raw: bytes, typecode: str, label: str) -> bytes:
    return zlib.crc32(raw, zlib.crc32(f"{typecode} {label}".encode("utf-8"))).to_bytes(4, "little")


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
