"""The Store actor: the only writer; applies each batch of changes in one transaction and announces the commit."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from mnemic.actors.communities.changes import SetCommunities
from mnemic.actors.communities.messages import CommunitiesChanged
from mnemic.actors.kernel.contract import CONTRACT, Context, Setting
from mnemic.actors.kernel.ports import Ports, StorePort
from mnemic.actors.log.changes import AddMemory, Retire, Unretire
from mnemic.actors.meaning.changes import AddVectors, DropEncoder
from mnemic.actors.scopes.changes import MergeScopes, RenameScope, SplitScope
from mnemic.actors.shape.messages import VectorsChanged
from mnemic.actors.store.messages import Applied, Apply, Checkpoint, Checkpointed, Committed, Rebuild, Rebuilt

_TO_EMBED = (AddMemory, Unretire)
_TO_BIND = (AddVectors, DropEncoder, Retire, RenameScope, MergeScopes, SplitScope)


class StoreActor:
    """The single writer."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Apply, Rebuild, Checkpoint)
    settings: ClassVar[tuple[Setting, ...]] = ()
    pinned: ClassVar[bool] = True

    def __init__(self, store: StorePort) -> None:
        self._store = store

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Open the store for writing."""
        return cls(ports.open_store())

    def handle(self, message: Any, context: Context) -> Applied | Rebuilt | Checkpointed:
        """Apply changes, rebuild, or have the write-ahead log taken over.

        Raises: the errors of the store; nothing was changed then.
        """
        if isinstance(message, Rebuild):
            seq = self._store.rebuild(context.progress, meaning=message.meaning)
            context.tell(Committed(seq=seq))
            return Rebuilt(seq=seq)
        if isinstance(message, Checkpoint):
            return Checkpointed(complete=self._store.checkpoint())
        # The time of keeping, not of asking: who asks for an earlier time must not see it appear there later.
        applied = self._store.apply(
            message.changes, at=context.clock.now_us(), key=message.key, author=message.author, run=message.run
        )
        if any(isinstance(change, _TO_EMBED) for change in message.changes):  # there may be more to embed
            context.tell(Committed(seq=applied.seq))
        elif any(isinstance(change, _TO_BIND) for change in message.changes):
            context.tell(VectorsChanged(seq=applied.seq))
        if any(isinstance(change, SetCommunities) for change in message.changes):
            context.tell(CommunitiesChanged(seq=applied.seq))
        return applied

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()
