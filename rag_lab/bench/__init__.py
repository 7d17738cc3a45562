"""How fast is exact search here, beside a plain scorer, SQLite and engines from outside?

    texts      the corpus and the queries: given, or generated
    measure    the clock: how long a build and each query take
    plain      the obvious scorers, which visit every posting
    engines    those that run in this process
    fts5       the full-text search of SQLite
    peers      engines that another Python has, a script each
    live_set   what it costs to let few units take part
    agreement  whether two engines find the same
    rows       what is printed of an engine
    report     all of them over one corpus, as one JSON document

The one part of the lab whose output is not the same bytes in every run: it holds times. Corpus, queries, results and their
agreement are.
"""
