"""What every change is applied with, and what comes of it.

Below the other modules of this folder: each has functions that carry out one kind of change, and a table of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import apsw

from mnemic.actors.capture.changes import Relabel
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.errors import NoSuchMemory
from mnemic.actors.kernel.scope_paths import ScopeChange
from mnemic.actors.scopes.changes import RenameScope
from mnemic.actors.store.messages import AddOutcome
from mnemic.runtime.store.shape.rebind_queue import RebindQueue


class ChangeResult(NamedTuple):
    """What came of a change."""

    changed: bool = True
    """Whether anything did."""
    text: int | None = None
    """Row of the text it brought."""
    kept: AddOutcome | None = None
    """What an `AddMemory` became."""
    logged: Change | None = None
    """What the log says in place of the change: what it came to, so that it comes to the same again."""
    undo: ScopeChange | Relabel | None = None
    """What takes back a change of scopes or of labels."""
    before: tuple[RenameScope, ScopeChange] | None = None
    """A project that made way first, which the log says before it, and what takes that back."""


CHANGED = ChangeResult()
UNCHANGED = ChangeResult(changed=False)


class ApplyContext:
    """A connection within a transaction, which the caller holds."""

    def __init__(self, connection: apsw.Connection, identity: Callable[..., bytes]) -> None:
        """Write by a connection.

        Args:
            identity: the mind's keyed hash.
        """
        self.db = connection
        self.identity = identity
        self.rebind_queue = RebindQueue(connection)
        self.seq = 0
        """Number of the transaction."""
        self.is_replaying = False
        """Whether the log is carried out again: what it says was kept is kept."""

    def memory_row(self, memory: bytes) -> int:
        """The row of a memory's id.

        Raises:
            NoSuchMemory: it is not there.
        """
        row = self.db.execute("SELECT id FROM memories WHERE uuid = ?", (memory,)).get
        if row is None:
            raise NoSuchMemory.of(memory)
        return int(row)


Handler = Callable[[ApplyContext, Any, int], ChangeResult]
"""Carries out one change as of a system time, microseconds."""
