"""Tracks each actor's health and carries out restarts and quarantines after failures.

Below it is the engine. A decision and what is done about it stand under one lock: a failure and a release that come
together leave the actor as the later of them wants it.

What a supervisor decides when an actor fails: pure functions from an event to an instruction.

One for one: only the actor that failed is made anew, after a delay that doubles with each failure; one that fails too
often within a window is set aside with its reason, until somebody releases it. Chance is an argument: it shortens
delays a little, so that actors that failed together do not come back together.
"""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Iterable

import msgspec

from mnemic.actors.protocol.contract import Clock
from mnemic.actors.protocol.errors import Quarantined
from mnemic.runtime.engine.engine import Engine
from mnemic.runtime.engine.reports import ActorHealth, ActorState

__all__ = ["ActorHealthMonitor", "FailureHistory", "Quarantine", "Restart", "RestartPolicy", "on_failure", "on_release"]

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
    """Whether it was set aside."""


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


class ActorHealthMonitor:
    """Keeps actors going. Any thread may use it."""

    def __init__(self, engine: Engine, actors: Iterable[str], clock: Clock, policy: RestartPolicy, seed: bytes) -> None:
        """Know the actors; they are as yet well.

        Args:
            seed: what the delays' jitter depends on.
        """
        self._engine = engine
        self._clock = clock
        self._policy = policy
        self._chance = random.Random(hashlib.sha256(seed).digest())
        self._gate = threading.Lock()
        self._health = {actor: FailureHistory() for actor in actors}
        self._handled = dict.fromkeys(self._health, 0)
        self._working: set[str] = set()
        self._resting: set[str] = set()  # those that have failed, and had no message since
        self._failing: set[str] = set()  # those whose message of now has failed

    def message_started(self, actor: str) -> None:
        """An actor has taken up a message."""
        self._working.add(actor)
        self._resting.discard(actor)

    def message_ended(self, actor: str) -> bool:
        """An actor is done with a message; returns whether it failed on it."""
        self._handled[actor] += 1
        self._working.discard(actor)
        failed = actor in self._failing
        self._failing.discard(actor)
        return failed

    def message_failed(self, actor: str, cause: str) -> Restart | Quarantine:
        """An actor failed on the message it has: decide, and carry the decision out."""
        self._failing.add(actor)
        self._resting.add(actor)
        with self._gate:
            health, instruction = on_failure(
                self._health[actor], self._clock.monotonic_s(), cause, self._policy, self._chance.random()
            )
            self._health[actor] = health
            if isinstance(instruction, Quarantine):
                self._engine.quarantine(actor, Quarantined(actor=actor, failures=health.failures, cause=cause))
            else:
                self._engine.restart(actor, instruction.delay_s)
        return instruction

    def close_failed(self, actor: str, cause: str) -> None:
        """An actor's old instance could not be closed: it is a failure to show, and there is nothing to decide."""
        with self._gate:
            health = self._health[actor]
            self._health[actor] = msgspec.structs.replace(health, failures=health.failures + 1, cause=cause)

    def release_quarantined(self) -> list[str]:
        """Have the actors that were set aside made anew; see
        `mnemic.runtime.engine.supervisor.Supervisor.release_quarantined`.
        """
        with self._gate:
            released = [name for name, health in self._health.items() if health.quarantined]
            for name in released:
                self._health[name] = on_release(self._health[name])
                self._engine.end_quarantine(name)
        return released

    def is_working(self, actor: str) -> bool:
        """Whether an actor has taken up a message and is not done with it."""
        return actor in self._working

    def health(self, actor: str) -> ActorHealth:
        """How an actor is."""
        health = self._health[actor]
        state: ActorState = "resting" if actor in self._resting else "running"
        return ActorHealth(
            actor=actor,
            waiting=self._engine.mailbox_size(actor),
            failures=health.failures,
            cause=health.cause,
            quarantined=health.quarantined,
            state="quarantined" if health.quarantined else state,
            handled=self._handled[actor],
        )
