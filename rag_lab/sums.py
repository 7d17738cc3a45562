"""Which digest has a set that grows, shrinks and is split, without being read anew?

Each member has a share, a number of 2048 bits; the shares of a set are summed, and the sum is digested. So the order of the
members does not matter, one of them can be taken out again, and the sums of parts make the sum of the whole (AdHash: Bellare
and Micciancio 1997, "A New Paradigm for Collision-Free Hashing", with numbers long enough for sums).
"""
import hashlib
from typing import Iterable

from .files import compact_json, text_digest

BITS = 2048


def share(member) -> int:
    """The share of a member, a JSON value: SHAKE-256 of its compact JSON, 256 bytes read big-endian."""
    return int.from_bytes(hashlib.shake_256(compact_json(member).encode("utf-8")).digest(BITS // 8), "big")


def added(shares: Iterable[int]) -> int:
    """The sum of shares modulo 2^2048; a share that is given negative is taken out.

    >>> added([share("a"), share("b"), -share("a")]) == share("b")
    True
    """
    return sum(shares) % (1 << BITS)


def sum_digest(total: int) -> str:
    """The 16 hex digits that stand for a sum."""
    return text_digest(f"{total:x}")
