"""rag_lab: which evidence may answer a query, where exactly does it stand, and where was it lost when it was not found?

A query passes these stages, in this order (`rag_lab.retrieve`):

     1 scope     who asks, as of when, for which product version: from the caller, never from the query text
     2 live      the catalog decides which documents are eligible
     3 recall    each channel ranks chunks of live documents only
     4 fuse      reciprocal rank fusion over the channels
     5 soften    documents that miss a soft filter stand after the rest
     6 rerank    a dearer look at few candidates
     7 gate      the catalog is asked again; stale candidates are dropped and counted
     8 cut       the best k
     9 cite      a verbatim span for each, checked before it leaves
    10 decide    answer or refuse, with the reason
    11 measure   over many judged queries: `evaluation`

    >>> from rag_lab import build_lab
    >>> lab = build_lab()
    >>> outcome = lab.search("P0 故障多久响应", k=3)
    >>> outcome.results[0].candidate.doc_id, round(outcome.results[0].candidate.score, 4)
    ('oncall-sev', 11.9923)
"""
from .errors import DataError, LabError, UsageError
from .lab import Lab, build_lab
from .model import Citation, Document, Outcome, Preference, Scope, Settings, Tombstone

__version__ = "0.1.0"

__all__ = ["Citation", "DataError", "Document", "Lab", "LabError", "Outcome", "Preference", "Scope", "Settings", "Tombstone",
           "UsageError", "build_lab", "open_lab"]


def __getattr__(name: str):
    if name != "open_lab":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .stored import open_lab   # when it is asked for: SQLite takes its time to load, and few programs need it
    return open_lab
