"""The keeper knows how an actor is, and does to the engine what was decided: nothing else, and in one order."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mnemic.actors.protocol.errors import Quarantined
from mnemic.runtime.clock import ManualClock
from mnemic.runtime.engine.actor_health import Keeper, Policy, Quarantine, Restart

POLICY = Policy(failures=3, first_delay_s=1.0, jitter=0.5)


class Engine:
    """Writes down what it is told to do."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def restart(self, name: str, delay_s: float) -> None:
        self.told.append((name, delay_s))

    def quarantine(self, name: str, error: Quarantined) -> None:
        self.told.append((name, str(error)))

    def release(self, name: str) -> None:
        self.told.append((name, "released"))

    def waiting(self, name: str) -> int:
        return 2


def keeper(engine: Engine, seed: bytes = b"seed") -> Keeper:
    return Keeper(engine, ["store", "embedder"], ManualClock(0), POLICY, seed)  # type: ignore[arg-type]


def delays(seed: bytes) -> list[float]:
    engine = Engine()
    kept = keeper(engine, seed)
    for actor in ("store", "embedder", "store"):
        kept.failed(actor, "a")
    return [delay for _, delay in engine.told]


def test_the_jitter_follows_from_the_seed_and_actors_that_fail_together_come_back_apart() -> None:
    assert delays(b"one") == delays(b"one") != delays(b"another")
    first, second, _ = delays(b"one")
    assert first != second
    assert all(0.5 < delay <= 1.0 for delay in (first, second))


def test_every_decision_is_carried_out_on_the_engine() -> None:
    engine = Engine()
    kept = keeper(engine)
    instructions = [kept.failed("store", f"cause {number}") for number in range(3)]
    assert [type(one) for one in instructions] == [Restart, Restart, Quarantine]
    assert engine.told[2] == ("store", "store failed 3 times and was set aside: cause 2.")
    assert kept.release() == ["store"]
    assert engine.told[3:] == [("store", "released")]


def test_an_actor_rests_from_its_failure_to_its_next_message() -> None:
    kept = keeper(Engine())
    kept.begun("store")
    assert kept.works("store")
    kept.failed("store", "a")
    assert kept.ended("store")
    assert (kept.works("store"), kept.view("store").state) == (False, "resting")
    kept.begun("store")
    assert not kept.ended("store")
    view = kept.view("store")
    assert (view.state, view.handled, view.waiting, view.failures) == ("running", 2, 2, 1)


def test_an_instance_that_cannot_be_closed_is_a_failure_without_a_decision() -> None:
    engine = Engine()
    kept = keeper(engine)
    kept.unclosed("store", "OSError at close")
    assert (kept.view("store").failures, kept.view("store").cause, engine.told) == (1, "OSError at close", [])


def test_however_failures_and_releases_meet_the_engine_was_told_last_what_the_health_says() -> None:
    engine = Engine()
    kept = keeper(engine)
    start = threading.Barrier(2)

    def fail() -> None:
        start.wait(30)
        for _ in range(200):
            kept.failed("store", "a")

    def release() -> None:
        start.wait(30)
        for _ in range(200):
            kept.release()

    with ThreadPoolExecutor(2) as pool:
        for job in (pool.submit(fail), pool.submit(release)):
            job.result(30)
    set_aside = False
    for _, told in engine.told:
        set_aside = isinstance(told, str) and told != "released"
    assert kept.view("store").quarantined == set_aside
    assert kept.view("store").failures == 200
