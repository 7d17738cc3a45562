"""The examples run, and print what one index finds."""
import importlib.util
import os
import shutil
import subprocess
import sys

import pytest
from support import ROOT
from test_cli import environment

from rag_lab import build_lab
from rag_lab.files import canonical_json

SPARK = importlib.util.find_spec("pyspark") and (shutil.which("java") or os.environ.get("JAVA_HOME"))
QUERY = "退款申请多久到账"


def run(name: str, *argv, cwd, timeout: int = 60) -> subprocess.CompletedProcess:
    """An example as a reader runs it, in any folder, the package not on the path."""
    clean = {name: value for name, value in environment().items() if name != "PYTHONPATH"}
    return subprocess.run([sys.executable, os.path.join(ROOT, "examples", name), *argv], cwd=cwd, env=clean,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)


def expected(corpus: str, query: str, k: int) -> str:
    """The document that an example prints, from one index over all live documents."""
    index = build_lab(corpus).bm25
    statistics = {"n": index.n, "total_tokens": index.total_tokens,
                  "df": {term: index.df(term) for term in sorted(set(index.analyze(query)))}}
    results = [{"rank": at, "id": unit_id, "score": score} for at, (unit_id, score) in enumerate(index.search(query, k), 1)]
    return canonical_json({"query": query, "k": k, "statistics": statistics, "results": results})


@pytest.mark.parametrize("shards", [1, 2, 5])
def test_processes_print_what_one_index_finds(shards, tmp_path):
    done = run("processes.py", "--query", QUERY, "--k", "7", "--shards", str(shards), cwd=tmp_path)
    assert (done.stdout.decode("utf-8"), done.stderr, done.returncode) == (expected("handbook", QUERY, 7), b"", 0)


@pytest.mark.parametrize("corpus", ["starboat", "acl"])   # hidden documents; chunks with context, regions
def test_hidden_documents_take_no_part(corpus, tmp_path):
    done = run("processes.py", "--corpus", corpus, "--query", "导出 Team 成员", "--shards", "3", cwd=tmp_path)
    assert done.stdout.decode("utf-8") == expected(corpus, "导出 Team 成员", 5)
    assert len(build_lab(corpus).docs) < len(build_lab(corpus).catalog.documents)


@pytest.mark.parametrize("argv, says", [
    (("--k", "0"), "k is 0"), (("--shards", "0"), "shards is 0"), (("--corpus", "nowhere"), "'nowhere' is no corpus")])
def test_a_wrong_call_is_told_and_prints_nothing(argv, says, tmp_path):
    done = run("processes.py", "--query", QUERY, *argv, cwd=tmp_path)
    talk = done.stderr.decode("utf-8")
    assert (done.returncode, done.stdout) == (2, b"") and says in talk and "Traceback" not in talk


@pytest.mark.skipif(not SPARK, reason="pyspark or a Java is missing")
@pytest.mark.parametrize("corpus, shards", [("handbook", 1), ("handbook", 5), ("acl", 12)])
def test_spark_prints_what_one_index_finds(corpus, shards, tmp_path):
    done = run("spark_shards.py", "--corpus", corpus, "--query", QUERY, "--k", "7", "--shards", str(shards), cwd=tmp_path,
               timeout=300)
    assert (done.stdout.decode("utf-8"), done.returncode) == (expected(corpus, QUERY, 7), 0), done.stderr.decode("utf-8")
