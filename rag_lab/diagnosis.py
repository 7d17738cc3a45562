"""Which of the needed pieces of evidence were found, and which stage is at fault when an answer is wrong?

A question carries evidence slots. A slot names what it asks, of which product and which version of it, and one or more
supporting sets of fact ids: any one set, whole, meets it. Three things are told apart that one hit rate would blur:
pieces found, questions with all their evidence, questions with any. The substitution test puts gold evidence, real
retrieval and a gold ranking before one and the same scripted composer and says where the fault lies.

A corpus may hold two products. A version number means something only together with its product, so each slot is
searched under a scope of its own: the version as a hard rule (`Scope.product_version`), the product as a preference for
the document's `kind`, and what misses that preference is no evidence for the slot. Not for judging words: that a quote
stands in a text was annotated by a person, and no composer here understands anything.
"""
from typing import Callable, Collection, Iterable, Iterator, Mapping, NamedTuple, Sequence

from .catalog import applies_to
from .errors import DataError, Fault, UsageError, whole_number
from .fields import version_key
from .files import read_text
from .model import Candidate, Document, Outcome, Preference, Scope, is_name, is_product_version
from .strict_json import parse_json_object
from .text import sentences

VERDICTS = ("none", "composer", "recall", "ranking")
UNITS = ("sentence", "code_point")     # in which a reading window grows


class Slot(NamedTuple):
    """One piece of evidence that a question needs."""

    slot_id: str
    query: str                                # what is searched for it when slots are searched one by one
    product: str | None                       # kind of the documents that may serve it; None: any
    product_version: str | None               # version that they must apply to; None: any
    claim: str                                # what may be stated once it is met
    supports: tuple[tuple[str, ...], ...]     # sets of fact ids; one of them, whole, is enough


class Question(NamedTuple):
    """A question with its slots, and what a scripted composer may say to it."""

    question_id: str
    text: str
    why: str                                  # what the question is there to show
    slots: tuple[Slot, ...]
    to_verify: tuple[str, ...]                # what no document of the corpus settles: every right answer names it
    overreach: str                            # a conclusion that no evidence here carries


class Passage(NamedTuple):
    """A stretch of one document that is read: enough to find it again, and never a summary."""

    doc_id: str
    version: int
    start: int                                # code points of the document's text from 0, half-open
    end: int
    text: str
    fact_ids: tuple[str, ...]                 # whose quotes stand wholly inside


# --- questions ------------------------------------------------------------------------------------------------------

def read_questions(path: str) -> tuple[Question, ...]:
    """The questions of a file in its order. Raises `DataError` with every fault of it."""
    try:
        table = parse_json_object(read_text(path))
    except ValueError as error:
        raise DataError([Fault(path, None, f"it is no list of questions: {error}", "write {\"questions\": [...]}")]) from error
    rows = table.get("questions") if isinstance(table, dict) else None
    broken = list(_faults(rows))
    if broken:
        raise DataError([Fault(path, None, rule, remedy) for rule, remedy in broken])
    return tuple(Question(row["id"], row["text"], row["why"], tuple(map(_slot, row["slots"])), tuple(row["to_verify"]),
                          row["overreach"]) for row in rows)


def _slot(row: Mapping) -> Slot:
    return Slot(row["id"], row["query"], row["product"], row["product_version"], row["claim"],
                tuple(map(tuple, row["supports"])))


_TEXTS = (is_name, "write a text in quotes")
_QUESTION = {"id": _TEXTS, "text": _TEXTS, "why": _TEXTS, "overreach": _TEXTS,
             "slots": (lambda value: isinstance(value, list) and value, "list at least one slot"),
             "to_verify": (lambda value: isinstance(value, list) and all(map(is_name, value)), "write a list of texts")}
_SLOT = {"id": _TEXTS, "query": _TEXTS, "claim": _TEXTS,
         "product": (lambda value: value is None or is_name(value), "write the kind of its documents, or null"),
         "product_version": (lambda value: value is None or is_product_version(value),
                             'write one such as "2.0", or null'),
         "supports": (lambda value: isinstance(value, list) and value and all(map(_is_set, value)),
                      "list one or more sets, each a list of different fact ids")}


def _is_set(value) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_name, value)) and len(set(value)) == len(value)


def _faults(rows) -> Iterator[tuple[str, str]]:
    """(rule, remedy) of everything that is wrong with the rows of a file."""
    if not isinstance(rows, list) or not rows:
        yield "it holds no list of questions", 'write {"questions": [...]}'
        return
    for number, row in enumerate(rows, start=1):
        yield from _faults_of(f"question {number}", row, _QUESTION)
        slots = row.get("slots") if isinstance(row, dict) else None
        for place, slot in enumerate(slots if isinstance(slots, list) else [], start=1):
            yield from _faults_of(f"question {number}, slot {place}", slot, _SLOT)
        yield from _twice(f"question {number}: slot id", slots)
    yield from _twice("question id", rows)


def _faults_of(name: str, row, readers: Mapping) -> Iterator[tuple[str, str]]:
    if not isinstance(row, dict) or sorted(row) != sorted(readers):
        yield f"{name} is no object with exactly the keys {', '.join(sorted(readers))}", "write them all, and no other"
        return
    for key, (holds, remedy) in readers.items():
        if not holds(row[key]):
            yield f"{name}: {key} is {row[key]!r}", remedy


def _twice(name: str, rows) -> Iterator[tuple[str, str]]:
    ids = [row.get("id") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    for one in dict.fromkeys(one for one in ids if is_name(one) and ids.count(one) > 1):
        yield f"{name} {one!r} stands twice", "give each its own"


# --- slots and coverage ---------------------------------------------------------------------------------------------

def is_met(slot: Slot, fact_ids: Collection[str]) -> bool:
    """Whether one of the supporting sets is there whole; halves of two sets are not a whole one."""
    return any(all(fact in fact_ids for fact in support) for support in slot.supports)


def nearest_support(slot: Slot, fact_ids: Collection[str]) -> tuple[str, ...]:
    """The supporting set that lacks fewest facts, the one named first among equals."""
    return min(slot.supports, key=lambda support: len(lacking(support, fact_ids)))


def lacking(support: Sequence[str], fact_ids: Collection[str]) -> tuple[str, ...]:
    """The facts of a set that are not there."""
    return tuple(fact for fact in support if fact not in fact_ids)


class Coverage(NamedTuple):
    """Counts, and three rates that must not stand for one another. A rate over nothing is None."""

    questions: int
    needed: int                      # slots of all questions
    found: int                       # slots that are met
    complete: int                    # questions with every slot met
    hit: int                         # questions with at least one slot met
    piece_recall: float | None       # found / needed
    complete_rate: float | None      # complete / questions
    any_hit_rate: float | None       # hit / questions: flatters, as one piece of many counts as much as all of them


def coverage(met: Sequence[Sequence[bool]]) -> Coverage:
    """Coverage of questions, each given as its slots: met or not. A question without slots takes part in nothing.

    Ten questions that need two pieces each, one of which is found every time:

    >>> coverage([[True, False]] * 10)[-3:]
    (0.5, 0.0, 1.0)
    """
    rows = [row for row in met if row]
    needed, found = sum(map(len, rows)), sum(map(sum, rows))
    complete, hit = sum(map(all, rows)), sum(map(any, rows))
    return Coverage(len(rows), needed, found, complete, hit, _share(found, needed), _share(complete, len(rows)),
                    _share(hit, len(rows)))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


# --- retrieval by slots ---------------------------------------------------------------------------------------------

class Search(NamedTuple):
    """One search of a plan: what is asked, for which slots, of which product and version, and how many are kept."""

    query: str
    slots: tuple[Slot, ...]
    product: str | None
    product_version: str | None
    k: int


class Found(NamedTuple):
    """What one search brought."""

    search: Search
    outcome: Outcome
    candidates: tuple[Candidate, ...]   # all that the pool held and the product allows, as ranked

    @property
    def kept(self) -> tuple[Candidate, ...]:
        """The first k of the candidates."""
        return self.candidates[:self.search.k]


def slot_by_slot(question: Question, k: int, with_version: bool = True) -> tuple[Search, ...]:
    """A search for each slot, with the slot's own words, product and version. Raises `UsageError` for k < 1."""
    whole_number("k", k, 1)
    return tuple(Search(slot.query, (slot,), slot.product, slot.product_version if with_version else None, k)
                 for slot in question.slots)


def one_query(question: Question, k: int, with_version: bool = True) -> tuple[Search, ...]:
    """One search for the question as it is worded, with as much to read as all slots together: k for each.

    Product and version are those that all slots agree on; where they differ, one search can have none.
    """
    size = whole_number("k", k, 1) * len(question.slots)
    version = common([slot.product_version for slot in question.slots]) if with_version else None
    return (Search(question.text, question.slots, common([slot.product for slot in question.slots]), version, size),)


def common(values: Sequence[str | None]) -> str | None:
    """The value that all share; None if they differ."""
    return values[0] if values and values.count(values[0]) == len(values) else None


def slot_scope(scope: Scope, product_version: str | None) -> Scope:
    """The caller's scope at another product version: who asks does not change."""
    return scope._replace(product_version=product_version)


def run_plan(lab: "Lab", plan: Iterable[Search], **options) -> tuple[Found, ...]:
    """What each search of a plan brings, under the lab's scope. `options` as for `Lab.search`, apart from k and prefer.

    No threshold: what retrieval found is asked here, not whether it is enough. What misses the product is left out; it
    stands behind all that meets it, so leaving it out cannot starve what is kept.
    """
    found = []
    for search in plan:
        outcome = lab.search(search.query, scope=slot_scope(lab.scope, search.product_version),
                             **{"threshold": 0.0, **options, "k": search.k, "prefer": Preference(kind=search.product)})
        found.append(Found(search, outcome, tuple(one for one in outcome.ranked if one.unmet == 0)))
    return tuple(found)


def merged(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Several ranked lists as one: the first of each in turn, then the second of each; what stands twice counts once.

    >>> merged([["a", "b"], ["b", "c"], []])
    ('a', 'b', 'c')
    """
    longest = max(map(len, lists), default=0)
    return tuple(dict.fromkeys(row[rank] for rank in range(longest) for row in lists if rank < len(row)))


def mismatched(search: Search, found: Iterable[Candidate], documents: Mapping[str, Document]) -> tuple[str, ...]:
    """Ids of the documents found that speak of another product or version than every slot of the search asks for."""
    ids = dict.fromkeys(candidate.doc_id for candidate in found)
    return tuple(one for one in ids if not any(serves(slot, documents[one]) for slot in search.slots))


def serves(slot: Slot, document: Document) -> bool:
    """Whether a document speaks of the slot's product and applies to its version.

    A document that names no version where the slot names one does not serve: nothing says that it applies.
    """
    if slot.product is not None and document.kind != slot.product:
        return False
    if slot.product_version is None:
        return True
    return (document.applies_from, document.applies_to) != (None, None) and applies_to(document, slot.product_version)


# --- reading --------------------------------------------------------------------------------------------------------

def passage(document: Document, start: int, end: int) -> Passage:
    """document.text[start:end] with the facts whose quotes stand wholly inside."""
    return Passage(document.doc_id, document.version, start, end, document.text[start:end],
                   tuple(fact.fact_id for fact in document.facts if document.text.find(fact.quote, start, end) >= 0))


def facts_in(passages: Iterable[Passage]) -> frozenset[str]:
    """The ids of all facts that stand in the passages: for membership, never walked in order."""
    return frozenset(fact for one in passages for fact in one.fact_ids)


def read(lab: "Lab", chunk_ids: Iterable[str]) -> tuple[Passage, ...]:
    """The passages of chunks, in the order given."""
    documents = {document.doc_id: document for document in lab.catalog.documents}   # the chunks passed the gate before
    chunks = [lab.chunks.by_id[chunk_id] for chunk_id in chunk_ids]
    return tuple(passage(documents[chunk.doc_id], chunk.start, chunk.end) for chunk in chunks)


def kept_chunks(found: Sequence[Found]) -> tuple[str, ...]:
    """The ids of the chunks that a plan keeps: merged over its searches."""
    return merged([[candidate.chunk_id for candidate in one.kept] for one in found])


def widen(text: str, start: int, end: int, by: int, unit: str) -> tuple[int, int]:
    """The span widened on both sides by so many sentences or code points, not beyond the text.

    Widened by 0 sentences it is the sentences that it touches. Raises `UsageError` for by < 0 or an unknown unit.

    >>> text = "能恢复。前提是已启用。还要去重。"
    >>> [text[slice(*widen(text, 0, 4, by, "sentence"))] for by in (0, 1)]
    ['能恢复。', '能恢复。前提是已启用。']
    """
    whole_number("the window", by, 0)
    if unit not in UNITS:
        raise UsageError(f"unit is {unit!r}; it must be one of {', '.join(UNITS)}")
    if unit == "code_point":
        return max(0, start - by), min(len(text), end + by)
    spans = sentences(text)
    touched = [at for at, (low, high) in enumerate(spans) if low < end and start < high]
    if not touched:
        return start, end
    first, last = max(0, touched[0] - by), min(len(spans) - 1, touched[-1] + by)
    return min(start, spans[first][0]), max(end, spans[last][1])


def joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, those that overlap or touch made one.

    >>> joined([(5, 9), (0, 3), (3, 6)])
    [(0, 9)]
    """
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


class Reading(NamedTuple):
    """How much of what is needed stands in the windows that are read. `missing` never grows with the window."""

    width: int
    unit: str
    needed: int        # facts of the supporting set that is nearest, summed over the slots
    inside: int        # ... that stand wholly inside a window
    missing: int       # ... that do not
    code_points: int   # that are read: what the window costs


def reading(slots: Sequence[Slot], spans: Mapping[str, Sequence[tuple[int, int]]], documents: Mapping[str, Document],
            width: int, unit: str) -> Reading:
    """The needed conditions that stand wholly inside the windows around cited spans (document id -> spans)."""
    passages = [passage(documents[one], *window) for one in sorted(spans)
                for window in joined(widen(documents[one].text, *span, width, unit) for span in spans[one])]
    facts = facts_in(passages)
    supports = [nearest_support(slot, facts) for slot in slots]
    needed, missing = sum(map(len, supports)), sum(len(lacking(support, facts)) for support in supports)
    return Reading(width, unit, needed, needed - missing, missing, sum(one.end - one.start for one in passages))


def cited_spans(found: Sequence[Found]) -> dict[str, list[tuple[int, int]]]:
    """document id -> spans that the kept results of a plan cite, in the order found."""
    kept = frozenset(kept_chunks(found))
    spans: dict[str, list[tuple[int, int]]] = {}
    for one in found:
        for hit in one.outcome.results:
            if hit.citation and hit.candidate.chunk_id in kept:
                spans.setdefault(hit.citation.doc_id, []).append((hit.citation.start, hit.citation.end))
    return spans


# --- composers: scripted, and told apart by what they get wrong -----------------------------------------------------

class Answer(NamedTuple):
    """What a composer says: its claims, and what it lists as still to be verified."""

    claims: tuple[str, ...]
    to_verify: tuple[str, ...]


Composer = Callable[[Question, Sequence[Passage]], Answer]


def careful(question: Question, passages: Sequence[Passage]) -> Answer:
    """States the claim of each slot that is met, and lists the others beside what the corpus does not settle."""
    facts = facts_in(passages)
    return Answer(tuple(slot.claim for slot in question.slots if is_met(slot, facts)),
                  question.to_verify + tuple(slot.query for slot in question.slots if not is_met(slot, facts)))


def overreaching(question: Question, passages: Sequence[Passage]) -> Answer:
    """Takes recovery for "exactly once": adds a conclusion that nothing carries, and leaves nothing to be verified."""
    return Answer((*careful(question, passages).claims, question.overreach), ())


COMPOSERS: dict[str, Composer] = {"careful": careful, "overreaching": overreaching}


def is_right(question: Question, answer: Answer) -> bool:
    """Whether an answer states every claim, nothing else, and names what is still to be verified."""
    return answer == Answer(tuple(slot.claim for slot in question.slots), question.to_verify)


# --- the substitution test ------------------------------------------------------------------------------------------

class Substitution(NamedTuple):
    """The three answers of one composer, each right or wrong, and what follows."""

    gold: bool           # evidence chosen by a person
    real: bool           # what retrieval kept
    reordered: bool      # what retrieval recalled, put in order by a person, then cut as before
    all_recalled: bool   # every slot has a supporting set whole among all that was recalled
    verdict: str         # one of VERDICTS


def verdict(gold: bool, real: bool, reordered: bool, all_recalled: bool) -> str:
    """The stage at fault. One thing is changed at a time, so the first change that matters names it.

    "composer"  wrong although it is given the right evidence: at once, or with all of it before it in the best order
    "none"      right with gold evidence and with real retrieval
    "ranking"   wrong with the real order, right with the gold order of the same candidates
    "recall"    no order of the candidates helps: something needed is not among them (also if a chunk border cuts it)
    """
    if not gold:
        return "composer"
    if real:
        return "none"
    if reordered:
        return "ranking"
    return "composer" if all_recalled else "recall"


def substitute(lab: "Lab", question: Question, found: Sequence[Found], compose: Composer) -> Substitution:
    """The test for one question and what its plan found.

    Raises `UsageError` if the scope sees no supporting set of a slot, or if k is too small for any ranking to be right.
    """
    gold = gold_passages(lab, question)
    orders = [gold_order(lab, one) for one in found]
    gold_right = is_right(question, compose(question, gold))
    real_right = is_right(question, compose(question, read(lab, kept_chunks(found))))
    reordered = read(lab, merged([order[:one.search.k] for one, order in zip(found, orders)]))
    facts = facts_in(read(lab, merged([[candidate.chunk_id for candidate in one.candidates] for one in found])))
    flags = gold_right, real_right, is_right(question, compose(question, reordered)), \
        all(is_met(slot, facts) for slot in question.slots)
    return Substitution(*flags, verdict(*flags))


def gold_passages(lab: "Lab", question: Question) -> tuple[Passage, ...]:
    """For each slot the whole documents of its first supporting set that the scope can see; each document once."""
    chosen: dict[str, Document] = {}
    for slot in question.slots:
        live = lab.catalog.eligible(slot_scope(lab.scope, slot.product_version)).documents
        home = {fact.fact_id: document for document in live.values() if serves(slot, document)
                for fact in document.facts}
        support = next((one for one in slot.supports if not lacking(one, home)), None)
        if support is None:
            raise UsageError(f"slot {slot.slot_id!r} of question {question.question_id!r} has no supporting set "
                             "that this scope can see; ask for one who sees it, or correct the slot")
        chosen |= {home[fact].doc_id: home[fact] for fact in support}
    return tuple(passage(document, 0, len(document.text)) for document in chosen.values())


def gold_order(lab: "Lab", found: Found) -> tuple[str, ...]:
    """The candidates of one search as a person would rank them: those that complete its slots first, then the rest.

    Of each slot the supporting set that is nearest to whole counts. Raises `UsageError` if they are more than k.
    """
    recalled = [candidate.chunk_id for candidate in found.candidates]
    passages = dict(zip(recalled, read(lab, recalled)))
    facts = facts_in(passages.values())
    wanted = dict.fromkeys(fact for slot in found.search.slots for fact in nearest_support(slot, facts)
                           if fact in facts)
    first: dict[str, None] = {}
    for fact in wanted:
        if not any(fact in passages[one].fact_ids for one in first):
            first[next(one for one in recalled if fact in passages[one].fact_ids)] = None
    if len(first) > found.search.k:
        raise UsageError(f"k is {found.search.k} and the evidence for {found.search.query!r} stands in {len(first)} "
                         "chunks; raise k, or no ranking can be right")
    return tuple(dict.fromkeys([*first, *recalled]))


def version_of(document: Document) -> str | None:
    """The one product version that a document speaks of; None if it speaks of several or of none in particular."""
    low, high = document.applies_from, document.applies_to
    return low if low is not None and high is not None and version_key(low) == version_key(high) else None
