"""Tombstones: keyed hashes of erased memories, so that they are not captured again and the log replays.

Below `mnemic.runtime.store.apply.memories`; `mnemic.runtime.transfer.erase` erases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw

from mnemic.actors.protocol.changes import AddMemory, RedactedChange, ScopeRef, Tombstone
from mnemic.actors.protocol.events import to_text
from mnemic.runtime.store.apply.spool import CHANGED, ChangeResult
from mnemic.runtime.store.supersession import set_successor

__all__ = ["TombstoneApplier", "next_memory_row", "text_tombstone"]

_KINDS_WITH_IDS = ("tool_call", "tool_result")
"""Kinds that hosts give ids: one of them that is said once more is another one, and is kept."""
_HOSTS_WITHOUT_IDS = ("gemini-cli",)
"""Hosts that give them none: their calls are told apart by their words, as everything else is."""


class TombstoneApplier:
    """Carries out changes on a connection, within a transaction that the caller holds."""

    def __init__(
        self,
        connection: apsw.Connection,
        identity: Callable[..., bytes],
        row_of: Callable[[bytes], int],
        make_scope: Callable[[ScopeRef], object],
    ) -> None:
        """Write by a connection.

        Args:
            identity: the mind's keyed hash.
            row_of: finds the row of a memory's id, or raises `NoSuchMemory`.
            make_scope: makes the scope of a place, where it is not there.
        """
        self._db = connection
        self._identity = identity
        self._row_of = row_of
        self._make_scope = make_scope
        self.handlers: dict[type, Callable[[Any, int], ChangeResult]] = {
            Tombstone: self._add_tombstone,
            RedactedChange: self._relink,
        }

    def is_erased(self, change: AddMemory) -> bool:
        """Whether a memory that is to be added was erased, so that it is not kept again."""
        return (
            self._db.execute(
                "SELECT 1 FROM erased WHERE identity = ? OR identity = ? LIMIT 1",
                (change.identity, text_tombstone(change, self._identity) or change.identity),
            ).get
            is not None
        )

    def _add_tombstone(self, change: Tombstone, at: int) -> ChangeResult:
        self._db.execute("INSERT OR IGNORE INTO erased(identity) VALUES(?)", (change.identity,))
        is_new = bool(self._db.changes())
        self._db.execute("UPDATE erased_rows SET last = max(last, ?)", (change.row,))
        if change.place is not None:
            self._make_scope(change.place)
        return ChangeResult(changed=is_new)

    def _relink(self, change: RedactedChange, at: int) -> ChangeResult:
        for old, new in change.links:
            set_successor(self._db, self._row_of(old), self._row_of(new), at)
        return CHANGED


def text_tombstone(memory: Any, identity: Callable[..., bytes]) -> bytes | None:
    """A keyed hash of the words of a memory in its session; ``None`` for what is told apart by its host's ids alone.

    A host that gives no ids may tell the same words again, from a spool file that was put back, say, and they are
    counted as said once more; so of what was erased the words themselves are known too, in that session.

    Args:
        memory: what has the fields of `AddMemory` that say who said it, and its text.
    """
    if memory.kind in _KINDS_WITH_IDS and memory.assistant not in _HOSTS_WITHOUT_IDS:
        return None
    who = (memory.assistant, memory.session, memory.kind, memory.role)
    said = to_text(memory.text).strip().encode("utf-8", "surrogatepass")
    return identity(b"erased", *(part.encode("utf-8", "surrogatepass") for part in who), said)


def next_memory_row(connection: apsw.Connection) -> int:
    """The row that the next memory gets: after all that are there, and all that were erased."""
    return int(
        connection.execute(
            "SELECT 1 + max(coalesce((SELECT max(id) FROM memories), 0), (SELECT last FROM erased_rows))"
        ).get
    )
