"""Why does a walk in a graph miss the nearest point? The chapter's three points on a line.

Chapter 13, worked example of a graph search that misses the nearest point: query 0; A = 4, B = 5, C = 1; edges A-B and
B-C; start at A. The same `walk` as in `graph`, so the example shows the code that searches; no model of HNSW's layers.
"""
from .graph import walk
from .space import Lazy

NAMES = "ABC"                              # node -> its name
POSITIONS = (4, 5, 1)                      # node -> where it stands on the line
EDGES = {0: (1,), 1: (0, 2), 2: (1,)}      # node -> its neighbours: A-B and B-C
QUERY, START, WIDTHS = 0, 0, (1, 2, 3)


def line_walks() -> list[dict]:
    """One row for each width: what was visited, what it found, and whether that is the nearest there is."""
    nearest = min(range(len(POSITIONS)), key=lambda node: (_distance(node), node))
    return [_walk_row(width, nearest) for width in WIDTHS]


def _distance(node: int) -> int:
    return abs(POSITIONS[node] - QUERY)


def _walk_row(width: int, nearest: int) -> dict:
    """`visited` in the order in which distances were taken; `kept` best first."""
    near = Lazy(lambda node: -_distance(node))
    kept = walk([START], EDGES, near, width)
    found = kept[0][0]
    return {"width": width, "visited": [NAMES[node] for node in near], "kept": [NAMES[node] for node, _ in kept],
            "found": NAMES[found], "distance": _distance(found), "is_nearest": found == nearest}
