"""May an answer that was worked out before be given again? Only to the same question of the same scope on the same catalog.

The key holds the query, the whole scope, all settings, what the indexes are made of, and the state of the catalog as this scope
sees it: a document that is replaced, deleted or given other readers makes every older entry unreachable, and what happens to
hidden documents cannot be told from hits and misses. A hit passes the gate once more before it is given, so that an entry
which should not be reachable is dropped and counted rather than shown.
"""
import copy
from collections import OrderedDict
from typing import Callable

from .catalog import Catalog
from .errors import whole_number
from .files import digest
from .model import Outcome, Scope, Settings

POLICY = 1   # raised when the rules of the catalog change their meaning


class ResultCache:
    """The last `size` outcomes, the least recently used one given up first."""

    def __init__(self, size: int = 256):
        self.size = whole_number("cache size", size, 1)
        self.counts = {"hits": 0, "misses": 0, "dropped": 0}
        self._entries: OrderedDict[str, Outcome] = OrderedDict()

    def get(self, key: str, scope: Scope, catalog: Catalog, work: Callable[[], Outcome]) -> Outcome:
        """The outcome under a key if it still passes the gate, else what `work` returns, kept under the key.

        What is given is a copy: its reader cannot change what the next one gets.
        """
        found = self._entries.pop(key, None)
        if found is not None and not passes(found, scope, catalog):
            self.counts["dropped"] += 1
            found = None
        self.counts["hits" if found is not None else "misses"] += 1
        outcome = work() if found is None else found
        self._entries[key] = outcome
        if len(self._entries) > self.size:
            self._entries.popitem(last=False)
        return copy.deepcopy(outcome)

    def __len__(self) -> int:
        return len(self._entries)


def key_of(query: str, scope: Scope, settings: Settings, ingredients: list, catalog: Catalog) -> str:
    """The key of one request: everything that its outcome depends on."""
    seen = [catalog.clock, catalog.eligible(scope).digest, catalog.tombstones_of(scope)]
    return digest([query, scope.digest, settings.digest, settings.show_context, settings.explain, ingredients, POLICY, seen],
                  64)


def passes(outcome: Outcome, scope: Scope, catalog: Catalog) -> bool:
    """Whether an outcome was worked out for this scope, and all that it shows may be shown now, in the version that it shows."""
    if outcome.scope != scope:
        return False
    for hit in (*outcome.results, *outcome.closest):
        document = catalog.current(hit.candidate.doc_id, scope)
        if document is None or document.content_digest != hit.chunk.document_digest:
            return False
    return True
