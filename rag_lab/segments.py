"""How do counted units become a segment of an index, and how do segments change?

A segment holds units, numbered by size and id, and the posting lists over these numbers. Units come in any order and lie in
memory, later in runs on disk, which are merged term by term when the segment is written. What has left the index is taken
out of the lists, and segments that are close in size are merged.
"""
import functools
import itertools
from array import array
from collections import defaultdict
from typing import Callable, Container, Iterable, Iterator, Sequence

from .numbers import pack, pack_rising, pack_runs, unpack, unpack_rising
from .store import COLUMNS, MASKS, Store, posting_label

BYTES_OF_POSTING = 16    # what one posting takes in memory until then, with its share of everything else
MERGE = 2                # a segment is merged with the one before it unless that is more than so many times as large


class Segment:
    """A segment in the making: units in the order in which they arrived, and the posting lists over that order."""

    def __init__(self, store: Store, channel: str, by_size: bool, memory: int):
        """`memory`: bytes for the posting lists, beyond which they go to disk."""
        self._store, self.channel, self._by_size, self._memory = store, channel, by_size, memory
        self.ids: list[str] = []
        self._columns = array("Q"), array("I"), array("I"), array("I")   # the `COLUMNS`, by arrival
        self._lists: dict[str, array] = defaultdict(functools.partial(array, "I"))
        self._held = self._runs = 0                                      # postings in memory, runs on disk

    def add(self, unit_id: str, size: int, document: int, ordinal: int, group: int, terms: Iterable[str]) -> None:
        """Take in a unit: `document` and `group`, its rights class, by number, `terms` with repeats."""
        arrival, lists = len(self.ids), self._lists
        self.ids.append(unit_id)
        for column, value in zip(self._columns, (size, document, ordinal, group)):
            column.append(value)
        before = self._held
        for term in terms:
            lists[term].append(arrival)
            self._held += 1
        if self._held > before:
            self._spill_if_full()

    def extend(self, term: str, arrivals: Sequence[int]) -> None:
        """Say of units that were taken in without terms that they hold one."""
        self._lists[term].extend(arrivals)
        self._held += len(arrivals)
        self._spill_if_full()

    def _spill_if_full(self) -> None:
        if self._held * BYTES_OF_POSTING > self._memory:
            self._spill()

    def _spill(self) -> None:
        """Write the posting lists that are in memory as a run."""
        rows = ((self.channel, term, self._runs, pack(units)) for term, units in sorted(self._lists.items()))
        self._store.connection.executemany("INSERT INTO runs.runs VALUES (?, ?, ?, ?)", rows)
        self._lists.clear()
        self._held, self._runs = 0, self._runs + 1

    def _all_lists(self) -> Iterator[tuple[str, array]]:
        """(term, arrivals) in the order of terms."""
        if not self._runs:
            yield from sorted(self._lists.items())
            return
        self._spill()
        rows = self._store.connection.execute(
            "SELECT term, units FROM runs.runs WHERE channel = ? ORDER BY term, run", (self.channel,))
        for term, runs in itertools.groupby(rows, key=lambda row: row[0]):
            units = array("I")
            for _, packed in runs:
                units += unpack(packed)
            yield term, units

    def write(self, number: int) -> None:
        """Write it as a segment of that number: units by size and id, posting lists over that order."""
        order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
        if self._by_size:
            order.sort(key=self._columns[0].__getitem__)   # a stable sort: the ids stay in order within a size
        place = array("I", bytes(4 * len(order)))          # arrival -> number
        for at, arrival in enumerate(order):
            place[arrival] = at
        columns = [array(column.typecode, map(column.__getitem__, order)) for column in self._columns]
        write_columns(self._store, self.channel, number, columns)
        masked = mask_of(columns[-1])
        for term, arrivals in self._all_lists():
            write_list(self._store, self.channel, term, number, sorted(map(place.__getitem__, arrivals)), masked)
        self._store.connection.execute("DELETE FROM runs.runs WHERE channel = ?", (self.channel,))


def write_columns(store: Store, channel: str, segment: int, columns: Iterable[array]) -> None:
    """Write the `COLUMNS` of a segment."""
    packed = [pack_runs(column, f"{channel} {segment} {name}") for name, column in zip(COLUMNS, columns)]
    store.connection.execute("INSERT OR REPLACE INTO segments VALUES (?, ?, ?, ?, ?, ?)", (channel, segment, *packed))


def write_list(store: Store, channel: str, term: str, segment: int, units: Sequence[int], masked) -> None:
    """Write the posting list of a term in a segment; an empty one is not kept. `masked`: what `mask_of` gave."""
    if units:
        classes = masked(units)
        packed = pack_rising(units, posting_label(channel, term, segment, classes))
        store.connection.execute("INSERT OR REPLACE INTO postings VALUES (?, ?, ?, ?, ?)",
                                 (channel, term, segment, classes, packed))
    else:
        store.connection.execute("DELETE FROM postings WHERE channel = ? AND term = ? AND segment = ?",
                                 (channel, term, segment))


def mask_of(classes: Sequence[int]) -> Callable[[Iterable[int]], int]:
    """(units) -> the set of their rights classes as a mask; those from `MASKS` on share its highest bit.

    >>> mask_of([1, 3, 700])([0, 1, 1]) == 0b1010, mask_of([1, 3, 700])([2]) == 1 << MASKS
    (True, True)
    """
    bits = bytes(min(one, MASKS) for one in classes)
    if bits == bits[:1] * len(bits):   # as in most corpora
        return lambda units: 1 << bits[0]
    return lambda units: sum(1 << one for one in dict.fromkeys(map(bits.__getitem__, units)))


# --- segments that are there ----------------------------------------------------------------------------------------------

def purge(store: Store, channel: str, gone: Container[int], terms: Sequence[str]) -> None:
    """Take the units of documents that are `gone`, by number, out of all segments. `terms`: those that they hold."""
    columns = [store.column(channel, name) for name in COLUMNS]
    for (segment, sizes), *others in zip(*columns):
        numbers = [column for _, column in others]
        lost = {at: None for at, document in enumerate(numbers[0]) if document in gone}
        if lost:
            for column, at in itertools.product(numbers, lost):
                column[at] = 0
            write_columns(store, channel, segment, [sizes, *numbers])
            masked = mask_of(numbers[-1])
            for term in terms:
                for units in [units for number, units in store.lists(channel, term) if number == segment]:
                    write_list(store, channel, term, segment, [unit for unit in units if unit not in lost], masked)


def merge(store: Store, channel: str, by_size: bool, memory: int) -> None:
    """Merge the last two segments as long as they are close in size."""
    while len(segments := store.column(channel, "documents")) > 1:
        (first, older), (second, newer) = segments[-2:]
        if len(older) > MERGE * len(newer) and any(newer):
            return
        merged = Segment(store, channel, by_size, memory)
        arrivals = {segment: _move(store, merged, segment) for segment in (first, second)}
        rows = store.connection.execute("SELECT term, segment, units, classes FROM postings "
                                        "WHERE channel = ? AND segment >= ? ORDER BY term, segment", (channel, first))
        for term, segment, packed, classes in rows:
            units = unpack_rising(packed, posting_label(channel, term, segment, classes))
            merged.extend(term, list(map(arrivals[segment].__getitem__, units)))
        for table in ("postings", "segments"):
            store.connection.execute(f"DELETE FROM {table} WHERE channel = ? AND segment >= ?", (channel, first))
        merged.write(first)


def _move(store: Store, merged: Segment, segment: int) -> array:
    """Put the units of a segment into another; unit -> its arrival there."""
    columns = [dict(store.column(merged.channel, name))[segment] for name in COLUMNS]
    ids = store.unit_ids(columns[1], columns[2])
    arrivals = array("I", bytes(4 * len(ids)))
    for at, (unit_id, row) in enumerate(zip(ids, zip(*columns))):
        if row[1]:   # it has not left the index
            arrivals[at] = len(merged.ids)
            merged.add(unit_id, *row, ())
    return arrivals
