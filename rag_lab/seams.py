"""Where does an encoder, a reranker or a retriever of the user's own go in? Here, as a plain callable named module:name.

    encoder     (text) -> list or mapping of numbers          takes the place of the second channel's vectors
    retriever   (query, texts, k) -> [(id, score)]            takes the place of the second channel; texts: id -> live text
    reranker    (query, text) -> score, a finite number       takes the place of the lab's reranker

The lab's own rules stay around them: they see live chunks only, the gate stands behind them, ties are broken by id, and
what they return is checked. They decide order, never what may be seen.
"""
import functools
import importlib
import os
import sys
from typing import Callable, Iterable, Mapping, NamedTuple

from . import rerank
from .dense import Dense, checked_vector, is_finite
from .errors import UsageError
from .index import LiveIndex, best_first, sorted_units
from .model import Asked, Candidate, Chunk, Document


class _Seams(NamedTuple):
    encoder: Callable | None = None
    retriever: Callable | None = None
    reranker: Callable | None = None
    names: Mapping[str, str] = {}


class Seams(_Seams):
    """The callables to use instead of the lab's own, and their names for the receipt: those of the callables if not given."""

    __slots__ = ()

    def __new__(cls, *fields, **named):
        self = super().__new__(cls, *fields, **named)
        if self.encoder and self.retriever:
            raise UsageError("--encoder and --retriever both stand for the second channel; give one of them")
        given = {seam: getattr(self, seam) for seam in ("encoder", "retriever", "reranker") if getattr(self, seam)}
        return self._replace(names={seam: self.names.get(seam) or _name_of(part) for seam, part in given.items()})


def _name_of(part: Callable) -> str:
    return f"{part.__module__}:{getattr(part, '__qualname__', type(part).__qualname__)}"


def load_seams(**named: str | None) -> Seams:
    """The seams behind `encoder`, `retriever` and `reranker`, each "module:name" or None. Raises `UsageError`."""
    given = {seam: name for seam, name in named.items() if name is not None}
    if "encoder" in given and "retriever" in given:
        raise UsageError("--encoder and --retriever both stand for the second channel; give one of them")
    return Seams(**{seam: _load(seam, name) for seam, name in given.items()}, names=given)


def _load(seam: str, name: str) -> Callable:
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise UsageError(f"--{seam} {name!r} is not module:name")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (Exception, SystemExit) as error:   # whatever the user's module does while it is imported
        raise UsageError(f"--{seam} {name!r} cannot be loaded: {error}") from error
    if not callable(found):
        raise UsageError(f"--{seam} {name!r} is no callable")
    return found


def second_channel(seams: Seams, texts: Iterable[tuple[str, str]]) -> LiveIndex:
    """The index of the second channel over (unit id, text), made with the user's encoder or retriever."""
    if seams.retriever:
        return External(texts, seams.retriever, f"retriever {seams.names['retriever']!r}")

    def encode(text: str):
        """What the user's encoder makes of a text, checked."""
        source = f"encoder {seams.names['encoder']!r}"
        return checked_vector(_call(source, seams.encoder, text), source)

    return Encoded(texts, encode)


class Encoded(LiveIndex):
    """An encoder of the user's own behind the contract of an index. It is handed live texts, each once, and queries."""

    name = "dense"

    def __init__(self, units: Iterable[tuple[str, str]], encode: Callable[[str], Mapping]):
        rows = sorted_units(units)
        self.ids = [unit_id for unit_id, _ in rows]
        self.texts = [text for _, text in rows]
        self.encode = encode
        self.vectors: dict[int, Mapping] = {}   # position -> vector of a text that was live once; shared by all views
        self._set_live(self.ids)

    def _set_live(self, live_ids: Iterable[str]) -> None:
        super()._set_live(live_ids)
        self.__dict__.pop("dense", None)   # cached, and of the old live set

    @functools.cached_property
    def dense(self) -> Dense:
        """The index over the live texts."""
        for at in sorted(self.live):
            if at not in self.vectors:
                self.vectors[at] = self.encode(self.texts[at])
        return Dense(((self.ids[at], self.vectors[at]) for at in sorted(self.live)), self.encode)

    def usable(self, query: str) -> bool:
        """Whether the query has a vector at all."""
        return self.dense.usable(query)

    def search(self, query: str, k: int | None = 5) -> list[tuple[str, float]]:
        """As `Dense.search`."""
        return self.dense.search(query, k)

    def explain(self, query: str, unit_id: str) -> dict | None:
        """As `Dense.explain`."""
        return self.dense.explain(query, unit_id)


class External(LiveIndex):
    """A retriever of the user's own behind the contract of an index. It is handed live texts and nothing else."""

    name = "dense"

    def __init__(self, units: Iterable[tuple[str, str]], retriever: Callable, source: str):
        rows = sorted_units(units)
        self.ids = [unit_id for unit_id, _ in rows]
        self.texts = [text for _, text in rows]
        self.retriever, self.source = retriever, source
        self._set_live(self.ids)

    def usable(self, query: str) -> bool:
        """Whether there is a query at all; what can be done with it only the retriever knows."""
        return bool(query.strip())

    def search(self, query: str, k: int | None = 5) -> list[tuple[str, float]]:
        """What the retriever returns, at most `k`, by falling score and id. Raises `UsageError` for ids it was not given."""
        texts = {self.ids[at]: self.texts[at] for at in sorted(self.live)}
        k = len(texts) if k is None else k   # a retriever is always told a number
        rows = _call(self.source, self.retriever, query, texts, k) if texts else []
        if not isinstance(rows, (tuple, list)):
            raise UsageError(f"{self.source} returned {rows!r}; it must return a list of pairs")
        for row in rows:
            if not (isinstance(row, (tuple, list)) and len(row) == 2 and isinstance(row[0], str) and row[0] in texts
                    and is_finite(row[1])):
                raise UsageError(f"{self.source} returned {row!r}; it must return pairs of an id it was given and a number")
        return best_first(dict(reversed(rows)).items(), k) if rows else []

    def explain(self, query: str, unit_id: str) -> dict | None:
        """{score} as the retriever gives it; None if the unit is not live or not returned."""
        found = dict(self.search(query, None))
        return {"score": found[unit_id]} if unit_id in found else None


class SeamParts(NamedTuple):
    """What a user's reranker said of a chunk, beside the support that the lab reckons itself."""

    score: float
    support: float


def reranker(seams: Seams, own: rerank.Look) -> rerank.Look:
    """The user's reranker as a closer look. It orders; whether the lab answers is still decided by `own`, the corpus's look."""
    source = f"reranker {seams.names['reranker']!r}"

    def look(asked: Asked, candidate: Candidate, chunk: Chunk, document: Document) -> SeamParts:
        """The user's score of a candidate, and the support that the corpus's own look gives it."""
        score = _call(source, seams.reranker, asked.query, chunk.text)
        if not is_finite(score):
            raise UsageError(f"{source} returned {score!r}; it must return a finite number")
        return SeamParts(score, own(asked, candidate, chunk, document).support)
    return look


def _call(source: str, part: Callable, *arguments):
    """What the user's callable returns; whatever it raises becomes a `UsageError` that names it."""
    try:
        return part(*arguments)
    except Exception as error:
        raise UsageError(f"{source} failed with {type(error).__name__}: {error}") from error
