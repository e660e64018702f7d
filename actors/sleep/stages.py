"""What a stage of a night is: one that derives items from memories, or one that has another actor go on.

Somebody's own stage is a class of either kind, named in the setting ``sleep.stages`` by ``module:Class``, or as its
package offers it (`mnemic.actors.sleep.registry.ENTRY_POINT_GROUP`). A stage reads snapshots and decides;
`mnemic.actors.sleep.consolidator` keeps the time and has the Store keep what comes of it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

from mnemic.actors.kernel.contract import Context, Setting
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.sleep.changes import NightReason, SourceSpan
from mnemic.actors.sleep.effects import RecallEffect, decode_groups, decode_weights
from mnemic.actors.sleep.queries import DerivedRecord, Grouping, GroupState


class Derivation(NamedTuple):
    """What a stage makes of the sources of one key."""

    value: bytes
    """As MessagePack of a type of the stage's own, without words."""
    sources: tuple[SourceSpan, ...] = ()
    """Where in memories it points to."""


class Told(NamedTuple):
    """One thing that an item says, for who looks at it."""

    text: str
    """It in one line, in no words of memories."""
    sources: tuple[SourceSpan, ...]
    """What it rests on: it is told, with the words there, while all of these memories stand."""
    weight: float = 0.0
    """What weighs more is told first."""


@runtime_checkable
class DerivingStage(Protocol):
    """Derives an item for each key. What it derives depends on the sources of the key alone: on no clock, on no chance
    and on no earlier night, so that a night which is broken off, repeated or had anew comes to the same.

    One that has settings has ``settings: ClassVar[tuple[Setting, ...]]``, which `make` is given by their names.
    One whose items change recalls has an ``effect: ClassVar[RecallEffect]`` besides, by which its values are made
    (`mnemic.actors.sleep.effects`); recalls go by them once they passed an exam on the mind's own past.
    One whose items say more than what they point to has a static ``tell(item, memories) -> Iterable[Told]``: what the
    `DerivedRecord` says, by the memories that it points to and that may be told, by row.
    """

    name: ClassVar[str]
    """One word or two, joined by a hyphen."""
    version: ClassVar[int]
    """Grows when it would derive something else from the same sources."""

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one, as the settings say."""

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """All keys there are to derive something for, each with what tells the state of its sources.

        A key is ``kind:number:…`` in ASCII (``session:12:3``), and holds no word of a memory.
        """

    def read(self, key: bytes, snapshot: Snapshot) -> Any:
        """All that `plan` has to know of a key."""

    def plan(self, state: Any) -> Derivation:
        """Decide what is derived; pure."""


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

    def waiting(self, snapshot: Snapshot) -> int:
        """How much there is to do, for who asks and does nothing."""

    def ask(self, context: Context, timeout_s: float, *, is_first: bool) -> Asked:
        """Have one bounded step taken.

        Args:
            is_first: whether it is the first one of its night.
        """


@runtime_checkable
class LoggedStage(AskingStage, Protocol):
    """Has another actor change what is kept: by changes that are logged, and are taken back with the night."""

    def begin(self, run: str, reason: NightReason, *, again: bool) -> None:
        """Learn which night it is, before it is asked first.

        Args:
            again: whether what was taken back is to be done anew.
        """


Stage = DerivingStage | AskingStage
"""A step of a night."""


def settings_of(stage: Stage | type[Stage]) -> tuple[Setting, ...]:
    """The settings that a stage declares."""
    return getattr(stage, "settings", ())


def effect_of(stage: Stage) -> RecallEffect | None:
    """What a stage's items do to recalls, if anything."""
    return getattr(stage, "effect", None)


def sources_stamp(stage: DerivingStage, settings: Mapping[str, Any], state: bytes) -> bytes:
    """What tells the state of a key's sources from another, and by which version and settings of the stage it is
    read.
    """
    effect = effect_of(stage)  # what is to be examined is made anew
    own = [
        (one.name, settings[one.name])
        for one in settings_of(stage)
        if settings.get(one.name, one.default) != one.default
    ]
    said = f"{stage.version} {effect or ''}{own or ''}".encode()
    return hashlib.sha256(said + state).digest()[:16]


def check_effect(stage: Stage, derived: Derivation) -> None:
    """Refuse an item that recalls could not go by.

    Raises:
        ValueError: Its value is not what the stage's effect asks for.
    """
    match effect_of(stage):
        case None:
            return
        case "weigh":
            decode_weights(derived.value, derived.sources)
        case "fold":
            decode_groups(derived.value, derived.sources)
        case other:
            raise ValueError(f"there is no effect {other!r}")


def grouped_keys(snapshot: Snapshot, grouping: Grouping) -> dict[bytes, GroupState]:
    """All groups of memories by the keys they go by: ``session:…:scope``, ``topic:…:scope``."""
    return {f"{grouping}:{one.mark}:{one.scope}".encode(): one for one in snapshot.group_states(grouping)}


def project_keys(snapshot: Snapshot, stage: str) -> dict[bytes, bytes]:
    """The keys of all scopes in which another stage derived something for conversations, each with a hash of that."""
    parts: dict[bytes, list[bytes]] = defaultdict(list)
    for key, stamp in sorted(snapshot.derived_stamps(stage).items()):
        parts[key.rpartition(b":")[2]].append(key + b"=" + stamp)
    return {b"project:" + scope: hashlib.sha256(b",".join(of)).digest()[:16] for scope, of in parts.items()}


def items_of_project(key: bytes, snapshot: Snapshot, stage: str) -> list[DerivedRecord]:
    """What another stage derived for the conversations of a project, the older ones first."""
    scope = key.partition(b":")[2]
    keys = [one for one in snapshot.derived_stamps(stage) if one.rpartition(b":")[2] == scope]
    return sorted(snapshot.derived(stage, keys), key=lambda one: max((span.row for span in one.sources), default=0))
