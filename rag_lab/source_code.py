"""Which terms does source code hold? Names are split into their words, scripts without spaces into single characters."""
import functools
import re
from typing import Iterator

from .spans import Token, spell, tokens
from .text import CACHED

# An acronym before a capitalised word, a word with or without its capital, a run of capitals, or a number.
_WORD_IN_NAME = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+(?:\.\d+)*")


def code_tokens(text: str) -> list[Token]:
    """The terms of a text read as source code, in order, each with its span.

    >>> [token.term for token in code_tokens("getUserName parse_HTTPResponse 重试 v3.2")]
    ['get', 'user', 'name', 'parse', 'http', 'response', '重', '试', 'v', '3.2']
    """
    found: list[Token] = []
    for token in tokens(text, width=1):
        name, starts, ends = spell(text[token.start:token.end])
        if name.isascii():
            found += [Token(part[0].lower(), token.start + starts[part.start()], token.start + ends[part.end() - 1])
                      for part in _WORD_IN_NAME.finditer(name)]
        else:
            found.append(token)
    return found


def code_terms(text: str) -> Iterator[str]:
    """The terms of `code_tokens`."""
    return (token.term for token in code_tokens(text))


@functools.lru_cache(maxsize=CACHED)
def code_term_set(text: str) -> frozenset[str]:
    """The different terms of `code_tokens`, for asking whether a text holds one."""
    return frozenset(code_terms(text))
