"""Encodes a batch of memories as hypervectors and returns the change that stores them. No I/O, no messages.

`mnemic.actors.shape.binder` above has it done and kept; `mnemic.actors.shape.features` reads the records, `mnemic.hd`
encodes them. Here stands too what the settings ask for: the Binder binds as they say, and the Retriever tells whoever
asks while they say otherwise than what is bound.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mnemic.actors.kernel.contract import raise_location
from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.shape.changes import AddCodes, CodeInfo
from mnemic.actors.shape.features import EXTRACTION_VERSION, extract_records
from mnemic.actors.shape.ports import TripleExtractor
from mnemic.actors.shape.queries import SpaceRow, Unbound
from mnemic.hd.algebra import BACKENDS, Algebra, algebra_named
from mnemic.hd.encoders import RecordEncoder
from mnemic.hd.records import Record
from mnemic.hd.roles import ROLES, Tier
from mnemic.hd.space import Space

_encode = msgspec.msgpack.Encoder().encode
_log = logging.getLogger("mnemic.binder")


class RecordBinder:
    """Binds memories in one space. Not for use by two threads at once."""

    def __init__(self, space: Space, algebra: Algebra, extract: TripleExtractor, topics: int) -> None:
        """Choose how.

        Args:
            extract: finds triples in a text.
            topics: at most so many key phrases of a text are bound.
        """
        self.space = space
        self._roles = frozenset(space.roles)
        self._encoders = RecordEncoder(space, algebra)
        self._extract = extract
        self._topics = topics
        self._unread: set[bytes] = set()  # of those that are bound just now

    def bind(self, memories: Sequence[Unbound], seq: int) -> AddCodes:
        """What is to be kept of some memories that were read at a `seq` of the log.

        One whose facts cannot be found has none, and one whose fillers of somebody's own roles cannot be found has none
        of those; one that cannot be read or encoded has no hypervector at all. The log says so, the change names them,
        and no other one is held up.
        """
        self._unread = set()
        read = [self._read(one) for one in memories]
        try:
            codes = self._encoders.encode_records([record for own in read for _, record in own])
        except Exception as error:  # whatever a stranger's encoder does: which memory it is, each alone tells
            _log.warning("some of %d memories cannot be bound together: %s", len(memories), type(error).__name__)
            read = [self._encodable(one, own) for one, own in zip(memories, read, strict=True)]
            codes = self._encoders.encode_records([record for own in read for _, record in own])
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
            self._log_failure(unbound, f"bound without {what}", "finding them", error)

        try:
            return extract_records(unbound, self._roles, self._topics, self._extract, lost)
        except Exception as error:
            self._log_failure(unbound, "not bound", "reading it", error)
            return []

    def _encodable(self, unbound: Unbound, own: list[tuple[Tier, Record]]) -> list[tuple[Tier, Record]]:
        """The same records, if they can be bound."""
        try:
            self._encoders.encode_records([record for _, record in own])
        except Exception as error:
            self._log_failure(unbound, "not bound", "encoding it", error)
            return []
        return own

    def _log_failure(self, unbound: Unbound, outcome: str, step: str, error: Exception) -> None:
        """Log what failed by its kind and its place in the code, since its own words may quote the memory."""
        self._unread.add(unbound.memory.id)
        why = f"{step} failed ({type(error).__name__} at {raise_location(error)})"
        _log.warning("memory %s is %s: %s", unbound.memory.id.hex(), outcome, why)


def _code(tier: Tier, record: Record) -> CodeInfo:
    named = ((pair.role, pair.filler, pair.shift) for pair in record if isinstance(pair.filler, str))
    return CodeInfo(tier=tier, pairs=len(record), fillers=tuple(dict.fromkeys(named)))


BOUND_DIMENSIONS = 5_120
"""Bits of a mind's hypervectors unless its settings say otherwise: half of what `mnemic.hd` takes by default, and as
good for all that is asked of them (docs/decisions/0026-what-hypervectors-are-for.md)."""
MAX_DIMENSIONS = 65_536
"""Bits of the longest hypervectors that a mind is bound in: a record takes 8 KiB then, on disk and in memory."""
WORD_BITS = 64
"""The length of a hypervector is a multiple of it."""


def space_from_settings(seed: bytes, settings: Mapping[str, Any]) -> Space:
    """The space in which is bound, without a model.

    Raises:
        InvalidValue: a setting names a role that there is none of, or a length that is none.
    """
    roles, dimensions = _roles(settings["binder.leave_out"]), settings["binder.dimensions"]
    try:
        return Space(seed=seed, dimensions=dimensions, roles=roles)
    except ValueError as error:
        raise InvalidValue(
            name="binder.dimensions", value=dimensions, why=str(error), expected="a multiple of 64, such as 10240"
        ) from error


def extraction_version(settings: Mapping[str, Any]) -> str:
    """A name for how records are read out of memories: under another one all of them are bound again."""
    return f"{EXTRACTION_VERSION} {settings['binder.topics']} {settings['binder.extractor']}"


def algebra_from_settings(settings: Mapping[str, Any]) -> Algebra:
    """Who computes.

    Raises:
        InvalidValue: it is not there.
    """
    backend = settings["binder.backend"]
    try:
        return algebra_named(backend)
    except ValueError as error:
        raise InvalidValue(
            name="binder.backend", value=backend, why=str(error), expected=f"one of {', '.join(BACKENDS)} that is there"
        ) from error


def settings_mismatch(kept: SpaceRow | None, settings: Mapping[str, Any]) -> str | None:
    """What the settings say otherwise than what is bound, in a sentence; ``None`` where they say the same.

    Nothing is said of somebody's own Binder: which settings it goes by is its own affair.
    """
    if kept is None or settings["actors.binder"]:
        return None
    said = []
    if kept.dimensions != settings["binder.dimensions"]:
        said.append(f"binder.dimensions is {settings['binder.dimensions']}, and {kept.dimensions} are bound")
    wanted = {name for name in ROLES if name not in settings["binder.leave_out"]}
    missing, more = sorted(wanted - set(kept.roles)), sorted(set(kept.roles) - wanted)
    if missing:
        said.append(f"binder.leave_out leaves {', '.join(missing)} in, and nothing bound has it")
    if more:
        said.append(f"binder.leave_out leaves {', '.join(more)} out, and it is bound")
    if kept.reading != extraction_version(settings):
        said.append("binder.topics, binder.extractor or this version of Mnemic reads memories in another way")
    if not said:
        return None
    return f"shape: the settings say otherwise than what is bound: {'; '.join(said)}; `mnemic capture` binds it anew"


def _roles(left_out: tuple[str, ...]) -> tuple[str, ...]:
    for name in left_out:
        if name not in ROLES:
            known = ", ".join(ROLES)
            raise InvalidValue(
                name="binder.leave_out", value=name, why="there is no such role", expected=f"some of {known}"
            )
    return tuple(name for name in ROLES if name not in left_out)
