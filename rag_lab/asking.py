"""Which lab do the flags of a command line name, and how do they want it asked?"""
import argparse

from .errors import UsageError
from .flags import as_utf8, scope_of


def lab_named(args: argparse.Namespace, default: str = "handbook", qrels: str | None = None,
              seams: "Seams | None" = None) -> "Lab":
    """The lab over the corpus behind --corpus, or over the index behind --index."""
    if args.index is None:
        from .lab import build_lab
        return build_lab(default if args.corpus is None else args.corpus, qrels, seams)
    if args.corpus is not None:
        raise UsageError("--corpus and --index both say what is searched; give one of them")
    from .stored import open_lab   # here, for SQLite takes its time to load
    return open_lab(args.index, qrels, seams)


def lab_asked(args: argparse.Namespace) -> "Lab":
    """The same with the user's own parts, the scope and the deletions of the command line."""
    lab = lab_named(args, qrels=args.qrels, seams=seams_of(args))
    lab.scope = scope_of(args, lab.scope)
    for doc_id in args.delete:
        lab.delete(as_utf8(doc_id))
    return lab


def seams_of(args: argparse.Namespace) -> "Seams | None":
    """The user's own parts, if any were named."""
    if args.encoder is None and args.retriever is None and args.reranker is None:
        return None
    if not args.hybrid and (args.encoder or args.retriever):
        raise UsageError("--encoder and --retriever stand for the second channel; add --hybrid")
    if not args.rerank and args.reranker:
        raise UsageError("--reranker goes with --rerank")
    from .seams import load_seams   # here, for few command lines have one
    return load_seams(encoder=args.encoder, retriever=args.retriever, reranker=args.reranker)


def options_of(args: argparse.Namespace) -> dict:
    """The flags that were given; for the others the corpus has its defaults."""
    given = {name: getattr(args, name) for name in ("k", "pool", "hybrid", "rerank", "threshold")}
    return {name: value for name, value in given.items() if value is not None}


def answer(lab: "Lab", query: str, args: argparse.Namespace) -> dict:
    """The report of one query."""
    from .report import search_report
    outcome = lab.search(query, show_context=args.show_context, explain=args.explain, **options_of(args))
    return search_report(outcome, lab.fate(outcome, as_utf8(args.why)) if args.why is not None else None)
