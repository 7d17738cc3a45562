"""What does an index miss that does not look at everything? An exact scan beside three that look at less.

    line      the chapter's graph of three points, on which a greedy walk stops at the wrong one
    space     vectors, the counted comparison with them, and the exact scan: the truth of this lab
    graph     a hierarchical small-world graph (HNSW); its knob is `ef`
    lists     inverted lists around centres (IVF); its knob is `probes`
    binary    sign bits compared by Hamming distance, the best rescored; its knob is `candidates`
    filters   what a strict filter does to each: before, during, after the search
    report    all of them over one corpus, as one JSON document

For learning what the knobs buy, not for speed: a few thousand sparse vectors are searched fastest by `Hashed`, exactly.
Recall here means agreement with the exact scan. Whether the exact scan finds the evidence is another question, and is
reported beside it.
"""
