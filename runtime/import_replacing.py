"""What replaces what, where two minds say it of the same memory: the later correction stands, in both of them.

A link that was made is never taken out. Where a memory is replaced by one thing here and by another there, what was
said earlier is replaced by what was said later, from the time of that on; of one time, the higher id stands. So both
minds come to the same end, whichever is imported into the other first. Part of `mnemic.runtime.importing`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import apsw

from mnemic.actors.changes import Supersede

__all__ = ["Replacing", "replacing", "stands_for"]


class Replacing(NamedTuple):
    """What is to be done so that it is so here."""

    change: Supersede | None
    """The change; nothing where it is so already, or cannot be."""
    at: int
    """Since when."""
    apart: bytes | None = None
    """What gives way, where both minds said something else of the same memory."""
    contrary: bool = False
    """Whether it cannot be: here the one that it would replace stands for the other one."""


class _Link(NamedTuple):
    id: bytes
    """A memory in the chain."""
    at: int
    """When what comes before it was replaced by it; 0 of the first."""


def replacing(connection: apsw.Connection, old: bytes, new: bytes, at: int) -> Replacing:
    """Decide what an export that says ``old`` is replaced by ``new`` since `at` means here."""
    chain, other = _chain(connection, old), _chain(connection, new)
    here, there = chain[-1].id, other[-1].id
    if here == there:
        return Replacing(None, at, contrary=here == old)
    if len(chain) == 1:
        return Replacing(Supersede(old=old, new=new), at)
    said_here, said_there = max(link.at for link in chain), max(at, *(link.at for link in other))
    if (said_here, here) > (said_there, there):
        return Replacing(Supersede(old=there, new=here), said_here, apart=there)
    return Replacing(Supersede(old=here, new=there), said_there, apart=here)


def stands_for(connection: apsw.Connection, memory: bytes) -> bytes:
    """What the chain of a memory ends with."""
    return _chain(connection, memory)[-1].id


def _chain(connection: apsw.Connection, memory: bytes) -> list[_Link]:
    """The memory, what replaces it, what replaces that, to the one that holds."""
    found: list[Any] = connection.execute(
        "WITH RECURSIVE chain(uuid, at, next, next_at, place) AS ("
        " SELECT uuid, 0, superseded_by, superseded_at, 0 FROM memories WHERE uuid = ?"
        " UNION ALL SELECT m.uuid, chain.next_at, m.superseded_by, m.superseded_at, place + 1"
        " FROM chain JOIN memories m ON m.id = chain.next)"
        " SELECT uuid, at FROM chain ORDER BY place",
        (memory,),
    ).fetchall()
    return [_Link(uuid, at) for uuid, at in found]
