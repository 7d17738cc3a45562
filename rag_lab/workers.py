"""How do several processes share a stream of work, so that the results come in the order of the stream?

A worker has one batch at a time, and the next one as soon as its results are taken. They are taken in turn, which keeps the
order, and memory stays bounded however long the stream is. A worker ends when the pipe to it does, so none outlives the
process that started it, whatever ends that. With one worker no process is started.
"""
import contextlib
import itertools
import signal
from collections import deque
from typing import Callable, Iterable, Iterator, TypeVar

from .errors import LabError, whole_number

BATCH = 256   # pieces of work that travel together

Work, Result = TypeVar("Work"), TypeVar("Result")


def in_order(work: Callable[[Work], Result], stream: Iterable[Work], workers: int = 1,
             batch: int = BATCH) -> Iterator[Result]:
    """`work` of each piece of the stream, in its order; what `work` raises comes in its place, after all results before it.

    For more than one worker `work`, the pieces and the results must be picklable; each worker gets a copy of `work` once.
    Raises `LabError` if a worker ends before its work is done.

    >>> list(in_order(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    if whole_number("workers", workers, 1) == 1:
        yield from map(work, stream)
        return
    pieces = iter(stream)
    batches = iter(lambda: list(itertools.islice(pieces, batch)), [])
    with contextlib.ExitStack() as started:
        busy = deque()
        for one in itertools.islice(batches, workers):   # no more processes than batches
            busy.append(started.enter_context(_worker(work)))
            busy[-1].send(one)
        while busy:
            pipe = busy.popleft()
            results, fault = _received(pipe)
            if (one := next(batches, None)) is not None:
                pipe.send(one)
                busy.append(pipe)
            yield from results
            if fault:
                raise fault


@contextlib.contextmanager
def _worker(work: Callable) -> Iterator["Connection"]:
    """The pipe to a new process that does `work`; the process is ended at the end."""
    from multiprocessing import get_context   # here, for one worker does without
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_serve, args=(work, there))
    with _interrupts_held_back():
        process.start()
    there.close()
    try:
        yield here
    finally:
        here.close()
        process.terminate()
        process.join()


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """A process that starts in here never learns of an interrupt: it is for the one that started it."""
    if not hasattr(signal, "pthread_sigmask"):   # not on every system
        yield
        return
    from multiprocessing import resource_tracker
    resource_tracker.ensure_running()   # it starts a process too, and lets interrupts through afterwards
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _received(pipe: "Connection") -> tuple[list, Exception | None]:
    try:
        return pipe.recv()
    except (EOFError, ConnectionResetError) as error:
        raise LabError("a worker ended before its work was done, perhaps for want of memory; try fewer --workers") from error


def _serve(work: Callable, pipe: "Connection") -> None:
    """The life of a worker: batches in, (results, what ended them or None) out, until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            pipe.send(_results(work, pipe.recv()))


def _results(work: Callable, pieces: list) -> tuple[list, Exception | None]:
    results = []
    try:
        for piece in pieces:
            results.append(work(piece))
    except Exception as error:   # whatever it is, it is raised again where the results are taken
        return results, error
    return results, None
