"""The bench: what it measures is the same in every run, what it prints is whole, and what it compares is compared rightly.

No time is looked at: how fast anything is, is no property of the code alone.
"""
import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from support import ROOT, output_under_hash_seed, plain_bm25, plain_cosines, random_query, random_units
from test_cli import refused, run

from rag_lab.bench import fts5, live_set, peers, plain
from rag_lab.bench.agreement import agreement, overlap, same_scores
from rag_lab.bench.engines import ENGINES, build_bm25, reachable_bytes
from rag_lab.bench.measure import Answers, Measured, in_rounds, percentile
from rag_lab.bench.rows import line, missing, ratio, row
from rag_lab.bench.texts import cut_out, generated, given, lottery, word
from rag_lab.errors import DataError, UsageError

needs_fts5 = pytest.mark.skipif(not fts5.available(), reason="this SQLite has no FTS5")

KEYS = ["schema", "python", "settings", "corpus", "analysis", "engines", "live_set"]
CORPUS_KEYS = ["source", "units", "avg_tokens", "terms", "queries", "avg_query_tokens", "queries_without_terms", "digest"]
ENGINE_KEYS = ["engine", "formula", "version", "status", "note", "build_seconds", "units_per_second", "bytes",
               "open_seconds", "rounds", "milliseconds", "first_milliseconds", "ratios", "agreement"]
LIVE_KEYS = ["one_in", "units", "set_seconds", "rounds", "milliseconds", "first_milliseconds", "ratios", "agreement"]


def bench(*argv, code=0, **how) -> tuple[dict, list[str]]:
    """(the document, the lines of talk) of a tiny bench."""
    done = run("bench", "--rounds", "1", *argv, **how)
    assert done.returncode == code, done.stderr.decode("utf-8")
    return json.loads(done.stdout), done.stderr.decode("utf-8").splitlines()


def jsonl(path, *rows) -> str:
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def tiny():
    return bench("--size", "60")


# --- the command ----------------------------------------------------------------------------------------------------

def test_the_document_has_its_keys_in_order_and_none_is_missing(tiny):
    document, _ = tiny
    assert list(document) == KEYS and document["schema"] == "rag_lab.bench/1"
    assert list(document["corpus"]) == CORPUS_KEYS and list(document["live_set"]) == LIVE_KEYS
    assert [list(one) for one in document["engines"]] == [ENGINE_KEYS] * len(ENGINES)
    assert {(one["engine"], one["formula"]) for one in document["engines"]} == {
        ("rag_lab", "bm25"), ("rag_lab_file", "bm25"), ("plain", "bm25"), ("fts5", "bm25"), ("rag_lab", "cosine"), ("plain", "cosine")}
    assert [document["corpus"][name] for name in ("source", "units", "queries")] == ["generated", 60, 200]


def test_engines_of_one_formula_find_the_same_in_the_run_itself(tiny):
    document, _ = tiny
    checked = [one for one in document["engines"] if one["engine"] in ("rag_lab_file", "plain")]
    checked.append(document["live_set"])
    assert [(one["agreement"]["equal_scores"], one["agreement"]["queries"]) for one in checked] == [(200, 200)] * 4


def test_ratios_stand_beside_times_and_the_lab_itself_has_none(tiny):
    document, _ = tiny
    for one in document["engines"]:
        assert (one["ratios"] is None) == (one["engine"] == "rag_lab" or one["status"] != "measured")
        if one["ratios"] is not None:
            assert list(one["ratios"]) == ["build", "median", "p95"]


def test_talk_is_on_stderr_a_line_for_each_engine(tiny):
    _, talk = tiny
    assert all(one.startswith("rag_lab: ") for one in talk)
    assert sum("equal scores: 200 of 200" in one for one in talk) == 3


def test_the_command_takes_files_and_cuts_queries_out_of_the_texts_where_none_are_given(tmp_path):
    docs = jsonl(tmp_path / "docs.jsonl", {"_id": "a", "title": "退款", "text": "退款多久到账"}, {"_id": "b", "text": "red fish"},
                 {"_id": "c", "text": ""})
    queries = jsonl(tmp_path / "queries.jsonl", {"_id": "q1", "text": "到账"}, {"_id": "q2", "text": "?!"})
    asked, _ = bench("--docs", docs, "--queries", queries, "--k", "1")
    assert (asked["corpus"]["units"], asked["corpus"]["queries"], asked["corpus"]["queries_without_terms"]) == (3, 1, 1)
    assert asked["settings"]["k"] == 1
    cut, _ = bench("--docs", docs)
    assert (cut["corpus"]["queries"], cut["corpus"]["queries_without_terms"]) == (200, 0)


@pytest.mark.parametrize("argv, words", [
    (("--sise", "5"), "--sise"), (("--size", "0"), "--size is 0"), (("--k", "0"), "--k is 0"),
    (("--rounds", "0"), "--rounds is 0"), (("--size", "ten"), "ten"), (("--size", "5", "--size", "6"), "twice"),
    (("--queries", "q.jsonl"), "--docs"), (("--docs", "d.jsonl", "--size", "5"), "--size"),
    (("--peer-python", "no-such-python"), "no-such-python"), (("extra",), "extra")])
def test_a_call_that_makes_no_sense_is_refused(argv, words):
    assert words in refused(run("bench", *argv), 2)


def test_faulty_rows_are_named_all_at_once(tmp_path):
    rows = {"_id": 1, "text": "x"}, {"_id": "a"}, {"_id": "a", "text": "x", "title": 3}, ["x"]
    docs = jsonl(tmp_path / "docs.jsonl", *rows)
    talk = refused(run("bench", "--docs", docs), 1)
    assert "5 faults" in talk
    for words in ("1: _id is 1", "2: text is None", "3: title is 3", "3: _id 'a' stands twice", "4: the row cannot be read"):
        assert f"{docs}:{words}" in talk


@pytest.mark.parametrize("content, words", [
    ("", "the file is empty"), ('{"_id": "a", "text": "?"}\n', "no query with a term")])
def test_files_with_nothing_to_search_are_refused(tmp_path, content, words):
    (tmp_path / "docs.jsonl").write_text(content, encoding="utf-8")
    assert words in refused(run("bench", "--docs", str(tmp_path / "docs.jsonl")), 1)


def test_a_query_imports_nothing_of_the_bench():
    done = run("--query", "P0", python=(sys.executable, "-X", "importtime"))
    assert done.returncode == 0 and b"rag_lab.cli" in done.stderr and b"rag_lab.bench" not in done.stderr


# --- texts ----------------------------------------------------------------------------------------------------------

def test_the_generated_texts_are_the_same_under_every_hash_seed():
    program = "from rag_lab.bench.texts import generated; print(generated(300).digest())"
    assert output_under_hash_seed(program, "0") == output_under_hash_seed(program, "1")
    assert generated(300).digest() != generated(301).digest()


def test_the_lottery_is_the_congruence_that_it_names():
    state = (1 * 6364136223846793005 + 1442695040888963407) % 2**64
    after = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    draw = lottery(1)
    assert [draw(1000), draw(1000)] == [state // 2**32 % 1000, after // 2**32 % 1000]


def test_every_octave_of_ranks_is_as_likely_as_the_next():
    chance = lottery(3)
    octaves = Counter(int(word(chance)[1:]).bit_length() for _ in range(17_000))
    assert sorted(octaves) == list(range(1, 18))                       # ranks 1 to 2^17 - 1
    assert all(900 <= count <= 1100 for count in octaves.values())     # 1000 each, three standard deviations are 92


def test_generated_texts_have_4_to_19_words_and_queries_are_stretches_of_them():
    texts = generated(400)
    assert {len(words) for _, words in texts.units} == set(range(4, 20))
    assert {len(query) for query in texts.queries} == set(range(2, 7))
    stretches = {tuple(words[at:at + length]) for _, words in texts.units
                 for length in range(2, 7) for at in range(len(words))}
    assert all(tuple(query) in stretches for query in texts.queries)


def test_queries_are_cut_from_short_texts_only_if_there_are_no_others():
    assert set(cut_out([["a"], ["b"] * 9])) == {" ".join(["b"] * length) for length in range(2, 7)}
    assert set(cut_out([["a"], []])) == {"a"} and cut_out([[], []]) == []


def test_title_and_text_are_one_unit_as_in_the_lab(tmp_path):
    rows = {"_id": "a", "title": "Red", "text": "fish"}, {"_id": "b", "title": "", "text": "blue"}
    docs = jsonl(tmp_path / "docs.jsonl", *rows)
    assert given(docs, None).units == [("a", ["red", "fish"]), ("b", ["blue"])]


# --- what is measured -----------------------------------------------------------------------------------------------

def test_a_percentile_is_by_nearest_rank():
    assert [percentile(range(1, 21), share) for share in (0.5, 0.95, 1.0)] == [10, 19, 20]
    assert percentile([7.0], 0.95) == 7.0


def test_in_each_round_every_engine_is_asked_every_query_once():
    asked = []

    def engine(name):
        return lambda query, k: asked.append((name, query, k)) or [(name + query, 1.0)]

    answers = in_rounds({"one": engine("one"), "two": engine("two")}, ["p", "q"], 3, rounds=2, seconds=1000)
    one_round = [("one", "p", 3), ("one", "q", 3), ("two", "p", 3), ("two", "q", 3)]
    assert asked == one_round * 2
    assert {name: one.found for name, one in answers.items()} == {
        "one": [[("onep", 1.0)], [("oneq", 1.0)]], "two": [[("twop", 1.0)], [("twoq", 1.0)]]}
    assert {name: (one.rounds, len(one.first), len(one.least)) for name, one in answers.items()} == {
        "one": (2, 2, 2), "two": (2, 2, 2)}
    assert all(least <= first for one in answers.values() for least, first in zip(one.least, one.first))


def test_an_engine_that_has_used_up_its_seconds_is_asked_once():
    asked = []
    assert in_rounds({"one": lambda query, k: asked.append(query)}, ["p"], 3, rounds=5, seconds=0)["one"].rounds == 1
    assert asked == ["p"]


def test_a_ratio_is_theirs_over_ours():
    ours = Measured("rag_lab", "bm25", "1", 2.0, 10, None, Answers(1, [3.0], [2.0], [[("a", 1.0)]]))
    theirs = Measured("peer", "bm25", "2", 3.0, None, 0.5, Answers(1, [5.0], [8.0], [[("a", 1.0)]]))
    printed_row = row(theirs, ours, True, None, units=6)
    assert printed_row["ratios"] == {"build": 1.5, "median": 4.0, "p95": 4.0}
    assert (printed_row["units_per_second"], printed_row["first_milliseconds"]["median"]) == (2, 5.0)
    assert list(printed_row) == list(missing("x", "bm25", "left out", "too large")) == ENGINE_KEYS
    assert "equal scores: 1 of 1" in line(printed_row) and "1.5 4.0 4.0" in line(printed_row)
    assert row(ours, ours, True, None, units=6)["ratios"] is None and ratio(1.0, 0.0) is None


def test_bytes_are_of_every_object_once():
    inner = ["shared"]
    twice, code = [inner, inner], [len, os, str]
    assert reachable_bytes(twice) == sum(map(sys.getsizeof, (twice, inner, "shared")))
    assert reachable_bytes(code) == sys.getsizeof(code)


# --- agreement ------------------------------------------------------------------------------------------------------

def test_scores_are_the_same_within_a_millionth_whoever_has_them():
    ours = [("a", 4.0), ("b", 2.0)]
    assert same_scores(ours, [("b", 4.000003), ("a", 2.0)])
    assert not same_scores(ours, [("a", 4.00001), ("b", 2.0)])
    assert not same_scores(ours, ours[:1]) and same_scores([], [])


def test_agreement_counts_queries_and_averages_the_overlap():
    ours, theirs = [[("a", 2.0), ("b", 1.0)], [("c", 1.0)], []], [[("a", 2.0), ("x", 0.5)], [("c", 1.0)], []]
    assert agreement(ours, theirs, True) == {"queries": 3, "equal_scores": 2, "overlap": 0.8333}   # (1/2 + 1 + 1) / 3
    assert agreement(ours, theirs, False)["equal_scores"] is None
    assert overlap([], [("a", 1.0)]) == 1.0


# --- engines --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(40))
def test_the_plain_scorers_give_what_the_formulas_give(seed, tmp_path):
    units, query = random_units(seed), random_query(seed).split()
    for build, oracle in ((plain.build_bm25, plain_bm25), (plain.build_cosine, plain_cosines)):
        scores = oracle(units, query)
        found = build(list(units.items()), str(tmp_path)).search(query, 3)
        best = sorted(scores.values(), reverse=True)[:3]
        assert [score for _, score in found] == pytest.approx(best, rel=1e-9)
        assert [scores[unit_id] for unit_id, _ in found] == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: f"{engine.name}-{engine.formula}")
def test_every_engine_finds_the_one_unit_that_holds_the_word(engine, tmp_path):
    if engine.name == "fts5" and not fts5.available():
        pytest.skip("this SQLite has no FTS5")
    units = [("b", ["3.2", "x"]), ("a", ["猫", "x"]), ("c", []), ("d", ["y"])]
    built = engine.build(units, str(tmp_path))
    assert [unit_id for unit_id, _ in built.search(["猫"], 1)] == ["a"]
    assert [unit_id for unit_id, _ in built.search(["3.2", "nowhere"], 1)] == ["b"]
    assert built.search(["nowhere", "else"], 10) == []


@needs_fts5
def test_fts5_has_a_file_that_is_opened_again(tmp_path):
    built = fts5.build([("a", ["x"])], str(tmp_path))
    assert built.bytes == os.path.getsize(tmp_path / "fts5.db") and built.open_seconds > 0


def test_a_live_set_finds_what_an_index_over_its_units_alone_finds(tmp_path):
    units = [(f"u{number:04}", ["x", f"y{number % 7}"] + ["z"] * (number % 3)) for number in range(2500)]
    view, alone = live_set.narrowed(build_bm25(units, str(tmp_path)).index, units)
    assert alone.ids == ["u0000", "u1000", "u2000"]                    # one in a thousand
    assert view.search(["x", "z"], 5) == alone.search(["x", "z"], 5) != []


# --- peers ----------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def bare_python(tmp_path_factory) -> str:
    """A Python without site packages: it has none of the peers."""
    path = tmp_path_factory.mktemp("bare") / "python"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
def test_peers_that_the_other_python_has_not_are_reported_so(bare_python):
    document, talk = bench("--size", "20", "--peer-python", bare_python)
    rows = {one["engine"]: one for one in document["engines"][len(ENGINES):]}
    assert list(rows) == [peer.name for peer in peers.PEERS]
    for one in rows.values():
        assert list(one) == ENGINE_KEYS and one["status"] == "not installed" and one["milliseconds"] is None
    assert sum("not installed: this Python has no module" in one for one in talk) == len(rows)


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
def test_a_peer_that_fails_is_reported_and_gives_exit_code_1(tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'it broke' >&2\nexit 3\n", encoding="utf-8")
    broken.chmod(0o755)
    document, _ = bench("--size", "20", "--peer-python", str(broken), code=1)
    rows = document["engines"][len(ENGINES):]
    assert [(one["status"], one["note"]) for one in rows] == [("failed", "it broke")] * len(peers.PEERS)


def test_a_python_that_does_not_exist_is_refused_before_anything_is_measured():
    with pytest.raises(UsageError, match="no-such-python"):
        peers.find_python("no-such-python")


STAND_IN = """
import sys
sys.path.insert(0, sys.argv.pop())
import harness


def build(units):
    print("a peer that chatters")
    if len(units) > 2:
        raise harness.LeftOut("too many")
    return {"version": "7", "build_seconds": 0.5, "bytes": None, "open_seconds": None, "ask": lambda terms, k: k,
            "found": lambda answer: [[unit_id, float(len(terms))] for unit_id, terms in units][:answer]}


harness.run(build)
"""


@pytest.mark.parametrize("count, problem", [(2, None), (3, ["left out", "too many"])])
def test_the_harness_of_the_peers_prints_one_document(tmp_path, count, problem):
    texts = given(jsonl(tmp_path / "docs.jsonl", *({"_id": f"u{at}", "text": "x " * at} for at in range(count))), None)
    job = str(tmp_path / "job.jsonl")
    peers.write_job(job, texts, {"k": 2, "rounds": 3, "seconds": 9})
    done = subprocess.run([sys.executable, "-c", STAND_IN, job, os.path.join(ROOT, "peers")], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, check=True)
    document = json.loads(done.stdout)
    assert document["problem"] == problem and b"chatters" in done.stderr
    if problem is None:
        assert document["rounds"] == 3 and document["results"] == [[["u1", 1.0]]] * 200   # scores of 0 are left away
        assert len(document["milliseconds"]) == len(document["first_milliseconds"]) == 200


@pytest.mark.parametrize("peer", peers.PEERS, ids=lambda peer: peer.name)
def test_every_peer_has_its_script(peer):
    assert os.path.isfile(os.path.join(ROOT, "peers", f"peer_{peer.name}.py"))


def test_a_file_that_is_given_is_read_in_full(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        given(str(tmp_path / "none.jsonl"), None)
