"""What else can the command line do than search and evaluate? One function a command: arguments in, (document, code) out."""
import os
import sys

from .errors import DataError, Fault, UsageError, whole_number
from .files import decode
from .flags import as_utf8, parse, parser_of, scope_flags, scope_of, whole


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
    from .experiments.evidence_first import CORPUS, K, diagnose
    parser = parser_of("diagnose", "Print what is covered of the questions' evidence slots, and which stage is at fault.")
    parser.add_argument("--corpus", default=CORPUS, metavar="NAME|PATH", help="the corpus (default %(default)s)")
    parser.add_argument("--questions", metavar="FILE", help="questions with evidence slots (default: those of the corpus)")
    parser.add_argument("--k", type=whole, default=K, metavar="N", help="passages kept for each slot (default %(default)s)")
    args = parse(parser, argv)
    return diagnose(args.corpus, args.questions, args.k), 0


def _manifest(argv: list[str]) -> tuple[dict, int]:
    from . import manifest
    from .lab import build_lab
    from .seams import load_seams
    parser = parser_of("manifest", "Print what the index of a corpus is made of, or check a manifest that was kept.")
    parser.add_argument("--corpus", default="handbook", metavar="NAME|PATH", help="the corpus (default handbook)")
    parser.add_argument("--check", metavar="FILE", help="a kept manifest; every difference is a fault")
    parser.add_argument("--encoder", metavar="MODULE:NAME", help="your own encoder")
    args = parse(parser, argv)
    made = build_lab(args.corpus, seams=load_seams(encoder=args.encoder) if args.encoder else None).manifest
    if args.check is not None:
        manifest.check(manifest.read(args.check), made, args.check)
    return made, 0


def _verify(argv: list[str]) -> tuple[dict, int]:
    from . import audit
    from .files import read_text
    from .lab import build_lab
    from .strict_json import parse_json_object
    parser = parser_of("verify", "Check kept citations against the corpus as it is now. Exit 1 if one does not hold.")
    parser.add_argument("file", metavar="FILE", help="a citation or a search report as JSON; - reads standard input")
    parser.add_argument("--corpus", default="handbook", metavar="NAME|PATH", help="the corpus (default handbook)")
    scope_flags(parser)
    args = parse(parser, argv)
    text = decode(sys.stdin.buffer.read(), "standard input") if args.file == "-" else read_text(args.file)
    try:
        kept = audit.read_citations(parse_json_object(text), args.file)
    except ValueError as error:
        raise DataError([Fault(args.file, None, f"it is no JSON object: {error}", "keep what the lab printed")]) from error
    lab = build_lab(args.corpus)
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
    parser.add_argument("--units", type=whole, default=UNITS, metavar="N", help="at most N units (default %(default)s)")
    parser.add_argument("--k", type=whole, default=5, metavar="N", help="results a query (default %(default)s)")
    parser.add_argument("--times", action="store_true", help="say on stderr how long each step took")
    args = parse(parser, argv)
    if args.corpus == "handbook":
        raise UsageError("the handbook is always measured; name another corpus, or none")
    names = ["handbook"] if args.corpus is None else ["handbook", args.corpus]
    subjects = [subject_of(name, args.units) for name in names]
    return report(subjects, Options(k=args.k), _say_time if args.times else lambda done: None), 0


def _bench(argv: list[str]) -> tuple[dict, int]:
    from .bench.peers import find_python
    from .bench.report import Options, report
    from .bench.texts import SIZE, texts_of
    parser = parser_of("bench", "Measure builds and queries beside a plain scorer, SQLite FTS5 and engines of another Python. "
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
    return report(texts_of(args.docs, args.queries, args.size), options, _say)


def _say(talk: str) -> None:
    print(f"rag_lab: {talk}", file=sys.stderr, flush=True)


def _say_time(done: str) -> None:
    """One line of talk: processor seconds so far."""
    print(f"rag_lab: {sum(os.times()[:2]):.2f} s: {done}", file=sys.stderr)


RUN = {"inspect": _inspect, "worked-scores": _worked_scores, "diagnose": _diagnose, "manifest": _manifest,
       "verify": _verify, "analyze": _analyze, "ann": _ann, "bench": _bench, "reproduce": _reproduce, "reports": _reports}
