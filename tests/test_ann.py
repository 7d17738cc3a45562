"""The approximate search lab: the chapter's graph, each index against the exact scan, budgets, filters, the report."""
import doctest
import hashlib
import importlib
import math
import os
import random
import subprocess
import sys

import pytest

from rag_lab.ann.binary import Codes, plane_signs, projections
from rag_lab.ann.filters import measure_filters, one_in, partition, search_filtered
from rag_lab.ann.graph import Graph, level_of, spread, walk
from rag_lab.ann.line import line_walks
from rag_lab.ann.lists import Lists, nearest_centres, scaled, spherical_k_means
from rag_lab.ann.report import Options, Question, Subject, report
from rag_lab.ann.space import Exact, Lazy, Space, agreement, chance, nearness, rank
from rag_lab.ann.subject import subject_of
from rag_lab.errors import UsageError
from rag_lab.files import canonical_json
from rag_lab.hashed import Hashed, embed

SEEDS = range(12)
every_seed = pytest.mark.parametrize("seed", SEEDS)
BUILDERS = {"exact": Exact, "hnsw": lambda one: Graph(one, m=2, ef_construction=4), "ivf": Lists, "binary": Codes,
            "binary-plain": lambda one: Codes(one, rotated=False)}
every_index = pytest.mark.parametrize("name", BUILDERS)
ALL = 10_000   # a budget larger than any space here


def random_vector(choose: random.Random) -> dict[int, int]:
    """Up to four of eight buckets, small weights of both signs: many ties, equal directions, now and then empty."""
    places = sorted(choose.sample(range(8), choose.randint(0, 4)))
    return {place: choose.choice((-2, -1, 1, 1, 2)) for place in places}


def random_space(seed: int, least: int = 0, most: int = 60) -> Space:
    choose = random.Random(seed)
    return Space((f"u{number}", random_vector(choose)) for number in range(choose.randint(least, most)))


def random_queries(seed: int, count: int = 6) -> list[dict[int, int]]:
    choose = random.Random(-seed - 1)
    return [vector for vector in (random_vector(choose) for _ in range(2 * count)) if vector][:count]


def plain_cosine(one: dict, other: dict) -> float:
    dot = sum(one.get(place, 0) * other.get(place, 0) for place in range(512))
    return dot / math.hypot(*one.values()) / math.hypot(*other.values())


# --- the chapter's graph: the worked example of a graph search that misses the nearest point --------------

def test_the_chapters_greedy_walk_stops_at_a_because_b_is_farther():
    greedy = line_walks()[0]
    assert (greedy["visited"], greedy["found"], greedy["distance"], greedy["is_nearest"]) == (["A", "B"], "A", 4, False)


def test_the_chapters_walk_that_keeps_b_for_a_while_finds_c_at_distance_1():
    wider = line_walks()[1]
    assert (wider["visited"], wider["found"], wider["distance"], wider["is_nearest"]) == (["A", "B", "C"], "C", 1, True)


def test_the_chapters_graph_is_exhausted_at_width_3():
    assert line_walks()[2]["kept"] == ["C", "A", "B"]   # distances 1, 4, 5


# --- the walk ---------------------------------------------------------------------------------------------------------

def random_links(seed: int, size: int) -> dict[int, list[int]]:
    choose = random.Random(seed)
    return {node: sorted(choose.sample(range(size), min(size, 3))) for node in range(size)}


@every_seed
def test_a_wider_walk_begins_with_the_visits_of_a_narrower_one(seed):
    size, choose = 40, random.Random(seed)
    values, links = [choose.randint(0, 9) for _ in range(size)], random_links(seed, size)
    visits = []
    for width in range(1, size + 1):
        near = Lazy(values.__getitem__)
        walk([0], links, near, width)
        visits.append(list(near))
    assert all(wide[:len(narrow)] == narrow for narrow, wide in zip(visits, visits[1:]))


@every_seed
def test_a_walk_that_keeps_only_some_returns_the_best_of_them_when_it_is_wide_enough(seed):
    size, choose = 30, random.Random(seed)
    values, links = [choose.randint(0, 9) for _ in range(size)], random_links(seed, size)
    reached = [node for node, _ in walk([0], links, values, size)]
    wanted = frozenset(range(0, size, 3))
    expected = sorted((node for node in reached if node in wanted), key=lambda node: (-values[node], node))
    assert [node for node, _ in walk([0], links, values, size, wanted)] == expected
    assert [node for node, _ in walk([0], links, values, len(expected), wanted)] == expected or not expected


def test_equal_nodes_of_a_walk_stand_in_their_order():
    assert walk([2], {0: [], 1: [0], 2: [1]}, [5, 5, 5], 3) == [(0, 5), (1, 5), (2, 5)]


# --- nearness, ranking, recall ----------------------------------------------------------------------------------------

@every_seed
def test_nearness_is_the_signed_square_of_the_cosine(seed):
    one = random_space(seed)
    for query in random_queries(seed):
        gauge = one.gauge(query)
        for at in one.placed:
            cosine = plain_cosine(query, one.vector(at))
            assert gauge[at] == pytest.approx(cosine * abs(cosine), abs=1e-12)


def test_equal_directions_tie_exactly_whatever_their_lengths():
    one = Space([(f"u{length}", {3: length, 7: -length}) for length in range(1, 40)])
    assert {one.gauge({3: 1, 5: 1})[at] for at in one.placed} == {nearness(1, 2, 2)} == {0.25}


def test_a_unit_asked_twice_is_touched_once():
    gauge = Space([("a", {1: 1}), ("b", {2: 1})]).gauge({1: 1})
    assert (gauge[0], gauge[0], gauge[1], len(gauge)) == (1.0, 1.0, 0.0, 2)


@every_seed
def test_the_exact_scan_ranks_as_the_labs_hashed_index_does(seed):
    choose = random.Random(seed)
    units = [(f"u{number}", [choose.choice("abcdefgh") for _ in range(choose.randint(0, 6))]) for number in range(40)]
    index = Hashed(units, analyze=str.split)
    one = Space((unit_id, embed(words)) for unit_id, words in units)
    for query in ("a b", "c", "d e f a", "h h g"):
        ranked = Exact(one).search(one.gauge(embed(query.split())), 10)
        found = index.search(query, 10)
        assert [one.ids[at] for at, _ in ranked] == [unit_id for unit_id, _ in found]
        assert [math.sqrt(near) for _, near in ranked] == pytest.approx([score for _, score in found])


def test_what_points_away_or_nowhere_is_no_answer():
    one = Space([("away", {1: -1}), ("empty", {}), ("square", {2: 1}), ("same", {1: 2})])
    assert [one.ids[at] for at, _ in Exact(one).search(one.gauge({1: 1}), 10)] == ["same"]
    assert [one.ids[at] for at in one.placed] == ["away", "same", "square"]


def test_recall_counts_a_unit_that_ties_with_the_last_of_the_truth():
    truth = [(0, 0.9), (1, 0.5)]
    assert agreement([(0, 0.9), (8, 0.5)], truth) == 1.0
    assert agreement([(8, 0.5), (9, 0.5), (7, 0.5)], truth) == 1.0   # never more than all
    assert agreement([(8, 0.5), (8, 0.5)], truth) == 1 / 2           # a unit given twice is one unit
    assert agreement([(0, 0.9), (8, 0.4)], truth) == 1 / 2
    assert agreement([], truth) == 0.0 and agreement([(0, 0.9)], []) is None


def test_chance_is_the_same_in_every_process_and_differs_by_seed_purpose_and_key():
    values = [chance(1, "a", "x"), chance(2, "a", "x"), chance(1, "b", "x"), chance(1, "a", "y")]
    assert len(set(values)) == 4 and all(0 <= value < 2 ** 64 for value in values)
    assert chance(1, "a", "x") == int.from_bytes(hashlib.blake2b(b"1:a:x", digest_size=8).digest(), "big")


# --- every index ------------------------------------------------------------------------------------------------------

@every_index
@every_seed
def test_with_a_budget_for_all_every_index_is_the_exact_scan(name, seed):
    one = random_space(seed)
    index = BUILDERS[name](one)
    for query in random_queries(seed):
        for k in (1, 3, 100):
            assert index.search(one.gauge(query), k, ALL) == Exact(one).search(one.gauge(query), k)


@every_index
@every_seed
def test_more_budget_never_touches_fewer_units_and_never_finds_less(name, seed):
    one = random_space(seed, 20)
    index = BUILDERS[name](one)
    for query in random_queries(seed):
        truth, rows, touched = Exact(one).search(one.gauge(query), 3), [], []
        for budget in (1, 2, 3, 4, 6, 8, 12, 20, 60):
            gauge = one.gauge(query)
            rows.append(agreement(index.search(gauge, 3, budget), truth) or 0.0)
            touched.append(len(gauge))
        assert rows == sorted(rows) and touched == sorted(touched)


@every_index
@every_seed
def test_a_filter_never_lets_a_hidden_unit_out_and_before_the_search_never_looks_at_one(name, seed):
    one = random_space(seed)
    index, live = BUILDERS[name](one), one_in(one, 3, seed)
    for query in random_queries(seed):
        for mode in ("pre", "over-fetch", "post", *(["through"] if hasattr(index, "search_through") else [])):
            gauge = one.gauge(query)
            found = search_filtered(mode, index, gauge, 4, 3, live)
            assert len(found) <= 4 and all(at in live for at, _ in found)
            assert mode != "pre" or all(at in live for at in gauge)


@pytest.mark.parametrize("name", ["exact", "ivf", "binary", "binary-plain"])
@every_seed
def test_a_filter_before_the_search_with_a_budget_for_all_is_the_exact_scan_of_the_live_units(name, seed):
    one = random_space(seed)
    index, live = BUILDERS[name](one), one_in(one, 3, seed)
    for query in random_queries(seed):
        assert index.search(one.gauge(query), 5, ALL, live) == Exact(one).search(one.gauge(query), 5, live=live)


@every_seed
def test_a_walk_through_hidden_units_with_a_budget_for_all_finds_all_live_ones(seed):
    one = random_space(seed)
    live = one_in(one, 3, seed)
    for query in random_queries(seed):
        found = BUILDERS["hnsw"](one).search_through(one.gauge(query), 5, ALL, live)
        assert found == Exact(one).search(one.gauge(query), 5, live=live)


@every_index
@every_seed
def test_the_order_in_which_units_come_changes_nothing(name, seed):
    one = random_space(seed)
    units = [(unit_id, one.vector(at)) for at, unit_id in enumerate(one.ids)]
    random.Random(seed).shuffle(units)
    other = Space(units)
    for query in random_queries(seed):
        ranked = [BUILDERS[name](this).search(this.gauge(query), 5, 3) for this in (one, other)]
        assert ranked[0] == ranked[1]


@every_index
@every_seed
def test_a_partition_answers_byte_for_byte_as_if_the_hidden_units_did_not_exist(name, seed):
    one = random_space(seed)
    live = one_in(one, 3, seed)
    absent = Space([(unit_id, one.vector(at)) for at, unit_id in enumerate(one.ids) if at in live])
    own = partition(one, live)
    for query in random_queries(seed):
        found = [(BUILDERS[name](this).search(this.gauge(query), 5, 3), this.ids) for this in (own, absent)]
        assert found[0] == found[1]


@every_index
@pytest.mark.parametrize("units", [[], [("a", {})], [("a", {}), ("b", {})], [("a", {1: 1})]],
                         ids=["none", "zero", "zeros", "one"])
def test_hardly_anything_to_search(name, units):
    one = Space(units)
    found = BUILDERS[name](one).search(one.gauge({1: 2}), 3, 3)
    assert found == ([(0, 1.0)] if units == [("a", {1: 1})] else [])


# --- the graph --------------------------------------------------------------------------------------------------------

def test_one_unit_in_sixteen_stands_a_layer_higher():
    values = range(0, 2 ** 64, 2 ** 52)                      # 4096 values, evenly
    counts = [sum(level_of(value, 16) >= level for value in values) for level in range(4)]
    assert counts == [4096, 256, 16, 1]                      # 16^3, 16^2, 16, 1


def test_neighbours_are_spread_over_directions():
    """The newcomer (10, 12) has |.|^2 = 244; "north2" and "north" are nearest to it, and far nearer to each other.

    north2 (1, 10): 130^2 / (244 x 101) = 0.69; north (0, 10): 120^2 / (244 x 100) = 0.59;
    east (9, 1): 102^2 / (244 x 82) = 0.52. north to north2: 100^2 / (100 x 101) = 0.99 > 0.59, passed over;
    east to north2: 19^2 / (82 x 101) = 0.04 < 0.52, chosen.
    """
    one = Space([("east", {0: 9, 1: 1}), ("north", {1: 10}), ("north2", {0: 1, 1: 10})])
    ranked = rank(one.gauge({0: 10, 1: 12}), one.placed, 3)
    assert [one.ids[at] for at, _ in ranked] == ["north2", "north", "east"]
    assert [one.ids[at] for at, _ in spread(one, ranked, 2)] == ["north2", "east"]
    assert [one.ids[at] for at, _ in spread(one, ranked, 3)] == ["north2", "east", "north"]   # passed over, but wanted


@every_seed
def test_no_unit_has_more_links_than_its_layer_allows_unless_mended(seed):
    index = Graph(random_space(seed, 30), m=3, ef_construction=6)
    most = [max(map(len, layer.values())) for layer in index.layers]
    assert most[0] <= 6 + index.mended and all(count <= 3 for count in most[1:])


def test_a_unit_that_no_walk_can_reach_is_mended():
    index = Graph(random_space(3, 30), m=3, ef_construction=6)
    lost = next(at for at in index.order if at != index.entry)
    index.layers[0][lost].clear()
    for links in index.layers[0].values():
        links.pop(lost, None)
    assert index._mend() >= 1
    assert lost in [node for node, _ in walk([index.entry], index.layers[0], [0.0] * 100, ALL)]


def test_links_cost_four_bytes_each_beside_the_vectors():
    index = Graph(Space([("a", {1: 1}), ("b", {1: 1, 2: 1})]))
    assert index.bytes == 3 * 4 + 2 * 4 and index.links == 2   # three pairs; a to b, b to a


# --- inverted lists ---------------------------------------------------------------------------------------------------

def test_k_means_finds_two_directions():
    one = Space([(f"e{n}", {0: 10, 1: n}) for n in range(5)] + [(f"n{n}", {1: 10, 0: n}) for n in range(5)])
    centres = spherical_k_means(one, [0, 1, *range(2, 10)], 2, 5)   # begins with two from the east
    homes = nearest_centres(one, one.placed, centres)
    assert len(set(homes[:5])) == len(set(homes[5:])) == 1 and homes[0] != homes[5]


def test_scaled_vectors_have_one_length():
    assert scaled({4: 7}) == {4: 4096} and scaled({1: 3, 2: 4}) == {1: round(4096 * 3 / 5), 2: round(4096 * 4 / 5)}


@every_seed
def test_every_placed_unit_stands_in_one_list_and_no_empty_one_in_any(seed):
    one = random_space(seed)
    assert sorted(at for members in Lists(one).lists for at in members) == list(one.placed)


@every_seed
def test_a_probed_list_is_looked_at_whole_and_no_other(seed):
    one = random_space(seed, 20)
    index = Lists(one)
    for query in random_queries(seed):
        gauge = one.gauge(query)
        index.search(gauge, 3, 2)
        assert sorted(gauge) == sorted(at for number in index.probed(query, 2) for at in index.lists[number])


# --- binary codes -----------------------------------------------------------------------------------------------------

def test_the_plain_code_holds_where_weights_are_above_0():
    index = Codes(Space([("a", {0: 2, 1: -1, 511: 1})]), rotated=False)
    assert index.codes == {0: 2 ** 511 + 1}


def test_a_plane_has_as_good_as_as_many_buckets_on_one_side_as_on_the_other():
    for feature in (0, 1, 511):   # 512 tosses: 256 expected, standard deviation sqrt(512) / 2 = 11.3
        assert abs(plane_signs(feature, 1).count(1) - 256) < 57


def test_projections_are_sums_of_weights_and_signs():
    signs = {1: (1,) * 512, 2: (1, -1) * 256}
    assert projections({1: 3, 2: 2}, signs)[:4] == [3 + 2, 3 - 2, 3 + 2, 3 - 2]


def test_equal_directions_have_equal_codes_and_opposite_ones_differ_in_every_bit():
    codes = Codes(Space([("a", {1: 1, 2: 1, 3: 1}), ("b", {1: 4, 2: 4, 3: 4}), ("c", {1: -1, 2: -1, 3: -1})])).codes
    assert codes[0] == codes[1] and codes[0] ^ codes[2] == 2 ** 512 - 1   # sums of three odd numbers are never 0


def test_the_share_of_differing_bits_estimates_the_angle():
    """Five directions at a right angle: 256 of 512 bits expected, within five standard deviations of 11.3."""
    codes = Codes(Space([(f"u{n}", {3 * n: 1, 3 * n + 1: 1, 3 * n + 2: 1}) for n in range(5)])).codes
    assert all(abs((codes[one] ^ codes[other]).bit_count() - 256) < 57 for one in range(5) for other in range(one))


@every_seed
def test_only_candidates_are_touched(seed):
    one = random_space(seed, 20)
    gauge = one.gauge({1: 1})
    Codes(one).search(gauge, 3, 7)
    assert len(gauge) == min(7, len(one.placed))


# --- filters ----------------------------------------------------------------------------------------------------------

def private_and_public() -> tuple[Space, frozenset[int]]:
    """Seed 002, "filtering after recall": the ranking is private A, private B, public C, public D; C and D are live."""
    one = Space([(name, {0: 10, 1: place}) for place, name in enumerate("ABCD")])
    return one, frozenset((2, 3))


@pytest.mark.parametrize("mode, expected", [("post", ""), ("over-fetch", "CD"), ("pre", "CD")])
def test_the_chapters_top_2_starves_when_filtered_afterwards(mode, expected):
    one, live = private_and_public()
    found = search_filtered(mode, Exact(one), one.gauge({0: 1}), 2, 2, live, factor=2)
    assert "".join(one.ids[at] for at, _ in found) == expected


def test_the_chapters_starving_top_2_in_numbers():
    one, live = private_and_public()
    rows = {row["mode"]: row for row in measure_filters(one, Exact(one), Exact, [{0: 1}], 2, 2, live)}
    assert [rows[mode]["recall"] for mode in ("partition", "pre", "over-fetch", "post")] == [1.0, 1.0, 1.0, 0.0]
    assert [rows[mode]["starved"] for mode in ("partition", "pre", "over-fetch", "post")] == [0, 0, 0, 1]
    assert rows["pre"]["touched"] == 2 / 4 and rows["post"]["hidden_touched"] == 2 / 4


def test_a_graph_falls_apart_when_the_only_way_leads_over_a_hidden_unit():
    index = Graph(Space([("a", {0: 1}), ("b", {0: 1, 1: 1}), ("c", {1: 1})]))
    index.layers = [{0: {1: 0.5}, 1: {0: 0.5, 2: 0.5}, 2: {1: 0.5}}]   # a - b - c, as on the chapter's line
    index.order, index.entry, index.levels = [0, 1, 2], 0, {0: 0, 1: 0, 2: 0}
    gauge = index.space.gauge({1: 1})
    assert index.search(gauge, 1, ALL, frozenset((0, 2))) == []
    assert index.search_through(gauge, 1, ALL, frozenset((0, 2))) == [(2, 1.0)]


# --- corpora and the report -------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def handbook() -> Subject:
    return subject_of("handbook")


@pytest.fixture(scope="module")
def handbook_report(handbook) -> dict:
    return report([handbook])


def test_the_graph_with_a_large_ef_loses_nothing_of_the_handbook(handbook):
    one = Space(handbook.units)
    index = Graph(one)
    vectors = [question.vector for question in handbook.questions]
    recalls = [agreement(index.search(one.gauge(vector), 5, 30), Exact(one).search(one.gauge(vector), 5))
               for vector in vectors]
    assert recalls == [1.0] * 13


def test_curves_of_the_report_never_fall(handbook_report):
    for block in handbook_report["corpora"][0]["indexes"]:
        for key in ("recall", "touched"):
            values = [row[key] for row in block["curve"]]
            assert values == sorted(values), (block["index"], key)


def test_agreement_with_the_exact_scan_is_not_recall_of_evidence(handbook_report):
    """The exact scan agrees with itself and still misses judged documents: the vectors lost them, not the index."""
    exact = handbook_report["corpora"][0]["indexes"][0]["curve"][0]
    assert exact["recall"] == 1.0 and exact["evidence_recall"] < 1.0


def test_every_row_of_the_report_has_all_keys(handbook_report):
    (corpus,) = handbook_report["corpora"]
    assert list(handbook_report) == ["schema", "line", "settings", "corpora", "receipt"]
    assert {tuple(row) for block in corpus["indexes"] for row in block["curve"]} == {
        ("budget", "recall", "evidence_recall", "touched", "coarse")}
    assert {tuple(row) for row in corpus["filter"]["rows"]} == {
        ("index", "budget", "mode", "recall", "starved", "touched", "hidden_touched")}


def test_a_query_without_a_vector_and_one_without_judgements_are_counted_apart():
    questions = (Question("q1", {}, {"a": 1}), Question("q2", {1: 1}, None), Question("q3", {1: 1}, {"b": 1}))
    subject = Subject("small", (("a", {1: 1}), ("b", {2: 1}), ("c", {})), {name: name for name in "abc"}, questions)
    (corpus,) = report([subject])["corpora"]
    assert [corpus["counts"][key] for key in ("zero_vectors", "without_truth", "judged")] == [1, 1, 2]
    exact = corpus["indexes"][0]["curve"][0]
    assert (exact["recall"], exact["evidence_recall"]) == (1.0, (0 + 0) / 2)   # q1 returns nothing, q3 returns a
    assert exact["touched"] == pytest.approx(2 / 3, abs=1e-4)                  # a and b of three units


@pytest.mark.parametrize("options, named", [
    ({"k": 0}, "k is 0"), ({"m": 1}, "m is 1"), ({"ef": (5, 3)}, "ef is"), ({"ef": ()}, "ef is"),
    ({"candidates": (True,)}, "candidates is True"), ({"share": 0}, "share is 0")])
def test_options_out_of_range_are_named(options, named):
    with pytest.raises(UsageError, match=named):
        report([], Options(**options))


def test_the_report_is_the_same_under_every_hash_seed():
    program = ("from rag_lab.ann.report import report\nfrom rag_lab.ann.subject import subject_of\n"
               "from rag_lab.files import canonical_json\n"
               "print(ascii(canonical_json(report([subject_of('handbook')]))))")
    outputs = [subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed,
                              "PYTHONPATH": os.pathsep.join(sys.path)}, check=True, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120).stdout for seed in ("0", "1", "random")]
    assert outputs[0] == outputs[1] == outputs[2] != b""


def test_the_watch_is_told_and_the_report_does_not_move(handbook, handbook_report):
    told = []
    assert canonical_json(report([handbook], watch=told.append)) == canonical_json(handbook_report)
    assert len(told) == 5 * 3 and told[0].startswith("handbook: exact built")


def test_judged_documents_stay_when_units_are_left_out():
    subject = subject_of("handbook", units=20)
    relevant = {doc_id for question in subject.questions for doc_id in question.grades}
    assert len(subject.units) == 20 and subject.left_out == 10 and relevant <= set(subject.documents.values())


def test_a_corpus_of_rows_takes_the_queries_beside_it_and_one_without_is_refused(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "title": "one", "text": "two"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="neither judgements nor"):
        subject_of(str(tmp_path))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "two"}\n', encoding="utf-8")
    assert [question.grades for question in subject_of(str(tmp_path)).questions] == [None]


@pytest.mark.parametrize("name", ["", *(f".{name}" for name in (
    "space", "graph", "line", "lists", "binary", "filters", "report", "subject"))])
def test_the_examples_in_the_docstrings_are_true(name):
    assert doctest.testmod(importlib.import_module(f"rag_lab.ann{name}")).failed == 0


@pytest.mark.skipif("RAG_LAB_TEXTS" not in os.environ, reason="RAG_LAB_TEXTS names no folder made by short_texts.py")
def test_ten_thousand_texts_reach_095_with_less_than_a_quarter_touched():
    """Takes a minute: RAG_LAB_TEXTS is the folder that short_texts.py wrote with 10000 rows."""
    subject = subject_of(os.environ["RAG_LAB_TEXTS"], units=10_000)
    one = Space(subject.units)
    index, recalls, touched = Graph(one), [], 0
    for question in subject.questions:
        gauge = one.gauge(question.vector)
        recalls.append(agreement(index.search(gauge, 10, 150), Exact(one).search(one.gauge(question.vector), 10)))
        touched += len(gauge)
    assert len(recalls) == 50 and math.fsum(recalls) / 50 >= 0.95 and touched / 50 / 10_000 < 0.25
