"""What else can the command line do than search and evaluate? One function a command: arguments in, (document, code) out."""
import os
import sys

from .errors import DataError, Fault, LabError, UsageError, whole_number
from .files import decode
from .asking import lab_named
from .flags import as_utf8, corpus_flags, parse, parser_of, scope_flags, scope_of, whole


def _inspect(argv: list[str]) -> tuple[dict, int]:
    from .experiments.chapter8 import THROUGH_LINE, inspect
    parser = parser_of("inspect", "Print one request of chapter 8 with evidence, decision and trace.")
    parser.add_argument("--case", default=THROUGH_LINE, metavar="ID", help="the case (default %(default)s)")
    return inspect(parse(parser, argv).case), 0


def _worked_scores(argv: list[str]) -> tuple[dict, int]:
    from .experiments.worked_scores import worked_scores
    parse(parser_of("worked-scores", "Print the hand calculations of BM25 and RRF step by step."), argv)
    return worked_scores(), 0


def _diagnose(argv: list[str]) -> tuple[dict, int]:
    from .experiments.evidence_first import CORPUS, K, diagnose, questions_of
    parser = parser_of("diagnose", "Print what is covered of the questions' evidence slots, and which stage is at fault.")
    corpus_flags(parser, CORPUS)
    parser.add_argument("--questions", metavar="FILE", help="questions with evidence slots (default: those of the corpus)")
    parser.add_argument("--k", type=whole, default=K, metavar="N", help="passages kept for each slot (default %(default)s)")
    args = parse(parser, argv)
    lab = lab_named(args, CORPUS)
    corpus = lab.shipped_name if args.index is not None else CORPUS if args.corpus is None else args.corpus
    return diagnose(lab, questions_of(corpus, args.questions), args.k), 0


def _manifest(argv: list[str]) -> tuple[dict, int]:
    from . import manifest
    from .seams import load_seams
    parser = parser_of("manifest", "Print what the index of a corpus is made of, or check a manifest that was kept.")
    corpus_flags(parser)
    parser.add_argument("--check", metavar="FILE", help="a kept manifest; every difference is a fault")
    parser.add_argument("--encoder", metavar="MODULE:NAME", help="your own encoder")
    args = parse(parser, argv)
    made = lab_named(args, seams=load_seams(encoder=args.encoder) if args.encoder else None).manifest
    if args.check is not None:
        manifest.check(manifest.read(args.check), made, args.check)
    return made, 0


def _verify(argv: list[str]) -> tuple[dict, int]:
    from . import audit
    from .files import read_text
    from .strict_json import parse_json_object
    parser = parser_of("verify", "Check kept citations against the corpus as it is now. Exit 1 if one does not hold.")
    parser.add_argument("file", metavar="FILE", help="a citation or a search report as JSON; - reads standard input")
    corpus_flags(parser)
    scope_flags(parser)
    args = parse(parser, argv)
    text = decode(sys.stdin.buffer.read(), "standard input") if args.file == "-" else read_text(args.file)
    try:
        kept = audit.read_citations(parse_json_object(text), args.file)
    except ValueError as error:
        raise DataError([Fault(args.file, None, f"it is no JSON object: {error}", "keep what the lab printed")]) from error
    lab = lab_named(args)
    lab.scope = scope_of(args, lab.scope)
    rows = audit.audit(kept, lab.docs)
    stale = sum(row["status"] != "holds" for row in rows)
    return {"schema": "rag_lab.verify/1", "counts": {"citations": len(rows), "hold": len(rows) - stale, "stale": stale},
            "citations": rows}, 1 if stale else 0


def _reproduce(argv: list[str]) -> tuple[dict, int]:
    from .experiments.reproduce import reproduce
    parse(parser_of("reproduce", "Compare every printed output of the chapters with ours. Exit 1 if one differs."), argv)
    table = reproduce()
    return table, 0 if table["counts"]["different"] == 0 else 1


def _reports(argv: list[str]) -> tuple[dict, int]:
    from .experiments.reports import write_reports
    parser = parser_of("reports", "Write all canonical reports.")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where to write them")
    return {"schema": "rag_lab.reports/1", "written": write_reports(parse(parser, argv).out)}, 0


def _analyze(argv: list[str]) -> tuple[dict, int]:
    from .analyzers import side_by_side
    parser = parser_of("analyze", "Show the tokens and spans that each analyzer sees in a text.")
    parser.add_argument("text", metavar="TEXT", help="the text; - reads standard input")
    text = parse(parser, argv).text
    if text == "-":
        text = decode(sys.stdin.buffer.read(), "standard input").removesuffix("\n")
    return side_by_side(as_utf8(text)), 0


def _ann(argv: list[str]) -> tuple[dict, int]:
    from .ann.report import Options, report
    from .ann.subject import UNITS, subject_of
    parser = parser_of("ann", "Compare approximate indexes with the exact scan: recall, units touched, bytes, filters.")
    parser.add_argument("--corpus", metavar="NAME|PATH", help="a corpus to measure beside the handbook")
    parser.add_argument("--index", metavar="FILE", help="an index of a corpus in a file, in place of --corpus")
    parser.add_argument("--qrels", metavar="NAME|PATH",
                        help="judgements of the queries, for an index of a corpus of your own")
    parser.add_argument("--units", type=whole, default=UNITS, metavar="N", help="at most N units (default %(default)s)")
    parser.add_argument("--k", type=whole, default=5, metavar="N", help="results a query (default %(default)s)")
    parser.add_argument("--times", action="store_true", help="say on stderr how long each step took")
    args = parse(parser, argv)
    if args.index is None and args.qrels is not None:
        raise UsageError("--qrels goes with --index here; a corpus brings its own queries")
    other = args.corpus if args.index is None else lab_named(args, qrels=args.qrels)
    if other == "handbook" or args.index is not None and other.shipped_name == "handbook":
        raise UsageError("the handbook is always measured; name another corpus, or none")
    subjects = [subject_of(one, args.units) for one in ("handbook", other) if one is not None]
    return report(subjects, Options(k=args.k), _say_time if args.times else lambda done: None), 0


def _index(argv: list[str]) -> tuple[dict, int]:
    import sqlite3
    from . import building
    from .progress import shown_on
    parser = parser_of("index",
                       "Build an index of a corpus in one file, or bring one up to date. Prints what the file holds.")
    parser.add_argument("corpus", nargs="?", metavar="CORPUS", help="a corpus by name or path, as --corpus takes it")
    parser.add_argument("--out", metavar="FILE", help="build the index anew and put it there, in place of an older one")
    parser.add_argument("--update", metavar="FILE", help="put the documents of CORPUS into the index there")
    parser.add_argument("--delete", action="append", default=[], metavar="ID",
                        help="with --update: delete a document; repeatable")
    parser.add_argument("--lexical", action="store_true", help="with --out: no vectors, so no --hybrid; smaller and faster")
    parser.add_argument("--workers", type=whole, default=1, metavar="N",
                        help="processes that analyse (default 1); same file")
    parser.add_argument("--memory", type=whole, default=building.MEMORY, metavar="MB",
                        help="what may wait in memory to be written, at least 16 (default %(default)s)")
    parser.add_argument("--quiet", action="store_true", help="show no progress, which is shown on a terminal only")
    scope_flags(parser.add_argument_group("with --delete, who deletes"))
    args = parse(parser, argv)
    _check_index(args)
    shared = {"workers": whole_number("--workers", args.workers, 1), "memory": whole_number("--memory", args.memory, 16)}
    try:
        with shown_on(None if args.quiet else sys.stderr) as progress:
            shared |= {"watch": progress.done, "read": progress.read}
            if args.update is None:
                return building.build_index(args.corpus, args.out, not args.lexical, **shared), 0
            deleted = [as_utf8(doc_id) for doc_id in args.delete]
            return building.update_index(args.update, args.corpus, deleted, **shared,
                                         scope_from=lambda default: scope_of(args, default)), 0
    except sqlite3.Error as error:   # no room on the disk, for one
        raise LabError(f"the index cannot be written (SQLite says: {error})") from error


def _check_index(args) -> None:
    """Raise `UsageError` for flags that do not go together, or a file that it would be a pity to lose."""
    if (args.out is None) == (args.update is None):
        raise UsageError("say where the index is to be: --out FILE for a new one, or --update FILE for one that there is")
    if args.out is not None:
        if args.corpus is None:
            raise UsageError("--out needs a corpus to build the index of: python -m rag_lab index CORPUS --out FILE")
        if args.delete:
            raise UsageError("--delete goes with --update")
        if os.path.exists(args.out) and not _is_database(args.out):
            raise UsageError(f"{args.out!r} is there and no index; name another file, or remove it first")
    elif args.lexical:
        raise UsageError("--lexical goes with --out; an update keeps to what the index has")
    elif args.corpus is None and not args.delete:
        raise UsageError("there is nothing to do; name a corpus to put into the index, or --delete ID")
    who = [args.tenant, args.principal, args.role, args.target_version, args.as_of]
    if not args.delete and any(value is not None for value in who):
        raise UsageError("the flags that say who asks go with --delete")


def _is_database(path: str) -> bool:
    """Whether a file begins as SQLite's files do."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _bench(argv: list[str]) -> tuple[dict, int]:
    from .bench.peers import find_python
    from .bench.report import Options, report
    from .bench.texts import SIZE, texts_of
    parser = parser_of("bench",
                       "Measure builds and queries beside a plain scorer, SQLite FTS5 and engines of another Python. "
                       "Prints times: never the same bytes twice. Exit 1 if scores that ought to be equal differ.")
    parser.add_argument("--docs", metavar="FILE", help="JSONL rows of _id, title and text (default: generated texts)")
    parser.add_argument("--queries", metavar="FILE", help="JSONL rows of _id and text (default: cut out of the texts)")
    parser.add_argument("--size", type=whole, metavar="N", help=f"how many texts are generated (default {SIZE})")
    parser.add_argument("--k", type=whole, default=10, metavar="N", help="results a query (default %(default)s)")
    parser.add_argument("--rounds", type=whole, default=5, metavar="N",
                        help="how often each query is asked; the least time counts (default %(default)s)")
    parser.add_argument("--seconds", type=whole, default=30, metavar="N",
                        help="an engine begins no further round after so many (default %(default)s)")
    parser.add_argument("--peer-python", metavar="PYTHON", help="a Python that has rank_bm25, bm25s, tantivy, numpy")
    args = parse(parser, argv)
    options = Options(whole_number("--k", args.k, 1), whole_number("--rounds", args.rounds, 1),
                      whole_number("--seconds", args.seconds, 0), args.peer_python and find_python(args.peer_python))
    _say("making the terms of all texts")
    return report(texts_of(args.docs, args.queries, args.size), options, _say)


def _say(talk: str) -> None:
    print(f"rag_lab: {talk}", file=sys.stderr, flush=True)


def _say_time(done: str) -> None:
    """One line of talk: processor seconds so far."""
    print(f"rag_lab: {sum(os.times()[:2]):.2f} s: {done}", file=sys.stderr)


RUN = {"inspect": _inspect, "worked-scores": _worked_scores, "diagnose": _diagnose, "manifest": _manifest,
       "verify": _verify, "analyze": _analyze, "ann": _ann, "index": _index, "bench": _bench, "reproduce": _reproduce,
       "reports": _reports}
