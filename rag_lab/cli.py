"""Which flags make which call? Flags in, one call, one JSON document out; nothing about retrieval is decided here.

stdout is data: one JSON document, UTF-8 with LF on every platform. stderr is talk. Exit codes: 0 it ran, also when the lab
refuses to answer or the reader closed the pipe; 1 a fault in the data, or a reproduction that differs; 2 a fault in the
call; 130 interrupted.
"""
import argparse
import os
import sys

from . import __version__
from .errors import LabError, UsageError
from .files import canonical_json, has_surrogate
from .model import DEFAULT_THRESHOLD


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except LabError as error:
        print(f"rag_lab: error: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader has what it wanted. Python flushes once more at exit: give it a place to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("rag_lab: interrupted", file=sys.stderr)
        return 130


def _run(argv: list[str]) -> int:
    if argv and argv[0] in COMMANDS:
        printed, code = COMMANDS[argv[0]](argv[1:])
    else:
        printed, code = document(argv), 0
    _print(canonical_json(printed))
    return code


def _print(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()


# --- python -m rag_lab --query | --eval -----------------------------------------------------------------------------

def document(argv: list[str]) -> dict:
    """The JSON document that a query or an evaluation prints, for experiments that read it."""
    args = _parse(_main_parser(), _guard_dashed_query(argv))
    if args.text is not None and "--" not in argv:
        raise UsageError(f"{args.text!r} is no command; a question goes with --query, and the commands are "
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
    parser.add_argument("--k", type=_whole, default=5, metavar="N", help="results (default 5)")
    parser.add_argument("--pool", type=_whole, metavar="N", help="candidates per channel and for the reranker (default 20)")
    parser.add_argument("--hybrid", action="store_true", help="fuse BM25 with the hashed vectors")
    parser.add_argument("--rerank", action="store_true", help="rerank the candidates by keyword coverage")
    parser.add_argument("--threshold", type=_number, default=DEFAULT_THRESHOLD, metavar="X",
                        help="refuse when the best support is below X, 0 to 1 (default %(default)s)")
    parser.add_argument("--delete", action="append", default=[], metavar="ID", help="delete a document first; repeatable")
    parser.add_argument("--show-context", action="store_true", help="show 40 characters before and after each quote")
    parser.add_argument("--explain", action="store_true", help="show where each score comes from")
    parser.add_argument("--corpus", default="handbook", metavar="NAME|PATH", help="the corpus (default handbook)")
    parser.add_argument("--qrels", metavar="NAME|PATH", help="the judgements for --eval (default: those of the corpus)")
    return parser


def _search(args: argparse.Namespace, query: str) -> dict:
    from .lab import build_lab
    from .report import search_report
    if args.qrels is not None:
        raise UsageError("--qrels goes with --eval")
    lab = build_lab(args.corpus)
    for doc_id in args.delete:
        lab.delete(doc_id)
    return search_report(lab.search(query, show_context=args.show_context, explain=args.explain, **_options(args)))


def _evaluate(args: argparse.Namespace) -> dict:
    from .lab import build_lab
    from .report import evaluation_report
    for flag in ("show_context", "explain"):
        if getattr(args, flag):
            raise UsageError(f"--{flag.replace('_', '-')} goes with --query")
    lab = build_lab(args.corpus, args.qrels)
    for doc_id in args.delete:
        lab.delete(doc_id)
    return evaluation_report(lab.evaluate(**_options(args)))


def _options(args: argparse.Namespace) -> dict:
    return {name: getattr(args, name) for name in ("k", "pool", "hybrid", "rerank", "threshold")}


def _query_of(args: argparse.Namespace) -> str | None:
    """The query from --query, from behind `--`, or from standard input; None if there is none."""
    if args.query is not None and args.text is not None:
        raise UsageError(f"two queries were given: {args.query!r} and {args.text!r}; put the query in quotes")
    query = args.text if args.query is None else args.query
    if query == "-":
        from .files import decode
        query = decode(sys.stdin.buffer.read(), "standard input").removesuffix("\n")
    if query is not None and has_surrogate(query):
        raise UsageError("the query is not UTF-8; set the terminal to UTF-8")
    return query


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


COMMANDS = {"reproduce": _reproduce, "reports": _reports}


def _parser(command: str, description: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=f"python -m rag_lab {command}", allow_abbrev=False, description=description)


# --- flags ----------------------------------------------------------------------------------------------------------

def _parse(parser: argparse.ArgumentParser, argv: list[str]) -> argparse.Namespace:
    args = parser.parse_args(argv)
    repeated = [flag for flag in parser._option_string_actions if flag != "--delete" and _count(argv, flag) > 1]
    if repeated:
        raise UsageError(f"{repeated[0]} was given twice; give it once")
    return args


def _count(argv: list[str], flag: str) -> int:
    return sum(argument == flag or argument.startswith(flag + "=") for argument in argv[:_end_of_flags(argv)])


def _end_of_flags(argv: list[str]) -> int:
    return argv.index("--") if "--" in argv else len(argv)


def _guard_dashed_query(argv: list[str]) -> list[str]:
    """`--query -- TEXT` as `--query=TEXT`: argparse reads the former differently from one Python to the next."""
    for at, argument in enumerate(argv[:-2]):
        if argument == "--query" and argv[at + 1] == "--":
            return [*argv[:at], f"--query={argv[at + 2]}", *argv[at + 3:]]
    return argv


def _whole(text: str) -> int:
    """A whole number in plain digits; `int` would also take 1_0 and full-width digits."""
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _number(text: str) -> float:
    """A number in plain digits; `float` would also take nan, inf and 1_0."""
    if not (text.isascii() and text.replace(".", "", 1).replace("-", "", 1).isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number such as 0.3")
    return float(text)
