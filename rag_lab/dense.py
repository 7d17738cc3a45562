"""Which units point the same way as the query, in a space of features that an encoder spans?

Exact cosine over sparse vectors, whatever the features are and whatever numbers an encoder of the user's own gives them.
Cosine compares directions of vectors and nothing else: not truth, not rights, not meaning. Not for large corpora, unless the
weights are whole numbers: see `counted`.
"""
import math
from typing import Any, Callable, Iterable, Mapping, Sequence

from .errors import UsageError
from .index import LiveIndex, best_first, sorted_units

Vector = Mapping[Any, float]   # feature -> weight, features of weight 0 left away; whole numbers are kept whole


def squared_norm(vector: Vector) -> float:
    """Sum of the squared weights."""
    return sum(weight * weight for weight in vector.values())


def cosine(one: Vector, other: Vector) -> float:
    """The cosine of two vectors, in [-1, 1]; 0.0 where one is empty.

    >>> cosine({1: 1}, {1: 2}), cosine({1: 1}, {1: -3}), cosine({1: 1}, {})
    (1.0, -1.0, 0.0)
    """
    return cosine_of(dot_product(one, other), squared_norm(one), squared_norm(other))


def dot_product(one: Vector, other: Vector) -> float:
    """Sum over the shared features of the products of their weights."""
    return sum(weight * other.get(feature, 0) for feature, weight in one.items())


def cosine_of(dot: float, one_squared: float, other_squared: float) -> float:
    """dot / sqrt(|one|^2 |other|^2), reckoned as the root of dot^2 / (|one|^2 |other|^2); 0.0 if a norm is 0.

    Of whole numbers the quotient is rounded once, so directions that agree equally well tie exactly, whatever their lengths.
    """
    scale = one_squared * other_squared
    return math.copysign(min(1.0, math.sqrt(dot * dot / scale)), dot) if scale else 0.0


def explained(wanted: Vector, shared: Vector, squared: float, origins: Mapping[Any, list[str]]) -> dict:
    """The parts of a cosine: `wanted` is the query's vector, `shared` the unit's weights of its features, `squared` |unit|^2."""
    scale = math.sqrt(squared_norm(wanted) * squared)
    rows = [{"feature": feature, "from": origins.get(feature, []), "query": wanted[feature], "unit": weight,
             "part": wanted[feature] * weight / scale} for feature, weight in shared.items()]
    dot = sum(row["query"] * row["unit"] for row in rows)
    return {"score": cosine_of(dot, squared_norm(wanted), squared), "query_norm": math.sqrt(squared_norm(wanted)),
            "unit_norm": math.sqrt(squared), "features": rows}


class Dense(LiveIndex):
    """An index over units (unit id, vector), with the same contract as `Bm25`. `encode` makes the vector of a query."""

    name = "dense"

    def __init__(self, units: Iterable[tuple[str, Vector]], encode: Callable[[str], Vector]):
        self.encode = encode
        self.ids = []
        self.squared_norms: list[float] = []                  # position -> |vector|^2
        self.features: dict[Any, dict[int, float]] = {}       # feature -> {position: weight}
        for position, (unit_id, vector) in enumerate(sorted_units(units)):
            self.ids.append(unit_id)
            self.squared_norms.append(squared_norm(vector))
            for feature, weight in vector.items():
                self.features.setdefault(feature, {})[position] = weight
        self._set_live(self.ids)

    def usable(self, query: str) -> bool:
        """Whether the query has a vector at all."""
        return bool(self.encode(query))

    def search(self, query: str, k: int | None = 5) -> list[tuple[str, float]]:
        """[(unit id, cosine)] of the `k` best live units with a cosine above 0 (all for None), equal ones in id order.

        A query or unit with an empty vector matches nothing. Raises `UsageError` for k < 1.
        """
        wanted = self.encode(query)
        norm = squared_norm(wanted)
        dots: dict[int, float] = {}    # position -> dot product
        for feature, weight in wanted.items():
            for at, other in self.features.get(feature, {}).items():
                dots[at] = dots.get(at, 0) + weight * other
        scored = ((self.ids[at], cosine_of(dot, norm, self.squared_norms[at]))
                  for at, dot in dots.items() if dot > 0 and at in self.live)
        return best_first(scored, k)

    def explain(self, query: str, unit_id: str) -> dict | None:
        """Where the cosine of a live unit comes from; None if the unit is not live. The parts sum to the cosine.

        {score, query_norm, unit_norm, features: [{feature, from, query, unit, part}]}, shared features only; `from` holds
        what in the query gave rise to the feature.
        """
        at = self.live_position(unit_id)
        if at is None:
            return None
        wanted = self.encode(query)
        shared = {feature: self.features[feature][at] for feature in wanted if at in self.features.get(feature, ())}
        return explained(wanted, shared, self.squared_norms[at], self.origins(query))

    def origins(self, query: str) -> dict[Any, list[str]]:
        """feature -> the words of the query that gave rise to it; encoders that can tell say it here."""
        return {}


def checked_vector(value: Mapping | Sequence[float], source: str) -> Vector:
    """What a user's encoder returned, as a sparse vector: a mapping feature -> number, or a list of numbers.

    Raises `UsageError` for anything else and for numbers that are not finite.
    """
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, (list, tuple)) else None
    if items is None:
        raise UsageError(f"{source} returned {type(value).__name__}; it must return a list or a mapping of numbers")
    vector = dict(items)
    for weight in vector.values():
        if not is_finite(weight):
            raise UsageError(f"{source} returned {weight!r} in a vector; every weight must be a finite number")
    if not is_finite(squared_norm(vector)):
        raise UsageError(f"{source} returned a vector whose length is beyond every float; scale it down")
    return {feature: weight for feature, weight in vector.items() if weight}


def is_finite(value) -> bool:
    """Whether a value is a number that a float can hold; a bool is none."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:   # a whole number beyond every float
        return False
