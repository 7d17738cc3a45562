"""Who may see which document: hard rules in a fixed order, windows and versions at their ends, tombstones, the ledger."""
import re
from datetime import datetime, timedelta, timezone

import pytest
from support import document

from rag_lab import Scope, UsageError
from rag_lab.catalog import RULES, Catalog, applies_to, in_force

SCOPE = Scope("t", ("r",))
START = datetime(2026, 8, 1, tzinfo=timezone(timedelta(hours=8)))       # 2026-07-31T16:00Z
END = datetime(2026, 9, 1, tzinfo=timezone.utc)
TICK = timedelta(microseconds=1)


def seen(scope, *documents) -> list[str]:
    """The ids that the scope sees."""
    return list(Catalog(documents).eligible(scope).documents)


# --- the rules ------------------------------------------------------------------------------------------------------

def test_a_document_falls_to_the_first_rule_that_it_breaks():
    scope = Scope("t", ("r",), as_of=END, product_version="2")
    breaks = {"tenant": {"tenant": "u"}, "deleted": {}, "status": {"status": "retired"}, "time": {"valid_to": END},
              "version": {"applies_to": "1"}, "role": {"roles": ("x",)}, "principal": {"principals": ("p",)}}
    assert tuple(breaks) == RULES
    for at, rule in enumerate(RULES):   # every document breaks this rule and all rules after it
        catalog = Catalog([document("d", "x")])
        if at <= RULES.index("deleted"):
            catalog.delete("d", SCOPE)
        catalog.put(document("d", "x", **{name: value for broken in RULES[at:] for name, value in breaks[broken].items()}))
        assert catalog.broken_rule("d", scope) == rule
    assert Catalog([document("d", "x")]).broken_rule("d", scope) is None


def test_the_ledger_counts_every_hidden_document_once():
    catalog = Catalog([document("a", "x"), document("b", "x", tenant="u"), document("c", "x", tenant="u", status="retired"),
                       document("d", "x", roles=("boss",)), document("e", "x", status="withdrawn"), document("f", "x"),
                       document("g", "x", valid_from=END), document("h", "x", applies_from="3")])
    catalog.delete("f", SCOPE)
    live = catalog.eligible(Scope("t", ("r",), as_of=START, product_version="2"))
    assert list(live.documents) == ["a"]
    assert live.ledger == {"tenant": 2, "deleted": 1, "status": 1, "time": 1, "version": 1, "role": 1, "principal": 0}
    assert tuple(live.ledger) == RULES


@pytest.mark.parametrize("fields", [
    {"tenant": None}, {"roles": ()}, {"tenant": None, "roles": ()}, {"tenant": ""}, {"roles": ("",)}, {"roles": ("R",)},
    {"status": "retired"}, {"status": "withdrawn"}, {"status": "Active"}, {"status": ""}])
def test_what_cannot_be_decided_is_denied(fields):
    assert seen(SCOPE, document("d", "x", **fields)) == []


def test_a_caller_without_roles_sees_nothing():
    assert seen(Scope("t", ()), document("a", "x"), document("b", "x", roles=())) == []


def test_one_role_in_common_is_enough():
    assert seen(Scope("t", ("x", "r")), document("d", "x", roles=("r", "y"))) == ["d"]


def test_roles_written_as_one_string_open_no_door():
    try:
        found = seen(Scope("t", ("read",)), document("d", "x", roles="reader"))   # "read" stands in "reader"
    except UsageError:
        found = []
    assert found == []


@pytest.mark.parametrize("tenant", ["acmeXcorp", "acme", "acme_corp_", "ACME_CORP", "acme_corp ", "acme%corp", ".*"])
def test_b071_a_tenant_is_a_string_and_not_a_pattern(tenant):
    documents = document("mine", "x", tenant="acme_corp"), document("theirs", "x", tenant=tenant)
    assert seen(Scope("acme_corp", ("r",)), *documents) == ["mine"]
    assert seen(Scope(tenant, ("r",)), *documents) == ["theirs"]


@pytest.mark.parametrize("role", ["role", "r_le", "ro", "ROLE2", "role22"])
def test_b071_a_role_is_a_string_and_not_a_pattern(role):
    assert seen(Scope("t", (role,)), document("d", "x", roles=("role2",))) == []


def test_b073_two_scopes_ask_one_catalog_and_each_gets_its_own():
    catalog = Catalog([document("a", "x", tenant="A"), document("b", "x", tenant="B"),
                       document("c", "x", tenant="A", roles=("s",))])
    scopes = [Scope("A", ("r",)), Scope("B", ("r",)), Scope("A", ("s",)), Scope("A", ("r", "s")), Scope("A", ("r",))]
    assert [list(catalog.eligible(scope).documents) for scope in scopes] == [["a"], ["b"], ["c"], ["a", "c"], ["a"]]


# --- windows and versions -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("moment, visible", [
    (START - TICK, False), (START, True), (START.astimezone(timezone.utc), True), (START + TICK, True), (END - TICK, True),
    (END, False), (END.astimezone(timezone(timedelta(hours=-5))), False), (END + TICK, False)])
def test_b128_a_window_is_half_open_at_every_offset(moment, visible):
    windowed = document("d", "x", valid_from=START, valid_to=END)
    assert in_force(windowed, moment) is visible
    assert seen(Scope("t", ("r",), as_of=moment), windowed) == (["d"] if visible else [])


@pytest.mark.parametrize("fields", [{}, {"valid_from": START}, {"valid_to": END}])
def test_an_end_that_is_not_given_is_open(fields):
    assert in_force(document("d", "x", **fields), START + timedelta(days=1))


def test_without_as_of_windows_are_not_looked_at():
    assert seen(SCOPE, document("d", "x", valid_to=START)) == ["d"]


@pytest.mark.parametrize("version, visible", [
    ("3.1.9", False), ("3.2", True), ("3.2.0", True), ("3.9", True), ("3.10", True), ("3.10.0", True), ("3.10.1", False),
    ("3.11", False), ("3", False), ("4", False)])
def test_product_versions_are_numbers_and_both_ends_belong_to_the_range(version, visible):
    versioned = document("d", "x", applies_from="3.2", applies_to="3.10")
    assert applies_to(versioned, version) is visible
    assert seen(Scope("t", ("r",), product_version=version), versioned) == (["d"] if visible else [])


def test_without_a_product_version_ranges_are_not_looked_at():
    assert seen(SCOPE, document("d", "x", applies_from="9")) == ["d"]


# --- the scope ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("wrong", [
    {"tenant": None}, {"tenant": ""}, {"tenant": 7}, {"roles": "reader"}, {"roles": ("r", 7)}, {"roles": ("",)},
    {"roles": None}, {"as_of": datetime(2026, 8, 1)}, {"as_of": "2026-08-01T00:00:00+08:00"}, {"as_of": 1754000000},
    {"product_version": 3}, {"product_version": 3.1}, {"product_version": "3.x"}, {"product_version": ""},
    {"product_version": "1_0"}, {"product_version": "３"}], ids=ascii)
def test_b070_a_scope_of_another_type_is_refused_before_anything_is_asked(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Scope(**{"tenant": "t", "roles": ("r",), **wrong})


def test_b070_an_id_with_zeros_is_never_the_number():
    catalog = Catalog([document("007", "x")])
    assert (catalog.broken_rule("7", SCOPE), catalog.broken_rule(7, SCOPE), catalog.broken_rule("007", SCOPE)) == (
        "missing", "missing", None)


@pytest.mark.parametrize("wrong", [
    {"valid_from": datetime(2026, 8, 1)}, {"valid_to": "2026-08-01T00:00:00Z"}, {"applies_from": 3.1},
    {"applies_to": "3.x"}], ids=ascii)
def test_b122_a_document_that_cannot_be_compared_is_refused_and_breaks_no_query(wrong):
    scope = Scope("t", ("r",), as_of=START, product_version="3")
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Catalog([document("d", "x", **wrong)]).eligible(scope)


# --- tombstones and changes -----------------------------------------------------------------------------------------

def test_a_tombstone_says_what_was_deleted_when_and_why():
    catalog = Catalog([document("d", "x", version=9)], clock="2026-10-19T09:00:00+08:00")
    assert catalog.delete("d", SCOPE, "expired") == ("d", 9, "2026-10-19T09:00:00+08:00", "expired", "del-d-1")
    assert catalog.tombstones_of(SCOPE) == (catalog.tombstones["d"],)
    assert catalog.broken_rule("d", SCOPE) == "deleted" and catalog.current("d", SCOPE) is None


def test_tombstones_stand_in_the_order_of_deletion():
    catalog = Catalog([document("a", "x"), document("b", "x"), document("c", "x")])
    for doc_id in ("c", "a"):
        catalog.delete(doc_id, SCOPE)
    assert [stone.request_id for stone in catalog.tombstones_of(SCOPE)] == ["del-c-1", "del-a-2"]


def test_a_deletion_that_finds_nothing_says_the_same_whatever_the_reason():
    catalog = Catalog([document("gone", "x"), document("theirs", "x", tenant="u"), document("boss", "x", roles=("b",)),
                       document("old", "x", status="withdrawn")])
    catalog.delete("gone", SCOPE)
    messages = set()
    for doc_id in ("gone", "theirs", "boss", "old", "never"):
        with pytest.raises(UsageError) as caught:
            catalog.delete(doc_id, SCOPE)
        messages.add(re.sub(repr(doc_id), "ID", str(caught.value)))
    assert len(messages) == 1 and list(catalog.tombstones) == ["gone"]


def test_what_others_delete_changes_neither_the_tombstones_nor_the_numbers_of_a_scope():
    catalog = Catalog([document("a", "x"), document("theirs", "x", tenant="u")])
    catalog.delete("theirs", Scope("u", ("r",)))
    assert catalog.delete("a", SCOPE).request_id == "del-a-1"
    assert [stone.doc_id for stone in catalog.tombstones_of(SCOPE)] == ["a"]


def test_put_takes_the_place_of_the_document_with_its_id():
    catalog = Catalog([document("a", "old")])
    catalog.put(document("a", "new", version=2)), catalog.put(document("b", "more"))
    assert [(one.doc_id, one.text) for one in catalog.documents] == [("a", "new"), ("b", "more")]
    assert catalog.current("a", SCOPE).version == 2


def test_a_deleted_id_stays_deleted_when_it_is_put_again():
    catalog = Catalog([document("a", "old")])
    catalog.delete("a", SCOPE)
    catalog.put(document("a", "new", version=2))
    assert catalog.broken_rule("a", SCOPE) == "deleted" and not catalog.eligible(SCOPE).documents


def test_every_change_raises_the_revision_and_asking_does_not():
    catalog = Catalog([document("a", "x"), document("b", "x")])
    catalog.eligible(SCOPE), catalog.current("a", SCOPE)
    before = catalog.revision
    catalog.put(document("c", "x")), catalog.delete("a", SCOPE)
    assert (before, catalog.revision) == (0, 2)


def test_the_live_set_is_one_object_until_the_catalog_changes():
    catalog = Catalog([document("a", "x"), document("b", "x")])
    before = catalog.eligible(SCOPE)
    assert catalog.eligible(Scope("t", ["r"])) is before
    catalog.delete("a", SCOPE)
    assert list(before.documents) == ["a", "b"] and list(catalog.eligible(SCOPE).documents) == ["b"]


def test_nobody_can_write_into_a_live_set():
    live = Catalog([document("a", "x")]).eligible(SCOPE)
    with pytest.raises(TypeError):
        live.documents["b"] = document("b", "x")
    with pytest.raises(TypeError):
        live.ledger["tenant"] = 5


def test_live_documents_stand_in_id_order_whatever_the_order_of_adding():
    ids = ["b", "a", "ä", "B", "10", "9"]
    assert seen(SCOPE, *(document(doc_id, "x") for doc_id in ids)) == ["10", "9", "B", "a", "b", "ä"]


@pytest.mark.parametrize("change", [
    {"version": 2}, {"roles": ("r", "s")}, {"kind": "faq"}, {"topic": "p"}, {"language": "zh"}, {"trust": "community"},
    {"valid_from": START}, {"applies_to": "3"}, {"path": "elsewhere.md"}, {"content_digest": "0"}])
def test_the_digest_of_a_live_set_changes_with_all_that_governs_it(change):
    assert (Catalog([document("a", "x", **change)]).eligible(SCOPE).digest
            != Catalog([document("a", "x")]).eligible(SCOPE).digest)


def test_the_digest_of_a_live_set_knows_nothing_of_hidden_documents_or_of_order():
    a, b, hidden = document("a", "x"), document("b", "y"), document("h", "z", tenant="u")
    assert (Catalog([b, hidden, a]).eligible(SCOPE).digest == Catalog([a, b]).eligible(SCOPE).digest
            == Catalog([a._replace(roles=("r",)), b]).eligible(SCOPE).digest)
