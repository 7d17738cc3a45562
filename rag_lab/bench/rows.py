"""What is printed of an engine? Its times, and the ratios of its times to ours beside them: above 1, the lab is faster.

Every row has the same keys; what was not measured is null.
"""
from typing import Sequence

from .agreement import agreement
from .measure import Answers, Measured, percentile

MEASURED, NOT_INSTALLED, NOT_AVAILABLE, LEFT_OUT, FAILED = "measured", "not installed", "not available", "left out", "failed"


def row(found: Measured, ours: Measured, same_scores: bool, note: str | None, units: int) -> dict:
    """The row of an engine; `ours` is the lab's own index of the same formula, and may be the engine itself."""
    times, our_times = times_block(found.answers), times_block(ours.answers)
    ratios = {"build": ratio(found.build_seconds, ours.build_seconds),
              **{name: ratio(times["milliseconds"][name], our_times["milliseconds"][name]) for name in ("median", "p95")}}
    own = found is ours
    return {"engine": found.engine, "formula": found.formula, "version": found.version, "status": MEASURED, "note": note,
            "build_seconds": round(found.build_seconds, 4), "units_per_second": rate(units, found.build_seconds),
            "bytes": found.bytes,
            "open_seconds": None if found.open_seconds is None else round(found.open_seconds, 6), **times,
            "ratios": None if own else ratios,
            "agreement": None if own else agreement(ours.answers.found, found.answers.found, same_scores)}


def missing(engine: str, formula: str, status: str, note: str) -> dict:
    """The row of an engine that was not measured; `note` says why."""
    empty = ("build_seconds", "units_per_second", "bytes", "open_seconds", "rounds", "milliseconds", "first_milliseconds",
             "ratios", "agreement")
    return {"engine": engine, "formula": formula, "version": None, "status": status, "note": note, **dict.fromkeys(empty)}


def times_block(answers: Answers) -> dict:
    """{rounds, milliseconds, first_milliseconds}: the least time of each query, and that of the first round."""
    return {"rounds": answers.rounds, "milliseconds": _spread(answers.least), "first_milliseconds": _spread(answers.first)}


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": round(percentile(values, 0.5), 5), "p95": round(percentile(values, 0.95), 5)}


def ratio(theirs: float, ours: float) -> float | None:
    """Theirs / ours; None where ours is too short for the clock."""
    return round(theirs / ours, 2) if ours else None


def rate(units: int, seconds: float) -> int | None:
    """Units a second; None where the time is too short for the clock."""
    return round(units / seconds) if seconds else None


def line(printed: dict) -> str:
    """A row as a line of talk."""
    name = f"{printed['engine']:<10} {printed['formula']:<7}"
    if printed["status"] != MEASURED:
        return f"{name} {printed['status']}: {printed['note']}"
    times, ratios, found = printed["milliseconds"], printed["ratios"], printed["agreement"]
    talk = f"{name} build {printed['build_seconds']:8.2f} s   median {times['median']:9.4f} ms   p95 {times['p95']:9.4f} ms"
    if ratios is not None:
        talk += f"   theirs/ours {ratios['build']} {ratios['median']} {ratios['p95']}   overlap {found['overlap']}"
        if found["equal_scores"] is not None:
            talk += f"   equal scores: {found['equal_scores']} of {found['queries']}"
    return talk
