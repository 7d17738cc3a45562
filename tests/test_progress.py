"""Progress: what a line says, and that it is seen on a terminal only and gone at the end."""
import io

import pytest

from rag_lab.progress import duration, line_of, shown_on


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("documents, seconds, share, line", [
    (0, 0.0, 0.0, "rag_lab: 0 documents"),
    (7, 0.5, 0.5, "rag_lab: 7 documents"),                                        # too soon to tell a rate
    (3000, 2.0, 0.0, "rag_lab: 3,000 documents, 1,500 a second"),                 # nothing known of the rest
    (3000, 2.0, 0.25, "rag_lab: 3,000 documents, 1,500 a second, 6 s left"),      # a quarter took 2 s: three more
    (90_000, 90.0, 0.6, "rag_lab: 90,000 documents, 1,000 a second, 1 min 0 s left"),
    (12, 3.0, 1.0, "rag_lab: 12 documents, all read; writing the index")])
def test_a_line_tells_documents_rate_and_time_left(documents, seconds, share, line):
    assert line_of(documents, seconds, share) == line


@pytest.mark.parametrize("seconds, words", [
    (0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (61, "1 min 1 s"), (3599.4, "59 min 59 s"), (3600, "1 h 0 min"),
    (7380, "2 h 3 min")])
def test_seconds_as_a_person_says_them(seconds, words):
    assert duration(seconds) == words


def test_each_line_takes_the_place_of_the_one_before_and_the_last_is_wiped_off():
    terminal = Terminal()
    with shown_on(terminal) as progress:
        progress.show("a longer line")
        progress.show("a line")
    assert terminal.getvalue() == "\ra longer line" + "\ra line       " + "\r      \r"


def test_it_is_wiped_off_when_the_work_fails_too():
    terminal = Terminal()
    with pytest.raises(KeyboardInterrupt), shown_on(terminal) as progress:
        progress.done(1)
        raise KeyboardInterrupt
    assert terminal.getvalue().startswith("\rrag_lab: 1 documents") and terminal.getvalue().endswith(" \r")


def test_when_all_is_read_it_says_so_at_once():
    terminal = Terminal()
    with shown_on(terminal) as progress:
        progress.done(1)
        progress.done(2)   # within the pause: not worth a line
        progress.read(0.5)
        progress.read(1.0)
        shown = terminal.getvalue()
    assert shown == "\rrag_lab: 1 documents\rrag_lab: 2 documents, all read; writing the index"


@pytest.mark.parametrize("stream", [None, io.StringIO()], ids=["none", "pipe"])
def test_nothing_is_shown_where_nobody_looks(stream):
    with shown_on(stream) as progress:
        progress.done(1)
        progress.read(1.0)
    assert stream is None or stream.getvalue() == ""
