"""Metrics count what happens, show how actor systems are whenever somebody looks, and have a registry of their own."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import msgspec
import prometheus_client
import pytest
from prometheus_client.parser import text_string_to_metric_families

from mnemic.actors.kernel.contract import CONTRACT, Context, Setting
from mnemic.actors.kernel.errors import ActorFailed, Quarantined, StoreBusy
from mnemic.runtime.engine.actor_health import RestartPolicy
from mnemic.runtime.engine.engine import EmbeddedEngine
from mnemic.runtime.engine.supervisor import ActorSpec, Supervisor
from mnemic.runtime.serve.metrics import CONTENT_TYPE, Metrics
from tests.clocks import ManualClock
from tests.waiting import BOUND_S

SECRET = "the tea is in the blue tin"


class Do(msgspec.Struct, frozen=True):
    """The actor runs this."""

    work: Callable[[Context], Any]


class Nobody(msgspec.Struct, frozen=True):
    """Nobody takes it."""


class Doer:
    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Do,)
    settings: ClassVar[tuple[Setting, ...]] = ()

    def handle(self, message: Any, context: Context) -> Any:
        return message.work(context)


def fail(context: Context) -> None:
    raise ValueError(SECRET)


def refuse(context: Context) -> None:
    raise StoreBusy(path=SECRET, waited_s=1.0)


class Watched:
    """An actor system with its metrics."""

    def __init__(self) -> None:
        self.clock = ManualClock(1_000_000)
        self.metrics = Metrics()
        self.supervisor = Supervisor(
            EmbeddedEngine(self.clock, stop_timeout_s=BOUND_S),
            [ActorSpec("doer", Doer, Doer)],
            clock=self.clock,
            seed=b"seed",
            run="run",
            policy=RestartPolicy(failures=3, first_delay_s=0.0),
            observer=self.metrics,
        )
        self.metrics.add_mind("default", self.supervisor.report)

    def samples(self) -> dict[tuple[str, ...], float]:
        """Every sample, by its name and the values of its labels, in the order of the labels' names."""
        families = text_string_to_metric_families(self.metrics.exposition().decode())
        return {
            (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in families
            for sample in family.samples
        }


@pytest.fixture
def watched() -> Iterator[Watched]:
    watched = Watched()
    yield watched
    watched.supervisor.stop()


def test_every_message_is_counted_by_its_outcome_and_timed_by_its_actor(watched: Watched) -> None:
    supervisor = watched.supervisor
    for _ in range(2):
        supervisor.ask(Do(lambda context: watched.clock.advance(0.3)))
    with pytest.raises(StoreBusy):
        supervisor.ask(Do(refuse))
    for _ in range(3):
        with pytest.raises(ActorFailed):
            supervisor.ask(Do(fail))
    with pytest.raises(Quarantined):
        supervisor.ask(Do(fail))
    supervisor.tell(Nobody())
    samples = watched.samples()
    outcomes = {key[3]: value for key, value in samples.items() if key[0] == "mnemic_messages_total"}
    assert outcomes == {"ok": 2, "store_busy": 1, "failure": 3, "quarantined": 1}
    assert samples["mnemic_handling_seconds_count", "doer"] == 7
    assert samples["mnemic_handling_seconds_sum", "doer"] == pytest.approx(0.6)
    assert samples["mnemic_handling_seconds_bucket", "doer", "0.25"] == 5
    assert samples["mnemic_handling_seconds_bucket", "doer", "0.5"] == 7
    assert samples["mnemic_restarts_total", "doer"] == 2
    assert samples["mnemic_dead_letters_total", "-", "Nobody", "no_taker"] == 1
    assert samples["mnemic_quarantined", "doer", "default"] == 1
    assert samples["mnemic_failures_total", "doer", "default"] == 3
    supervisor.release_quarantined()
    assert watched.samples()["mnemic_quarantined", "doer", "default"] == 0


def test_how_a_actor_system_is_is_looked_up_when_somebody_looks_and_not_once_it_is_gone(watched: Watched) -> None:
    watched.clock.advance(5)
    assert watched.samples()["mnemic_idle_seconds", "default"] == 5
    waiting: list[float] = []

    def look(context: Context) -> None:
        context.tell(Do(lambda inner: None))
        waiting.append(watched.samples()["mnemic_waiting", "doer", "default"])

    watched.supervisor.ask(Do(look))
    assert waiting == [1]
    watched.metrics.remove_mind("default")
    watched.metrics.remove_mind("default")
    assert not [key for key in watched.samples() if "default" in key]


def test_requests_are_counted_and_timed_by_verb(watched: Watched) -> None:
    for outcome in ("ok", "ok", "unknown_scope"):
        watched.metrics.request_finished("recall", outcome, 0.02)
    samples = watched.samples()
    assert samples["mnemic_requests_total", "ok", "recall"] == 2
    assert samples["mnemic_requests_total", "unknown_scope", "recall"] == 1
    assert samples["mnemic_request_seconds_count", "recall"] == 3


@pytest.mark.skipif(sys.platform != "linux", reason="the library reads /proc")
def test_the_processes_memory_and_descriptors_are_shown(watched: Watched) -> None:
    samples = watched.samples()
    assert samples["process_resident_memory_bytes",] > 1e6
    assert samples["process_open_fds",] > 2


def test_nothing_is_in_the_librarys_own_registry_and_two_processes_worth_of_metrics_do_not_meet() -> None:
    one, other = Metrics(), Metrics()
    one.request_finished("recall", "ok", 0.1)
    assert b'verb="recall"' in one.exposition()
    assert b'verb="recall"' not in other.exposition()
    assert b"mnemic" not in prometheus_client.generate_latest()


def test_no_metric_quotes_what_an_actor_was_told_or_said(watched: Watched) -> None:
    for work in (fail, refuse):
        with pytest.raises((ActorFailed, StoreBusy)):
            watched.supervisor.ask(Do(work))
        watched.supervisor.tell(Do(work))
    watched.supervisor.ask(Do(lambda context: SECRET))
    assert SECRET not in watched.metrics.exposition().decode()
    assert CONTENT_TYPE.startswith("text/plain")


def test_looking_again_and_again_leaves_nothing_behind(watched: Watched) -> None:
    def objects() -> int:
        gc.collect()
        return len(gc.get_objects())

    for _ in range(3):
        watched.metrics.exposition()
    before = objects()
    for _ in range(50):
        watched.supervisor.ask(Do(lambda context: None))
        watched.metrics.exposition()
    assert objects() - before < 200


def test_the_supervisor_and_its_client_do_not_load_the_library() -> None:
    code = (
        "import sys, mnemic.runtime.engine.supervisor, mnemic.runtime.logs; print('prometheus_client' in sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=BOUND_S)
    assert (loaded.stderr, loaded.stdout.strip()) == ("", "False")
