"""What several test files need: small documents and labs, random corpora, plain scorers to compare with, printed answers."""
import hashlib
import json
import math
import os
import random
import subprocess
import sys

from rag_lab import Document, Lab, Scope, bounds, listed, postings, topk
from rag_lab.bm25 import Bm25
from rag_lab.chunking import whole
from rag_lab.corpus import Corpus, CorpusSettings
from rag_lab.files import canonical_json, digest
from rag_lab.model import Chunk
from rag_lab.report import search_report
from rag_lab.text import terms

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared", "data")   # not in the repository


def document(doc_id: str, text: str, title: str = "", **fields) -> Document:
    """A document that Scope("t", ("r",)) may read, unless `fields` say otherwise."""
    governed = {"path": f"test/{doc_id}.md", "version": 1, "content_digest": digest([title, text]), "tenant": "t",
                "roles": ("r",), **fields}
    return Document(doc_id, title, text, **governed)


def chunk_of(one: Document, chunk_id: str | None = None) -> Chunk:
    """The document as one chunk, under another id if one is given."""
    (chunk,) = whole(one)
    return chunk if chunk_id is None else chunk._replace(chunk_id=chunk_id)


def lab_of(*documents: Document) -> Lab:
    """A lab over these documents, asked for Scope("t", ("r",))."""
    settings = CorpusSettings("test", scope=Scope("t", ("r",)))
    return Lab(Corpus(settings, tuple(sorted(documents, key=lambda one: one.doc_id))))


def found(query: str, *texts: str) -> list[str]:
    """Those of the texts that BM25 finds, best first."""
    index = Bm25([(f"d{at:04}", terms(text)) for at, text in enumerate(texts)])
    return [texts[int(unit_id[1:])] for unit_id, _ in index.search(query, k=None)]


def output_under_hash_seed(program: str, seed: str) -> bytes:
    """What a Python program prints in a process of its own with that PYTHONHASHSEED."""
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": ROOT}
    return subprocess.run([sys.executable, "-c", program], env=environment, check=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60).stdout


# --- each way of searching posting lists, over small corpora -----------------------------------------------------------

WAYS = ("one by one", "split", "add up")


def search_by(monkeypatch, way: str) -> None:
    """Search in this way from now on, however small the corpus: in blocks of 3 or 4 units of mixed sizes, and rows of 8."""
    changes = {"one by one": (listed, "FEW_POSTINGS", 10 ** 9), "split": (bounds, "FEW_TERMS", 10 ** 9),
               "add up": (bounds, "FEW_TERMS", 0)}
    for module, name, value in [(postings, "SMALLEST", 3), (postings, "LARGEST", 4), (postings, "SPREAD", 3),
                                (listed, "FEW_POSTINGS", 0), (topk, "PIECE", 0 if way == "split" else 8), changes[way]]:
        monkeypatch.setattr(module, name, value)


def by_every_way(monkeypatch, make, without=()):
    """An index that `make` makes anew, once for each way of searching."""
    for way in WAYS:
        if way not in without:
            search_by(monkeypatch, way)
            yield make()


def ranked(scores: dict[str, float]) -> list[tuple[str, float]]:
    """(unit id, score) by falling score, equal scores by id."""
    return sorted(scores.items(), key=lambda row: (-row[1], row[0]))


# --- small random corpora: bags of the words a to e, white space between them ----------------------------------------

def random_units(seed: int) -> dict[str, list[str]]:
    """Unit id -> its words. Small enough for ties, equal lengths, words that all units hold, and empty units."""
    choose = random.Random(seed)
    size, longest = choose.randint(1, 8), choose.randint(1, 6)
    units = {f"u{number}": [choose.choice("abcde") for _ in range(choose.randint(0, longest))] for number in range(size)}
    if seed % 10 == 0:   # all units equal
        units = dict.fromkeys(units, units["u0"])
    if seed % 10 == 1:   # a word that stands in all of them
        units = {unit_id: [*words, "a"] for unit_id, words in units.items()}
    if seed % 10 == 2:   # all of one length
        units = {unit_id: (words + list("abcdea"))[:4] for unit_id, words in units.items()}
    return units


def random_query(seed: int) -> str:
    """One to six words, repeated ones among them, now and then one that no unit holds."""
    choose = random.Random(-seed - 1)
    return " ".join(choose.choice("abcdez") for _ in range(choose.randint(1, 6)))


# --- the same scores once more, straight from the formulas, a unit at a time -----------------------------------------

def plain_bm25(units: dict[str, list[str]], query: list[str], k1: float = 1.2, b: float = 0.75) -> dict[str, float]:
    """Unit id -> sum over the query's words of ln(1 + (N - df + 0.5) / (df + 0.5)) tf (k1 + 1) / (tf + k1 norm)."""
    average = sum(len(words) for words in units.values()) / len(units)
    scores = {}
    for unit_id, words in units.items():
        for term in query:
            df = sum(term in others for others in units.values())
            tf = words.count(term)
            if tf:
                norm = 1 - b + b * len(words) / average
                part = math.log(1 + (len(units) - df + 0.5) / (df + 0.5)) * tf * (k1 + 1) / (tf + k1 * norm)
                scores[unit_id] = scores.get(unit_id, 0.0) + part
    return scores


def plain_bucket(term: str) -> tuple[int, int]:
    """(bucket, sign): BLAKE2b of 8 bytes; the low nine bits are the bucket of 512, the first bit set means plus."""
    raw = hashlib.blake2b(term.encode(), digest_size=8).digest()
    return int(raw.hex(), 16) & 511, 1 if raw[0] >= 128 else -1


def plain_vector(words: list[str]) -> list[int]:
    """512 signed counts, most of them 0."""
    vector = [0] * 512
    for word in words:
        place, sign = plain_bucket(word)
        vector[place] += sign
    return vector


def plain_cosines(units: dict[str, list[str]], query: list[str]) -> dict[str, float]:
    """Unit id -> cosine of its vector and the query's, those above 0 only."""
    wanted = plain_vector(query)
    cosines = {}
    for unit_id, words in units.items():
        vector = plain_vector(words)
        dot = sum(one * other for one, other in zip(wanted, vector))
        if dot > 0:
            cosines[unit_id] = dot / math.hypot(*wanted) / math.hypot(*vector)
    return cosines


# --- indexes in files ---------------------------------------------------------------------------------------------------

ASKED = [{}, {"hybrid": True, "rerank": True, "explain": True, "show_context": True, "threshold": 0.0},
         {"k": 3, "hybrid": True, "threshold_on": "each_result", "explain": True}]


def write_rows(path, rows) -> str:
    """A JSONL corpus of these rows."""
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return str(path)


def answers(lab: Lab, queries, scopes=(None,), asked=ASKED, why=()) -> list[str]:
    """What a lab prints: a report of each query for each scope and each set of options, with the fates of `why`."""
    printed = []
    for scope in scopes:
        for query in queries:
            for options in asked:
                outcome = lab.search(query, scope=scope, **options)
                fates = [lab.fate(outcome, doc_id) for doc_id in why] or [None]
                printed += [canonical_json(search_report(outcome, fate)) for fate in fates]
    return printed


def receipts(lab: Lab, scopes) -> list:
    """What a lab is made of, and what each scope sees of it."""
    return [lab.manifest, *([dict(live.ledger), live.digest, list(live.documents)]
                            for live in map(lab.catalog.eligible, scopes))]
