"""Clauses: the parts of a text that are asserted, one after the other. Pure, English.

Below `mnemic.algorithms.triples`. Questions, conditions, code and quotations are left out, and so is what stands after
``that``, ``if``, ``which`` and the like, to the next comma: it need not hold, or is said of something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from mnemic.algorithms.verbs import LINKS, UNSAID

__all__ = ["Clause", "clauses"]


class Clause(NamedTuple):
    """A part of a sentence."""

    words: tuple[str, ...]
    """Its words as they are written; short forms (``don't``) are written out."""
    follows: str
    """The word or the mark that parts it from the next one; ``""`` at the end of a sentence."""


_NO_SPEECH = re.compile(r"```.*?(?:```|\Z)|^[ \t]*(?:>|\||\$ )[^\n]*$|^(?: {4}|\t)[^\n]*$", re.DOTALL | re.MULTILINE)
_MARKED = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^()\s]{0,500}\)|<(https?://[^<>\s]{1,500})>")
_MARKS = re.compile(r"\*\*|`|^[ \t]*(?:[-*•+]|\d+[.)]|#+)[ \t]+", re.MULTILINE)
_SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?](?=[^\s.!?\"'”)]))+[.!?]*")
_LINKS = "|".join(sorted(LINKS | UNSAID))
_CLAUSE = re.compile(
    rf"\s*(?:([;()–—…\"“”]|,(?!\d)|:(?=\s|$)|\s-+\s)|(?<![\w-])({_LINKS})(?![\w'’-]))\s*", re.IGNORECASE
)
_CONDITIONS = frozenset(
    ("if", "when", "unless", "suppose", "imagine", "assuming", "should", "maybe", "perhaps", "once")
)
_CONTRACTED = re.compile(r"\b(can|won|[a-z]+n)['’]t\b|['’](m|ve|re|ll|d)\b", re.IGNORECASE)
_WRITTEN_OUT = {"m": " am", "ve": " have", "re": " are", "ll": " will", "d": " would"}


def clauses(text: str) -> Iterator[Clause]:
    """The clauses of a text that are asserted, in order."""
    plain = _MARKS.sub("", _MARKED.sub(r"\1\2", _NO_SPEECH.sub("\n", text)))
    for sentence in _SENTENCE.findall(_CONTRACTED.sub(_write_out, plain)):
        words = sentence.split(None, 1)
        if not words or sentence.endswith("?") or words[0].lower() in _CONDITIONS:
            continue
        start, said = 0, True
        for cut in _CLAUSE.finditer(sentence):
            link = (cut[1] or cut[2]).strip().lower()
            if said:
                yield Clause(tuple(sentence[start : cut.start()].split()), link)
            start, said = cut.end(), link not in UNSAID and (said or link not in LINKS)
        if said:
            yield Clause(tuple(sentence[start:].rstrip(".!").split()), "")


def _write_out(one: re.Match[str]) -> str:
    if one[2]:
        return _WRITTEN_OUT[one[2].lower()]
    verb = one[1].lower()
    return "can not" if verb == "can" else f"{one[1].removesuffix('n')} not"
