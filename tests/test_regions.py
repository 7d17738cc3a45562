"""Permission regions: nobody without rights can tell that a section was there, and none is wider than its document."""
import itertools

import pytest
from support import document

from rag_lab import DataError, Scope, build_lab
from rag_lab.catalog import may_read
from rag_lab.chunking import CHUNKERS
from rag_lab.corpus import load_corpus
from rag_lab.files import canonical_json
from rag_lab.model import Fact, Region
from rag_lab.regions import BadRegion, project
from rag_lab.report import search_report

CORPUS = 'name = "test"\nchunker = "{chunker}"\n\n[scope]\ntenant = "t"\nroles = ["public"]\n'
HEAD = '+++\nid = "d"\ntitle = "手册"\ntenant = "t"\nroles = ["public", "staff"]\n{more}+++\n'
REGION = '\n[[regions]]\nheading = "内部"\nroles = ["staff"]\n'
PUBLIC = "# 手册\n\n总则。\n\n## 退款\n\n三天到账。\n\n## 联系\n\n写信。"
SECRET = "## 内部\n\n先核对凤凰账户，再退款。\n\n### 细则\n\n```\n# 命令\n```"
PLACES = {"first": f"{SECRET}\n\n{PUBLIC}", "last": f"{PUBLIC}\n\n{SECRET}",
          "between": PUBLIC.replace("## 联系", f"{SECRET}\n\n## 联系")}
BOTH = Scope("t", ("public", "staff"))


def write_corpus(folder, more: str, text: str, chunker: str = "structure") -> str:
    """A corpus of the one file d.md, with `more` in its head."""
    folder.mkdir(exist_ok=True)
    (folder / "corpus.toml").write_text(CORPUS.format(chunker=chunker), encoding="utf-8")
    (folder / "d.md").write_text(HEAD.format(more=more) + text + "\n", encoding="utf-8")
    return str(folder)


def printed(lab, query: str, scope: Scope | None = None) -> str:
    return canonical_json(search_report(lab.search(query, scope=scope, hybrid=True, rerank=True, explain=True,
                                                   show_context=True,
                                                   threshold=0)))


def fault_of(folder, more: str, text: str) -> str:
    with pytest.raises(DataError) as error:
        load_corpus(write_corpus(folder, more, text))
    (fault,) = error.value.faults
    return str(fault)


# --- nobody can tell ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("place", PLACES)
def test_what_is_left_is_the_document_of_a_file_that_never_held_the_section(place, tmp_path):
    held = load_corpus(write_corpus(tmp_path / "held", REGION, PLACES[place])).documents[0]
    never = load_corpus(write_corpus(tmp_path / "never", "", PUBLIC)).documents[0]
    assert held == never and held.text == PUBLIC


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("chunker", CHUNKERS)
def test_whatever_a_caller_without_the_role_is_shown_is_byte_identical(place, chunker, tmp_path):
    held = build_lab(write_corpus(tmp_path / "held", REGION, PLACES[place], chunker))
    never = build_lab(write_corpus(tmp_path / "never", "", PUBLIC, chunker))
    for query in ("退款 多久", "凤凰账户", "内部", "命令", ""):
        assert printed(held, query) == printed(never, query)


def test_the_document_is_the_same_for_a_caller_who_may_read_the_region_too(tmp_path):
    lab = build_lab(write_corpus(tmp_path / "held", REGION, PLACES["between"]))
    live = lab.catalog.eligible(BOTH).documents
    assert live["d"].text == PUBLIC and len(live) == 2
    (region,) = (one for doc_id, one in live.items() if doc_id != "d")
    assert region.text == SECRET and region.title == "手册 / 内部"


def test_a_caller_with_both_roles_finds_the_region_and_one_without_does_not(tmp_path):
    lab = build_lab(write_corpus(tmp_path / "held", REGION, PLACES["between"]))
    assert "凤凰" in lab.search("凤凰账户", scope=BOTH).answer
    assert lab.search("凤凰账户").refused and lab.search("凤凰账户").best_support == 0


@pytest.mark.parametrize("place", PLACES)
def test_no_chunk_holds_words_of_both_sides(place, tmp_path):
    for chunker in CHUNKERS:
        lab = build_lab(write_corpus(tmp_path / chunker, REGION, PLACES[place], chunker))
        for chunk in lab.chunks.by_id.values():
            assert not ("凤凰" in chunk.prefix + chunk.text and "三天" in chunk.text)
            assert chunk.doc_id != "d" or not {"凤凰", "内部", "命令", "细则"} & set([*chunk.heading_path, chunk.text])


def test_one_who_reads_a_region_cannot_tell_whether_there_is_another():
    given = document("d", "零\n\n## 甲\n\n一\n\n## 乙\n\n二")
    both = project(given, [Region("甲", ("boss",)), Region("乙", ("staff",))])
    alone = project(given, [Region("乙", ("staff",))])
    assert both[-1] == alone[-1]


# --- never wider ------------------------------------------------------------------------------------------------------

def test_a_region_needs_a_role_of_the_document_and_one_of_its_own(tmp_path):
    lab = build_lab(write_corpus(tmp_path / "held", REGION.replace('"staff"', '"boss"'), PLACES["last"]))
    seen = {roles: len(lab.catalog.eligible(Scope("t", roles)).documents)
            for roles in ((), ("boss",), ("public",), ("staff",), ("public", "boss"), ("staff", "boss"))}
    assert seen == {(): 0, ("boss",): 0, ("public",): 1, ("staff",): 1, ("public", "boss"): 2, ("staff", "boss"): 2}


def test_whoever_may_read_a_region_may_read_its_document():
    names = ("a", "b", "c")
    subsets = [given for size in range(4) for given in itertools.combinations(names, size)]
    for of_document, of_region, held in itertools.product(subsets, subsets[1:], subsets):
        rest, region = project(document("d", "零\n\n## 甲\n\n一", roles=of_document), [Region("甲", of_region)])
        assert may_read(region, held) == (may_read(rest, held) and bool({*held} & {*of_region}))


@pytest.mark.parametrize("field, value", [("tenant", "u"), ("tenant", None), ("status", "withdrawn"), ("trust", "untrusted"),
                                          ("applies_to", "3.2"), ("version", 7), ("kind", "faq"), ("path", "test/p.md")])
def test_a_region_is_governed_as_its_document_is(field, value):
    pieces = project(document("d", "零\n\n## 甲\n\n一", **{field: value}), [Region("甲", ("staff",))])
    assert [getattr(piece, field) for piece in pieces] == [value, value]


def test_a_fact_goes_with_the_piece_that_holds_its_quote():
    given = document("d", "零甲\n\n## 甲\n\n一", facts=(Fact("f1", "零甲"), Fact("f2", "一"), Fact("f3", "甲")))
    rest, region = project(given, [Region("甲", ("staff",))])
    assert [fact.fact_id for fact in rest.facts] == ["f1", "f3"] and [fact.fact_id for fact in region.facts] == ["f2", "f3"]


def test_a_region_reaches_to_the_next_heading_of_its_level_or_above():
    given = document("d", "# 总\n\n## 甲\n\n一\n\n### 丙\n\n二\n\n## 乙\n\n三")
    assert [piece.text for piece in project(given, [Region("甲", ("s",))])] == ["# 总\n\n## 乙\n\n三", "## 甲\n\n一\n\n### 丙\n\n二"]


def test_a_heading_mark_within_code_neither_opens_nor_ends_a_region():
    given = document("d", "零\n\n## 甲\n\n```\n# 丁\n## 甲\n```\n\n一")
    assert project(given, [Region("甲", ("s",))])[1].text == "## 甲\n\n```\n# 丁\n## 甲\n```\n\n一"


def test_a_document_without_regions_is_itself():
    given = document("d", "## 甲\n\n一")
    assert project(given, ()) == (given,)


# --- faults -----------------------------------------------------------------------------------------------------------

def test_a_heading_that_does_not_stand_is_a_fault_with_file_line_rule_and_remedy(tmp_path):
    told = fault_of(tmp_path / "c", REGION.replace("内部", "外部"), PLACES["last"])
    # +++, four fields, a blank
    assert told.startswith(f"{tmp_path / 'c' / 'd.md'}:7: regions: heading '外部' stands 0 times; ")
    assert "name each heading as it stands" in told


def test_a_heading_that_stands_twice_is_a_fault(tmp_path):
    assert "heading '内部' stands 2 times" in fault_of(tmp_path / "c", REGION, f"{PLACES['last']}\n\n## 内部\n\n又。")


def test_a_heading_that_stands_only_in_code_is_a_fault(tmp_path):
    assert "heading '内部' stands 0 times" in fault_of(tmp_path / "c", REGION, "零\n\n```\n## 内部\n```")


@pytest.mark.parametrize("other", ["细则", "内部"])
def test_regions_within_each_other_are_a_fault(other, tmp_path):
    more = REGION + f'\n[[regions]]\nheading = "{other}"\nroles = ["boss"]\n'
    assert "regions stand within each other" in fault_of(tmp_path / "c", more, PLACES["between"])


@pytest.mark.parametrize("quote", ["三天到账。\\n\\n## 内部", "# 命令\\n```\\n\\n## 联系", "三天到账。\\n\\n## 内部\\n\\n先核对凤凰账户，再退款。"])
def test_a_fact_that_a_border_cuts_is_a_fault(quote, tmp_path):
    told = fault_of(tmp_path / "c", f'\n[[facts]]\nid = "f1"\nquote = "{quote}"\n{REGION}', PLACES["between"])
    assert "d.md:11: regions: the quote of fact 'f1' reaches over the border of a region; " in told


@pytest.mark.parametrize("region, rule", [
    ('heading = "内部"\nroles = []', "it is empty"), ('heading = "内部"', "exactly heading and roles"),
    ('heading = " "\nroles = ["staff"]', "blank"), ('heading = "内部"\nroles = "staff"', "not a list of names"),
    ('heading = "内部"\nroles = ["staff"]\nwidth = 1', "exactly heading and roles")])
def test_a_region_that_says_too_little_or_too_much_is_a_fault(region, rule, tmp_path):
    assert rule in fault_of(tmp_path / "c", f"\n[[regions]]\n{region}\n", PLACES["last"])


def test_regions_that_leave_nothing_of_their_document_are_a_fault():
    with pytest.raises(BadRegion):   # a file that never held them would have no text, and so be no document
        project(document("d", "# 甲\n\n一"), [Region("甲", ("s",))])


def test_a_document_cannot_take_the_id_of_a_region_of_another(tmp_path):
    path = write_corpus(tmp_path / "c", REGION, PLACES["last"])
    region = load_corpus(path).documents[1].doc_id
    twin = HEAD.format(more="").replace('id = "d"', f'id = "{region}"') + "冒名。\n"
    for name in ("a.md", "e.md"):   # read before d.md, and after it
        (tmp_path / "c" / name).write_text(twin, encoding="utf-8")
        with pytest.raises(DataError, match="stands in"):
            load_corpus(path)
        (tmp_path / "c" / name).unlink()


# --- a region stands and falls with its document --------------------------------------------------------------------

@pytest.mark.parametrize("end", ["delete", "withdraw", "publish"])
def test_a_region_goes_with_its_document_for_those_who_could_read_it_too(tmp_path, end):
    lab = build_lab(write_corpus(tmp_path / "c", REGION, PLACES["last"]))
    lab.scope = BOTH
    assert "凤凰" in lab.search("核对凤凰账户").answer and len(lab.docs) == 2
    {"delete": lambda: lab.delete("d"), "withdraw": lambda: lab.withdraw("d", 1),
     "publish": lambda: lab.publish(lab.docs["d"]._replace(version=2), 1)}[end]()
    outcome = lab.search("核对凤凰账户", hybrid=True, threshold=0)
    assert "凤凰" not in printed(lab, "退款") and [hit.title for hit in outcome.results if "内部" in hit.title] == []
    assert list(lab.docs) == (["d"] if end == "publish" else [])


def test_a_region_that_is_published_with_its_document_is_read_again(tmp_path):
    lab = build_lab(write_corpus(tmp_path / "c", REGION, PLACES["last"]))
    lab.scope = BOTH
    region = next(doc_id for doc_id in lab.docs if doc_id != "d")
    pieces = [lab.docs[doc_id]._replace(version=2) for doc_id in ("d", region)]
    for piece in pieces:
        lab.publish(piece, 1)
    assert list(lab.docs) == ["d", region] and "凤凰" in lab.search("核对凤凰账户").answer
