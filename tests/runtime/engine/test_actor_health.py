"""The health monitor knows how an actor is, and does to the engine what was decided: nothing else, and in one order."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mnemic.actors.protocol.errors import Quarantined
from mnemic.runtime.clock import ManualClock
from mnemic.runtime.engine.actor_health import ActorHealthMonitor, Quarantine, Restart, RestartPolicy

POLICY = RestartPolicy(failures=3, first_delay_s=1.0, jitter=0.5)


class Engine:
    """Writes down what it is told to do."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def restart(self, name: str, delay_s: float) -> None:
        self.told.append((name, delay_s))

    def quarantine(self, name: str, error: Quarantined) -> None:
        self.told.append((name, str(error)))

    def end_quarantine(self, name: str) -> None:
        self.told.append((name, "released"))

    def mailbox_size(self, name: str) -> int:
        return 2


def keeper(engine: Engine, seed: bytes = b"seed") -> ActorHealthMonitor:
    return ActorHealthMonitor(engine, ["store", "embedder"], ManualClock(0), POLICY, seed)  # type: ignore[arg-type]


def delays(seed: bytes) -> list[float]:
    engine = Engine()
    kept = keeper(engine, seed)
    for actor in ("store", "embedder", "store"):
        kept.message_failed(actor, "a")
    return [delay for _, delay in engine.told]


def test_the_jitter_follows_from_the_seed_and_actors_that_fail_together_come_back_apart() -> None:
    assert delays(b"one") == delays(b"one") != delays(b"another")
    first, second, _ = delays(b"one")
    assert first != second
    assert all(0.5 < delay <= 1.0 for delay in (first, second))


def test_every_decision_is_carried_out_on_the_engine() -> None:
    engine = Engine()
    kept = keeper(engine)
    instructions = [kept.message_failed("store", f"cause {number}") for number in range(3)]
    assert [type(one) for one in instructions] == [Restart, Restart, Quarantine]
    assert engine.told[2] == ("store", "store failed 3 times and was set aside: cause 2.")
    assert kept.release_quarantined() == ["store"]
    assert engine.told[3:] == [("store", "released")]


def test_an_actor_rests_from_its_failure_to_its_next_message() -> None:
    kept = keeper(Engine())
    kept.message_started("store")
    assert kept.is_working("store")
    kept.message_failed("store", "a")
    assert kept.message_ended("store")
    assert (kept.is_working("store"), kept.health("store").state) == (False, "resting")
    kept.message_started("store")
    assert not kept.message_ended("store")
    view = kept.health("store")
    assert (view.state, view.handled, view.waiting, view.failures) == ("running", 2, 2, 1)


def test_an_instance_that_cannot_be_closed_is_a_failure_without_a_decision() -> None:
    engine = Engine()
    kept = keeper(engine)
    kept.close_failed("store", "OSError at close")
    assert (kept.health("store").failures, kept.health("store").cause, engine.told) == (1, "OSError at close", [])


def test_however_failures_and_releases_meet_the_engine_was_told_last_what_the_health_says() -> None:
    engine = Engine()
    kept = keeper(engine)
    start = threading.Barrier(2)

    def fail() -> None:
        start.wait(30)
        for _ in range(200):
            kept.message_failed("store", "a")

    def release() -> None:
        start.wait(30)
        for _ in range(200):
            kept.release_quarantined()

    with ThreadPoolExecutor(2) as pool:
        for job in (pool.submit(fail), pool.submit(release)):
            job.result(30)
    set_aside = False
    for _, told in engine.told:
        set_aside = isinstance(told, str) and told != "released"
    assert kept.health("store").quarantined == set_aside
    assert kept.health("store").failures == 200
