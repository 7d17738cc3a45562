"""Which vectors and questions of a corpus go into the lab? Those of live units only, and as many as a run can bear.

The hashed vectors are made anew from the units' terms, whatever encoder the corpus names. Hidden documents take no
part: none of their chunks is turned into a vector or counted.
"""
import os

from ..chunking import searchable
from ..errors import UsageError, whole_number
from ..hashed import embed
from ..lab import Lab, build_lab, data_folder
from ..trec import Judged, Query, read_judged, read_queries
from .report import Question, Subject
from .space import chance

UNITS, QUESTIONS = 1000, 50   # a graph takes 4 to 6 milliseconds a unit to build, and more for long texts


def subject_of(corpus: str | Lab, units: int = UNITS, questions: int = QUESTIONS) -> Subject:
    """The corpus of this name or path with its first `questions` queries: judged ones, else a queries.jsonl beside it.

    A lab that is open already may stand for the corpus; then the queries are those of its judgements.

    At most `units` live units: those of judged documents first, the others by a hash of their ids. Raises `UsageError`
    or `DataError`.
    """
    whole_number("units", units, 1)
    lab = build_lab(corpus) if isinstance(corpus, str) else corpus
    asked, qrels = _questions(lab, corpus if isinstance(corpus, str) else None)
    asked = asked[:whole_number("questions", questions, 1)]
    judged = frozenset(doc_id for query in asked for doc_id in qrels.get(query.query_id, ()))
    chunks = [lab.chunks.by_id[chunk_id] for chunk_id in lab.chunks.of(lab.docs)]
    chunks.sort(key=lambda chunk: (chunk.doc_id not in judged, chance(0, "limit", chunk.chunk_id), chunk.chunk_id))
    taken = sorted(chunks[:units], key=lambda chunk: chunk.chunk_id)
    vectors = tuple((chunk.chunk_id, embed(lab.analyzer.terms(searchable(chunk)))) for chunk in taken)
    asked_vectors = tuple(Question(query.query_id, embed(lab.analyzer.terms(query.text)), qrels.get(query.query_id))
                          for query in asked)
    return Subject(lab.settings.name, vectors, {chunk.chunk_id: chunk.doc_id for chunk in taken}, asked_vectors,
                   max(0, len(chunks) - units))


def _questions(lab: Lab, corpus: str | None) -> tuple[tuple[Query, ...], dict]:
    """The queries in file order, and their judgements if there are any."""
    if lab.qrels_path is not None:
        judged: Judged = read_judged(lab.qrels_path)
        return judged.queries, dict(judged.qrels)
    if corpus is None:
        raise UsageError(f"there are no judgements for the index of {lab.settings.name!r}; name them with --qrels")
    shipped = os.path.basename(corpus) == corpus and os.path.exists(os.path.join(data_folder("corpus"), corpus))
    beside = os.path.join(corpus if os.path.isdir(corpus) else os.path.dirname(corpus), "queries.jsonl")
    if shipped or not os.path.isfile(beside):
        raise UsageError(f"corpus {lab.settings.name!r} has neither judgements nor a queries.jsonl beside it; add one")
    return read_queries(beside), {}
