"""Handles `Forget` and `Recover`: hides named memories from recall, or shows them again.

It is Capture's, because it changes what is kept on somebody's word, as a correction does. Nothing is lost: the Store
hides the memories (`Retire`) or shows them again (`Unretire`), in one transaction, and the Retriever says what they
are.

Forgetting many at once: what the Capture actor does for `ForgetSelection`.

All that a selection holds is hidden in one transaction, so that its time says what was hidden together: what takes it
back goes by that time, and leaves alone what was forgotten before.
"""

from __future__ import annotations

from mnemic.actors.capture.prepare import apply_changes
from mnemic.actors.protocol.changes import Change, Retire, Unretire, idempotency_key
from mnemic.actors.protocol.contract import Context
from mnemic.actors.protocol.errors import InvalidValue
from mnemic.actors.protocol.events import escape_surrogates
from mnemic.actors.protocol.messages import (
    Apply,
    Forget,
    Forgotten,
    GetMemories,
    Memory,
    Recover,
    Retirement,
)
from mnemic.actors.protocol.scopes import ForgetSelection, Selection, SelectionForgotten
from mnemic.actors.protocol.snapshot import Snapshots
from mnemic.actors.recall.hits import excerpt

__all__ = ["REASON_BYTES", "checked_reason", "forget", "forget_selection"]

REASON_BYTES = 4096
"""The longest reason that is kept."""
_SHOWN_BYTES = 200


def forget(message: Forget | Recover, context: Context) -> Forgotten:
    """Hide memories, or show them again: all that are named, or none.

    Raises:
        NoSuchMemory: one of them is not there; nothing was changed.
        InvalidValue: none is named, or the reason is too long.
        StoreError: nothing was changed.
    """
    ids = tuple(dict.fromkeys(message.ids))
    if not ids:
        raise InvalidValue(name="ids", value="", why="no memory is named", expected="one or more ids")
    changes: tuple[Change, ...]
    if isinstance(message, Forget):
        reason = checked_reason(message.reason)
        changes = tuple(Retire(memory=memory, reason=reason) for memory in ids)
    else:
        changes = tuple(Unretire(memory=memory) for memory in ids)
    told = (message.reason.encode("utf-8", "surrogatepass"),) if isinstance(message, Forget) else ()
    key = idempotency_key(type(message).__name__.lower(), context.trace, *ids, *told)
    applied = context.ask(Apply(changes=changes, key=key, author="capture", run=context.trace))
    found = context.ask(GetMemories(ids=ids))
    pairs = zip(found.memories, applied.changed, strict=True)
    return Forgotten(memories=tuple(_retirement(memory, changed) for memory, changed in pairs))


def checked_reason(reason: str) -> str:
    """A reason as it is kept.

    Raises:
        InvalidValue: it is too long.
    """
    written = str(escape_surrogates(reason))
    if len(written.encode()) > REASON_BYTES:
        raise InvalidValue(
            name="the reason",
            value=f"{written[:20]}…",
            why="it is too long",
            expected=f"at most {REASON_BYTES} bytes",
        )
    return written


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


def forget_selection(message: ForgetSelection, snapshots: Snapshots, context: Context) -> SelectionForgotten:
    """Hide all memories of a selection, or show them again.

    Raises:
        NoSuchMemory, UnknownScope, InvalidValue: nothing was changed.
        StoreError: nothing was changed.
    """
    if message.selection.empty:
        raise InvalidValue(
            name="the selection", value="", why="nothing says which memories", expected="ids, a scope or a time"
        )
    with snapshots.snapshot() as snapshot:
        ids = snapshot.selected_ids(message.selection)
    reason = checked_reason(message.reason)
    changes: tuple[Change, ...]
    if message.restore:
        changes = tuple(Unretire(memory=memory) for memory in ids)
    else:
        changes = tuple(Retire(memory=memory, reason=reason) for memory in ids)
    verb = "restore" if message.restore else "sweep"
    changed = (
        apply_changes(changes, idempotency_key(verb, context.trace, *ids, reason.encode()), context).changed
        if ids
        else ()
    )
    at = None
    if any(changed) and not message.restore:
        one = next(memory for memory, did in zip(ids, changed, strict=True) if did)
        with snapshots.snapshot() as snapshot:
            at = snapshot.survey(Selection(ids=(one,)), 1).first[0].retired_at
    return SelectionForgotten(changed=sum(changed), unchanged=len(changed) - sum(changed), at=at)
