"""Cuts a text into the sentences that a session's start may tell. Pure.

As `mnemic.algorithms.text.sentences` does, but an abbreviation and an aside in brackets end none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.algorithms.text.sentences import plain_sentences

_UNENDED = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|St|Prof|No|Nr|ca|e\.g|i\.e|approx|vs)\.|[)\]])$")
_TAIL = 8  # characters of the longest of these, and one before it


def told_sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text, and at which character each starts."""
    start, stop = 0, 0
    for first, sentence in plain_sentences(text):
        gap = text[stop:first]
        goes_on = not gap.strip() or sentence[:1].islower()
        if (
            stop
            and "\n" not in gap
            and goes_on
            and _UNENDED.search(text[max(start, stop - _TAIL) : stop + len(gap.rstrip())])
        ):
            stop = first + len(sentence)
            continue
        if stop:
            yield start, text[start:stop]
        start, stop = first, first + len(sentence)
    if stop:
        yield start, text[start:stop]
