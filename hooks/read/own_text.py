"""Tells Mnemic's own words in a text: what it put before an assistant, and its block in an instructions file.

Its own is never taken in again, or recall would find its own echo. The block is put at a text's end, found by its marks
and taken out again. A mark is a whole line, and no block holds a second beginning: so what the user writes of the marks
stays the user's. Of several blocks it is the last.

Whose payload it is, too: Cursor also runs hooks that are configured for Claude Code, unless its user switches that off
(https://cursor.com/docs/reference/third-party-hooks.md), with payloads of its own. `mnemic.hooks.hosts.cursor` reads
them, from the hooks that are wired in Cursor itself.
"""

from __future__ import annotations

import re
from typing import Any

from mnemic.actors.brief.page import FRAME_END, FRAME_START

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


def remove_block(text: str) -> str:
    """A text without the block, and without the line that sets it off."""
    found = _block(text)
    return text if found is None else text[: found.start()] + text[found.end() :]


def has_block(text: str, block: str) -> bool:
    """Whether this very block is in a text."""
    return put_block(text, block) == text


def _block(text: str) -> re.Match[str] | None:
    return next(reversed(list(_BLOCK.finditer(text))), None)


# A frame without its end was cut off by the host: all that follows is its inside.
OWN_FRAME = re.compile(rf"{re.escape(FRAME_START)}.*?(?:{re.escape(FRAME_END)}\n?|\Z)", re.DOTALL)


def strip_own_output(text: str) -> str:
    """A text of a host's making without what is this memory's own; a user's words are never given to this."""
    return remove_block(OWN_FRAME.sub("", text))


# The command marks its answers by whole lines; a host may number them, write them as JSON, escape them, or cut a long
# answer, and with it one of the marks.
_START, _STOP = r"(?:<|&lt;)mnemic-memory(?:>|&gt;)", r"(?:<|&lt;)/mnemic-memory(?:>|&gt;)"
_EOL = r"[ \t]*(?:\\r)?(?:\\n)?(?:\r?\n)?"
_MARKED = re.compile(
    rf"{_START}[ \t]*(?:\\[nr]|\r?\n|\Z).*?(?:{_STOP}{_EOL}|\Z)"
    rf"|\A(?:(?!{_START}).)*?(?:\A|\n|\\n){_STOP}[ \t]*(?:\\[nr]|\r?\n|\Z)",
    re.DOTALL,
)
_BLOCK_IN_ANSWER = re.compile(rf"{_BEGIN}[ \t]*(?:\\[nr]|\r?\n)(?:(?!{_BEGIN}).)*?{_END}{_EOL}", re.DOTALL)


def cut_marked(text: str) -> tuple[str, int]:
    """A tool's answer without what is this memory's own, and the number of stretches that its command printed."""
    if _BEGIN in text:
        text = _BLOCK_IN_ANSWER.sub("", text)
    return _MARKED.subn("", text) if "mnemic-memory" in text else (text, 0)


def is_cursor_payload(payload: dict[str, Any]) -> bool:
    """Whether Cursor wrote a payload: every one of it has these fields, and none of Claude Code's has."""
    return "cursor_version" in payload or payload.keys() >= {"conversation_id", "generation_id"}
