"""Exact keys of a text: error codes, names of tests and settings, paths, identifiers that only machines write.

Two texts that share one such key are about the same thing, however few their words are. Plain words, numbers, dates,
versions and short file names are no keys: too many texts name them. Above stands `mnemic.actors.brief.relevance`.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"[^\s\"'`“”‘’()\[\]{}<>,;|=*]+")
_EDGE = ".:!?-/\\"
_MOST_KEYS, _LEAST_CHARS, _MOST_CHARS = 16, 5, 200
_PARTS = re.compile(r"[^\W\d_]{2,}")
_CODE = re.compile(r"[A-Z]\d{3}|[_./:-].*\d|\d.*[_./:-]")  # TS2345 and 203/EXEC, but no base64
_CAMEL = re.compile(r"[A-Z]?[a-z]+(?:[A-Z][a-z]+){2,}\w*$")  # NoSuchMethodException
_MEASURE = re.compile(
    r"""(?:
      v?\d+(?:[.:/x-]\d+)*[a-z%°]{0,4}  # 12th, 1.2.3, 09:30
    | \d{4}-\d\d.*
    | \d+(?:-[a-z]+)+ | [a-z]+-\d{1,4}  # 24-hour, utf-8
    )$""",
    re.IGNORECASE | re.VERBOSE,
)
_LINK = re.compile(r"[a-z]+://|www\.", re.IGNORECASE)


def exact_keys(text: str) -> list[str]:
    """The keys in a text, in their order, each once; sixteen at most."""
    found = dict.fromkeys(token for one in _TOKEN.findall(text) if _is_key(token := one.strip(_EDGE)))
    return list(found)[:_MOST_KEYS]


def shared_keys(keys: list[str], text: str) -> list[str]:
    """Those of the keys that a text holds as whole words."""
    return [key for key in keys if re.search(rf"(?<!\w){re.escape(key)}(?!\w)", text)]


def _is_key(token: str) -> bool:
    if not _LEAST_CHARS <= len(token) <= _MOST_CHARS or _MEASURE.match(token) or _LINK.match(token):
        return False
    if not any(map(str.isalpha, token)):
        return False
    machine = _CODE.search(token) is not None or "_" in token or _CAMEL.match(token) is not None
    path = token.count("/") >= 2 or ("/" in token and "." in token) or token.count(".") >= 2
    return machine or (path and len(_PARTS.findall(token)) >= 3)
