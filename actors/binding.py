"""Binding: memories with what stands around them become records, and records hypervectors. No I/O, no message.

`mnemic.actors.binder` above has it done and kept; `mnemic.actors.features` reads the records, `mnemic.hd` encodes them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from mnemic.actors.causes import raised_at
from mnemic.actors.changes import AddCodes, Code
from mnemic.actors.features import Extract, features
from mnemic.actors.snapshot import Unbound
from mnemic.hd.algebra import Algebra
from mnemic.hd.encoders import Encoders
from mnemic.hd.records import Record
from mnemic.hd.roles import Tier
from mnemic.hd.space import Space

__all__ = ["Binding"]

_encode = msgspec.msgpack.Encoder().encode
_log = logging.getLogger("mnemic.binder")


class Binding:
    """Binds memories in one space. Not for use by two threads at once."""

    def __init__(self, space: Space, algebra: Algebra, extract: Extract, topics: int) -> None:
        """Choose how.

        Args:
            extract: finds triples in a text.
            topics: at most so many key phrases of a text are bound.
        """
        self.space = space
        self._roles = frozenset(space.roles)
        self._encoders = Encoders(space, algebra)
        self._extract = extract
        self._topics = topics
        self._unread: set[bytes] = set()  # of those that are bound just now

    def bound(self, memories: Sequence[Unbound], seq: int) -> AddCodes:
        """What is to be kept of some memories that were read at a `seq` of the log.

        One whose facts cannot be found has none, and one whose fillers of somebody's own roles cannot be found has none
        of those; one that cannot be read or encoded has no hypervector at all. The log says so, the change names them,
        and no other one is held up.
        """
        self._unread = set()
        read = [self._read(one) for one in memories]
        try:
            codes = self._encoders.records([record for own in read for _, record in own])
        except Exception as error:  # whatever a stranger's encoder does: which memory it is, each alone tells
            _log.warning("some of %d memories cannot be bound together: %s", len(memories), type(error).__name__)
            read = [self._sound(one, own) for one, own in zip(memories, read, strict=True)]
            codes = self._encoders.records([record for own in read for _, record in own])
        return AddCodes(
            stamp=self.space.stamp,
            seq=seq,
            memories=tuple(one.memory.id for one in memories),
            items=_encode([[_code(tier, record) for tier, record in own] for own in read]),
            codes=codes.astype("<u8", copy=False).tobytes(),
            unread=tuple(one.memory.id for one in memories if one.memory.id in self._unread),
        )

    def _read(self, unbound: Unbound) -> list[tuple[Tier, Record]]:
        def lost(what: str, error: Exception) -> None:
            self._unread.add(unbound.memory.id)
            why = _why("finding them", error)
            _log.warning("memory %s is bound without %s: %s", unbound.memory.id.hex(), what, why)

        try:
            return features(unbound, self._roles, self._topics, self._extract, lost)
        except Exception as error:
            self._unread.add(unbound.memory.id)
            _unbound(unbound, "reading it", error)
            return []

    def _sound(self, unbound: Unbound, own: list[tuple[Tier, Record]]) -> list[tuple[Tier, Record]]:
        """The same records, if they can be bound."""
        try:
            self._encoders.records([record for _, record in own])
        except Exception as error:
            self._unread.add(unbound.memory.id)
            _unbound(unbound, "encoding it", error)
            return []
        return own


def _unbound(unbound: Unbound, step: str, error: Exception) -> None:
    _log.warning("memory %s is not bound: %s", unbound.memory.id.hex(), _why(step, error))


def _why(step: str, error: Exception) -> str:
    """What failed: by its kind and its place in the code, since its own words may quote the memory."""
    return f"{step} failed ({type(error).__name__} at {raised_at(error)})"


def _code(tier: Tier, record: Record) -> Code:
    named = ((pair.role, pair.filler) for pair in record if isinstance(pair.filler, str))
    return Code(tier=tier, pairs=len(record), fillers=tuple(dict.fromkeys(named)))
