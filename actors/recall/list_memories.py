"""Showing: what the Retriever does where somebody wants to see what is there, as it is, and not what matters.

Snapshots read; here it is checked what is asked for, and what an assistant named itself is put into the log.
"""

from __future__ import annotations

import msgspec

from mnemic.actors.protocol.changes import RecordRecall, named_once
from mnemic.actors.protocol.contract import Context
from mnemic.actors.protocol.errors import InvalidValue
from mnemic.actors.protocol.events import KINDS, printable
from mnemic.actors.protocol.log_messages import (
    MOST_LISTED,
    CountUse,
    GivenListed,
    ListGiven,
    ListMemories,
    MemoriesListed,
    NoteGiven,
    ShowMemories,
    ShownMemories,
    UseCounted,
)
from mnemic.actors.protocol.messages import Apply
from mnemic.actors.protocol.scopes import scopes_below
from mnemic.actors.protocol.snapshot import Snapshot, SnapshotSource
from mnemic.actors.recall.hits import BYTES_A_TOKEN

__all__ = ["SHOWS", "Showing", "show"]

SHOWS = (ListMemories, ListGiven, ShowMemories, CountUse, NoteGiven)
"""The messages that are handled here."""
Showing = MemoriesListed | GivenListed | ShownMemories | UseCounted
"""What they are answered with."""

_MOST_WEEKS = 520
_ASKED_FOR = "get"


def show(
    message: ListMemories | ListGiven | ShowMemories | CountUse | NoteGiven, source: SnapshotSource, context: Context
) -> Showing | None:
    """List, show or count what is there.

    Raises:
        UnknownScope, InvalidValue, NoSuchMemory: what was asked for cannot be.
    """
    if isinstance(message, NoteGiven):
        _note(message, context)
        return None
    with source.snapshot() as snapshot:
        if isinstance(message, ListMemories):
            return _listed(message, snapshot)
        if isinstance(message, ListGiven):
            _check_page(message)
            session = None if message.session is None else printable(message.session)  # as it is kept
            asked = msgspec.structs.replace(message, scope=printable(message.scope), session=session)
            return snapshot.givings(asked)
        if isinstance(message, ShowMemories):
            return ShownMemories(memories=tuple(snapshot.shown(row) for row in snapshot.rows_of(message.ids)))
        if not 1 <= message.weeks <= _MOST_WEEKS:
            raise InvalidValue(
                name="weeks", value=message.weeks, why="it is no such number", expected=f"1 to {_MOST_WEEKS}"
            )
        return snapshot.use(message, context.now)


def _listed(message: ListMemories, snapshot: Snapshot) -> MemoriesListed:
    _check_page(message)
    unknown = next((kind for kind in message.kinds if kind not in KINDS), None)
    if unknown is not None:
        raise InvalidValue(
            name="a kind", value=unknown, why="it is not known", expected=f"one or more of {', '.join(KINDS)}"
        )
    if message.text_bytes < 0:
        raise InvalidValue(name="text_bytes", value=message.text_bytes, why="it is less than 0", expected="0 or more")
    scopes = None if message.scope == "*" else scopes_below(snapshot, message.scope)
    sessions = None if message.session is None else snapshot.session_numbers(printable(message.session))
    return snapshot.listed(message, scopes, sessions)


def _check_page(message: ListMemories | ListGiven) -> None:
    if not 1 <= message.limit <= MOST_LISTED:
        raise InvalidValue(
            name="the number of entries",
            value=message.limit,
            why="it is no such number",
            expected=f"1 to {MOST_LISTED}",
        )


def _note(message: NoteGiven, context: Context) -> None:
    size = sum(part.stop - part.start for part in message.parts)
    record = RecordRecall(
        query="",
        scope="*",
        returned=tuple(dict.fromkeys(part.memory for part in message.parts)),
        assistant=str(printable(message.assistant)),
        session=str(printable(message.session)),
        parts=message.parts,
        tokens=-(-size // BYTES_A_TOKEN),
        occasion=_ASKED_FOR,
    )
    named = (b"%s %d %d" % (part.memory, part.start, part.stop) for part in message.parts)
    key = named_once("note", context.trace, record.assistant.encode(), record.session.encode(), *named)
    context.tell(Apply(changes=(record,), key=key, author="retriever", run=context.trace))
