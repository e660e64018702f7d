"""The stages that find procedures: what follows what in each conversation, and of that what a project does again.

An item holds counts and points to examples; which steps those are is read from the examples' own words, so that no word
of a memory is kept. `mnemic.algorithms.sleep.procedures` counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import msgspec

from mnemic.actors.protocol.contract import Setting
from mnemic.actors.protocol.sleep.changes import SourceSpan
from mnemic.actors.protocol.sleep.snapshot import GroupState, StepRecord
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.actors.sleep.stages import Derivation, grouped_keys, items_of_project, project_keys
from mnemic.algorithms.sleep.procedures import count_procedures, step_name, steps_that_follow
from mnemic.algorithms.steps.steps import ToolEvent

PROCEDURES = "procedures"
"""The stage whose items are told."""
MOST_PROCEDURES = 24
"""Of a project, those that come most often."""
_OF_A_SESSION = 128
_MOST_STEPS = 4_000  # of a conversation, the newest
STEP_BYTES = 2_048
"""Of a call no more is read."""


class Counted(msgspec.Struct, frozen=True, array_like=True):
    """How often one step followed another; its two sources are examples of them."""

    before: bytes
    """Hash of the name of the step before, 8 bytes."""
    failed: bool
    """Whether that one failed."""
    then: bytes
    """Hash of the name of the step after."""
    times: int
    """How often."""
    known: int
    """How often it is known whether it worked."""
    worked: int
    """How often it did."""


encode_value = msgspec.msgpack.Encoder().encode
decode_counted = msgspec.msgpack.Decoder(tuple[Counted, ...]).decode
What = tuple[bytes, bool, bytes]


def _hash(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "replace")).digest()[:8]


def _item(counted: Sequence[Counted], examples: Sequence[tuple[SourceSpan, SourceSpan]]) -> Derivation:
    return Derivation(encode_value(tuple(counted)), tuple(span for pair in examples for span in pair))


class SessionSteps:
    """What follows what in conversations."""

    name: ClassVar[str] = "session-steps"
    version: ClassVar[int] = 1

    def __init__(self) -> None:
        self._groups: Mapping[bytes, GroupState] = {}

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """All conversations with calls of tools, scope by scope."""
        self._groups = grouped_keys(snapshot, "steps")
        return {key: one.stamp for key, one in self._groups.items()}

    def read(self, key: bytes, snapshot: Snapshot) -> list[StepRecord]:
        """The calls and results of a conversation, in order."""
        of = self._groups[key]
        return snapshot.steps_of(of.group, of.scope, _MOST_STEPS, STEP_BYTES)

    def plan(self, state: Sequence[StepRecord]) -> Derivation:
        """What follows what."""
        happened = [
            ToolEvent(one.is_call, one.tool, one.outcome, one.files, one.text.decode("utf-8", "replace"))
            for one in state
        ]
        names = {place: step_name(one.tool, one.text, one.files) for place, one in enumerate(happened) if one.is_call}
        follows = steps_that_follow(happened)
        seen: list[tuple[What, int, int, int]] = [
            (
                (_hash(names[one.before]), one.failed, _hash(names[one.then])),
                1,
                int(one.worked is not None),
                int(bool(one.worked)),
            )
            for one in follows
        ]
        found = sorted(count_procedures(seen, 1).items(), key=lambda one: (-one[1].times, str(one[0])))[:_OF_A_SESSION]
        examples = [follows[one.example] for _, one in found]
        return _item(
            [Counted(*what, one.times, one.known, one.worked) for what, one in found],
            [(_whole(state[one.before]), _whole(state[one.then])) for one in examples],
        )


def _whole(step: StepRecord) -> SourceSpan:
    return SourceSpan(step.row, 0, len(step.text))


class _Examples(NamedTuple):
    counted: Counted
    spans: tuple[SourceSpan, SourceSpan]


class Procedures:
    """What a project does again and again."""

    name: ClassVar[str] = PROCEDURES
    version: ClassVar[int] = 1
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting("sleep.procedure_times", 3, "times", "What is done less often in a project is no procedure.", 2),
    )

    def __init__(self, least_times: int) -> None:
        self._least_times = least_times

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls(settings["sleep.procedure_times"])

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """All scopes with a conversation whose steps were counted."""
        return project_keys(snapshot, SessionSteps.name)

    def read(self, key: bytes, snapshot: Snapshot) -> list[_Examples]:
        """What was counted in its conversations, the older ones first."""
        return [
            _Examples(one, (item.sources[2 * place], item.sources[2 * place + 1]))
            for item in items_of_project(key, snapshot, SessionSteps.name)
            for place, one in enumerate(decode_counted(item.value))
        ]

    def plan(self, state: Sequence[_Examples]) -> Derivation:
        """What comes most often."""
        seen: list[tuple[What, int, int, int]] = [
            ((one.before, one.failed, one.then), one.times, one.known, one.worked) for one, _ in state
        ]
        counted = count_procedures(seen, self._least_times).items()
        found = sorted(counted, key=lambda one: (-one[1].times, -one[1].worked, str(one[0])))[:MOST_PROCEDURES]
        return _item(
            [Counted(*what, one.times, one.known, one.worked) for what, one in found],
            [state[one.example].spans for _, one in found],
        )
