"""Which records cross the border between two stages? All of them, named once, none of them able to change.

    Document                 what the catalog holds
    Scope, Settings          who asks, and how
    Channel, Candidate       what recall and the stages after it hand on
    Citation, Hit, Outcome   what comes out

Scores are carried at full precision; only the printed report rounds. Records are named tuples; those that check their
values do so in `__new__`. (Importing `dataclasses` alone would take a sixth of the time of a whole query.)
"""
from datetime import datetime
from typing import Mapping, NamedTuple

from .errors import UsageError, unit_interval, whole_number
from .files import digest

STATUSES = ("active", "retired", "withdrawn")
TRUST_LEVELS = ("official", "community", "untrusted")
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


class _Scope(NamedTuple):
    tenant: str
    roles: tuple[str, ...]
    as_of: datetime | None = None        # None: validity windows are not looked at
    product_version: str | None = None   # None: product versions are not looked at


class Scope(_Scope):
    """Who asks, as of when, for which product version. It comes from the caller, never from the query text."""

    __slots__ = ()

    def __new__(cls, *fields, **named):
        self = super().__new__(cls, *fields, **named)
        if not isinstance(self.tenant, str) or not self.tenant:
            raise UsageError(f"tenant is {self.tenant!r}; it must be a name")
        if isinstance(self.roles, str) or not all(isinstance(role, str) and role for role in self.roles):
            raise UsageError(f"roles is {self.roles!r}; it must be a tuple of names")
        if self.as_of is not None and self.as_of.tzinfo is None:
            raise UsageError(f"as_of is {self.as_of}; it needs an offset from UTC, such as +08:00")
        return self._replace(roles=tuple(self.roles))


class _Preference(NamedTuple):
    kind: str | None = None
    language: str | None = None
    valid_at: datetime | None = None


class Preference(_Preference):
    """Soft filters: documents of another kind, language or time are not removed but ranked after the rest."""

    __slots__ = ()

    def __new__(cls, *fields, **named):
        self = super().__new__(cls, *fields, **named)
        if self.valid_at is not None and self.valid_at.tzinfo is None:
            raise UsageError(f"valid_at is {self.valid_at}; it needs an offset from UTC, such as +08:00")
        return self


class _Settings(NamedTuple):
    k: int = 5                       # results returned
    pool: int | None = None          # candidates kept per channel and handed to the reranker; None: 20, or k if larger
    hybrid: bool = False             # also ask the hashed vectors, and fuse
    rerank: bool = False
    threshold: float = DEFAULT_THRESHOLD  # refuse when the best support is below it
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
        pool = max(DEFAULT_POOL, self.k) if self.pool is None else whole_number("pool", self.pool, 1)
        if pool < self.k:
            raise UsageError(f"pool is {pool} and k is {self.k}; the pool must hold at least k candidates")
        return self._replace(pool=pool, threshold=unit_interval("threshold", self.threshold))

    @property
    def digest(self) -> str:
        """A digest of the settings that shape a ranking: outputs with the same one were asked for alike."""
        valid_at = self.prefer.valid_at and self.prefer.valid_at.isoformat()
        return digest([self.k, self.pool, self.hybrid, self.rerank, self.threshold, self.rrf_k, self.prefer.kind,
                       self.prefer.language, valid_at])


class Channel(NamedTuple):
    """What one index recalled: the best first, or a note that says why there is nothing."""

    name: str
    hits: tuple[tuple[str, float], ...]
    note: str | None = None              # None exactly when there are hits
    ran: bool = True


class RerankParts(NamedTuple):
    """What the reranker and the support are made of, each part in [0, 1]."""

    body_coverage: float     # share of the query's known terms that stand in the text
    title_coverage: float    # ... in the title
    phrase: bool             # the whole query stands in title or text
    score: float             # the weighted sum by which the reranker sorts
    support: float           # how far the document can support an answer; the threshold is for this


class Candidate(NamedTuple):
    """A document on its way through the stages. `ranks` and `scores` hold the channels that recalled it."""

    doc_id: str
    score: float                         # of the fusion, or of the one channel that ran
    ranks: Mapping[str, int]             # channel -> rank from 1
    scores: Mapping[str, float]          # channel -> its own score
    unmet: int = 0                       # soft filters that the document does not meet; fewer stand first
    parts: RerankParts | None = None     # known once the candidate has been looked at closely
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
    title: str
    citation: Citation | None            # None only for a document without text
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
    funnel: dict                         # stage -> how many documents left it
    dropped: dict                        # rule -> how many candidates the gate dropped
    decision: str                        # "answer" or "refuse"
    reason: str | None                   # why it refused
    best_support: float
    answer: str | None                   # the quote of the first result
    results: tuple[Hit, ...]             # empty when refused
    closest: tuple[Hit, ...] = ()  # what came nearest, when refused
    tombstones: tuple[Tombstone, ...] = ()
    receipt: dict | None = None          # digests of what the outcome depends on, and the clock

    @property
    def refused(self) -> bool:
        """Whether the lab would not answer."""
        return self.decision == "refuse"
