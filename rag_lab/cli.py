"""Which flags make which call? Flags in, one call, one JSON document out; nothing about retrieval is decided here.

stdout is data: one JSON document, UTF-8 with LF on every platform. stderr is talk. Exit codes: 0 it ran, also when the lab
refuses to answer or the reader closed the pipe; 1 a fault in the data, or a reproduction or a citation that does not hold;
2 a fault in the call; 130 interrupted.
"""
import argparse
import os
import sys

from . import __version__
from .errors import DataError, Fault, LabError, UsageError, whole_number
from .files import canonical_json, decode, has_surrogate
from .model import DEFAULT_THRESHOLD, Scope


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    try:
        return _talk(sys.argv[1:] if argv is None else argv)
    except BrokenPipeError:
        return _give_up_stdout(0)      # the reader has what it wanted
    except KeyboardInterrupt:
        print("rag_lab: interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"rag_lab: error: the output cannot be written ({error.strerror})", file=sys.stderr)
        return _give_up_stdout(1)


def _talk(argv: list[str]) -> int:
    """Run, print, and turn every foreseen fault into a line on stderr and a code."""
    try:
        document, code = run(argv)
        text = canonical_json(document)
    except LabError as error:
        print(f"rag_lab: error: {error}", file=sys.stderr)
        return error.exit_code
    except SystemExit as stop:         # argparse has printed help, the version or what is wrong
        text, code = "", stop.code
    if sys.stdout is not None:         # None if it was closed before we began
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
    return code


def _give_up_stdout(code: int) -> int:
    """Python flushes stdout once more at exit: give it a place to flush to, so that it does not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def run(argv: list[str]) -> tuple[dict, int]:
    """(the JSON document that a command line prints, its exit code), for experiments that read it."""
    if argv and argv[0] in COMMANDS:
        return COMMANDS[argv[0]](argv[1:])
    return _query_or_eval(argv), 0


# --- python -m rag_lab --query | --eval -----------------------------------------------------------------------------

def _query_or_eval(argv: list[str]) -> dict:
    argv, dashed = _take_dashed_query(argv)
    args = _parse(_main_parser(), argv)
    if dashed is not None:
        if args.query is not None:
            raise UsageError("--query was given twice; give it once")
        args.query = dashed
    if args.text is not None and "--" not in argv:
        if args.text in COMMANDS:
            raise UsageError(f"{args.text!r} is a command; it comes first")
        raise UsageError(f"{args.text!r} is no command; put a question in quotes behind --query; the commands are "
                         + ", ".join(COMMANDS))
    query = _query_of(args)
    if args.eval == (query is not None):
        raise UsageError("ask for one thing: --query TEXT, or --eval")
    return _evaluate(args) if args.eval else _search(args, query)


def _main_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rag_lab", allow_abbrev=False,
        description="Find evidence, prove where it stands, refuse when there is none. Prints one JSON document.",
        epilog="further commands: " + ", ".join(COMMANDS) + " (each with --help)")
    parser.add_argument("--version", action="version", version=f"rag_lab {__version__}")
    parser.add_argument("--query", metavar="TEXT", help="the question; - reads it from standard input")
    parser.add_argument("text", nargs="?", metavar="-- TEXT", help="the question, where it begins with a dash")
    parser.add_argument("--eval", action="store_true", help="run every judged query and measure")
    parser.add_argument("--k", type=_whole, metavar="N", help="results (default 5)")
    parser.add_argument("--pool", type=_whole, metavar="N", help="candidates per channel and for the reranker (default 20)")
    parser.add_argument("--hybrid", action="store_true",
                        help="fuse BM25 with the second channel (hashed vectors, or what the corpus says)")
    parser.add_argument("--rerank", action="store_true", help="rerank the candidates by keyword coverage")
    parser.add_argument("--threshold", type=_number, metavar="X",
                        help=f"refuse when the best support is below X, 0 to 1 (default {DEFAULT_THRESHOLD})")
    parser.add_argument("--delete", action="append", default=[], metavar="ID", help="delete a document first; repeatable")
    parser.add_argument("--show-context", action="store_true", help="show 40 characters before and after each quote")
    parser.add_argument("--explain", action="store_true", help="show where each score comes from")
    parser.add_argument("--why", metavar="ID", help="tell what became of a document: ranks, scores, the stage that lost it")
    parser.add_argument("--corpus", default="handbook", metavar="NAME|PATH", help="the corpus (default handbook)")
    parser.add_argument("--qrels", metavar="NAME|PATH", help="the judgements for --eval (default: those of the corpus)")
    _scope_flags(parser)
    parser.add_argument("--encoder", metavar="MODULE:NAME", help="your own vectors for the second channel: (text) -> numbers")
    parser.add_argument("--retriever", metavar="MODULE:NAME", help="your own second channel: (query, texts, k) -> [(id, score)]")
    parser.add_argument("--reranker", metavar="MODULE:NAME", help="your own reranker: (query, text) -> number")
    return parser


def _search(args: argparse.Namespace, query: str) -> dict:
    from .lab import build_lab
    from .report import search_report
    if args.qrels is not None:
        raise UsageError("--qrels goes with --eval")
    lab = build_lab(args.corpus, seams=_seams(args))
    lab.scope = _scope(args, lab.scope)
    for doc_id in args.delete:
        lab.delete(_as_utf8(doc_id))
    outcome = lab.search(query, show_context=args.show_context, explain=args.explain, **_options(args))
    return search_report(outcome, lab.fate(outcome, _as_utf8(args.why)) if args.why is not None else None)


def _evaluate(args: argparse.Namespace) -> dict:
    from .lab import build_lab
    from .report import evaluation_report
    for flag in ("show_context", "explain", "why"):
        if getattr(args, flag) not in (None, False):
            raise UsageError(f"--{flag.replace('_', '-')} goes with --query")
    lab = build_lab(args.corpus, args.qrels, _seams(args))
    lab.scope = _scope(args, lab.scope)
    for doc_id in args.delete:
        lab.delete(_as_utf8(doc_id))
    return evaluation_report(lab.evaluate(**_options(args)))


def _scope_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that say who asks, about which version, as of when."""
    parser.add_argument("--tenant", metavar="NAME", help="who asks: the tenant (default: as the corpus says, like the next)")
    parser.add_argument("--principal", metavar="NAME", help="who asks: the person or service")
    parser.add_argument("--role", action="append", metavar="NAME", help="who asks: a role; repeatable")
    parser.add_argument("--target-version", metavar="N.N", help="the product version that is asked about")
    parser.add_argument("--as-of", metavar="TIME", help="the moment that is asked about, such as 2026-08-01T00:00:00+08:00")


def _scope(args: argparse.Namespace, default: Scope) -> Scope:
    """The scope of the corpus with what the flags say in its place. It never comes from the query."""
    from .fields import BadField, instant
    given = {"tenant": args.tenant, "principal": args.principal, "roles": args.role, "product_version": args.target_version}
    try:
        given["as_of"] = None if args.as_of is None else instant(args.as_of)
    except BadField as error:
        raise UsageError(f"--as-of {error.rule}; {error.remedy}") from error
    return Scope(**{**default._asdict(), **{name: value for name, value in given.items() if value is not None}})


def _seams(args: argparse.Namespace):
    """The user's own parts, if any were named."""
    if args.encoder is None and args.retriever is None and args.reranker is None:
        return None
    if not args.hybrid and (args.encoder or args.retriever):
        raise UsageError("--encoder and --retriever stand for the second channel; add --hybrid")
    if not args.rerank and args.reranker:
        raise UsageError("--reranker goes with --rerank")
    from .seams import load_seams   # here, for few command lines have one
    return load_seams(encoder=args.encoder, retriever=args.retriever, reranker=args.reranker)


def _options(args: argparse.Namespace) -> dict:
    """The flags that were given; for the others the corpus has its defaults."""
    given = {name: getattr(args, name) for name in ("k", "pool", "hybrid", "rerank", "threshold")}
    return {name: value for name, value in given.items() if value is not None}


def _query_of(args: argparse.Namespace) -> str | None:
    """The query from --query, from behind `--`, or from standard input; None if there is none."""
    if args.query is not None and args.text is not None:
        raise UsageError(f"two queries were given: {args.query!r} and {args.text!r}; put the query in quotes")
    query = args.text if args.query is None else args.query
    if query == "-":
        if sys.stdin is None:
            raise UsageError("--query - reads standard input, but that is closed")
        return decode(sys.stdin.buffer.read(), "standard input").removesuffix("\n")
    return query if query is None else _as_utf8(query)


def _as_utf8(argument: str) -> str:
    """An argument whose bytes are UTF-8, also where the locale is not and Python could not read them as such."""
    if not has_surrogate(argument):
        return argument
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{ascii(argument)} is not UTF-8; set the terminal to UTF-8") from error


# --- python -m rag_lab inspect | worked-scores | manifest ---------------------------------------------------------

def _inspect(argv: list[str]) -> tuple[dict, int]:
    from .experiments.chapter8 import THROUGH_LINE, inspect
    parser = _parser("inspect", "Print one request of chapter 8 with evidence, decision and trace.")
    parser.add_argument("--case", default=THROUGH_LINE, metavar="ID", help="the case (default %(default)s)")
    return inspect(_parse(parser, argv).case), 0


def _worked_scores(argv: list[str]) -> tuple[dict, int]:
    from .experiments.worked_scores import worked_scores
    _parse(_parser("worked-scores", "Print the hand calculations of BM25 and RRF step by step."), argv)
    return worked_scores(), 0


def _diagnose(argv: list[str]) -> tuple[dict, int]:
    from .experiments.evidence_first import CORPUS, K, diagnose
    parser = _parser("diagnose", "Print what is covered of the questions' evidence slots, and which stage is at fault.")
    parser.add_argument("--corpus", default=CORPUS, metavar="NAME|PATH", help="the corpus (default %(default)s)")
    parser.add_argument("--questions", metavar="FILE", help="questions with evidence slots (default: those of the corpus)")
    parser.add_argument("--k", type=_whole, default=K, metavar="N", help="passages kept for each slot (default %(default)s)")
    args = _parse(parser, argv)
    return diagnose(args.corpus, args.questions, args.k), 0


def _manifest(argv: list[str]) -> tuple[dict, int]:
    from . import manifest
    from .lab import build_lab
    from .seams import load_seams
    parser = _parser("manifest", "Print what the index of a corpus is made of, or check a manifest that was kept.")
    parser.add_argument("--corpus", default="handbook", metavar="NAME|PATH", help="the corpus (default handbook)")
    parser.add_argument("--check", metavar="FILE", help="a kept manifest; every difference is a fault")
    parser.add_argument("--encoder", metavar="MODULE:NAME", help="your own encoder")
    args = _parse(parser, argv)
    made = build_lab(args.corpus, seams=load_seams(encoder=args.encoder) if args.encoder else None).manifest
    if args.check is not None:
        manifest.check(manifest.read(args.check), made, args.check)
    return made, 0


def _verify(argv: list[str]) -> tuple[dict, int]:
    from . import citation
    from .files import parse_json_object, read_text
    from .lab import build_lab
    parser = _parser("verify", "Check kept citations against the corpus as it is now. Exit 1 if one does not hold.")
    parser.add_argument("file", metavar="FILE", help="a citation or a search report as JSON; - reads standard input")
    parser.add_argument("--corpus", default="handbook", metavar="NAME|PATH", help="the corpus (default handbook)")
    _scope_flags(parser)
    args = _parse(parser, argv)
    text = decode(sys.stdin.buffer.read(), "standard input") if args.file == "-" else read_text(args.file)
    try:
        kept = citation.read_citations(parse_json_object(text), args.file)
    except ValueError as error:
        raise DataError([Fault(args.file, None, f"it is no JSON object: {error}", "keep what the lab printed")]) from error
    lab = build_lab(args.corpus)
    lab.scope = _scope(args, lab.scope)
    rows = citation.audit(kept, lab.docs)
    stale = sum(row["status"] != "holds" for row in rows)
    return {"schema": "rag_lab.verify/1", "counts": {"citations": len(rows), "hold": len(rows) - stale, "stale": stale},
            "citations": rows}, 1 if stale else 0


# --- python -m rag_lab reproduce | reports --------------------------------------------------------------------------

def _reproduce(argv: list[str]) -> tuple[dict, int]:
    from .experiments.reproduce import reproduce
    _parse(_parser("reproduce", "Compare every printed output of the chapters with ours. Exit 1 if one differs."), argv)
    table = reproduce()
    return table, 0 if table["counts"]["different"] == 0 else 1


def _reports(argv: list[str]) -> tuple[dict, int]:
    from .experiments.reports import write_reports
    parser = _parser("reports", "Write all canonical reports.")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where to write them")
    return {"schema": "rag_lab.reports/1", "written": write_reports(_parse(parser, argv).out)}, 0


def _analyze(argv: list[str]) -> tuple[dict, int]:
    from .analyzers import side_by_side
    parser = _parser("analyze", "Show the tokens and spans that each analyzer sees in a text.")
    parser.add_argument("text", metavar="TEXT", help="the text; - reads standard input")
    text = _parse(parser, argv).text
    if text == "-":
        text = decode(sys.stdin.buffer.read(), "standard input").removesuffix("\n")
    return side_by_side(_as_utf8(text)), 0


def _ann(argv: list[str]) -> tuple[dict, int]:
    from .ann.report import Options, report
    from .ann.subject import UNITS, subject_of
    parser = _parser("ann", "Compare approximate indexes with the exact scan: recall, units touched, bytes, filters.")
    parser.add_argument("--corpus", metavar="NAME|PATH", help="a corpus to measure beside the handbook")
    parser.add_argument("--units", type=_whole, default=UNITS, metavar="N", help="at most N units (default %(default)s)")
    parser.add_argument("--k", type=_whole, default=5, metavar="N", help="results a query (default %(default)s)")
    parser.add_argument("--times", action="store_true", help="say on stderr how long each step took")
    args = _parse(parser, argv)
    if args.corpus == "handbook":
        raise UsageError("the handbook is always measured; name another corpus, or none")
    names = ["handbook"] if args.corpus is None else ["handbook", args.corpus]
    subjects = [subject_of(name, args.units) for name in names]
    return report(subjects, Options(k=args.k), _say_time if args.times else lambda done: None), 0


def _bench(argv: list[str]) -> tuple[dict, int]:
    from .bench.peers import find_python
    from .bench.report import Options, report
    from .bench.texts import SIZE, texts_of
    parser = _parser("bench", "Measure builds and queries beside a plain scorer, SQLite FTS5 and engines of another Python. "
                              "Prints times: never the same bytes twice. Exit 1 if scores that ought to be equal differ.")
    parser.add_argument("--docs", metavar="FILE", help="JSONL rows of _id, title and text (default: generated texts)")
    parser.add_argument("--queries", metavar="FILE", help="JSONL rows of _id and text (default: cut out of the texts)")
    parser.add_argument("--size", type=_whole, metavar="N", help=f"how many texts are generated (default {SIZE})")
    parser.add_argument("--k", type=_whole, default=10, metavar="N", help="results a query (default %(default)s)")
    parser.add_argument("--rounds", type=_whole, default=5, metavar="N",
                        help="how often each query is asked; the least time counts (default %(default)s)")
    parser.add_argument("--seconds", type=_whole, default=30, metavar="N",
                        help="an engine begins no further round after so many (default %(default)s)")
    parser.add_argument("--peer-python", metavar="PYTHON", help="a Python that has rank_bm25, bm25s, tantivy, numpy")
    args = _parse(parser, argv)
    options = Options(whole_number("--k", args.k, 1), whole_number("--rounds", args.rounds, 1),
                      whole_number("--seconds", args.seconds, 0), args.peer_python and find_python(args.peer_python))
    _say("making the terms of all texts")
    return report(texts_of(args.docs, args.queries, args.size), options, _say)


def _say(talk: str) -> None:
    print(f"rag_lab: {talk}", file=sys.stderr, flush=True)


def _say_time(done: str) -> None:
    """One line of talk: processor seconds so far."""
    print(f"rag_lab: {sum(os.times()[:2]):.2f} s: {done}", file=sys.stderr)


COMMANDS = {"inspect": _inspect, "worked-scores": _worked_scores, "diagnose": _diagnose, "manifest": _manifest,
            "verify": _verify, "analyze": _analyze, "ann": _ann, "bench": _bench, "reproduce": _reproduce,
            "reports": _reports}


def _parser(command: str, description: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=f"python -m rag_lab {command}", allow_abbrev=False, description=description)


# --- flags ----------------------------------------------------------------------------------------------------------

def _parse(parser: argparse.ArgumentParser, argv: list[str]) -> argparse.Namespace:
    args = parser.parse_args(argv)
    once = [flag for flag in parser._option_string_actions if flag not in ("--delete", "--role")]
    repeated = [flag for flag in once if _count(argv, flag) > 1]
    if repeated:
        raise UsageError(f"{repeated[0]} was given twice; give it once")
    return args


def _count(argv: list[str], flag: str) -> int:
    return sum(argument == flag or argument.startswith(flag + "=") for argument in argv[:_end_of_flags(argv)])


def _end_of_flags(argv: list[str]) -> int:
    return argv.index("--") if "--" in argv else len(argv)


def _take_dashed_query(argv: list[str]) -> tuple[list[str], str | None]:
    """(the rest, TEXT) of `--query=TEXT` and `--query -- TEXT`: argparse reads some of these differently between versions."""
    for at, argument in enumerate(argv):
        if argument.startswith("--query="):
            return argv[:at] + argv[at + 1:], argument.removeprefix("--query=")
        if argument == "--query" and argv[at + 1:at + 2] == ["--"] and len(argv) > at + 2:
            return argv[:at] + argv[at + 3:], argv[at + 2]
        if argument == "--":
            break
    return argv, None


def _whole(text: str) -> int:
    """A whole number in plain digits; `int` would also take 1_0 and full-width digits."""
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _number(text: str) -> float:
    """A number in plain digits; `float` would also take nan, inf and 1_0."""
    if not (text.isascii() and text.removeprefix("-").replace(".", "", 1).isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number such as 0.3")
    return float(text)
