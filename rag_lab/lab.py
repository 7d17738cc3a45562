"""What does a user hold in the hand? A corpus, its catalog, its indexes: one object that answers, deletes and evaluates."""
import functools
import os
from collections import Counter
from itertools import chain

from . import retrieve
from .bm25 import Bm25
from .catalog import Catalog
from .corpus import Corpus, load_corpus
from .errors import UsageError
from .files import digest
from .hashed import DIMENSIONS, Hashed
from .index import Unit
from .model import Document, Outcome, Settings, Tombstone
from .text import iter_terms

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def build_lab(corpus: str = "handbook", qrels: str | None = None) -> "Lab":
    """The lab over a corpus that comes with it, by name, or over one of the user's own, by path.

    `qrels` names the judgements for `evaluate`: a path, or the name of a corpus that comes with the lab. Without it those
    that belong to the corpus are taken, if there are any. Raises `UsageError` or `DataError`.
    """
    path = _find("corpus", corpus)
    return Lab(load_corpus(path), _find_qrels(path, corpus, qrels))


class Lab:
    """A catalog, its indexes, its settings.

    `docs` maps the ids of live documents to them; `bm25` and `hashed` are the indexes over them, as of now. After a
    deletion all three are new objects: whoever kept an old one sees the past.
    """

    def __init__(self, corpus: Corpus, qrels_path: str | None = None):
        self.settings = corpus.settings
        self.scope = corpus.settings.scope
        self.qrels_path = qrels_path
        self.catalog = Catalog(corpus.documents, corpus.settings.clock)
        self._index(corpus.documents)

    def _index(self, documents: tuple[Document, ...]) -> None:
        """Index all documents, hidden ones too; the live set decides which of them take part."""
        self._units: list[Unit] = [(document.doc_id, _frequencies(document)) for document in documents]
        self._indexed = {document.doc_id: document.content_digest for document in documents}
        self.bm25 = Bm25(self._units, self.settings.k1, self.settings.b)
        self.__dict__.pop("hashed", None)
        self._refresh()

    def _refresh(self) -> None:
        """Take the live set of the catalog as it is now. The old index objects are left as they were."""
        self.docs = self.catalog.eligible(self.scope).documents
        self.bm25 = self.bm25.over(self.docs)
        if "hashed" in self.__dict__:
            self.hashed = self.hashed.over(self.docs)

    @functools.cached_property
    def hashed(self) -> Hashed:
        """The hashed-vector index, made when first asked for."""
        return Hashed(self._units).over(self.docs)

    def search(self, query: str, settings: Settings | None = None, **options) -> Outcome:
        """Answer one query or refuse. `options` are the fields of `Settings`: k, pool, hybrid, rerank, threshold, ..."""
        settings = _settings(settings, options)
        hashed = self.hashed if settings.hybrid else None
        outcome = retrieve.run(query, self.scope, self.catalog, self.bm25, hashed, self._indexed, settings)
        return outcome._replace(receipt=self.receipt(settings))

    def delete(self, doc_id: str, reason: str = "user_request") -> Tombstone:
        """Write a tombstone; from here on no path of the lab shows the document. Raises `UsageError` for an unknown id."""
        tombstone = self.catalog.delete(doc_id, self.scope, reason)
        self._refresh()
        return tombstone

    def put(self, document: Document) -> None:
        """Add a document, or take it in place of the one with its id, and index anew."""
        self.catalog.put(document)
        self._index(self.catalog.documents)

    def evaluate(self, settings: Settings | None = None, **options) -> "Evaluation":
        """Run every judged query and measure. `options` as for `search`. Raises `UsageError` without judgements."""
        from . import evaluation, trec   # here, for a single query does without
        if self.qrels_path is None:
            raise UsageError(f"corpus {self.settings.name!r} has no judgements; name them with qrels (--qrels)")
        settings = _settings(settings, options)
        judged = trec.read_judged(self.qrels_path)
        measured = evaluation.evaluate(self.search, judged, settings)
        return measured._replace(receipt=self.receipt(settings, judged.digest))

    def receipt(self, settings: Settings, qrels_digest: str | None = None) -> dict:
        """What an outcome depends on: two outputs with equal receipts may be compared."""
        live = self.catalog.eligible(self.scope).digest
        indexed = [live, self.settings.analyzer, self.settings.chunker, self.settings.k1, self.settings.b, DIMENSIONS]
        return {"corpus": live, "index": digest(indexed), "settings": settings.digest, "qrels": qrels_digest,
                "clock": self.settings.clock}


def _settings(settings: Settings | None, options: dict) -> Settings:
    if settings is not None and options:
        raise UsageError("give either a Settings object or options, not both")
    unknown = sorted(set(options) - set(Settings._fields))
    if unknown:
        raise UsageError(f"unknown option {unknown[0]!r}; the options are {', '.join(Settings._fields)}")
    return settings or Settings(**options)


def _frequencies(document: Document) -> Counter:
    """The term frequencies of title and text; no pair of characters reaches from one into the other."""
    return Counter(chain(iter_terms(document.title), iter_terms(document.text)))


# --- where the corpora and judgements are ---------------------------------------------------------------------------

def data_folder(kind: str) -> str:
    """The folder "corpus" or "qrels": beside the package in a clone, inside it when installed."""
    inside = os.path.join(PACKAGE, "data", kind)
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(PACKAGE), kind)


def _find(kind: str, name: str) -> str:
    if os.path.exists(name):
        return name
    path = os.path.join(data_folder(kind), name)
    if os.sep in name or not os.path.exists(path):
        shipped = sorted(entry for entry in os.listdir(data_folder(kind)) if not entry.startswith("."))
        raise UsageError(f"there is no {kind} {name!r}; give a path, or one of: {', '.join(shipped)}")
    return path


def _find_qrels(corpus_path: str, corpus: str, qrels: str | None) -> str | None:
    if qrels is not None:
        return qrels if os.path.exists(qrels) else _find("qrels", f"{qrels}.tsv")
    for path in (os.path.join(corpus_path, "qrels", "test.tsv"), os.path.join(data_folder("qrels"), f"{corpus}.tsv")):
        if os.path.exists(path):
            return path
    return None
