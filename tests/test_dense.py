"""The dense index over vectors of any features: cosine, order, live sets, explanation, and what an encoder may return."""
import math

import pytest

from rag_lab import UsageError
from rag_lab.dense import Dense, checked_vector, cosine, cosine_of, dot_product, squared_norm

VECTORS = {"a": {"x": 3, "y": 4}, "b": {"x": 1}, "c": {"y": 2.5}, "d": {}, "e": {"x": -1}}
QUERIES = {"x": {"x": 1}, "xy": {"x": 1, "y": 1}, "z": {"z": 1}, "nothing": {}}


def index(vectors=VECTORS) -> Dense:
    return Dense(vectors.items(), QUERIES.__getitem__)


def test_dot_product_and_norm_are_sums_of_products():
    assert dot_product({"x": 2, "y": 3}, {"y": 5, "z": 7}) == 15 and squared_norm({"x": 2, "y": -3}) == 4 + 9


@pytest.mark.parametrize("one, other, expected", [
    ({"x": 3, "y": 4}, {"x": 1}, 3 / 5), ({"x": 1}, {"x": -2}, -1.0), ({"x": 1}, {"y": 1}, 0.0), ({}, {"x": 1}, 0.0),
    ({"x": 1, "y": 1}, {"x": 3, "y": 4}, 7 / (math.sqrt(2) * 5))])
def test_a_cosine_is_the_dot_product_over_both_lengths(one, other, expected):
    assert cosine(one, other) == pytest.approx(expected) == cosine(other, one)


def test_directions_that_agree_equally_well_tie_exactly_whatever_their_lengths():
    assert len({cosine_of(times, 1, 2 * times * times) for times in range(1, 50)}) == 1   # (t, t) against (1, 0)


@pytest.mark.parametrize("query, expected", [
    ("x", {"b": 1.0, "a": 3 / 5}), ("xy", {"a": 7 / (5 * math.sqrt(2)), "b": 1 / math.sqrt(2), "c": 1 / math.sqrt(2)}),
    ("z", {}), ("nothing", {})])
def test_only_units_with_a_cosine_above_zero_are_hits(query, expected):
    assert dict(index().search(query, None)) == pytest.approx(expected)


def test_best_first_equal_ones_by_id_and_k_of_them():
    assert [unit_id for unit_id, _ in index().search("xy", None)] == ["a", "b", "c"]
    assert [unit_id for unit_id, _ in index().search("xy", 2)] == ["a", "b"]


def test_units_that_are_not_live_are_no_hits_and_have_no_explanation():
    view = index().over(("a", "c", "unknown"))
    assert [unit_id for unit_id, _ in view.search("x", None)] == ["a"]
    assert view.explain("x", "b") is view.explain("x", "unknown") is None


def test_the_parts_of_an_explanation_sum_to_the_score():
    told = index().explain("xy", "a")
    norm = math.sqrt(2) * 5
    assert told["features"] == [{"feature": "x", "from": [], "query": 1, "unit": 3, "part": pytest.approx(3 / norm)},
                                {"feature": "y", "from": [], "query": 1, "unit": 4, "part": pytest.approx(4 / norm)}]
    assert told["score"] == pytest.approx(7 / norm) == dict(index().search("xy", None))["a"]


def test_an_empty_vector_is_explained_as_nothing():
    assert index().explain("x", "d") == {"score": 0.0, "query_norm": 1.0, "unit_norm": 0.0, "features": []}


def test_a_query_is_usable_if_it_has_a_vector():
    assert index().usable("z") and not index().usable("nothing")


@pytest.mark.parametrize("value, expected", [
    ([0, 1, 0.5], {1: 1, 2: 0.5}), ((1.0,), {0: 1.0}), ({"x": 2, "y": 0}, {"x": 2}), ([], {}), ({}, {}), ([0, 0.0], {})])
def test_a_vector_may_be_a_list_or_a_mapping_and_zeros_are_left_away(value, expected):
    assert checked_vector(value, "it") == expected


@pytest.mark.parametrize("value", [None, "12", 1.0, {1, 2}, iter([1.0]), b"12"])
def test_what_is_neither_list_nor_mapping_is_refused(value):
    with pytest.raises(UsageError, match="encoder 'm:f' returned .* a list or a mapping"):
        checked_vector(value, "encoder 'm:f'")


@pytest.mark.parametrize("weight", [math.nan, math.inf, -math.inf, "1", None, True, [1], pytest.param(10 ** 400, id="huge")])
def test_a_weight_that_is_no_finite_number_is_refused(weight):
    for value in ([1.0, weight], {"x": weight}):
        with pytest.raises(UsageError, match="finite number"):
            checked_vector(value, "it")


def test_a_vector_too_long_for_its_length_to_be_a_number_is_refused():
    with pytest.raises(UsageError):   # 1e200 squared is beyond every float, and a cosine would be nan
        checked_vector([1e200, 1.0], "it")
