"""Extracts role-filler records (episode, facts, tool step) from a memory, to be encoded as hypervectors. Pure.

Every memory gives one episode. A turn, a note or a decision also gives a fact for each subject-relation-object triple
that is said in it, and a call of a tool gives a step. A role that a memory has nothing to say of is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.kernel.events import escape_surrogates
from mnemic.actors.recall.messages import Memory
from mnemic.actors.shape.ports import TripleExtractor
from mnemic.actors.shape.queries import NEAR_CALLS, NearbyCall, Unbound
from mnemic.algorithms.knowledge.triples import Triple
from mnemic.algorithms.steps.errors import ErrorKind, read_error
from mnemic.algorithms.steps.steps import (
    CHECK_ACTIONS,
    Step,
    ToolEvent,
    failing_files,
    pair_calls_with_results,
    parse_step,
    step_succeeded,
)
from mnemic.algorithms.text.keyphrases import key_phrases
from mnemic.hd.encoders import canonical
from mnemic.hd.levels import WEEKDAYS
from mnemic.hd.records import Pair, Record
from mnemic.hd.roles import ROLES, Tier

_KINDS = ("tool_call", "tool_result")


class CallOutcome(NamedTuple):
    """A call and how it ended."""

    action: str
    """What it does."""
    target: str
    """The kind of thing it is done to, or ``""``."""
    tool: str
    """The program that a shell ran for it, else the tool's name."""
    outcome: str
    """``ok``, ``failed``, or ``""`` where that is not known."""
    error: ErrorKind | None = None
    """What went wrong, where its result says so."""


def call_outcome(tool: str, step: Step, outcome: str | None, result: str) -> CallOutcome:
    """A call as steps are told.

    Args:
        tool: its name as the host writes it.
        step: what it does.
        outcome: how it ended, where that is known.
        result: what it answered, or ``""``.
    """
    error = read_error(result) if outcome == "failed" else None
    return CallOutcome(step.action, step.target, step.programs[0] if step.programs else tool, outcome or "", error)


class CallContext:
    """A call, or a result with its call if that is near, among the calls of its session."""

    def __init__(self, happened: Sequence[ToolEvent], place: int, *, more_before: bool, more_after: bool) -> None:
        self._happened = happened
        self._partners = pair_calls_with_results(happened, more_before=more_before, more_after=more_after)
        self._call = place if happened[place].is_call else self._partners[place]
        self._place = place
        self._steps: dict[int, Step] = {}

    @classmethod
    def from_unbound(cls, unbound: Unbound) -> CallContext | None:
        """What is done at a memory; ``None`` where it is neither a call nor a result."""
        memory = unbound.memory
        if memory.kind not in _KINDS:
            return None
        own = unbound.own or NearbyCall(
            kind=memory.kind, tool=memory.tool, outcome=memory.outcome, files=memory.files, text=memory.data
        )
        return cls(
            [_happened(one) for one in (*unbound.before[::-1], own, *unbound.after)],
            len(unbound.before),
            more_before=len(unbound.before) >= NEAR_CALLS,
            more_after=len(unbound.after) >= NEAR_CALLS,
        )

    def programs(self) -> tuple[str, ...]:
        """What a shell ran, the main program first; none for other tools, and where the call is not known."""
        return () if self._call is None else self._step(self._call).programs

    def outcome(self) -> str | None:
        """How the call ended, where that is known."""
        return None if self._call is None else self._outcome(self._call)

    def files(self) -> list[str]:
        """What its host says it touched, what it names itself, and what a check that failed names."""
        if self._call is None:
            return list(self._happened[self._place].files)
        step, result = self._step(self._call), self._result(self._call)
        found = [*self._happened[self._call].files, *step.files]
        if result and self._outcome(self._call) == "failed" and step.action in CHECK_ACTIONS:
            found += failing_files(result.text)
        return found

    def recent_calls(self, back: int) -> list[CallOutcome]:
        """The call, and at most so many before it, the nearest first; none for a result whose call is not known."""
        return [] if self._call is None else [self._done(place) for place in self._near(-1)[: back + 1]]

    def error(self) -> ErrorKind | None:
        """What went wrong, where the call failed and its result says so."""
        return None if self._call is None else self._done(self._call).error

    def worked(self) -> bool | None:
        """Whether things were well after the call; ``None`` where nothing tells."""
        if self._call is None:
            return None
        step, *later = ((self._step(place), self._outcome(place)) for place in self._near(1))
        return step_succeeded(*step, later)

    def _near(self, way: int) -> list[int]:
        """The call, and those before (-1) or after (1) it, the nearest first."""
        assert self._call is not None
        side = range(self._call, len(self._happened) if way > 0 else -1, way)
        return [place for place in side if self._happened[place].is_call]

    def _done(self, place: int) -> CallOutcome:
        result = self._result(place)
        text = "" if result is None else result.text
        return call_outcome(self._happened[place].tool, self._step(place), self._outcome(place), text)

    def _step(self, place: int) -> Step:
        if place not in self._steps:
            one = self._happened[place]
            self._steps[place] = parse_step(one.tool, one.text, one.files)
        return self._steps[place]

    def _result(self, place: int) -> ToolEvent | None:
        found = self._partners[place]
        return None if found is None else self._happened[found]

    def _outcome(self, place: int) -> str | None:
        """How a call ended, as its result says, or the call itself where a source tells both in one."""
        result = self._result(place)
        return (result and result.outcome) or self._happened[place].outcome


def _happened(one: NearbyCall) -> ToolEvent:
    """A text may end within a letter, since its end is cut off."""
    return ToolEvent(
        one.kind == "tool_call", one.tool or "", one.outcome, one.files, one.text.decode("utf-8", "replace")
    )


EXTRACTION_VERSION = 3
"""Of all that decides which records are read out of a memory, here and in `mnemic.algorithms`: it grows when the same
memory with the same neighbours would give others than before, and every mind is bound again."""
MOST_FILES = 3
"""Of more files the first are bound: each takes two pairs, and every pair makes the others harder to read."""
MOST_FACTS = 8
"""Of more triples the first are bound: a long text would fill the index with them."""
STEPS_BACK = 3
"""A step holds so many of those before it."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OTHER_ROLE = {"user": "assistant", "assistant": "user"}
_SPOKEN_KINDS = ("turn", "decision", "note", "summary")
"""Kinds whose text is somebody's words: it has topics and says facts. What tools print has and says none."""


def _reraise(what: str, error: Exception) -> None:
    raise error


def extract_records(
    unbound: Unbound,
    roles: frozenset[str],
    topics: int,
    extract: TripleExtractor,
    lost: Callable[[str, Exception], None] = _reraise,
) -> list[tuple[Tier, Record]]:
    """The records of a memory, its episode first; only pairs of these roles are in them.

    Fillers are canonical, as `mnemic.hd.encoders.canonical` has them; embeddings are of unit length. The same
    memory with the same neighbours gives the same records.

    Args:
        unbound: the memory and what is around it.
        roles: names of the roles that are bound.
        topics: at most so many key phrases are bound.
        extract: finds the triples, and fills further roles if it is a `FillerExtractor`.
        lost: told what `extract` failed to find, facts or fillers, and why. All else is in the records. Where nobody
            is told, it is raised.
    """
    memory = unbound.memory
    work = CallContext.from_unbound(unbound)
    tiers: list[tuple[Tier, Iterable[Pair]]] = [("episode", _episode(unbound, work))]
    if memory.kind in _SPOKEN_KINDS:
        text = memory.data.decode("utf-8", "replace")  # its end may be cut off within a letter
        phrases = key_phrases(text, topics if "topic" in roles else 0)
        tiers[0] = ("episode", chain(tiers[0][1], _named("topic", *phrases)))
        if not roles.isdisjoint(("subject", "relation", "object")):
            try:
                tiers += [("fact", fact) for fact in _facts(unbound, extract(text, memory.speaker or memory.role))]
            except Exception as error:  # whatever a stranger's extractor does with a text
                lost("facts", error)
    if work is not None and memory.kind == "tool_call":
        tiers.append(("step", _step(memory, work)))
    whole = [(tier, list(pairs)) for tier, pairs in tiers]
    try:
        fillers = getattr(extract, "fillers", None)  # to ask for the protocol takes a twentieth of all that is bound
        further = [] if fillers is None else list(fillers(memory))
        return _records(whole, further, roles)
    except Exception as error:  # as above: what it fills a role with may be no filler of it, too
        lost("fillers of your own roles", error)
        return _records(whole, [], roles)


def _records(
    whole: Sequence[tuple[Tier, list[Pair]]], further: Sequence[tuple[str, str]], roles: frozenset[str]
) -> list[tuple[Tier, Record]]:
    records = ((tier, tuple(_selected_pairs(tier, pairs, further, roles))) for tier, pairs in whole)
    return [(tier, record) for tier, record in records if record]


def _selected_pairs(
    tier: Tier, pairs: list[Pair], further: Iterable[tuple[str, str]], roles: frozenset[str]
) -> Iterator[Pair]:
    """The pairs of a record whose roles are bound, and those that an extractor adds."""
    yield from (pair for pair in pairs if pair.role in roles)
    free = {role for role in roles if tier in ROLES[role].tiers} - {pair.role for pair in pairs} if further else ()
    added: dict[str, list[str]] = {}
    for role, filler in further:
        if role in free:
            added.setdefault(role, []).append(filler)
    for role, fillers in added.items():
        yield from _named(role, *(fillers if ROLES[role].many else fillers[:1]))


def _episode(unbound: Unbound, work: CallContext | None) -> Iterator[Pair]:
    memory = unbound.memory
    yield from _who(memory)
    yield from _named("to", *_to(unbound))
    yield from _when(memory)
    yield from _where(memory)
    yield from _files(work.files() if work else memory.files)
    yield from _named("tool", memory.tool, *(work.programs() if work else ()))
    yield from _named("outcome", memory.outcome or (work.outcome() if work else None))
    error = work.error() if work else None
    yield from _named("error", *(error.names if error else ()))
    yield from _named("kind", memory.kind)
    yield from _named("size", str(unbound.words))
    for role, vector in (("about", unbound.meaning), ("previous", unbound.previous), ("next", unbound.next)):
        yield from _meaning(role, vector)


def _facts(unbound: Unbound, triples: Iterable[Triple]) -> Iterator[list[Pair]]:
    """Each triple with who said it, when, where, and what about; one that lacks a part is none."""
    memory = unbound.memory
    around = [
        *_who(memory),
        *_day(memory),
        *_named("project", memory.scope),
        *_meaning("about", unbound.meaning),
    ]
    said = (
        tuple(pair for role, name in zip(Triple._fields, triple, strict=True) for pair in _named(role, name))
        for triple in triples
    )
    whole = dict.fromkeys(one for one in said if len(one) == len(Triple._fields))
    yield from ([*one, *around] for one in list(whole)[:MOST_FACTS])


def _step(memory: Memory, work: CallContext) -> Iterator[Pair]:
    """A call with its result, and how those before it went: the same roles, permuted once for each step back."""
    yield from step_pairs(work.recent_calls(STEPS_BACK))
    yield from _named("worked", {None: "", True: "yes", False: "no"}[work.worked()])
    yield from _who(memory)
    yield from _day(memory)
    yield from _named("project", memory.scope)
    yield from _named("branch", memory.branch)
    yield from _files(work.files())


def step_pairs(calls: Sequence[CallOutcome]) -> Iterator[Pair]:
    """Calls, the newest first, as a step tells them: each permuted once for each step back.

    Of those before it stands how their error is called, and not what it said.
    """
    for shift, done in enumerate(calls):
        told = {"action": done.action, "target": done.target, "tool": done.tool, "outcome": done.outcome}
        for role, name in told.items():
            yield from _named(role, name, shift=shift)
        names = done.error.names if done.error else ()
        yield from _named("error", *(names[:1] if shift else names), shift=shift)


def _who(memory: Memory) -> Iterator[Pair]:
    yield from _named("who", memory.speaker or memory.role)


def _to(unbound: Unbound) -> Sequence[str]:
    """The others of its session who have names; where none has, the other of the two who talk in one."""
    memory = unbound.memory
    if memory.kind != "turn":
        return ()
    if unbound.speakers:
        return unbound.speakers
    other = _OTHER_ROLE.get(memory.role)
    return (other,) if other else ()


def _when(memory: Memory) -> Iterator[Pair]:
    """By the clock that it was said by. A time that no calendar holds says nothing."""
    if memory.said_at is None:
        return
    try:
        moment = _EPOCH + timedelta(microseconds=memory.said_at, minutes=memory.utc_offset_min)
    except OverflowError:
        return
    yield from _named("date", moment.date().isoformat())
    yield from _named("hour", str(moment.hour))
    yield from _named("weekday", WEEKDAYS[moment.weekday()])


def _day(memory: Memory) -> Iterator[Pair]:
    return (pair for pair in _when(memory) if pair.role == "date")


def _where(memory: Memory) -> Iterator[Pair]:
    yield from _named("workspace", memory.scope.partition("/")[0])
    yield from _named("project", memory.scope)
    yield from _named("branch", memory.branch)


def _files(files: Iterable[str]) -> Iterator[Pair]:
    """Each path as it was given, and its last part, by which people ask."""
    known = list(dict.fromkeys(files))[:MOST_FILES]
    yield from _named("file", *(part for path in known for part in (path, path.replace("\\", "/").rpartition("/")[2])))


def _meaning(role: str, vector: bytes) -> Iterator[Pair]:
    unit = _unit(vector)
    if unit is not None:
        yield Pair(role, unit)


def _named(role: str, *names: str | None, shift: int = 0) -> Iterator[Pair]:
    """Names as the role's encoder has them, without empty ones; of those that differ by their case alone the first."""
    found: dict[str, str] = {}
    for name in names:
        if name and name.strip():
            whole = canonical(role, escape_surrogates(name))
            found.setdefault(whole.lower(), whole)
    yield from (Pair(role, one, shift) for one in found.values())


def _unit(vector: bytes) -> NDArray[np.float32] | None:
    """A vector at unit length; ``None`` for none, or one that points nowhere."""
    values = np.frombuffer(vector, np.float32)
    length = float(np.sqrt(values @ values))
    return (values / length).astype(np.float32) if length > 0 else None
