"""Queries and judgements come in strictly: what is odd is told with file and line, what is only spelt otherwise is read."""
import pytest

from rag_lab import DataError
from rag_lab.trec import Query, read_judged, read_qrels, read_queries

HEADER = "query-id\tcorpus-id\tscore\n"
GRADES = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 2}}


def file(folder, content, name="test.tsv") -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return str(path)


def faults_of(read, *args) -> list[tuple]:
    """(path, line, rule) of each fault."""
    with pytest.raises(DataError) as caught:
        read(*args)
    assert all(fault.remedy for fault in caught.value.faults)
    return [(fault.path, fault.line, fault.rule) for fault in caught.value.faults]


# --- judgements -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("content", [
    HEADER + "q1\td1\t1\nq1\td2\t0\nq2\td1\t2\n",
    HEADER + "q1\td1\t1\nq1\td2\t0\nq2\td1\t2",
    "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n",
    "q1\t0\td1\t1\nq1\t0\td2\t0\nq2\t0\td1\t2\n",
    "q1  0   d1 \t 1\n  q1 0 d2 0  \nq2 Q0 d1 2\n",
    "q1 0 d1 +1\nq1 0 d2 0\nq2 0 d1 02\n"],
    ids=["beir", "no-last-line-end", "trec", "tabs", "spaces", "signs"])
@pytest.mark.parametrize("save", [
    str.encode, lambda text: text.replace("\n", "\r\n").encode(), lambda text: text.encode("utf-8-sig"),
    lambda text: (text + "\n  \n\n").encode()], ids=["plain", "crlf", "bom", "blank-lines"])
def test_b092_judgements_read_the_same_however_they_were_saved(tmp_path, content, save):
    assert read_qrels(file(tmp_path, save(content))) == GRADES


def test_grades_below_zero_are_read(tmp_path):
    assert read_qrels(file(tmp_path, "q1 0 d1 -1\n")) == {"q1": {"d1": -1}}


def test_an_id_of_a_beir_file_may_hold_spaces_and_stays_as_it_is(tmp_path):
    assert read_qrels(file(tmp_path, HEADER + "q 1\t007\t1\n")) == {"q 1": {"007": 1}}


@pytest.mark.parametrize("grade", ["1_0", "１", "1.0", "1e0", "0x1", "nan", "inf", "1e400", "yes", "--1", "+", "²"])
@pytest.mark.parametrize("line", [HEADER + "q1\td1\t{}\n", "q0 0 d0 1\nq1 0 d1 {}\n"], ids=["beir", "trec"])
def test_b095_an_odd_spelling_of_a_grade_is_refused_with_file_and_line(tmp_path, line, grade):
    path = file(tmp_path, line.format(grade))
    ((where, number, rule),) = faults_of(read_qrels, path)
    assert (where, number) == (path, 2) and repr(grade) in rule


@pytest.mark.parametrize("grade", ["2000", "999999999"])
def test_a_grade_whose_gain_no_number_can_hold_is_refused(tmp_path, grade):
    ((_, number, rule),) = faults_of(read_qrels, file(tmp_path, f"q1 0 d1 {grade}\n"))   # 2^2000 is no float
    assert number == 1 and grade in rule


@pytest.mark.parametrize("line", ["\td1\t1", "q1\t\t1", "q1\t \t1"])
def test_an_empty_id_is_a_fault(tmp_path, line):
    assert [number for _, number, _ in faults_of(read_qrels, file(tmp_path, f"{HEADER}{line}\n"))] == [2]


@pytest.mark.parametrize("content, line", [
    (HEADER + "q1\td1\n", 2), (HEADER + "q1\td1\t1\textra\n", 2), (HEADER + "q1 d1 1\n", 2), ("q1 d1 1\n", 1),
    ("q1 0 d1 1\n\nq1 0 d2 1 extra\n", 3), ("q1 0 a document 1\n", 1), ("query-id corpus-id score\nq1\td1\t1\n", 1)])
def test_b092_a_wrong_number_of_columns_is_told_with_file_and_line(tmp_path, content, line):
    path = file(tmp_path, content)
    where, number, rule = faults_of(read_qrels, path)[0]
    assert (where, number) == (path, line) and "columns" in rule


@pytest.mark.parametrize("content", [HEADER + "q1\td1\t1\nq1\td1\t1\n", HEADER + "q1\td1\t1\nq1\td1\t0\n"])
def test_a_pair_that_is_judged_twice_is_a_fault(tmp_path, content):
    path = file(tmp_path, content)
    ((where, number, rule),) = faults_of(read_qrels, path)
    assert (where, number) == (path, 3) and "'d1'" in rule


@pytest.mark.parametrize("content", ["", "\n\n", HEADER])
def test_a_file_without_judgements_is_a_fault(tmp_path, content):
    path = file(tmp_path, content)
    assert [(where, number) for where, number, _ in faults_of(read_qrels, path)] == [(path, None)]


def test_all_faults_of_a_file_come_at_once(tmp_path):
    path = file(tmp_path, "q1 0 d1 x\nq1 d2\nq1 0 d3 1\nq1 0 d3 1\n")
    assert [number for _, number, _ in faults_of(read_qrels, path)] == [1, 2, 4]


def test_bytes_that_are_not_utf8_are_told_with_their_line(tmp_path):
    assert [number for _, number, _ in faults_of(read_qrels, file(tmp_path, b"q1 0 d1 1\nq1 0 \xff 1\n"))] == [2]


# --- queries --------------------------------------------------------------------------------------------------------

def test_queries_are_read_in_file_order_with_kind_and_why(tmp_path):
    rows = '{"_id": "q2", "text": "二", "kind": "k", "why": "w"}\n\n{"text": "一", "_id": "q1", "metadata": {"a": 1}}\n'
    path = file(tmp_path, rows)
    assert read_queries(path) == (Query("q2", "二", "k", "w"), Query("q1", "一"))


@pytest.mark.parametrize("row", [
    '{"_id": 1, "text": "x"}', '{"_id": "", "text": "x"}', '{"text": "x"}', '{"_id": "a"}', '{"_id": "a", "text": null}',
    '{"_id": "a", "text": "x", "knd": "k"}', '{"_id": "a", "text": "x", "kind": 7}', '{"_id": "a", "_id": "b", "text": "x"}',
    '{"_id": "a", "text": "\\ud83d"}', '{"_id": "a", "text": "x", "metadata": NaN}', "[]", "{", "q1\tx"])
def test_a_query_that_cannot_be_read_is_told_with_file_and_line(tmp_path, row):
    path = file(tmp_path, '{"_id": "good", "text": "x"}\n' + row + "\n")
    assert [(where, number) for where, number, _ in faults_of(read_queries, path)] == [(path, 2)]


def test_a_query_id_that_stands_twice_is_a_fault(tmp_path):
    path = file(tmp_path, '{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n')
    ((_, number, rule),) = faults_of(read_queries, path)
    assert number == 2 and "'a'" in rule


def test_b137_a_query_may_hold_a_line_separator(tmp_path):
    assert read_queries(file(tmp_path, '{"_id": "a", "text": "x\u2028y"}\n')) == (Query("a", "x\u2028y"),)


# --- both -----------------------------------------------------------------------------------------------------------

def test_only_judged_queries_are_evaluated(tmp_path):
    qrels = file(tmp_path, "q2 0 d1 1\n", "x.tsv")
    file(tmp_path, '{"_id": "q1", "text": "a"}\n{"_id": "q2", "text": "b"}\n', "x.queries.jsonl")
    judged = read_judged(qrels)
    assert (judged.queries, judged.qrels) == ((Query("q2", "b"),), {"q2": {"d1": 1}})


def test_judged_queries_that_are_missing_are_all_named(tmp_path):
    qrels = file(tmp_path, "q1 0 d1 1\nq2 0 d1 1\nq3 0 d1 1\n", "x.tsv")
    queries = file(tmp_path, '{"_id": "q2", "text": "b"}\n', "x.queries.jsonl")
    rules = [rule for _, _, rule in faults_of(read_judged, qrels)]
    assert len(rules) == 2 and "'q1'" in rules[0] and "'q3'" in rules[1] and queries in rules[0]


def test_the_faults_of_both_files_come_at_once(tmp_path):
    qrels, queries = file(tmp_path, "q1 0 d1 x\n", "x.tsv"), file(tmp_path, '{"_id": 1}\n', "x.queries.jsonl")
    assert [(where, number) for where, number, _ in faults_of(read_judged, qrels)] == [(queries, 1), (qrels, 1)]


def test_queries_that_are_not_there_are_a_fault_of_the_data(tmp_path):
    ((where, _, rule),) = faults_of(read_judged, file(tmp_path, "q1 0 d1 1\n", "x.tsv"))
    assert where == str(tmp_path / "x.queries.jsonl") and "read" in rule


def test_the_digest_changes_with_what_is_judged_and_not_with_how_it_is_written(tmp_path):
    def digest(name, qrels, queries='{"_id": "q1", "text": "a"}\n'):
        (tmp_path / name).mkdir()
        file(tmp_path / name, queries, "x.queries.jsonl")
        return read_judged(file(tmp_path / name, qrels, "x.tsv")).digest

    first = digest("trec", "q1 0 d1 1\nq1 0 d2 0\n")
    assert digest("beir", HEADER + "q1\td2\t0\nq1\td1\t1\n") == first
    assert digest("grade", "q1 0 d1 2\nq1 0 d2 0\n") != first
    assert digest("text", "q1 0 d1 1\nq1 0 d2 0\n", '{"_id": "q1", "text": "b"}\n') != first
