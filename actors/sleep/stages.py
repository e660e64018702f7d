"""What a stage of a night is: one that derives items from memories, or one that has another actor go on.

Somebody's own stage is a class of either kind, named ``module:Class`` in the setting ``sleep.stages``. A stage reads
snapshots and decides; `mnemic.actors.sleep.consolidator` keeps the time and has the Store keep what comes of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

from mnemic.actors.protocol.contract import Context
from mnemic.actors.protocol.sleep.changes import SourceSpan
from mnemic.actors.protocol.snapshot import Snapshot


class Derivation(NamedTuple):
    """What a stage makes of the sources of one key."""

    value: bytes
    """As MessagePack of a type of the stage's own, without words."""
    sources: tuple[SourceSpan, ...] = ()
    """Where in memories it points to."""


@runtime_checkable
class DerivingStage(Protocol):
    """Derives an item for each key. What it derives depends on the sources of the key alone: on no clock, on no chance
    and on no earlier night, so that a night which is broken off, repeated or had anew comes to the same.
    """

    name: ClassVar[str]
    """One word or two, joined by a hyphen."""
    version: ClassVar[int]
    """Grows when it would derive something else from the same sources."""

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one, as the settings say."""
        ...

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """All keys there are to derive something for, each with what tells the state of its sources.

        A key is ``kind:number:…`` in ASCII (``session:12:3``), and holds no word of a memory.
        """
        ...

    def read(self, key: bytes, snapshot: Snapshot) -> Any:
        """All that `plan` has to know of a key."""
        ...

    def plan(self, state: Any) -> Derivation:
        """Decide what is derived; pure."""
        ...


class Asked(NamedTuple):
    """How far another actor is with what it was asked for."""

    changes: int
    """How many changes it made since it was asked before."""
    pending: int
    """How much is left, as far as it can go on now."""
    note: str = ""
    """Why it cannot, if it cannot."""


@runtime_checkable
class AskingStage(Protocol):
    """Has another actor go on with its own work, step by step."""

    name: ClassVar[str]
    """One word or two, joined by a hyphen."""

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one, as the settings say."""
        ...

    def waiting(self, snapshot: Snapshot) -> int:
        """How much there is to do, for who asks and does nothing."""
        ...

    def ask(self, context: Context, timeout_s: float, *, is_first: bool) -> Asked:
        """Have one bounded step taken.

        Args:
            is_first: whether it is the first one of its night.
        """
        ...


Stage = DerivingStage | AskingStage
"""A step of a night."""
