"""By which rule does a text become terms? A corpus names one of two.

    bigram   the rule of `text`: words and numbers whole, scripts without spaces in overlapping pairs
    code     the rule of `source_code`: snake_case and camelCase split into their words, such scripts in single characters

Not a choice between good and better: pairs keep word order in Chinese that single characters lose, and `getUserName` is
found by `user` only if names are split.
"""
from typing import Callable, Iterator, NamedTuple

from .text import TermSet, iter_terms, term_set

ANALYZERS = ("bigram", "code")

class Analyzer(NamedTuple):
    """One rule, in the two forms in which a query needs it."""

    terms: Callable[[str], Iterator[str]]
    term_set: TermSet


def analyzer_of(name: str) -> Analyzer:
    """The rule of this name, one of `ANALYZERS`."""
    if name == "bigram":
        return Analyzer(iter_terms, term_set)
    from .source_code import code_term_set, code_terms   # here, for few corpora hold source code
    return Analyzer(code_terms, code_term_set)


def side_by_side(text: str) -> dict:
    """Every analyzer's tokens of one text with their spans, as a JSON document."""
    from .source_code import code_tokens   # here, like the next, for a query needs no spans
    from .spans import tokens
    rows = {name: [{"term": token.term, "start": token.start, "end": token.end, "text": text[token.start:token.end]}
                   for token in found] for name, found in (("bigram", tokens(text)), ("code", code_tokens(text)))}
    return {"schema": "rag_lab.analyze/1", "text": text, "analyzers": rows}
