"""The result cache: what its key holds, what makes an entry unreachable, the gate on a hit, the bound, two tenants."""
from datetime import datetime, timezone

import pytest
from support import document, lab_of
from test_noninterference import ASKING, lab_over, random_corpus

from rag_lab import Lab, Scope, Settings, UsageError
from rag_lab.cache import ResultCache, key_of
from rag_lab.catalog import Catalog
from rag_lab.corpus import Corpus, CorpusSettings
from rag_lab.files import canonical_json
from rag_lab.model import Preference
from rag_lab.report import search_report

MOMENT = datetime(2026, 9, 30, tzinfo=timezone.utc)
HERE, THERE = Scope("t", ("r",)), Scope("u", ("r",))


def cached(*documents, size: int = 256) -> Lab:
    """A lab over these documents that keeps its outcomes."""
    lab = lab_of(*documents)
    lab.cache = ResultCache(size)
    return lab


def shown(lab: Lab, query: str, **how) -> str:
    return canonical_json(search_report(lab.search(query, explain=True, show_context=True, **how)))


def counts(hits: int, misses: int, dropped: int = 0) -> dict:
    return {"hits": hits, "misses": misses, "dropped": dropped}


# --- the key ----------------------------------------------------------------------------------------------------------

KEYED = {"query": "red", "scope": Scope("t", ("r", "s"), MOMENT, "3.2", "lin"), "settings": Settings(),
         "ingredients": ["bigram", "whole", 1.2, 0.75]}


def key(**changed) -> str:
    return key_of(**{**KEYED, "catalog": Catalog([]), **changed})


@pytest.mark.parametrize("query", ["", "RED", "red ", " red", "red\n", "rеd"])
def test_every_other_query_has_another_key_however_alike(query):
    assert key(query=query) != key()


@pytest.mark.parametrize("field, value", [
    ("tenant", "u"), ("tenant", "T"), ("roles", ("r",)), ("roles", ()), ("roles", ("r", "s", "x")), ("roles", ("rs",)),
    ("as_of", None), ("as_of", MOMENT.replace(microsecond=1)), ("product_version", None), ("product_version", "3.20"),
    ("principal", None), ("principal", "wang")])
def test_every_field_of_the_scope_is_in_the_key(field, value):
    assert key(scope=Scope(**{**KEYED["scope"]._asdict(), field: value})) != key()


def test_no_field_of_the_scope_is_left_out_of_that_test():
    assert Scope._fields == ("tenant", "roles", "as_of", "product_version", "principal")


SETTINGS = {"k": 4, "pool": 21, "hybrid": True, "rerank": True, "threshold": 0.31, "threshold_on": "each_result",
            "rrf_k": 61, "show_context": True, "explain": True, "prefer": Preference(kind="policy")}


@pytest.mark.parametrize("field", Settings._fields)
def test_every_setting_is_in_the_key(field):
    assert key(settings=Settings(**{field: SETTINGS[field]})) != key()


@pytest.mark.parametrize("prefer", [Preference(language="zh"), Preference(valid_at=MOMENT), Preference(kind="zh")])
def test_every_soft_filter_is_in_the_key(prefer):
    assert len({key(settings=Settings(prefer=one)) for one in (prefer, Preference(kind="policy"), Preference())}) == 3


def test_what_the_indexes_are_made_with_is_in_the_key():
    assert len({key(ingredients=one) for one in (["bigram"], ["code"], ["bigram", 1.2], [1.2, "bigram"])}) == 4


@pytest.mark.parametrize("name, value", [("analyzer", "code"), ("chunker", "structure"), ("k1", 1.3), ("b", 0.7),
                                         ("encoder", "concepts"), ("reranker", "governed")])
def test_every_ingredient_of_a_lab_is_told(name, value):
    made = [Lab(Corpus(CorpusSettings("test", scope=HERE)._replace(**changed), (document("d", "red"),))).ingredients()
            for changed in ({}, {name: value})]
    assert made[0] != made[1]


def test_the_revision_of_the_catalog_is_in_the_key():
    catalog = Catalog([document("d", "red")])
    before = key(catalog=catalog)
    catalog.put(document("d", "blue"))
    assert key(catalog=catalog) != before


def test_the_same_request_has_the_same_key_whatever_the_order_of_the_roles():
    assert key() == key(scope=Scope("t", ("s", "r"), MOMENT, "3.2", "lin"))


# --- a hit, and what ends it ------------------------------------------------------------------------------------------

def test_a_second_asking_is_a_hit_and_prints_the_same_bytes_as_the_first_and_as_a_lab_without_a_cache():
    documents = [document("a", "red green"), document("b", "red red blue")]
    lab = cached(*documents)
    first, second = shown(lab, "red blue"), shown(lab, "red blue")
    assert first == second == shown(lab_of(*documents), "red blue") and lab.cache.counts == counts(1, 1)


def test_a_refusal_is_kept_too():
    lab = cached(document("a", "red"))
    assert shown(lab, "violet") == shown(lab, "violet") and lab.cache.counts == counts(1, 1)


CHANGES = {
    "put": lambda lab: lab.put(document("a", "blue", version=2)),
    "put of a new one": lambda lab: lab.put(document("c", "red")),
    "other readers": lambda lab: lab.put(document("a", "red", roles=("boss",))),
    "another tenant": lambda lab: lab.put(document("a", "red", tenant="u")),
    "publish": lambda lab: lab.publish(document("a", "red and blue", version=2), 1),
    "withdraw": lambda lab: lab.withdraw("a", 1),
    "delete": lambda lab: lab.delete("a"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_of_a_document_the_old_answer_is_unreachable(change):
    lab, fresh = (cached(document("a", "red"), document("b", "red green")) for _ in range(2))
    before = shown(lab, "red")
    CHANGES[change](lab), CHANGES[change](fresh)
    after = shown(lab, "red")
    assert after != before and after == shown(fresh, "red")
    assert lab.cache.counts == counts(0, 2)   # not even found, so there was nothing to drop


def test_b103_one_word_changed_under_the_same_id_and_number_is_searched_at_once():
    lab = cached(document("a", "the red door"), document("b", "something else"))
    assert lab.search("green").refused
    lab.put(document("a", "the green door"))
    assert [hit.candidate.doc_id for hit in lab.search("green").results] == ["a"]


def test_b103_two_labs_over_different_words_may_share_a_cache_and_each_gets_its_own_answer():
    one, other, cache = lab_of(document("a", "the red door")), lab_of(document("a", "the green door")), ResultCache()
    one.cache = other.cache = cache
    assert one.search("green").refused and other.search("green").answer == "the green door"


# --- the gate on a hit ------------------------------------------------------------------------------------------------

def forge(lab: Lab, query: str, scope: Scope, outcome) -> None:
    """Put an outcome under the key of another request, which no path of the lab does."""
    lab.cache._entries[key_of(query, scope, lab.options(), lab.ingredients(), lab.catalog)] = outcome


def test_an_outcome_of_before_a_deletion_that_is_made_reachable_is_dropped_and_counted():
    lab = cached(document("a", "red"), document("b", "red green"))
    old = lab.search("red")
    lab.delete("a")
    forge(lab, "red", HERE, old)
    assert [hit.candidate.doc_id for hit in lab.search("red").results] == ["b"]
    assert lab.cache.counts == counts(0, 2, dropped=1)
    lab.search("red")
    assert lab.cache.counts == counts(1, 2, dropped=1)   # the fresh outcome took its place


def test_an_outcome_of_before_an_edit_that_is_made_reachable_is_dropped_and_counted():
    lab = cached(document("a", "red"))
    old = lab.search("red")
    lab.put(document("a", "red as ever"))
    forge(lab, "red", HERE, old)
    assert (lab.search("red").answer, lab.cache.counts["dropped"]) == ("red as ever", 1)


def test_a_refusal_that_shows_what_came_closest_passes_the_gate_as_well():
    lab = cached(document("a", "red"), document("b", "violet"))
    old = lab.search("red violet", threshold=1)
    assert old.refused and [hit.candidate.doc_id for hit in old.closest] == ["a", "b"]
    lab.delete("b")
    forge(lab, "red violet", HERE, old)
    assert lab.search("red violet").closest == () and lab.cache.counts["dropped"] == 1


def test_an_outcome_of_another_scope_that_is_made_reachable_is_dropped_and_counted():
    lab = cached(document("a", "red"), document("b", "red", tenant="u"))
    forge(lab, "red", HERE, lab.search("red", scope=THERE))
    outcome = lab.search("red", scope=HERE)
    assert outcome.scope == HERE and [hit.candidate.doc_id for hit in outcome.results] == ["a"]
    assert lab.cache.counts["dropped"] == 1


# --- the bound --------------------------------------------------------------------------------------------------------

def test_the_least_recently_used_outcome_is_given_up_first():
    lab = cached(document("a", "red"), size=2)
    for query in ("one", "two", "one", "three"):   # three pushes two out, since one was asked for again
        lab.search(query)
    assert len(lab.cache) == 2 and lab.cache.counts == counts(1, 3)
    lab.search("one")
    assert lab.cache.counts == counts(2, 3)
    lab.search("two")
    assert lab.cache.counts == counts(2, 4) and len(lab.cache) == 2


@pytest.mark.parametrize("size", [0, -1, 1.5, "2", True, None])
def test_a_size_that_is_no_whole_number_above_zero_is_a_usage_fault(size):
    with pytest.raises(UsageError, match="cache size"):
        ResultCache(size)


# --- two tenants ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("order", [(HERE, THERE), (THERE, HERE)])
def test_b073_two_tenants_that_ask_the_same_never_share_an_entry(order):
    lab = cached(document("a", "red"), document("b", "red", tenant="u"))
    expected = {"t": ["a"], "u": ["b"]}
    for scope in order * 2:
        assert [hit.candidate.doc_id for hit in lab.search("red", scope=scope).results] == expected[scope.tenant]
    assert lab.cache.counts == counts(2, 2)   # each asked twice: once for work, once from the cache


@pytest.mark.parametrize("seed", range(20))
def test_with_a_cache_hidden_documents_change_no_byte_and_no_count(seed):
    settings, visible, hidden = random_corpus(seed)
    told = []
    for documents in (visible, visible + hidden):
        lab = lab_over(settings, documents)
        lab.cache = ResultCache(2)
        told.append(([shown(lab, query, scope=ASKING, hybrid=True)
                      for query in ("退款", "凤凰", "退款", "SAML", "凤凰", "凤凰", "3.2", "退款")], dict(lab.cache.counts)))
    assert told[0] == told[1]


def test_a_change_of_hidden_documents_turns_no_hit_of_the_caller_into_a_miss():
    lab = cached(document("a", "red"), document("b", "red", tenant="u"))
    before = shown(lab, "red")
    lab.put(document("c", "red", tenant="u"))
    lab.withdraw("b", 1)
    assert shown(lab, "red") == before and lab.cache.counts == counts(1, 1)
