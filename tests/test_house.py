"""The house keeps its own rules: what it imports, from where, what it never does, and that its examples are true."""
import ast
import doctest
import importlib
import os
import pkgutil
import sys

import pytest
from support import ROOT

import rag_lab

# Each module imports only from those before it.
LAYERS = ["errors", "files", "strict_json", "sums", "model", "fields", "text", "spans", "source_code", "analyzers", "injection",
          "markdown", "sections", "regions", "chunking", "jsonl", "corpus", "events", "catalog", "cache", "index", "bits",
          "postings", "topk", "bounds", "listed", "bm25", "shards", "dense", "counted", "hashed", "concepts", "fusion", "rerank",
          "governed", "citation", "audit", "evidence", "packets", "retrieve", "loss", "seams", "manifest", "trec", "evaluation",
          "diagnosis", "report", "scores", "lab", "numbers", "store", "stored", "tally", "segments", "swap",
          "workers", "building", "progress", "ann", "bench", "flags", "asking", "batch", "commands", "cli", "experiments"]


def sources() -> dict[str, ast.Module]:
    """Dotted name below the package -> its syntax tree; "" is the package itself."""
    found = {}
    for folder, _, names in os.walk(os.path.join(ROOT, "rag_lab")):
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    tree = ast.parse(file.read(), path)
                dotted = os.path.relpath(path, os.path.join(ROOT, "rag_lab"))[:-3].replace(os.sep, ".")
                found[dotted.removesuffix("__init__").removesuffix(".")] = tree
    return found


SOURCES = sources()
PACKAGES = {"", "experiments", "ann", "bench"}
MAY_START = {"workers": {"multiprocessing"},   # only where a user asks for several workers
             "bench.peers": {"subprocess"}}                  # runs the Python that has the peers, and only if one is named
MAY_TIME = {"bench.measure": {"time"},           # its output is a measurement
            "progress": {"time"}}                # talk on a terminal: how long the user must still wait
every_module = pytest.mark.parametrize("name", sorted(SOURCES))


def walk(name: str, *kinds) -> list:
    return [node for node in ast.walk(SOURCES[name]) if isinstance(node, kinds)]


def imported(name: str) -> set[str]:
    """First names of the modules of the package that this one imports, inside functions too; "" for the package itself."""
    found = set()
    for node in walk(name, ast.ImportFrom):
        if not node.level:
            continue
        home = name.split(".") if name in PACKAGES else name.split(".")[:-1]
        above = [part for part in home if part][:len(home) - node.level + 1]
        for target in [node.module] if node.module else [alias.name for alias in node.names]:
            full = ".".join([*above, target])
            found.add(full.split(".")[0] if full in SOURCES else ".".join(above))
    return found


def foreign(name: str) -> set[str]:
    """First names of the modules outside the package that this one imports."""
    dotted = [alias.name for node in walk(name, ast.Import) for alias in node.names]
    dotted += [node.module for node in walk(name, ast.ImportFrom) if not node.level]
    return {module.split(".")[0] for module in dotted}


def calls(name: str) -> list[tuple[str, ast.Call]]:
    return [(node.func.id, node) for node in walk(name, ast.Call) if isinstance(node.func, ast.Name)]


# --- imports --------------------------------------------------------------------------------------------------------

@every_module
def test_only_the_standard_library_is_imported(name):
    assert foreign(name) <= sys.stdlib_module_names


@every_module
def test_b109_nothing_that_runs_what_it_reads_is_imported_or_called(name):
    assert foreign(name).isdisjoint({"pickle", "shelve", "marshal", "dbm", "ctypes"})
    assert {called for called, _ in calls(name)}.isdisjoint({"eval", "exec", "compile", "__import__"})


@every_module
def test_b139_the_package_starts_no_process_thread_or_connection(name):
    starters = {"multiprocessing", "subprocess", "threading", "concurrent", "asyncio", "socket", "urllib", "http"}
    assert foreign(name) & starters <= MAY_START.get(name, set())


@every_module
def test_a_module_imports_only_from_those_below_it(name):
    layer = name.split(".")[0]
    if layer == "":
        assert imported(name).isdisjoint({"flags", "commands", "cli", "experiments"})
    elif layer == "__main__":
        assert imported(name) == {"cli"}
    else:
        below = {"", layer, *LAYERS[:LAYERS.index(layer)]} if layer in PACKAGES else {*LAYERS[:LAYERS.index(layer)]}
        allowed = below | {"commands": {"experiments"}, "cli": {""}}.get(layer, set())   # "": the version
        assert imported(name) - allowed == set()


def test_nobody_imports_the_command_line_but_its_starter_and_the_experiments():
    assert {name.split(".")[0] for name in SOURCES if "cli" in imported(name)} <= {"__main__", "experiments"}


def test_the_experiments_are_leaves_that_the_command_line_loads_only_when_asked_for_one():
    assert {name.split(".")[0] for name in SOURCES if "experiments" in imported(name)} <= {"commands", "experiments"}
    assert [node.module for node in SOURCES["commands"].body if isinstance(node, ast.ImportFrom)
            and "experiments" in (node.module or "")] == []


def test_the_bench_is_a_leaf_that_the_command_line_loads_only_when_asked_for_it():
    assert {name.split(".")[0] for name in SOURCES if "bench" in imported(name)} == {"bench", "commands"}
    assert [node.module for node in SOURCES["cli"].body if isinstance(node, ast.ImportFrom)
            and "bench" in (node.module or "")] == []


def test_every_module_has_its_place_in_the_layers():
    assert {name.split(".")[0] for name in SOURCES} == {"", "__main__", *LAYERS}


# --- what it never does ---------------------------------------------------------------------------------------------

@every_module
def test_no_exception_is_caught_without_a_name(name):
    assert [node.lineno for node in walk(name, ast.ExceptHandler) if node.type is None] == []


@every_module
def test_no_input_is_checked_by_assert(name):
    assert [node.lineno for node in walk(name, ast.Assert)] == []


@every_module
def test_b049_the_built_in_hash_is_never_called(name):
    assert [node.lineno for called, node in calls(name) if called == "hash"] == []


@every_module
def test_b050_no_loop_runs_over_a_set(name):
    looped = [ast.unparse(loop.iter) for loop in walk(name, ast.For, ast.comprehension)]
    assert [one for one in looped if one.startswith(("{", "set(", "frozenset("))] == []


@every_module
def test_b133_text_files_are_opened_with_their_encoding(name):
    for called, node in calls(name):
        if called == "open":
            binary = any(isinstance(mode, ast.Constant) and "b" in mode.value for mode in node.args[1:2])
            assert binary or "encoding" in [word.arg for word in node.keywords], f"line {node.lineno}"


@every_module
def test_talk_goes_to_stderr(name):
    assert [node.lineno for called, node in calls(name) if called == "print"
            and "file" not in [word.arg for word in node.keywords]] == []


@every_module
def test_no_clock_and_no_chance_shapes_an_output(name):
    assert foreign(name) & {"random", "secrets", "uuid", "time", "locale"} <= MAY_TIME.get(name, set())
    assert [node.lineno for node in walk(name, ast.Attribute) if node.attr in ("now", "today", "utcnow", "getlocale")] == []


# --- what it says of itself -----------------------------------------------------------------------------------------

@every_module
def test_every_module_class_and_function_that_is_public_has_a_docstring(name):
    module = SOURCES[name]
    owners = [module, *(node for node in module.body if isinstance(node, ast.ClassDef))]
    named = [node for owner in owners for node in owner.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    assert ast.get_docstring(module)
    assert [node.name for node in named if not node.name.startswith("_") and not ast.get_docstring(node)] == []


@every_module
def test_the_examples_in_the_docstrings_are_true(name):
    module = importlib.import_module(f"rag_lab.{name}" if name else "rag_lab")
    assert doctest.testmod(module).failed == 0


def test_there_are_examples_to_run():
    modules = [module.name for module in pkgutil.walk_packages(rag_lab.__path__, "rag_lab.")]
    tests = [test for name in modules for test in doctest.DocTestFinder().find(importlib.import_module(name))]
    assert sum(bool(test.examples) for test in tests) >= 10


def test_what_the_package_offers_is_there():
    assert all(hasattr(rag_lab, name) for name in rag_lab.__all__)
    assert {"build_lab", "Lab", "DataError", "UsageError"} <= set(rag_lab.__all__)


# --- what its tests never do ----------------------------------------------------------------------------------------

def test_no_process_that_a_test_starts_reads_what_the_caller_of_the_tests_types():
    for name in sorted(os.listdir(os.path.join(ROOT, "tests"))):
        if name.endswith(".py"):
            with open(os.path.join(ROOT, "tests", name), encoding="utf-8") as file:
                tree = ast.parse(file.read(), name)
            started = [node for node in ast.walk(tree) if isinstance(node, ast.Call)
                       and ast.unparse(node.func) in ("subprocess.run", "subprocess.Popen")]
            open_ended = [node.lineno for node in started if not {"stdin", "input"} & {word.arg for word in node.keywords}]
            assert (name, open_ended) == (name, [])
