"""How are many queries answered in one run, by one process or by several, so that nobody can tell by how many?

What travels between the processes is plain: the flags of the command line, queries, lines of JSON. Each process opens the
lab for itself, once, when its first query comes. Results are taken in the order of the queries.
"""
import argparse
import contextlib
import functools
import os
from typing import Iterator

from . import evaluation
from .asking import answer, lab_asked, options_of
from .errors import UsageError
from .evaluation import Evaluation, Grades, QueryResult
from .files import json_line
from .trec import Query
from .workers import in_order

BATCH = 8   # queries that travel together


class Asker:
    """The lab of a command line, opened by the process that asks it."""

    def __init__(self, args: argparse.Namespace):
        self.args, self._file = args, _state_of(args.index)

    @functools.cached_property
    def lab(self) -> "Lab":
        """The lab, opened when first asked for. Raises `UsageError` if another index has taken the place of the file."""
        lab = lab_asked(self.args)
        if _state_of(self.args.index) != self._file:
            raise UsageError(f"the index {self.args.index!r} was replaced while it was being opened; run it again")
        return lab

    def line(self, query: Query) -> str:
        """The id of a query and its report, as a line of JSON."""
        return json_line({"id": query.query_id, **answer(self.lab, query.text, self.args)})

    def measured(self, judged: tuple[Query, Grades]) -> QueryResult:
        """What a query with its judgements came to."""
        query, grades = judged
        settings = self.lab.options(**options_of(self.args))
        told = functools.partial(self.lab.fate, tell=False)
        return evaluation.measure(query, self.lab.search(query.text, settings), grades, settings.k, told)


def _state_of(index: str | None) -> tuple | None:
    """What tells the file of an index from one that takes its place."""
    if index is None or not os.path.exists(index):
        return None
    status = os.stat(index)
    return status.st_ino, status.st_size, status.st_mtime_ns


def answers(args: argparse.Namespace, queries: tuple[Query, ...]) -> Iterator[str]:
    """The lines of all queries, one by one as they are made."""
    workers = 1 if args.workers is None else args.workers
    with contextlib.closing(in_order(Asker(args).line, queries, workers, BATCH)) as lines:
        yield from lines


def evaluated(args: argparse.Namespace) -> Evaluation:
    """`Lab.evaluate`, by as many processes as the flags say."""
    lab = lab_asked(args)
    judged, settings = lab.judged(), lab.options(**options_of(args))
    pieces = [(query, judged.qrels[query.query_id]) for query in judged.queries]
    with contextlib.closing(in_order(Asker(args).measured, pieces, args.workers, BATCH)) as results:
        found = evaluation.summed_up(tuple(results), settings)
    return found._replace(receipt=lab.receipt(settings, lab.scope, judged.digest))
