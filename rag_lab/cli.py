"""Which flags make which call? Flags in, one call, one JSON document out; nothing about retrieval is decided here.

stdout is data: one JSON document, or for many queries one a line, UTF-8 with LF on every platform. stderr is talk. Exit
codes: 0 it ran, also when the lab refuses to answer or the reader closed the pipe; 1 a fault in the data, or a reproduction
or a citation that does not hold; 2 a fault in the call; 130 interrupted.
"""
import argparse
import os
import sys

from . import __version__
from .errors import LabError, UsageError
from .files import canonical_json, decode
from .flags import as_utf8, corpus_flags, number, parse, scope_flags, whole
from .model import DEFAULT_THRESHOLD

COMMANDS = ("inspect", "worked-scores", "diagnose", "manifest", "verify", "analyze", "ann", "index", "bench", "reproduce",
            "reports")


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
        if isinstance(document, dict):
            _write(canonical_json(document))
        else:
            _write_all(document)
        return code
    except LabError as error:
        print(f"rag_lab: error: {error}", file=sys.stderr)
        return error.exit_code
    except SystemExit as stop:         # argparse has printed help, the version or what is wrong
        _write("")
        return stop.code


def _write_all(lines) -> None:
    """Write what a generator makes, each line as soon as it is made."""
    try:
        for line in lines:
            _write(line)
    finally:
        lines.close()                  # and whatever processes make them


def _write(text: str) -> None:
    if sys.stdout is not None:         # None if it was closed before we began
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()


def _give_up_stdout(code: int) -> int:
    """Python flushes stdout once more at exit: give it a place to flush to, so that it does not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def run(argv: list[str]) -> tuple["dict | Iterator[str]", int]:
    """(what a command line prints, its exit code), for experiments: a JSON document, or with --queries its lines."""
    if argv and argv[0] in COMMANDS:
        from .commands import RUN   # here, for a query does without
        return RUN[argv[0]](argv[1:])
    return _query_or_eval(argv), 0


# --- python -m rag_lab --query | --queries | --eval ---------------------------------------------------------------------

def _query_or_eval(argv: list[str]) -> "dict | Iterator[str]":
    argv, dashed = _take_dashed_query(argv)
    args = parse(_main_parser(), argv)
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
    if (query is not None) + (args.queries is not None) + args.eval != 1:
        raise UsageError("ask for one thing: --query TEXT, --queries FILE, or --eval")
    return _evaluate(args) if args.eval else _batch(args) if query is None else _search(args, query)


def _main_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rag_lab", allow_abbrev=False, add_help=False,
        description="Find evidence, prove where it stands, refuse when there is none. Prints one JSON document.",
        epilog="further commands: " + ", ".join(COMMANDS) + " (each with --help)")
    # In groups, for argparse lays out the help of every flag that is added to a parser itself, also when nobody asks for it.
    parser.add_argument_group("positional arguments").add_argument(
        "text", nargs="?", metavar="-- TEXT", help="the question, where it begins with a dash")
    flags = parser.add_argument_group("options")
    option = flags.add_argument
    option("-h", "--help", action="help", help="show this help message and exit")
    option("--version", action="version", version=f"rag_lab {__version__}")
    option("--query", metavar="TEXT", help="the question; - reads it from standard input")
    option("--queries", metavar="FILE",
           help='many questions: rows {"_id", "text"} of a JSONL file, - for standard input; '
                'prints one JSON document a line')
    option("--eval", action="store_true", help="run every judged query and measure")
    option("--workers", type=whole, metavar="N", help="processes that answer --queries or --eval (default 1); same output")
    option("--k", type=whole, metavar="N", help="results (default 5)")
    option("--pool", type=whole, metavar="N", help="candidates per channel and for the reranker (default 20)")
    option("--hybrid", action="store_true",
           help="fuse BM25 with the second channel (hashed vectors, or what the corpus says)")
    option("--rerank", action="store_true", help="rerank the candidates by keyword coverage")
    option("--threshold", type=number, metavar="X",
           help=f"refuse when the best support is below X, 0 to 1 (default {DEFAULT_THRESHOLD})")
    option("--delete", action="append", default=[], metavar="ID", help="delete a document first; repeatable")
    option("--show-context", action="store_true", help="show 40 characters before and after each quote")
    option("--explain", action="store_true", help="show where each score comes from")
    option("--why", metavar="ID", help="tell what became of a document: ranks, scores, the stage that lost it")
    corpus_flags(flags)
    option("--qrels", metavar="NAME|PATH", help="the judgements for --eval (default: those of the corpus)")
    scope_flags(flags)
    option("--encoder", metavar="MODULE:NAME", help="your own vectors for the second channel: (text) -> numbers")
    option("--retriever", metavar="MODULE:NAME", help="your own second channel: (query, texts, k) -> [(id, score)]")
    option("--reranker", metavar="MODULE:NAME", help="your own reranker: (query, text) -> number")
    return parser


def _search(args: argparse.Namespace, query: str) -> dict:
    from .asking import answer, lab_asked
    for flag in ("qrels", "workers"):
        if getattr(args, flag) is not None:
            raise UsageError(f"--{flag} goes with --eval" + (", or with --queries" if flag == "workers" else ""))
    return answer(lab_asked(args), query, args)


def _batch(args: argparse.Namespace) -> "Iterator[str]":
    from .batch import answers
    from .trec import queries_in, read_queries
    if args.qrels is not None:
        raise UsageError("--qrels goes with --eval")
    return answers(args, queries_in(_standard_input("--queries"), "standard input") if args.queries == "-"
                   else read_queries(args.queries))


def _evaluate(args: argparse.Namespace) -> dict:
    from .scores import evaluation_report
    for flag in ("show_context", "explain", "why"):
        if getattr(args, flag) not in (None, False):
            raise UsageError(f"--{flag.replace('_', '-')} goes with --query")
    if args.workers in (None, 1):
        from .asking import lab_asked, options_of
        return evaluation_report(lab_asked(args).evaluate(**options_of(args)))
    from .batch import evaluated
    return evaluation_report(evaluated(args))


def _query_of(args: argparse.Namespace) -> str | None:
    """The query from --query, from behind `--`, or from standard input; None if there is none."""
    if args.query is not None and args.text is not None:
        raise UsageError(f"two queries were given: {args.query!r} and {args.text!r}; put the query in quotes")
    query = args.text if args.query is None else args.query
    if query == "-":
        return _standard_input("--query").removesuffix("\n")
    return query if query is None else as_utf8(query)


def _standard_input(flag: str) -> str:
    if sys.stdin is None:
        raise UsageError(f"{flag} - reads standard input, but that is closed")
    return decode(sys.stdin.buffer.read(), "standard input")


def _take_dashed_query(argv: list[str]) -> tuple[list[str], str | None]:
    """(the rest, TEXT) of `--query=TEXT` and `--query -- TEXT`: argparse reads some of these otherwise between versions."""
    for at, argument in enumerate(argv):
        if argument.startswith("--query="):
            return argv[:at] + argv[at + 1:], argument.removeprefix("--query=")
        if argument == "--query" and argv[at + 1:at + 2] == ["--"] and len(argv) > at + 2:
            return argv[:at] + argv[at + 3:], argv[at + 2]
        if argument == "--":
            break
    return argv, None
