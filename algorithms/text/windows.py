"""Splits a text into the overlapping token windows that are embedded.

Pure functions over text and a tokenizer that is handed in; `mnemic.runtime.models.encoders` gives the real one. A model
sees a limited number of tokens at once, so a longer text becomes several windows that overlap a little: what a border
cuts in two stands whole in one of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

_UNTOKENIZABLE = re.compile("[\x00\ud800-\udfff]")

_PREFIX_FACTORS = (6, 16)
"""Characters read for each token wanted: English and code have 3 to 5 a token, so the first is nearly always enough
(tokenizing costs 1 ms for 1,000 to 1,500 characters); whatever is sparser than the second gets fewer windows."""


class Tokenization(NamedTuple):
    """What a tokenizer makes of a text, special tokens left out; three sequences of one length."""

    ids: Sequence[int]
    """Token ids."""
    starts: Sequence[int]
    """Offset of each token's first character."""
    words: Sequence[int | None]
    """Number of the word a token belongs to: the tokens of one word are neighbours. ``None`` stands for no word."""


class TokenSpan(NamedTuple):
    """One window: the characters ``[start, end)`` and the ids of the tokens that begin there."""

    start: int
    end: int
    token_ids: tuple[int, ...]


def tokenizable(text: str) -> str:
    """Replace lone surrogates and NUL by U+FFFD, one for one, so that offsets stay those of the original.

    Tokenizers refuse the first and are at odds about the second.
    """
    return _UNTOKENIZABLE.sub("\ufffd", text)


def cut_windows(
    text: str, tokenize: Callable[[str], Tokenization], *, size: int, overlap: int, limit: int
) -> list[TokenSpan]:
    """Cut a text into at most `limit` windows of at most `size` tokens.

    The first window starts at character 0, each next one at or before the end of the one before, and the last one ends
    what is covered: the whole text, unless `limit` is reached or the text is so sparse that 16 characters a token do
    not fill the windows (blanks, one endless word). Windows begin and end between words where they can do so
    inside the overlap. A text without tokens, the empty one above all, has one window without tokens.

    A text of any length costs no more than the tokenizing of ``22 * size * limit`` characters. Where only a prefix was
    read, the word at its end is left out, for the rest of it may be missing; it stays only where it is all there is.
    Raises ValueError unless ``0 <= 2 * overlap < size`` and ``limit >= 1``.
    """
    if limit < 1 or overlap < 0 or 2 * overlap >= size:
        raise ValueError(f"no windows can be cut with size {size}, overlap {overlap}, limit {limit}")
    wanted = size + (limit - 1) * (size - overlap)
    for factor in _PREFIX_FACTORS:
        prefix = tokenizable(text[: factor * wanted])
        tokens = tokenize(prefix)
        whole = len(prefix) == len(text)
        usable = len(tokens.ids) if whole else _start_of_last_word(tokens.words)
        if whole or usable >= wanted:
            break
    return _token_spans(tokens, usable or len(tokens.ids), len(prefix), size=size, overlap=overlap, limit=limit)


def _token_spans(
    tokens: Tokenization, usable: int, length: int, *, size: int, overlap: int, limit: int
) -> list[TokenSpan]:
    """Lay the windows over the first `usable` tokens of a prefix of `length` characters."""
    # Some tokenizers give one character to several tokens, or step back; windows must not.
    starts = [*accumulate(tokens.starts, max), length]
    words = tokens.words
    spans: list[TokenSpan] = []
    first = 0
    while len(spans) < limit:
        last = min(first + size, usable)
        if last < usable:
            last = _word_start(words, range(last, last - overlap - 1, -1), otherwise=last)
        spans.append(TokenSpan(starts[first] if spans else 0, starts[last], tuple(tokens.ids[first:last])))
        if last == usable:
            break
        first = _word_start(words, range(last - overlap, last + 1), otherwise=last - overlap)
    return spans


def _word_start(words: Sequence[int | None], candidates: range, *, otherwise: int) -> int:
    """The first candidate at which a word begins."""
    for index in candidates:
        if words[index] is None or words[index] != words[index - 1]:
            return index
    return otherwise


def _start_of_last_word(words: Sequence[int | None]) -> int:
    """Index of the first token of the last word; 0 where there is none."""
    index = len(words) - 1
    while index > 0 and words[index] is not None and words[index] == words[index - 1]:
        index -= 1
    return max(index, 0)
