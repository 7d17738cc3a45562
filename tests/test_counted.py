"""Cosines of whole-number vectors: each way of searching against exact fractions, with weights of both signs and ties."""
import math
import random
from fractions import Fraction

import pytest

from rag_lab.counted import Counted, listed
from rag_lab.dense import Dense
from support import WAYS, by_every_way, ranked, search_by

FEATURES = "pqrstuvw"


def vector_of(text: str) -> dict[str, int]:
    """The vector that a text like "p:2 q:-1" writes down."""
    return {feature: int(weight) for feature, weight in (entry.split(":") for entry in text.split())}


def text_of(vector: dict[str, int]) -> str:
    return " ".join(f"{feature}:{weight}" for feature, weight in vector.items())


def random_vector(choose: random.Random, weights: list[int], most: int) -> dict[str, int]:
    return {feature: choose.choice(weights) for feature in choose.sample(FEATURES, choose.randint(0, most))}


def plain_cosines(units: dict[str, dict[str, int]], query: dict[str, int]) -> dict[str, float]:
    """Unit id -> the root of the exact fraction dot^2 / (|query|^2 |unit|^2), of dot products above 0."""
    scores = {}
    for unit_id, vector in units.items():
        dot = sum(weight * vector.get(feature, 0) for feature, weight in query.items())
        if dot > 0:
            norms = sum(one * one for one in query.values()) * sum(one * one for one in vector.values())
            scores[unit_id] = math.sqrt(Fraction(dot * dot, norms))
    return scores


@pytest.mark.parametrize("seed", range(90))
def test_every_way_of_searching_equals_exact_fractions(seed, monkeypatch):
    choose = random.Random(seed)
    weights = choose.choice([[1], [1, -1], [1, 2, -1], [1, 2, 3, -3, 100], [-1, -2], [999, -1000, 1]])
    names = choose.sample(range(1000), choose.randint(1, 60))
    units = {f"u{name:03}": random_vector(choose, weights, choose.choice([1, 2, 8])) for name in names}
    wanted = choose.choice([weights, [1, -1], [1, -15, 15], [16, -1]])
    queries = [random_vector(choose, wanted, 8) | ({"nowhere": 3} if choose.random() < 0.2 else {}) for _ in range(3)]
    ids = sorted(units)
    lives = [None, [], [choose.choice(ids)], [one for one in ids if choose.random() < 0.1], ids[1:]]
    for index in by_every_way(monkeypatch, lambda: Counted(units.items(), vector_of)):
        for live in lives:
            view = index if live is None else index.over(live)
            for query in queries:
                expected = ranked(plain_cosines({one: units[one] for one in (units if live is None else live)}, query))
                assert view.search(text_of(query), None) == expected
                for k in (1, 2, 3, 10, 1000):
                    assert view.search(text_of(query), k) == expected[:k]


def test_vectors_of_one_direction_tie_whatever_their_lengths(monkeypatch):
    # The cosine of (1, 1), (2, 2), (3, 3) with (1, 0) is the root of a half; the shortest has the last id.
    units = {f"u{at:02}": {"p": 12 - at, "q": 12 - at} for at in range(12)}
    for index in by_every_way(monkeypatch, lambda: Counted(units.items(), vector_of)):
        assert index.search("p:1", 5) == [(f"u{at:02}", math.sqrt(0.5)) for at in range(5)]


def test_features_that_count_against_a_unit_cancel_those_that_count_for_it(monkeypatch):
    units = {"a": {"p": 5, "q": 5}, "b": {"p": 5, "q": 4}, "c": {"p": 1, "q": -1}, "d": {"q": -2}, "e": {"p": -1, "q": -1}}
    for index in by_every_way(monkeypatch, lambda: Counted(units.items(), vector_of)):
        found = index.search("p:1 q:-1", 4)      # dot products 0, 1, 2, 2, 0
        assert found == [("c", 1.0), ("d", math.sqrt(0.5)), ("b", math.sqrt(Fraction(1, 2 * 41)))]


def test_a_query_that_every_unit_points_away_from_finds_nothing(monkeypatch):
    for index in by_every_way(monkeypatch, lambda: Counted([(f"u{at}", {"p": at + 1}) for at in range(9)], vector_of)):
        assert index.search("p:-3", 2) == index.search("", 2) == index.search("z:1", 2) == []


@pytest.mark.parametrize("count", [17, 40, 300])
def test_as_many_features_as_a_query_may_have(count, monkeypatch):
    # More than sixteen features of weight 15 in the query: the rows have to be halved.
    choose = random.Random(count)
    names = [f"f{at}" for at in range(count)]
    units = {f"u{at:02}": {name: choose.choice([1, 1, 2, -1]) for name in choose.sample(names, choose.randint(1, count))}
             for at in range(40)}
    query = {name: choose.choice([15, 14, -15]) for name in names}
    expected = ranked(plain_cosines(units, query))
    for index in by_every_way(monkeypatch, lambda: Counted(units.items(), vector_of), without=["split"]):
        for k in (1, 3, 10):
            assert index.search(text_of(query), k) == expected[:k]


@pytest.mark.parametrize("way", WAYS)
def test_it_answers_as_the_index_for_any_weights_does(way, monkeypatch):
    search_by(monkeypatch, way)
    units = {"a": {"p": 2, "q": -1}, "b": {"q": 3}, "c": {}, "d": {"p": 1, "q": 1, "r": -2}}
    counted, dense = Counted(units.items(), vector_of), Dense(units.items(), vector_of)
    for query in ("p:1", "q:2 p:-1", "r:-1 q:1", "z:1", ""):
        assert counted.search(query, 2) == dense.search(query, 2) and counted.usable(query) == dense.usable(query)
        assert [counted.explain(query, one) for one in "abcde"] == [dense.explain(query, one) for one in "abcde"]


def test_a_feature_stands_in_its_list_as_often_as_its_weight_says():
    assert listed({"x": 2, "y": -3, "z": 1}) == [("x", 1)] * 2 + [("y", -1)] * 3 + [("z", 1)] and listed({}) == []
