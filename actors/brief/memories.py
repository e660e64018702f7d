"""Quotes memories at a session's start: whose words, of which sessions, and what holds of them still.

Below `mnemic.actors.brief.gather`; nothing is imported here that is slow to load.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import msgspec

from mnemic.actors.brief import queries
from mnemic.actors.brief.messages import Brief, Quote
from mnemic.actors.brief.queries import Author, BriefSnapshot, MemoryRow
from mnemic.actors.kernel.events import COMMITS, escape_surrogates

READ_BYTES = 16 << 10
"""Of a longer text no more is read: a tool may have answered with 50 MB, and many texts are judged for one start."""
TOLD_AUTHORS: tuple[Author, ...] = ("owner", "assistant")
"""Whose words are told unasked: no other person's, and nobody's."""


class BriefMemories:
    """The memories of the scopes that one brief is of."""

    def __init__(self, snapshot: BriefSnapshot, asked: Brief, own: Sequence[int], everywhere: Sequence[int]) -> None:
        """Read for an assistant.

        Args:
            own: numbers of the scope where it works and of those below it.
            everywhere: of those that are kept for every project.
        """
        self.snapshot = snapshot
        self.in_project, self.everywhere = tuple(own), tuple(everywhere)
        self.within = self.in_project + self.everywhere
        self.own = (str(escape_surrogates(asked.assistant)), str(escape_surrogates(asked.session)))
        """Host and name of the session that asks."""
        self._again = asked.repeat
        self.session_kind = cache(self._session_kind)
        self.assistant_of = cache(lambda session: snapshot.ask(queries.SessionName(session))[0])

    def is_current(self, one: MemoryRow) -> bool:
        return one.superseded_by is None or not self.snapshot.ask(queries.IsReplaced(one.row))

    def is_briefable(self, session: int) -> bool:
        """Say whether what was said in a session is told: not a subagent's, and its own only where it has lost it."""
        kind = self.session_kind(session)
        return not kind or (kind == "own" and self._again)

    def _session_kind(self, session: int) -> str:
        """``own``, ``subagent``, or nothing for any other session."""
        assistant, name = self.snapshot.ask(queries.SessionName(session))
        if (assistant, name) == self.own:
            return "own"
        parent = name.rpartition("/")[0]  # `<session>/<agent>`, as the adapters name them
        named = queries.SessionNamed(assistant, parent)
        is_known = parent and ((assistant, parent) == self.own or self.snapshot.ask(named) is not None)
        return "subagent" if is_known else ""

    def at(self, rows: Sequence[int], authors: tuple[Author, ...] = TOLD_AUTHORS) -> list[MemoryRow]:
        """The memories of some rows whose words are told."""
        return self.snapshot.ask(queries.MemoriesAt(tuple(rows), self.within, authors))

    def start_of(self, one: MemoryRow) -> tuple[bytes, int]:
        """As much of a text as is read, and how long the whole is."""
        return self.snapshot.ask(queries.TextStart(one.text, READ_BYTES))

    def quote(self, one: MemoryRow) -> Quote:
        text, size = self.start_of(one)
        assistant = self.assistant_of(one.session)
        return Quote(
            id=one.id,
            text=text,
            size_bytes=size,
            at=one.at,
            role=one.role,
            kind=one.kind,
            assistant=assistant,
            speaker=one.speaker if assistant == COMMITS else None,
        )

    def stretch(self, one: MemoryRow, start: int, stop: int) -> Quote:
        """A stretch of a memory, quoted as if it were all of it."""
        quote = self.quote(one)
        text = quote.text[start:stop]
        return msgspec.structs.replace(quote, text=text, start_byte=start, size_bytes=len(text))
