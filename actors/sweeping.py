"""Forgetting many at once: what the Capture actor does for `Sweep`. Beside `mnemic.actors.forgetting`.

All that a selection holds is hidden in one transaction, so that its time says what was hidden together: what takes it
back goes by that time, and leaves alone what was forgotten before.
"""

from __future__ import annotations

from mnemic.actors.changes import Change, Restore, Retire, named_once
from mnemic.actors.contract import Context
from mnemic.actors.errors import InvalidValue
from mnemic.actors.forgetting import checked_reason
from mnemic.actors.keeping import keep
from mnemic.actors.selecting import Selection, Sweep, Swept
from mnemic.actors.snapshot import Snapshots

__all__ = ["sweep"]


def sweep(message: Sweep, snapshots: Snapshots, context: Context) -> Swept:
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
        ids = snapshot.selected(message.selection)
    reason = checked_reason(message.reason)
    changes: tuple[Change, ...]
    if message.restore:
        changes = tuple(Restore(memory=memory) for memory in ids)
    else:
        changes = tuple(Retire(memory=memory, reason=reason) for memory in ids)
    verb = "restore" if message.restore else "sweep"
    changed = keep(changes, named_once(verb, context.trace, *ids, reason.encode()), context).changed if ids else ()
    at = None
    if any(changed) and not message.restore:
        one = next(memory for memory, did in zip(ids, changed, strict=True) if did)
        with snapshots.snapshot() as snapshot:
            at = snapshot.survey(Selection(ids=(one,)), 1).first[0].retired_at
    return Swept(changed=sum(changed), unchanged=len(changed) - sum(changed), at=at)
