"""Applying the changes that record which memories were returned to assistants, on request or unasked.

Below `mnemic.runtime.store.apply.capture`; `mnemic.runtime.store.read.log` reads what is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import apsw

from mnemic.actors.protocol.changes import RecordBriefing, RecordRecall
from mnemic.runtime.store.apply.spool import CHANGED, ChangeResult
from mnemic.runtime.store.texts import store_text

__all__ = ["HistoryApplier"]


class HistoryApplier:
    """Carries out changes on a connection, within a transaction that the caller holds."""

    def __init__(
        self, connection: apsw.Connection, identity: Callable[..., bytes], row_of: Callable[[bytes], int]
    ) -> None:
        """Write by a connection.

        Args:
            identity: the mind's keyed hash.
            row_of: finds the row of a memory's id, or raises `NoSuchMemory`.
        """
        self._db = connection
        self._identity = identity
        self._row_of = row_of
        self.handlers: dict[type, Callable[[Any, int], ChangeResult]] = {
            RecordRecall: self._record_recall,
            RecordBriefing: self._record_given,
        }

    def _record_recall(self, change: RecordRecall, at: int) -> ChangeResult:
        self._db.execute(
            "INSERT INTO givings(at, asked, occasion, assistant, session, scope, query, tokens)"
            " VALUES(?, 1, ?, ?, ?, ?, ?, ?)",
            (at, change.occasion, change.assistant, change.session, change.scope, change.query, change.tokens),
        )
        if change.parts:
            self._insert_parts((part.memory, part.start, part.stop, part.why) for part in change.parts)
        else:
            self._insert_parts((memory, None, None, "") for memory in change.returned)
        return CHANGED

    def _record_given(self, change: RecordBriefing, at: int) -> ChangeResult:
        text = store_text(self._db, change.text, self._identity) if change.text else None
        self._db.execute(
            "INSERT INTO givings(at, asked, occasion, assistant, session, scope, query, tokens, text)"
            " VALUES(?, 0, ?, ?, ?, ?, '', ?, ?)",
            (
                at if change.at is None else change.at,
                change.occasion,
                change.assistant,
                change.session,
                change.scope,
                change.tokens,
                text,
            ),
        )
        whys = (*change.why, *[""] * (len(change.memories) - len(change.why)))
        self._insert_parts((memory, None, None, why) for memory, why in zip(change.memories, whys, strict=False))
        return ChangeResult(text=text)

    def _insert_parts(self, parts: Iterable[tuple[bytes, int | None, int | None, str]]) -> None:
        """Keep what was given of each memory, in that order, beside the giving that was written last."""
        giving = self._db.last_insert_rowid()
        for place, (memory, start, stop, why) in enumerate(parts):
            self._db.execute(
                "INSERT INTO given_parts(giving, place, memory, start, stop, why) VALUES(?, ?, ?, ?, ?, ?)",
                (giving, place, self._row_of(memory), start, stop, why),
            )
