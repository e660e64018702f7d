"""Tells which texts say the same in the same words, so that an assistant is told a rule once that was said often.

Above stands `mnemic.actors.brief.repeats`. Two texts have the same words where they differ in nothing but case, white
space, quotation marks, sentence marks at the end of words, and English words such as *please* or *also* at their ends.
A number, a name, a path or an option that differs makes another text. This folds more than
`mnemic.algorithms.text.near_duplicates` does: it hides no memory from recall, and of equal texts the newest is told.
"""

from __future__ import annotations

import re
import unicodedata

_MOST_CHARS = 1 << 12  # a longer text has the words of its equal alone
_QUOTES = str.maketrans("’‘ʼ“”„«»", '\'\'\'"""""')
_BEFORE, _AFTER = "\"'`([{", "\"'`)]}.,;:!…。、！，；："  # a question mark stays: what is asked is not stated
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
"""A word whose case says nothing; that of ``-V``, ``X11`` or ``MAX_SIZE`` may."""
_OPENING = frozenset(("please", "also", "and", "so", "then", "ok", "okay", "yes", "well", "hey"))
_CLOSING = frozenset(("please", "thanks", "ok", "okay"))


def word_form(text: str) -> str:
    """A text as all have it that say the same in the same words."""
    if len(text) > _MOST_CHARS:
        return text
    words = [_word(part) for part in unicodedata.normalize("NFC", text).translate(_QUOTES).split()]
    first, last = 0, len(words)
    while first < last - 1 and words[first] in _OPENING:
        first += 1
    while first < last - 1 and words[last - 1] in _CLOSING:
        last -= 1
    return " ".join(words[first:last])


def _word(part: str) -> str:
    """A word without the marks around it; what is marks alone, such as the folder ``.``, stays."""
    word = part.lstrip(_BEFORE).rstrip(_AFTER) or part
    return word.casefold() if _PLAIN_WORD.fullmatch(word) else word
