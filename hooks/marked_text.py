"""A marked block in a text that is somebody else's: put at its end, found by its marks, taken out again.

A mark is a whole line, and no block holds a second beginning: so what the user writes of the marks stays the user's.
Of several blocks it is the last.
"""

from __future__ import annotations

import re

__all__ = ["has_block", "put_block", "take_block"]

_BEGIN, _END = "<!-- mnemic: begin -->", "<!-- mnemic: end -->"
_BEGIN_LINE, _END_LINE = (rf"^{re.escape(mark)}[ \t]*\r?(?:\n|\Z)" for mark in (_BEGIN, _END))
_BLOCK = re.compile(rf"(?P<lead>(?:(?<=\n)\r?\n)?){_BEGIN_LINE}(?:(?!{_BEGIN_LINE}).*\n)*?{_END_LINE}", re.MULTILINE)


def put_block(text: str, block: str) -> str:
    """A text with the block at its end, or in the place of the one it has."""
    eol = "\r\n" if "\r\n" in text else "\n"
    marked = f"{_BEGIN}\n{block.strip()}\n{_END}\n".replace("\n", eol)
    found = _block(text)
    if found is not None:
        return text[: found.start()] + found["lead"] + marked + text[found.end() :]
    lead = "" if not text else eol if text.endswith("\n") else eol * 2
    return text + lead + marked


def take_block(text: str) -> str:
    """A text without the block, and without the line that sets it off."""
    found = _block(text)
    return text if found is None else text[: found.start()] + text[found.end() :]


def has_block(text: str, block: str) -> bool:
    """Whether this very block is in a text."""
    return put_block(text, block) == text


def _block(text: str) -> re.Match[str] | None:
    return next(reversed(list(_BLOCK.finditer(text))), None)
