"""Three more stages for Mnemic's nights: digests of topics, and procedures, which are steps of tools that follow each
other again and again in a project.

A step is named by what is done, to what kind of thing and by which program (`mnemic.algorithms.steps`); the checks
after it tell whether it worked (`step_succeeded`). Only steps that do something are told to follow, and only those that
do something or tell how things are to go before: that reading follows reading is no procedure. An item holds counts and
points to examples, in whose words the steps are read again, so no word of a memory is kept.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import msgspec
import numpy as np

from mnemic.actors.kernel.contract import Setting
from mnemic.actors.kernel.events import KINDS
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.recall.messages import Memory
from mnemic.actors.sleep.changes import DIGEST_STAGES, SourceSpan
from mnemic.actors.sleep.digests import GroupDigests
from mnemic.actors.sleep.queries import DerivedRecord, Grouping
from mnemic.actors.sleep.stages import Derivation, Told, items_of_project, project_keys
from mnemic.algorithms.steps.steps import (
    NEUTRAL_ACTIONS,
    Step,
    ToolEvent,
    pair_calls_with_results,
    parse_step,
    step_succeeded,
)

PROCEDURE_TIMES = Setting(
    "sleep.procedure_times", 3, "times", "What is done less often in a project is no procedure.", 2
)
TOPIC_DIGEST_BYTES = Setting(
    "sleep.topic_digest_bytes",
    1200,
    "bytes",
    "The sentences of a digest of a topic are so long at most, together.",
    100,
    maximum=256 << 10,
)
MOST_PROCEDURES = 24
"""Of a project, those that come most often."""
STEP_BYTES = 2_048
"""Of a call no more is read."""
_OF_A_SESSION = 128
_MOST_STEPS = 4_000  # of a conversation, the newest
_AT_ONCE = 32  # memories that are held with their texts
_WITHIN = 6  # calls after a step in which the next one that does something is looked for
_CALL, _RESULT = (KINDS.index(kind) for kind in ("tool_call", "tool_result"))
_DOES_NOTHING = NEUTRAL_ACTIONS - {"edit", "delegate"}
WhatT = TypeVar("WhatT", bound=Hashable)


class TopicDigests(GroupDigests):
    """Digests of communities, as `mnemic digest --of topic` shows them."""

    name: ClassVar[str] = DIGEST_STAGES["topic"]
    settings: ClassVar[tuple[Setting, ...]] = (TOPIC_DIGEST_BYTES,)
    grouping: ClassVar[Grouping] = "topic"


# --- decisions -------------------------------------------------------------------------------------------------------


class Follows(NamedTuple):
    """One step after another, in one session."""

    before: int
    """Place of the call before."""
    failed: bool
    """Whether that one failed."""
    then: int
    """Place of the call after it."""
    worked: bool | None
    """Whether things were well after that; ``None`` where nothing tells."""


class Procedure(NamedTuple):
    """A step that follows another again and again."""

    times: int
    """How often it did."""
    known: int
    """How often it is known whether it worked."""
    worked: int
    """How often it did work."""
    example: int
    """Which of what was counted is its newest example, from 0."""


def step_name(tool: str, text: str, files: Sequence[str] = ()) -> str:
    """Name what a call does in a few words: ``test python (pytest)``, ``edit docs``."""
    step = parse_step(tool, text, files)
    by = f" ({step.programs[0]})" if step.programs else f" ({tool})" if step.action == "call" else ""
    return f"{step.action} {step.target}".rstrip() + by


def steps_that_follow(happened: Sequence[ToolEvent]) -> list[Follows]:
    """List, of a session, each step that does something after one that failed, or that did something itself."""
    partners = pair_calls_with_results(happened)
    calls = [place for place, one in enumerate(happened) if one.is_call]

    def ended(place: int) -> tuple[Step, str | None]:
        call, result = happened[place], partners[place]
        outcome = (None if result is None else happened[result].outcome) or call.outcome
        return parse_step(call.tool, call.text, call.files), outcome

    ends = [ended(place) for place in calls]
    found = []
    for at, (step, outcome) in enumerate(ends):
        if outcome != "failed" and step.action in _DOES_NOTHING:
            continue
        for other in range(at + 1, min(at + 1 + _WITHIN, len(calls))):
            if ends[other][0].action not in _DOES_NOTHING:
                worked = step_succeeded(*ends[other], ends[other + 1 :])
                found.append(Follows(calls[at], outcome == "failed", calls[other], worked))
                break
    return found


def count_procedures(seen: Iterable[tuple[WhatT, int, int, int]], least: int) -> dict[WhatT, Procedure]:
    """Add up what was seen, in order.

    Args:
        seen: of each what it is (steps and outcome), how often, how often it is known whether it worked, and how often
            it did.
        least: what comes less often is left out.
    """
    sums: dict[WhatT, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for number, (what, times, known, worked) in enumerate(seen):
        one = sums[what]
        one[0] += times
        one[1] += known
        one[2] += worked
        one[3] = number
    return {what: Procedure(*one) for what, one in sums.items() if one[0] >= least}


# --- stages ----------------------------------------------------------------------------------------------------------


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


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[Counted, ...]).decode


def _hash(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "replace")).digest()[:8]


def _item(counted: Sequence[Counted], examples: Sequence[tuple[SourceSpan, SourceSpan]]) -> Derivation:
    return Derivation(_encode(tuple(counted)), tuple(span for pair in examples for span in pair))


def _pairs(item: DerivedRecord) -> Iterator[tuple[Counted, tuple[SourceSpan, SourceSpan]]]:
    """Give what an item holds, each with its examples."""
    for place, one in enumerate(_decode(item.value)):
        yield one, (item.sources[2 * place], item.sources[2 * place + 1])


class Done(NamedTuple):
    """A call or a result, and where it stands."""

    event: ToolEvent
    span: SourceSpan


class SessionSteps:
    """What follows what in conversations."""

    name: ClassVar[str] = "session-steps"
    version: ClassVar[int] = 1

    def __init__(self) -> None:
        """Know of no conversation yet."""
        self._rows: dict[bytes, list[int]] = {}

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """List the conversations with calls of tools, scope by scope, by names that outlast a rebuild."""
        columns = snapshot.memory_columns(0)
        hidden = np.concatenate((snapshot.retired().row, snapshot.superseded().old))
        done = np.flatnonzero(np.isin(columns.kind, (_CALL, _RESULT)) & ~np.isin(columns.row, hidden))
        done = done[np.argsort(columns.said_at[done], kind="stable")]
        rows: dict[tuple[int, int], list[int]] = defaultdict(list)
        for at in done.tolist():
            rows[int(columns.session[at]), int(columns.scope[at])].append(int(columns.row[at]))
        self._rows = {_key(session, scope, of[0], snapshot): of for (session, scope), of in rows.items()}
        return {key: hashlib.sha256(repr(of).encode()).digest()[:16] for key, of in self._rows.items()}

    def read(self, key: bytes, snapshot: Snapshot) -> list[Done]:
        """Read the calls and results of a conversation, in order; of results no text."""
        rows = self._rows[key][-_MOST_STEPS:]
        memories = (
            one for at in range(0, len(rows), _AT_ONCE) for one in snapshot.load_memories(rows[at : at + _AT_ONCE])
        )
        return [_done(row, memory) for row, memory in zip(rows, memories, strict=True)]

    def plan(self, state: Sequence[Done]) -> Derivation:
        """Count what follows what."""
        happened = [one.event for one in state]
        follows = steps_that_follow(happened)
        names = [_hash(step_name(one.tool, one.text, one.files)) if one.is_call else b"" for one in happened]
        seen = [
            ((names[one.before], one.failed, names[one.then]), 1, int(one.worked is not None), int(bool(one.worked)))
            for one in follows
        ]
        found = sorted(count_procedures(seen, 1).items(), key=lambda one: (-one[1].times, str(one[0])))[:_OF_A_SESSION]
        examples = [follows[one.example] for _, one in found]
        return _item(
            [Counted(*what, one.times, one.known, one.worked) for what, one in found],
            [(state[one.before].span, state[one.then].span) for one in examples],
        )


def _key(session: int, scope: int, row: int, snapshot: Snapshot) -> bytes:
    named = f"{snapshot.memory_attributes(row, row)[0].assistant}\0{snapshot.session_names([session])[0]}"
    mark = int.from_bytes(hashlib.sha256(named.encode("utf-8", "replace")).digest()[:6], "big")
    return b"session:%d:%d" % (mark, scope)


def _done(row: int, memory: Memory) -> Done:
    is_call = memory.kind == "tool_call"
    text = _text(memory) if is_call else ""
    stop = min(len(memory.data), STEP_BYTES) if is_call else 0
    return Done(ToolEvent(is_call, memory.tool or "", memory.outcome, memory.files, text), SourceSpan(row, 0, stop))


def _text(call: Memory) -> str:
    return call.data[:STEP_BYTES].decode("utf-8", "replace")


class _Examples(NamedTuple):
    counted: Counted
    spans: tuple[SourceSpan, SourceSpan]


class Procedures:
    """What a project does again and again, as `mnemic procedures` shows it."""

    name: ClassVar[str] = "procedures"
    version: ClassVar[int] = 1
    settings: ClassVar[tuple[Setting, ...]] = (PROCEDURE_TIMES,)

    def __init__(self, least_times: int) -> None:
        """Take how often a thing has to be done."""
        self._least_times = least_times

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls(settings[PROCEDURE_TIMES.name])

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """List the scopes with a conversation whose steps were counted."""
        return project_keys(snapshot, SessionSteps.name)

    def read(self, key: bytes, snapshot: Snapshot) -> list[_Examples]:
        """Read what was counted in its conversations, the older ones first."""
        items = items_of_project(key, snapshot, SessionSteps.name)
        return [_Examples(*pair) for item in items for pair in _pairs(item)]

    def plan(self, state: Sequence[_Examples]) -> Derivation:
        """Choose what comes most often."""
        seen = [((one.before, one.failed, one.then), one.times, one.known, one.worked) for one, _ in state]
        counted = count_procedures(seen, self._least_times).items()
        found = sorted(counted, key=lambda one: (-one[1].times, -one[1].worked, str(one[0])))[:MOST_PROCEDURES]
        return _item(
            [Counted(*what, one.times, one.known, one.worked) for what, one in found],
            [state[one.example].spans for _, one in found],
        )

    @staticmethod
    def tell(item: DerivedRecord, memories: Mapping[int, Memory]) -> Iterator[Told]:
        """Say which step follows which, how often, and how often it worked, by the names of its examples."""
        for one, spans in _pairs(item):
            if not all(span.row in memories for span in spans):
                continue
            calls = (memories[span.row] for span in spans)
            before, then = (step_name(call.tool or "", _text(call), call.files) for call in calls)
            well = f"; all was well after it {one.worked} of {_times(one.known)}" if one.known else ""
            text = f"after {before}{' failed' if one.failed else ''}: {then}, {_times(one.times)}{well}"
            yield Told(text, spans, one.times + one.worked / (one.times + 1))


def _times(count: int) -> str:
    return f"{count} time" if count == 1 else f"{count} times"
