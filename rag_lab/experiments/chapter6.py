"""The two Python listings of chapter 6, told with this lab: a stale index, and a citation that an edit has moved."""
from ..lab import build_lab

DELETED = "billing-refund-faq"
EDIT = "【2026-10 修订】"    # twelve characters put in front of the text


def stale_index() -> dict[str, list[str]]:
    """Section 6.8.1: an index object kept from before a deletion still returns the document, the lab's own does not."""
    lab = build_lab()
    kept = lab.bm25
    lab.delete(DELETED)
    return {name: [doc_id for doc_id, _ in index.search("退款多久到账")]
            for name, index in (("old", kept), ("new", lab.bm25))}


def misaligned_citation() -> dict:
    """Section 6.8.2: after an edit the old offsets cut another text; the quote is found again where it now stands."""
    text = build_lab().docs[DELETED].text
    quote, edited = text[0:51], EDIT + text
    return {"quote": quote, "slice": edited[0:51], "equal": edited[0:51] == quote, "offset": edited.find(quote)}


LISTINGS = {"stale_index": stale_index, "misaligned_citation": misaligned_citation}
