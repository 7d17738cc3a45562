"""An index in a file from the command line: built, updated, asked in place of a corpus, interrupted, and what it refuses."""
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from support import ROOT
from test_cli import UNDISTURBED, environment, printed, refused, run

from rag_lab import build_lab, cli, open_lab
from rag_lab.building import build_index
from rag_lab.files import canonical_json
from rag_lab.lab import shipped
from rag_lab.strict_json import parse_json_object

SHIPPED = sorted(shipped("corpus"))


def rows(path, *documents: tuple[str, str]) -> str:
    """A JSONL corpus of (id, text); its path."""
    path.write_text("".join(json.dumps({"_id": doc_id, "text": text}) + "\n" for doc_id, text in documents), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def indexes(tmp_path_factory) -> dict[str, str]:
    """Name of a corpus that comes with the lab -> an index of it."""
    folder = tmp_path_factory.mktemp("indexes")
    for name in SHIPPED:
        build_index(name, str(folder / f"{name}.db"))
    return {name: str(folder / f"{name}.db") for name in SHIPPED}


# --- build and update -----------------------------------------------------------------------------------------------

def test_a_build_prints_what_the_file_holds(tmp_path):
    path = rows(tmp_path / "c.jsonl", ("a", "red apple"), ("b", "green apple"))
    told = printed("index", path, "--out", str(tmp_path / "x.db"))
    assert list(told) == ["schema", "documents", "chunks", "terms", "vectors", "changes", "segments", "bytes"]
    assert (told["schema"], told["documents"], told["chunks"], told["terms"]) == ("rag_lab.index/1", 2, 2, 3)
    assert told["vectors"] and told["changes"] == {"added": 2, "replaced": 0, "unchanged": 0, "deleted": 0}
    assert told["bytes"] == os.path.getsize(tmp_path / "x.db") and sorted(os.listdir(tmp_path)) == ["c.jsonl", "x.db"]


def test_an_update_adds_replaces_and_deletes_and_answers_as_a_fresh_index(tmp_path):
    index, fresh = str(tmp_path / "x.db"), str(tmp_path / "y.db")
    printed("index", rows(tmp_path / "c.jsonl", ("a", "red apple"), ("b", "green apple")), "--out", index)
    changed = rows(tmp_path / "d.jsonl", ("b", "yellow pear"), ("c", "red pear"))
    assert printed("index", changed, "--update", index)["changes"] == {"added": 1, "replaced": 1, "unchanged": 0, "deleted": 0}
    whole = rows(tmp_path / "c.jsonl", ("a", "red apple"), ("b", "yellow pear"), ("c", "red pear"))
    printed("index", whole, "--out", fresh)
    asked = [printed("--query", "red pear", "--hybrid", "--index", path)["results"] for path in (index, fresh)]
    assert [[hit["doc_id"], hit["score"]] for hit in asked[0]] == [[hit["doc_id"], hit["score"]] for hit in asked[1]]
    assert asked[0][0]["doc_id"] == "c"
    assert printed("index", "--update", index, "--delete", "c", "--delete", "a")["documents"] == 1
    assert [hit["doc_id"] for hit in printed("--query", "red pear", "--index", index)["results"]] == ["b"]


def test_any_number_of_workers_and_little_memory_give_the_same_file(tmp_path):
    path = rows(tmp_path / "c.jsonl", *((f"d{number}", f"word{number % 7} word{number % 11}") for number in range(600)))
    for name, flags in (("x.db", ()), ("y.db", ("--workers", "3", "--memory", "16")), ("x.db", ("--quiet",))):   # over x.db
        printed("index", path, "--out", str(tmp_path / name), *flags)
    assert (tmp_path / "x.db").read_bytes() == (tmp_path / "y.db").read_bytes()


def test_a_lexical_index_has_no_vectors_and_says_so(tmp_path):
    index = str(tmp_path / "x.db")
    assert printed("index", "acl", "--out", index, "--lexical")["vectors"] is False
    assert printed("--query", "导出", "--index", index) == printed("--query", "导出", "--corpus", "acl")
    assert "without --lexical" in refused(run("--query", "导出", "--hybrid", "--index", index), 2)


@pytest.mark.parametrize("argv, named", [
    (["acl"], "--out"), (["acl", "--out", "x.db", "--update", "y.db"], "--update"), (["--out", "x.db"], "corpus"),
    (["acl", "--out", "x.db", "--delete", "a"], "--delete"), (["acl", "--update", "x.db", "--lexical"], "--lexical"),
    (["--update", "x.db"], "nothing to do"), (["acl", "--out", "x.db", "--memory", "15"], "--memory is 15"),
    (["acl", "--out", "x.db", "--workers", "0"], "--workers is 0"), (["acl", "--out", "x.db", "--workers", "two"], "two"),
    (["no-such", "--out", "x.db"], "no-such"), (["acl", "b", "--out", "x.db"], "b"), (["acl", "--out", "kept.txt"], "kept.txt"),
    (["acl", "--out", "."], "'.'"), (["acl", "--out", "x.db", "--out", "y.db"], "--out"),
    (["acl", "--out", "no/such/x.db"], "no/such/x.db"), (["acl", "--out", "x.db", "--quiet", "--quiet"], "--quiet")], ids=" ".join)
def test_a_fault_of_the_call_changes_nothing_and_exits_2(tmp_path, argv, named):
    (tmp_path / "kept.txt").write_text("kept\n", encoding="utf-8")
    assert named in refused(run("index", *argv, cwd=str(tmp_path)), 2)
    assert os.listdir(tmp_path) == ["kept.txt"] and (tmp_path / "kept.txt").read_text(encoding="utf-8") == "kept\n"


def test_whoever_may_see_a_document_can_delete_it_and_nobody_else(tmp_path):
    row = {"_id": "a", "text": "alpha", "tenant": "x", "roles": ["staff"]}
    (tmp_path / "c.jsonl").write_text(f'{json.dumps(row)}\n{{"_id": "b", "text": "beta"}}\n', encoding="utf-8")
    index = str(tmp_path / "x.db")
    printed("index", str(tmp_path / "c.jsonl"), "--out", index)
    assert "'a'" in refused(run("index", "--update", index, "--delete", "a"), 2)
    who = ["--tenant", "x", "--role", "staff"]
    assert printed("index", "--update", index, "--delete", "a", *who)["changes"]["deleted"] == 1
    assert b"alpha" not in (tmp_path / "x.db").read_bytes()
    assert "--delete" in refused(run("index", str(tmp_path / "c.jsonl"), "--update", index, *who), 2)


def test_an_unknown_document_to_delete_is_a_fault_of_the_call_and_nothing_is_deleted(tmp_path):
    index = tmp_path / "x.db"
    printed("index", rows(tmp_path / "c.jsonl", ("a", "x"), ("b", "y")), "--out", str(index))
    before = index.read_bytes()
    assert "'z'" in refused(run("index", "--update", str(index), "--delete", "a", "--delete", "z"), 2)
    assert index.read_bytes() == before and sorted(os.listdir(tmp_path)) == ["c.jsonl", "x.db"]


def test_faults_of_the_data_are_told_all_at_once_and_the_old_file_stays(tmp_path):
    index, corpus = tmp_path / "x.db", tmp_path / "c.jsonl"
    printed("index", rows(corpus, ("a", "x")), "--out", str(index))
    before = index.read_bytes()
    corpus.write_text('{"_id": "a", "text": "x"}\nno row\n{"_id": "a", "text": "y"}\n', encoding="utf-8")
    talk = refused(run("index", str(corpus), "--out", str(index)), 1)
    assert f"{corpus}:2: " in talk and f"{corpus}:3: " in talk
    assert index.read_bytes() == before and sorted(os.listdir(tmp_path)) == ["c.jsonl", "x.db"]


@pytest.mark.parametrize("flags", [("--query", "x"), ("--eval",), ("manifest",), ("verify", "-"), ("diagnose",), ("ann",)], ids=" ".join)
@pytest.mark.parametrize("made", ["missing", "text", "other"])
def test_a_file_that_is_no_index_is_a_fault_of_the_data(tmp_path, flags, made):
    import sqlite3
    path = tmp_path / "x.db"
    if made == "text":
        path.write_text("no index at all\n" * 100, encoding="utf-8")
    elif made == "other":
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE mine (a)")
        connection.close()
    talk = refused(run(*flags, "--index", str(path), stdin=b'{"results": []}'), 1)
    assert str(path) in talk and "python -m rag_lab index" in talk


# --- an index in place of a corpus ------------------------------------------------------------------------------------

def texts_of(argv) -> tuple[str, int]:
    document, code = cli.run(argv)
    return canonical_json(document), code


QUERIES = {"handbook": "退款申请多久到账", "acl": "导出任务超时",
           "scheduler": "重启恢复", "starboat": "升级到 3.2 的 Team 可以继续使用 SAML 吗？"}
WAYS = {"plain": [], "hybrid": ["--hybrid"], "all": ["--hybrid", "--rerank", "--explain", "--show-context", "--k", "4"],
        "pool": ["--hybrid", "--pool", "3", "--k", "2"], "refused": ["--threshold", "1", "--rerank"],
        "nobody": ["--role", "nobody"], "other-tenant": ["--tenant", "south", "--hybrid", "--explain"],
        "person": ["--principal", "lin", "--hybrid"], "time": ["--as-of", "2026-08-01T00:00:00+08:00", "--hybrid"],
        "version": ["--target-version", "2.0", "--hybrid", "--rerank"],
        "encoder": ["--hybrid", "--encoder", "test_batch:letters"], "retriever": ["--hybrid", "--retriever", "test_batch:found"],
        "reranker": ["--rerank", "--reranker", "test_batch:longest"]}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SHIPPED)
def test_the_output_is_that_of_the_corpus_byte_for_byte(indexes, name, way):
    argv = ["--query", QUERIES[name], *WAYS[way]]
    assert texts_of([*argv, "--index", indexes[name]]) == texts_of([*argv, "--corpus", name])


@pytest.mark.parametrize("hybrid", [[], ["--hybrid", "--explain"]], ids=["bm25", "hybrid"])
@pytest.mark.parametrize("name", SHIPPED)
def test_so_it_is_for_the_fate_and_the_deletion_of_each_live_document(indexes, name, hybrid):
    for doc_id in [*list(build_lab(name).docs)[:6], "no-such"]:
        argv = ["--query", QUERIES[name], *hybrid, "--why", doc_id]
        argv += ["--delete", doc_id] if doc_id.startswith(("D", "公", "o", "p")) else []
        assert texts_of([*argv, "--index", indexes[name]]) == texts_of([*argv, "--corpus", name])


@pytest.mark.parametrize("flags", [[], ["--hybrid", "--rerank"], ["--hybrid", "--k", "2", "--delete", "{first}"]], ids=" ".join)
@pytest.mark.parametrize("name", ["handbook", "starboat"])
def test_an_index_of_a_corpus_of_the_labs_own_has_its_judgements(indexes, name, flags):
    flags = [flag.format(first=next(iter(build_lab(name).docs))) for flag in flags]
    assert texts_of(["--eval", *flags, "--index", indexes[name]]) == texts_of(["--eval", *flags, "--corpus", name])


def test_other_judgements_can_be_named(indexes):
    argv = ["--eval", "--qrels", "starboat"]
    assert texts_of([*argv, "--index", indexes["handbook"]]) == texts_of([*argv, "--corpus", "handbook"])


def test_an_index_of_a_corpus_of_the_users_own_has_none_even_under_the_same_name(tmp_path):
    index = str(tmp_path / "x.db")
    printed("index", rows(tmp_path / "handbook.jsonl", ("oncall-sev", "P0 故障")), "--out", index)
    assert "--qrels" in refused(run("--eval", "--index", index), 2)
    assert printed("--eval", "--index", index, "--qrels", "handbook")["counts"]["queries"] == 13
    assert "--questions" in refused(run("diagnose", "--index", index), 2)
    assert "--qrels" in refused(run("ann", "--index", index), 2)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_name_under_which_an_index_finds_its_judgements_is_that_of_the_corpus(indexes, name):
    assert open_lab(indexes[name]).shipped_name == name


@pytest.mark.parametrize("name", SHIPPED)
def test_the_manifest_is_that_of_the_corpus(indexes, name, tmp_path):
    assert texts_of(["manifest", "--index", indexes[name]]) == texts_of(["manifest", "--corpus", name])
    (tmp_path / "kept.json").write_text(texts_of(["manifest", "--corpus", name])[0], encoding="utf-8")
    assert printed("manifest", "--index", indexes[name], "--check", str(tmp_path / "kept.json"))["document_count"]


@pytest.mark.parametrize("name", SHIPPED)
def test_kept_citations_are_checked_as_against_the_corpus(indexes, name, tmp_path):
    report = parse_json_object(texts_of(["--query", QUERIES[name], "--threshold", "0", "--corpus", name])[0])
    report["results"][0]["citation"]["quote"] += "x"
    (tmp_path / "kept.json").write_text(canonical_json(report), encoding="utf-8")
    argv = ["verify", str(tmp_path / "kept.json")]
    found = texts_of([*argv, "--index", indexes[name]])
    assert found == texts_of([*argv, "--corpus", name]) and found[1] == 1


def test_diagnosis_and_the_approximate_indexes_take_an_index_too(indexes):
    assert texts_of(["diagnose", "--index", indexes["scheduler"]]) == texts_of(["diagnose"])
    argv = ["ann", "--units", "8", "--k", "2"]
    assert texts_of([*argv, "--index", indexes["starboat"]]) == texts_of([*argv, "--corpus", "starboat"])
    assert "handbook" in refused(run("ann", "--index", indexes["handbook"]), 2)


@pytest.mark.parametrize("argv", [["--query", "x"], ["--eval"], ["manifest"], ["verify", "-"], ["diagnose"], ["ann"]], ids=" ".join)
def test_a_corpus_and_an_index_at_once_are_a_fault_of_the_call(indexes, argv):
    talk = refused(run(*argv, "--index", indexes["acl"], "--corpus", "acl", stdin=b'{"results": []}'), 2)
    assert "--corpus" in talk and "--index" in talk


def test_stdout_of_the_command_is_the_same_too(indexes):
    argv = ("--query", QUERIES["starboat"], "--hybrid", "--rerank")
    done = run(*argv, "--index", indexes["starboat"])
    assert (done.returncode, done.stderr, done.stdout) == (0, b"", run(*argv, "--corpus", "starboat").stdout)


# --- progress, and an end that comes too soon -------------------------------------------------------------------------

@pytest.mark.skipif(os.name != "posix", reason="there are no such terminals here")
@pytest.mark.parametrize("flags, seen", [((), True), (("--workers", "2"), True), (("--quiet",), False)], ids=["one", "two", "quiet"])
def test_progress_appears_on_a_terminal(tmp_path, flags, seen):
    import pty
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "rag_lab", "index", "acl", "--out", str(tmp_path / "x.db"), *flags], cwd=ROOT,
                          env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        document, talk = json.loads(process.stdout.read()), read_all(ours)
    assert (process.returncode, document["documents"]) == (0, 6)
    if not seen:
        assert talk == b""
    else:
        assert talk.startswith(b"\rrag_lab: ") and b"documents" in talk and b"\n" not in talk
        assert talk.endswith(b" \r") and talk.rstrip(b" \r").count(b"\r") >= 1   # wiped off


def read_all(terminal: int) -> bytes:
    """What is written to a terminal until nobody holds it any more."""
    found = b""
    try:
        while data := os.read(terminal, 4096):
            found += data
    except OSError:   # so Linux says that it is at an end
        pass
    os.close(terminal)
    return found


@pytest.mark.skipif(os.name != "posix", reason="there are no such signals here")
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("wait", [0.1, 0.7], ids=["soon", "later"])   # from when the new file is there, and being locked
@pytest.mark.parametrize("flag", ["--out", "--update"])
def test_an_interrupt_leaves_nothing_half_made_and_no_process(tmp_path, flag, workers, wait):
    index = tmp_path / "x.db"
    printed("index", rows(tmp_path / "small.jsonl", ("a", "x")), "--out", str(index))
    before = index.read_bytes()
    large = rows(tmp_path / "large.jsonl", *((f"d{number}", f"some words {number}") for number in range(150_000)))
    with subprocess.Popen([sys.executable, "-c", UNDISTURBED, sys.executable, "-m", "rag_lab", "index", large, flag, str(index),
                           "--workers", workers], cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as process:
        while not os.path.exists(f"{index}.new") and process.poll() is None:
            time.sleep(0.01)
        time.sleep(wait)
        os.killpg(process.pid, signal.SIGINT)   # as a terminal does: to all processes of the command
        data, talk = process.communicate(timeout=60)
    assert (process.returncode, data, talk) == (130, b"", b"rag_lab: interrupted\n")
    assert index.read_bytes() == before and sorted(os.listdir(tmp_path)) == ["large.jsonl", "small.jsonl", "x.db"]
    assert not group_is_there(process.pid)


def group_is_there(group: int) -> bool:
    """Whether a process of the group is still there after a little while."""
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True
