"""Handles `Forget`, `Recover` and `ForgetSelection`: hides memories from recall, or shows them again.

It is Capture's, because it changes what is kept on somebody's word, as a correction does. Nothing is lost: the Store
hides the memories (`Retire`) or shows them again (`Unretire`), in one transaction, and the Retriever says what they
are. All that a selection holds is hidden in one, so that its time says what was hidden together: what takes it back
goes by that time, and leaves alone what was forgotten before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mnemic.actors.capture.forget_messages import (
    Forget,
    ForgetSelection,
    Forgotten,
    Recover,
    Retirement,
    Selection,
    SelectionForgotten,
)
from mnemic.actors.capture.labels import taken_back
from mnemic.actors.capture.prepare import apply_changes
from mnemic.actors.index.hits import excerpt
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import InvalidValue, UnknownNight
from mnemic.actors.kernel.events import escape_surrogates
from mnemic.actors.kernel.message import Message, idempotency_key
from mnemic.actors.kernel.snapshot import SnapshotSource
from mnemic.actors.log.changes import Retire, Unretire
from mnemic.actors.recall.messages import GetMemories, Memory
from mnemic.actors.sleep.changes import NIGHTS_KEPT, TakeBackNights
from mnemic.actors.sleep.messages import ListNights, NightsUndone, UndoNights
from mnemic.actors.store.messages import Apply

REASON_BYTES = 4096
"""The longest reason that is kept."""
_SHOWN_BYTES = 200
_NIGHTS = 1_000


def forget(message: Forget | Recover, _: SnapshotSource, context: Context) -> Forgotten:
    """Hide memories, or show them again: all that are named, or none.

    Raises:
        NoSuchMemory: one of them is not there; nothing was changed.
        InvalidValue: none is named, or the reason is too long.
        StoreError: nothing was changed.
    """
    ids = tuple(dict.fromkeys(message.ids))
    if not ids:
        raise InvalidValue(name="ids", value="", why="no memory is named", expected="one or more ids")
    applied = _apply(ids, message.reason if isinstance(message, Forget) else None, context)
    found = context.ask(GetMemories(ids=ids))
    pairs = zip(found.memories, applied, strict=True)
    return Forgotten(memories=tuple(_retirement(memory, changed) for memory, changed in pairs))


def undo_nights(message: UndoNights, snapshots: SnapshotSource, context: Context) -> NightsUndone:
    """Take back a night and every later one, and what labels they gave.

    Raises:
        UnknownNight: that night does not stand, or is too long ago.
        StoreError: nothing was changed.
    """
    nights = context.ask(ListNights(k=_NIGHTS)).nights
    standing = [one.id for one in nights if one.undone_at is None]
    first = standing[0] if message.id is None and standing else message.id
    if first is None:
        raise UnknownNight(id="to take back", which="")
    if first not in standing or first <= nights[0].id - NIGHTS_KEPT:  # before labels are taken back for nothing
        raise UnknownNight(id=first, which=f" that stands, among the last {NIGHTS_KEPT}")
    with snapshots.snapshot() as snapshot:
        relabelled = snapshot.relabelled_since(first)
        memories = {one.memory for given, _ in relabelled for one in given.labels}
        parts = taken_back(relabelled, snapshot.current_labels(sorted(memories)))
    # The night goes with the last part: whoever is stopped before that takes back the rest of it the next time.
    steps: list[tuple[Change, ...]] = [*((part,) for part in parts[:-1]), (*parts[-1:], TakeBackNights(night=first))]
    for number, changes in enumerate(steps):
        key = idempotency_key("undo", context.trace, b"%d" % first, b"%d" % number)
        context.ask(Apply(changes=changes, key=key, author="capture", run=context.trace))
    return NightsUndone(nights=tuple(one for one in standing if one >= first))


def _apply(ids: Sequence[bytes], reason: str | None, context: Context) -> tuple[bool, ...]:
    """Hide memories for a reason, or without one show them again; says which stood otherwise before."""
    written = str(escape_surrogates(reason or ""))
    if len(written.encode()) > REASON_BYTES:
        value, expected = f"{written[:20]}…", f"at most {REASON_BYTES} bytes"
        raise InvalidValue(name="the reason", value=value, why="it is too long", expected=expected)
    if reason is None:
        changes: list[Change] = [Unretire(memory=memory) for memory in ids]
    else:
        changes = [Retire(memory=memory, reason=written) for memory in ids]
    key = idempotency_key("recover" if reason is None else "forget", context.trace, *ids, written.encode())
    return apply_changes(changes, key, context).changed if ids else ()


def _retirement(memory: Memory, changed: bool) -> Retirement:
    return Retirement(
        id=memory.id,
        changed=changed,
        retired_at=memory.retired_at,
        reason=memory.retired_reason,
        data=excerpt(memory.data, _SHOWN_BYTES, 0, ())[0],
        size_bytes=len(memory.data),
        kind=memory.kind,
        role=memory.role,
        speaker=memory.speaker,
        session=memory.session,
        scope=memory.scope,
        said_at=memory.said_at,
    )


def forget_selection(message: ForgetSelection, snapshots: SnapshotSource, context: Context) -> SelectionForgotten:
    """Hide all memories of a selection, or show them again.

    Raises:
        NoSuchMemory, UnknownScope, UnknownSession, InvalidValue: nothing was changed.
        StoreError: nothing was changed.
    """
    if message.selection.empty:
        raise InvalidValue(
            name="the selection", value="", why="nothing says which memories", expected="ids, a scope or a time"
        )
    with snapshots.snapshot() as snapshot:
        ids = snapshot.selected_ids(message.selection)
    changed = _apply(ids, None if message.restore else message.reason, context)
    at = None
    if any(changed) and not message.restore:
        one = next(memory for memory, did in zip(ids, changed, strict=True) if did)
        with snapshots.snapshot() as snapshot:
            at = snapshot.survey(Selection(ids=(one,)), 1).first[0].retired_at
    return SelectionForgotten(changed=sum(changed), unchanged=len(changed) - sum(changed), at=at)


FORGET_MESSAGES: Mapping[type, Callable[[Any, SnapshotSource, Context], Message]] = {
    Forget: forget,
    Recover: forget,
    ForgetSelection: forget_selection,
    UndoNights: undo_nights,
}
"""The messages that are handled here, with what answers each."""
