"""Forgetting: what the Capture actor does for `Forget` and `Recover`.

It is Capture's, because it changes what is kept on somebody's word, as a correction does. Nothing is lost: the Store
hides the memories (`Retire`) or shows them again (`Restore`), in one transaction, and the Retriever says what they are.
"""

from __future__ import annotations

from mnemic.actors.changes import Change, Restore, Retire, named_once
from mnemic.actors.contract import Context
from mnemic.actors.errors import InvalidValue
from mnemic.actors.events import printable
from mnemic.actors.excerpts import excerpt
from mnemic.actors.messages import Applied, Apply, Forget, Forgotten, GetMemories, Memories, Memory, Recover, Retirement

__all__ = ["REASON_BYTES", "checked_reason", "forget"]

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
        changes = tuple(Restore(memory=memory) for memory in ids)
    told = (message.reason.encode("utf-8", "surrogatepass"),) if isinstance(message, Forget) else ()
    key = named_once(type(message).__name__.lower(), context.trace, *ids, *told)
    applied = context.ask(Apply(changes=changes, key=key, author="capture", run=context.trace))
    found = context.ask(GetMemories(ids=ids))
    assert isinstance(applied, Applied)
    assert isinstance(found, Memories)
    pairs = zip(found.memories, applied.changed, strict=True)
    return Forgotten(memories=tuple(_retirement(memory, changed) for memory, changed in pairs))


def checked_reason(reason: str) -> str:
    """A reason as it is kept.

    Raises:
        InvalidValue: it is too long.
    """
    written = str(printable(reason))
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
        text=excerpt(memory.text, _SHOWN_BYTES, 0, ())[0],
        size_bytes=len(memory.text),
        kind=memory.kind,
        role=memory.role,
        speaker=memory.speaker,
        session=memory.session,
        scope=memory.scope,
        said_at=memory.said_at,
    )
