"""A marked block in a text that is somebody else's: put at its end, found by its marks, taken out again."""

from __future__ import annotations

import re

__all__ = ["has_block", "put_block", "take_block"]

_BEGIN, _END = "<!-- mnemic: begin -->", "<!-- mnemic: end -->"
_BLOCK = re.compile(rf"(?P<lead>(?:\r?\n)?){re.escape(_BEGIN)}.*?{re.escape(_END)}(?:\r?\n)?", re.DOTALL)


def put_block(text: str, block: str) -> str:
    """A text with the block at its end, or in the place of the one it has."""
    eol = "\r\n" if "\r\n" in text else "\n"
    marked = f"{_BEGIN}\n{block.strip()}\n{_END}\n".replace("\n", eol)
    found = _BLOCK.search(text)
    if found is not None:
        return text[: found.start()] + found["lead"] + marked + text[found.end() :]
    lead = "" if not text else eol if text.endswith("\n") else eol * 2
    return text + lead + marked


def take_block(text: str) -> str:
    """A text without the block, and without the line that sets it off."""
    return _BLOCK.sub("", text)


def has_block(text: str, block: str) -> bool:
    """Whether this very block is in a text."""
    return put_block(text, block) == text
