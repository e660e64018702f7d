"""Pure decisions on idleness: when background consolidation starts or stops, and when the process exits.

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
    "ExitProcess",
    "IdlePolicy",
    "IdleState",
    "Instruction",
    "StartSleep",
    "StopSleep",
    "idle_policy_from",
    "idle_s",
    "on_answer",
    "on_request",
    "on_sleep_report",
    "on_tick",
    "postpone_sleep",
    "should_sleep",
    "sleep_run_name",
    "sleep_run_seed",
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


class IdlePolicy(msgspec.Struct, frozen=True):
    """When to sleep, and when to leave."""

    sleep_after_s: float = 300.0
    """Nobody wants anything for so long: the next night may begin."""
    sleep_budget_s: float = 60.0
    """How long one night may last."""
    idle_exit_s: float = 900.0
    """Nobody wants anything for so long: the process may leave."""


def idle_policy_from(settings: Mapping[str, Any]) -> IdlePolicy:
    """The habits that settings name."""
    return IdlePolicy(**{name: settings[f"runtime.{name}"] for name in IdlePolicy.__struct_fields__})


class IdleState(msgspec.Struct, frozen=True):
    """Who wants something, and what became of the nights."""

    quiet_since_s: float
    """Monotonic time at which somebody last wanted or got something."""
    open_requests: int = 0
    """Requests that are not answered yet."""
    requests: int = 0
    """All of them since the start."""
    active_run: str = ""
    """Name of the night that is on."""
    run_deadline_s: float = 0.0
    """Monotonic time at which its budget is used up."""
    not_before_s: float = 0.0
    """Monotonic time before which no other begins."""
    slept: bool = False
    """Whether a night has finished since somebody last wanted something."""


class StartSleep(msgspec.Struct, frozen=True):
    """Instruction: ask for the night's work, or for more of it."""

    run: str
    """Name of the night."""
    budget_s: float
    """What is left of its time."""


class StopSleep(msgspec.Struct, frozen=True):
    """Instruction: have the night end after the step it is in."""

    run: str
    """Name of the night."""


class ExitProcess(msgspec.Struct, frozen=True):
    """Instruction: the process may end. Given at every tick until it does, or somebody wants something."""


Instruction = StartSleep | StopSleep | ExitProcess
Decision = tuple[IdleState, tuple[Instruction, ...]]


def on_request(state: IdleState, now_s: float) -> Decision:
    """Somebody wants something: it goes before any night."""
    woken = () if not state.active_run else (StopSleep(state.active_run),)
    return (
        msgspec.structs.replace(
            state,
            quiet_since_s=max(now_s, state.quiet_since_s),
            open_requests=state.open_requests + 1,
            requests=state.requests + 1,
            active_run="",
            not_before_s=0.0,
            slept=False,
        ),
        woken,
    )


def on_answer(state: IdleState, now_s: float) -> IdleState:
    """Somebody got it, or gave up: it is quiet from now on, unless others still wait."""
    return msgspec.structs.replace(
        state, quiet_since_s=max(now_s, state.quiet_since_s), open_requests=max(0, state.open_requests - 1)
    )


def on_tick(state: IdleState, now_s: float, habits: IdlePolicy, *, busy: bool, run: str) -> Decision:
    """Time has passed.

    Args:
        busy: whether actors still work on what was wanted: no night begins and nobody leaves meanwhile.
        run: the name of a night that would begin now; empty where none can.
    """
    if state.active_run:
        if now_s < state.run_deadline_s:
            return state, (StartSleep(state.active_run, state.run_deadline_s - now_s),)
        return _end_run(state, now_s + habits.sleep_after_s), (StopSleep(state.active_run),)
    if should_sleep(state, now_s, habits, busy=busy) and run:
        ends_s = now_s + habits.sleep_budget_s
        return msgspec.structs.replace(state, active_run=run, run_deadline_s=ends_s), (
            StartSleep(run, habits.sleep_budget_s),
        )
    leaves = not busy and idle_s(state, now_s) >= habits.idle_exit_s
    return state, (ExitProcess(),) if leaves else ()


def should_sleep(state: IdleState, now_s: float, habits: IdlePolicy, *, busy: bool) -> bool:
    """Whether a night is to begin now."""
    waits = busy or state.open_requests or state.active_run or state.slept or now_s < state.not_before_s
    return not waits and idle_s(state, now_s) >= habits.sleep_after_s


def on_sleep_report(
    state: IdleState, run: str, now_s: float, habits: IdlePolicy, *, finished: bool | None
) -> IdleState:
    """A night has said how far it is.

    Args:
        finished: whether nothing is left to do; ``None`` where it failed, which ends it.
    """
    if run != state.active_run:  # it was woken meanwhile, and says so late
        return state
    if finished is None:
        return _end_run(state, now_s + habits.sleep_after_s)
    return _end_run(msgspec.structs.replace(state, slept=True), 0.0) if finished else state


def postpone_sleep(state: IdleState, now_s: float, habits: IdlePolicy) -> IdleState:
    """A night could not begin: try again as late as after one that failed."""
    return msgspec.structs.replace(state, not_before_s=now_s + habits.sleep_after_s)


def idle_s(state: IdleState, now_s: float) -> float:
    """For how long nobody has wanted anything."""
    return 0.0 if state.open_requests else max(0.0, now_s - state.quiet_since_s)


def sleep_run_name(seed: bytes, seq: int) -> str:
    """The name of the night that works on the log up to `seq`.

    The same mind with the same log has the same night: what one that was cut short has written is known by its keys.
    """
    return f"night-{seq}-{hashlib.sha256(seed + seq.to_bytes(8, 'big')).hexdigest()[:8]}"


def sleep_run_seed(seed: bytes, run: str) -> bytes:
    """What chance depends on in a night, 32 bytes."""
    return hashlib.sha256(b"\0".join((seed, run.encode()))).digest()


def _end_run(state: IdleState, not_before_s: float) -> IdleState:
    return msgspec.structs.replace(state, active_run="", run_deadline_s=0.0, not_before_s=not_before_s)
