"""How do many whole numbers become few bytes, and come back whole?

Four bytes a number, lowest byte first, compressed where there are many. Numbers that rise are kept as the gaps between them. A sum
goes along, so that bytes which are not those that were written are found when they are read.
"""
import sys
import zlib
from array import array
from itertools import accumulate
from operator import sub
from typing import Sequence

PLAIN, COMPRESSED = 0, 1   # the first byte: how the numbers stand after the four bytes of the sum
WORTH = 64                 # so many bytes are worth compressing


class Damaged(ValueError):
    """The bytes are not those that were written."""


def pack(numbers: array) -> bytes:
    """An array of type "I" as bytes.

    >>> len(pack(array("I", [7, 7]))), len(pack(array("I", [7] * 10_000))) < 100
    (13, True)
    """
    raw = _little_endian(numbers).tobytes()
    kind, body = (COMPRESSED, zlib.compress(raw, 6)) if len(raw) >= WORTH else (PLAIN, raw)
    return bytes([kind]) + zlib.crc32(raw).to_bytes(4, "little") + body


def unpack(packed: bytes) -> array:
    """The array that was packed. Raises `Damaged`.

    >>> unpack(pack(array("I", [3, 1])))
    array('I', [3, 1])
    """
    try:
        raw = zlib.decompress(packed[5:]) if packed[0] == COMPRESSED else packed[5:]
        numbers = array("I", raw)
    except (zlib.error, ValueError, IndexError) as error:
        raise Damaged(str(error)) from error
    if zlib.crc32(raw) != int.from_bytes(packed[1:5], "little") or packed[0] > COMPRESSED:
        raise Damaged("its sum does not fit")
    return _little_endian(numbers)


def pack_rising(numbers: Sequence[int]) -> bytes:
    """Numbers that never fall, as bytes."""
    return pack(array("I", map(sub, numbers, [0, *numbers[:-1]])))


def unpack_rising(packed: bytes) -> array:
    """The numbers that `pack_rising` packed. Raises `Damaged`.

    >>> unpack_rising(pack_rising([4, 7, 7]))
    array('I', [4, 7, 7])
    """
    return array("I", accumulate(unpack(packed)))


def _little_endian(numbers: array) -> array:
    """The same numbers with their bytes swapped where the machine has the highest byte first."""
    if sys.byteorder == "little":
        return numbers
    swapped = array("I", numbers)
    swapped.byteswap()
    return swapped
