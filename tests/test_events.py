"""Change events: compare-and-set, any order of arrival, and an index that is older than the catalog."""
import random

import pytest
from support import document, lab_of

from rag_lab import Lab, Scope, UsageError, build_lab, retrieve
from rag_lab.catalog import Catalog
from rag_lab.citation import verify
from rag_lab.corpus import Corpus, CorpusSettings
from rag_lab.events import Event
from rag_lab.model import Outcome
from rag_lab.seams import Seams

SCOPE = Scope("t", ("r",))
ADVISORY, QUERY = "advisory-3.2-session", "3.2 重置密码后会话令牌多久失效？"


def state(doc_id: str, version: int, **fields):
    return document(doc_id, f"正文 {version}", version=version, **fields)


def publish(doc_id: str, version: int) -> Event:
    return Event("publish", doc_id, version, state(doc_id, version))


def withdraw(doc_id: str, version: int) -> Event:
    return Event("withdraw", doc_id, version)


def live(catalog: Catalog) -> dict:
    return {doc_id: one.version for doc_id, one in catalog.eligible(SCOPE).documents.items()}


# --- compare and set --------------------------------------------------------------------------------------------------

def test_a_document_is_published_in_place_of_the_version_expected():
    catalog = Catalog([])
    catalog.publish(state("a", 1), expected_version=0)
    catalog.publish(state("a", 4), expected_version=1)
    assert live(catalog) == {"a": 4} and catalog.revision == 2


def test_a_withdrawn_document_is_gone_at_once_and_comes_back_only_as_a_later_version():
    catalog = Catalog([state("a", 1)])
    catalog.withdraw("a", expected_version=1)
    assert live(catalog) == {} and catalog.broken_rule("a", SCOPE) == "status"
    catalog.publish(state("a", 3), expected_version=2)   # the withdrawal was change 2
    assert live(catalog) == {"a": 3}


@pytest.mark.parametrize("expected", [0, 1, 3, 99])
def test_a_wrong_expected_version_is_refused_and_changes_nothing(expected):
    catalog = Catalog([state("a", 2)])
    for change in (lambda: catalog.publish(state("a", 100), expected), lambda: catalog.withdraw("a", expected)):
        with pytest.raises(UsageError, match=f"'a' is not at version {expected} any more"):
            change()
    assert live(catalog) == {"a": 2} and catalog.revision == 0


def test_of_two_that_read_the_same_version_only_one_can_write():
    catalog = Catalog([state("a", 1)])
    catalog.withdraw("a", expected_version=1)
    with pytest.raises(UsageError, match="read it again"):
        catalog.publish(state("a", 2), expected_version=1)
    assert live(catalog) == {}


@pytest.mark.parametrize("version", [1, 2])
def test_a_version_that_is_not_higher_is_refused(version):
    catalog = Catalog([state("a", 2)])
    with pytest.raises(UsageError, match="is not above 2; raise it"):
        catalog.publish(state("a", version), expected_version=2)
    assert live(catalog) == {"a": 2} and catalog.revision == 0


def test_an_unknown_document_cannot_be_withdrawn_at_a_version_it_never_had():
    with pytest.raises(UsageError):
        Catalog([]).withdraw("a", expected_version=1)


def test_a_deleted_document_stays_deleted_whatever_is_published():
    catalog = Catalog([state("a", 1)])
    catalog.delete("a", SCOPE)
    assert catalog.apply(publish("a", 9)) == "stale" and live(catalog) == {}
    with pytest.raises(UsageError):
        catalog.publish(state("a", 9), expected_version=1)


@pytest.mark.parametrize("fields, rule", [
    (("publish", "a", 1), "they must agree"), (("publish", "a", 2, state("a", 1)), "they must agree"),
    (("publish", "b", 1, state("a", 1)), "they must agree"), (("withdraw", "a", 1, state("a", 1)), "they must agree"),
    (("erase", "a", 1), "publish or withdraw"), (("withdraw", "a", 0), "event version"),
    (("withdraw", "a", True), "event version")])
def test_an_event_that_contradicts_itself_is_refused(fields, rule):
    with pytest.raises(UsageError, match=rule):
        Event(*fields)


def test_what_is_published_is_checked_as_what_is_loaded_is():
    bad = state("a", 1)._replace(applies_from=3.2)
    catalog = Catalog([])
    with pytest.raises(UsageError, match="applies_from"):
        catalog.apply(Event("publish", "a", 1, bad))
    assert live(catalog) == {} and catalog.apply(publish("a", 1)) == "applied"   # the bad event took no version away


# --- any order, any repetition ----------------------------------------------------------------------------------------

def history(seed: int) -> list[Event]:
    """What happened to a few documents, in the order in which it happened: versions rise, with gaps."""
    choose = random.Random(seed)
    events = []
    for doc_id in "abc"[:choose.randint(1, 3)]:
        version = 0
        for _ in range(choose.randint(1, 4)):
            version += choose.randint(1, 3)
            events.append(choose.choice([publish, publish, withdraw])(doc_id, version))
    return events


def arrivals(seed: int) -> list[list[Event]]:
    """The events of one history in several orders, some of them more than once."""
    choose = random.Random(seed)
    events = history(seed)
    orders = [events, events[::-1]]
    for _ in range(8):
        some = events + choose.choices(events, k=choose.randint(0, 4))
        choose.shuffle(some)
        orders.append(some)
    return orders


def after(events: list[Event]) -> Catalog:
    catalog = Catalog([])
    for event in events:
        assert catalog.apply(event) in ("applied", "stale")
    return catalog


@pytest.mark.parametrize("seed", range(60))
def test_whatever_the_order_the_last_change_of_each_document_decides_what_is_seen(seed):
    last = {event.doc_id: event for event in history(seed)}
    expected = {doc_id: event.version for doc_id, event in last.items() if event.kind == "publish"}
    for events in arrivals(seed):
        catalog = after(events)
        assert live(catalog) == expected
        assert all(one.text == f"正文 {one.version}" for one in catalog.eligible(SCOPE).documents.values())


@pytest.mark.parametrize("seed", range(60))
def test_whatever_the_order_the_catalog_ends_in_the_same_state_also_for_an_operator(seed):
    ends = [after(events) for events in arrivals(seed)]
    for catalog in ends[1:]:
        assert catalog.filtered(SCOPE) == ends[0].filtered(SCOPE)
        assert catalog.documents == ends[0].documents


@pytest.mark.parametrize("seed", range(60))
def test_old_content_never_comes_back_on_the_way(seed):
    for events in arrivals(seed):
        catalog, seen = Catalog([]), {}
        for event in events:
            catalog.apply(event)
            seen[event.doc_id] = max(seen.get(event.doc_id, 0), event.version)
            assert all(version == seen[doc_id] for doc_id, version in live(catalog).items())


def test_an_event_that_is_known_already_changes_nothing():
    catalog = after([publish("a", 2)])
    for late in (publish("a", 2), publish("a", 1), withdraw("a", 1), withdraw("a", 2)):
        assert catalog.apply(late) == "stale"
    assert live(catalog) == {"a": 2} and catalog.revision == 1


def test_a_withdrawal_that_arrives_before_its_document_keeps_it_out():
    catalog = after([withdraw("a", 3)])
    assert catalog.apply(publish("a", 2)) == "stale" and live(catalog) == {}
    assert catalog.apply(publish("a", 4)) == "applied" and live(catalog) == {"a": 4}


# --- an index that is older than the catalog --------------------------------------------------------------------------

def shown(outcome: Outcome) -> set[str]:
    return {hit.candidate.doc_id for hit in (*outcome.results, *outcome.closest)}


def rejected(outcome: Outcome) -> list[tuple[str, str]]:
    return [(chunk_id.partition("#")[0], rule) for chunk_id, rule in outcome.rejected]


def ask(lab: Lab, **options) -> Outcome:
    return lab.search(QUERY, **{"hybrid": True, "rerank": True, **options})


def test_before_anything_happens_the_advisory_is_shown():
    assert ADVISORY in shown(ask(build_lab("starboat")))


def test_an_index_from_before_a_withdrawal_no_longer_shows_the_document():
    lab = build_lab("starboat")
    lab.catalog.withdraw(ADVISORY, 1)
    outcome = ask(lab, threshold=0, k=12)
    assert ADVISORY not in shown(outcome) and ADVISORY not in "".join(outcome.pool) and outcome.rejected == ()


def test_an_index_from_before_an_edit_is_caught_by_the_gate_of_the_same_query():
    lab = build_lab("starboat")
    lab.catalog.publish(lab.docs[ADVISORY]._replace(version=2, text="另一段正文。", content_digest="0" * 16), 1)
    outcome = ask(lab)
    assert ADVISORY not in shown(outcome)
    assert rejected(outcome) == [(ADVISORY, "changed")] and outcome.dropped == {"changed": 1}


def test_an_edit_that_is_put_in_is_indexed_anew_and_shown():
    lab = build_lab("starboat")
    edited = lab.docs[ADVISORY]
    lab.put(edited._replace(version=2, text=edited.text.replace("1 分钟", "2 分钟"), content_digest="0" * 16))
    outcome = ask(lab)
    assert ADVISORY in shown(outcome) and outcome.rejected == () and lab.catalog.apply(withdraw(ADVISORY, 2)) == "stale"


CHANGES = {   # what happens -> (the change, the rule that it falls to)
    "withdrawn": (lambda catalog, one: catalog.withdraw(one.doc_id, one.version), "status"),
    "deleted": (lambda catalog, one: catalog.delete(one.doc_id, Scope("starboat", ("public",))), "deleted"),
    "closed": (lambda catalog, one: catalog.publish(one._replace(version=2, roles=("maintainer",)), 1), "role"),
    "ended": (lambda catalog, one: catalog.publish(one._replace(version=2, valid_to=one.valid_from), 1), "time"),
    "moved": (lambda catalog, one: catalog.publish(one._replace(version=2, applies_from="3.3", applies_to="3.3"), 1),
              "version"),
    "edited": (lambda catalog, one: catalog.publish(one._replace(version=2, text="别的", content_digest="0" * 16), 1),
               "changed"),
}
every_change = pytest.mark.parametrize("change, rule", CHANGES.values(), ids=CHANGES)


class Happening:
    """A second channel that lets something happen once it was searched: between recall and rerank."""

    name = "dense"

    def __init__(self, index, happens):
        self.index, self.happens = index, happens

    def over(self, live_ids):
        return Happening(self.index.over(live_ids), self.happens)

    def search(self, query, k):
        hits = self.index.search(query, k)
        self.happens()
        return hits

    def usable(self, query):
        return self.index.usable(query)


@every_change
def test_what_happens_between_recall_and_rerank_is_caught_before_anything_is_looked_at(change, rule):
    lab = build_lab("starboat")
    advisory, looked_at = lab.docs[ADVISORY], []

    def look(asked, candidate, chunk, document):
        looked_at.append(candidate.doc_id)
        return lab.look(asked, candidate, chunk, document)

    parts = retrieve.Parts(lab.chunks, lab.bm25, Happening(lab.dense, lambda: change(lab.catalog, advisory)), look)
    outcome = retrieve.run(QUERY, lab.scope, lab.catalog, parts, lab.options(hybrid=True, rerank=True))
    assert rejected(outcome) == [(ADVISORY, rule)] and ADVISORY not in shown(outcome)
    assert looked_at and ADVISORY not in looked_at


@every_change
def test_what_happens_during_the_rerank_is_caught_before_the_cut(change, rule):
    happened = []

    def rerank(query, text):
        if not happened:
            happened.append(change(lab.catalog, lab.docs[ADVISORY]))
        return len(text)

    lab = build_lab("starboat", seams=Seams(reranker=rerank, names={"reranker": "m:f"}))
    outcome = ask(lab, threshold=0, k=12)
    assert happened and rejected(outcome) == [(ADVISORY, rule)] and ADVISORY not in shown(outcome)


def test_a_query_that_is_not_to_be_reranked_does_not_call_the_reranker_behind_the_gate():
    def rerank(query, text):
        if ADVISORY in lab.docs:
            lab.catalog.withdraw(ADVISORY, 1)
        return 1.0

    lab = build_lab("starboat", seams=Seams(reranker=rerank, names={"reranker": "m:f"}))
    outcome = ask(lab, rerank=False, threshold=0, k=12)
    assert shown(outcome) <= set(lab.docs)


def test_a_citation_that_leaves_the_lab_holds_for_the_version_that_the_catalog_has_by_then():
    lab = build_lab("starboat")
    advisory = lab.docs[ADVISORY]
    # the same words, a new version
    again = Happening(lab.dense, lambda: lab.catalog.publish(advisory._replace(version=2), 1))
    parts = retrieve.Parts(lab.chunks, lab.bm25, again, lab.look)
    outcome = retrieve.run(QUERY, lab.scope, lab.catalog, parts, lab.options(hybrid=True, rerank=True))
    assert all(verify(hit.citation, lab.docs[hit.candidate.doc_id]) is None for hit in outcome.results)


def test_the_gate_makes_room_so_that_what_may_be_shown_is_shown():
    lab = Lab(Corpus(CorpusSettings("test", chunker="structure", scope=SCOPE), (document("a", "退款"), document("b", "退款"))))
    lab.catalog.publish(document("a", "换货", version=2), 1)
    outcome = lab.search("退款", k=1, rerank=True)
    assert shown(outcome) == {"b"} and rejected(outcome) == [("a", "changed")]


def test_the_receipt_follows_every_change():
    lab = lab_of(document("a", "退款"), document("b", "退款"))
    receipts = [lab.search("退款").receipt["corpus"]]
    for change in (publish("c", 1), withdraw("c", 2), withdraw("b", 2)):
        lab.catalog.apply(change)
        receipts.append(lab.search("退款").receipt["corpus"])
    assert receipts[0] == receipts[2] and len(set(receipts)) == 3
