"""Where in a text, as it was given, does each of its terms stand? Spans are half-open, in code points."""
import unicodedata
from typing import NamedTuple

from .text import clusters, fold_cluster, invisible, token_spans


class Token(NamedTuple):
    """A term and its span [start, end) in the original text, in code points."""

    term: str
    start: int
    end: int


def tokens(text: str, width: int = 2) -> list[Token]:
    """The terms of a text in order, each with its span in the text as given; `width` as in `token_spans`.

    >>> tokens("５㎏ 猫")
    [Token(term='5kg', start=0, end=2), Token(term='猫', start=3, end=4)]
    """
    folded, starts, ends = _fold(text)
    return [Token(folded[start:end], starts[start], ends[end - 1]) for start, end in token_spans(folded, width)]


def _fold(text: str) -> tuple[str, list[int], list[int]]:
    """(folded text, starts, ends): folded character i comes from text[starts[i]:ends[i]]."""
    pieces, starts, ends = [], [], []
    for start, end in clusters(text):
        piece = fold_cluster(text[start:end])
        pieces.append(piece)
        starts += [start] * len(piece)
        ends += [end] * len(piece)
    return "".join(pieces), starts, ends


def spell(text: str) -> tuple[str, list[int], list[int]]:
    """(the text in NFKC form without what cannot be seen, its case kept; starts; ends) as in `_fold`."""
    pieces, starts, ends = [], [], []
    for start, end in clusters(text):
        seen = "".join(char for char in text[start:end] if not invisible(char))
        piece = unicodedata.normalize("NFKC", seen)
        pieces.append(piece)
        starts += [start] * len(piece)
        ends += [end] * len(piece)
    return "".join(pieces), starts, ends
