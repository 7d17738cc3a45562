"""Hashed vectors: bucket and sign by a fixed digest, cosines against a plain scorer, zero vectors, collisions."""
import hashlib
import math
from itertools import count

import pytest

from rag_lab.dense import cosine, squared_norm
from rag_lab.hashed import DIMENSIONS, Hashed, bucket, embed
from rag_lab.text import terms
from support import document, lab_of, output_under_hash_seed, plain_bucket, plain_cosines, random_query, random_units


def words_index(units) -> Hashed:
    """An index over units of words with white space between them."""
    return Hashed(dict(units).items(), analyze=str.split)


def sharing_a_bucket(term: str, sign: int) -> str:
    """Another word of the bucket of `term`, with the sign of `term` times `sign`."""
    place, own = plain_bucket(term)
    return next(f"w{number}" for number in count() if plain_bucket(f"w{number}") == (place, own * sign))


def sharing_no_bucket(*others: str) -> str:
    taken = {plain_bucket(term)[0] for term in others}
    return next(f"v{number}" for number in count() if plain_bucket(f"v{number}")[0] not in taken)


# --- buckets and vectors ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("term", ["p0", "退款", "3.2", "🎉", "𠮷野", "é", "w1", "w2"])
def test_the_bucket_is_the_digest_modulo_512_and_the_sign_its_top_bit(term):
    value = int.from_bytes(hashlib.blake2b(term.encode("utf-8"), digest_size=8).digest(), "big")
    assert bucket(term) == (value % 512, 1 if value >= 2 ** 63 else -1) == plain_bucket(term)


def test_both_signs_and_all_buckets_are_used():
    found = [bucket(f"t{number}") for number in range(20_000)]
    assert {place for place, _ in found} == set(range(DIMENSIONS)) and {sign for _, sign in found} == {1, -1}


def test_b049_buckets_are_the_same_in_every_process():
    program = "from rag_lab.hashed import bucket\nprint([bucket(term) for term in ('p0', 'retry', '3.2')])"
    expected = f"{[plain_bucket(term) for term in ('p0', 'retry', '3.2')]}\n".encode()
    assert [output_under_hash_seed(program, seed).replace(b"\r\n", b"\n") for seed in ("0", "1", "random")] == [expected] * 3


def test_a_vector_counts_its_terms_with_their_signs():
    place, sign = plain_bucket("x")
    assert embed(["x", "x", "x"]) == {place: 3 * sign} and embed([]) == {}


def test_terms_that_cancel_out_leave_no_trace():
    assert embed(["x", sharing_a_bucket("x", -1)]) == {}


def test_terms_that_share_a_bucket_and_a_sign_add_up():
    place, sign = plain_bucket("x")
    assert embed(["x", sharing_a_bucket("x", +1)]) == {place: 2 * sign}


@pytest.mark.parametrize("one, other, expected", [
    ({1: 3}, {1: 3}, 1.0), ({1: 1}, {1: -2}, -1.0), ({1: 1}, {2: 1}, 0.0), ({}, {1: 1}, 0.0), ({}, {}, 0.0),
    ({1: 1, 2: 1}, {1: 1}, 1 / math.sqrt(2)), ({1: 3, 2: 4}, {1: 4, 2: 3}, (12 + 12) / (5 * 5))])
def test_a_cosine_is_the_dot_product_over_both_lengths(one, other, expected):
    assert cosine(one, other) == pytest.approx(expected) == cosine(other, one)


def test_the_squared_norm_is_the_sum_of_squares():
    assert squared_norm({1: 3, 7: -4}) == 9 + 16 and squared_norm({}) == 0


# --- search -------------------------------------------------------------------------------------------------------------

def test_cosines_equal_a_plain_scorer():
    for seed in range(300):
        units, query = random_units(seed), random_query(seed)
        results = words_index(units).search(query, k=None)
        assert dict(results) == pytest.approx(plain_cosines(units, query.split()), rel=1e-12, abs=1e-12)


def test_the_order_equals_that_of_a_plain_scorer_with_ties_in_id_order():
    for seed in range(300):
        units, query = random_units(seed), random_query(seed)
        plain = plain_cosines(units, query.split())
        ours = [unit_id for unit_id, _ in words_index(units).search(query, k=None)]
        assert ours == sorted(plain, key=lambda unit_id: (-round(plain[unit_id], 11), unit_id))


def test_a_text_and_the_same_text_several_times_over_tie_in_id_order():
    # (1, 1) and (3, 3) point the same way: 1 / sqrt(2) = 3 / sqrt(18), though not after rounding
    units = {f"u{times}": ["x", "y"] * times for times in range(1, 10)}
    results = words_index(units).search("x")
    assert [unit_id for unit_id, _ in results] == ["u1", "u2", "u3", "u4", "u5"]
    assert len({score for _, score in results}) == 1


def test_a_query_asked_several_times_over_keeps_its_cosines():
    units = {"a": ["x", "y"], "b": ["x"], "c": ["x", "y", "z"]}
    assert words_index(units).search("x y x y x y") == words_index(units).search("x y")


def test_a_unit_asked_with_its_own_words_has_a_cosine_of_one():
    for seed in range(100):
        units = random_units(seed)
        for unit_id, words in units.items():
            if embed(words):
                assert dict(words_index(units).search(" ".join(words), k=None))[unit_id] == pytest.approx(1.0, abs=1e-15)


def test_a_cosine_is_never_above_one():
    for seed in range(300):
        assert all(score <= 1 for _, score in words_index(random_units(seed)).search(random_query(seed), k=None))


def test_a_unit_with_a_cosine_of_zero_or_less_is_no_hit():
    opposite, apart = sharing_a_bucket("x", -1), sharing_no_bucket("x")
    assert words_index({"a": [opposite], "b": [apart], "c": []}).search("x") == []


def test_hidden_units_do_not_touch_the_cosines_of_others():
    index = words_index({"a": ["x", "y"], "b": ["x"], "c": ["y"]})
    assert dict(index.over(["a"]).search("x"))["a"] == dict(index.search("x"))["a"]


# --- zero vectors -------------------------------------------------------------------------------------------------------

def test_b047_texts_and_queries_without_terms_have_a_cosine_of_zero_and_no_hit():
    index = Hashed([("d1", terms("！！")), ("d2", terms("退款"))])
    assert index.search("？？") == [] and index.search("！！") == []
    assert index.explain("？？", "d1")["score"] == index.explain("退款", "d1")["score"] == 0.0


@pytest.mark.parametrize("text, query", [("！！", "退款"), ("退款", "？？"), ("", ""), ("！！", "？？")])
def test_b047_no_number_of_the_explanation_is_nan_or_missing(text, query):
    told = Hashed([("d1", terms(text))]).explain(query, "d1")
    assert told["features"] == [] and all(math.isfinite(told[name]) for name in ("score", "query_norm", "unit_norm"))


def test_b047_a_unit_whose_terms_cancel_out_is_no_hit_and_divides_by_nothing():
    opposite = sharing_a_bucket("x", -1)
    index = words_index({"a": ["x", opposite]})
    assert index.search("x") == [] and index.explain("x", "a")["score"] == 0.0
    assert words_index({"a": ["x"]}).search(f"x {opposite}") == []


def test_b047_a_hybrid_search_without_terms_answers_without_numbers_that_json_lacks():
    outcome = lab_of(document("d1", "！！")).search("？？", hybrid=True)
    assert outcome.results == () and outcome.best_support == 0.0 and all(not channel.hits for channel in outcome.channels)


# --- explain ------------------------------------------------------------------------------------------------------------

def test_explained_buckets_are_the_shared_ones_with_the_query_terms_in_them():
    other = sharing_no_bucket("x", "y")
    told = words_index({"a": ["x", "x", "y"]}).explain(f"x {other}", "a")
    place, sign = plain_bucket("x")
    assert told["features"] == [{"feature": place, "from": ["x"], "query": sign, "unit": 2 * sign,
                                 "part": pytest.approx(2 / (math.sqrt(2) * math.sqrt(5)))}]   # |query|^2 1+1, |unit|^2 4+1
    assert (told["query_norm"], told["unit_norm"]) == (pytest.approx(math.sqrt(2)), pytest.approx(math.sqrt(5)))


def test_a_collision_shows_as_a_shared_bucket_without_a_shared_term():
    twin = sharing_a_bucket("x", +1)
    index = words_index({"a": [twin]})
    (row,) = index.explain("x", "a")["features"]
    assert index.search("x") == [("a", 1.0)] and row["from"] == ["x"] and row["feature"] == plain_bucket(twin)[0]
