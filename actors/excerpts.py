"""Excerpts: which stretch of a long memory a hit shows, and how long a text counts in a token budget."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.actors.events import to_bytes, to_text

__all__ = ["BYTES_A_TOKEN", "excerpt", "tokens_of"]

BYTES_A_TOKEN = 4
"""A token is counted as four bytes of UTF-8: English prose has 4 to 5, code about 3.5 a token of today's models."""


def tokens_of(text: bytes) -> int:
    """The length of a text in a budget, rounded up."""
    return -(-len(text) // BYTES_A_TOKEN)


def excerpt(text: bytes, limit: int, start: int, terms: Sequence[str]) -> tuple[bytes, int]:
    """The whole of a short text; of a long one, a verbatim stretch.

    Args:
        text: UTF-8 with ``surrogatepass``.
        limit: the most bytes to give, 4 or more.
        start: the character at which the window starts that fits best; -1 where none is known.
        terms: stems, one of which marks the place where no window does.

    Returns the stretch and the byte at which it starts.
    """
    if len(text) <= limit:
        return text, 0
    whole = to_text(text)
    if start < 0:
        lower = whole.lower()
        places = [place for term in terms if (place := lower.find(term)) >= 0]
        start = min(places, default=0)
    line = whole.rfind("\n", max(0, start - 200), start)
    first = len(to_bytes(whole[: line + 1 if line >= 0 else start]))
    part = text[first : first + limit]
    while True:  # end on a whole character
        try:
            to_text(part)
        except UnicodeDecodeError:
            part = part[:-1]
        else:
            return part, first
