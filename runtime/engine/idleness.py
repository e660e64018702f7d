"""When a society sleeps and when its process leaves: pure functions from a state and an event to instructions.

A night begins once nobody has wanted anything for a while and ends with whoever wants something. It goes on, under one
name, until it says that it is finished or its time is used up. A finished one is the last until somebody asks for
something again: a second one would have nothing new to work on. `mnemic.runtime.engine.sleep_scheduler` carries the
instructions out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from mnemic.actors.protocol.contract import Setting

__all__ = [
    "SETTINGS",
    "FallAsleep",
    "Habits",
    "Idleness",
    "Instruction",
    "Leave",
    "WakeUp",
    "habits_from",
    "idle_s",
    "night_name",
    "night_seed",
    "on_answer",
    "on_report",
    "on_request",
    "on_tick",
    "put_off",
    "sleepy",
]

SETTINGS = (
    Setting("runtime.sleep_after_s", 300.0, "seconds", "Nobody wants anything for so long: consolidate.", 0.1),
    Setting("runtime.sleep_budget_s", 60.0, "seconds", "One night lasts at most so long.", 0.1),
    Setting(
        "runtime.idle_exit_s",
        900.0,
        "seconds",
        "Nobody wants anything for so long: close the mind; leave, if started on demand.",
        0.1,
    ),
)
"""The knobs of idleness."""


class Habits(msgspec.Struct, frozen=True):
    """When to sleep, and when to leave."""

    sleep_after_s: float = 300.0
    """Nobody wants anything for so long: the next night may begin."""
    sleep_budget_s: float = 60.0
    """How long one night may last."""
    idle_exit_s: float = 900.0
    """Nobody wants anything for so long: the process may leave."""


def habits_from(settings: Mapping[str, Any]) -> Habits:
    """The habits that settings name."""
    return Habits(**{name: settings[f"runtime.{name}"] for name in Habits.__struct_fields__})


class Idleness(msgspec.Struct, frozen=True):
    """Who wants something, and what became of the nights."""

    quiet_since_s: float
    """Monotonic time at which somebody last wanted or got something."""
    open: int = 0
    """Requests that are not answered yet."""
    requests: int = 0
    """All of them since the start."""
    night: str = ""
    """Name of the night that is on."""
    ends_s: float = 0.0
    """Monotonic time at which its budget is used up."""
    not_before_s: float = 0.0
    """Monotonic time before which no other begins."""
    rested: bool = False
    """Whether a night has finished since somebody last wanted something."""


class FallAsleep(msgspec.Struct, frozen=True):
    """Instruction: ask for the night's work, or for more of it."""

    run: str
    """Name of the night."""
    budget_s: float
    """What is left of its time."""


class WakeUp(msgspec.Struct, frozen=True):
    """Instruction: have the night end after the step it is in."""

    run: str
    """Name of the night."""


class Leave(msgspec.Struct, frozen=True):
    """Instruction: the process may end. Given at every tick until it does, or somebody wants something."""


Instruction = FallAsleep | WakeUp | Leave
Decision = tuple[Idleness, tuple[Instruction, ...]]


def on_request(state: Idleness, now_s: float) -> Decision:
    """Somebody wants something: it goes before any night."""
    woken = () if not state.night else (WakeUp(state.night),)
    return (
        msgspec.structs.replace(
            state,
            quiet_since_s=max(now_s, state.quiet_since_s),
            open=state.open + 1,
            requests=state.requests + 1,
            night="",
            not_before_s=0.0,
            rested=False,
        ),
        woken,
    )


def on_answer(state: Idleness, now_s: float) -> Idleness:
    """Somebody got it, or gave up: it is quiet from now on, unless others still wait."""
    return msgspec.structs.replace(state, quiet_since_s=max(now_s, state.quiet_since_s), open=max(0, state.open - 1))


def on_tick(state: Idleness, now_s: float, habits: Habits, *, busy: bool, run: str) -> Decision:
    """Time has passed.

    Args:
        busy: whether actors still work on what was wanted: no night begins and nobody leaves meanwhile.
        run: the name of a night that would begin now; empty where none can.
    """
    if state.night:
        if now_s < state.ends_s:
            return state, (FallAsleep(state.night, state.ends_s - now_s),)
        return _over(state, now_s + habits.sleep_after_s), (WakeUp(state.night),)
    if sleepy(state, now_s, habits, busy=busy) and run:
        ends_s = now_s + habits.sleep_budget_s
        return msgspec.structs.replace(state, night=run, ends_s=ends_s), (FallAsleep(run, habits.sleep_budget_s),)
    leaves = not busy and idle_s(state, now_s) >= habits.idle_exit_s
    return state, (Leave(),) if leaves else ()


def sleepy(state: Idleness, now_s: float, habits: Habits, *, busy: bool) -> bool:
    """Whether a night is to begin now."""
    waits = busy or state.open or state.night or state.rested or now_s < state.not_before_s
    return not waits and idle_s(state, now_s) >= habits.sleep_after_s


def on_report(state: Idleness, run: str, now_s: float, habits: Habits, *, finished: bool | None) -> Idleness:
    """A night has said how far it is.

    Args:
        finished: whether nothing is left to do; ``None`` where it failed, which ends it.
    """
    if run != state.night:  # it was woken meanwhile, and says so late
        return state
    if finished is None:
        return _over(state, now_s + habits.sleep_after_s)
    return _over(msgspec.structs.replace(state, rested=True), 0.0) if finished else state


def put_off(state: Idleness, now_s: float, habits: Habits) -> Idleness:
    """A night could not begin: try again as late as after one that failed."""
    return msgspec.structs.replace(state, not_before_s=now_s + habits.sleep_after_s)


def idle_s(state: Idleness, now_s: float) -> float:
    """For how long nobody has wanted anything."""
    return 0.0 if state.open else max(0.0, now_s - state.quiet_since_s)


def night_name(seed: bytes, seq: int) -> str:
    """The name of the night that works on the log up to `seq`.

    The same mind with the same log has the same night: what one that was cut short has written is known by its keys.
    """
    return f"night-{seq}-{hashlib.sha256(seed + seq.to_bytes(8, 'big')).hexdigest()[:8]}"


def night_seed(seed: bytes, run: str) -> bytes:
    """What chance depends on in a night, 32 bytes."""
    return hashlib.sha256(b"\0".join((seed, run.encode()))).digest()


def _over(state: Idleness, not_before_s: float) -> Idleness:
    return msgspec.structs.replace(state, night="", ends_s=0.0, not_before_s=not_before_s)
