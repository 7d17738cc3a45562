"""Shards: any number of them, however the units are dealt out, rank as one index does, bit for bit."""
import itertools
import json
import math
import pickle
import random

import pytest

from rag_lab import UsageError, bounds, listed, topk
from rag_lab.bm25 import Bm25
from rag_lab.hashed import Hashed
from rag_lab.shards import Statistics, index_of, merged, merged_top_k, statistics, top_k
from support import document, lab_of, random_query, random_units

SEEDS = range(200)


def index(units, live=None, **settings) -> Bm25:
    """An index over units of words with white space between them, of all of them or of a live set."""
    made = Bm25(dict(units).items(), analyze=str.split, **settings)
    return made if live is None else made.over(live)


def splits(units: dict, seed: int) -> list[list[dict]]:
    """The units dealt out by chance into 1, 2, ... shards, up to one more than there are units: some are empty."""
    choose, found = random.Random(seed), []
    for count in range(1, len(units) + 2):
        shards = [{} for _ in range(count)]
        for unit_id in units:
            choose.choice(shards)[unit_id] = units[unit_id]
        found.append(shards)
    return found


def sharded(shards: list[Bm25], query: str, k: int | None, whole: Statistics | None = None) -> str:
    """What the shards return together, as a string: equal strings are equal bit for bit."""
    if whole is None:
        whole = merged(*(statistics(shard, query.split()) for shard in shards))
    return repr(merged_top_k([top_k(shard, whole, query, k) for shard in shards], k))


def one(index, query: str, k: int | None) -> str:
    return repr(index.search(query, k))


def some(units: dict, seed: int) -> list[str]:
    """About half of the unit ids."""
    choose = random.Random(seed)
    return [unit_id for unit_id in units if choose.random() < 0.5]


# --- the same as one index ------------------------------------------------------------------------------------------

def test_shards_worked_out_by_hand():
    a, b = index({"d1": ["x", "y"]}), index({"d2": ["x", "z", "z", "z"], "d3": []})
    whole = merged(statistics(a, ["x"]), statistics(b, ["x"]))
    assert whole == Statistics(3, 6, {"x": 2})   # avgdl 6 / 3 = 2
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    assert top_k(a, whole, "x") == [("d1", pytest.approx(idf))]                       # of average length: it counts 1
    assert top_k(b, whole, "x") == [("d2", pytest.approx(idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 4 / 2))))]
    assert dict(a.search("x")) != dict(top_k(a, whole, "x"))                          # alone, its idf would be another


@pytest.mark.parametrize("k1, b", [(1.2, 0.75), (0, 0.5), (2.0, 0.0), (1.2, 1.0)])
def test_any_shards_return_what_one_index_returns(k1, b):
    for seed in SEEDS:
        units, query = random_units(seed), random_query(seed)
        whole = index(units, k1=k1, b=b)
        for shards in splits(units, seed):
            parts = [index(shard, k1=k1, b=b) for shard in shards]
            for k in (1, 3, len(units) + 2, None):
                assert sharded(parts, query, k) == one(whole, query, k)


@pytest.mark.parametrize("few_terms, few_units", [(6, 4), (0, 4), (6, 1 << 14)], ids=["split", "add_up", "small"])
def test_they_do_so_too_where_the_rest_is_never_scored(monkeypatch, few_terms, few_units):
    monkeypatch.setattr(listed, "FEW_POSTINGS", 0)
    monkeypatch.setattr(bounds, "FEW_TERMS", few_terms)
    monkeypatch.setattr(topk, "PIECE", few_units)
    for seed in SEEDS[:40]:
        choose = random.Random(seed)
        units = {f"u{at:02}": choose.choices("abcde", k=choose.randint(0, 5)) for at in range(40)}
        query, whole = random_query(seed), index(units)
        for shards in splits(units, seed)[:5]:
            parts = [index(shard) for shard in shards]
            for k in (1, 7, 60):
                assert sharded(parts, query, k) == one(whole, query, k)


def test_the_order_of_the_shards_moves_nothing():
    for seed in SEEDS:
        units, query = random_units(seed), random_query(seed)
        expected = one(index(units), query, 3)
        parts = [index(shard) for shard in splits(units, seed)[min(2, len(units))]]
        assert {sharded(list(order), query, 3) for order in itertools.permutations(parts)} == {expected}


def test_ties_over_the_borders_of_shards_stand_in_id_order():
    units = {unit_id: ["x"] for unit_id in ("b", "d", "a", "c", "B")}
    shards = [index({unit_id: ["x"]}) for unit_id in units]
    assert sharded(shards, "x", 3) == one(index(units), "x", 3)
    assert [unit_id for unit_id, _ in index(units).search("x", 3)] == ["B", "a", "b"]


def test_hidden_units_of_a_shard_move_nothing():
    for seed in SEEDS:
        units, query = random_units(seed), random_query(seed)
        live = some(units, seed)
        never_held = index({unit_id: units[unit_id] for unit_id in live})
        for shards in splits(units, seed):
            parts = [index(shard, [unit_id for unit_id in live if unit_id in shard]) for shard in shards]
            assert sharded(parts, query, 4) == one(index(units, live), query, 4) == one(never_held, query, 4)


def test_explained_scores_are_those_of_one_index():
    for seed in SEEDS:
        units, query = random_units(seed), random_query(seed)
        whole, counted = index(units), statistics(index(units), query.split())
        for shard in splits(units, seed)[-1]:
            view = index(shard).under(counted)
            assert repr([view.explain(query, unit_id) for unit_id in shard]) == repr(
                [whole.explain(query, unit_id) for unit_id in shard])


def test_statistics_of_the_whole_vocabulary_serve_every_query():
    for seed in SEEDS:
        units = random_units(seed)
        parts = [index(shard) for shard in splits(units, seed)[min(2, len(units))]]
        whole = merged(*map(statistics, parts))
        assert whole == statistics(index(units))
        for query in (random_query(seed), random_query(seed + 1), "z"):
            assert sharded(parts, query, 3, whole) == one(index(units), query, 3)


def test_a_cosine_needs_no_statistics():
    for seed in SEEDS:
        units, query = random_units(seed), random_query(seed)
        expected = one(Hashed(units.items(), str.split), query, 3)
        for shards in splits(units, seed):
            parts = [Hashed(shard.items(), str.split) for shard in shards]
            assert repr(merged_top_k([part.search(query, 3) for part in parts], 3)) == expected


# --- statistics -----------------------------------------------------------------------------------------------------

def test_statistics_are_counts_of_the_live_units():
    made = index({"a": ["x", "x", "y"], "b": [], "c": ["z", "x"]})
    assert statistics(made) == Statistics(3, 5, {"x": 2, "y": 1, "z": 1})
    assert statistics(made.over(["a", "b"])) == Statistics(2, 3, {"x": 1, "y": 1})


def test_statistics_of_some_terms_hold_these_alone_and_zeros_too():
    made = index({"a": ["x", "x", "y"], "c": ["z", "x"]}, live=["a"])
    assert repr(statistics(made, ["z", "x", "x", "q"])) == "Statistics(n=1, total_tokens=3, df={'q': 0, 'x': 1, 'z': 0})"


def test_statistics_merge_by_addition_in_any_order_and_grouping():
    for seed in SEEDS:
        parts = [statistics(index(random_units(seed + 1000 * at))) for at in range(3)]
        together = repr(merged(*parts))
        assert all(repr(merged(*order)) == together for order in itertools.permutations(parts))
        assert repr(merged(merged(*parts[:2]), parts[2])) == repr(merged(parts[0], merged(*parts[1:]))) == together


def test_no_shards_count_nothing_and_add_nothing():
    part = Statistics(2, 3, {"x": 1})
    assert merged() == statistics(index({})) == Statistics(0, 0, {}) and merged(part, merged()) == part
    assert merged_top_k([], 3) == top_k(index({}), part, "x") == []


def test_statistics_travel_as_pickle_and_as_json():
    part = Statistics(2, 3, {"退款": 1})
    back = pickle.loads(pickle.dumps(part))
    assert back == part == Statistics(*json.loads(json.dumps(part))) and type(back) is Statistics


@pytest.mark.parametrize("row, says", [
    ((-1, 0, {}), "n is -1"), ((1, -1, {}), "total_tokens is -1"), ((1, 1, {"x": -1}), "df of 'x' is -1"),
    ((2, 9, {"x": 3}), "df of 'x' is 3, but n is 2"), ((1.0, 1, {}), "n is 1.0"), ((True, 1, {}), "n is True"),
    ((1, 1, {"x": 0.5}), "df of 'x' is 0.5")])
def test_statistics_that_cannot_be_counts_are_refused(row, says):
    with pytest.raises(UsageError, match=says):
        Statistics(*row)


# --- ranking under given statistics ---------------------------------------------------------------------------------

UNITS = {"a": ["x", "y"], "b": ["x"], "c": ["z"]}


def test_ranking_under_its_own_statistics_changes_nothing():
    for seed in SEEDS:
        made, query = index(random_units(seed)), random_query(seed)
        assert one(made.under(statistics(made)), query, None) == one(made, query, None)


def test_a_view_under_other_statistics_leaves_the_index_as_it_was():
    made = index(UNITS)
    before = one(made, "x y", None), made.n, made.avgdl, made.idf("x"), made.known(["q", "x"])
    view = made.under(Statistics(10, 30, {"x": 5, "y": 1, "q": 2}))
    assert (view.n, view.total_tokens, view.avgdl, view.df("x")) == (10, 30, 3.0, 5)
    assert view.known(["q", "x"]) == ["q", "x"] and one(view, "x y", None) != before[0]
    assert (one(made, "x y", None), made.n, made.avgdl, made.idf("x"), made.known(["q", "x"])) == before


def test_a_live_set_and_statistics_may_be_given_in_either_order():
    whole = Statistics(10, 30, {"x": 5, "y": 1})
    made, live = index(UNITS), ("a", "c")
    first, then = made.over(live).under(whole), made.under(whole).over(live)
    assert one(first, "x y", None) == one(then, "x y", None) == one(first.over(live), "x y", None)
    assert [unit_id for unit_id, _ in first.search("x y")] == ["a"]


def test_a_live_set_that_could_be_read_once_only_is_kept():
    view = index(UNITS).over(iter(["a", "c"])).under(Statistics(2, 3, {"x": 1}))
    assert [unit_id for unit_id, _ in view.search("x")] == ["a"]


def test_statistics_that_leave_out_the_shard_itself_are_refused():
    with pytest.raises(UsageError, match="n is 2 in the statistics, but 3 in this index alone; merge"):
        index(UNITS).under(Statistics(2, 4, {"x": 2}))
    with pytest.raises(UsageError, match="total_tokens is 3 in the statistics, but 4 in this index alone; merge"):
        index(UNITS).under(Statistics(3, 3, {"x": 2}))
    with pytest.raises(UsageError, match="df of 'y' is 0 in the statistics, but 1 in this index alone; merge"):
        top_k(index(UNITS), Statistics(3, 4, {"x": 2}), "x y")


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_a_k_below_one_is_refused(k):
    with pytest.raises(UsageError, match="k is .*at least 1"):
        merged_top_k([[("a", 1.0)]], k)


def test_a_unit_of_two_shards_is_refused():
    with pytest.raises(UsageError, match="'a' comes from two shards"):
        merged_top_k([[("a", 1.0)], [("b", 2.0), ("a", 1.0)]], 1)


def test_merging_some_rankings_first_changes_nothing():
    rankings = [[("b", 2.0), ("d", 1.0)], [("a", 2.0), ("e", 0.5)], [["c", 3.0]]]
    assert merged_top_k([merged_top_k(rankings[:2], 2), rankings[2]], 2) == merged_top_k(rankings, 2) == [
        ("c", 3.0), ("a", 2.0)]


# --- shards of documents --------------------------------------------------------------------------------------------

def test_shards_of_the_live_documents_rank_as_the_lab_does_after_a_deletion_and_with_hidden_ones():
    documents = [document("a", "退款 到账"), document("b", "退款 退款"), document("c", "退款 多久"), document("d", "到账"),
                 document("e", "退款 到账 到账", roles=("other",)), document("f", "退款", status="withdrawn")]
    lab = lab_of(*documents)
    lab.delete("b")
    live = list(lab.docs.values())
    assert [one.doc_id for one in live] == ["a", "c", "d"]
    for cut in range(4):
        shards = [index_of(live[:cut]), index_of(live[cut:])]
        whole = merged(*(statistics(shard, ["退款", "到账"]) for shard in shards))
        assert whole == Statistics(3, 5, {"到账": 2, "退款": 2})
        best = merged_top_k([top_k(shard, whole, "退款 到账", 3) for shard in shards], 3)
        assert repr(best) == one(lab.bm25, "退款 到账", 3)
