"""Which records cross the border between two stages? All of them, named once, none of them able to change.

    Document                    what the catalog holds
    Chunk                       the pieces in which it is searched
    Scope, Settings             who asks, and how
    Channel, Asked, Candidate   what recall and the stages after it hand on
    Citation, Hit, Outcome      what comes out

Scores are carried at full precision; only the printed report rounds. Records are named tuples; those that check their
values do so in `__new__`. (Importing `dataclasses` alone would take a sixth of the time of a whole query.)
"""
import re
from datetime import datetime
from typing import Any, Callable, Mapping, NamedTuple

from .errors import UsageError, unit_interval, whole_number
from .files import digest

_PRODUCT_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9})*", re.ASCII)


def is_name(value) -> bool:
    """Whether a value can name a tenant or a role: a string that is not empty."""
    return isinstance(value, str) and value != ""


def is_instant(value) -> bool:
    """Whether a value is a moment that can be compared with every other: a datetime with an offset from UTC."""
    return isinstance(value, datetime) and value.utcoffset() is not None


def is_product_version(value) -> bool:
    """Whether a value is a product version: numbers joined by dots, as a string."""
    return isinstance(value, str) and _PRODUCT_VERSION.fullmatch(value) is not None


STATUSES = ("active", "retired", "withdrawn")
TRUST_LEVELS = ("official", "community", "untrusted")
THRESHOLDS = ("best_support", "each_result")
DEFAULT_POOL = 20
DEFAULT_THRESHOLD = 0.30


class Fact(NamedTuple):
    """A fact that a document states: its id, and the words in the text that state it."""

    fact_id: str
    quote: str


class Document(NamedTuple):
    """One document with what governs it. `text` is what follows the head; offsets count its code points from 0."""

    doc_id: str
    title: str
    text: str
    path: str                            # below the corpus folder, with the corpus name in front
    version: int
    content_digest: str                  # of title and text: changes with any edit
    tenant: str | None = None            # None: nobody may read it
    roles: tuple[str, ...] = ()          # who may read it; empty: nobody
    status: str = "active"               # one of STATUSES
    valid_from: datetime | None = None   # in force from here ...
    valid_to: datetime | None = None     # ... up to but not including here
    applies_from: str | None = None      # first product version it speaks of
    applies_to: str | None = None        # last product version it speaks of
    trust: str = "official"              # one of TRUST_LEVELS
    kind: str | None = None
    topic: str | None = None
    language: str | None = None
    facts: tuple[Fact, ...] = ()
    principals: tuple[str, ...] | None = None   # if given, only these persons or services may read it, whatever their roles
    parent: str | None = None               # of a region: the id of its document, with which it stands and falls
    within: tuple[str, ...] | None = None   # of a region: the roles of its document, one of which is needed as well


class Region(NamedTuple):
    """A section of a document that fewer people may read."""

    heading: str               # its words, without the marks
    roles: tuple[str, ...]


class Chunk(NamedTuple):
    """A piece of one state of one document: what is searched and cited."""

    chunk_id: str                    # the same for the same document id, headings, ordinal and text
    doc_id: str
    heading_path: tuple[str, ...]    # the headings it stands under, outermost first, without the document's title
    ordinal: int                     # its place among the chunks of the document, from 1
    start: int                       # span in the text of the document: code points from 0, half-open
    end: int
    text: str                        # document.text[start:end], nothing added and nothing left out
    content_digest: str              # of the text
    document_digest: str             # of the document it was cut from: an edit elsewhere leaves the id and changes this
    prefix: str = ""                 # context for the index, from the catalog's fields; never part of `text`


class _Scope(NamedTuple):
    tenant: str
    roles: tuple[str, ...]
    as_of: datetime | None = None        # None: validity windows are not looked at
    product_version: str | None = None   # None: product versions are not looked at
    principal: str | None = None         # None: nobody in particular, who reads nothing that is kept for someone


class Scope(_Scope):
    """Who asks, as of when, for which product version. It comes from the caller, never from the query text."""

    __slots__ = ()

    def __new__(cls, *fields, **named):
        self = super().__new__(cls, *fields, **named)
        if not is_name(self.tenant):
            raise UsageError(f"tenant is {self.tenant!r}; it must be a name")
        if not isinstance(self.roles, (tuple, list)) or not all(map(is_name, self.roles)):
            raise UsageError(f"roles is {self.roles!r}; it must be a tuple of names")
        if self.as_of is not None and not is_instant(self.as_of):
            raise UsageError(f"as_of is {self.as_of!r}; it must be a datetime with an offset from UTC")
        if self.product_version is not None and not is_product_version(self.product_version):
            raise UsageError(f"product_version is {self.product_version!r}; it must be numbers and dots, such as '3.10'")
        if self.principal is not None and not is_name(self.principal):
            raise UsageError(f"principal is {self.principal!r}; it must be a name")
        return self._replace(roles=tuple(self.roles))

    @property
    def digest(self) -> str:
        """A digest of everything that decides what the caller may see."""
        return digest([self.tenant, sorted(self.roles), self.as_of and self.as_of.isoformat(), self.product_version,
                       self.principal])


class _Preference(NamedTuple):
    kind: str | None = None
    language: str | None = None
    valid_at: datetime | None = None


class Preference(_Preference):
    """Soft filters: documents of another kind, language or time are not removed but ranked after the rest."""

    __slots__ = ()

    def __new__(cls, *fields, **named):
        self = super().__new__(cls, *fields, **named)
        if self.valid_at is not None and not is_instant(self.valid_at):
            raise UsageError(f"valid_at is {self.valid_at!r}; it must be a datetime with an offset from UTC")
        return self


class _Settings(NamedTuple):
    k: int = 5                       # results returned
    pool: int | None = None          # candidates kept per channel and handed to the reranker; None: 20, or k if larger
    hybrid: bool = False             # also ask the second channel, and fuse
    rerank: bool = False
    threshold: float = DEFAULT_THRESHOLD  # support below it is not enough
    threshold_on: str = "best_support"    # "best_support": refuse if none reaches it; "each_result": drop what does not
    rrf_k: int = 60
    show_context: bool = False
    explain: bool = False
    prefer: Preference = Preference()


class Settings(_Settings):
    """How one query is run. Raises `UsageError` for a value out of range."""

    __slots__ = ()

    def __new__(cls, *fields, **named):
        self = super().__new__(cls, *fields, **named)
        whole_number("k", self.k, 1)
        whole_number("rrf_k", self.rrf_k, 0)
        for name in ("hybrid", "rerank", "show_context", "explain"):
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"{name} is {getattr(self, name)!r}; it must be True or False")
        if not isinstance(self.prefer, Preference):
            raise UsageError(f"prefer is {self.prefer!r}; it must be a Preference")
        if self.threshold_on not in THRESHOLDS:
            raise UsageError(f"threshold_on is {self.threshold_on!r}; it must be one of {', '.join(THRESHOLDS)}")
        pool = max(DEFAULT_POOL, self.k) if self.pool is None else whole_number("pool", self.pool, 1)
        if pool < self.k:
            raise UsageError(f"pool is {pool} and k is {self.k}; the pool must hold at least k candidates")
        return self._replace(pool=pool, threshold=unit_interval("threshold", self.threshold))

    @property
    def digest(self) -> str:
        """A digest of the settings that shape a ranking: outputs with the same one were asked for alike."""
        valid_at = self.prefer.valid_at and self.prefer.valid_at.isoformat()
        return digest([self.k, self.pool, self.hybrid, self.rerank, self.threshold, self.threshold_on, self.rrf_k,
                       self.prefer.kind, self.prefer.language, valid_at])


class Channel(NamedTuple):
    """What one index recalled: the best first, or a note that says why there is nothing."""

    name: str
    hits: tuple[tuple[str, float], ...]
    note: str | None = None              # None exactly when there are hits
    ran: bool = True


class Asked(NamedTuple):
    """What a reranker may know of a query."""

    query: str
    scope: Scope
    known_terms: tuple[str, ...]         # the different query terms that some live chunk holds, in order
    idf: Callable[[str], float]          # of any term, over the live chunks
    terms_of: Callable[[str], frozenset[str]]   # the different terms of any text, by the corpus's analyzer
    best_fused: float | None             # fused score of what every channel ranks first; None if nothing was fused


class Candidate(NamedTuple):
    """A chunk on its way through the stages. `ranks` and `scores` hold the channels that recalled it."""

    chunk_id: str
    doc_id: str
    score: float                         # of the fusion, or of the one channel that ran
    ranks: Mapping[str, int]             # channel -> rank from 1
    scores: Mapping[str, float]          # channel -> its own score
    unmet: int = 0                       # soft filters that the document does not meet; fewer stand first
    parts: Any = None                    # once looked at closely: a record with `score` and `support`, see `rerank`
    reranked: bool = False               # whether its place comes from the reranker


class Citation(NamedTuple):
    """A verbatim span: `text[start:end] == quote` in that version of that document, or it does not leave the lab."""

    doc_id: str
    title: str
    version: int
    start: int                           # code points from 0, half-open
    end: int
    quote: str
    content_hash: str                    # first 16 hex digits of the SHA-256 of the quote


class Hit(NamedTuple):
    """One result: a candidate with its rank and its evidence."""

    rank: int                            # from 1
    candidate: Candidate
    chunk: Chunk
    title: str
    citation: Citation | None            # None only for a chunk without text
    context: tuple[str, str] | None = None   # what stands before and after the quote, when asked for
    explanation: dict | None = None          # where the numbers come from, when asked for


class Tombstone(NamedTuple):
    """A deletion: from this record on, no read path shows the document."""

    doc_id: str
    version: int
    deleted_at: str | None               # the corpus clock; None where the corpus has none
    reason: str
    request_id: str


class Outcome(NamedTuple):
    """Everything that one query brought about."""

    query: str
    scope: Scope
    settings: Settings
    statistics: dict                     # documents, active, tombstoned, terms, avg_tokens
    channels: tuple[Channel, ...]
    funnel: dict                         # live: documents; then stage -> how many chunks left it
    fused: tuple[Candidate, ...]         # all that was recalled, in fused order; the first `settings.pool` of it went on
    ranked: tuple[Candidate, ...]        # after gate and rerank
    shown: tuple[Candidate, ...]         # those of `ranked` that may be evidence and reach the threshold; the first k came out
    rejected: tuple[tuple[str, str], ...]   # (chunk id, rule) of the candidates that the gate dropped
    left_out: tuple[tuple[str, str], ...]   # (chunk id, reason) of candidates that may be read but are no evidence
    decision: str                        # "answer" or "refuse"
    reason: str | None                   # why it refused
    best_support: float
    answer: str | None                   # the quote of the first result
    results: tuple[Hit, ...]             # empty when refused
    closest: tuple[Hit, ...] = ()  # what came nearest, when refused
    tombstones: tuple[Tombstone, ...] = ()
    receipt: dict | None = None          # digests of what the outcome depends on, and the clock

    @property
    def pool(self) -> tuple[str, ...]:
        """Ids of the chunks that went into gate and rerank, in fused order."""
        return tuple(candidate.chunk_id for candidate in self.fused[:self.settings.pool])

    @property
    def dropped(self) -> dict[str, int]:
        """rule -> how many candidates the gate dropped for it, by rule."""
        rules = sorted(rule for _, rule in self.rejected)
        return {rule: rules.count(rule) for rule in rules}

    @property
    def refused(self) -> bool:
        """Whether the lab would not answer."""
        return self.decision == "refuse"
