"""Reads memories as a session's start quotes them: whose words, of which sessions, and what holds of them still.

Part of `mnemic.runtime.store.brief.read`; nothing is imported here that is slow to load.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from mnemic.actors.brief.messages import Brief, Quote
from mnemic.actors.kernel.events import COMMITS, escape_surrogates
from mnemic.runtime.store.schema import AUTHOR, SAID_OR_KEPT
from mnemic.runtime.store.supersession import current_successor
from mnemic.runtime.store.texts import text_prefix

READ_BYTES = 16 << 10
"""Of a longer text no more is read: a tool may have answered with 50 MB, and many texts are judged for one start."""
QUOTED = f"m.id, m.uuid, m.text, {SAID_OR_KEPT}, m.role, m.kind"
"""What `BriefMemories.quote` wants of a memory ``m``."""
OWNERS, ASSISTANTS = f"{AUTHOR} = 'owner'", f"{AUTHOR} = 'assistant'"
"""Whose words are told unasked: no other person's, and nobody's."""


class BriefMemories:
    """The memories of the scopes that one brief is of, within one read transaction of the caller's."""

    def __init__(
        self, connection: apsw.Connection, asked: Brief, own: Sequence[int], everywhere: Sequence[int]
    ) -> None:
        """Read for an assistant.

        Args:
            own: numbers of the scope where it works and of those below it.
            everywhere: of those that are kept for every project.
        """
        self._db = connection
        self._again = asked.repeat
        self.own = (escape_surrogates(asked.assistant), escape_surrogates(asked.session))
        """Host and name of the session that asks."""
        self.in_project = f"{_is_in(own)} AND m.retired_at IS NULL"
        """A condition on memories ``m``: of the project."""
        self.within = f"{_is_in([*own, *everywhere])} AND m.retired_at IS NULL"
        """Likewise: of it, or kept for every project."""
        self.is_everywhere = _is_in(everywhere)
        self._kinds: dict[int, str] = {}  # of sessions seen: "own", "subagent" or ""
        self.assistants: dict[int, str] = {}
        """Of sessions seen."""

    def is_current(self, row: int, superseded_by: int | None) -> bool:
        return superseded_by is None or current_successor(self._db, row) is None

    def is_briefable(self, session: int) -> bool:
        """Say whether what was said in a session is told: not a subagent's, and its own only where it has lost it."""
        kind = self.session_kind(session)
        return not kind or (kind == "own" and self._again)

    def session_kind(self, session: int) -> str:
        if session not in self._kinds:
            assistant, name = next(self._db.execute("SELECT assistant, name FROM sessions WHERE id = ?", (session,)))
            self.assistants[session] = assistant
            parent = name.rpartition("/")[0]
            known = "SELECT 1 FROM sessions WHERE assistant = ? AND name = ?"
            if (assistant, name) == self.own:
                self._kinds[session] = "own"
            elif not parent:
                self._kinds[session] = ""
            elif (assistant, parent) == self.own or self._db.execute(known, (assistant, parent)).get is not None:
                self._kinds[session] = "subagent"  # `<session>/<agent>`, as the adapters name them
            else:
                self._kinds[session] = ""
        return self._kinds[session]

    def _speaker(self, row: int) -> str | None:
        name = self._db.execute("SELECT speaker FROM memories WHERE id = ?", (row,)).get
        return None if name is None else str(name)

    def quote(self, row: Any, corrects: bool = False, session: int | None = None) -> Quote:
        text, size = text_prefix(self._db, row[2], READ_BYTES)
        assistant = self._db.execute("SELECT assistant FROM sessions WHERE id = ?", (session,)).get
        return Quote(
            id=row[1],
            text=text,
            size_bytes=size,
            at=row[3],
            role=row[4],
            kind=row[5],
            assistant=str(assistant or ""),
            speaker=None if assistant != COMMITS else self._speaker(row[0]),
            is_correction=corrects,
        )

    def stretch(self, row: Any, start: int, stop: int) -> Quote:
        """A stretch of a memory, quoted as if it were all of it."""
        quote = self.quote(row, session=row[6])
        text = quote.text[start:stop]
        return msgspec.structs.replace(quote, text=text, start_byte=start, size_bytes=len(text))


def _is_in(scopes: Sequence[int]) -> str:
    """A condition on ``memories m``: it is in one of some scopes."""
    return f"m.scope IN ({','.join(map(str, scopes))})"
