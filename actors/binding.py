"""Binding: memories with what stands around them become records, and records hypervectors. No I/O, no message.

`mnemic.actors.binder` above has it done and kept; `mnemic.actors.features` reads the records, `mnemic.hd` encodes them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

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

    def bound(self, memories: Sequence[Unbound], seq: int) -> AddCodes:
        """What is to be kept of some memories that were read at a `seq` of the log.

        One that cannot be read or encoded has no hypervector, and the log says so; it holds up no other one.
        """
        read = [self._read(one) for one in memories]
        try:
            codes = self._encoders.records([record for own in read for _, record in own])
        except ValueError as error:  # a stranger's role or encoder, say: which memory it is, each alone tells
            _log.warning("some of %d memories cannot be bound together: %s", len(memories), type(error).__name__)
            read = [self._sound(one, own) for one, own in zip(memories, read, strict=True)]
            codes = self._encoders.records([record for own in read for _, record in own])
        return AddCodes(
            stamp=self.space.stamp,
            seq=seq,
            memories=tuple(one.memory.id for one in memories),
            items=_encode([[_code(tier, record) for tier, record in own] for own in read]),
            codes=codes.astype("<u8", copy=False).tobytes(),
        )

    def _read(self, unbound: Unbound) -> list[tuple[Tier, Record]]:
        try:
            found = features(unbound, self._roles, self._topics, self._extract)
        except Exception as error:  # whatever a stranger's extractor does with a text
            _unbound(unbound, "reading", error)
            return []
        return [(tier, record) for tier, record in found if record]

    def _sound(self, unbound: Unbound, own: list[tuple[Tier, Record]]) -> list[tuple[Tier, Record]]:
        """The same records, if they can be bound."""
        try:
            self._encoders.records([record for _, record in own])
        except ValueError as error:
            _unbound(unbound, "encoding", error)
            return []
        return own


def _unbound(unbound: Unbound, step: str, error: Exception) -> None:
    """Say what failed: by its kind, since its own words may quote the memory."""
    _log.warning("memory %s is not bound: %s it failed (%s)", unbound.memory.id.hex(), step, type(error).__name__)


def _code(tier: Tier, record: Record) -> Code:
    named = ((pair.role, pair.filler) for pair in record if isinstance(pair.filler, str))
    return Code(tier=tier, pairs=len(record), fillers=tuple(dict.fromkeys(named)))
