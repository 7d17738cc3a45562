"""Do two engines find the same?

Engines with one formula have to give the same scores, best first; which of several units with one score they name may
differ. Of engines with another formula only the overlap of what they find can be told.
"""
import math
from typing import Sequence

from .measure import Found

TOLERANCE = 1e-6   # relative


def same_scores(ours: Found, theirs: Found) -> bool:
    """Whether the scores agree, place by place.

    >>> same_scores([("a", 2.0), ("b", 1.0)], [("a", 2.0000001), ("c", 1.0)])
    True
    """
    return len(ours) == len(theirs) and all(math.isclose(one, other, rel_tol=TOLERANCE)
                                            for (_, one), (_, other) in zip(ours, theirs))


def overlap(ours: Found, theirs: Found) -> float:
    """The share of our units that they found too; 1 if we found none.

    >>> overlap([("a", 2.0), ("b", 1.0)], [("a", 5.0), ("c", 4.0)])
    0.5
    """
    names = {unit_id for unit_id, _ in theirs}
    return sum(unit_id in names for unit_id, _ in ours) / len(ours) if ours else 1.0


def agreement(ours: Sequence[Found], theirs: Sequence[Found], comparable: bool) -> dict:
    """{queries, equal_scores, overlap}: how many queries have equal scores (None if they cannot have), the mean overlap."""
    pairs = list(zip(ours, theirs, strict=True))
    return {"queries": len(pairs), "equal_scores": sum(same_scores(*pair) for pair in pairs) if comparable else None,
            "overlap": round(sum(overlap(*pair) for pair in pairs) / len(pairs), 4)}
