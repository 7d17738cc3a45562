"""What did the user write behind a command? Flags that several commands share, and how their words become values."""
import argparse
import os

from .errors import UsageError
from .files import has_surrogate
from .model import Scope


def parser_of(command: str, description: str) -> argparse.ArgumentParser:
    """The parser of one command, still without flags of its own."""
    return argparse.ArgumentParser(prog=f"python -m rag_lab {command}", allow_abbrev=False, description=description)


def parse(parser: argparse.ArgumentParser, argv: list[str]) -> argparse.Namespace:
    """The values of the flags; a flag that stands twice is a fault, unless it may be repeated."""
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


# --- what a flag may hold --------------------------------------------------------------------------------------------

def whole(text: str) -> int:
    """A whole number in plain digits; `int` would also take 1_0 and full-width digits."""
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def number(text: str) -> float:
    """A number in plain digits; `float` would also take nan, inf and 1_0."""
    if not (text.isascii() and text.removeprefix("-").replace(".", "", 1).isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number such as 0.3")
    return float(text)


def as_utf8(argument: str) -> str:
    """An argument whose bytes are UTF-8, also where the locale is not and Python could not read them as such."""
    if not has_surrogate(argument):
        return argument
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{ascii(argument)} is not UTF-8; set the terminal to UTF-8") from error


# --- what is searched ------------------------------------------------------------------------------------------------

def corpus_flags(parser, default: str = "handbook") -> None:
    """Add the flags that name a corpus, or an index of one; `asking.lab_named` opens the lab behind them."""
    parser.add_argument("--corpus", metavar="NAME|PATH", help=f"the corpus (default {default})")
    parser.add_argument("--index", metavar="FILE", help="an index of a corpus in a file, in place of --corpus")


# --- who asks --------------------------------------------------------------------------------------------------------

def scope_flags(parser) -> None:
    """Add the flags that say who asks, about which version, as of when."""
    parser.add_argument("--tenant", metavar="NAME", help="who asks: the tenant (default: as the corpus says, like the next)")
    parser.add_argument("--principal", metavar="NAME", help="who asks: the person or service")
    parser.add_argument("--role", action="append", metavar="NAME", help="who asks: a role; repeatable")
    parser.add_argument("--target-version", metavar="N.N", help="the product version that is asked about")
    parser.add_argument("--as-of", metavar="TIME", help="the moment that is asked about, such as 2026-08-01T00:00:00+08:00")


def scope_of(args: argparse.Namespace, default: Scope) -> Scope:
    """The scope of the corpus with what the flags say in its place. It never comes from the query."""
    from .fields import BadField, instant
    given = {"tenant": args.tenant, "principal": args.principal, "roles": args.role, "product_version": args.target_version}
    try:
        given["as_of"] = None if args.as_of is None else instant(args.as_of)
    except BadField as error:
        raise UsageError(f"--as-of {error.rule}; {error.remedy}") from error
    return Scope(**{**default._asdict(), **{name: value for name, value in given.items() if value is not None}})
