"""Several processes give what one gives, in its order, however long the stream is; what goes wrong in one is told."""
import itertools
import operator

import pytest

from rag_lab import UsageError
from rag_lab.workers import BATCH, in_order


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("count", [0, 1, BATCH, 3 * BATCH + 1])
def test_results_come_in_the_order_of_the_stream(workers, count):
    assert list(in_order(operator.neg, range(count), workers)) == [-number for number in range(count)]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stream_without_end_is_read_no_further_than_needed(workers):
    numbers = in_order(operator.neg, itertools.count(), workers)
    assert list(itertools.islice(numbers, 3)) == [0, -1, -2]
    numbers.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_worker_is_raised_here(workers):
    with pytest.raises(ZeroDivisionError):
        list(in_order(_reciprocal, [1, 0], workers))


def _reciprocal(number: int) -> float:
    return 1 / number


@pytest.mark.parametrize("workers", [0, True, "2"])
def test_a_number_of_workers_that_is_none_is_refused(workers):
    with pytest.raises(UsageError, match="workers is"):
        list(in_order(abs, [1], workers))
