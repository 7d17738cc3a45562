"""The manifest of an index: its twelve fields, and every ingredient that differs is refused with found and expected."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from support import ROOT, document, lab_of

from rag_lab import DataError, build_lab, cli
from rag_lab.manifest import FIELDS, check, make, read

STARBOAT = os.path.join(ROOT, "corpus", "starboat")
REMEDY = "build the index again from the corpus, or use the corpus and version it was built with"
MADE = build_lab("starboat").manifest


def kept(folder, manifest) -> str:
    path = folder / "manifest.json"
    path.write_text(json.dumps(manifest), encoding="utf-8")
    return str(path)


def manifest_command(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "rag_lab", "manifest", *arguments], cwd=ROOT, stdin=subprocess.DEVNULL,
                          capture_output=True, encoding="utf-8", env={**os.environ, "PYTHONIOENCODING": "utf-8"})


def test_the_twelve_fields_stand_in_the_order_of_the_chapter():
    assert list(MADE) == list(FIELDS) == [
        "index_id", "catalog_snapshot_id", "parser_version", "chunker_version", "tokenizer_version", "embedding_model_id",
        "embedding_dimension", "distance_metric", "document_count", "chunk_count", "created_at", "content_digest"]


def test_the_counts_are_of_all_documents_hidden_ones_too_and_the_time_is_the_corpus_clock():
    chunks = build_lab("starboat").chunks.by_id
    assert MADE.items() >= {
        "document_count": 18, "chunk_count": len(chunks), "created_at": "2026-08-27T16:00:00+00:00",
        "embedding_model_id": "frozen-concept-vector", "embedding_dimension": 11, "distance_metric": "cosine"}.items()
    handbook = build_lab("handbook").manifest
    assert (handbook["document_count"], handbook["embedding_dimension"]) == (30, 512)


def test_the_same_corpus_has_the_same_manifest_and_it_fits_itself(tmp_path):
    assert build_lab("starboat").manifest == MADE
    check(read(kept(tmp_path, MADE)), MADE, "m.json")


@pytest.mark.parametrize("name, value", [("catalog_digest", "y"), ("content_digest", "y"), ("documents", 2), ("chunks", 2),
                                         ("chunker", "y"), ("encoder", "y"), ("dimension", 2), ("created_at", "y")])
def test_the_id_of_an_index_changes_with_every_ingredient(name, value):
    given = {"catalog_digest": "x", "content_digest": "x", "documents": 1, "chunks": 1, "chunker": "x", "encoder": "x",
             "dimension": 1, "created_at": "x"}
    assert make(**given)["index_id"] != make(**given | {name: value})["index_id"]


def test_the_order_in_which_chunks_are_given_does_not_matter():
    lab = lab_of(document("a", "one"), document("b", "two"))
    made = lab.manifest
    lab.chunks.by_id = dict(reversed(lab.chunks.by_id.items()))
    assert lab.manifest == made


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("value", ["something else", 0, None, []])
def test_a_field_that_differs_is_refused_with_found_expected_and_remedy(name, value):
    with pytest.raises(DataError) as error:
        check(MADE | {name: value}, MADE, "m.json")
    assert list(map(str, error.value.faults)) == [f"m.json: {name} is {value!r}, expected {MADE[name]!r}; {REMEDY}"]


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_that_is_missing_is_refused(name):
    with pytest.raises(DataError, match=f"{name} is None, expected"):
        check({field: value for field, value in MADE.items() if field != name}, MADE, "m.json")


def test_a_field_that_is_missing_is_refused_also_where_the_lab_has_no_value():
    made = make("x", "x", 0, 0, "x", "x", None, None)
    with pytest.raises(DataError, match="created_at"):
        check({field: value for field, value in made.items() if field != "created_at"}, made, "m.json")


def test_all_differences_come_at_once_unknown_fields_among_them():
    with pytest.raises(DataError) as error:
        check(MADE | {"chunk_count": 1, "created_at": "x", "zoo": 1, "note": 2}, MADE, "m.json")
    assert [fault.rule.split(" is ")[0] for fault in error.value.faults] == ["'note'", "'zoo'", "chunk_count", "created_at"]


@pytest.mark.parametrize("content", ["", "[]", "7", "{", '{"a": 1', '{"a": 1, "a": 2}', '{"a": NaN}', "not json"])
def test_a_file_that_is_no_manifest_is_refused(content, tmp_path):
    path = tmp_path / "m.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match="it is no manifest: .*; write it with the manifest command"):
        read(str(path))


def test_b109_pickle_bytes_are_refused_and_never_loaded(tmp_path):
    path = tmp_path / "m.json"
    path.write_bytes(b"\x80\x04\x95\x00.")
    with pytest.raises(DataError, match="not UTF-8"):
        read(str(path))


def test_b104_the_stamp_is_of_the_documents_that_were_indexed_whatever_the_catalog_holds_by_now():
    lab = build_lab("starboat")
    lab.catalog.withdraw("plans-3.2", 3)
    lab.catalog.publish(lab.docs["faq-3.2-sso"]._replace(version=3, text="x", content_digest="0" * 16), 2)
    assert lab.manifest == MADE


# --- through the command ----------------------------------------------------------------------------------------------

def replaced(path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


INGREDIENTS = {   # ingredient -> (file, what it says, what it says instead, the fields that differ besides index_id)
    "chunker": ("corpus.toml", '"structure"', '"structure_with_prefix"', ["chunker_version", "content_digest"]),   # the prefix is searched
    "windows": ("corpus.toml", '"structure"', '"fixed"', ["chunk_count", "chunker_version", "content_digest"]),
    "encoder": ("corpus.toml", '"concepts"', '"hashed"', ["embedding_dimension", "embedding_model_id"]),
    "clock": ("corpus.toml", "clock = 2026-08-27", "clock = 2026-08-28", ["created_at"]),
    "a word": ("product/plans-2.8.md", "100 个席位", "200 个席位", ["catalog_snapshot_id", "content_digest"]),
    "a version": ("product/plans-2.8.md", "version = 6", "version = 7", ["catalog_snapshot_id"]),
    "a hidden word": ("internal/runbook-3.2-support.md", "只读检查", "只读核查", ["catalog_snapshot_id", "content_digest"]),
}


@pytest.mark.parametrize("file, old, new, fields", INGREDIENTS.values(), ids=INGREDIENTS)
def test_a_manifest_is_refused_when_one_ingredient_of_the_corpus_changed(file, old, new, fields, tmp_path):
    corpus = tmp_path / "starboat"
    shutil.copytree(STARBOAT, corpus)
    path = kept(tmp_path, cli.run(["manifest", "--corpus", str(corpus)])[0])
    replaced(corpus / file, old, new)
    with pytest.raises(DataError) as error:
        cli.run(["manifest", "--corpus", str(corpus), "--check", path])
    assert [re.match(r"(\w+) is .*, expected ", fault.rule)[1]
            for fault in error.value.faults] == sorted(["index_id", *fields])


def test_a_document_more_or_less_is_refused(tmp_path):
    corpus = tmp_path / "starboat"
    shutil.copytree(STARBOAT, corpus)
    (corpus / "product" / "plans-2.8.md").unlink()
    with pytest.raises(DataError, match="document_count is 18, expected 17"):
        cli.run(["manifest", "--corpus", str(corpus), "--check", kept(tmp_path, MADE)])


def test_the_command_prints_the_manifest_and_takes_it_back_with_exit_code_0(tmp_path):
    made = manifest_command("--corpus", "starboat")
    assert (made.returncode, made.stderr) == (0, "") and json.loads(made.stdout) == MADE
    path = tmp_path / "kept.json"
    path.write_text(made.stdout, encoding="utf-8")
    assert manifest_command("--corpus", "starboat", "--check", str(path)).returncode == 0


@pytest.mark.parametrize("content, told", [
    (json.dumps(MADE | {"chunk_count": 1}), f"chunk_count is 1, expected {MADE['chunk_count']}; {REMEDY}"),
    (json.dumps(MADE | {"extra": 1}), "'extra' is no field of a manifest"), (json.dumps(MADE)[:100], "it is no manifest"),
    ("", "it is no manifest")])
def test_the_command_refuses_with_exit_code_1_nothing_on_stdout_and_no_traceback(content, told, tmp_path):
    path = tmp_path / "kept.json"
    path.write_text(content, encoding="utf-8")
    done = manifest_command("--corpus", "starboat", "--check", str(path))
    assert (done.returncode, done.stdout) == (1, "") and told in done.stderr and "Traceback" not in done.stderr


def test_a_file_that_is_not_there_is_a_fault_of_the_data(tmp_path):
    done = manifest_command("--corpus", "starboat", "--check", str(tmp_path / "none.json"))
    assert (done.returncode, done.stdout) == (1, "") and "cannot be read" in done.stderr
