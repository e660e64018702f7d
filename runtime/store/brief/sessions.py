"""Reads the last sessions of a project for a session's start: what was said in them, and how the last one ended.

Part of `mnemic.runtime.store.brief.read`; nothing is imported here that is slow to load.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from mnemic.actors.brief.farewells import informative_prompt
from mnemic.actors.brief.messages import LastSession, Quote, UnresolvedFailure
from mnemic.actors.brief.open_work import is_answered
from mnemic.actors.brief.statement_cues import final_question
from mnemic.actors.kernel.events import MCP_PREFIX, to_text
from mnemic.runtime.store.brief.memories import ASSISTANTS, OWNERS, QUOTED, READ_BYTES, BriefMemories
from mnemic.runtime.store.schema import SAID_OR_KEPT
from mnemic.runtime.store.supersession import current_successor
from mnemic.runtime.store.texts import text_prefix

_PROMPTS = 8
"""So many of a session's last prompts are looked at for one that says more than goodbye."""
_REPLIES = 3
"""So many of a session's last replies may say what is left to do."""
_STEPS = 200
"""So many of the last memories of a session are looked at for a call that failed."""
_SESSIONS = 64
"""So many of the last sessions are looked at for one that is neither this one nor a subagent's."""


class SessionQueries:
    """Reads the sessions of a project, the newest first."""

    def __init__(self, connection: apsw.Connection, memories: BriefMemories) -> None:
        self._db = connection
        self._memories = memories

    def newest(self) -> list[tuple[int, int]]:
        """The last sessions of the project, with when something was said last in each; no subagent's."""
        found: list[Any] = self._db.execute(
            f"WITH ends(id, at) AS MATERIALIZED (SELECT s.id, (SELECT max({SAID_OR_KEPT}) FROM memories m"
            f" WHERE m.session = s.id AND m.kind = 'turn' AND {self._memories.in_project}) FROM sessions s"
            f" WHERE s.assistant NOT LIKE '{MCP_PREFIX}%')"  # what a client kept was said in no session
            f" SELECT id, at FROM ends WHERE at IS NOT NULL ORDER BY at DESC, id DESC LIMIT {_SESSIONS}"
        ).fetchall()
        return [(session, at) for session, at in found if not self._memories.session_kind(session)]

    def turns(self, sessions: Sequence[int], columns: str, limit: int) -> list[Any]:
        """Return what was said in some sessions, from the newest on.

        Args:
            columns: what is asked of each memory ``m``.
        """
        rows: list[Any] = []
        for session in sessions:
            if len(rows) < limit:
                rows += self._db.execute(
                    f"SELECT {columns} FROM memories m WHERE m.session = ? AND m.kind = 'turn' AND"
                    f" ({OWNERS} OR {ASSISTANTS}) AND {self._memories.in_project}"
                    f" ORDER BY {SAID_OR_KEPT} DESC, m.id DESC LIMIT ?",
                    (session, limit - len(rows)),
                ).fetchall()
        return rows

    def own(self) -> list[int]:
        """The session that starts, where something was said in it: it was compacted, or cleared."""
        found: list[Any] = self._db.execute(
            "SELECT id FROM sessions WHERE assistant = ? AND name = ?", self._memories.own
        ).fetchall()
        return [session for (session,) in found]

    def session_end(self, session: int, at: int, kept: Sequence[Any], here: Sequence[Any]) -> LastSession:
        """Tell how a session ended: with the last prompt that tells something, and the last replies.

        Args:
            kept: what the user kept; what is newer may answer what the session asks.
            here: what was said in the session that starts: its user has heard what the other one asked.
        """
        prompts, replies = (
            self._last_said(session, whose, count) for whose, count in ((OWNERS, _PROMPTS), (ASSISTANTS, _REPLIES))
        )
        answered = not prompts or (bool(replies) and _sort_key(replies[0]) > _sort_key(prompts[0]))
        assistant = self._db.execute("SELECT assistant FROM sessions WHERE id = ?", (session,)).get
        quotes = [self._last_quote(prompt, session) for prompt in prompts]
        prompt = informative_prompt(quotes)
        last = [self._last_quote(reply, session) for reply in replies]
        asks = bool(last) and answered and not here
        if asks and (question := final_question(to_text(last[0].text))):
            since = [to_text(self._memories.quote(one).text) for one in kept if one[3] > replies[0][3]]
            asks = not is_answered(question, since)
        return LastSession(
            assistant=str(assistant),
            at=at,
            prompt=prompt,
            replies=tuple(last),
            answered=answered or (prompt is not None and prompt is not quotes[0]),
            asks=asks,
            failure=self._unresolved_failure(session),
        )

    def _last_said(self, session: int, whose: str, count: int) -> list[Any]:
        found: list[Any] = self._db.execute(
            f"SELECT {QUOTED} FROM memories m WHERE m.session = ? AND m.kind = 'turn' AND {whose} AND"
            f" {self._memories.in_project} ORDER BY {SAID_OR_KEPT} DESC, m.id DESC LIMIT ?",
            (session, count),
        ).fetchall()
        return found

    def _last_quote(self, row: Any, session: int) -> Quote:
        """Return what was said last, and whether it was replaced since."""
        corrected = current_successor(self._db, row[0]) is not None
        return msgspec.structs.replace(self._memories.quote(row, session=session), is_superseded=corrected)

    def _unresolved_failure(self, session: int) -> UnresolvedFailure | None:
        """The last call that failed and that none of the same kind followed which succeeded.

        Of the same kind are calls of one tool whose first argument starts with the same word: the same program, the
        same file. A result belongs to the first call of its tool before it that has none yet.
        """
        steps: list[Any] = self._db.execute(
            f"SELECT {QUOTED}, m.tool, m.outcome FROM memories m WHERE m.session = ? AND m.kind IN"
            f" ('tool_call', 'tool_result') AND {self._memories.in_project} ORDER BY {SAID_OR_KEPT} DESC, m.id DESC"
            f" LIMIT {_STEPS}",
            (session,),
        ).fetchall()
        calls: dict[str, list[Any]] = {}
        ended: list[tuple[Any, Any]] = []
        for step in reversed(steps):
            tool, kind = step[6] or "", step[5]
            if kind == "tool_call":
                calls.setdefault(tool, []).append(step)
            else:
                waiting = calls.get(tool)
                ended.append((step, waiting.pop(0) if waiting else None))
        succeeded: set[tuple[str, str]] = set()
        for result, call in reversed(ended):
            kind_of_call = (
                result[6] or "",
                "" if call is None else _call_target(text_prefix(self._db, call[2], READ_BYTES)[0]),
            )
            if result[7] != "failed":
                succeeded.add(kind_of_call)
            elif kind_of_call not in succeeded:
                return UnresolvedFailure(
                    tool=result[6] or "a tool",
                    call=None if call is None else self._memories.quote(call),
                    answer=result[1],
                )
        return None


def _sort_key(row: Any) -> tuple[int, int]:
    """Return what comes later is greater."""
    return row[3], row[0]


def _call_target(call: bytes) -> str:
    """What a call is about: the first word of its first argument, as `mnemic.hooks.read.lines.render_call` writes
    it.
    """
    lines = call.decode("utf-8", "surrogatepass").split("\n", 2)
    words = lines[1].partition(": ")[2].split() if len(lines) > 1 else []
    while len(words) > 3 and words[0] == "cd" and words[2] == "&&":  # where it runs is not what runs
        words = words[3:]
    return next((word for word in words if "=" not in word), "")
