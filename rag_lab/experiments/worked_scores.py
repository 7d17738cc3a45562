"""How are the scores of chapter 8's hand calculations reached, step by step?

Every number is read from the same index that ranks: `Bm25.explain` and `fusion.explain` show their parts.
"""
from .. import fusion
from ..bm25 import Bm25
from ..report import rounded
from ..text import terms

TEXTS = {"D1": "3.2 Team SAML", "D2": "3.2 OIDC OIDC", "D3": "2.8 Enterprise SAML"}
LONGER = {**TEXTS, "D1": "3.2 Team SAML OIDC OIDC OIDC"}
QUERY, K1, B = "3.2 Team SAML", 1.5, 0.75


def worked_scores() -> dict:
    """The hand calculations as a JSON document, six decimals."""
    return {"schema": "rag_lab.worked_scores/1", "query": QUERY, "k1": K1, "b": B, "bm25": bm25_steps(TEXTS),
            "bm25_longer_d1": bm25_steps(LONGER), "rrf": rrf_steps()}


def bm25_steps(texts: dict[str, str]) -> list[dict]:
    """One row per text, best first, a tie by id: its terms, its length, each term's df, idf, saturation and part."""
    index = Bm25(((name, terms(text)) for name, text in texts.items()), K1, B)
    return [{"text": name, "terms": terms(texts[name]), **rounded(index.explain(QUERY, name), 6)}
            for name, _ in index.search(QUERY, None)]


def rrf_steps() -> list[dict]:
    """Two documents in two channels: ranks 1 and 2, ranks 3 and 1."""
    return [{"document": name, **rounded(fusion.explain({"bm25": one, "dense": other}), 6)}
            for name, one, other in (("A", 1, 2), ("B", 3, 1))]
