"""Procedures: which step follows which in sessions, how often, and how often it worked.

A step is named by what is done, to what kind of thing and by which program (`mnemic.algorithms.steps`); whether it
worked, the checks after it tell (`step_succeeded`). Only steps that do something are told to follow, and only those
that do something or tell how things are to go before: that reading follows reading is no procedure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from mnemic.algorithms.steps.steps import (
    NEUTRAL_ACTIONS,
    Step,
    ToolEvent,
    pair_calls_with_results,
    parse_step,
    step_succeeded,
)

_WITHIN = 6  # calls after a step in which the next one that does something is looked for
WhatT = TypeVar("WhatT", bound=Hashable)
_DOES_NOTHING = NEUTRAL_ACTIONS - {"edit", "delegate"}


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
    """What a call does in a few words: ``test python (pytest)``, ``edit docs``."""
    return _name(parse_step(tool, text, files), tool)


def _name(step: Step, tool: str) -> str:
    by = f" ({step.programs[0]})" if step.programs else f" ({tool})" if step.action == "call" else ""
    return f"{step.action} {step.target}".rstrip() + by


def steps_that_follow(happened: Sequence[ToolEvent]) -> list[Follows]:
    """Of a session, in order, each step that does something after one that failed, or that did something itself."""
    partners = pair_calls_with_results(happened)
    calls = [place for place, one in enumerate(happened) if one.is_call]
    steps = {place: parse_step(happened[place].tool, happened[place].text, happened[place].files) for place in calls}

    def outcome(place: int) -> str | None:
        result = partners[place]
        return (None if result is None else happened[result].outcome) or happened[place].outcome

    ended = [(steps[place], outcome(place)) for place in calls]
    found = []
    for at, place in enumerate(calls):
        step, how = ended[at]
        if how != "failed" and step.action in _DOES_NOTHING:
            continue
        for other in range(at + 1, min(at + 1 + _WITHIN, len(calls))):
            if steps[calls[other]].action not in _DOES_NOTHING:
                worked = step_succeeded(*ended[other], ended[other + 1 :])
                found.append(Follows(place, how == "failed", calls[other], worked))
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
