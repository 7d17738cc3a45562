"""The README runs: every console block prints what it shows, and what it lists is what the lab has."""
import os
import re
import shutil
import subprocess
import sys

import pytest
from support import ROOT
from test_cli import HIT_KEYS, SEARCH_KEYS, checkout, environment, printed, run

from rag_lab import evidence
from rag_lab.files import read_text

READMES = [name for name in ("README.md", "README.zh-CN.md") if os.path.exists(os.path.join(ROOT, name))]


def readme(name: str) -> str:
    return read_text(os.path.join(ROOT, name))


def blocks(name: str, kind: str) -> list[str]:
    """The fenced blocks of a README whose info string is exactly this."""
    return re.findall(rf"^```{re.escape(kind)}\n(.*?)^```$", readme(name), re.MULTILINE | re.DOTALL)


def commands_in(block: str) -> list[tuple[str, str]]:
    """(command, the stdout shown below it) of every `$ ` line of a block."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts)]


def commands(name: str, kind: str = "console") -> list[tuple[str, str]]:
    """Those of all blocks of a README."""
    return [row for block in blocks(name, kind) for row in commands_in(block)]


SHOWN = [pytest.param(commands_in(block), id=f"{name}-{at}") for name in READMES for at, block in enumerate(blocks(name, "console"))]


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Runs a line as a reader would, in a clone where it may leave files; `python` is the interpreter of this test."""
    folder, clone = tmp_path_factory.mktemp("bin"), checkout(tmp_path_factory.mktemp("clone"))
    for name in ("python", "python3"):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"

    def run_line(line: str) -> subprocess.CompletedProcess:
        return subprocess.run(["bash", "-c", line], cwd=clone, env=environment(PATH=path, PYTHONPATH=clone), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60)

    return run_line


def test_the_readme_shows_commands_and_says_how_to_set_up():
    assert len(commands("README.md")) >= 2 and len(commands("README.md", "console install")) == 1


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash here")
@pytest.mark.parametrize("block", SHOWN)
def test_the_commands_of_a_block_print_what_the_readme_shows(shell, block):
    if any("jq" in command for command, _ in block) and not shutil.which("jq"):
        pytest.skip("there is no jq here")
    for command, shown in block:
        done = shell(command)
        pattern = "".join("(.*\n)*?" if line == "...\n" else re.escape(line) for line in shown.splitlines(keepends=True))
        assert re.fullmatch(pattern, done.stdout.decode("utf-8")), done.stdout.decode("utf-8")
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("kind", ["console", "console install"])
def test_both_readmes_show_the_same_commands_and_outputs(kind):
    assert all(commands(name, kind) == commands("README.md", kind) for name in READMES)


def test_the_check_runs_the_test_command_of_the_readme():
    ((command, _),) = commands("README.md", "console install")
    assert command in read_text(os.path.join(ROOT, ".ci", "run")).split("\n")
    assert "pytest" in command


@pytest.mark.parametrize("name", READMES)
def test_the_python_listings_run_and_do_what_their_comments_say(name):
    names = {}
    for block in blocks(name, "python"):
        exec(block, names)
    assert names["kept"].search("退款多久到账")[0][0] == "billing-refund-faq"
    assert names["lab"].bm25.search("退款多久到账")[0][0] == "billing-refund-sla"
    assert not names["outcome"].refused and names["outcome"].results[0].citation.quote


def first_cells(name: str, start: str) -> str:
    """The first column of the table rows that begin so."""
    return "\n".join(line.split(" | ")[0] for line in readme(name).split("\n") if line.startswith(start))


@pytest.mark.parametrize("name", READMES)
def test_the_flags_of_the_readme_are_the_flags_of_the_command(name):
    flags, known = (set(re.findall(r"--[a-z][a-z-]*", text))
                    for text in (first_cells(name, "| `--"), run("--help").stdout.decode("utf-8")))
    assert flags == known - {"--help"}


@pytest.mark.parametrize("name", READMES)
def test_the_keys_of_the_readme_are_the_keys_of_the_output(name):
    keys = re.findall(r"`([a-z][a-z_]*)(?:\[\])?`", first_cells(name, "| `"))
    assert keys == [key for key in SEARCH_KEYS if key in keys] and set(SEARCH_KEYS) - set(keys) <= {"query"}
    assert f"`{', '.join(HIT_KEYS)}`" in readme(name)


@pytest.mark.parametrize("name", READMES)
def test_the_reasons_of_the_readme_are_the_reasons_of_the_lab(name):
    row = next(line for line in readme(name).split("\n") if line.startswith("| `decision`"))
    reasons = {evidence.EMPTY_CORPUS, evidence.EMPTY_QUERY, evidence.QUERY_TOO_SHORT, evidence.INSUFFICIENT_EVIDENCE}
    assert reasons <= set(re.findall(r"`([a-z_]+)`", row))


# --- the table "change one thing, see one number move" --------------------------------------------------------------

@pytest.mark.parametrize("name", READMES)
def test_every_flag_that_a_row_tells_to_try_is_one_that_the_command_has(name):
    known = set(re.findall(r"--[a-z][a-z-]*", run("--help").stdout.decode("utf-8")))
    rows = [line for line in readme(name).split("\n") if re.match(r"\| [^`-]", line) and "`--" in line]
    assert rows and set(re.findall(r"--[a-z][a-z-]*", "\n".join(rows))) <= known


def test_a_stricter_threshold_refuses_and_moves_no_support(shell):
    done = shell('python -m rag_lab --query "P0 故障多久响应" --threshold 0.8')
    assert b'"refused": true' in done.stdout and b'"best_support": 0.75' in done.stdout


def test_an_edit_of_one_word_changes_the_receipt(tmp_path):
    copy, path = checkout(tmp_path), tmp_path / "corpus" / "handbook" / "oncall" / "sev.md"
    before = printed("--query", "P0 故障多久响应")
    path.write_text(path.read_text(encoding="utf-8").replace("故障", "事件", 1), encoding="utf-8")
    after = printed("--query", "P0 故障多久响应", cwd=copy, PYTHONPATH=copy)
    assert before["receipt"]["corpus"] != after["receipt"]["corpus"]
    assert before["results"][0]["score"] > after["results"][0]["score"]
