"""The contract that all indexes share: live set, order, explanation, empty inputs; and how results are ordered."""
import math
import random
from collections import Counter

import pytest

from rag_lab import UsageError
from rag_lab.bm25 import Bm25
from rag_lab.concepts import Concepts, concepts_of
from rag_lab.dense import Dense, checked_vector
from rag_lab.hashed import Hashed
from rag_lab.index import best_first, sorted_units
from support import output_under_hash_seed, random_query, random_units

SEEDS = range(200)


# A phrase for each word of these tests, of eleven different concepts: one word is one feature, as in the other indexes.
PHRASES = {"a": "SSO", "b": "Team", "c": "升级", "d": "成员", "e": "上限", "x": "客户端", "y": "接口", "z": "会话", "合同": "保留",
           "编号": "删除", "quick": "事故"}


def spoken(words) -> str:
    """A text of phrases for a bag of words."""
    return " ".join(PHRASES[word] for word in Counter(words).elements())


class SpokenConcepts(Concepts):
    """The concept index under the words of these tests."""

    def __init__(self, units):
        super().__init__((unit_id, spoken(words)) for unit_id, words in units)

    def usable(self, query):
        return super().usable(spoken(query.split()))

    def search(self, query, *args, **how):
        return super().search(spoken(query.split()), *args, **how)

    def explain(self, query, unit_id):
        return super().explain(spoken(query.split()), unit_id)


def encode(text: str) -> list[int]:
    """A toy encoder of a user's own: how often each known word stands in a text, as a list of numbers."""
    return [text.split().count(word) for word in PHRASES]


def vectors(text: str):
    return checked_vector(encode(text), "toy")


def toy_dense(units) -> Dense:
    return Dense(((unit_id, vectors(" ".join(Counter(words).elements()))) for unit_id, words in units), vectors)


KINDS = {"bm25": lambda units: Bm25(units, analyze=str.split), "hashed": lambda units: Hashed(units, analyze=str.split),
         "concepts": SpokenConcepts, "dense": toy_dense}


@pytest.fixture(params=list(KINDS))
def index_of(request):
    """Makes an index over units of words with white space between them."""
    def make(units):
        return KINDS[request.param](units.items() if isinstance(units, dict) else units)
    return make


def test_each_word_of_these_tests_is_a_concept_of_its_own():
    assert len({concepts_of(phrase)[0] for phrase in PHRASES.values()}) == len(PHRASES)
    assert all(len(concepts_of(phrase)) == 1 for phrase in PHRASES.values())


def everything(index, query: str) -> str:
    """All that an index has to say about a query, as one string: equal strings are equal byte for byte."""
    return repr((index.search(query, k=None), [index.explain(query, f"u{number}") for number in range(8)]))


# --- order ----------------------------------------------------------------------------------------------------------

def test_results_stand_by_falling_score_and_equal_scores_by_id(index_of):
    for seed in SEEDS:
        results = index_of(random_units(seed)).search(random_query(seed), k=None)
        assert results == sorted(results, key=lambda row: (-row[1], row[0]))


def test_equal_units_score_equally_and_stand_in_id_order(index_of):
    units = {"ba": ["x", "y"], "ab": ["x", "y"], "B": ["y", "x"], "10": ["x", "y"], "9": ["x", "y"], "c": ["x", "z"]}
    *equal, _ = index_of(units).search("y x", k=None)
    assert [unit_id for unit_id, _ in equal] == ["10", "9", "B", "ab", "ba"]
    assert len({score for _, score in equal}) == 1


def test_ties_follow_code_points_not_utf16_units(index_of):
    units = {"\U00020bb7": ["x"], "\uff5e": ["x"]}   # U+FF5E is below U+20BB7, but above its first surrogate U+D842
    assert [unit_id for unit_id, _ in index_of(units).search("x")] == ["\uff5e", "\U00020bb7"]


def test_the_order_of_insertion_moves_nothing(index_of):
    for seed in SEEDS:
        units = list(random_units(seed).items())
        expected = everything(index_of(units), random_query(seed))
        random.Random(seed).shuffle(units)
        assert everything(index_of(units), random_query(seed)) == expected


def test_the_order_of_the_querys_words_moves_no_score(index_of):
    for seed in SEEDS:
        index = index_of(random_units(seed))
        words = random_query(seed).split()
        expected = index.search(" ".join(words), k=None)
        random.Random(seed).shuffle(words)
        assert index.search(" ".join(words), k=None) == expected


def test_the_order_of_a_units_words_moves_nothing(index_of):
    for seed in SEEDS:
        units = random_units(seed)
        turned = {unit_id: words[::-1] for unit_id, words in units.items()}
        assert everything(index_of(turned), random_query(seed)) == everything(index_of(units), random_query(seed))


def test_counted_terms_make_the_same_index_as_listed_ones(index_of):
    for seed in SEEDS:
        units = random_units(seed)
        counted = {unit_id: Counter(words) for unit_id, words in units.items()}
        assert everything(index_of(counted), random_query(seed)) == everything(index_of(units), random_query(seed))


def test_the_k_best_are_the_first_k_of_all(index_of):
    for seed in SEEDS:
        index = index_of(random_units(seed))
        everyone = index.search(random_query(seed), k=None)
        for k in range(1, 10):
            assert index.search(random_query(seed), k=k) == everyone[:k]


def test_five_results_are_returned_unless_asked_otherwise(index_of):
    assert len(index_of({f"u{at}": ["x"] for at in range(9)}).search("x")) == 5


@pytest.mark.parametrize("made", [
    "bm25.Bm25([(name, ['x', 'y', name]) for name in names], analyze=str.split)",
    "hashed.Hashed([(name, ['x', 'y', name]) for name in names], analyze=str.split)",
    "concepts.Concepts([(name, 'SSO Team 升级') for name in names])",
    "dense.Dense([(name, Counter(['x', 'y', name])) for name in names], lambda text: Counter(text.split()))"],
    ids=["bm25", "hashed", "concepts", "dense"])
def test_b050_tied_units_stand_alike_under_every_hash_seed(made):
    query = "Team SSO" if "Concepts" in made else "y x"
    program = ("from collections import Counter\nfrom rag_lab import bm25, concepts, dense, hashed\n"
               f"names = 'e', 'c', 'a', 'd', 'b'\nindex = {made}\n"
               f"print(index.search({query!r}), ascii([index.explain({query!r}, name) for name in 'abcde']))")
    first, *others = [output_under_hash_seed(program, seed) for seed in ("0", "1", "random")]
    assert first.startswith(b"[('a', ") and others == [first, first]


# --- the live set ---------------------------------------------------------------------------------------------------

def test_a_restricted_index_equals_one_that_never_held_the_rest(index_of):
    for seed in SEEDS:
        units, choose = random_units(seed), random.Random(seed)
        live = {unit_id: words for unit_id, words in units.items() if choose.random() < 0.6}
        restricted, fresh = index_of(units).over(live), index_of(live)
        assert everything(restricted, random_query(seed)) == everything(fresh, random_query(seed))


def test_restricting_step_by_step_equals_restricting_at_once(index_of):
    for seed in SEEDS:
        units = random_units(seed)
        index, live = index_of(units), sorted(units)
        for _ in range(len(units) // 2):
            live = live[1:]
            index = index.over(live)
        assert everything(index, random_query(seed)) == everything(index_of(units).over(live), random_query(seed))


def test_an_index_kept_from_before_a_deletion_still_answers_from_before(index_of):
    index = index_of({"a": ["x"], "b": ["x", "y"]})
    before = everything(index, "x y")
    assert [unit_id for unit_id, _ in index.over(["a"]).search("x y")] == ["a"]
    assert everything(index, "x y") == before


def test_a_hidden_unit_can_come_back(index_of):
    index = index_of({"u0": ["x"], "u1": ["x", "y"]})
    assert everything(index.over(["u0"]).over(["u1", "u0"]), "x y") == everything(index, "x y")


def test_unknown_live_ids_are_passed_over(index_of):
    index = index_of({"u0": ["x"], "u1": ["x", "y"]})
    assert everything(index.over(["u1", "nobody"]), "x") == everything(index.over(["u1"]), "x")


def test_the_live_set_may_come_in_any_form_and_order(index_of):
    index = index_of({"u0": ["x"], "u1": ["x", "y"], "u2": ["x"]})
    expected = everything(index.over(["u0", "u2"]), "x")
    for live in [("u2", "u0"), {"u0", "u2"}, {"u2": 1, "u0": 2}, frozenset({"u0", "u2"}), iter(["u2", "u0", "u2"])]:
        assert everything(index.over(live), "x") == expected


def test_a_live_set_that_was_changed_and_is_given_again_is_looked_at_again(index_of):
    live = {"u0", "u1"}
    view = index_of({"u0": ["x"], "u1": ["x"]}).over(live)
    live.remove("u0")
    assert [unit_id for unit_id, _ in view.over(live).search("x")] == ["u1"]


def test_nothing_is_found_where_nothing_is_live(index_of):
    index = index_of({"a": ["x"]}).over([])
    assert index.search("x") == [] and index.explain("x", "a") is None


def test_b100_hidden_units_that_rank_higher_use_up_no_places(index_of):
    units = {"a": ["x"], "b": ["x"], "c": ["x"], "z": ["x", "y", "y", "y"]}
    assert [unit_id for unit_id, _ in index_of(units).over(["z"]).search("x", k=3)] == ["z"]


# --- explanation ----------------------------------------------------------------------------------------------------

def test_an_explanations_parts_sum_to_the_score_that_search_returns(index_of):
    for seed in SEEDS:
        units, query = random_units(seed), random_query(seed)
        index = index_of(units)
        scores = dict(index.search(query, k=None))
        for unit_id in scores:
            told = index.explain(query, unit_id)
            parts = math.fsum(row["part"] for row in told.get("terms", told.get("features")))
            assert told["score"] == scores[unit_id]
            assert parts == pytest.approx(told["score"], abs=1e-12)


def test_a_unit_that_is_not_found_is_explained_with_a_score_of_zero_or_less(index_of):
    for seed in SEEDS:
        units, query = random_units(seed), random_query(seed)
        index = index_of(units)
        for unit_id in set(units) - {unit_id for unit_id, _ in index.search(query, k=None)}:
            assert index.explain(query, unit_id)["score"] <= 0


def test_a_unit_that_is_unknown_or_hidden_is_not_explained(index_of):
    index = index_of({"a": ["x"], "b": ["x"]}).over(["a"])
    assert index.explain("x", "b") is None and index.explain("x", "nobody") is None


# --- empty and odd inputs -------------------------------------------------------------------------------------------

def test_a_query_is_usable_when_it_holds_anything_to_look_for_whether_it_is_found_or_not(index_of):
    index = index_of({"a": ["x"]})
    assert index.usable("x") and index.usable("y") and not index.usable("") and not index.usable("  \n")


def test_an_empty_index_finds_nothing(index_of):
    assert index_of({}).search("x") == [] and index_of({}).explain("x", "a") is None


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_an_empty_query_finds_nothing_and_scores_zero(index_of, query):
    index = index_of({"a": ["x"], "b": []})
    assert index.search(query) == [] and index.explain(query, "a")["score"] == 0 == index.explain(query, "b")["score"]


def test_b034_empty_units_alone_are_never_found(index_of):
    index = index_of({"a": [], "b": [], "c": []})
    assert index.search("x") == [] and index.explain("x", "a")["score"] == 0


def test_b035_an_empty_unit_is_not_found_and_every_score_is_finite(index_of):
    results = index_of({"d1": [], "d2": ["合同", "编号"]}).search("合同")
    assert [unit_id for unit_id, _ in results] == ["d2"] and math.isfinite(results[0][1])


def test_b037_an_empty_unit_shifts_no_posting(index_of):
    (one, three) = index_of({"d1": ["quick", "a"], "d2": [], "d3": ["quick", "c"]}).search("quick")
    assert (one[0], three[0]) == ("d1", "d3") and one[1] == three[1] > 0


def test_every_score_is_positive_and_finite(index_of):
    for seed in SEEDS:
        for _, score in index_of(random_units(seed)).search(random_query(seed), k=None):
            assert 0 < score < math.inf


def test_b038_k_above_the_corpus_returns_what_there_is(index_of):
    assert len(index_of({"a": ["x"], "b": ["x"], "c": ["x"]}).search("x", k=50)) == 3


@pytest.mark.parametrize("k", [0, -1, 1.5, "5", True])
@pytest.mark.parametrize("query", ["x", ""])
def test_b038_k_below_one_or_no_number_is_a_usage_error(index_of, k, query):
    with pytest.raises(UsageError, match=f"k is {k!r}; it must be a whole number of at least 1"):
        index_of({"a": ["x"]}).search(query, k=k)


def test_a_repeated_query_word_counts_as_often_as_it_stands(index_of):
    index = index_of({"a": ["x"], "b": ["y"]})
    assert [unit_id for unit_id, _ in index.search("y x x")] == ["a", "b"]
    assert [unit_id for unit_id, _ in index.search("y x y")] == ["b", "a"]


# --- best_first, sorted_units ---------------------------------------------------------------------------------------

def test_best_first_orders_by_falling_score_then_by_id():
    assert best_first([("b", 1.0), ("a", 1.0), ("c", 2.0), ("d", -1.0)], None) == [
        ("c", 2.0), ("a", 1.0), ("b", 1.0), ("d", -1.0)]


def test_best_first_cuts_after_ordering():
    assert best_first([("b", 1.0), ("c", 2.0), ("a", 1.0)], 2) == [("c", 2.0), ("a", 1.0)]


def test_best_first_keeps_scores_apart_that_print_alike():
    assert best_first([("a", 0.12344), ("b", 0.12343999)], 1) == [("a", 0.12344)]


@pytest.mark.parametrize("k", [0, -3, 2.0, False])
def test_best_first_refuses_k_below_one(k):
    with pytest.raises(UsageError, match="at least 1"):
        best_first([], k)


def test_units_are_sorted_by_id_as_strings():
    assert sorted_units([("9", ["x"]), ("10", ["y"])]) == [("10", ["y"]), ("9", ["x"])]


@pytest.mark.parametrize("wrong", [4, None, b"4", ("4",), 4.0])
def test_b055_a_unit_id_that_is_no_string_is_refused(index_of, wrong):
    with pytest.raises(UsageError, match="is not a string"):
        index_of({"4": ["x"], wrong: ["x"]})


def test_a_unit_id_that_stands_twice_is_refused(index_of):
    with pytest.raises(UsageError, match="'a' stands twice"):
        index_of([("a", ["x"]), ("b", []), ("a", ["y"])])
