"""Several processes, one order: the results of one process, its faults too, and no process left at the end."""
import os
import subprocess
import sys
import time

import pytest
from support import ROOT

from rag_lab.errors import DataError, Fault, LabError, UsageError
from rag_lab.workers import in_order


def double(number: int) -> int:
    return 2 * number


def picky(number: int) -> int:
    if number == 5:
        raise DataError([Fault("f", 5, "is five", "write six")])
    return number


def vanish(number: int) -> int:
    os._exit(3)


def taken(stream) -> tuple[list, str]:
    """(results until a fault, the fault)."""
    results = []
    try:
        for result in stream:
            results.append(result)
    except LabError as error:
        return results, str(error)
    return results, ""


@pytest.mark.parametrize("workers, batch, size", [(1, 4, 10), (2, 4, 10), (2, 1, 3), (3, 2, 12), (3, 4, 4), (2, 4, 0)])
def test_the_results_stand_in_the_order_of_the_stream(workers, batch, size):
    assert list(in_order(double, iter(range(size)), workers, batch)) == [2 * number for number in range(size)]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_fault_comes_in_its_place_after_the_results_before_it(workers):
    assert taken(in_order(picky, range(20), workers, 2)) == (
        [0, 1, 2, 3, 4], "1 fault in the data:\nf:5: is five; write six")


def test_a_worker_that_dies_is_told():
    results, fault = taken(in_order(vanish, range(4), 2, 1))
    assert results == [] and "a worker ended" in fault


@pytest.mark.parametrize("workers", [0, -1, True, 2.0])
def test_a_number_of_workers_below_one_is_refused(workers):
    with pytest.raises(UsageError, match="workers is"):
        list(in_order(double, range(3), workers))


def test_no_more_is_read_ahead_than_the_workers_have_in_hand():
    read = []

    def stream():
        for number in range(100):
            read.append(number)
            yield number

    results = in_order(double, stream(), 2, 5)
    assert next(results) == 0 and len(read) <= 3 * 5   # one batch each, and the next of the first
    results.close()


ORPHANS = """
import os, sys, time
from rag_lab.workers import in_order

def slow(number):
    print(os.getpid(), flush=True)
    time.sleep(0.2)
    return number

if __name__ == "__main__":
    list(in_order(slow, range(1000), 2, 1))
"""


@pytest.mark.skipif(os.name != "posix", reason="there are no such signals here")
def test_workers_end_when_the_process_that_started_them_is_killed(tmp_path):
    script = tmp_path / "orphans.py"
    script.write_text(ORPHANS, encoding="utf-8")
    with subprocess.Popen([sys.executable, str(script)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          env={**os.environ, "PYTHONPATH": ROOT}) as process:
        workers = {int(process.stdout.readline()) for _ in range(4)}
        process.kill()
        process.stdout.read()   # ends when the last process that can write has ended
    assert 1 <= len(workers) <= 2 and not any(map(alive, workers))


def alive(pid: int) -> bool:
    """Whether a process is still there after a little while."""
    for _ in range(50):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True
