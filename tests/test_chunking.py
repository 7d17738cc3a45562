"""Chunks: spans that slice back, stable ids, whole tables and code, fixed windows, prefixes, and which facts are left."""
import pytest
from support import document
from test_markdown import random_markdown

from rag_lab import UsageError, build_lab
from rag_lab.chunking import (CHUNKERS, Chunks, context_prefix, fixed_window, searchable, structure, structure_with_prefix,
                              version_range, whole)
from rag_lab.markdown import blocks
from rag_lab.model import Fact
from rag_lab.packets import facts_of
from rag_lab.sections import intact

GUIDE = build_lab("starboat").docs["migration-2x-to-3.2"]
STRATEGIES = {**CHUNKERS, "narrow": lambda one: fixed_window(one, 7, 3), "budget": lambda one: structure(one, 5)}
every_strategy = pytest.mark.parametrize("cut", STRATEGIES.values(), ids=STRATEGIES)


def doc(text: str, *quotes: str, **fields):
    """A document with a fact for each quote: f1, f2, ..."""
    return document("d", text, facts=tuple(Fact(f"f{number}", quote) for number, quote in enumerate(quotes, start=1)),
                    **fields)


def texts(chunks) -> list[str]:
    return [chunk.text for chunk in chunks]


def spans(chunks) -> list[tuple[int, int]]:
    return [(chunk.start, chunk.end) for chunk in chunks]


# --- a chunk is a span ----------------------------------------------------------------------------------------------------

@every_strategy
def test_a_chunk_is_a_verbatim_span_of_its_document(cut):
    for seed in range(150):
        given = doc(random_markdown(seed))
        assert all(chunk.text == given.text[chunk.start:chunk.end] for chunk in cut(given))


@every_strategy
def test_ordinals_count_from_one_starts_rise_and_ids_differ(cut):
    for seed in range(150):
        chunks = cut(doc(random_markdown(seed)))
        assert [chunk.ordinal for chunk in chunks] == list(range(1, len(chunks) + 1))
        assert all(one.start < other.start for one, other in zip(chunks, chunks[1:]))
        assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)


@every_strategy
def test_every_chunk_names_the_state_of_the_document_it_was_cut_from(cut):
    given = doc("# 甲\n\n一。\n\n二。")
    assert {(chunk.doc_id, chunk.document_digest) for chunk in cut(given)} == {("d", given.content_digest)}


# --- ids ------------------------------------------------------------------------------------------------------------------

def test_an_edit_elsewhere_leaves_the_id_of_a_chunk_and_changes_its_document_digest():
    before, after = structure(doc("# 甲\n\n一。\n\n二。")), structure(doc("# 甲\n\n一。\n\n贰。"))
    assert before[0].chunk_id == after[0].chunk_id and before[0].document_digest != after[0].document_digest
    assert before[1].chunk_id != after[1].chunk_id and before[1].content_digest != after[1].content_digest


@pytest.mark.parametrize("edited", ["# 甲\n\n壹。", "# 乙\n\n一。", "# 甲\n\n零。\n\n一。"])
def test_another_text_heading_or_place_makes_another_id(edited):
    (first,) = structure(doc("# 甲\n\n一。"))
    assert first.chunk_id not in [chunk.chunk_id for chunk in structure(doc(edited))]


def test_another_document_with_the_same_text_has_other_chunk_ids_and_the_same_content_digest():
    (one,), (other,) = structure(document("a", "同文")), structure(document("b", "同文"))
    assert one.chunk_id != other.chunk_id and one.content_digest == other.content_digest


def test_governance_alone_moves_no_id():
    given = doc("# 甲\n\n一。")
    moved = given._replace(version=9, roles=("x",), status="retired", trust="untrusted", applies_from="9")
    one, other = structure_with_prefix(given), structure_with_prefix(moved)
    assert [chunk.chunk_id for chunk in one] == [chunk.chunk_id for chunk in other]


def test_b022_repeated_text_gets_starts_that_rise_and_ids_that_differ():
    chunks = fixed_window(doc("同意。\n同意。\n同意。最终条款生效"), 4)
    assert spans(chunks) == [(0, 4), (4, 8), (8, 12), (12, 16), (16, 17)]   # 4 + 4 + 9 code points
    assert texts(chunks)[:2] == ["同意。\n", "同意。\n"] and len({chunk.chunk_id for chunk in chunks}) == 5


def test_b022_equal_paragraphs_are_chunks_at_their_own_places():
    assert spans(structure(doc("同意。\n\n同意。\n\n同意。"))) == [(0, 3), (5, 8), (10, 13)]


# --- structure --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(300))
def test_every_character_that_is_not_blank_stands_in_one_chunk_or_in_a_heading_above_one(seed):
    given = doc(random_markdown(seed))
    chunks = structure(given)
    headings = [block for block in blocks(given.text) if block.kind == "heading"
                and (block.start, block.end) not in spans(chunks)]
    for at, char in enumerate(given.text):
        holders = [chunk for chunk in chunks if chunk.start <= at < chunk.end]
        above = [block for block in headings if block.start <= at < block.end]
        assert char.isspace() or len(holders) + len(above) == 1
    for heading in headings:
        assert any(chunk.start > heading.start and heading.heading in chunk.heading_path for chunk in chunks)


@pytest.mark.parametrize("block", ["| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", "- 一\n- 二\n  - 三\n\n- 四",
                                   "```sh\n# 注释\n\n## 又一行\nrun\n```",
                                   "1. 一\n   ```\n   # 内\n\n   x\n   ```\n2. 二", "~~~\n未闭合\n\n# 到底"])
def test_a_table_a_list_and_code_stay_whole_whatever_the_budget(block):
    assert texts(structure(doc(f"## 甲\n\n{block}"), budget=3)) == [block]


def test_a_chunk_carries_the_path_of_its_headings():
    chunks = structure(doc("# 甲\n零\n## 乙\n一\n### 丙\n二\n## 丁\n三\n# 戊\n四"))
    assert [chunk.heading_path for chunk in chunks] == [
        ("甲",), ("甲", "乙"), ("甲", "乙", "丙"), ("甲", "丁"), ("戊",)]
    assert texts(chunks) == ["零", "一", "二", "三", "四"]


def test_a_heading_of_a_lower_level_that_is_left_out_does_not_nest_what_follows():
    assert [chunk.heading_path for chunk in structure(doc("### 丙\n一\n## 乙\n二"))] == [("丙",), ("乙",)]


def test_a_heading_with_nothing_under_it_is_a_chunk_itself():
    chunks = structure(doc("# 甲\n## 空\n## 乙\n一\n## 末"))
    assert [(chunk.text, chunk.heading_path) for chunk in chunks] == [
        ("## 空", ("甲", "空")), ("一", ("甲", "乙")), ("## 末", ("甲", "末"))]


def test_a_first_heading_that_repeats_the_title_opens_no_section():
    given = document("d", "# 题\n\n零\n\n## 乙\n\n一", title="题")
    assert [chunk.heading_path for chunk in structure(given)] == [(), ("乙",)]


def test_a_comment_in_code_is_no_heading():
    assert [chunk.heading_path for chunk in structure(doc("## 甲\n```\n# 乙\n```\n一"))] == [("甲",), ("甲",)]


def test_a_budget_cuts_long_paragraphs_and_leaves_short_ones():
    chunks = structure(doc("## 甲\n\n一二三四五六七\n\n八九"), budget=3)
    assert texts(chunks) == ["一二三", "四五六", "七", "八九"] and {chunk.heading_path for chunk in chunks} == {("甲",)}


# --- whole and fixed windows ------------------------------------------------------------------------------------------

def test_the_whole_document_is_one_chunk_under_its_own_id_with_its_title_searched():
    (chunk,) = whole(document("d", "正文", title="题"))
    assert (chunk.chunk_id, chunk.text, searchable(chunk)) == ("d", "正文", "题\n正文")


def test_an_empty_document_is_one_empty_chunk_or_none():
    assert texts(whole(doc(""))) == [""] and structure(doc("")) == fixed_window(doc(""), 5) == ()


@pytest.mark.parametrize("size, width, overlap, expected", [
    (10, 4, 0, [(0, 4), (4, 8), (8, 10)]), (8, 4, 0, [(0, 4), (4, 8)]), (10, 4, 2, [(0, 4), (2, 6), (4, 8), (6, 10)]),
    (3, 4, 2, [(0, 3)]), (1, 4, 3, [(0, 1)]), (9, 4, 1, [(0, 4), (3, 7), (6, 9)]), (5, 4, 3, [(0, 4), (1, 5)])])
def test_windows_move_on_by_width_less_overlap_and_the_last_reaches_the_end(size, width, overlap, expected):
    assert spans(fixed_window(doc("字" * size), width, overlap)) == expected


@pytest.mark.parametrize("width", range(1, 9))
def test_windows_leave_nothing_out_share_the_overlap_and_none_lies_within_another(width):
    for overlap in range(width):
        for size in range(1, 25):
            found = spans(fixed_window(doc("字" * size), width, overlap))
            assert found[0][0] == 0 and found[-1][1] == size
            assert all(one[1] - other[0] == overlap and one[1] < other[1] for one, other in zip(found, found[1:]))


@pytest.mark.parametrize("width, overlap", [(0, 0), (-1, 0), (4, 4), (4, 5), (4, -1), (True, 0), (4.0, 0), ("4", 0)])
def test_windows_that_could_not_move_on_are_refused(width, overlap):
    with pytest.raises(UsageError):
        fixed_window(doc("一二三"), width, overlap)


@pytest.mark.parametrize("budget", [0, -1, True, 1.5])
def test_a_budget_that_is_no_length_is_refused(budget):
    with pytest.raises(UsageError, match="budget"):
        structure(doc("一"), budget)


# --- context prefix ---------------------------------------------------------------------------------------------------

def test_the_prefix_is_four_lines_of_catalog_fields():
    given = document("d", "## 乙\n\n### 丙\n\n一", title="题", applies_from="3.0", applies_to="3.2")
    (chunk,) = structure_with_prefix(given)
    assert chunk.prefix == "文档：题\n版本：3.0 至 3.2\n章节：乙 / 丙\n---\n" == context_prefix(given, ("乙", "丙"))
    assert searchable(chunk) == chunk.prefix + "一"


def test_a_chunk_without_headings_says_so_in_its_prefix():
    assert "章节：（无标题）" in structure_with_prefix(doc("一"))[0].prefix


@pytest.mark.parametrize("low, high, expected", [
    (None, None, "不限"), ("3.2", "3.2", "3.2"), ("3.0", None, "3.0 起"), (None, "3.2", "至 3.2"), ("2.8", "3.2", "2.8 至 3.2")])
def test_a_version_range_reads_as_a_person_says_it(low, high, expected):
    assert version_range(doc("一", applies_from=low, applies_to=high)) == expected


@pytest.mark.parametrize("seed", range(100))
def test_a_prefix_alters_neither_text_nor_span_nor_id_nor_digest(seed):
    given = doc(random_markdown(seed))
    plain, prefixed = structure(given), structure_with_prefix(given)
    assert tuple(chunk._replace(prefix="") for chunk in prefixed) == plain
    assert all(chunk.prefix and chunk.prefix not in chunk.text for chunk in prefixed)


def test_what_is_searched_of_a_plain_chunk_is_its_headings_and_its_text_on_lines_of_their_own():
    assert searchable(structure(doc("# 甲\n## 乙\n一"))[0]) == "甲\n乙\n一"


# --- the migration guide of chapter 8 ---------------------------------------------------------------------------------

# title 16 + 2, "## SSO 迁移" 9 + 2: the SSO quote stands at 29..93; then 2 + 7 + 2: the members quote at 104..149;
# then 2 + 7 + 2: the table at 160, its head 17 long, so its first row begins at 160 + 18 + 10 = 188.
SSO, MEMBERS, TABLE, FIRST_ROW = (29, 93), (104, 149), 160, 188


def test_the_offsets_of_the_guide_are_those_reckoned_by_hand():
    starts = [GUIDE.text.index(fact.quote) for fact in GUIDE.facts]
    assert [(start, start + len(fact.quote)) for start, fact in zip(starts, GUIDE.facts)] == [SSO, MEMBERS]
    assert (GUIDE.text.index("| 计划"), GUIDE.text.index("| Team")) == (TABLE, FIRST_ROW)


def test_ninety_characters_a_window_cut_the_guide_in_three_and_lose_the_sso_fact():
    chunks = fixed_window(GUIDE, 90)
    assert spans(chunks) == [(0, 90), (90, 180), (180, len(GUIDE.text))] and 180 < len(GUIDE.text) <= 270
    assert [facts_of(chunk, GUIDE) for chunk in chunks] == [(), ("members-preserved-32",), ()]


def test_the_first_border_cuts_the_sso_quote_and_the_second_parts_table_head_from_first_row():
    assert SSO[0] < 90 < SSO[1] and 90 <= MEMBERS[0] and MEMBERS[1] <= 180 and TABLE + 17 <= 180 < FIRST_ROW
    assert intact(GUIDE, fixed_window(GUIDE, 90), "table") == (0, 1)
    assert intact(GUIDE, fixed_window(GUIDE, 90), "code") == (1, 1)


def test_its_structure_has_four_chunks_each_under_its_heading_with_both_facts():
    chunks = structure(GUIDE)
    assert [chunk.heading_path for chunk in chunks] == [("SSO 迁移",), ("成员处理",), ("登录方式",), ("执行命令",)]
    assert [facts_of(chunk, GUIDE) for chunk in chunks] == [("sso-team-32",), ("members-preserved-32",), (), ()]
    assert intact(GUIDE, chunks, "table") == intact(GUIDE, chunks, "code") == (1, 1)


def test_its_chunks_with_prefix_are_the_same_four():
    assert tuple(chunk._replace(prefix="") for chunk in structure_with_prefix(GUIDE)) == structure(GUIDE)
    assert structure_with_prefix(GUIDE)[0].prefix == "文档：2.x 到 3.2 迁移指南\n版本：3.2\n章节：SSO 迁移\n---\n"


# --- the chunks of a corpus -------------------------------------------------------------------------------------------

def test_the_chunks_of_documents_are_those_of_their_ids_in_id_order():
    one, other = document("b", "一\n\n二"), document("a", "三")
    chunks = Chunks([one, other], structure)
    wanted = {"b": one}
    assert chunks.of(wanted) == tuple(sorted(chunk.chunk_id for chunk in structure(one))) and chunks.of({}) == ()
    assert chunks.of(wanted) is chunks.of(wanted) and len(chunks.by_id) == 3
