"""Work: one call of a tool or its result, and the calls around it. Pure; above it stands `mnemic.actors.features`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mnemic.actors.snapshot import NEAR_CALLS, Neighbour, Unbound
from mnemic.algorithms.steps import CHECKS, Happened, Step, blamed, partners, step_of, worked

__all__ = ["Done", "Work"]

_KINDS = ("tool_call", "tool_result")


class Done(NamedTuple):
    """A call and how it ended."""

    action: str
    """What it does."""
    target: str
    """The kind of thing it is done to, or ``""``."""
    tool: str
    """The program that a shell ran for it, else the tool's name."""
    outcome: str
    """``ok``, ``failed``, or ``""`` where that is not known."""


class Work:
    """A call, or a result with its call if that is near, among the calls of its session."""

    def __init__(self, happened: Sequence[Happened], place: int, *, more_before: bool, more_after: bool) -> None:
        self._happened = happened
        self._partners = partners(happened, more_before=more_before, more_after=more_after)
        self._call = place if happened[place].call else self._partners[place]
        self._place = place
        self._steps: dict[int, Step] = {}

    @classmethod
    def around(cls, unbound: Unbound) -> Work | None:
        """What is done at a memory; ``None`` where it is neither a call nor a result."""
        memory = unbound.memory
        if memory.kind not in _KINDS:
            return None
        own = Neighbour(
            kind=memory.kind, tool=memory.tool, outcome=memory.outcome, files=memory.files, text=memory.text
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
        if result and self._outcome(self._call) == "failed" and step.action in CHECKS:
            found += blamed(result.text)
        return found

    def done(self, back: int) -> list[Done]:
        """The call, and at most so many before it, the nearest first; none for a result whose call is not known."""
        return [] if self._call is None else [self._done(place) for place in self._near(-1)[: back + 1]]

    def worked(self) -> bool | None:
        """Whether things were well after the call; ``None`` where nothing tells."""
        if self._call is None:
            return None
        step, *later = ((self._step(place), self._outcome(place)) for place in self._near(1))
        return worked(*step, later)

    def _near(self, way: int) -> list[int]:
        """The call, and those before (-1) or after (1) it, the nearest first."""
        assert self._call is not None
        side = range(self._call, len(self._happened) if way > 0 else -1, way)
        return [place for place in side if self._happened[place].call]

    def _done(self, place: int) -> Done:
        step = self._step(place)
        tool = step.programs[0] if step.programs else self._happened[place].tool
        return Done(step.action, step.target, tool, self._outcome(place) or "")

    def _step(self, place: int) -> Step:
        if place not in self._steps:
            one = self._happened[place]
            self._steps[place] = step_of(one.tool, one.text, one.files)
        return self._steps[place]

    def _result(self, place: int) -> Happened | None:
        found = self._partners[place]
        return None if found is None else self._happened[found]

    def _outcome(self, place: int) -> str | None:
        """How a call ended, as its result says, or the call itself where a source tells both in one."""
        result = self._result(place)
        return (result and result.outcome) or self._happened[place].outcome


def _happened(one: Neighbour) -> Happened:
    """A text may end within a letter, since its end is cut off."""
    return Happened(
        one.kind == "tool_call", one.tool or "", one.outcome, one.files, one.text.decode("utf-8", "replace")
    )
