"""Cuts a text into sentences by punctuation and line ends; what is quoted in it (code, lines with ``>``) is left out.

Unlike `mnemic.algorithms.knowledge.extraction.sentences`, it knows no words: any language that ends sentences so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_END = re.compile(r"[.!?…]([\"'”’)\]]*\s+)|(\n+)")
_QUOTED = re.compile(r"^(?:```|~~~).*?(?:^(?:```|~~~)[^\n]*$|\Z)|^[^\S\n]*>[^\n]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def plain_sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text and at which character each starts; what is quoted in it is blank."""
    plain = text
    if "`" in text or "~" in text or ">" in text:
        plain = _QUOTED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    start = 0
    for end in [*_END.finditer(plain), None]:
        stop = len(plain) if end is None else end.start(end.lastindex or 0)
        sentence = plain[start:stop]
        stripped = sentence.strip().lstrip("-*•# ")
        if stripped:
            yield start + sentence.index(stripped), stripped
        start = stop if end is None else end.end()
