"""The keeper: knows how each actor is, and carries out what `mnemic.runtime.supervision` decides about it.

Below it is the engine. A decision and what is done about it stand under one lock: a failure and a release that come
together leave the actor as the later of them wants it.
"""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Iterable

import msgspec

from mnemic.actors.contract import Clock
from mnemic.actors.errors import Quarantined
from mnemic.runtime.engine import Engine
from mnemic.runtime.reports import ActorHealth, ActorState
from mnemic.runtime.supervision import Health, Policy, Quarantine, Restart, on_failure, on_release

__all__ = ["Keeper"]


class Keeper:
    """Keeps actors going. Any thread may use it."""

    def __init__(self, engine: Engine, actors: Iterable[str], clock: Clock, policy: Policy, seed: bytes) -> None:
        """Know the actors; they are as yet well.

        Args:
            seed: what the delays' jitter depends on.
        """
        self._engine = engine
        self._clock = clock
        self._policy = policy
        self._chance = random.Random(hashlib.sha256(seed).digest())
        self._gate = threading.Lock()
        self._health = {actor: Health() for actor in actors}
        self._handled = dict.fromkeys(self._health, 0)
        self._working: set[str] = set()
        self._resting: set[str] = set()  # those that have failed, and had no message since
        self._failing: set[str] = set()  # those whose message of now has failed

    def begun(self, actor: str) -> None:
        """An actor has taken up a message."""
        self._working.add(actor)
        self._resting.discard(actor)

    def ended(self, actor: str) -> bool:
        """An actor is done with a message; returns whether it failed on it."""
        self._handled[actor] += 1
        self._working.discard(actor)
        failed = actor in self._failing
        self._failing.discard(actor)
        return failed

    def failed(self, actor: str, cause: str) -> Restart | Quarantine:
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

    def unclosed(self, actor: str, cause: str) -> None:
        """An actor's old instance could not be closed: it is a failure to show, and there is nothing to decide."""
        with self._gate:
            health = self._health[actor]
            self._health[actor] = msgspec.structs.replace(health, failures=health.failures + 1, cause=cause)

    def release(self) -> list[str]:
        """Have the actors that were set aside made anew; see `mnemic.runtime.supervisor.Supervisor.release`."""
        with self._gate:
            released = [name for name, health in self._health.items() if health.quarantined]
            for name in released:
                self._health[name] = on_release(self._health[name])
                self._engine.release(name)
        return released

    def works(self, actor: str) -> bool:
        """Whether an actor has taken up a message and is not done with it."""
        return actor in self._working

    def view(self, actor: str) -> ActorHealth:
        """How an actor is."""
        health = self._health[actor]
        state: ActorState = "resting" if actor in self._resting else "running"
        return ActorHealth(
            actor=actor,
            waiting=self._engine.waiting(actor),
            failures=health.failures,
            cause=health.cause,
            quarantined=health.quarantined,
            state="quarantined" if health.quarantined else state,
            handled=self._handled[actor],
        )
