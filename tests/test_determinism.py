"""Same input, same bytes: whatever the hash seed, locale, encoding, folder, interpreter, order of files or of adding."""
import functools
import os
import random
import shutil
import subprocess
import sys

import pytest
from support import document, lab_of
from test_cli import checkout, run

from rag_lab import Lab, Scope, build_lab
from rag_lab.corpus import Corpus, CorpusSettings
from rag_lab.files import canonical_json
from rag_lab.report import search_report

COMMANDS = {"query": ("--query", "退款申请多久到账", "--hybrid", "--rerank", "--explain", "--show-context"),
            "eval": ("--eval", "--hybrid", "--rerank"), "inspect": ("inspect",)}


def output(*argv, **how) -> bytes:
    done = run(*argv, **how)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


@functools.cache
def reference(command: str) -> bytes:
    return output(*COMMANDS[command])


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("changes", [
    {"PYTHONHASHSEED": "0"}, {"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "random"}, {"LC_ALL": "C"}, {"LC_ALL": "POSIX"},
    {"PYTHONUTF8": "0"}, {"PYTHONUTF8": "1"}, {"PYTHONIOENCODING": "latin-1"}, {"PYTHONIOENCODING": "utf-16"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"TZ": "America/New_York"}, {"COLUMNS": "20"},
    {"PYTHONOPTIMIZE": "2"}], ids=lambda changes: ",".join(f"{name}={value}" for name, value in changes.items()))
def test_the_environment_changes_no_byte(command, changes):
    assert output(*COMMANDS[command], **changes) == reference(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_another_folder_changes_no_byte(command, tmp_path):
    assert output(*COMMANDS[command], cwd=str(tmp_path)) == reference(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_second_run_changes_no_byte(command):
    assert output(*COMMANDS[command]) == reference(command)


def other_pythons() -> list[str]:
    """One interpreter for each other version of Python from 3.11 up that is found."""
    names = [f"python3.{minor}" for minor in range(11, 20)]
    installed = os.path.expanduser("~/.pyenv/versions")
    candidates = [shutil.which(name) for name in names]
    if os.path.isdir(installed):
        candidates += [os.path.join(installed, version, "bin", "python") for version in sorted(os.listdir(installed))]
    found = {sys.version_info[:2]: sys.executable}
    for candidate in filter(None, candidates):
        try:
            done = subprocess.run([candidate, "-c", "import sys; print(*sys.version_info[:2])"], stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=60)
        except OSError:
            continue
        version = tuple(map(int, done.stdout.split())) if done.returncode == 0 else ()
        if version >= (3, 11):
            found.setdefault(version, candidate)
    return list(found.values())[1:]


def test_every_python_that_is_found_prints_the_same_bytes():
    others = other_pythons()
    if not others:
        pytest.skip("there is only one Python from 3.11 up here")
    for python in others:
        for command, argv in COMMANDS.items():
            assert output(*argv, python=(python,), PYTHONDONTWRITEBYTECODE="1") == reference(command), python


# --- ties and orders ------------------------------------------------------------------------------------------------

def test_b049_b050_five_tied_documents_keep_one_order_under_every_hash_seed(tmp_path):
    rows = [f'{{"_id": "{doc_id}", "text": "退款 到账", "kind": "k"}}\n' for doc_id in ("d3", "d1", "d5", "d2", "d4")]
    (tmp_path / "tied.jsonl").write_text("".join(rows), encoding="utf-8")
    argv = ("--corpus", "tied.jsonl", "--query", "到账 退款", "--hybrid", "--rerank", "--explain")
    outputs = {output(*argv, cwd=str(tmp_path), PYTHONHASHSEED=seed) for seed in ("0", "1", "random")}
    assert len(outputs) == 1
    places = [outputs.copy().pop().index(f'"doc_id": "d{number}",\n      "title"'.encode()) for number in range(1, 6)]
    assert places == sorted(places)


@pytest.mark.parametrize("query", ["alpha beta", "beta alpha"])
@pytest.mark.parametrize("options", [{}, {"hybrid": True}, {"rerank": True}, {"hybrid": True, "rerank": True}])
def test_b056_equal_scores_stand_in_id_order_whichever_word_found_them(query, options):
    lab = lab_of(document("a", "beta"), document("b", "alpha"), document("B", "alpha"), document("c", "beta"))
    results = lab.search(query, **options).results
    assert [hit.candidate.doc_id for hit in results] == ["B", "a", "b", "c"]


def printed(lab: Lab, query: str) -> str:
    return canonical_json(search_report(lab.search(query, hybrid=True, rerank=True, explain=True)))


@pytest.mark.parametrize("seed", range(10))
def test_documents_added_in_any_order_print_the_same(seed):
    choose = random.Random(seed)
    documents = [document(f"d{number}", " ".join(choose.choices("abcde", k=4)), roles=("r", "s")) for number in range(8)]
    settings, printouts = CorpusSettings("test", scope=Scope("t", ("r",))), set()
    for _ in range(4):
        choose.shuffle(documents)
        printouts.add(printed(Lab(Corpus(settings, tuple(documents))), "a b c"))
    assert len(printouts) == 1


@pytest.mark.parametrize("seed", range(3))
def test_files_found_in_any_order_print_the_same(seed, monkeypatch):
    before, walk = printed(build_lab(), "退款申请多久到账"), os.walk

    def shuffled(*args, **options):
        choose, rows = random.Random(seed), [(at, folders, names[:]) for at, folders, names in walk(*args, **options)]
        choose.shuffle(rows)
        for _, _, names in rows:
            choose.shuffle(names)
        return rows

    monkeypatch.setattr(os, "walk", shuffled)
    assert printed(build_lab(), "退款申请多久到账") == before


def test_asking_in_any_order_and_twice_prints_the_same():
    lab, queries = build_lab(), ["退款多久到账", "P0 故障多久响应", "新人报到要办什么"]
    first = {query: printed(lab, query) for query in queries}
    assert {query: printed(lab, query) for query in reversed(queries)} == first
    assert all(printed(build_lab(), query) == text for query, text in first.items())


def test_the_order_in_which_documents_are_deleted_changes_no_score():
    printouts = []
    for order in (["oncall-sev", "billing-refund-faq"], ["billing-refund-faq", "oncall-sev"]):
        lab = build_lab()
        for doc_id in order:
            lab.delete(doc_id)
        report = search_report(lab.search("退款多久到账", hybrid=True))
        assert [stone["doc_id"] for stone in report.pop("tombstones")] == order
        printouts.append(canonical_json(report))
    assert printouts[0] == printouts[1]


def test_a_checkout_elsewhere_prints_the_same(tmp_path):
    copy = checkout(tmp_path)
    for command, argv in COMMANDS.items():
        assert output(*argv, cwd=copy, PYTHONPATH=copy) == reference(command)
