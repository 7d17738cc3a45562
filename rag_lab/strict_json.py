"""Which JSON is read, and which is refused? One object, with no repeated key, no NaN and no lone surrogate."""
import json

from .files import has_surrogate


def parse_json_object(line: str) -> dict:
    """One JSON object, read strictly; `ValueError` says which rule it breaks."""
    try:
        value = json.loads(line, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("it nests too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    if has_surrogate(json.dumps(value, ensure_ascii=False)):
        raise ValueError("it holds a lone surrogate (\\ud800 to \\udfff), which no UTF-8 file can hold")
    return value


def _unique_keys(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"key {twice!r} stands twice")
    return found


def _no_constant(name):
    raise ValueError(f"{name} is not a number that JSON has")
