"""Carrying out what is said of whole conversations: that one is to be left alone, and how one is held.

Beside `mnemic.runtime.carry_capture`, which hands these changes on to here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw

from mnemic.actors.changes import MarkSession, SilenceSession, UnsilenceSession
from mnemic.runtime.carry_spool import Carried

__all__ = ["SessionCarrier"]

_UNCHANGED: Carried = (None, None, False, None)


class SessionCarrier:
    """Carries out changes on a connection, within a transaction that the caller holds."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection
        self.hands: dict[type, Callable[[Any, int], Carried]] = {
            SilenceSession: self._silence,
            UnsilenceSession: self._unsilence,
            MarkSession: self._mark,
        }

    def _silence(self, change: SilenceSession, at: int) -> Carried:
        name = (change.assistant, change.session)
        if self._db.execute("SELECT 1 FROM silenced WHERE assistant = ? AND session = ?", name).get is not None:
            return _UNCHANGED
        self._db.execute("INSERT INTO silenced(assistant, session) VALUES(?, ?)", name)
        return None, UnsilenceSession(assistant=change.assistant, session=change.session), True, None

    def _unsilence(self, change: UnsilenceSession, at: int) -> Carried:
        self._db.execute("DELETE FROM silenced WHERE assistant = ? AND session = ?", (change.assistant, change.session))
        return None, None, True, None

    def _mark(self, change: MarkSession, at: int) -> Carried:
        name = (change.assistant, change.session)
        before = self._db.execute("SELECT mode FROM sessions WHERE assistant = ? AND name = ?", name).get
        if before is None or before == change.mode:
            return _UNCHANGED
        self._db.execute("UPDATE sessions SET mode = ? WHERE assistant = ? AND name = ?", (change.mode, *name))
        return None, MarkSession(assistant=change.assistant, session=change.session, mode=str(before)), True, None
