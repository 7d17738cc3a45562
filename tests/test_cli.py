"""The command as a user runs it, in a process of its own: stdout is data, stderr is talk, the exit code says how it went."""
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from support import ROOT

from rag_lab import __version__, build_lab, cli
from rag_lab.commands import RUN

P0 = "P0 故障多久响应"
REFUND = "退款申请多久到账"
NO_OVERLAP = "新人报到要办什么"
BROAD = "退款到账 灰度发布 值班交接 数据库迁移回滚 密钥轮换 记忆冲突 RRF 融合 删除用户数据 注入防护 权限 审计 重排 引用 评测 备份"


def environment(**changes) -> dict:
    """The environment without settings of Python, the package importable from anywhere; `changes` on top."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "LANG"))}
    return {**clean, "PYTHONPATH": ROOT, **changes}


def run(*argv, stdin=b"", cwd=ROOT, python=(sys.executable,), **changes) -> subprocess.CompletedProcess:
    """`python -m rag_lab ARGV` with bytes in and out."""
    return subprocess.run([*python, "-m", "rag_lab", *argv], input=stdin, capture_output=True, cwd=cwd,
                          env=environment(**changes), timeout=60)


def printed(*argv, **how) -> dict:
    """The JSON document of a command that ran well: one document on stdout, nothing on stderr, exit code 0."""
    done = run(*argv, **how)
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)


def checkout(folder) -> str:
    """A copy of the lab with its corpora, judgements and examples, as in a clone; its folder."""
    for part in ("rag_lab", "corpus", "qrels", "examples"):
        shutil.copytree(os.path.join(ROOT, part), folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    return str(folder)


def refused(done, code: int) -> str:
    """What a command that did not run says on stderr; nothing may stand on stdout, and no traceback anywhere."""
    assert (done.returncode, done.stdout) == (code, b"")
    talk = done.stderr.decode("utf-8")
    assert talk.strip() and "Traceback" not in talk
    return talk


@pytest.fixture(scope="module")
def answered() -> dict:
    return printed("--query", P0, "--k", "3")


@pytest.fixture(scope="module")
def no_evidence() -> dict:
    return printed("--query", NO_OVERLAP, "--k", "3", "--hybrid", "--rerank", "--explain", "--show-context")


# --- the output contract --------------------------------------------------------------------------------------------

SEARCH_KEYS = ["schema", "query", "settings", "corpus", "channel_sizes", "channel_notes", "funnel", "dropped", "left_out", "decision",
               "refused", "reason", "best_support", "answer", "results", "top_candidates", "why", "tombstones", "receipt"]
SETTINGS_KEYS = ["k", "pool", "hybrid", "rerank", "rrf_k", "threshold", "threshold_on"]
HIT_KEYS = ["rank", "doc_id", "title", "chunk", "score", "support", "bm25_score", "dense_score", "rerank_score", "parts",
            "citation", "context", "explain"]
CHUNK_KEYS = ["chunk_id", "heading_path", "start", "end"]
PARTS_KEYS = ["body_coverage", "title_coverage", "phrase", "score", "support"]
CITATION_KEYS = ["doc_id", "title", "version", "start", "end", "quote", "content_hash"]
RECEIPT_KEYS = ["corpus", "index", "scope", "settings", "qrels", "clock"]
EVALUATION_KEYS = ["schema", "settings", "macro", "counts", "losses", "channel_losses", "gain", "unmeasured", "queries", "receipt"]
JUDGED_KEYS = ["query_id", "query", "kind", "relevant", "returned", "recall", "rr", "ndcg", "citation_relevance", "lost",
               "refused", "reason", "best_support"]


@pytest.mark.parametrize("which", ["answered", "no_evidence"])
def test_answered_or_refused_the_same_keys_stand_in_the_same_order(which, request):
    document = request.getfixturevalue(which)
    assert list(document) == SEARCH_KEYS and document["schema"] == "rag_lab.search/1"
    assert list(document["settings"]) == SETTINGS_KEYS and list(document["receipt"]) == RECEIPT_KEYS
    assert list(document["corpus"]) == ["documents", "active", "tombstoned", "terms", "avg_tokens"]
    assert list(document["channel_sizes"]) == list(document["channel_notes"]) == ["bm25", "dense"]
    assert list(document["funnel"]) == ["live", "bm25", "dense", "fused", "pool", "gate", "threshold", "cut"]
    for hit in document["results"] or document["top_candidates"]:
        assert list(hit) == HIT_KEYS and list(hit["citation"]) == CITATION_KEYS
        assert list(hit["chunk"]) == CHUNK_KEYS and list(hit["parts"]) == PARTS_KEYS


def test_what_does_not_apply_is_null(answered, no_evidence):
    assert answered["top_candidates"] is None and answered["reason"] is None and answered["tombstones"] == []
    empty = [name for name, value in answered["results"][0].items() if value is None]
    assert empty == ["dense_score", "rerank_score", "context", "explain"]
    assert no_evidence["answer"] is None and no_evidence["results"] == [] and no_evidence["receipt"]["qrels"] is None


def test_a_refusal_says_why_and_shows_what_came_closest(no_evidence):
    assert (no_evidence["decision"], no_evidence["refused"]) == ("refuse", True)
    assert (no_evidence["reason"], no_evidence["best_support"]) == ("insufficient_evidence", 0.0)
    assert [hit["rank"] for hit in no_evidence["top_candidates"]] == [1, 2, 3]
    assert no_evidence["channel_notes"]["bm25"] and no_evidence["channel_notes"]["dense"] is None


def test_an_evaluation_has_its_keys_in_order():
    document = printed("--eval")
    assert list(document) == EVALUATION_KEYS and document["schema"] == "rag_lab.evaluation/1"
    assert list(document["macro"]) == ["recall@k", "mrr", "ndcg@k", "citation_relevance", "refusal_rate"]
    assert list(document["counts"]) == ["queries", "undefined", "refused", "missed"]
    assert len(document["queries"]) == 13 and all(list(row) == JUDGED_KEYS for row in document["queries"])
    assert document["receipt"]["qrels"] and document["gain"] == "exponential"


def test_b061_the_threshold_names_what_it_is_compared_with(answered):
    assert (answered["settings"]["threshold"], answered["settings"]["threshold_on"]) == (0.3, "best_support")


@pytest.mark.parametrize("argv", [
    ("--query", P0), ("--query", NO_OVERLAP, "--hybrid"), ("--query", ""), ("--eval",), ("reproduce",), ("inspect",),
    ("worked-scores",), ("manifest",), ("--query", "Team 3.2 SAML", "--corpus", "starboat", "--hybrid", "--rerank")], ids=ascii)
def test_b130_stdout_is_one_json_document_and_nothing_else(argv):
    done = run(*argv)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode("utf-8")
    document, end = json.JSONDecoder().raw_decode(text)
    assert isinstance(document, dict) and text[end:] == "\n"
    assert "\r" not in text and not text.startswith("\ufeff") and "NaN" not in text and "\\u" not in text
    assert text == json.dumps(document, ensure_ascii=False, indent=2) + "\n"   # two-space indent


# --- each flag ------------------------------------------------------------------------------------------------------

def test_k_and_pool():
    document = printed("--query", REFUND, "--k", "2", "--pool", "3", "--hybrid")
    assert [hit["rank"] for hit in document["results"]] == [1, 2]
    assert document["channel_sizes"] == {"bm25": 3, "dense": 3} and document["settings"]["pool"] == 3


def test_a_k_beyond_the_default_pool_widens_it():
    document = printed("--query", BROAD, "--k", "30", "--hybrid", "--threshold", "0")
    assert document["settings"]["pool"] == 30 and 20 < len(document["results"]) <= 30


def test_hybrid_and_rerank_fill_their_fields():
    document = printed("--query", REFUND, "--hybrid", "--rerank")
    assert document["settings"]["hybrid"] is document["settings"]["rerank"] is True
    assert all(hit["dense_score"] and hit["rerank_score"] is not None for hit in document["results"][:3])


def test_the_threshold_refuses_what_lies_below_it_and_not_what_meets_it(answered):
    assert answered["best_support"] == 0.75
    assert not printed("--query", P0, "--k", "3", "--threshold", "0.75")["refused"]
    above = printed("--query", P0, "--k", "3", "--threshold", "0.76")
    assert above["refused"] and above["best_support"] == 0.75
    assert [hit["doc_id"] for hit in above["top_candidates"]] == [hit["doc_id"] for hit in answered["results"]]


def test_delete_is_repeatable_and_numbers_its_requests():
    document = printed("--query", "退款多久到账", "--delete", "billing-refund-faq", "--delete", "oncall-sev")
    assert [(stone["doc_id"], stone["request_id"]) for stone in document["tombstones"]] == [
        ("billing-refund-faq", "del-billing-refund-faq-1"), ("oncall-sev", "del-oncall-sev-2")]
    assert [document["corpus"][name] for name in ("documents", "active", "tombstoned")] == [30, 28, 2]
    assert "billing-refund-faq" not in [hit["doc_id"] for hit in document["results"]]


def test_delete_goes_with_eval_too():
    rows = {row["query"]: row for row in printed("--eval", "--delete", "billing-refund-faq")["queries"]}
    assert "billing-refund-faq" not in rows["退款多久到账"]["returned"] and rows["退款多久到账"]["recall"] == 0.0


def test_show_context_gives_forty_characters_on_both_sides():
    texts = build_lab().docs
    hits = printed("--query", "数据库迁移能自动回滚吗", "--show-context", "--k", "20")["results"]
    for hit in hits:
        text, start, end = texts[hit["doc_id"]].text, hit["citation"]["start"], hit["citation"]["end"]
        assert hit["context"] == {"before": text[max(0, start - 40):start], "after": text[end:end + 40]}
    assert any(len(hit["context"]["before"]) == 40 for hit in hits)


def test_explain_shows_parts_that_sum_to_the_scores():
    for hit in printed("--query", REFUND, "--hybrid", "--rerank", "--explain", "--k", "3")["results"]:
        parts = hit["explain"]
        assert sum(row["part"] for row in parts["bm25"]["terms"]) == pytest.approx(hit["bm25_score"], abs=1e-4)
        assert sum(row["part"] for row in parts["dense"]["features"]) == pytest.approx(hit["dense_score"], abs=1e-4)
        assert sum(row["part"] for row in parts["rrf"]["parts"]) == pytest.approx(hit["score"], abs=1e-4)
        look = parts["rerank"]
        assert 0.40 * look["body_coverage"] + 0.45 * look["title_coverage"] == pytest.approx(hit["rerank_score"], abs=1e-4)


def test_explain_shows_the_parts_of_what_came_closest(no_evidence):
    closest = [hit["explain"] for hit in no_evidence["top_candidates"]]
    assert closest and all(parts["dense"]["features"] and parts["bm25"] is None for parts in closest)


def test_corpus_and_qrels_by_path(tmp_path):
    corpus, qrels = tmp_path / "two.jsonl", tmp_path / "x.tsv"
    corpus.write_text('{"_id": "a", "text": "alpha"}\n{"_id": "b", "text": "beta"}\n', encoding="utf-8")
    qrels.write_text("q1 0 a 1\n", encoding="utf-8")
    (tmp_path / "x.queries.jsonl").write_text('{"_id": "q1", "text": "alpha"}\n', encoding="utf-8")
    assert printed("--corpus", str(corpus), "--query", "beta")["answer"] == "beta"
    assert printed("--corpus", "two.jsonl", "--qrels", "x.tsv", "--eval", cwd=str(tmp_path))["macro"]["recall@k"] == 1.0


def test_corpus_and_qrels_by_name(answered):
    assert printed("--corpus", "handbook", "--query", P0, "--k", "3") == answered
    assert printed("--eval", "--qrels", "handbook")["counts"]["queries"] == 13


def test_version():
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"rag_lab {__version__}\n".encode(), b"")


@pytest.mark.parametrize("argv", [
    ("--help",), ("-h",), ("reproduce", "--help"), ("reports", "--help"), ("inspect", "--help"), ("worked-scores", "--help"),
    ("manifest", "--help")], ids=" ".join)
def test_help_goes_to_stdout_and_exits_0(argv):
    done = run(*argv)
    assert (done.returncode, done.stderr) == (0, b"") and b"usage: python -m rag_lab" in done.stdout


def test_help_names_every_flag():
    text = run("--help").stdout.decode("utf-8")
    for flag in ("--query", "--k", "--pool", "--hybrid", "--rerank", "--threshold", "--delete", "--show-context",
                 "--explain", "--eval", "--corpus", "--qrels", "--encoder", "--retriever", "--reranker", "--version",
                 "reproduce", "reports", "inspect", "worked-scores", "manifest"):
        assert flag in text


# --- where the query comes from -------------------------------------------------------------------------------------

@pytest.mark.parametrize("stdin", [P0.encode(), f"{P0}\n".encode(), f"{P0}\r\n".encode(), b"\xef\xbb\xbf" + P0.encode()],
                         ids=["plain", "newline", "crlf", "bom"])
def test_a_query_from_standard_input_is_the_same_query(answered, stdin):
    assert printed("--query", "-", "--k", "3", stdin=stdin) == answered


def test_a_query_from_standard_input_behind_two_dashes(answered):
    assert printed("--k", "3", "--", "-", stdin=P0.encode()) == answered


@pytest.mark.parametrize("argv", [
    ("--query", "--", "-x 退款"), ("--query=-x 退款",), ("--", "-x 退款"), ("--k", "5", "--", "-x 退款"),
    ("--query", "--", "-x 退款", "--k", "5")], ids=ascii)
def test_a_query_that_begins_with_a_dash(argv):
    document = printed(*argv)
    assert (document["query"], document["settings"]["k"], document["refused"]) == ("-x 退款", 5, False)


@pytest.mark.parametrize("query", ["--eval", "--help", "-h", "--", "reproduce"])
def test_a_query_that_looks_like_a_flag_is_a_query_behind_the_equals_sign(query):
    assert printed(f"--query={query}")["query"] == query


@pytest.mark.parametrize("query", ["", "   ", "？！", "\u200b"], ids=ascii)
def test_b040_a_query_without_terms_is_refused_as_empty(query):
    document = printed("--query", query, "--hybrid")
    assert (document["reason"], document["query"]) == ("empty_query", query)
    assert document["results"] == document["top_candidates"] == []


def test_a_line_break_inside_a_query_stays():
    assert printed("--query", "-", stdin="退款\n到账\n".encode())["query"] == "退款\n到账"


# --- faults of the call ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("argv, named", [
    (["--tenat", "a", "--query", P0], "--tenat"), (["--query", P0, "--hybird"], "--hybird"),
    (["--query", P0, "--hyb"], "--hyb"), (["--quer", P0], "--quer"), (["--query", P0, "-k", "3"], "-k"),
    (["reprodce"], "reprodce"), (["report"], "report"), (["退款"], "退款"), ([], "--query"), (["--k", "3"], "--query"),
    (["--query"], "--query"), (["--query", P0, "--eval"], "--query"), (["--query", P0, "--", P0], P0),
    (["--query", "a", "b"], "b"), (["--query", P0, "--k", "0"], "k is 0"), (["--query", P0, "--k", "-1"], "k is -1"),
    (["--query", P0, "--k", "three"], "three"), (["--query", P0, "--k", "1_0"], "1_0"), (["--query", P0, "--k", "３"], "３"),
    (["--query", P0, "--k", "2.0"], "2.0"), (["--query", P0, "--k", ""], "--k"), (["--query", P0, "--k", "9" * 5000], "--k"),
    (["--query", P0, "--pool", "4"], "pool"), (["--query", P0, "--threshold", "nan"], "nan"),
    (["--query", P0, "--threshold", "inf"], "inf"), (["--query", P0, "--threshold", "1.01"], "1.01"),
    (["--query", P0, "--threshold", "-0.1"], "-0.1"), (["--query", P0, "--threshold", "0,3"], "0,3"),
    (["--query", P0, "--threshold", "0-3"], "0-3"), (["--query", P0, "--threshold", "1e400"], "1e400"),
    (["--query", P0, "--query", P0], "--query"), (["--query", P0, f"--query={P0}"], "--query"),
    (["--query", P0, "--k", "1", "--k=2"], "--k"), (["--query", P0, "--hybrid", "--hybrid"], "--hybrid"),
    (["--eval", "--eval"], "--eval"), (["--query", P0, "--delete", "no-such-id"], "no-such-id"),
    (["--query", P0, "--delete", "oncall-sev", "--delete", "oncall-sev"], "oncall-sev"),
    (["--query", P0, "--corpus", "handbok"], "handbok"), (["--query", P0, "--corpus", "no/such/folder"], "no/such/folder"),
    (["--query", P0, "--corpus", "tests"], "tests"), (["--query", P0, "--qrels", "handbook"], "--qrels"),
    (["--eval", "--qrels", "no-such"], "no-such"), (["--eval", "--explain"], "--explain"),
    (["--eval", "--show-context"], "--show-context"), (["reports"], "--out"),
    (["reports", "--out", "x", "--out", "y"], "--out"), (["reproduce", "--k", "3"], "--k"),
    (["reproduce", "extra"], "extra"), (["inspect", "--case", "no-such-case"], "no-such-case"), (["inspect", "extra"], "extra"),
    (["inspect", "--cas", "x"], "--cas"), (["worked-scores", "--k", "3"], "--k"), (["manifest", "extra"], "extra"),
    (["manifest", "--corpus", "handbok"], "handbok"), (["--query", P0, "--encoder", "json:dumps"], "--hybrid"),
    (["--query", P0, "--retriever", "json:dumps"], "--hybrid"), (["--query", P0, "--reranker", "json:dumps"], "--rerank"),
    (["--query", P0, "--hybrid", "--encoder", "json"], "json"),
    (["--query", P0, "--hybrid", "--encoder", "no_such_module:f"], "no_such_module"),
    (["--query", P0, "--hybrid", "--encoder", "json:no_such_name"], "no_such_name"),
    (["--query", P0, "--hybrid", "--encoder", "json:__doc__"], "json:__doc__"),
    (["--query", P0, "--hybrid", "--encoder", "json:dumps", "--retriever", "json:dumps"], "--retriever"),
], ids=ascii)
def test_b074_a_fault_of_the_call_names_what_is_wrong_and_exits_2(argv, named):
    assert named in refused(run(*argv), 2)


@pytest.mark.parametrize("argv", [
    [b"--query", b"\xff"], [b"--query", b"a\xed\xa0\x80"], [b"--query", "退款".encode("gb18030")], [b"--", b"\xff"],
    [b"--query=\xff"]])
def test_a_query_argument_that_is_not_utf8_is_a_fault_of_the_call(argv):
    assert "UTF-8" in refused(run(*argv), 2)


@pytest.mark.parametrize("argv", [
    [b"--query", b"x", b"--corpus", b"\xff"], [b"--query", b"x", b"--delete", b"\xff"], [b"\xff"],
    [b"--query", b"x", b"--k", b"\xff"], [b"--query", b"x", b"--\xff"]])
def test_other_arguments_that_are_not_utf8_are_faults_of_the_call_too(argv):
    refused(run(*argv), 2)


# --- faults of the data ---------------------------------------------------------------------------------------------

def broken_corpus(folder) -> str:
    """A corpus with one fault in each of three files."""
    (folder / "corpus.toml").write_text('nme = "x"\nname = "x"\n[scope]\ntenant = "t"\nroles = ["r"]\n', encoding="utf-8")
    (folder / "a.md").write_text('+++\nid = "a"\ntitle = "A"\ntenent = "t"\n+++\ntext\n', encoding="utf-8")
    (folder / "b.md").write_bytes(b'+++\nid = "b"\ntitle = "B"\n+++\n\xff\n')
    return str(folder)


@pytest.mark.parametrize("what", [("--query", P0), ("--eval",)], ids=["query", "eval"])
def test_a_fault_of_the_data_tells_all_faults_and_exits_1(tmp_path, what):
    talk = refused(run("--corpus", broken_corpus(tmp_path), *what), 1)
    for place in ("a.md:4: ", "b.md:5: ", "corpus.toml:1: "):
        assert os.path.join(str(tmp_path), place) in talk


def test_faults_of_judgements_exit_1_with_file_and_line(tmp_path):
    (tmp_path / "x.tsv").write_text("q1 0 d1 1\nq1 0 d2 1_0\n", encoding="utf-8")
    assert f"{tmp_path / 'x.tsv'}:2: " in refused(run("--eval", "--qrels", str(tmp_path / "x.tsv")), 1)


def test_bytes_on_standard_input_that_are_not_utf8_are_a_fault_of_the_data():
    assert "standard input" in refused(run("--query", "-", stdin=b"\xe9\x80"), 1)


def test_b134_a_file_name_that_is_not_utf8_is_told_without_a_traceback(tmp_path):
    (tmp_path / "corpus.toml").write_text('name = "x"\n[scope]\ntenant = "t"\nroles = ["r"]\n', encoding="utf-8")
    try:
        with open(os.path.join(os.fsencode(tmp_path), b"\xff.md"), "wb") as file:
            file.write(b'+++\nid = "a"\ntitle = "A"\n+++\ntext\n')
    except OSError:
        pytest.skip("this file system keeps no such name")
    refused(run("--corpus", str(tmp_path), "--query", "text"), 1)


def test_a_jsonl_file_whose_name_is_not_utf8_is_told_without_a_traceback(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"\xff.jsonl")
    try:
        with open(path, "wb") as file:
            file.write(b'{"_id": "a", "text": "x"}\n')
    except OSError:
        pytest.skip("this file system keeps no such name")
    done = run(b"--corpus", path, b"--query", b"x")
    assert done.returncode in (1, 2)
    refused(done, done.returncode)


# --- pipes, interrupts, closed streams ------------------------------------------------------------------------------

LONG = ("--query", BROAD, "--hybrid", "--rerank", "--explain", "--show-context", "--k", "30")   # more than a pipe holds


def test_the_long_output_does_not_fit_into_a_pipe():
    assert len(run(*LONG).stdout) > 65536


@pytest.mark.parametrize("unbuffered", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("argv, lines", [
    (LONG, 1), (LONG, 0), (("--query", P0), 0), (("--help",), 0), (("--version",), 0), (("reproduce",), 0)],
    ids=["first-line", "none", "short", "help", "version", "reproduce"])
def test_b131_a_reader_that_leaves_early_is_no_fault(argv, lines, unbuffered):
    with subprocess.Popen([sys.executable, "-m", "rag_lab", *argv], cwd=ROOT, env=environment(**unbuffered),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        first = [process.stdout.readline() for _ in range(lines)]
        process.stdout.close()
        talk = process.stderr.read()
    assert (first, talk, process.returncode) == ([b"{\n"] * lines, b"", 0)


# Becomes the command in its arguments, with an interrupt neither ignored nor blocked: a child takes over both from its parent.
UNDISTURBED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(os.name != "posix", reason="there are no such signals here")
def test_an_interrupt_exits_130_and_says_so_in_one_line():
    with subprocess.Popen([sys.executable, "-c", UNDISTURBED, sys.executable, "-m", "rag_lab", "--query", "-"], cwd=ROOT,
                          env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            process.stdin.write(b"x" * 2**20)   # more than a pipe holds: when it is written, the command is reading
            process.stdin.flush()
            process.send_signal(signal.SIGINT)
            data, talk = process.communicate(timeout=60)
        finally:
            process.kill()   # whatever went wrong above, do not wait for it
    assert (process.returncode, data) == (130, b"")
    assert b"Traceback" not in talk and talk.count(b"\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_is_told_without_a_traceback():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, "-m", "rag_lab", "--query", P0], stdin=subprocess.DEVNULL, stdout=full,
                              stderr=subprocess.PIPE, cwd=ROOT, env=environment(), timeout=60)
    assert done.returncode == 1 and done.stderr.strip() and b"Traceback" not in done.stderr


@pytest.mark.parametrize("redirect", [">&-", "<&-"], ids=["stdout", "stdin"])
def test_a_stream_that_is_closed_from_the_start_makes_no_traceback(redirect):
    done = subprocess.run(["bash", "-c", f'"$0" -m rag_lab --query - {redirect}', sys.executable], input=P0.encode(),
                          cwd=ROOT, env=environment(), capture_output=True, timeout=60)
    assert b"Traceback" not in done.stderr and done.returncode in (0, 1, 2)


# --- the interpreter around it --------------------------------------------------------------------------------------

@pytest.mark.parametrize("argv", [
    ("--query", P0, "--hybrid", "--rerank", "--explain"), ("--eval",), ("reproduce",), ("inspect",), ("manifest",)],
    ids=["query", "eval", "reproduce", "inspect", "manifest"])
def test_b133_no_file_is_opened_in_the_encoding_of_the_system(argv):
    strict = (sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning")
    assert printed(*argv, python=strict) == printed(*argv)


def test_b133_reports_are_written_in_utf8(tmp_path):
    strict = (sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning")
    assert printed("reports", "--out", str(tmp_path / "out"), python=strict)["written"]


def test_it_runs_without_site_packages(answered):
    assert printed("--query", P0, "--k", "3", python=(sys.executable, "-S")) == answered


def test_it_runs_with_asserts_off_and_warnings_as_errors(answered):
    assert printed("--query", P0, "--k", "3", python=(sys.executable, "-OO", "-W", "error")) == answered


def test_it_writes_nothing_but_its_output(tmp_path):
    printed("--query", P0, cwd=str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_a_query_loads_nothing_that_it_does_without():
    program = "import sys\nfrom rag_lab import cli\ncli.run(sys.argv[1:])\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-S", "-c", program, "--query", REFUND, "--hybrid", "--rerank"],
                          env=environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    idle = {"audit", "batch", "building", "cache", "commands", "evaluation", "events", "governed", "jsonl", "loss", "manifest", "markdown",
            "numbers", "packets", "progress", "regions", "scores", "seams", "sections", "segments", "source_code", "spans", "store",
            "stored", "strict_json", "swap", "tally", "trec", "workers"}
    loaded = set(done.stdout.decode().split())
    assert "rag_lab.lab" in loaded
    assert loaded & {"dataclasses", "inspect", "multiprocessing", "shutil", "sqlite3", *(f"rag_lab.{name}" for name in idle)} == set()


def test_the_commands_that_are_named_are_those_that_run():
    assert cli.COMMANDS == tuple(RUN)


def test_a_folder_that_happens_to_be_called_handbook_does_not_stand_in_for_the_corpus(answered, tmp_path):
    (tmp_path / "handbook").mkdir()
    assert printed("--query", P0, "--k", "3", cwd=str(tmp_path)) == answered
    assert printed("--eval", "--qrels", "handbook", cwd=str(tmp_path))["counts"]["queries"] == 13


def test_b139_a_script_without_a_main_guard_may_call_the_lab(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import multiprocessing\nmultiprocessing.set_start_method('spawn')\nfrom rag_lab import build_lab\n"
                      "print(build_lab().search('P0', k=1).results[0].candidate.doc_id)\n", encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], env=environment(), stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [b"oncall-sev"], b"")
