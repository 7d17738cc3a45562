"""What an index over posting lists returns: each way of searching against a plain scorer, bit by bit, on random corpora."""
import math
import random
from collections import Counter

import pytest

from rag_lab import UsageError, listed, topk
from rag_lab.bm25 import Bm25
from support import WAYS, by_every_way, ranked, search_by

SETTINGS = [(1.2, 0.75), (0, 0.5), (1.2, 0.0), (1.2, 1.0), (1.2, 1e-12), (1.2, 1e-20), (1e9, 0.75), (1e-300, 1e-300), (5e-324, 0.4),
            (1e100, 1.0)]
SHAPES = ["any", "any", "of one length", "one word each", "all equal", "a word in all", "some empty", "some huge"]


def random_corpus(choose: random.Random) -> dict[str, list[str]]:
    """Unit id -> its words, the first letters more often than the others. The ids say nothing about the lengths."""
    shape, longest = choose.choice(SHAPES), choose.choice([2, 6, 30])
    shortest = {"of one length": longest, "some empty": 0}.get(shape, 1)
    letters = "abcdefghijklmnop"[:choose.choice([2, 5, 16])]
    texts = [choose.choices(letters, range(len(letters), 0, -1), k=choose.randint(shortest, longest))
             for _ in range(choose.randint(1, 60))]
    if shape == "one word each":
        texts = [words[:1] for words in texts]
    if shape == "all equal":
        texts = texts[:1] * len(texts)
    if shape == "a word in all":
        texts = [["a", *words] for words in texts]
    if shape == "some huge":
        texts = [words * choose.choice([1, 1, 1, 300]) for words in texts]
    names = choose.sample(range(1000), len(texts))
    return {f"u{name:03}": words for name, words in zip(names, texts)}


def random_words(choose: random.Random) -> str:
    """One to 40 words, some of which no unit holds; now and then one word many times."""
    words = choose.choices("abcdefghijklmnopz", k=choose.choice([1, 1, 2, 3, 6, 40]))
    return " ".join(words + words[:1] * choose.choice([0, 0, 0, 1, 14, 15, 40]))


def live_sets(choose: random.Random, ids: list[str]) -> list[list[str] | None]:
    """All, none, one, one in ten, all but one."""
    return [None, [], [choose.choice(ids)], [one for one in ids if choose.random() < 0.1], ids[1:]]


def plain_scores(units: dict[str, list[str]], query: list[str], k1: float, b: float) -> dict[str, float]:
    """Unit id -> BM25, from the formula, rounded once where the parts are summed."""
    tfs = {unit_id: Counter(words) for unit_id, words in units.items()}
    n, tokens = len(units), sum(map(len, units.values()))
    scores = {}
    for unit_id, words in units.items():
        parts = []
        for term, count in Counter(query).items():
            if tf := tfs[unit_id][term]:
                df = sum(term in one for one in tfs.values())
                weight = count * math.log(1 + (n - df + 0.5) / (df + 0.5))
                parts.append(weight * (tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(words) / (tokens / n)))))
        if parts:
            scores[unit_id] = math.fsum(parts)
    return scores


# --- every way of searching gives the same scores and the same order -----------------------------------------------------

@pytest.mark.parametrize("seed", range(90))
def test_every_way_of_searching_equals_a_plain_scorer(seed, monkeypatch):
    choose = random.Random(seed)
    units, (k1, b) = random_corpus(choose), SETTINGS[seed % len(SETTINGS)]
    queries, lives = [random_words(choose) for _ in range(3)], live_sets(choose, sorted(units))
    for index in by_every_way(monkeypatch, lambda: Bm25(units.items(), k1=k1, b=b, analyze=str.split)):
        for live in lives:
            view = index if live is None else index.over(live)
            for query in queries:
                taking_part = {one: units[one] for one in (units if live is None else live)}
                expected = ranked(plain_scores(taking_part, query.split(), k1, b))
                assert view.search(query, None) == expected
                for k in (1, 2, 3, 10, 1000):
                    assert view.search(query, k) == expected[:k]


@pytest.mark.parametrize("repeats", range(1, 41))
def test_a_term_may_stand_in_the_query_any_number_of_times(repeats, monkeypatch):
    units = {f"u{at:02}": ["a"] * (at % 4 + 1) + ["b"] * (at % 3) for at in range(30)}
    query = ["a"] * repeats + ["b"]
    expected = ranked(plain_scores(units, query, 1.2, 0.75))
    for index in by_every_way(monkeypatch, lambda: Bm25(units.items(), analyze=str.split)):
        assert index.search(" ".join(query), 3) == expected[:3]


def test_units_that_tie_stand_in_id_order_wherever_their_blocks_are(monkeypatch):
    units = {f"u{at:02}": ["a"] * (at % 3 + 1) for at in range(30)}     # with k1 = 0, neither tf nor length counts
    for index in by_every_way(monkeypatch, lambda: Bm25(units.items(), k1=0, analyze=str.split)):
        assert [unit_id for unit_id, _ in index.search("a", 7)] == [f"u{at:02}" for at in range(7)]


@pytest.mark.parametrize("way", WAYS)
def test_a_query_of_more_terms_than_rows_can_tell_apart_is_answered_all_the_same(way, monkeypatch):
    monkeypatch.setattr(listed, "MOST_TERMS", 3)
    search_by(monkeypatch, way)
    units = {f"u{at:02}": list("abcde"[:at % 5 + 1]) for at in range(30)}
    index = Bm25(units.items(), analyze=str.split)
    for query in ("a b c", "a b c d", "a b c d e z"):
        assert index.search(query, 4) == ranked(plain_scores(units, query.split(), 1.2, 0.75))[:4]


# --- which way is taken -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("way, query, taken", [
    ("split", "a b", ["split"]),
    ("add up", "a b", ["add_up"]),
    ("one by one", "a b", []),
    ("split", " ".join("a" * 15), ["split"]),
    ("split", " ".join("a" * 16), []),        # more than MOST_REPEATS
    ("add up", "z", []),                      # no unit holds it
])
def test_the_way_that_is_asked_for_is_taken(way, query, taken, monkeypatch):
    search_by(monkeypatch, way)
    seen = []
    for method in (topk.split, topk.add_up):
        monkeypatch.setattr(topk, method.__name__,
                            lambda *given, method=method: seen.append(method.__name__) or method(*given))
    index = Bm25([(f"u{at}", ["a", "b"]) for at in range(20)], analyze=str.split)
    assert len(index.search(query, 3)) == (0 if query == "z" else 3) and seen == taken


# --- the edges ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("way", WAYS)
def test_where_nothing_is_live_or_holds_a_term_nothing_is_found(way, monkeypatch):
    search_by(monkeypatch, way)
    for units in ([], [("a", [])], [("a", []), ("b", [])], [("a", ["x"])]):
        index = Bm25(units, analyze=str.split)
        assert index.search("", 3) == index.search("z z y", 3) == index.over([]).search("x", 3) == []
        assert index.over(["nobody"]).search("x", None) == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("query", ["", "z", "x"])
@pytest.mark.parametrize("k", [0, -1, 1.0, True, "3"])
def test_a_k_that_is_no_whole_number_of_at_least_1_is_refused_whatever_the_query(k, query, way, monkeypatch):
    search_by(monkeypatch, way)
    with pytest.raises(UsageError, match="k is .*at least 1"):
        Bm25([("a", ["x"]), ("b", ["x"])], analyze=str.split).search(query, k)


@pytest.mark.parametrize("way", WAYS)
def test_what_it_tells_of_terms_is_of_the_live_units(way, monkeypatch):
    search_by(monkeypatch, way)
    index = Bm25([("a", ["x", "x"]), ("b", ["x"]), ("c", ["y"])], analyze=str.split)
    part = index.over(["a", "c"])
    assert (index.df("x"), part.df("x"), part.df("z")) == (2, 1, 0)
    assert [index.live_position(one) is None for one in "abcd"] == [False, False, False, True]
    assert [part.live_position(one) is None for one in "abcd"] == [False, True, False, True]
    assert part.posting("x") == {part.live_position("a"): 2} and part.times("x", part.live_position("a")) == 2
    assert part.times("x", part.live_position("c")) == 0
