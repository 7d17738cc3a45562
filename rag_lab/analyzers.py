"""By which rule does a text become terms? A corpus names one of two; both keep spans into the text as given.

    bigram   the rule of `text`: words and numbers whole, scripts without spaces in overlapping pairs
    code     for source code: snake_case and camelCase split into their words, such scripts in single characters

Not a choice between good and better: pairs keep word order in Chinese that single characters lose, and `getUserName` is found
by `user` only if names are split.
"""
import functools
import re
from typing import Callable, Iterator, NamedTuple

from .text import CACHED, TermSet, Token, iter_terms, spell, term_set, tokens

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


class Analyzer(NamedTuple):
    """One rule, in the three forms in which it is needed."""

    terms: Callable[[str], Iterator[str]]
    tokens: Callable[[str], list[Token]]
    term_set: TermSet


ANALYZERS = {"bigram": Analyzer(iter_terms, tokens, term_set), "code": Analyzer(code_terms, code_tokens, code_term_set)}


def side_by_side(text: str) -> dict:
    """Every analyzer's tokens of one text with their spans, as a JSON document."""
    rows = {name: [{"term": token.term, "start": token.start, "end": token.end, "text": text[token.start:token.end]}
                   for token in analyzer.tokens(text)] for name, analyzer in ANALYZERS.items()}
    return {"schema": "rag_lab.analyze/1", "text": text, "analyzers": rows}
