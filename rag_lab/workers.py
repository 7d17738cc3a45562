"""How do several processes share a stream of work, so that the results come in the order of the stream?

A few batches are on their way at any time, so memory stays bounded however long the stream is. With one worker no process is
started.
"""
import itertools
from collections import deque
from typing import Callable, Iterable, Iterator, TypeVar

from .errors import whole_number

BATCH = 256   # pieces of work that travel together

Work, Result = TypeVar("Work"), TypeVar("Result")


def in_order(work: Callable[[Work], Result], stream: Iterable[Work], workers: int = 1) -> Iterator[Result]:
    """`work` of each piece of the stream, in its order. `work` and the pieces must be picklable for more than one worker.

    >>> list(in_order(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    if whole_number("workers", workers, 1) == 1:
        yield from map(work, stream)
        return
    import signal   # these here, for one worker does without
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context
    pieces, waiting = iter(stream), deque()
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=signal.signal,
                             initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:   # Ctrl-C is for the process that asked
        try:
            while batch := list(itertools.islice(pieces, BATCH)):
                waiting.append(pool.submit(_all, work, batch))
                if len(waiting) > 2 * workers:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def _all(work, batch):
    return [work(piece) for piece in batch]
