"""tantivy: an index in a folder, one writer thread, terms kept as given under names of letters and digits.

The length of a unit is held in one byte, so its scores are near ours and not equal. A query is made of its terms without the
query parser, which is the shorter way. Looking up the ids of the units is not timed.
"""
import os
import tempfile

from harness import run, timed


def build(units):
    """The index in a temporary folder, which is removed with this process."""
    from importlib.metadata import version

    import tantivy
    folder = tempfile.TemporaryDirectory(prefix="tantivy-")
    names = {}
    bodies = [" ".join([names.setdefault(term, f"t{len(names)}") for term in terms]) for _, terms in units]
    schema = (tantivy.SchemaBuilder().add_text_field("body", tokenizer_name="whitespace", index_option="freq")
              .add_integer_field("number", stored=True).build())

    def write():
        index = tantivy.Index(schema, path=folder.name)
        writer = index.writer(heap_size=300_000_000, num_threads=1)
        for number, body in enumerate(bodies):
            writer.add_document(tantivy.Document(body=body, number=number))
        writer.commit()
        writer.wait_merging_threads()

    def opened():
        index = tantivy.Index.open(folder.name)
        return index, index.searcher()

    def ask(terms, k):
        words = [tantivy.Query.term_query(schema, "body", names.get(term, "none")) for term in terms]
        return searcher.search(tantivy.Query.boolean_query([(tantivy.Occur.Should, word) for word in words]), k).hits

    def found(answer):
        return [(units[searcher.doc(place)["number"][0]][0], score) for score, place in answer]

    _, seconds = timed(write)
    (index, searcher), open_seconds = timed(opened)
    size = sum(entry.stat().st_size for entry in os.scandir(folder.name))
    return {"version": version("tantivy"), "build_seconds": seconds, "bytes": size,
            "open_seconds": open_seconds, "ask": ask, "found": found, "folder": folder}


if __name__ == "__main__":
    run(build)
