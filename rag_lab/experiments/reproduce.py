"""Does the lab still print what the chapters print? Every printed value beside ours, equal or not.

The printed values are data (`CHAPTERS` names the files); this module runs the command or listing of each and reads the same
place.
"""
import json
import os

from .. import cli
from ..files import read_text
from . import chapter6, chapter8, chapter13, evidence_first

CHAPTERS = {"chapter6.json": chapter6.LISTINGS, "chapter8.json": chapter8.LISTINGS, "chapter13.json": chapter13.LISTINGS,
            "evidence_first.json": evidence_first.LISTINGS}


def reproduce() -> dict:
    """The reproduction table of all chapters, as a JSON document."""
    rows, not_pinned = [], []
    for file, listings in CHAPTERS.items():
        chapter = json.loads(read_text(os.path.join(os.path.dirname(__file__), file)))
        documents: dict[str, dict] = {}    # one run serves all values that it prints
        for entry in chapter["printed"]:
            key = json.dumps(entry.get("command") or entry["listing"])
            if key not in documents:
                documents[key] = (cli.run(entry["command"])[0] if "command" in entry
                                  else listings[entry["listing"]]())
            rows.append(_row(chapter["chapter"], entry, read(documents[key], entry["read"])))
        not_pinned += [{"chapter": chapter["chapter"], **entry} for entry in chapter["not_pinned"]]
    equal = sum(row["equal"] for row in rows)
    counts = {"printed": len(rows), "equal": equal, "different": len(rows) - equal}
    return {"schema": "rag_lab.reproduction/1", "counts": counts, "rows": rows, "not_pinned": not_pinned}


def _row(chapter: str, entry: dict, ours) -> dict:
    return {"chapter": chapter, "section": entry["section"], "command": entry.get("command"),
            "listing": entry.get("listing"), "read": entry["read"], "printed": entry["value"],
            "ours": ours, "equal": same(entry["value"], ours)}


def same(printed, ours) -> bool:
    """Equal in value, type and, for objects, order of keys: 1 is not true, 0.84 is not "0.84"."""
    return json.dumps(printed) == json.dumps(ours)


def read(document: dict, where: dict):
    """The value at a place: {path}, or {keys} of it as a list, or {each, keys} of each row of a list.

    `where_below` [key, bound] keeps the rows whose value is below a bound; `inside` reads `inside_keys` one level down.
    """
    if "path" in where:
        for step in where["path"]:
            document = document[step]
        return document
    if "each" not in where:
        return [document[key] for key in where["keys"]]
    rows = document[where["each"]]
    if "where_below" in where:
        key, bound = where["where_below"]
        rows = [row for row in rows if row[key] is not None and row[key] < bound]
    return [[row[key] for key in where["keys"]] + [row[where["inside"]][key] for key in where.get("inside_keys", ())]
            for row in rows]
