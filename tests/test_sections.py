"""Blocks under their headings: those that a way of cutting leaves whole. Their spans: see test_chunking."""
from support import document

from rag_lab.chunking import fixed_window, structure
from rag_lab.sections import intact


def test_blocks_that_stand_whole_in_a_chunk_are_counted():
    given = document("d", "```\nab\n```\n\n```\ncdefgh\n```")   # 0..10 and 12..26
    assert intact(given, fixed_window(given, 12), "code") == (1, 2)
    assert intact(given, structure(given), "code") == (2, 2) and intact(given, structure(given), "table") == (0, 0)
