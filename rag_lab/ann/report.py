"""What did each index find, and what did it look at? All of them over the same corpora, as one JSON document.

Two recalls stand side by side and must not be confused: `recall` is agreement with the exact scan of the same vectors,
`evidence_recall` the share of judged documents among those returned. The first at 1.0 says that an index loses nothing
of what the vectors hold; only the second says whether the vectors hold the evidence. No clock is read here.
"""
from typing import Callable, Iterable, Mapping, NamedTuple

from ..errors import UsageError, whole_number
from ..evaluation import mean, recall_at_k
from ..files import digest
from ..hashed import DIMENSIONS
from ..report import rounded
from .binary import Codes
from .filters import OVER_FETCH, measure_filters, one_in
from .graph import Graph
from .line import line_walks
from .lists import Lists
from .space import Exact, Space, Vector, agreement

SCHEMA = "rag_lab.ann/1"


class Question(NamedTuple):
    """A query with its vector (empty: it can match nothing), and the judged documents if there are any."""

    query_id: str
    vector: Vector
    grades: Mapping[str, int] | None   # document id -> grade; None where nothing is judged


class Subject(NamedTuple):
    """A corpus as the lab sees it: vectors of live units, the document each belongs to, and questions."""

    name: str
    units: tuple[tuple[str, Vector], ...]
    documents: Mapping[str, str]       # unit id -> document id
    questions: tuple[Question, ...]
    left_out: int = 0                  # live units beyond the limit, of which no vector is here


class Options(NamedTuple):
    """The knobs. Budgets rise; each stands for one row of a curve. A share of n means one live unit in n."""

    k: int = 5
    m: int = 12
    ef_construction: int = 64
    ef: tuple[int, ...] = (10, 50, 100, 150, 200, 400)
    probes: tuple[int, ...] = (1, 2, 5, 10, 20, 50)
    candidates: tuple[int, ...] = (10, 20, 50, 100, 200, 500)
    share: int = 10
    filter_budgets: tuple[int, int, int] = (100, 5, 50)   # ef, probes, candidates under the filter
    seed: int = 1


Watch = Callable[[str], None]   # told what has just been done; for talk and times, never for the report


def report(subjects: Iterable[Subject], options: Options = Options(), watch: Watch = lambda done: None) -> dict:
    """The JSON document `rag_lab.ann/1` of these corpora. Raises `UsageError` for options that make no sense."""
    check(options)
    subjects = tuple(subjects)
    return {
        "schema": SCHEMA,
        "line": line_walks(),
        "settings": {**rounded(options._asdict()), "over_fetch": OVER_FETCH, "dimensions": DIMENSIONS},
        "corpora": [rounded(corpus_block(subject, options, watch)) for subject in subjects],
        "receipt": {"corpora": {subject.name: _digest(subject) for subject in subjects},
                    "settings": digest(list(options))},
    }


def check(options: Options) -> None:
    """Raise `UsageError` for an option out of its range."""
    for name, least in (("k", 1), ("m", 2), ("ef_construction", 1), ("share", 1), ("seed", 0)):
        whole_number(name, getattr(options, name), least)
    for name in ("ef", "probes", "candidates", "filter_budgets"):
        budgets = [whole_number(name, budget, 1) for budget in getattr(options, name)]
        if name != "filter_budgets" and (not budgets or budgets != sorted(set(budgets))):
            raise UsageError(f"{name} is {budgets}; write rising numbers, each once")


def _digest(subject: Subject) -> str:
    units = [[unit_id, subject.documents[unit_id], sorted(vector.items())] for unit_id, vector in sorted(subject.units)]
    questions = [[one.query_id, sorted(one.vector.items()), sorted((one.grades or {}).items())]
                 for one in subject.questions]
    return digest([units, questions])


def corpus_block(subject: Subject, options: Options, watch: Watch) -> dict:
    """Everything about one corpus: sizes, one block for each index, and the filters."""
    space = Space(subject.units)
    truths = [Exact(space).search(space.gauge(one.vector), options.k) if one.vector else []
              for one in subject.questions]
    blocks, filters = [], []
    live = one_in(space, options.share, options.seed)
    vectors = [one.vector for one in subject.questions if one.vector]
    for build, budgets, budget in _plans(options):
        index = build(space)
        watch(f"{subject.name}: {index.name} built over {len(space.ids)} units")
        blocks.append(index_block(index, subject, truths, options.k, budgets))
        watch(f"{subject.name}: {index.name} asked {len(vectors)} queries at {len(budgets)} budgets")
        filters += measure_filters(space, index, build, vectors, options.k, budget, live)
        watch(f"{subject.name}: {index.name} filtered")
    return {"name": subject.name, "counts": _counts(subject, space, truths), "indexes": blocks,
            "filter": {"live": len(live), "rows": filters}}


def _plans(options: Options) -> list[tuple[Callable, tuple, int | None]]:
    """(how to build an index, its budgets, its budget under the filter), in the order of the report."""
    ef, probes, candidates = options.filter_budgets
    return [(Exact, (None,), None),
            (lambda space: Graph(space, options.m, options.ef_construction, options.seed), options.ef, ef),
            (lambda space: Lists(space, seed=options.seed), options.probes, probes),
            (lambda space: Codes(space, True, options.seed), options.candidates, candidates),
            (lambda space: Codes(space, False, options.seed), options.candidates, candidates)]


def _counts(subject: Subject, space: Space, truths: list) -> dict:
    """Sizes; `dense_bytes` is what the vectors would take as 512 four-byte numbers each."""
    return {"units": len(space.ids), "zero_vectors": len(space.ids) - len(space.placed), "left_out": subject.left_out,
            "vector_bytes": space.bytes, "dense_bytes": 4 * DIMENSIONS * len(space.placed),
            "queries": len(subject.questions), "without_truth": sum(not truth for truth in truths),
            "judged": sum(one.grades is not None for one in subject.questions)}


def index_block(index, subject: Subject, truths: list, k: int, budgets: tuple) -> dict:
    """An index: what it is made of and one row for each budget."""
    return {"index": index.name, "knob": index.knob, "bytes": index.bytes, "build": _build_facts(index),
            "curve": [curve_row(index, subject, truths, k, budget) for budget in budgets]}


def _build_facts(index) -> dict:
    """What building took and made; the keys are the index's own, null where they mean nothing for it."""
    graph, lists = isinstance(index, Graph), isinstance(index, Lists)
    return {"layers": [len(layer) for layer in index.layers] if graph else None,
            "links": index.links if graph else None,
            "evaluations": index.evaluations if graph else None, "mended": index.mended if graph else None,
            "lists": len(index.lists) if lists else None,
            "longest_list": max(map(len, index.lists), default=0) if lists else None}


def curve_row(index, subject: Subject, truths: list, k: int, budget: int | None) -> dict:
    """Means over the queries for which a value is defined.

    `touched` is distance evaluations / units, `coarse` cheap comparisons (with centres or codes) / units, of a query.
    """
    found, evidence, touched, asked = [], [], 0, 0
    for question, truth in zip(subject.questions, truths):
        returned = []
        if question.vector:
            gauge = index.space.gauge(question.vector)
            returned = index.search(gauge, k, budget)
            touched, asked = touched + len(gauge), asked + len(index.space.ids)
        found.append(agreement(returned, truth))
        if question.grades is not None:
            documents = [subject.documents[index.space.ids[at]] for at, _ in returned]
            evidence.append(recall_at_k(documents, question.grades, k))
    return {"budget": budget, "recall": mean(found), "evidence_recall": mean(evidence),
            "touched": touched / asked if asked else None,
            "coarse": index.coarse(budget) / len(index.space.ids) if index.space.ids else None}
