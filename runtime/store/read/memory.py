"""One memory in full: its origin, its replacements, its neighbours, how often it was given.

Part of `mnemic.runtime.store.read.reader.StoreSnapshot`.
"""

from __future__ import annotations

from typing import Any

import apsw
import msgspec

from mnemic.actors.protocol.changes import AddMemory, Logged
from mnemic.actors.protocol.log_messages import DeliveryCount, MemoryDetail, RelatedMemory
from mnemic.actors.protocol.messages import Memory
from mnemic.runtime.store.schema import SAID_OR_KEPT
from mnemic.runtime.store.texts import text_prefix

__all__ = ["read_memory_details"]

_LINK_BYTES = 200
_MOST_LINKS = 100
_decode = msgspec.msgpack.Decoder(Logged).decode


def read_memory_details(connection: apsw.Connection, row: int, memory: Memory) -> MemoryDetail:
    """A memory with all that belongs to it.

    Args:
        memory: as it is kept.
    """
    session, at, text, mode = next(
        connection.execute(
            f"SELECT m.session, {SAID_OR_KEPT}, m.text, s.mode"
            " FROM memories m JOIN sessions s ON s.id = m.session"
            " WHERE m.id = ?",
            (row,),
        )
    )
    seq, author, run, machine, code = _log_entry(connection, text, memory.id)
    scrubbed: list[Any] = connection.execute(
        "SELECT type, count FROM scrubbed WHERE memory = ? ORDER BY type", (row,)
    ).fetchall()
    return MemoryDetail(
        memory=memory,
        mode=mode,
        seq=seq,
        author=author,
        run=run,
        machine=machine,
        code=code,
        scrubbed=dict(scrubbed),
        original=connection.execute("SELECT 1 FROM originals WHERE memory = ?", (row,)).get is not None,
        newer=_successors(connection, row),
        older=_predecessors(connection, row),
        previous=_neighbour(connection, session, at, row, "<", "DESC"),
        next=_neighbour(connection, session, at, row, ">", "ASC"),
        uses=_uses(connection, row),
    )


def _log_entry(connection: apsw.Connection, text: int, memory: bytes) -> tuple[Any, ...]:
    """The row of the log that keeps a memory, and what is known of its transaction."""
    rows: list[Any] = connection.execute(
        "SELECT l.seq, a.author, a.run, a.machine, a.code, l.change FROM log l JOIN applies a ON a.seq = l.seq"
        " WHERE l.text = ? AND instr(l.change, ?) ORDER BY l.seq",
        (text, memory),
    ).fetchall()
    for *known, encoded in rows:
        change = _decode(encoded)
        if isinstance(change, AddMemory) and change.id == memory:
            return tuple(known)
    return (None,) * 5


def _successors(connection: apsw.Connection, row: int) -> tuple[RelatedMemory, ...]:
    found: list[RelatedMemory] = []
    while len(found) < _MOST_LINKS:
        newer, since = next(
            connection.execute("SELECT superseded_by, superseded_at FROM memories WHERE id = ?", (row,))
        )
        if newer is None:
            break
        found.append(_link(connection, newer, since))
        row = newer
    return tuple(found)


def _predecessors(connection: apsw.Connection, row: int) -> tuple[RelatedMemory, ...]:
    rows: list[Any] = connection.execute(
        "SELECT id, superseded_at FROM memories WHERE superseded_by = ? ORDER BY superseded_at DESC, id DESC LIMIT ?",
        (row, _MOST_LINKS),
    ).fetchall()
    return tuple(_link(connection, older, since) for older, since in rows)


def _link(connection: apsw.Connection, row: int, since: int | None) -> RelatedMemory:
    uuid, at, retired_at, text = next(
        connection.execute(f"SELECT uuid, {SAID_OR_KEPT}, retired_at, text FROM memories WHERE id = ?", (row,))
    )
    start, size = text_prefix(connection, text, _LINK_BYTES)
    return RelatedMemory(id=uuid, at=at, since=since, retired_at=retired_at, data=start, size_bytes=size)


def _neighbour(connection: apsw.Connection, session: int, at: int, row: int, side: str, order: str) -> bytes | None:
    found = connection.execute(
        f"SELECT uuid FROM memories WHERE session = ? AND ({SAID_OR_KEPT}, id) {side} (?, ?)"
        f" ORDER BY {SAID_OR_KEPT} {order}, id {order} LIMIT 1",
        (session, at, row),
    ).get
    return None if found is None else bytes(found)


def _uses(connection: apsw.Connection, row: int) -> tuple[DeliveryCount, ...]:
    rows: list[Any] = connection.execute(
        "SELECT g.occasion, g.assistant = '', count(DISTINCT g.id), max(g.at) FROM given_parts p"
        " JOIN givings g ON g.id = p.giving WHERE p.memory = ? GROUP BY 1, 2 ORDER BY 4 DESC, 1, 2",
        (row,),
    ).fetchall()
    return tuple(
        DeliveryCount(occasion=occasion, own=bool(own), times=times, last_at=last_at)
        for occasion, own, times, last_at in rows
    )
