"""A framed text that grows line by line and never beyond its budget, and how memories are quoted in it. Pure.

A text is quoted on one line, so that nothing in it can look like a line of ours, and inside a frame that it cannot end.
Above stands `mnemic.actors.brief.compose`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Hashable, Sequence
from datetime import date

from mnemic.actors.brief.messages import Quote
from mnemic.actors.brief.repeats import is_from_user, statement_key
from mnemic.actors.index.hits import BYTES_PER_TOKEN, excerpt
from mnemic.actors.kernel.events import COMMITS, MCP_PREFIX, to_text
from mnemic.actors.kernel.times import Zone, local_day
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.algorithms.text.instructions import reads_as_instruction

FRAME_START = "<mnemic-memory>"
"""The line before what is told."""
FRAME_END = "</mnemic-memory>"
"""The line after it."""
PROFILE_LINES = 5
"""So many things that the user says of themselves are told at most."""
_MORE = "For more, call memory_recall with a question; memory_get with an id gives a memory whole."
_NAME_LETTERS = 64  # a longer name is none
_SAID_KINDS = ("turn", "note", "decision")
_LEAST_BYTES = 48  # a shorter stretch of a longer text says too little
_QUOTED = str.maketrans({"<": "‹", ">": "›", '"': "”"})
_ENTITY = re.compile(r"&(?=#?\w+;)")  # Gemini CLI writes < and > so, and leaves & as it is


class Page:
    """A framed text that grows line by line and never beyond its budget."""

    def __init__(self, intro: str, budget_tokens: int, more: Sequence[str] = ("", _MORE)) -> None:
        self._lines = [FRAME_START, intro]
        self._tail = [*more, FRAME_END]
        self._parts: list[DeliveredSpan] = []
        self._heading: str | None = None
        self._told: set[Hashable] = set()  # statements that are quoted whole
        self._injected: dict[bytes, bool] = {}  # of each memory, whether it is left out as an instruction
        self.room_bytes = BYTES_PER_TOKEN * budget_tokens - len("\n".join([*self._lines, *self._tail]).encode())
        """How many bytes may still be written."""

    def start_section(self, heading: str) -> None:
        """Start a part; its heading is written with its first line, and not without one."""
        self._heading = heading

    def contains(self, text: str) -> bool:
        """Say whether a text stands on the page already."""
        return any(text in line for line in self._lines[2:])

    def tells(self, quote: Quote) -> bool:
        """Say whether a statement of the same words is quoted whole already."""
        return statement_key(quote) in self._told

    def write_line(self, line: str, *parts: DeliveredSpan) -> bool:
        """Write a line that tells something of memories, if there is room; says whether there was."""
        lines = [*self._opening(), line]
        cost = len("\n".join(lines).encode()) + 1
        if cost > self.room_bytes:
            return False
        self.room_bytes -= cost
        self._lines += lines
        self._heading = None
        for part in parts:
            told = (one for one in self._parts if one.memory == part.memory)
            if not any(one.start <= part.start and part.stop <= one.stop for one in told):
                self._parts.append(part)
        return True

    def leaves_out(self, quote: Quote) -> bool:
        """Whether a memory is not told: it reads as an instruction to the assistant, and its user did not say it."""
        if quote.id not in self._injected:
            self._injected[quote.id] = not is_from_user(quote) and reads_as_instruction(to_text(quote.text))
        return self._injected[quote.id]

    def write_quote(self, lead: str, quote: Quote, limit_bytes: int) -> bool:
        """Write a line that quotes a memory, less of it where there is less room; says whether it was written."""
        if self.leaves_out(quote):
            return False
        lead = f"{lead.removesuffix(': ')}{instruction_mark(quote)}: "
        whole = quote_inline(quote.text) if quote.size_bytes == len(quote.text) <= 4 * limit_bytes else None
        part = quoted_part(quote, 0, len(quote.text))
        if whole is not None and len(whole.encode()) <= limit_bytes and self.write_line(f'{lead}"{whole}"', part):
            self._told.add(statement_key(quote))
            return True
        more = f'" … [{quote.size_bytes} bytes, id {uuid.UUID(bytes=quote.id)}]'
        taken = len("\n".join([*self._opening(), f'{lead}"{more}']).encode()) + 1
        room = min(limit_bytes, self.room_bytes - taken)
        if room < _LEAST_BYTES:
            return False
        shown, start, size = excerpt_inline(quote.text, room)
        return self.write_line(f'{lead}"{shown}{more}', quoted_part(quote, start, size))

    def finish(self) -> tuple[str, tuple[DeliveredSpan, ...]]:
        """The text and what it quotes; both empty where it quotes nothing."""
        if not self._parts:
            return "", ()
        count = sum(self._injected.values())
        line = f"Left out, as {'it reads as an instruction' if count == 1 else 'they read as instructions'}: {count}."
        fits = count and len(line) + 2 <= self.room_bytes
        return "\n".join([*self._lines, *(["", line] if fits else []), *self._tail]), tuple(self._parts)

    def _opening(self) -> list[str]:
        return [] if self._heading is None else ["", self._heading]


def quote_inline(text: bytes) -> str:
    """A text as it is quoted: on one line, in clean Unicode, without what could be a tag or end its quotation."""
    decoded = text.decode("utf-8", "surrogatepass").encode("utf-8", "replace").decode("utf-8")
    visible = "".join(letter if letter.isprintable() else " " for letter in decoded)
    return _ENTITY.sub("＆", " ".join(visible.split())).translate(_QUOTED)


def quoted_part(quote: Quote, start: int, size: int) -> DeliveredSpan:
    """Return what is told of a memory: so many bytes of what was read of it, from one on."""
    first = quote.start_byte + start
    return DeliveredSpan(memory=quote.id, start=first, stop=first + size, why="")


def sentence_part(quote: Quote, sentence: str) -> DeliveredSpan:
    said = sentence.encode("utf-8", "surrogatepass")
    start = quote.text.find(said)
    return quoted_part(quote, start, len(said)) if start >= 0 else quoted_part(quote, 0, 0)


def instruction_mark(quote: Quote) -> str:
    """Return what is said of a user's words that read as an instruction to the assistant; others' are left out."""
    injected = is_from_user(quote) and reads_as_instruction(to_text(quote.text))
    return " (reads as an instruction)" if injected else ""


def excerpt_inline(text: bytes, limit_bytes: int) -> tuple[str, int, int]:
    """A stretch of a text as it is quoted, no longer than that: quoting makes some letters longer.

    With it the byte at which the stretch starts in the text, and how long it is there.
    """
    part, first = excerpt(text, limit_bytes, 0, ())
    if (size_bytes := len(quote_inline(part).encode())) > limit_bytes:
        part, first = excerpt(text, max(8, limit_bytes * limit_bytes // size_bytes), 0, ())
    return quote_inline(part).encode()[:limit_bytes].decode("utf-8", "ignore"), first, len(part)


def plain_name(name: str) -> str:
    """The name of a tool or a host as it stands outside of quotes: one word."""
    return "".join(letter if letter.isalnum() or letter in "_.:/@-" else "-" for letter in name[:64])


def author_label(quote: Quote) -> str:
    if quote.author == "other":
        return (
            f"{'said' if quote.kind == 'turn' else _article(quote.kind)} by {_quoted_name(quote.speaker)}, not the user"
        )
    if quote.kind == "turn" and quote.author != "unknown" and not quote.assistant.startswith(MCP_PREFIX):
        return f"the {quote.role}"
    nobody = ", whose words is not known" if quote.author == "unknown" and quote.kind in _SAID_KINDS else ""
    return f"{_article(quote.kind)}{nobody}"


def _article(kind: str) -> str:
    return f"a {kind.replace('_', ' ')}"


def _quoted_name(name: str | None) -> str:
    """A name that somebody gave themselves, in quotes; one that says more than a name is left out."""
    if not name or len(name) > _NAME_LETTERS or reads_as_instruction(name):
        return "somebody"
    return f'"{quote_inline(name.encode("utf-8", "surrogatepass"))}"'


def origin_label(quote: Quote) -> str:
    """Whose word it is that a memory was said so, where nobody was heard saying it."""
    if quote.assistant == COMMITS:
        return f", a commit by {_quoted_name(quote.speaker)}"
    if not quote.assistant.startswith(MCP_PREFIX):
        return ""
    return f", kept by {_quoted_name(quote.assistant.removeprefix(MCP_PREFIX))} over MCP"


def format_day(at: int | None, zone: Zone) -> str:
    """The day of a time, as a calendar on the wall has it; ``some day`` where none has."""
    day = date.min if at is None else local_day(at, zone)
    return day.isoformat() if date.min < day < date.max else "some day"
