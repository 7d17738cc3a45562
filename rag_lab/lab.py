"""What does a user hold in the hand? A corpus, its catalog, its indexes: one object that answers, deletes and evaluates."""
import functools
import os
from collections import Counter
from typing import Callable, Mapping

from . import rerank, retrieve
from .analyzers import analyzer_of
from .bm25 import Bm25
from .catalog import Catalog, document_row
from .chunking import CHUNKERS, Chunks, chunk_row, searchable
from .corpus import Corpus, CorpusSettings, load_corpus
from .errors import UsageError
from .files import digest
from .hashed import DIMENSIONS, Hashed
from .index import LiveIndex, Unit
from .model import Document, Outcome, Scope, Settings, Tombstone
from .sums import added, share, sum_digest

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def _governed_look() -> rerank.Look:
    from .governed import look   # here, for only one corpus needs it
    return look


def _concept_encoder() -> tuple[str, int]:
    from .concepts import CONCEPTS   # here, for only one corpus needs it
    return "frozen-concept-vector", len(CONCEPTS)


ENCODERS: dict[str, Callable[[], tuple[str, int]]] = {   # name in corpus.toml -> (model id, dimensions)
    "hashed": lambda: ("signed-hashed-bigrams-blake2b", DIMENSIONS), "concepts": _concept_encoder}
RERANKERS: dict[str, Callable[[], rerank.Look]] = {"coverage": lambda: rerank.look, "governed": _governed_look}


def build_lab(corpus: str = "handbook", qrels: str | None = None, seams: "Seams | None" = None,
              cache: "ResultCache | None" = None) -> "Lab":
    """The lab over a corpus that comes with it, by name, or over one of the user's own, by path.

    `qrels` names the judgements for `evaluate`: a path, or the name of a corpus that comes with the lab. Without it those
    that belong to the corpus are taken, if there are any. Raises `UsageError` or `DataError`.
    """
    path = find("corpus", corpus)
    return Lab(load_corpus(path), _find_qrels(path, corpus, qrels), seams, cache)


class Lab:
    """A catalog, its chunks and indexes, its settings.

    `docs` maps the ids of live documents to them; `bm25` and `dense` are the indexes over their chunks. All three follow the
    catalog: after a deletion they are other objects, and whoever kept an old one sees the past.
    """

    def __init__(self, corpus: Corpus, qrels_path: str | None = None, seams: "Seams | None" = None,
                 cache: "ResultCache | None" = None):
        self._prepare(corpus.settings, qrels_path, seams, cache)
        self.catalog = Catalog(corpus.documents, corpus.settings.clock)
        self._index(corpus.documents)

    def _prepare(self, settings: CorpusSettings, qrels_path: str | None, seams, cache) -> None:
        """Take what does not depend on where the documents lie."""
        self.settings, self.scope = settings, settings.scope
        self.qrels_path, self.seams, self.cache = qrels_path, seams, cache
        self._ranked_for: tuple = (None, 0)   # the outcome, and the revision, of which the whole rankings are kept
        self.analyzer = analyzer_of(settings.analyzer)
        self._own_look = RERANKERS[settings.reranker]()
        self.look = self._make_look(self._own_look)

    def _query_terms(self, query: str) -> list[str]:
        return list(self.analyzer.terms(query))

    @property
    def docs(self) -> Mapping[str, Document]:
        """The live documents by id, as the catalog has it now."""
        return self.catalog.eligible(self.scope).documents

    @property
    def bm25(self) -> Bm25:
        """The lexical index over the live chunks: another object after each change of the catalog, the same until then."""
        self._bm25 = self._bm25.over(self.chunks.of(self.docs))
        return self._bm25

    @property
    def dense(self) -> LiveIndex:
        """The index of the second channel, made when first asked for; the corpus names its encoder."""
        self._dense = (self._dense or self._make_dense()).over(self.chunks.of(self.docs))
        return self._dense

    def _index(self, documents: tuple[Document, ...]) -> None:
        """Cut and index all documents, hidden ones too; the live set decides which of them take part."""
        self.chunks = Chunks(documents, CHUNKERS[self.settings.chunker])
        self._snapshot = documents
        self._units: list[Unit] = [(chunk_id, Counter(self.analyzer.terms(searchable(chunk))))
                                   for chunk_id, chunk in self.chunks.by_id.items()]
        self._bm25 = Bm25(self._units, self.settings.k1, self.settings.b, self._query_terms)
        self._dense: LiveIndex | None = None

    @property
    def hashed(self) -> LiveIndex:
        """The same index under the name of its usual encoder."""
        return self.dense

    def _make_look(self, own: rerank.Look) -> rerank.Look:
        if self.seams and self.seams.reranker:
            from .seams import reranker   # here, for few labs have one
            return reranker(self.seams, own)
        return own

    def _make_dense(self) -> LiveIndex:
        texts = {chunk_id: searchable(chunk) for chunk_id, chunk in self.chunks.by_id.items()}
        if self.seams and (self.seams.encoder or self.seams.retriever):
            from .seams import second_channel   # here, for few labs have one
            return second_channel(self.seams, texts.items())
        return self._dense_over(texts.items() if self.settings.encoder == "concepts" else self._units)

    def _dense_over(self, units) -> LiveIndex:
        """The index of the corpus's own encoder over units, or over their posting lists."""
        if self.settings.encoder == "concepts":
            from .concepts import Concepts   # here, for only one corpus needs it
            return Concepts(units)
        return Hashed(units, self._query_terms)

    def search(self, query: str, settings: Settings | None = None, scope: Scope | None = None, **options) -> Outcome:
        """Answer one query or refuse. `options` are the fields of `Settings`: k, pool, hybrid, rerank, threshold, ..."""
        settings, scope = settings_given(settings, options) or self.options(**options), scope or self.scope
        look = self.look if settings.rerank else self._own_look   # no part of the user's behind the gate
        parts = retrieve.Parts(self.chunks, self.bm25, self.dense if settings.hybrid else None, look,
                               self.analyzer.term_set)

        def work() -> Outcome:
            """Answer the query without a look into the cache."""
            outcome = retrieve.run(query, scope, self.catalog, parts, settings)
            return outcome._replace(receipt=self.receipt(settings, scope))

        if self.cache is None:
            return work()
        from .cache import key_of   # here, for few labs keep a cache
        key = key_of(query, scope, settings, self.ingredients(), self.catalog)
        return self.cache.get(key, scope, self.catalog, work)

    def fate(self, outcome: Outcome, doc_id: str, tell: bool = True) -> "Fate":
        """At which stage of a query a document was lost, and, if `tell`, what would have had to differ."""
        from .loss import fate, whole_rankings   # here, for a plain query does without
        documents = self.catalog.eligible(outcome.scope).documents
        if self._ranked_for[0] is not outcome or self._ranked_for[1] != self.catalog.revision:   # asked about another document
            live_ids = self.chunks.of(documents)
            indexes = [self.bm25.over(live_ids)] + ([self.dense.over(live_ids)] if outcome.settings.hybrid else [])
            self._ranked_for, self._rankings = (outcome, self.catalog.revision), whole_rankings(outcome.query, indexes)
        return fate(outcome, doc_id, documents, self.chunks.owner, self._rankings, tell)

    def delete(self, doc_id: str, reason: str = "user_request") -> Tombstone:
        """Write a tombstone; from here on no path of the lab shows the document. Raises `UsageError` for an unknown id."""
        return self.catalog.delete(doc_id, self.scope, reason)

    def put(self, document: Document) -> None:
        """Add a document, or take it in place of the one with its id, and index anew."""
        self.catalog.put(document)
        self._index(self.catalog.documents)

    def publish(self, document: Document, expected_version: int) -> None:
        """`Catalog.publish`, and index anew."""
        self.catalog.publish(document, expected_version)
        self._index(self.catalog.documents)

    def withdraw(self, doc_id: str, expected_version: int) -> None:
        """`Catalog.withdraw`: the document is out of every read path at once, and nothing is indexed anew."""
        self.catalog.withdraw(doc_id, expected_version)

    def apply(self, event: "Event") -> str:
        """`Catalog.apply`, and index anew if it brought a document."""
        result = self.catalog.apply(event)
        if result == "applied" and event.kind == "publish":
            self._index(self.catalog.documents)
        return result

    def evaluate(self, settings: Settings | None = None, **options) -> "Evaluation":
        """Run every judged query and measure. `options` as for `search`. Raises `UsageError` without judgements."""
        from . import evaluation   # here, for a single query does without
        judged = self.judged()
        settings = settings_given(settings, options) or self.options(**options)
        measured = evaluation.evaluate(self.search, judged, settings, functools.partial(self.fate, tell=False))
        return measured._replace(receipt=self.receipt(settings, self.scope, judged.digest))

    def judged(self) -> "Judged":
        """The queries with their judgements. Raises `UsageError` if there are none, `DataError` for their faults."""
        from .trec import read_judged   # here, for a single query does without
        if self.qrels_path is None:
            raise UsageError(f"corpus {self.settings.name!r} has no judgements; name them with qrels (--qrels)")
        return read_judged(self.qrels_path)

    @property
    def manifest(self) -> dict:
        """What the index is made of: of the documents that were indexed, whatever the catalog holds by now."""
        from . import manifest   # here, for a query does without
        content = added(share(chunk_row(chunk)) for chunk in self.chunks.by_id.values())
        catalog = added(share(document_row(document)) for document in self._snapshot)
        return manifest.make(sum_digest(catalog), sum_digest(content), len(self._snapshot), len(self.chunks.by_id),
                             self.settings.chunker, *self._encoder(), self.settings.clock)

    def _encoder(self) -> tuple[str, int | None]:
        """(name of the encoder, dimensions) of the second channel."""
        if self.seams and self.seams.encoder:
            return self.seams.names["encoder"], None
        return ENCODERS[self.settings.encoder]()

    def receipt(self, settings: Settings, scope: Scope, qrels_digest: str | None = None) -> dict:
        """What an outcome depends on: two outputs with equal receipts may be compared."""
        live = self.catalog.eligible(scope).digest
        return {"corpus": live, "index": digest([live, *self.ingredients()]), "scope": scope.digest,
                "settings": settings.digest, "qrels": qrels_digest, "clock": self.settings.clock}

    def ingredients(self) -> list:
        """What the indexes are made with, apart from the documents: change one, and scores may change."""
        return [self.settings.analyzer, self.settings.chunker, self.settings.k1, self.settings.b,
                self.settings.encoder, DIMENSIONS, self.settings.reranker,
                dict(self.seams.names) if self.seams else {}]

    def options(self, **options) -> Settings:
        """The settings that the options make of the corpus's own defaults. Raises `UsageError` for an unknown option."""
        unknown = sorted(set(options) - set(Settings._fields))
        if unknown:
            raise UsageError(f"unknown option {unknown[0]!r}; the options are {', '.join(Settings._fields)}")
        settings = {**self.settings.settings, **options}
        if options.get("k") and "pool" not in options and settings.get("pool"):
            settings["pool"] = max(settings["pool"], options["k"])   # only a pool that was asked for can be too small
        return Settings(**settings)


def settings_given(settings: Settings | None, options: dict) -> Settings | None:
    """The settings object, if that is what was given. Raises `UsageError` if options were given too."""
    if settings is not None and options:
        raise UsageError("give either a Settings object or options, not both")
    return settings


# --- where the corpora and judgements are ---------------------------------------------------------------------------

def data_folder(kind: str) -> str:
    """The folder "corpus" or "qrels": beside the package in a clone, inside it when installed."""
    inside = os.path.join(PACKAGE, "data", kind)
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(PACKAGE), kind)


def shipped(kind: str) -> dict[str, str]:
    """name -> path of the corpora, or of the judgements, that come with the lab."""
    folder, ending = data_folder(kind), ".tsv" if kind == "qrels" else ""
    names = sorted(entry for entry in os.listdir(folder) if entry.endswith(ending) and not entry.startswith("."))
    return {name.removesuffix(ending): os.path.join(folder, name) for name in names}


def find(kind: str, name: str) -> str:
    """The path behind a name. A name that comes with the lab means that, whatever lies in the current folder."""
    known = shipped(kind)
    if name not in known and not os.path.exists(name):
        raise UsageError(f"there is no {kind} {name!r}; give a path, or one of: {', '.join(known)}")
    return known.get(name, name)


def _find_qrels(corpus_path: str, corpus: str, qrels: str | None) -> str | None:
    """The judgements asked for; else those in a BEIR folder, or those that come with a corpus of the lab's own."""
    if qrels is not None:
        return find("qrels", qrels)
    beir = os.path.join(corpus_path, "qrels", "test.tsv")
    return beir if os.path.exists(beir) else shipped("qrels").get(corpus) if corpus in shipped("corpus") else None
