"""Where is evidence lost between four small documents and an answer? Seed 004, told with this lab.

Four set-ups over the same questions, one thing changed at a time: how it is searched, whether versions are looked at,
who composes. Each shows what it covers, which document answers for the wrong version, and the stage at fault.
"""
import os
from fractions import Fraction
from typing import NamedTuple

from .. import diagnosis, fusion
from ..diagnosis import Question
from ..errors import UsageError
from ..files import digest
from ..lab import Lab, build_lab, data_folder
from ..report import rounded

CORPUS = "scheduler"
K = 1                                            # passages kept for each slot
WINDOWS = {"sentence": (0, 1, 2), "code_point": (0, 10, 20, 40)}


class Setup(NamedTuple):
    """One way to get from a question to an answer."""

    name: str
    search: str              # "slot_by_slot" or "one_query"
    versions: bool           # whether the product version of a slot is part of its scope
    composer: str            # of diagnosis.COMPOSERS


SETUPS = (Setup("slots", "slot_by_slot", True, "careful"), Setup("one-query", "one_query", True, "careful"),
          Setup("slots-without-versions", "slot_by_slot", False, "careful"),
          Setup("slots-overreaching", "slot_by_slot", True, "overreaching"))
PLANS = {"slot_by_slot": diagnosis.slot_by_slot, "one_query": diagnosis.one_query}


def questions_of(corpus: str | None = CORPUS, path: str | None = None) -> tuple[Question, ...]:
    """The questions at a path, or those that come with a corpus of the lab. Raises `UsageError` if there are none.

    `corpus`: its name or path; None for an index of a corpus that does not come with the lab.
    """
    if path is not None:
        return diagnosis.read_questions(path)
    if corpus is None:
        raise UsageError("the index is of no corpus that comes with the lab; name a file of questions with --questions")
    shipped = os.path.join(data_folder("qrels"), f"{os.path.basename(corpus)}.questions.json")
    if os.path.basename(corpus) != corpus or not os.path.exists(shipped):
        raise UsageError(f"corpus {corpus!r} has no questions with evidence slots; name a file with --questions")
    return diagnosis.read_questions(shipped)


# --- python -m rag_lab diagnose -------------------------------------------------------------------------------------

def diagnose(lab: Lab, questions: tuple[Question, ...], k: int = K) -> dict:
    """Coverage, verdicts and windows of every set-up, as a JSON document. Raises `UsageError` for a k below 1."""
    return {"schema": "rag_lab.diagnose/1", "corpus": lab.settings.name, "k": k,
            "setups": [run_setup(lab, questions, setup, k) for setup in SETUPS],
            "windows": [window._asdict() for window in windows(lab, questions, k)],
            "receipt": lab.receipt(lab.options(k=k, threshold=0.0), lab.scope, digest(questions))}


def run_setup(lab: Lab, questions: tuple[Question, ...], setup: Setup, k: int) -> dict:
    """One set-up over all questions."""
    rows = [run_question(lab, question, setup, k) for question in questions]
    met = [[slot["met"] for slot in row["slots"]] for row in rows]
    return {"setup": setup.name, "search": setup.search, "versions": setup.versions, "composer": setup.composer,
            "coverage": rounded(diagnosis.coverage(met)._asdict()), "questions": rows}


def run_question(lab: Lab, question: Question, setup: Setup, k: int) -> dict:
    """One question in one set-up: slots, passages, what was of the wrong version, and the substitution test."""
    found = diagnosis.run_plan(lab, PLANS[setup.search](question, k, setup.versions))
    documents = {document.doc_id: document for document in lab.catalog.documents}
    passages = diagnosis.read(lab, diagnosis.kept_chunks(found))
    facts = diagnosis.facts_in(passages)
    answer = diagnosis.COMPOSERS[setup.composer](question, passages)
    wrong = [doc_id for one in found for doc_id in diagnosis.mismatched(one.search, one.kept, documents)]
    tested = diagnosis.substitute(lab, question, found, diagnosis.COMPOSERS[setup.composer])
    return {"question_id": question.question_id, "question": question.text,
            "slots": [{"slot_id": slot.slot_id, "met": diagnosis.is_met(slot, facts),
                       "missing_fact_ids": list(diagnosis.lacking(diagnosis.nearest_support(slot, facts), facts))}
                      for slot in question.slots],
            "passages": [passage_block(one, documents[one.doc_id]) for one in passages],
            "mismatched": list(dict.fromkeys(wrong)),
            "answer": {"claims": list(answer.claims), "to_verify": list(answer.to_verify)},
            "substitution": tested._asdict()}


def passage_block(passage: diagnosis.Passage, document) -> dict:
    """A passage as it is printed: document, version, product and its version, place, text, facts."""
    return {"doc_id": passage.doc_id, "version": passage.version, "product": document.kind,
            "product_version": diagnosis.version_of(document), "start": passage.start, "end": passage.end,
            "text": passage.text, "fact_ids": list(passage.fact_ids)}


def windows(lab: Lab, questions: tuple[Question, ...], k: int) -> list[diagnosis.Reading]:
    """How many needed conditions stand in the windows around the cited sentences, summed over the questions."""
    documents = {document.doc_id: document for document in lab.catalog.documents}
    plans = [diagnosis.run_plan(lab, diagnosis.slot_by_slot(question, k)) for question in questions]
    rows = []
    for unit, widths in WINDOWS.items():
        for width in widths:
            read = [diagnosis.reading(question.slots, diagnosis.cited_spans(found), documents, width, unit)
                    for question, found in zip(questions, plans)]
            rows.append(diagnosis.Reading(width, unit, *(sum(column) for column in list(zip(*read))[2:])))
    return rows


# --- what the seed prints -------------------------------------------------------------------------------------------

def corpus_table() -> dict:
    """The table of the four documents: id, product, product version."""
    return {"rows": [{"id": document.doc_id, "product": document.kind, "version": diagnosis.version_of(document)}
                     for document in build_lab(CORPUS).catalog.documents]}


def rrf() -> dict:
    """The worked fusion: each document's score as the sum that the seed writes, the order, and D3 in both lists."""
    lists = {"keyword": ["D1", "D2"], "semantic": ["D2", "D4"]}
    ranks = {name: fusion.ranks(row) for name, row in lists.items()}
    parts = {one: [Fraction(1, fusion.RRF_K + found[one]) for found in ranks.values() if one in found]
             for one in ("D1", "D2", "D4")}
    return {"k": fusion.RRF_K, "order": [one for one, _ in fusion.rrf(lists.values())],
            "sums": {one: " + ".join(map(str, row)) for one, row in parts.items()},
            "scores": rounded(dict(fusion.rrf(lists.values())), 6),
            "exact": all(float(sum(parts[one])) == score for one, score in fusion.rrf(lists.values())),
            "with_d3_in_both": [one for one, _ in fusion.rrf([["D3", *row] for row in lists.values()])]}


def coverage() -> dict:
    """Ten questions, two pieces each, one found: three rates."""
    found = diagnosis.coverage([[True, False]] * 10)
    return {name: getattr(found, name) for name in ("any_hit_rate", "piece_recall", "complete_rate")}


def one_search() -> dict:
    """The four characters 重启恢复 against slots searched one by one: which slots of `recovery-a` are met."""
    return {setup.name: [slot["slot_id"] for slot in _row(setup, "recovery-a")["slots"] if slot["met"]]
            for setup in SETUPS[:2]}


def version_mismatch() -> dict:
    """What answers for B 2.0, with the version in the scope and without it; and what each version lets through."""
    lab = build_lab(CORPUS)
    served = {setup.name: [row["doc_id"] for row in _row(setup, "state-b")["passages"]]
              for setup in (SETUPS[0], SETUPS[2])}
    return {**served, "live_at_2.0": list(lab.catalog.eligible(diagnosis.slot_scope(lab.scope, "2.0")).documents),
            "each_slot_its_own": [row["doc_id"] for row in _row(SETUPS[0], "change-b")["passages"]]}


def verdicts() -> dict:
    """The stage at fault in four set-ups, each on the question that shows it."""
    shown = (("slots", "compare-2.0"), ("one-query", "recovery-a"), ("slots-without-versions", "state-b"),
             ("slots-overreaching", "compare-2.0"))
    setups = {setup.name: setup for setup in SETUPS}
    return {name: _row(setups[name], question_id)["substitution"]["verdict"] for name, question_id in shown}


def gold() -> dict:
    """The evidence that a person hands over for the comparison, and what a careful composer makes of it."""
    lab, question = build_lab(CORPUS), _question("compare-2.0")
    passages = diagnosis.gold_passages(lab, question)
    answer, other = diagnosis.careful(question, passages), diagnosis.overreaching(question, passages)
    return {"documents": [one.doc_id for one in passages],
            "claims": list(answer.claims), "to_verify": list(answer.to_verify),
            "overreaching_is_right": diagnosis.is_right(question, other)}


def evidence_fields() -> dict:
    """The fields that a piece of evidence has."""
    row = _row(SETUPS[0], "state-b")["passages"][0]
    return {"fields": [name for name in row if name in ("doc_id", "version", "start", "end", "text")]}


def _question(question_id: str) -> Question:
    return next(one for one in questions_of() if one.question_id == question_id)


def _row(setup: Setup, question_id: str) -> dict:
    return run_question(build_lab(CORPUS), _question(question_id), setup, K)


LISTINGS = {"corpus_table": corpus_table, "rrf": rrf, "coverage": coverage, "one_search": one_search,
            "version_mismatch": version_mismatch, "verdicts": verdicts, "gold": gold,
            "evidence_fields": evidence_fields}
