"""Citations that were kept: found again in an edited document, or given up, never quietly moved."""
import json
import random

import pytest
from support import document

from rag_lab.audit import Anchor, reanchor
from rag_lab.citation import cite, verify

HELD = document("d", "甲方同意。乙方同意。", version=3)
QUOTE = cite(HELD, 5, 10)   # 乙方同意。


def edited(text: str, **fields):
    return document("d", text, **{"version": 4, **fields})


def test_a_quote_that_moved_gets_its_new_span_and_version():
    anchor = reanchor(QUOTE, edited("补充。甲方同意。乙方同意。"))
    assert anchor == Anchor("moved", QUOTE._replace(version=4, start=8, end=13), (8,))   # 5 + 3
    assert verify(anchor.citation, edited("补充。甲方同意。乙方同意。")) is None


def test_a_quote_that_stayed_is_unchanged_in_the_new_version():
    assert reanchor(QUOTE, edited("甲方反对。乙方同意。")) == Anchor("unchanged", QUOTE._replace(version=4), (5,))


def test_b028_a_rewritten_quote_is_invalid_and_never_moved():
    assert reanchor(QUOTE, edited("甲方同意。乙方反对。")) == Anchor("invalid", None, ())


@pytest.mark.parametrize("text", ["乙方 同意。", "乙方同意", "乙 方同意。", "乙方同意．", "乙方同\u200b意。", ""])
def test_b028_a_quote_that_only_looks_alike_is_not_taken_for_it(text):
    assert reanchor(QUOTE, edited(text)).status == "invalid"


def test_a_quote_that_stands_several_times_is_ambiguous():
    assert reanchor(QUOTE, edited("乙方同意。乙方同意。")) == Anchor("ambiguous", None, (0, 5))


def test_matches_that_overlap_are_all_counted():
    one = document("d", "哈哈。")
    assert reanchor(cite(one, 0, 2), edited("哈哈哈。")) == Anchor("ambiguous", None, (0, 1))


def test_another_document_is_never_an_anchor():
    assert reanchor(QUOTE, document("e", HELD.text)) == Anchor("invalid", None, ())


def test_an_empty_quote_has_no_anchor():
    assert reanchor(QUOTE._replace(quote="", start=0, end=0), HELD).status == "invalid"


def test_the_old_citation_is_left_as_it_is():
    before = json.dumps(QUOTE._asdict())
    reanchor(QUOTE, edited("补充。甲方同意。乙方同意。"))
    assert json.dumps(QUOTE._asdict()) == before


def test_what_is_reanchored_holds_for_the_edited_document():
    for seed in range(300):
        chance = random.Random(seed)
        text = "".join(chance.choice("甲乙😀。\n") for _ in range(12))
        old = cite(document("d", text), *sorted(chance.sample(range(13), 2)))
        new = edited("".join(chance.choice("甲乙😀。\n") for _ in range(chance.randint(0, 3))) + text + "甲")
        anchor = reanchor(old, new)
        assert all(new.text.startswith(old.quote, at) for at in anchor.matches)
        assert len(anchor.matches) == sum(new.text.startswith(old.quote, at) for at in range(len(new.text)))
        if anchor.citation:
            assert len(anchor.matches) == 1 and verify(anchor.citation, new) is None
