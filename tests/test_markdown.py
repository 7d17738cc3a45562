"""Markdown blocks: what a heading, table, list, code block and paragraph is, where each stands, and random texts."""
import random

import pytest

from rag_lab.markdown import blocks


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in blocks(text)]


PIECES = ["# 甲", "## 乙 ##", "### C#", "#标签", "段落一。", "another line", "| a | b |\n| --- | --- |\n| 1 | 2 |", "- 一\n- 二\n  续",
          "1. 一\n   ```\n   # 内\n   ```\n2. 二", "```sh\n# 注释\n\n- x\n```", "~~~\n```\n~~~", "> 引用", "a | b", "   ", "\u3000",
          "    缩进", "* * *", "````\n```\n````"]


def random_markdown(seed: int) -> str:
    """Blocks of every kind in any order, with a blank line between them or none; now and then a fence that never closes."""
    choose = random.Random(seed)
    text = "".join(choose.choice(PIECES) + choose.choice(["\n", "\n\n", "\n\n\n"]) for _ in range(choose.randint(0, 9)))
    return text + (choose.choice(["", "```\n# 未闭合\n\n| a |", "末行"]))


# --- what each block is -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("line, level, words", [
    ("# 标题", 1, "标题"), ("###### 六", 6, "六"), ("## 乙 ##", 2, "乙"), ("# C#", 1, "C#"), ("   ## 三格", 2, "三格"), ("#", 1, ""),
    ("## 乙 # #", 2, "乙 #"), ("#\t制表", 1, "制表"), ("### ###", 3, "")])
def test_a_heading_has_a_level_and_words_without_the_marks(line, level, words):
    (block,) = blocks(line)
    assert (block.kind, block.level, block.heading, block.text) == ("heading", level, words, line)


@pytest.mark.parametrize("line", ["#标签", "####### 七", "    # 四格", "C# 语言", "\\# 不是", "标题\n====="])
def test_what_only_looks_like_a_heading_is_a_paragraph(line):
    assert kinds(line) == [("paragraph", line)]


@pytest.mark.parametrize("code", [
    "```\n# 不是标题\n```", "```python\n# a\n\n# b\n```", "~~~\n| a |\n|---|\n~~~", "````\n```\n````", "```\n~~~\n```",
    "~~~\n```\n~~~",
    "```\n``` not alone\n```", "```\n- 不是列表\n`````", "```\nprint(\"\"\"\n    ```\n# x\n\"\"\")\n   ```"])
def test_a_fenced_block_ends_at_the_same_mark_alone_at_least_as_long_and_nothing_in_it_counts(code):
    assert kinds(f"前\n\n{code}\n\n后") == [("paragraph", "前"), ("code", code), ("paragraph", "后")]


def test_a_fence_that_never_closes_runs_to_the_end():
    code = "```\nx\n\n# 仍是代码\n\n- y"
    assert kinds(f"# 甲\n{code}") == [("heading", "# 甲"), ("code", code)]


def test_back_quotes_within_a_line_open_no_fence():
    assert kinds("```x``` 是行内代码\n后") == [("paragraph", "```x``` 是行内代码\n后")]


@pytest.mark.parametrize("table", ["| a | b |\n|---|:-:|\n| 1 | 2 |", "a | b\n--- | ---\n1 | 2", "| a |\n|---|",
                                   "|a|\n|:--|\n|1|\n|2|"])
def test_a_table_is_head_delimiter_and_rows(table):
    assert kinds(f"前\n{table}\n\n后") == [("paragraph", "前"), ("table", table), ("paragraph", "后")]


@pytest.mark.parametrize("lines", ["| a | b |", "a | b\nc | d", "| a |\n\n|---|", "甲|乙\n普通一行"])
def test_column_marks_without_a_delimiter_row_make_no_table(lines):
    assert {kind for kind, _ in kinds(lines)} == {"paragraph"}


@pytest.mark.parametrize("after, kind", [("# 乙", "heading"), ("- 项 | 目", "list"), ("```\n|\n```", "code"),
                                         ("一行字", "paragraph")])
def test_a_table_ends_where_another_block_begins(after, kind):
    table = "| a |\n|---|\n| 1 |"
    assert kinds(f"{table}\n{after}") == [("table", table), (kind, after)]


@pytest.mark.parametrize("items", [
    "- 一\n- 二", "1. 一\n2) 二", "* 一\n\n* 二", "- 一\n续行\n- 二", "- 一\n  - 内\n    - 更内\n- 二",
    "- 一\n\n  ```sh\n  # 注释\n\n  - 不是项\n  ```\n- 二", "1. 一\n   | a |\n   |---|\n2. 二"])
def test_a_list_keeps_all_that_belongs_to_its_items(items):
    assert kinds(f"{items}\n\n段落") == [("list", items), ("paragraph", "段落")]


def test_code_in_an_item_that_holds_a_line_without_indent_stays_whole():
    items = "- 一\n  ```\n# 顶格\n  ```"
    assert kinds(f"{items}\n# 甲") == [("list", items), ("heading", "# 甲")]


def test_a_paragraph_ends_at_a_blank_line_or_where_another_block_begins():
    assert kinds("甲\n乙\n\n丙\n- 丁") == [("paragraph", "甲\n乙"), ("paragraph", "丙"), ("list", "- 丁")]


@pytest.mark.parametrize("text", ["", "\n\n", "   \n\t\n", "\u3000"])
def test_a_text_without_words_has_no_block(text):
    assert blocks(text) == []


# --- spans --------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(300))
def test_blocks_slice_back_rise_and_hold_every_character_that_is_not_blank(seed):
    text = random_markdown(seed)
    found = blocks(text)
    assert all(text[block.start:block.end] == block.text != "" for block in found)
    assert all(one.end <= other.start for one, other in zip(found, found[1:]))
    inside = {at for block in found for at in range(block.start, block.end)}
    assert all(at in inside for at, char in enumerate(text) if not char.isspace())


@pytest.mark.parametrize("seed", range(100))
def test_a_block_begins_and_ends_with_a_whole_line(seed):
    text = random_markdown(seed)
    for block in blocks(text):
        assert text[block.start - 1:block.start] in ("", "\n") and text[block.end:block.end + 1] in ("", "\n")


def test_offsets_count_code_points_also_outside_the_basic_plane():
    (_, block) = blocks("# 😀\n𠮷野家")
    assert (block.start, block.end) == (4, 7)   # "# 😀" is three, the line end one


def test_only_a_line_feed_ends_a_line():
    assert kinds("甲\u2028# 乙\x0b# 丙") == [("paragraph", "甲\u2028# 乙\x0b# 丙")]
