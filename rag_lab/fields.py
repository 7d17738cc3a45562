"""What may stand in a field of a corpus, and what is wrong with a value that may not?

One reader per field: it returns the value or raises `BadField` with the rule and the remedy. Nothing is guessed: a
version number written as a number, a time without an offset, a role list that is a string are refused, since each of
them would decide who may read what.
"""
import math
import re
from datetime import datetime

from .files import has_surrogate
from .model import STATUSES, TRUST_LEVELS, Fact, Region, is_product_version


class BadField(ValueError):
    """A value that a field may not have."""

    def __init__(self, rule: str, remedy: str):
        super().__init__(rule)
        self.rule, self.remedy = rule, remedy


_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII)


def text(value) -> str:
    """A string that is not blank and can be written as UTF-8."""
    if not isinstance(value, str):
        raise BadField(f"{value!r} is not a string", "write it in quotes")
    if not value.strip():
        raise BadField(f"{value!r} is blank", "write a value or leave the field out")
    if has_surrogate(value):
        raise BadField(f"{value!r} holds a lone surrogate", "write the whole character")
    return value


def identifier(value) -> str:
    """An id: a string without white space or control characters, so that run files and flags can carry it."""
    text(value)
    if re.search(r"[\s\x00-\x1f\x7f]", value):
        raise BadField(f"{value!r} holds white space or a control character", "write the id without it")
    return value


def names(value) -> tuple[str, ...]:
    """A list of different names."""
    if not isinstance(value, list):
        raise BadField(f"{value!r} is not a list of names", 'write a list such as ["employee"]')
    found = tuple(text(name) for name in value)
    if len(set(found)) < len(found):
        raise BadField(f"{value!r} names one twice", "name each once")
    return found


def count(value) -> int:
    """A whole number from 1, such as the version of a document."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadField(f"{value!r} is not a whole number of at least 1", "write 1, 2, 3 and so on, without quotes")
    return value


def instant(value) -> datetime:
    """A moment: YYYY-MM-DDTHH:MM[:SS[.ffffff]] with Z or an offset such as +08:00; a date alone or a local time is none."""
    remedy = "write it as 2026-08-01T00:00:00+08:00 or with Z"
    if isinstance(value, str):
        if not _TIME.fullmatch(value):
            raise BadField(f"{value!r} is not a time with an offset from UTC", remedy)
        try:
            return datetime.fromisoformat(value)
        except ValueError as error:
            raise BadField(f"{value!r} is not a time ({error})", remedy) from error
    if not isinstance(value, datetime):
        raise BadField(f"{str(value)!r} is not a time with an offset from UTC", remedy)
    if value.tzinfo is None:
        raise BadField(f"{value.isoformat()} has no offset from UTC", remedy)
    return value


def product_version(value) -> str:
    """A product version: numbers joined by dots, as a string."""
    if not is_product_version(value):
        raise BadField(f"{value!r} is not a product version", 'write numbers and dots in quotes, such as "3.10"')
    return value


def version_key(version: str) -> tuple[int, ...]:
    """A product version as numbers, so that it compares as versions do; zeros at the end say nothing.

    >>> version_key("3.10") > version_key("3.2"), version_key("3.0") == version_key("3")
    (True, True)
    """
    numbers = [int(part) for part in version.split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def one_of(*allowed: str):
    """A reader for a field that has only these values."""
    def read(value) -> str:
        """The value, if it is one of them."""
        if value not in allowed:
            raise BadField(f"{value!r} is not one of {', '.join(allowed)}", "write one of them")
        return value
    return read


def facts(value) -> tuple[Fact, ...]:
    """[[facts]] tables with id and quote, ids different."""
    remedy = 'write each fact as a [[facts]] table with id = "..." and quote = "..."'
    if not isinstance(value, list) or not all(isinstance(row, dict) and set(row) == {"id", "quote"} for row in value):
        raise BadField("facts is not a list of tables with exactly id and quote", remedy)
    found = tuple(Fact(identifier(row["id"]), text(row["quote"])) for row in value)
    ids = [fact.fact_id for fact in found]
    for fact_id in ids:
        if ids.count(fact_id) > 1:
            raise BadField(f"fact id {fact_id!r} stands twice", "give each fact its own id")
    return found


def roles(value) -> tuple[str, ...]:
    """Who may read: a list of different names, at least one of them."""
    found = names(value)
    if not found:
        raise BadField("it is empty, so nobody could read it", "name one, or withdraw the document with status")
    return found


def regions(value) -> tuple[Region, ...]:
    """[[regions]] tables with heading and roles."""
    rows = value if isinstance(value, list) else [None]
    if not all(isinstance(row, dict) and set(row) == {"heading", "roles"} for row in rows):
        raise BadField("regions is not a list of tables with exactly heading and roles",
                       'write each region as a [[regions]] table with heading = "..." and roles = ["..."]')
    return tuple(Region(text(row["heading"]), roles(row["roles"])) for row in rows)


def hex_digest(value) -> str:
    """The first 16 hex digits of a SHA-256."""
    if not isinstance(value, str) or not re.fullmatch(r"[0-9a-f]{16}", value):
        raise BadField(f"{value!r} is not 16 lower-case hex digits", "write the digest of the text, or leave it out")
    return value


def number(least: float, most: float = math.inf):
    """A reader for a field that holds a finite number in a range."""
    def read(value) -> float:
        """The value, if it is such a number."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most \
                or math.isinf(value):
            raise BadField(f"{value!r} is not a number from {least} to {most}", "write a number in that range")
        return value
    return read


GOVERNANCE = {
    "version": count, "tenant": text, "roles": roles, "principals": roles, "status": one_of(*STATUSES), "valid_from": instant,
    "valid_to": instant, "applies_from": product_version, "applies_to": product_version, "trust": one_of(*TRUST_LEVELS),
    "kind": text, "topic": text, "language": text, "facts": facts,
}
MARKDOWN_HEAD = {"id": identifier, "title": text, **GOVERNANCE, "regions": regions, "digest": hex_digest}
DEFAULTS = {name: GOVERNANCE[name] for name in ("tenant", "roles", "status", "trust", "kind", "language")}
