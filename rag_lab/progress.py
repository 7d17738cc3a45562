"""How far has a long command come, and how long will it take? One line on a terminal, written over, gone at the end.

This is talk for whoever waits. Nothing that the lab prints as data depends on it, so it may look at the clock.
"""
import contextlib
import time
from typing import Iterator, TextIO

PAUSE = 0.2   # seconds between two lines
SOON = 1.0    # seconds from which on a rate can be told


@contextlib.contextmanager
def shown_on(stream: TextIO | None) -> Iterator["Progress"]:
    """The progress of a command on a stream, wiped off at the end; nothing is shown if that is None or no terminal."""
    progress = Progress(stream if stream is not None and stream.isatty() else None)
    try:
        yield progress
    finally:
        progress.show("")


class Progress:
    """What was told of a command that handles documents, and the line that is on the terminal."""

    def __init__(self, stream: TextIO | None):
        self._stream, self._line = stream, ""
        self._begun, self._shown = time.monotonic(), float("-inf")
        self._documents, self._share = 0, 0.0

    def read(self, share: float) -> None:
        """Take note of the share of the corpus that has been read, from 0 to 1."""
        self._share = share
        if share == 1:
            self._refresh()

    def done(self, documents: int) -> None:
        """Take note of the number of documents that are done."""
        self._documents = documents
        if time.monotonic() - self._shown >= PAUSE:
            self._refresh()

    def _refresh(self) -> None:
        self._shown = time.monotonic()
        self.show(line_of(self._documents, self._shown - self._begun, self._share))

    def show(self, line: str) -> None:
        """Put a line in the place of the one before it."""
        if self._stream is not None and line != self._line:
            blank = " " * (len(self._line) - len(line))
            self._stream.write(f"\r{line}{blank}" + ("" if line else "\r"))
            self._stream.flush()
            self._line = line


def line_of(documents: int, seconds: float, share: float) -> str:
    """Documents done, their rate, and the time left if what is still to be read takes as long as what was.

    >>> line_of(3000, 2.0, 0.25)
    'rag_lab: 3,000 documents, 1,500 a second, 6 s left'
    """
    parts = [f"rag_lab: {documents:,} documents"]
    if share == 1:
        return f"{parts[0]}, all read; writing the index"
    if seconds >= SOON:
        parts.append(f"{documents / seconds:,.0f} a second")
        if share:
            parts.append(f"{duration(seconds * (1 - share) / share)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Seconds as a person says them.

    >>> duration(41.4), duration(200), duration(3900)
    ('41 s', '3 min 20 s', '1 h 5 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
