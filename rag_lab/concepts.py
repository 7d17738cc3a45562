"""Which units speak of the same things as the query, though in other words?

A table that a person wrote by hand: concept -> the phrases that stand for it. A text becomes a vector of concept counts,
and units are ranked by the cosine. Hand-made and frozen: it was not trained, it is not an embedding, and it knows nothing
beyond the phrases below. It stands where an embedding model would, behind the same contract, so that vectors, cosine, top
k and stable order can be checked by hand. What it misses (it holds no everyday English, for one) is missed.
"""
import re
from collections import Counter
from typing import Iterable

from .counted import Counted
from .postings import Postings
from .text import fold

# Fitted by hand to the corpus of chapter 8. A phrase stands for one concept; of two phrases at one place the longer counts.
CONCEPTS = {
    "sign-in": ("单点登录", "公司登录", "企业登录", "统一登录", "登录方式", "登录", "身份认证", "SSO", "SAML", "OIDC"),
    "plan": ("计划", "套餐", "Team", "Enterprise"),
    "upgrade": ("升级", "迁移", "换到新版"),
    "keep-as-is": ("继续使用", "还能", "照旧", "保留", "沿用", "原样"),
    "members": ("成员", "同事", "人数", "人太多", "邀请"),
    "limit": ("上限", "超额", "超过"),
    "removal": ("删除", "移除", "踢出"),
    "incident": ("安全事故", "事故", "处置"),
    "session": ("会话", "令牌", "密码"),
    "client": ("桌面客户端", "客户端", "离线"),
    "api-error": ("错误码", "接口", "限流", "429"),
}

_CONCEPT_OF = {fold(phrase): concept for concept, phrases in CONCEPTS.items() for phrase in phrases}
_WORD = r"(?<![a-z0-9]){}(?![a-z0-9])"   # an English phrase is a whole word: no "team" in "teamwork"
_PHRASE = re.compile("|".join(_WORD.format(re.escape(phrase)) if phrase.isascii() else re.escape(phrase)
                              for phrase in sorted(_CONCEPT_OF, key=lambda phrase: (-len(phrase), phrase))))


def phrases_of(text: str) -> list[tuple[str, str]]:
    """[(concept, phrase)] for every phrase of the table that stands in a text, in order; none overlap, the longer wins.

    >>> phrases_of("公司登录还能照旧吗")
    [('sign-in', '公司登录'), ('keep-as-is', '还能'), ('keep-as-is', '照旧')]
    """
    return [(_CONCEPT_OF[match[0]], match[0]) for match in _PHRASE.finditer(fold(text))]


def concepts_of(text: str) -> list[str]:
    """The concepts a text speaks of, in order, repeats kept: what this index has instead of terms.

    >>> concepts_of("SAML 单点登录") == concepts_of("SSO, 公司登录")
    True
    """
    return [concept for concept, _ in phrases_of(text)]


def embed(text: str) -> Counter[str]:
    """{concept: how often a text speaks of it}."""
    return Counter(concepts_of(text))


class Concepts(Counted):
    """An index over units (unit id, text), with the same contract as `Bm25`."""

    def __init__(self, units: Iterable[tuple[str, str]] | Postings):
        vectors = units if isinstance(units, Postings) else ((unit_id, embed(text)) for unit_id, text in units)
        super().__init__(vectors, embed)

    def origins(self, query: str) -> dict[str, list[str]]:
        """concept -> the phrases of the query that stand for it."""
        found: dict[str, list[str]] = {}
        for concept, phrase in dict.fromkeys(phrases_of(query)):
            found.setdefault(concept, []).append(phrase)
        return found
