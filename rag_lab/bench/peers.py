"""How are engines measured that are no part of Python?

Another Python that has them runs one script of the folder `peers` for each: it reads the terms of all units and queries
from a file, measures in the same way, and prints what it found as one JSON document. Nothing of them is ever imported here.
The only module of the lab that starts processes.
"""
import json
import os
import shutil
import subprocess
from typing import NamedTuple, Sequence

from ..errors import UsageError
from ..lab import data_folder
from .measure import Answers, Measured
from .texts import Texts

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")


class Peer(NamedTuple):
    """An engine of another Python; `same_scores` tells whether its formula is ours to the letter."""

    name: str
    formula: str
    same_scores: bool
    note: str | None


class PeerProblem(Exception):
    """A peer that could not be measured: `status` is what to call that, the message why."""

    def __init__(self, status: str, message: str):
        super().__init__(message)
        self.status = status


PEERS = (
    Peer("rank_bm25", "bm25", False, "another IDF"),
    Peer("bm25s", "bm25", True, "timed with scores of 32 bits, compared with scores of 64 bits"),
    Peer("tantivy", "bm25", False, "lengths in one byte"),
    Peer("numpy", "cosine", True, "a product of the matrix of all vectors and the query's, in 32 bits"))


def find_python(name: str) -> str:
    """The path of the Python that was named. Raises `UsageError` if there is none."""
    path = shutil.which(name)
    if path is None:
        raise UsageError(f"--peer-python {name!r} is no program that can be run; name a Python that has the peers installed")
    return os.path.abspath(path)


def write_job(path: str, texts: Texts, settings: dict) -> None:
    """The file that every peer reads: a row with settings and queries, then a row [unit id, terms] for each unit."""
    with open(path, "w", encoding="utf-8") as file:
        for row in [{**settings, "queries": texts.queries}, *sorted(texts.units)]:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def measure(peer: Peer, python: str, job: str) -> Measured:
    """What a peer says of itself. Raises `PeerProblem`."""
    script = os.path.join(data_folder("peers"), f"peer_{peer.name}.py")
    done = subprocess.run([python, "-B", script, job], stdin=subprocess.DEVNULL, capture_output=True,
                          env={**os.environ, **ONE_THREAD, "PYTHONIOENCODING": "utf-8"})
    if done.returncode:
        raise PeerProblem("failed", _last_line(done.stderr))
    found = json.loads(done.stdout)
    if found["problem"]:
        raise PeerProblem(*found["problem"])
    answers = Answers(found["rounds"], found["first_milliseconds"], found["milliseconds"], found["results"])
    return Measured(peer.name, peer.formula, found["version"], found["build_seconds"], found["bytes"], found["open_seconds"],
                    answers)


def _last_line(talk: bytes) -> str:
    lines: Sequence[str] = talk.decode("utf-8", "replace").strip().split("\n")
    return lines[-1] or "it said nothing"
