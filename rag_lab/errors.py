"""What can go wrong with what the user gave, and how is it told?

Two kinds only: the command or call was wrong (`UsageError`), or the data was (`DataError`). Both carry a message that
names the value, the rule and the remedy. Faults of the program itself are ordinary Python exceptions and are not caught.
"""
from typing import NamedTuple


class LabError(Exception):
    """Any fault that the user can mend; `exit_code` is what the command line returns for it."""

    exit_code = 1


class UsageError(LabError):
    """A flag, an argument or a call is wrong. Exit code 2."""

    exit_code = 2


class Fault(NamedTuple):
    """One fault of one file: where it stands, which rule it breaks, what mends it."""

    path: str
    line: int | None  # counted from 1; None where the fault has no line (an empty file, undecodable bytes)
    rule: str
    remedy: str

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.rule}; {self.remedy}"


class DataError(LabError):
    """Every fault found in the data at once, in the order of path and line. Exit code 1."""

    exit_code = 1

    def __init__(self, faults):
        self.faults = tuple(sorted(set(faults), key=lambda fault: (fault.path, fault.line or 0, fault.rule)))
        count = len(self.faults)
        heading = "1 fault in the data" if count == 1 else f"{count} faults in the data"
        super().__init__("\n".join([f"{heading}:", *map(str, self.faults)]))

    def __reduce__(self):
        return DataError, (self.faults,)   # so that one process can hand it to another


def whole_number(name: str, value, least: int) -> int:
    """`value` if it is a whole number of at least `least`; else a `UsageError` that names it. A bool is no number."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name} is {value!r}; it must be a whole number of at least {least}")
    return value


def unit_interval(name: str, value) -> float:
    """`value` as a float if it lies in [0, 1]; else a `UsageError` that names it (NaN is refused too)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise UsageError(f"{name} is {value!r}; it must be a number between 0 and 1")
    return float(value)
