"""What becomes of an actor that fails: pure functions from an event to an instruction.

One for one: only the actor that failed is made anew, after a delay that doubles with each failure; one that fails too
often within a window is quarantined with its reason, until somebody releases it. Chance is an argument: it shortens
delays a little, so that actors that failed together do not come back together. Above stand
`mnemic.runtime.engine.supervisor` and the parent of the process that drives Ray, which carry the instructions out.
"""

from __future__ import annotations

import msgspec

_MAX_DOUBLINGS = 64  # beyond, no delay is below any longest one, and a float could not hold it


class RestartPolicy(msgspec.Struct, frozen=True):
    """When to give up."""

    failures: int = 5
    """So many failures within the window mean quarantine."""
    window_s: float = 60.0
    """Length of the window."""
    first_delay_s: float = 0.05
    """Delay after the first failure; it doubles with each further one."""
    longest_delay_s: float = 5.0
    """No delay is longer."""
    jitter: float = 0.25
    """Chance shortens a delay by less than this part of it, 0 to 1."""


class FailureHistory(msgspec.Struct, frozen=True):
    """How an actor is."""

    failed_at_s: tuple[float, ...] = ()
    """Monotonic times of the failures that still count."""
    failures: int = 0
    """All failures since the start."""
    cause: str = ""
    """The last one, as a kind of error and a place in the code; never a text."""
    quarantined: bool = False
    """Whether it is quarantined."""


class Restart(msgspec.Struct, frozen=True):
    """Instruction: make the actor anew before its next message."""

    delay_s: float
    """How long it rests before."""


class Quarantine(msgspec.Struct, frozen=True):
    """Instruction: answer its messages with the reason."""

    cause: str
    """The reason."""


def on_failure(
    health: FailureHistory, now_s: float, cause: str, policy: RestartPolicy, draw: float
) -> tuple[FailureHistory, Restart | Quarantine]:
    """Decide what becomes of an actor that has just failed.

    Args:
        now_s: monotonic seconds.
        draw: chance, at least 0 and below 1.

    Returns the actor's new health and the one instruction to carry out.
    """
    recent = (*(time for time in health.failed_at_s if now_s - time <= policy.window_s), now_s)
    quarantined = health.quarantined or len(recent) >= policy.failures
    after = FailureHistory(failed_at_s=recent, failures=health.failures + 1, cause=cause, quarantined=quarantined)
    if quarantined:
        return after, Quarantine(cause)
    doublings = min(len(recent) - 1, _MAX_DOUBLINGS)
    delay_s = min(policy.longest_delay_s, policy.first_delay_s * 2**doublings)
    return after, Restart(delay_s * (1 - policy.jitter * draw))


def on_release(health: FailureHistory) -> FailureHistory:
    """Decide what becomes of an actor that somebody releases: the failures so far count for the total alone."""
    return FailureHistory(failures=health.failures, cause=health.cause)
