"""What is this memory's own in a host's texts. Below the readers of transcripts and of hook events.

Its own is never taken in again, or recall would find its own echo: its tools (`mnemic.hooks.lines.is_own_tool`), and
what it put before an assistant, which stands in a frame or between its marks in an instructions file.
"""

from __future__ import annotations

import re

from mnemic.actors.briefing import FRAME_END, FRAME_START
from mnemic.hooks.marked_text import take_block

__all__ = ["without_own"]

# A frame without its end was cut off by the host: all that follows is its inside.
FRAMED = re.compile(rf"{re.escape(FRAME_START)}.*?(?:{re.escape(FRAME_END)}\n?|\Z)", re.DOTALL)


def without_own(text: str) -> str:
    """A text of a host's making without what is this memory's own; a user's words are never given to this."""
    return take_block(FRAMED.sub("", text))
