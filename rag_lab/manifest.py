"""What was an index made of, and does it still fit the code and the catalog that would use it?

The twelve fields that chapter 8 names. Vectors of two encoders, chunks of two chunkers, statistics of two catalogs must not
meet: an index whose manifest differs in one ingredient is refused, not repaired.
"""
from typing import Mapping

from .errors import DataError, Fault
from .files import digest, read_text
from .strict_json import parse_json_object

FIELDS = ("index_id", "catalog_snapshot_id", "parser_version", "chunker_version", "tokenizer_version", "embedding_model_id",
          "embedding_dimension", "distance_metric", "document_count", "chunk_count", "created_at", "content_digest")
PARSER, TOKENIZER, CHUNKER_REVISION = "markdown-toml/1", "bigram/1", 1   # raised when their output changes


def make(catalog_digest: str, content_digest: str, documents: int, chunks: int, chunker: str, encoder: str,
         dimension: int | None, created_at: str | None) -> dict:
    """The manifest of an index. `content_digest` is the `sum_digest` of its chunks' (id, digest of what is searched)."""
    ingredients = {"catalog_snapshot_id": catalog_digest, "parser_version": PARSER,
                   "chunker_version": f"{chunker}/{CHUNKER_REVISION}", "tokenizer_version": TOKENIZER,
                   "embedding_model_id": encoder, "embedding_dimension": dimension, "distance_metric": "cosine",
                   "document_count": documents, "chunk_count": chunks, "created_at": created_at,
                   "content_digest": content_digest}
    return {"index_id": digest(ingredients), **ingredients}


def read(path: str) -> dict:
    """A manifest that was kept in a file. Raises `DataError` if it is no JSON object."""
    try:
        return parse_json_object(read_text(path))
    except ValueError as error:
        raise DataError([Fault(path, None, f"it is no manifest: {error}", "write it with the manifest command")]) from error


def check(found: Mapping, expected: Mapping, path: str) -> None:
    """Raise `DataError` with every field in which a stored manifest differs from the one the lab would make now."""
    remedy = "build the index again from the corpus, or use the corpus and version it was built with"
    faults = [Fault(path, None, f"{name} is {found.get(name)!r}, expected {expected[name]!r}", remedy)
              for name in FIELDS if name not in found or found[name] != expected[name]]
    faults += [Fault(path, None, f"{name!r} is no field of a manifest", "write the manifest with the manifest command")
               for name in sorted(set(found) - set(FIELDS))]
    if faults:
        raise DataError(faults)
