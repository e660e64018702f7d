"""The embedded engine keeps the engines' contract and leaves no threads behind; its mailboxes between two steps."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mnemic.actors.kernel.errors import ActorFailed, ActorStopped, Quarantined
from mnemic.runtime.engine.engine import EmbeddedEngine, _Mailbox
from tests.clocks import ManualClock
from tests.contract.engine_contract import SECRET, Echo, EngineContract, Gate, ProbeActor, Raise, Say, Watch, letter
from tests.waiting import BOUND_S


class ThreadGate:
    """A gate between threads."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def open(self) -> None:
        self._event.set()

    def wait(self) -> None:
        assert self._event.wait(BOUND_S)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0)


@pytest.fixture
def gates() -> Callable[[], Gate]:
    return ThreadGate


@pytest.fixture
def engine(clock: ManualClock) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine(clock, stop_timeout_s=BOUND_S)
    before = set(threading.enumerate())
    yield engine
    for name in list(engine._mailboxes):
        engine.stop(name)
    assert set(threading.enumerate()) <= before


@pytest.fixture
def impatient_engine(clock: ManualClock) -> EmbeddedEngine:
    return EmbeddedEngine(clock, stop_timeout_s=0.01)


class TestEmbeddedEngine(EngineContract):
    """The contract."""

    def test_stopping_closes_the_actor_in_its_own_thread(self, engine: EmbeddedEngine) -> None:
        threads: list[int] = []

        class Closing(ProbeActor):
            def handle(self, message: Any, context: Any) -> Any:
                threads.append(threading.get_ident())

            def close(self) -> None:
                threads.append(threading.get_ident())

        self.start(engine, Watch(engine), Closing)
        self.ask(engine, Say(0))
        engine.stop("probe")
        assert len(threads) == 2
        assert len(set(threads)) == 1

    def test_an_instance_that_is_to_go_is_closed_by_its_own_thread_even_where_another_says_so(
        self, engine: EmbeddedEngine
    ) -> None:
        threads: list[int] = []

        class Closing(ProbeActor):
            def close(self) -> None:
                threads.append(threading.get_ident())

        self.start(engine, Watch(engine), Closing)
        engine.restart("probe", 0.0)
        assert self.ask(engine, Say(1)) == (1,)
        assert threads
        assert threading.get_ident() not in threads

    def test_a_message_is_let_go_once_it_is_answered(self, engine: EmbeddedEngine) -> None:
        class Payload:
            pass

        self.start(engine, Watch(engine))
        payload = Payload()
        gone = weakref.ref(payload)
        self.ask(engine, Echo(payload))
        self.ask(engine, Say(0))  # the first one is done with
        del payload
        gc.collect()
        assert gone() is None

    def test_whoever_is_interrupted_while_waiting_takes_the_message_back(
        self, engine: EmbeddedEngine, gates: Callable[[], Gate], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.start(engine, Watch(engine))
        go_on = self.occupy(engine, gates)
        reply = engine.send("probe", letter(Say(1)), timeout_s=BOUND_S)

        def interrupted(timeout: float) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(reply._answer, "result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            reply.get()
        go_on.open()
        assert self.ask(engine, Say(2)) == (2,)

    def test_sending_races_with_stopping_and_every_message_is_handled_or_refused(self, clock: ManualClock) -> None:
        for _ in range(20):
            engine = EmbeddedEngine(clock, stop_timeout_s=BOUND_S)
            watch = Watch(engine)
            self.start(engine, watch)
            ready = threading.Barrier(5)

            def send(engine: EmbeddedEngine = engine, ready: threading.Barrier = ready) -> int:
                ready.wait(BOUND_S)
                answered = 0
                for number in range(50):
                    try:
                        self.ask(engine, Say(number))
                        answered += 1
                    except ActorStopped:
                        return answered
                return answered

            with ThreadPoolExecutor(4) as pool:
                sent = [pool.submit(send) for _ in range(4)]
                ready.wait(BOUND_S)
                engine.stop("probe")
                assert all(0 <= one.result(BOUND_S) <= 50 for one in sent)
            assert watch.lost == []

    def test_no_log_says_what_a_failure_said(self, engine: EmbeddedEngine, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        self.start(engine, Watch(engine))
        with pytest.raises(ActorFailed):
            self.ask(engine, Raise(ValueError(SECRET)))
        self.tell(engine, Raise(ValueError(SECRET)))
        self.ask(engine, Say(1))
        assert SECRET not in caplog.text


QUARANTINED = Quarantined(actor="probe", failures=3, cause="X")


class InstanceDied(Exception):
    """An actor's own error, of the same name as the engine's."""


class ReleasedOnceSeen(_Mailbox):
    """A mailbox whose quarantine is over as soon as its thread has looked at it."""

    looks = 0

    @property
    def _quarantine_error(self) -> Quarantined | None:
        self.looks += 1
        return QUARANTINED if self.looks == 1 else None

    @_quarantine_error.setter
    def _quarantine_error(self, error: Quarantined | None) -> None:
        """It is as it is."""


def test_a_release_between_two_looks_at_a_quarantine_harms_nobody() -> None:
    made = EmbeddedEngine(ManualClock(0), stop_timeout_s=BOUND_S)
    watch = Watch(made)
    made._mailboxes["probe"] = ReleasedOnceSeen("probe", ProbeActor, 10, watch, ManualClock(0))
    try:
        with pytest.raises(Quarantined):
            made.send("probe", letter(Say(1)), timeout_s=BOUND_S).get()
        assert made.send("probe", letter(Say(1)), timeout_s=BOUND_S).get() == (1,)
        assert watch.failures == []
    finally:
        made.stop("probe")


class Pausing(_Mailbox):
    """A mailbox whose thread pauses between taking a message out and handing it to the actor."""

    taken, go_on = threading.Event(), threading.Event()

    def _process(self, letter: Any) -> None:
        self.taken.set()
        assert self.go_on.wait(BOUND_S)
        super()._process(letter)


def test_an_engine_whose_actor_has_taken_a_message_and_not_begun_is_not_idle() -> None:
    made = EmbeddedEngine(ManualClock(0), stop_timeout_s=BOUND_S)
    mailbox = made._mailboxes["probe"] = Pausing("probe", ProbeActor, 10, Watch(made), ManualClock(0))
    try:
        answer = made.send("probe", letter(Say(1)), timeout_s=BOUND_S)
        assert mailbox.taken.wait(BOUND_S)
        assert made.mailbox_size("probe") == 0
        assert not made.is_idle()
        mailbox.go_on.set()
        assert answer.get() == (1,)
        assert made.is_idle()
    finally:
        mailbox.go_on.set()
        made.stop("probe")


def test_an_actors_own_error_is_no_death_whatever_its_name() -> None:
    made = EmbeddedEngine(ManualClock(0), stop_timeout_s=BOUND_S)
    watch = Watch(made)
    made.start("probe", ProbeActor, 10, watch)
    try:
        with pytest.raises(ActorFailed):
            made.send("probe", letter(Raise(InstanceDied())), timeout_s=BOUND_S).get()
        assert watch.failures == [("probe", "InstanceDied")]
    finally:
        made.stop("probe")


def test_numpys_lazy_module_is_there_before_two_actors_can_load_it_at_once() -> None:
    """`numpy.unique` asks for `numpy.ma`; what sees it loaded and not yet named goes around in `numpy.__getattr__`."""
    loaded = "import mnemic.runtime.engine.engine, numpy; print('ma' in vars(numpy))"
    told = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert told.stdout == "True\n"
