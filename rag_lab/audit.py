"""What became of the citations that somebody kept, now that their documents may have been edited?

After an edit a citation is either found again or given up, never quietly moved.
"""
from typing import Mapping, NamedTuple, Sequence

from .citation import verify
from .errors import DataError, Fault
from .model import Citation, Document


class Anchor(NamedTuple):
    """What became of a citation after an edit."""

    status: str                  # "unchanged", "moved", "ambiguous" or "invalid"; the last two want a person's review
    citation: Citation | None    # for the edited version; None for "ambiguous" and "invalid"
    matches: tuple[int, ...]     # where the quote stands in the edited text


def reanchor(citation: Citation, edited: Document) -> Anchor:
    """Look for the quote in an edited version of its document.

    It stands once: "unchanged" or "moved", with the new offsets and version. Several times: "ambiguous". Not at all, or in
    another document: "invalid". The old citation is left as it is; whoever holds it decides whether to take the new one.
    """
    if citation.doc_id != edited.doc_id or not citation.quote:
        return Anchor("invalid", None, ())
    matches = _occurrences(citation.quote, edited.text)
    if len(matches) != 1:
        return Anchor("ambiguous" if matches else "invalid", None, matches)
    start = matches[0]
    found = citation._replace(title=edited.title, version=edited.version, start=start, end=start + len(citation.quote))
    return Anchor("unchanged" if start == citation.start else "moved", found, matches)


def _occurrences(quote: str, text: str) -> tuple[int, ...]:
    """Every place where `quote` begins in `text`, overlapping ones too."""
    found, at = [], text.find(quote)
    while at >= 0:
        found.append(at)
        at = text.find(quote, at + 1)
    return tuple(found)


# --- citations in a file ------------------------------------------------------------------------------------------------

def read_citations(value: dict, path: str) -> list[Citation]:
    """The citations in a kept JSON document: one, or the results of a search report. `DataError` for anything else."""
    rows = [row.get("citation") for row in value["results"]] if _is_report(value) else [value]
    faults = [Fault(path, None, f"entry {number} is no citation: {why}", "keep it as the lab printed it")
              for number, row in enumerate(rows, start=1) if row is not None and (why := _not_a_citation(row))]
    if faults:
        raise DataError(faults)
    return [Citation(**row) for row in rows if row is not None]


def _is_report(value: dict) -> bool:
    rows = value.get("results")
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)


def _not_a_citation(row) -> str | None:
    if not isinstance(row, dict) or sorted(row) != sorted(Citation._fields):
        return f"its keys must be {', '.join(Citation._fields)}"
    for name, kind in Citation.__annotations__.items():
        if not isinstance(row[name], kind) or isinstance(row[name], bool):
            return f"{name} is {row[name]!r}"
    return None


def audit(citations: Sequence[Citation], documents: Mapping[str, Document]) -> list[dict]:
    """What became of each kept citation: "holds", "stale" with what is broken, or "missing"; and where its quote stands now.

    A document that the caller may not see is missing like one that never was. Nothing is changed: a new place is only told.
    """
    return [_audited(citation, documents.get(citation.doc_id)) for citation in citations]


def _audited(citation: Citation, document: Document | None) -> dict:
    broken = verify(citation, document) if document else "id"
    anchor = reanchor(citation, document) if document else Anchor("invalid", None, ())
    found = [anchor.citation.start, anchor.citation.end] if anchor.citation else None
    return {"doc_id": citation.doc_id, "status": "holds" if broken is None else "stale" if document else "missing",
            "broken": broken, "anchor": anchor.status, "found_at": found,
            "version": document.version if document else None}
