"""Reads out of the steps after a failure what was tried against it, and what of that mended it. Pure.

A failure is over once the same check (the same action by the same program) ends well, or fails otherwise. What was done
last before that, beside looking, is what was tried; where nothing was, the check itself was run in another way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mnemic.algorithms.steps.steps import CHECK_ACTIONS, NEUTRAL_ACTIONS

MAX_STEPS = 16
"""So many steps after a failure are looked through; what comes later is about something else."""
_LOOKS = (NEUTRAL_ACTIONS - {"edit"}) | CHECK_ACTIONS - {"build"} | {""}
"""Actions that change nothing that a check would see."""


class DoneStep(NamedTuple):
    """A step as it is told, and how it ended."""

    action: str
    """What it did."""
    target: str
    """The kind of thing it was done to, or ``""``."""
    tool: str
    """The program that a shell ran for it, else the tool's name."""
    outcome: str
    """``ok``, ``failed``, or ``""`` where that is not known."""
    errors: frozenset[str] = frozenset()
    """What it ended with, in lower case: the kind, and what was said (`mnemic.algorithms.steps.errors`)."""


class Attempt(NamedTuple):
    """Something that was tried."""

    place: int
    """Which of the steps."""
    worked: bool
    """Whether the failure was over after it."""


def attempts(steps: Sequence[DoneStep]) -> list[Attempt]:
    """What was tried against a failure, in order; the last one worked, or none did as far as is known.

    Args:
        steps: the step that failed, and those after it in its session, in order.
    """
    failed, tried = steps[0], 0
    found: list[Attempt] = []
    for place, step in enumerate(steps[1 : MAX_STEPS + 1], 1):
        same = (step.action, step.tool) == (failed.action, failed.tool)
        if same and step.outcome:
            over = step.outcome == "ok" or _otherwise(failed.errors, step.errors)
            if tried or over:
                found.append(Attempt(tried or place, over))
            if over:
                break
            tried = 0
        elif step.action not in _LOOKS and step.outcome != "failed":
            tried = place
    return found


def _otherwise(errors: frozenset[str], now: frozenset[str]) -> bool:
    """Whether something else is wrong now: both say what, and have nothing in common."""
    return bool(errors and now) and not errors & now
