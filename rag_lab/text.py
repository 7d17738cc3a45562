"""Which terms does a text hold?

One rule serves documents and queries, so that text pasted from a document finds its source. Nothing here stems, translates
or knows a dictionary. Where the terms stand in the text as it was given: see `spans`.

    fold       compatibility forms (NFKC) and letter case made equal; what cannot be seen is dropped
    classify   each folded character gets a class: letter, digit, Han, kana, Hangul, symbol ...
    tokens     runs of a class become tokens; runs of a script written without spaces become overlapping pairs
"""
import functools
import re
import unicodedata
from bisect import bisect_right
from typing import Callable, Iterator

LONGEST_CLUSTER = 32   # a letter with more accents than any language has is cut: ordering them takes quadratic time
CACHED = 8192   # texts whose terms, sentences and squeezed form are kept: an evaluation meets the same ones again and again


# --- fold: what shall compare equal ---------------------------------------------------------------------------------

_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−⁃"), "-")
_INVISIBLE = frozenset(  # dropped like the format characters (category Cf): grapheme joiner, Hangul fillers, variation
    point for low, high in (  # selectors, enclosing marks (keycaps), skin tones
        (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x20DD, 0x20E4), (0x3164, 0x3164),
        (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0x1F3FB, 0x1F3FF), (0xE0100, 0xE01EF)) for point in range(low, high + 1))
_JOIN = "\uffff"  # a code point that no text may hold: stands for "this character belongs to the one before"


def invisible(char: str) -> bool:
    """Whether a character cannot be seen, and so takes no part in comparing."""
    return unicodedata.category(char) == "Cf" or ord(char) in _INVISIBLE


def _joins(char: str) -> bool:
    """Whether `char` may fuse with the character before it: an accent, a half-width voice mark, a Hangul vowel or tail."""
    first = unicodedata.normalize("NFKD", char)[0]
    return unicodedata.category(first)[0] == "M" or 0x1161 <= ord(first) <= 0x11FF


def fold_cluster(cluster: str) -> str:
    """The folded form of one of the `clusters` of a text."""
    folded, before = cluster, None
    while folded != before:   # once is enough for most; a few characters fold into what folds again
        before = folded
        seen = "".join(char for char in folded if not invisible(char))
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold()).translate(_DASHES)
    return folded


class _FoldTable(dict):
    """code point -> its folded form, worked out when first met; `_JOIN` if it depends on the character before."""

    def __missing__(self, point: int) -> str:
        char = chr(point)
        folded = "" if invisible(char) else _JOIN if _joins(char) else fold_cluster(char)
        self[point] = folded
        return folded


_FOLD = _FoldTable()


def fold(text: str) -> str:
    """The form in which two texts are compared: NFKC, casefolded, dashes alike, invisible characters gone."""
    folded = text.translate(_FOLD)
    if _JOIN in folded:
        return "".join(fold_cluster(text[start:end]) for start, end in clusters(text))
    return folded


def clusters(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the smallest pieces that fold independently: a character with all that fuses with it.

    What cannot be seen does not keep an accent from its letter; where nothing fuses it stands in no span.
    """
    start = end = 0
    for at, char in enumerate(text):
        folded = _FOLD[ord(char)]
        if folded == _JOIN and start < end < start + LONGEST_CLUSTER:
            end = at + 1
        elif folded:
            if end > start:
                yield start, end
            start, end = at, at + 1
    if end > start:
        yield start, end


# --- classify: what kind of character is it -------------------------------------------------------------------------

_SCRIPTS = (  # (first, last, class) of the scripts written without spaces between words, in code-point order
    (0x0E01, 0x0E3A, "T"), (0x0E40, 0x0E4E, "T"), (0x0E80, 0x0ECE, "T"), (0x1000, 0x109F, "T"),    # Thai, Lao, Myanmar
    (0x1100, 0x11FF, "G"), (0x1780, 0x17D3, "T"), (0x2E80, 0x2FDF, "H"), (0x3005, 0x3007, "H"),    # Jamo, Khmer, Han
    (0x3021, 0x3029, "H"), (0x3031, 0x3035, "K"), (0x3038, 0x303B, "H"), (0x3041, 0x3096, "K"),    # Han, kana
    (0x309D, 0x309F, "K"), (0x30A1, 0x30FA, "K"), (0x30FC, 0x30FF, "K"), (0x3105, 0x312F, "B"),    # kana, Bopomofo
    (0x3131, 0x318E, "G"), (0x31A0, 0x31BF, "B"), (0x31F0, 0x31FF, "K"), (0x3400, 0x4DBF, "H"),    # Jamo, kana, Han
    (0x4E00, 0x9FFF, "H"), (0xA000, 0xA4CF, "Y"), (0xA960, 0xA97F, "G"), (0xAC00, 0xD7FF, "G"),    # Han, Yi, Hangul
    (0xF900, 0xFAFF, "H"), (0x16FE2, 0x16FE3, "H"), (0x17000, 0x18DFF, "X"),                       # Han, Tangut
    (0x1AFF0, 0x1B16F, "K"), (0x20000, 0x3FFFD, "H"),                                              # kana, Han
)
_FIRST_POINTS = [first for first, _, _ in _SCRIPTS]
_PAIRED = "HKGBYXT"   # a run of one of these classes is cut into overlapping pairs


_SYMBOLS = (  # blocks of arrows, signs and pictures, whose characters are symbols also where Python does not know them yet
    (0x2190, 0x21FF), (0x2300, 0x23FF), (0x25A0, 0x27BF), (0x2900, 0x297F), (0x2B00, 0x2BFF), (0x1F000, 0x1FAFF))


def _character_class(point: int) -> str:
    category = unicodedata.category(chr(point))
    if category[0] in "PZ" or category in ("Cc", "Cs", "Co") or point == 0x2800:   # the last: a blank Braille cell
        return "." if point == 0x2E else " "
    first, last, script = _SCRIPTS[bisect_right(_FIRST_POINTS, point) - 1]
    if first <= point <= last:
        return script
    if category == "Nd":
        return "9"
    if any(low <= point <= high for low, high in _SYMBOLS) or category == "So":
        return "s"
    return {"L": "a", "N": "a", "M": "m"}.get(category[0], " ")


class _ClassTable(dict):
    """code point of a folded character -> its class letter, worked out when first met."""

    def __missing__(self, point: int) -> str:
        self[point] = name = _character_class(point)
        return name


_CLASS = _ClassTable()

# Possessive repeats (`++`) keep the time linear whatever the text. In order: a decimal or version number (3.2, 10.0.1);
# a word of letters and digits that stops before such a number; a run of each unspaced script; one symbol (an emoji).
_RUN = re.compile(r"9++(?:\.9++)++|(?:a[am]*+|9++(?!\.9))++|H++|K++|G++|B++|Y++|X++|T++|s")


# --- tokens ---------------------------------------------------------------------------------------------------------

def token_spans(folded: str, width: int = 2) -> Iterator[tuple[int, int]]:
    """Spans of the tokens in folded text, in order; those of scripts without spaces hold `width` characters."""
    classes = folded.translate(_CLASS)
    for run in _RUN.finditer(classes):
        start, end = run.span()
        if classes[start] in _PAIRED and end - start > width:
            for at in range(start, end - width + 1):
                yield at, at + width
        else:
            yield start, end


def iter_terms(text: str) -> Iterator[str]:
    """The terms of a text in order, repeats kept, one at a time: a long text need not be held as a list."""
    folded = fold(text)
    return (folded[start:end] for start, end in token_spans(folded))


def terms(text: str) -> list[str]:
    """The terms of a text in order, repeats kept.

    >>> terms("P0 故障响应, v3.2")
    ['p0', '故障', '障响', '响应', 'v', '3.2']
    """
    return list(iter_terms(text))


def unspaced(term: str) -> bool:
    """Whether a term belongs to a script written without spaces, which is indexed in pairs."""
    return _CLASS[ord(term[0])] in _PAIRED


TermSet = Callable[[str], frozenset[str]]   # the different terms of a text, for asking whether it holds one


@functools.lru_cache(maxsize=CACHED)
def term_set(text: str) -> frozenset[str]:
    """The different terms of a text, for asking whether it holds one; never walked in order."""
    return frozenset(iter_terms(text))


@functools.lru_cache(maxsize=CACHED)
def squeeze(text: str) -> str:
    """Folded text without white space, and without punctuation at its two ends: the form in which phrases are sought."""
    folded = "".join(fold(text).split())
    words = [at for at, kind in enumerate(folded.translate(_CLASS)) if kind not in " .m"]
    return folded[words[0]:words[-1] + 1] if words else ""


# --- sentences ------------------------------------------------------------------------------------------------------

_CLOSERS = "”’」』）】》\"')\\]"
_SENTENCE_END = re.compile(rf"[。！？!?]+[{_CLOSERS}]*|\.[{_CLOSERS}]*(?=\s|$)")
_BLOCK_LINE = re.compile(r"[ \t]*(?:#|\||>|[-*+] |\d+[.)] |```|~~~)")


@functools.lru_cache(maxsize=CACHED)
def sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Spans of the sentences of a text, in order, without the white space around them.

    A sentence ends after 。！？!? (with a closing quote or bracket behind it), after a full stop before white space, at an
    empty line, and where a Markdown heading, list item, table row or quotation begins or ends. A line that merely wraps
    does not end one.
    """
    spans = []
    for low, high in _blocks(text):
        start = low
        for end in [match.end() for match in _SENTENCE_END.finditer(text, low, high)] + [high]:
            piece = text[start:end]
            if piece.strip():
                spans.append((start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())))
            start = end
    return tuple(spans)


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the stretches of lines within which a sentence may run on from line to line."""
    start = at = 0
    alone = False  # whether the line before stands for itself
    for line in text.split("\n"):
        structural = bool(_BLOCK_LINE.match(line)) or not line.strip()
        if (structural or alone) and at > start:
            yield start, at
            start = at
        alone = structural
        at += len(line) + 1
    if start < len(text):
        yield start, len(text)
