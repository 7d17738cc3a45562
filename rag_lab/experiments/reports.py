"""Which reports are committed, and how are they made? All of them, by one command, from the lab as it stands."""
import os

from .. import cli
from ..errors import DataError, Fault
from ..files import canonical_json, text_digest, write_text
from . import rag_evidence
from .reproduce import reproduce

EVALUATIONS = {   # report -> the command that prints it
    "handbook.bm25.json": ["--eval", "--k", "5"],
    "handbook.hybrid.json": ["--eval", "--k", "5", "--hybrid"],
    "handbook.hybrid-rerank.json": ["--eval", "--k", "5", "--hybrid", "--rerank"],
}


def make_reports() -> dict[str, str]:
    """report name -> its text, in the order in which they are written."""
    reports = {name: canonical_json(cli.run(command)[0]) for name, command in EVALUATIONS.items()}
    return reports | rag_evidence.reports() | {"reproduction.json": canonical_json(reproduce())}


def write_reports(folder: str) -> list[dict]:
    """Write every report to `folder`, each whole or not at all; returns [{file, sha256}]."""
    try:
        os.makedirs(folder, exist_ok=True)
        reports = make_reports()
        for name, text in reports.items():
            write_text(os.path.join(folder, name), text)
    except OSError as error:
        rule = f"reports cannot be written ({error.strerror})"
        raise DataError([Fault(folder, None, rule, "name a folder that you may write")]) from error
    return [{"file": name, "sha256": text_digest(text, 64)} for name, text in reports.items()]
