"""The Store actor: carries out changes, one transaction each, and says that something was committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Protocol

from mnemic.actors.changes import AddMemory, Change
from mnemic.actors.contract import CONTRACT, Context, Setting
from mnemic.actors.messages import Applied, Apply, Committed, Rebuild, Rebuilt

__all__ = ["StoreActor", "StorePort"]


class StorePort(Protocol):
    """The store itself; see `mnemic.runtime.store.Store`."""

    def apply(self, changes: Iterable[Change], *, at: int, key: bytes, author: str, run: str) -> Applied:
        """Carry out changes in one transaction."""
        ...

    def rebuild(self, progress: Callable[[int, int | None], None], *, meaning: bool) -> int:
        """Make what is derived again."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


class StoreActor:
    """The single writer."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Apply, Rebuild)
    settings: ClassVar[tuple[Setting, ...]] = ()

    def __init__(self, store: StorePort) -> None:
        self._store = store

    def handle(self, message: Any, context: Context) -> Applied | Rebuilt:
        """Apply changes, or rebuild.

        Raises: the errors of the store; nothing was changed then.
        """
        if isinstance(message, Rebuild):
            seq = self._store.rebuild(context.progress, meaning=message.meaning)
            context.tell(Committed(seq=seq))
            return Rebuilt(seq=seq)
        # The time of keeping, not of asking: who asks for an earlier time must not see it appear there later.
        applied = self._store.apply(
            message.changes, at=context.clock.now_us(), key=message.key, author=message.author, run=message.run
        )
        if any(isinstance(change, AddMemory) for change in message.changes):
            context.tell(Committed(seq=applied.seq))
        return applied

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()
