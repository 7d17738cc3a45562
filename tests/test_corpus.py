"""Files into documents: a good corpus reads the same however it was saved; a broken one tells every fault at once."""
import os
from datetime import datetime, timedelta, timezone

import pytest

from rag_lab import DataError, Scope, UsageError, build_lab
from rag_lab.catalog import Catalog
from rag_lab.corpus import load_corpus
from rag_lab.model import Fact

SETTINGS = """name = "small"
clock = 2026-10-19T09:00:00+08:00

[defaults]
tenant = "t"
roles = ["r"]

[scope]
tenant = "t"
roles = ["r"]
"""
POLICY = """+++
id = "policy"
title = "退款政策"
version = 7
status = "retired"
valid_from = 2026-08-01T00:00:00+08:00
valid_to = "2026-09-01T00:00:00Z"
applies_from = "3.2"
applies_to = "3.10"
trust = "community"
kind = "policy"
topic = "退款"
language = "zh"

[[facts]]
id = "window"
quote = "180 天内可提交"
+++
付款之日起 180 天内可提交退款申请。

虚拟商品不支持退款。
"""
NOTICE = """+++
id = "notice"
title = "Notice"
tenant = "other"
roles = ["lead", "auditor"]
+++
A text.
"""


def write(folder, files, settings=SETTINGS) -> str:
    """A corpus folder of these files (text or bytes); its path."""
    for name, content in {"corpus.toml": settings, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return str(folder)


def write_rows(folder, *rows) -> str:
    """A JSONL corpus of these rows (text or bytes); its path."""
    path = folder / "rows.jsonl"
    path.write_bytes(b"\n".join(row.encode("utf-8") if isinstance(row, str) else row for row in rows) + b"\n")
    return str(path)


def faults_of(path) -> tuple:
    with pytest.raises(DataError) as caught:
        load_corpus(path)
    return caught.value.faults


def note(head="", text="正文。", doc_id="a") -> str:
    """A small Markdown document; `head` stands from line 4 on."""
    return f'+++\nid = "{doc_id}"\ntitle = "标题"\n{head}\n+++\n{text}\n'


# --- a good corpus --------------------------------------------------------------------------------------------------

def test_every_field_of_a_document_is_read(tmp_path):
    policy = load_corpus(write(tmp_path, {"billing/policy.md": POLICY})).documents[0]
    day = timezone(timedelta(hours=8))
    assert policy._replace(content_digest="") == (
        "policy", "退款政策", "付款之日起 180 天内可提交退款申请。\n\n虚拟商品不支持退款。", "small/billing/policy.md", 7, "", "t", ("r",),
        "retired", datetime(2026, 8, 1, tzinfo=day), datetime(2026, 9, 1, tzinfo=timezone.utc), "3.2", "3.10", "community",
        "policy", "退款", "zh", (Fact("window", "180 天内可提交"),), None, None, None)


def test_settings_are_read(tmp_path):
    settings = load_corpus(write(tmp_path, {"a.md": NOTICE}, SETTINGS + "[bm25]\nk1 = 2\nb = 0.5\n")).settings
    assert (settings.name, settings.clock, settings.k1, settings.b) == ("small", "2026-10-19T09:00:00+08:00", 2, 0.5)
    assert settings.scope == Scope("t", ("r",))


def test_what_a_corpus_says_of_retrieval_is_read(tmp_path):
    lines = ("[retrieval]", 'encoder = "concepts"', 'reranker = "governed"', "k = 3", "pool = 9", "threshold = 0.27",
             'threshold_on = "each_result"')
    settings = load_corpus(write(tmp_path, {"a.md": NOTICE}, SETTINGS + "\n".join(lines) + "\n")).settings
    assert (settings.encoder, settings.reranker) == ("concepts", "governed")
    assert settings.settings == {"k": 3, "pool": 9, "threshold": 0.27, "threshold_on": "each_result"}


def test_a_corpus_that_says_nothing_of_retrieval_has_what_it_always_had(tmp_path):
    settings = load_corpus(write(tmp_path, {"a.md": NOTICE})).settings
    assert (settings.chunker, settings.encoder, settings.reranker, settings.settings) == ("whole", "hashed", "coverage", {})


@pytest.mark.parametrize("line", [
    'encoder = "openai"', 'reranker = "cross"', "k = 0", "k = 1.0", "k = true", "pool = 0", "threshold = 1.5",
    "threshold = -0.1", "threshold = nan", 'threshold = "0.3"', 'threshold_on = "none"', "rrf = 60"])
def test_a_wrong_field_of_retrieval_is_a_fault_with_its_line(tmp_path, line):
    path = write(tmp_path, {"a.md": NOTICE}, SETTINGS + "[retrieval]\n" + line + "\n")
    assert [(os.path.basename(fault.path), fault.line) for fault in faults_of(path)] == [("corpus.toml", 12)]


def test_what_a_document_says_goes_before_the_defaults(tmp_path):
    notice = load_corpus(write(tmp_path, {"a.md": NOTICE})).documents[0]
    assert (notice.tenant, notice.roles, notice.version, notice.status) == ("other", ("lead", "auditor"), 1, "active")


def test_documents_come_in_id_order_and_not_in_file_order(tmp_path):
    corpus = load_corpus(write(tmp_path, {"1.md": note(doc_id="b"), "2.md": note(doc_id="B"), "3.md": note(doc_id="a")}))
    assert [document.doc_id for document in corpus.documents] == ["B", "a", "b"]


@pytest.mark.parametrize("reorder", [reversed, lambda names: sorted(names, key=lambda name: name[::-1])])
def test_files_read_in_any_order_give_the_same_corpus(tmp_path, monkeypatch, reorder):
    path = write(tmp_path, {f"{folder}/{name}.md": note(doc_id=f"{name}{folder}") for folder in "xyz" for name in "abc"})
    before, walk = load_corpus(path), os.walk
    monkeypatch.setattr(os, "walk", lambda *args, **options: [(at, folders, list(reorder(names)))
                                                   for at, folders, names in reversed(list(walk(*args, **options)))])
    assert load_corpus(path) == before and len(before.documents) == 9


def as_windows(text: str) -> bytes:
    return b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode("utf-8")


def as_old_mac(text: str) -> bytes:
    return text.replace("\n", "\r").encode("utf-8")


@pytest.mark.parametrize("save", [as_windows, as_old_mac])
def test_b029_bom_and_line_ends_are_read_as_if_they_were_not_there(tmp_path, save):
    files = {"policy.md": POLICY, "b/notice.md": NOTICE}
    plain = load_corpus(write(tmp_path / "plain", files))
    saved = load_corpus(write(tmp_path / "saved", {name: save(text) for name, text in files.items()}, save(SETTINGS)))
    assert saved == plain     # texts, offsets of facts, content digests, settings


def test_b029_bom_and_line_ends_change_nothing_in_a_jsonl_file(tmp_path):
    rows = '{"_id": "a", "title": "A", "text": "one\\ntwo"}\n{"_id": "b", "text": "three"}\n'
    for folder, data in (("plain", rows.encode()), ("saved", as_windows(rows + "\n"))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rows.jsonl").write_bytes(data)
    assert load_corpus(str(tmp_path / "plain" / "rows.jsonl")) == load_corpus(str(tmp_path / "saved" / "rows.jsonl"))


def test_blank_lines_around_a_text_are_no_part_of_it(tmp_path):
    assert load_corpus(write(tmp_path, {"a.md": note(text="\n\n  正文 \n\n")})).documents[0].text == "  正文"


def test_the_content_digest_changes_with_title_and_text_and_with_nothing_else(tmp_path):
    texts = [note(), note("version = 2"), note(text="正文！"), note().replace("标题", "题目")]
    first, governed, edited, retitled = (
        load_corpus(write(tmp_path / str(at), {"a.md": text})).documents[0].content_digest for at, text in enumerate(texts))
    assert first == governed and len({first, edited, retitled}) == 3


def test_a_beir_folder_is_read_and_its_metadata_governs_nothing(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "007", "title": "", "text": "x", "metadata": {"tenant": "other", "anything": 1}}\n', encoding="utf-8")
    document = load_corpus(str(tmp_path)).documents[0]
    assert (document.doc_id, document.title, document.tenant, document.roles) == ("007", "", "local", ("reader",))


def test_b098_the_order_of_keys_in_a_row_changes_nothing(tmp_path):
    (tmp_path / "x").mkdir(), (tmp_path / "y").mkdir()
    one = load_corpus(write_rows(tmp_path / "x", '{"_id": "a", "title": "T", "text": "x", "kind": "k", "topic": "p"}'))
    other = load_corpus(write_rows(tmp_path / "y", '{"topic": "p", "kind": "k", "text": "x", "title": "T", "_id": "a"}'))
    assert one.documents == other.documents
    scope = Scope("local", ("reader",))
    assert Catalog(one.documents).eligible(scope).digest == Catalog(other.documents).eligible(scope).digest


def test_b136_a_row_of_300_000_characters_loads_whole(tmp_path):
    text = "退款 " * 100_000
    assert load_corpus(write_rows(tmp_path, f'{{"_id": "long", "text": "{text}"}}')).documents[0].text == text


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\u0085", "\x1c"], ids=ascii)
def test_b137_a_row_ends_at_a_line_feed_and_nowhere_else(tmp_path, mark):
    escaped = mark if mark > " " else f"\\u{ord(mark):04x}"   # JSON wants ASCII control characters escaped
    path = write_rows(tmp_path, f'{{"_id": "a", "text": "one{escaped}two"}}', '{"_id": "b", "text": "x"}')
    assert [document.text for document in load_corpus(path).documents] == [f"one{mark}two", "x"]


def test_b137_a_markdown_text_keeps_a_line_separator(tmp_path):
    text = "one\u2028two\u0085three"
    assert load_corpus(write(tmp_path, {"a.md": note(text=text)})).documents[0].text == text


def test_b127_a_window_is_compared_in_utc_and_not_by_the_clock_on_the_wall(tmp_path):
    window = "valid_from = 2024-10-27T01:30:00+01:00\nvalid_to = 2024-10-27T01:10:00+00:00"   # 00:30 to 01:10 in UTC
    document = load_corpus(write(tmp_path, {"a.md": note(window)})).documents[0]
    assert document.valid_from.isoformat() == "2024-10-27T01:30:00+01:00"


# --- one fault in a Markdown file -----------------------------------------------------------------------------------

MARKDOWN_FAULTS = [   # content, line of its one fault, what the rule names
    (note('tenent = "t"'), 4, "tenent"),
    (note("kind = faq"), 4, "TOML"),
    (note("kind = "), 4, "TOML"),
    (note('kind = "a"\nkind = "b"'), 5, "TOML"),
    (note('kind = "\\ud83d"'), 4, "TOML"),
    (note("kind = 7"), 4, "7"),
    (note('kind = " "'), 4, "kind"),
    (note('roles = "employee"'), 4, "'employee'"),
    (note('roles = ["a", 1]'), 4, "1"),
    (note("tenant = 7"), 4, "7"),
    (note('status = "deleted"'), 4, "'deleted'"),
    (note('trust = "high"'), 4, "'high'"),
    (note("version = 1.0"), 4, "1.0"),
    (note('version = "3"'), 4, "'3'"),
    (note("version = 0"), 4, "0"),
    (note("applies_from = 3.1"), 4, "3.1"),
    (note('applies_to = "3.x"'), 4, "'3.x'"),
    (note('applies_from = "3.10"\napplies_to = "3.2"'), 5, "3.2"),
    (note("valid_from = 2026-08-01T00:00:00"), 4, "2026-08-01T00:00:00"),
    (note("valid_from = 2026-08-01"), 4, "2026-08-01"),
    (note("valid_from = 00:00:00"), 4, "00:00:00"),
    (note('valid_from = "2026-08-01T00:00:00"'), 4, "2026-08-01T00:00:00"),
    (note("valid_from = 2026-02-30T00:00:00Z"), 4, "TOML"),
    (note("valid_from = 2026-08-01T00:00:00.1234567Z"), 4, "six"),
    (note("valid_from = 2026-08-01t00:00:00.1234567z"), 4, "six"),
    (note('"valid_from" = 2026-08-01T00:00:00.1234567Z'), 4, "six"),
    (note("valid_from = 2026-08-02T00:00:00Z\nvalid_to = 2026-08-01T00:00:00Z"), 5, "valid_to"),
    (note("valid_from = 2024-10-27T01:30:00+01:00\nvalid_to = 2024-10-27T00:30:00+00:00"), 5, "valid_to"),
    (note('\n[[facts]]\nid = "f"\nquote = "不在其中"'), 5, "'f'"),
    (note('\n[[facts]]\nid = "f"\nquote = "正文"\npage = 3'), 5, "facts"),
    (note('facts = "正文"'), 4, "facts"),
    ('+++\nid = "a b"\ntitle = "标题"\n+++\n正文\n', 2, "'a b'"),
    ('+++\nid = 7\ntitle = "标题"\n+++\n正文\n', 2, "7"),
    ('+++\ntitle = "标题"\n+++\n正文\n', 1, "id"),
    ('+++\nid = "a"\n+++\n正文\n', 1, "title"),
    ('+++\nid = "a"\ntitle = "标题"\n+++\n \n\n', 4, "text"),
    ("正文，没有头。\n", 1, "head"),
    ('+++\nid = "a"\ntitle = "标题"\n正文\n', 1, "head"),
    ('---\nid: a\n---\n正文\n', 1, "head"),
    (b'+++\nid = "a"\ntitle = "A"\n+++\ntext \xff\n', 5, "0xff"),
    ("标题".encode("gb18030"), 1, "UTF-8"),
    ("", None, "empty"),
    (" \n\n", None, "empty"),
    (b"\xef\xbb\xbf", None, "empty"),
]


@pytest.mark.parametrize("content, line, named", MARKDOWN_FAULTS, ids=[ascii(row[2]) for row in MARKDOWN_FAULTS])
def test_one_fault_of_a_file_is_told_with_path_line_rule_and_remedy(tmp_path, content, line, named):
    path = write(tmp_path, {"bad.md": content, "good.md": note(doc_id="good")})
    (fault,) = faults_of(path)
    assert (fault.path, fault.line) == (os.path.join(path, "bad.md"), line)
    assert named in fault.rule and fault.remedy


@pytest.mark.parametrize("head", ["version = " + "1" * 5000, "roles = " + "[" * 5000 + "]" * 5000], ids=["digits", "depth"])
def test_a_head_that_the_toml_reader_chokes_on_is_a_fault_too(tmp_path, head):
    (fault,) = faults_of(write(tmp_path, {"bad.md": note(head)}))
    assert fault.path.endswith("bad.md") and fault.remedy


def test_b106_an_id_that_stands_in_two_files_names_both(tmp_path):
    path = write(tmp_path, {"x.md": note(), "y/z.md": note()})
    (fault,) = faults_of(path)
    assert (fault.path, fault.line) == (os.path.join(path, "y", "z.md"), 2)
    assert "'a'" in fault.rule and os.path.join(path, "x.md") in fault.rule


def test_b134_a_file_name_that_is_not_utf8_is_refused(tmp_path):
    path = write(tmp_path, {"good.md": note(doc_id="good")})
    try:
        with open(os.path.join(os.fsencode(path), b"bad-\xff.md"), "wb") as file:
            file.write(note().encode("utf-8"))
    except OSError:
        pytest.skip("this file system keeps no such name")
    (fault,) = faults_of(path)
    assert os.path.basename(os.fsencode(fault.path)) == b"bad-\xff.md" and fault.rule and fault.remedy


def test_a_folder_without_documents_is_a_fault(tmp_path):
    (fault,) = faults_of(write(tmp_path, {}))
    assert fault.path == str(tmp_path) and fault.line is None and ".md" in fault.rule


def test_what_is_no_corpus_at_all_is_a_fault_of_the_call(tmp_path):
    with pytest.raises(UsageError, match="corpus.toml"):
        load_corpus(str(tmp_path))


# --- one fault in corpus.toml ---------------------------------------------------------------------------------------

SETTINGS_FAULTS = [   # corpus.toml, line of its one fault, what the rule names
    (SETTINGS.replace("clock = 2026-10-19T09:00:00+08:00", "clock = 2026-10-19T09:00:00"), 2, "clock"),
    (SETTINGS.replace("clock", "clok"), 2, "clok"),
    (SETTINGS.replace("clock = 2026-10-19T09:00:00+08:00", 'analyzer = "trigram"'), 2, "trigram"),
    (SETTINGS.replace("clock = 2026-10-19T09:00:00+08:00", 'chunker = "window"'), 2, "window"),
    (SETTINGS.replace('name = "small"\n', "\n"), None, "name"),
    (SETTINGS.replace('"small"', '"a b"'), 1, "'a b'"),
    (SETTINGS.replace("[defaults]\ntenant", "[defaults]\ntenent"), 5, "tenent"),
    (SETTINGS.replace('[defaults]\ntenant = "t"\nroles = ["r"]', '[defaults]\ntenant = "t"\nroles = "r"'), 6, "roles"),
    (SETTINGS.replace('[scope]\ntenant = "t"', "[scope]\ntenant = 3"), 9, "3"),
    (SETTINGS.replace('\n[scope]\ntenant = "t"\nroles = ["r"]\n', "\n"), None, "scope"),
    (SETTINGS.replace('[scope]\ntenant = "t"\n', "[scope]\n"), 8, "tenant"),
    (SETTINGS + "[bm25]\nk1 = -1\n", 12, "-1"),
    (SETTINGS + "[bm25]\nb = 1.5\n", 12, "1.5"),
    (SETTINGS + '[bm25]\nk1 = "1.2"\n', 12, "1.2"),
    (SETTINGS + "[bm25]\nk1 = nan\n", 12, "nan"),
    (SETTINGS + "[bm52]\nk1 = 1.2\n", 11, "bm52"),
    ('bm25 = 3\n' + SETTINGS, 1, "bm25"),
    (SETTINGS + "= 3\n", 11, "TOML"),
    (SETTINGS.encode() + b"# \xff\n", 11, "0xff"),
]


@pytest.mark.parametrize("settings, line, named", SETTINGS_FAULTS, ids=[ascii(row[2]) for row in SETTINGS_FAULTS])
def test_one_fault_of_the_settings_is_told_with_its_line(tmp_path, settings, line, named):
    (fault,) = faults_of(write(tmp_path, {"a.md": note()}, settings))
    assert (fault.path, fault.line) == (str(tmp_path / "corpus.toml"), line)
    assert named in fault.rule and fault.remedy


# --- one fault in a JSONL file --------------------------------------------------------------------------------------

def rule_of(folder, row) -> str:
    """The rule that the third line of a JSONL file breaks, its one fault; place and remedy are looked at here."""
    path = write_rows(folder, '{"_id": "good", "text": "x"}', "", row)
    (fault,) = faults_of(path)
    assert (fault.path, fault.line) == (path, 3) and fault.remedy
    return fault.rule


@pytest.mark.parametrize("row, named", [
    ('{"_id": 7, "text": "x"}', "7"), ('{"_id": "x", "text": "x", "version": "3"}', "'3'"),
    ('{"_id": "x", "text": "x", "version": 3.0}', "3.0"), ('{"_id": "x", "text": "x", "roles": "reader"}', "'reader'"),
    ('{"_id": "x", "text": "x", "tenant": 7}', "7"), ('{"_id": "x", "text": "x", "applies_from": 3.1}', "3.1"),
    ('{"_id": "x", "text": 7}', "7")])
def test_b070_a_value_of_another_type_is_refused_at_load(tmp_path, row, named):
    assert named in rule_of(tmp_path, row)


@pytest.mark.parametrize("field", ["tenent", "role", "Tenant", "valid-from", "tenant "])
def test_b074_a_mistyped_field_is_refused_and_never_passed_over(tmp_path, field):
    assert repr(field) in rule_of(tmp_path, f'{{"_id": "x", "text": "x", "{field}": "a"}}')


@pytest.mark.parametrize("doc_id", ["报告, 2024 终版", "a\\tb", " a", "a\u00a0b"])
def test_b091_an_id_with_white_space_is_refused(tmp_path, doc_id):
    assert "id" in rule_of(tmp_path, f'{{"_id": "{doc_id}", "text": "x"}}')


@pytest.mark.parametrize("field", ["valid_from", "valid_to"])
def test_b122_a_time_without_an_offset_is_refused_with_its_row(tmp_path, field):
    assert "2024-05-01T10:00:00" in rule_of(tmp_path, f'{{"_id": "x", "text": "x", "{field}": "2024-05-01T10:00:00"}}')


@pytest.mark.parametrize("field", ["valid_from", "valid_to"])
def test_b128_a_date_alone_is_refused_with_its_row(tmp_path, field):
    assert "2024-12-31" in rule_of(tmp_path, f'{{"_id": "x", "text": "x", "{field}": "2024-12-31"}}')


@pytest.mark.parametrize("row", [
    '{"_id": "x", "text": "\\ud83d"}', '{"_id": "\\udfff", "text": "x"}', '{"_id": "x", "text": "x", "\\udc00": 1}',
    '{"_id": "x", "text": "x", "metadata": {"a": ["\\udfff"]}}', '{"_id": "x", "text": "\\udd00\\ud83d"}'])
def test_b134_a_lone_surrogate_is_refused_with_its_row(tmp_path, row):
    assert "surrogate" in rule_of(tmp_path, row)


def test_b134_a_whole_surrogate_pair_is_the_character_that_it_means(tmp_path):
    assert load_corpus(write_rows(tmp_path, '{"_id": "x", "text": "\\ud83d\\ude00"}')).documents[0].text == "😀"


@pytest.mark.parametrize("row, named", [
    ('{"tenant": "a", "tenant": "b", "_id": "x", "text": "x"}', "'tenant'"),
    ('{"tenant": "a", "\\u0074enant": "b", "_id": "x", "text": "x"}', "'tenant'"),
    ('{"_id": "x", "text": "x", "facts": [{"id": "f", "id": "g", "quote": "x"}]}', "'id'"),
    ('{"_id": "x", "text": "x", "metadata": {"a": 1, "a": 1}}', "'a'"),
    ('{"_id": "x", "id": "y", "text": "x"}', "id")])
def test_b140_a_key_that_stands_twice_is_refused(tmp_path, row, named):
    assert named in rule_of(tmp_path, row)


@pytest.mark.parametrize("row, named", [
    pytest.param('{"_id": "x", "text": "x", "version": NaN}', "NaN", id="nan"),
    pytest.param('{"_id": "x", "text": "x", "version": -Infinity}', "Infinity", id="infinity"),
    pytest.param('{"_id": "x", "text": "x", "version": 1e400}', "version", id="overflow"),
    pytest.param('{"_id": "x", "text": "x", "version": ' + "1" * 5000 + "}", "digits", id="too-many-digits"),
    pytest.param('{"_id": "x", "text": "x", "kind": ' + "[" * 100_000 + "]" * 100_000 + "}", "deep", id="too-deep"),
    pytest.param('["x"]', "object", id="list"),
    pytest.param('"x"', "object", id="string"),
    pytest.param("null", "object", id="null"),
    pytest.param('{"_id": "x", "text": "x"', "read", id="cut-off"),
    pytest.param('{"_id": "x", "text": "x"} {}', "read", id="two-in-a-row"),
    pytest.param('{"_id": "", "text": "x"}', "''", id="blank-id"),
    pytest.param('{"text": "x"}', "id", id="no-id"),
    pytest.param('{"_id": null, "text": "x"}', "id", id="null-id"),
    pytest.param('{"_id": "x"}', "text", id="no-text"),
    pytest.param('{"_id": "x", "text": null}', "text", id="null-text"),
    pytest.param('{"_id": "good", "text": "x"}', "'good'", id="id-twice")])
def test_one_fault_of_a_row_is_told_with_its_line(tmp_path, row, named):
    assert named in rule_of(tmp_path, row)


def test_bytes_of_a_row_that_are_not_utf8_are_told_with_its_line(tmp_path):
    path = write_rows(tmp_path, '{"_id": "a", "text": "x"}', b'{"_id": "b", "text": "\xff"}')
    assert [(fault.path, fault.line) for fault in faults_of(path)] == [(path, 2)]


def test_a_file_without_rows_is_a_fault(tmp_path):
    path = write_rows(tmp_path, "", "")
    assert [(fault.path, fault.line) for fault in faults_of(path)] == [(path, None)]


# --- many faults ----------------------------------------------------------------------------------------------------

BROKEN = {"b.md": note('tenent = "t"\nversion = 1.0\nvalid_from = 2026-08-01T00:00:00.1234567Z', doc_id="b"), "a.md": "",
          "c/d.md": note('roles = "r"', doc_id="b"), "e.md": b"\xff", "good.md": note(doc_id="good")}


def test_all_faults_of_all_files_arrive_in_one_error_in_the_order_of_path_and_line(tmp_path):
    path = write(tmp_path, BROKEN, SETTINGS + "[bm25]\nb = 2\n")
    assert [(os.path.relpath(fault.path, path), fault.line) for fault in faults_of(path)] == [
        ("a.md", None), ("b.md", 4), ("b.md", 5), ("b.md", 6), ("c/d.md", 2), ("c/d.md", 4), ("corpus.toml", 12),
        ("e.md", 1)]


@pytest.mark.parametrize("settings", ["= 3\n", b"\xff\n"])
def test_the_faults_of_the_documents_are_told_even_if_the_settings_cannot_be_read(tmp_path, settings):
    path = write(tmp_path, {"a.md": note('tenent = "t"')}, settings)
    assert [(os.path.basename(fault.path), fault.line) for fault in faults_of(path)] == [("a.md", 4), ("corpus.toml", 1)]


def test_the_message_counts_the_faults_and_gives_each_a_line_of_its_own(tmp_path):
    path = write(tmp_path, BROKEN)
    with pytest.raises(DataError) as caught:
        load_corpus(path)
    heading, *lines = str(caught.value).split("\n")
    assert heading.startswith("7 faults") and len(lines) == 7 and caught.value.exit_code == 1
    assert all(line.startswith(path) and "; " in line for line in lines)


def test_the_faults_are_the_same_in_whatever_order_the_files_are_read(tmp_path, monkeypatch):
    path = write(tmp_path, BROKEN)
    before, walk = faults_of(path), os.walk
    monkeypatch.setattr(os, "walk", lambda *args, **options: [(at, folders, names[::-1])
                                                   for at, folders, names in reversed(list(walk(*args, **options)))])
    assert faults_of(path) == before


def test_all_faults_of_all_rows_arrive_in_one_error(tmp_path):
    path = write_rows(tmp_path, "[]", '{"_id": 7, "text": "x", "tenent": "a"}', '{"_id": "good", "text": "x"}', "{")
    assert [fault.line for fault in faults_of(path)] == [1, 2, 2, 4]


# --- the corpus that comes with the lab -----------------------------------------------------------------------------

def test_the_handbook_holds_thirty_documents_over_seven_topics_and_a_notice_that_expires():
    documents = build_lab().catalog.documents
    assert len(documents) == 30
    folders = {document.path.split("/")[1] for document in documents}
    assert {"billing", "deploy", "oncall", "data", "memory", "rag", "sec"} <= folders
    assert [document.doc_id for document in documents if document.valid_to] == ["billing-changelog-2026-08"]
