"""Many queries in one run: each line is what --query prints, whatever the number of workers."""
import json
import os
import subprocess
import sys

import pytest
from support import ROOT
from test_cli import environment, printed, refused, run

from rag_lab.building import build_index

HERE = os.path.dirname(os.path.abspath(__file__))
QUERIES = [("q1", "退款申请多久到账"), ("q2", "P0 故障多久响应"), ("q3", "新人报到要办什么"), ("q0", ""), ("q5", "线上事故怎么定级")]
QUERIES += [(f"r{number}", f"退款 {number} 天") for number in range(20)]   # more than one batch


# --- parts of a user's own, named test_batch:letters and so on; test_cli_index has them too ---------------------------

def letters(text: str) -> dict[str, int]:
    return {letter: text.count(letter) for letter in dict.fromkeys(text)}


def found(query: str, texts, k: int) -> list[tuple[str, float]]:
    return sorted(((one, float(sum(letter in text for letter in query))) for one, text in texts.items()),
                  key=lambda row: (-row[1], row[0]))[:k]


def longest(query: str, text: str) -> float:
    if query == "退款 9 天":
        raise ValueError("nine")
    return float(len(text))


# ----------------------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def file(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("queries") / "queries.jsonl"
    path.write_text("".join(json.dumps({("id", "_id")[at % 2]: query_id, "text": text}) + "\n"
                            for at, (query_id, text) in enumerate(QUERIES)), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("index") / "handbook.db")
    build_index("handbook", path)
    return path


def lines_of(done) -> list[dict]:
    """The documents of a run that went well, one a line."""
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout.endswith(b"\n")
    return [json.loads(line) for line in done.stdout.decode("utf-8").removesuffix("\n").split("\n")]


@pytest.mark.parametrize("flags", [(), ("--hybrid", "--rerank", "--explain", "--show-context", "--why", "oncall-sev",
                                        "--delete", "billing-refund-faq", "--k", "3")], ids=["plain", "all"])
def test_each_line_is_the_report_that_query_prints_behind_its_id_in_the_order_of_the_file(file, flags):
    done = run("--queries", file, *flags)
    lines = lines_of(done)
    assert [(line["id"], line["query"]) for line in lines] == QUERIES
    for line, (query_id, text) in list(zip(lines, QUERIES))[:5]:
        report = {"id": query_id, **printed("--query", text, *flags)}
        assert line == report and list(line) == list(report)
    compact = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines]
    assert done.stdout.decode("utf-8") == "\n".join(compact) + "\n"


@pytest.mark.parametrize("flags", [
    (), ("--hybrid", "--rerank"), ("--hybrid", "--encoder", "test_batch:letters"),
    ("--hybrid", "--retriever", "test_batch:found", "--delete", "oncall-sev")], ids=" ".join)
def test_any_number_of_workers_gives_the_same_bytes(file, index, flags):
    outputs = [run("--queries", file, *where, "--workers", workers, *flags, cwd=HERE)
               for where, workers in (((), "1"), ((), "2"), (("--index", index), "3"))]
    assert all(lines_of(done) for done in outputs) and len({done.stdout for done in outputs}) == 1


@pytest.mark.parametrize("where", ["corpus", "index"])
@pytest.mark.parametrize("flags", [(), ("--hybrid", "--rerank", "--k", "2", "--delete", "oncall-sev"),
                                   ("--hybrid", "--encoder", "test_batch:letters")], ids=" ".join)
def test_an_evaluation_by_workers_is_the_same_evaluation(index, where, flags):
    named = ("--index", index) if where == "index" else ()
    outputs = [run("--eval", *flags, *more, cwd=HERE) for more in ((), (*named, "--workers", "2"))]
    assert [(done.returncode, done.stderr) for done in outputs] == [(0, b"")] * 2
    assert outputs[0].stdout == outputs[1].stdout and b'"channel_losses"' in outputs[0].stdout


def test_queries_come_from_standard_input_too(file):
    with open(file, "rb") as data:
        assert run("--queries", "-", stdin=data.read()).stdout == run("--queries", file).stdout


def test_a_fault_in_the_middle_comes_after_the_lines_before_it_with_any_number_of_workers(file):
    flags = ("--queries", file, "--rerank", "--reranker", "test_batch:longest")
    outputs = [run(*flags, "--workers", workers, cwd=HERE) for workers in ("1", "2")]
    assert [(done.returncode, done.stdout.count(b"\n")) for done in outputs] == [(2, 14)] * 2   # q1 to q5, r0 to r8
    assert outputs[0].stdout == outputs[1].stdout and outputs[0].stderr == outputs[1].stderr
    assert b"nine" in outputs[0].stderr and b"Traceback" not in outputs[0].stderr


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("flags, named", [
    (("--corpus", "handbok"), "handbok"), (("--delete", "no-such"), "no-such"), (("--k", "0"), "k is 0"),
    (("--hybrid", "--encoder", "no_such:f"), "no_such")], ids=["corpus", "delete", "k", "encoder"])
def test_faults_of_the_call_are_told_as_for_one_query(file, flags, named, workers):
    for what in (("--queries", file), ("--eval",)):
        assert named in refused(run(*what, "--workers", workers, *flags), 2)


@pytest.mark.parametrize("flags, named", [
    (("--query", "x"), "one thing"), (("--eval",), "one thing"), (("--qrels", "handbook"), "--qrels"), (("--workers", "0"), "workers is 0"),
    (("--workers", "x"), "'x'"), (("--queries", "y"), "--queries")], ids=" ".join)
def test_flags_that_do_not_go_with_a_file_of_queries_are_refused(file, flags, named):
    assert named in refused(run("--queries", file, *flags), 2)


def test_workers_do_not_go_with_one_query():
    assert "--workers" in refused(run("--query", "x", "--workers", "2"), 2)


@pytest.mark.parametrize("stdin", [True, False], ids=["stdin", "file"])
def test_all_faults_of_the_queries_are_told_at_once(tmp_path, stdin):
    data = b'{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n{"id": "b", "_id": "b", "text": "y"}\n{"id": 3, "text": "y"}\nx\n{"id": "c"}\n'
    (tmp_path / "q.jsonl").write_bytes(data)
    name = "standard input" if stdin else str(tmp_path / "q.jsonl")
    talk = refused(run("--queries", "-" if stdin else name, stdin=data), 1)
    assert [number for number in range(1, 8) if f"{name}:{number}: " in talk] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("data", [b"", b"\n", b"\xff\n"], ids=["empty", "blank", "bytes"])
def test_a_file_without_queries_or_without_utf8_is_a_fault_of_the_data(tmp_path, data):
    (tmp_path / "q.jsonl").write_bytes(data)
    assert str(tmp_path / "q.jsonl") in refused(run("--queries", str(tmp_path / "q.jsonl")), 1)
    assert "no-such.jsonl" in refused(run("--queries", str(tmp_path / "no-such.jsonl")), 1)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_line_is_written_as_soon_as_it_is_made_and_a_reader_may_leave(file, workers):
    with subprocess.Popen([sys.executable, "-m", "rag_lab", "--queries", file, "--workers", workers, "--explain", "--k", "20"],
                          cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        first = json.loads(process.stdout.readline())
        process.stdout.close()
        talk = process.stderr.read()
    assert (first["id"], talk, process.returncode) == ("q1", b"", 0)


def test_processes_never_answer_from_two_states_of_an_index(index, tmp_path):
    from argparse import Namespace
    from rag_lab.batch import Asker
    from rag_lab.errors import UsageError
    args = Namespace(index=str(tmp_path / "x.db"), corpus=None, qrels=None, encoder=None, retriever=None, reranker=None, delete=[],
                     tenant=None, principal=None, role=None, target_version=None, as_of=None)
    build_index("acl", args.index)
    early, late = Asker(args), Asker(args)   # as they are sent to two processes
    assert early.lab.settings.name == "acl"
    build_index("scheduler", args.index)
    with pytest.raises(UsageError, match="was replaced"):
        late.lab
