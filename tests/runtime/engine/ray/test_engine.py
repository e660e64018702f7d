"""The Ray engine keeps the engines' contract, survives its processes, and leaves none behind."""

from __future__ import annotations

import logging
import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import ActorFailed, ActorStopped, EngineLost, KeyMissing
from mnemic.runtime.engine.engine import InstanceDied as ProcessDied
from mnemic.runtime.engine.engine import Placement, RemoteFailure
from mnemic.runtime.engine.ray.engine import RayEngine
from mnemic.runtime.engine.ray.local import LocalRay
from mnemic.runtime.engine.ray.protocol import MindSealRecipe, Seal
from mnemic.runtime.logs import FIELDS
from mnemic.runtime.minds.homes import create_mind
from tests.clocks import ManualClock
from tests.contract.engine_contract import (
    SECRET,
    Echo,
    EngineContract,
    Gate,
    ProbeActor,
    Question,
    Raise,
    Say,
    Speak,
    Watch,
    Who,
    letter,
)
from tests.processes.ray_fixture import OpenSeal
from tests.waiting import BOUND_S, until

pytestmark = pytest.mark.system

DIED = "InstanceDied: ActorDiedError"
"""What is told of a process that was killed: what Ray says of it, too."""


class FileGate:
    """A gate between processes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self) -> None:
        self._path.touch()

    def wait(self) -> None:
        until(self._path.exists)


class Die(msgspec.Struct, frozen=True):
    """Write a line, then end the process, unless that was done so many times."""

    lines: Path
    times: int


class Pid(msgspec.Struct, frozen=True):
    """Answer with the process's id."""


class Niceness(msgspec.Struct, frozen=True):
    """Answer with the niceness of the actor's thread."""


class MortalActor(ProbeActor):
    """A probe whose process can be ended."""

    def handle(self, message: Any, context: Context) -> Any:
        match message:
            case Die():
                with message.lines.open("a") as file:
                    file.write(".")
                if message.lines.stat().st_size <= message.times:
                    os._exit(9)
                return self.name
            case Pid():
                return os.getpid()
            case Niceness():
                return os.getpriority(os.PRIO_PROCESS, 0)
        return super().handle(message, context)


class ForeseeingActor(ProbeActor):
    """Says beforehand the first thing that it asks, and one that it does not."""

    @staticmethod
    def foresees(message: Any) -> tuple[Any, ...]:
        return (Question(2), Question(99)) if isinstance(message, Speak) else ()


class LoggingActor(ProbeActor):
    """Logs, in its own name and in that of libraries."""

    def handle(self, message: Any, context: Context) -> Any:
        extra = {"trace": "a-trace", "took_ms": 1.5, "code": OddError(), "other": SECRET}
        logging.getLogger("mnemic.probe").info("an %s", "id", extra=extra)
        logging.getLogger("mnemic_kin").warning(SECRET, extra={"trace": SECRET})
        logging.getLogger("library").info("said %s", SECRET)
        try:
            raise ValueError(SECRET)
        except ValueError:
            logging.getLogger("library.deep").exception(SECRET)
        return super().handle(message, context)


class Linger(msgspec.Struct, frozen=True):
    """Once a gate is open, though this is answered by then, report and tell until refused; write how that went."""

    go_on: Any
    told: Path


class LingeringActor(ProbeActor):
    """Has a thread that speaks when nobody asked."""

    def handle(self, message: Any, context: Context) -> Any:
        if not isinstance(message, Linger):
            return super().handle(message, context)

        def speak() -> None:
            message.go_on.wait()
            for number in range(1, 1_000_000):
                try:
                    context.progress(number, None)
                    context.tell(Question(number))
                except ActorStopped as error:
                    draft = message.told.with_suffix(".new")
                    draft.write_text(f"{number} {error.code}")
                    draft.rename(message.told)
                    return

        threading.Thread(target=speak, daemon=True).start()
        return None


class InstanceDied(Exception):
    """A stranger's, of the same name as the engine's."""


class OddError(Exception):
    """No error of Python's or of Mnemic's."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0)


@pytest.fixture
def gates(tmp_path: Path) -> Callable[[], Gate]:
    return lambda: FileGate(tmp_path / uuid.uuid4().hex)


@pytest.fixture
def namespace(local_ray: LocalRay) -> Iterator[str]:
    name = uuid.uuid4().hex
    yield name
    until(lambda: local_ray.cluster.actors(name) == [])


@pytest.fixture
def engine(local_ray: LocalRay, clock: ManualClock, namespace: str) -> Iterator[RayEngine]:
    engine = RayEngine(local_ray.cluster, clock, OpenSeal(), namespace=namespace, stop_timeout_s=BOUND_S)
    yield engine
    for name in list(engine._mailboxes):
        engine.stop(name)
    engine.close()


@pytest.fixture
def impatient_engine(local_ray: LocalRay, clock: ManualClock, namespace: str) -> Iterator[RayEngine]:
    engine = RayEngine(local_ray.cluster, clock, OpenSeal(), namespace=namespace, stop_timeout_s=0.01)
    yield engine
    engine.close()


class TestRayEngine(EngineContract):
    """The contract."""

    # --- processes that die ------------------------------------------------------------------------------------------

    def test_a_message_whose_process_died_is_given_once_more_before_all_that_wait(
        self, engine: RayEngine, gates: Callable[[], Gate], tmp_path: Path
    ) -> None:
        watch = Watch(engine)
        self.start(engine, watch, MortalActor)
        go_on = self.occupy(engine, gates)
        dying = engine.send("probe", letter(Die(tmp_path / "lines", 1)), timeout_s=BOUND_S)
        waiting = [engine.send("probe", letter(Say(number)), timeout_s=BOUND_S) for number in range(5)]
        go_on.open()
        after = dying.get()
        assert (tmp_path / "lines").read_text() == ".."
        assert waiting[-1].get() == (0, 1, 2, 3, 4)
        assert self.ask(engine, Who()) == after
        assert watch.failures == [("probe", DIED)]

    def test_a_message_that_kills_twice_is_answered_and_the_actor_lives_on(
        self, engine: RayEngine, tmp_path: Path
    ) -> None:
        watch = Watch(engine)
        self.start(engine, watch, MortalActor)
        with pytest.raises(ActorFailed) as caught:
            self.ask(engine, Die(tmp_path / "lines", 9))
        assert caught.value.operands["cause"] == DIED
        assert (tmp_path / "lines").read_text() == ".."
        assert watch.failures == [("probe", DIED)] * 2
        assert self.ask(engine, Say(1)) == (1,)

    def test_a_process_killed_while_idle_is_noticed_by_the_next_message_which_is_handled(
        self, engine: RayEngine
    ) -> None:
        watch = Watch(engine)
        self.start(engine, watch, MortalActor)
        pid = self.ask(engine, Pid())
        process = psutil.Process(pid)
        process.send_signal(signal.SIGKILL)
        process.wait(BOUND_S)
        assert self.ask(engine, Say(1)) == (1,)
        assert watch.failures == [("probe", DIED)]

    def test_where_the_supervisor_does_not_restart_what_died_every_message_says_so(
        self, engine: RayEngine, tmp_path: Path
    ) -> None:
        self.start(engine, Watch(engine, on_failure=lambda actor: None), MortalActor)
        for message in (Die(tmp_path / "lines", 9), Say(1)):
            with pytest.raises(ActorFailed):
                self.ask(engine, message)

    def test_the_process_of_an_actor_that_hangs_is_killed_when_it_is_stopped(
        self, impatient_engine: RayEngine, gates: Callable[[], Gate]
    ) -> None:
        engine = impatient_engine
        self.start(engine, Watch(engine), MortalActor)
        pid = self.ask(engine, Pid())
        self.occupy(engine, gates)
        engine.stop("probe")
        until(lambda: not psutil.pid_exists(pid))

    def test_closing_the_engine_kills_what_was_not_stopped(self, engine: RayEngine) -> None:
        self.start(engine, Watch(engine), MortalActor)
        pid = self.ask(engine, Pid())
        engine.close()
        until(lambda: not psutil.pid_exists(pid))
        with pytest.raises(ActorStopped):
            self.ask(engine, Say(1))

    # --- making ------------------------------------------------------------------------------------------------------

    def test_an_actor_of_the_same_name_that_was_left_behind_makes_room(
        self, engine: RayEngine, local_ray: LocalRay, clock: ManualClock, namespace: str
    ) -> None:
        other = RayEngine(local_ray.cluster, clock, OpenSeal(), namespace=namespace)
        self.start(other, Watch(other), MortalActor)
        pid = self.ask(other, Pid())
        self.start(engine, Watch(engine), MortalActor)
        assert self.ask(engine, Pid()) != pid
        until(lambda: not psutil.pid_exists(pid))

    def test_a_strangers_error_in_making_an_actor_is_known_by_kind_and_place(self, engine: RayEngine) -> None:
        def make() -> Any:
            raise OddError(SECRET)

        with pytest.raises(RemoteFailure, match="OddError") as caught:
            self.start(engine, Watch(engine), make)
        assert caught.value.location.startswith("make (test_engine.py:")
        assert SECRET not in str(caught.value)

    def test_a_typed_error_in_making_an_actor_is_raised_as_it_is(self, engine: RayEngine) -> None:
        def make() -> Any:
            raise KeyMissing(path="/p")

        with pytest.raises(KeyMissing):
            self.start(engine, Watch(engine), make)

    def test_a_process_that_has_no_key_makes_no_actor(
        self, local_ray: LocalRay, clock: ManualClock, namespace: str, tmp_path: Path
    ) -> None:
        class HereOnly(MindSealRecipe, frozen=True):
            def make_seal(self) -> Seal:
                return OpenSeal().make_seal() if os.getpid() == here else super().make_seal()

        here, mind = os.getpid(), create_mind(tmp_path, "default", clock)
        mind.key.unlink()
        seal = HereOnly(key=mind.key, key_header=mind.key_header, check="", run="run")
        engine = RayEngine(local_ray.cluster, clock, seal, namespace=namespace)
        with pytest.raises(KeyMissing) as caught:
            self.start(engine, Watch(engine))
        assert caught.value.operands == {"path": str(mind.key)}

    def test_a_process_whose_seal_fails_as_no_error_of_ours_does_says_no_more_than_its_kind(
        self, local_ray: LocalRay, clock: ManualClock, namespace: str
    ) -> None:
        class HereOnly(OpenSeal, frozen=True):
            def make_seal(self) -> Seal:
                if os.getpid() != here:
                    raise OddError(SECRET)
                return super().make_seal()

        here = os.getpid()
        engine = RayEngine(local_ray.cluster, clock, HereOnly(), namespace=namespace)
        with pytest.raises(RemoteFailure, match="OddError") as caught:
            self.start(engine, Watch(engine))
        assert SECRET not in str(caught.value)

    def test_a_pinned_actor_starts_and_one_that_wants_a_gpu_starts_without_where_there_is_none(
        self, engine: RayEngine
    ) -> None:
        engine.start("probe", ProbeActor, 10, Watch(engine), Placement(gpus=0.5, pinned=True))
        assert self.ask(engine, Say(1)) == (1,)

    def test_an_actor_that_nobody_waits_for_yields_the_cores_to_the_others(self, engine: RayEngine) -> None:
        engine.start("probe", MortalActor, 10, Watch(engine))
        engine.start("night", MortalActor, 10, Watch(engine), Placement(background=True))
        asked = self.ask(engine, Niceness())  # Ray has its own idea of what a process of its gets
        assert asked < 19
        assert engine.send("night", letter(Niceness()), timeout_s=BOUND_S).get() == min(19, asked + 15)

    # --- what crosses ------------------------------------------------------------------------------------------------

    def test_an_answer_foreseen_is_fetched_beforehand_and_taken_once(self, engine: RayEngine) -> None:
        watch = Watch(engine)
        self.start(engine, watch, ForeseeingActor)
        assert self.ask(engine, Speak(3)) == (0, None, -2)
        assert watch.spoken == [("asked", 2), ("asked", 99), ("asked", 0), ("told", 1)]

    @pytest.mark.parametrize("payload", [lambda: 1, (lambda: 1,)])
    def test_what_cannot_cross_fails_the_message_and_not_the_actor_for_good(
        self, engine: RayEngine, payload: Any
    ) -> None:
        watch = Watch(engine)
        self.start(engine, watch)
        with pytest.raises(ActorFailed):
            self.ask(engine, Echo(payload))
        assert self.ask(engine, Say(1)) == (1,)

    def test_a_line_keeps_what_it_says_by_name_and_strangers_lines_only_say_where_they_come_from(
        self, engine: RayEngine, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO)
        self.start(engine, Watch(engine), LoggingActor)
        assert self.ask(engine, Say(1)) == (1,)
        own, kin, strange, failed = (record for record in caplog.records if record.name != "mnemic.supervisor")
        said = {name: getattr(own, name) for name in FIELDS if hasattr(own, name)}
        assert said == {"trace": "a-trace", "took_ms": 1.5, "code": "OddError"}
        assert (own.name, own.levelname, own.getMessage()) == ("mnemic.probe", "INFO", "an id")
        assert {one.name for one in (kin, strange, failed)} == {"mnemic.engine"}
        assert kin.getMessage().startswith("mnemic_kin at handle (test_engine.py:")
        assert strange.getMessage().endswith("): it says no more here")
        assert ": ValueError at handle (test_engine.py:" in failed.getMessage()
        assert SECRET not in caplog.text

    def test_a_thread_that_tells_after_its_message_is_refused_and_nothing_of_it_is_sent(
        self, engine: RayEngine, gates: Callable[[], Gate], tmp_path: Path
    ) -> None:
        watch, go_on = Watch(engine), gates()
        self.start(engine, watch, LingeringActor)
        self.ask(engine, Linger(go_on, tmp_path / "told"))
        go_on.open()
        until((tmp_path / "told").exists)
        assert self.ask(engine, Say(1)) == (1,)
        assert (tmp_path / "told").read_text() == "1 actor_stopped"
        assert watch.spoken == []
        assert watch.progressed == []

    def test_a_strangers_error_of_the_same_name_is_no_death(self, engine: RayEngine, tmp_path: Path) -> None:
        watch = Watch(engine)
        self.start(engine, watch, LingeringActor)
        with pytest.raises(ActorFailed):
            self.ask(engine, Raise(InstanceDied()))
        assert watch.failures == [("probe", "InstanceDied")]

    def test_no_log_here_says_what_a_failure_said(self, engine: RayEngine, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        self.start(engine, Watch(engine))
        with pytest.raises(ActorFailed):
            self.ask(engine, Raise(ValueError(SECRET)))
        assert SECRET not in caplog.text


class TwoNodes:
    """A cluster of two nodes, of which nothing is asked but what it is made of."""

    def pickle(self, thing: Any) -> bytes:
        return b""

    def is_single_node(self) -> bool:
        return False


@pytest.mark.parametrize(
    "error", [ProcessDied("it died"), RemoteFailure("ModuleNotFoundError", "loads"), KeyMissing(path="/key")]
)
def test_what_cannot_be_made_on_another_node_is_made_at_home_and_stays_there(
    error: Exception, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    placed: list[bool] = []

    def start_instance(engine: RayEngine, name: str, factory: bytes, placement: Placement) -> Any:
        placed.append(placement.pinned)
        if not placement.pinned:
            raise error
        return ProbeActor()

    monkeypatch.setattr(RayEngine, "_start_instance", start_instance)
    cluster: Any = TwoNodes()
    engine = RayEngine(cluster, clock, OpenSeal(), namespace="mind")
    engine.start("night", ProbeActor, 10, Watch(engine))
    assert engine.send("night", letter(Say(1)), timeout_s=BOUND_S).get() == (1,)
    engine.restart("night", 0.0)
    assert engine.send("night", letter(Say(2)), timeout_s=BOUND_S).get() == (2,)
    engine.stop("night")
    assert placed == [False, True, True]
    assert "night runs on the home's machine" in caplog.text


def test_a_pinned_actor_that_dies_in_making_is_not_tried_again(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_instance(engine: RayEngine, name: str, factory: bytes, placement: Placement) -> Any:
        raise ProcessDied("it died")

    monkeypatch.setattr(RayEngine, "_start_instance", start_instance)
    cluster: Any = TwoNodes()
    with pytest.raises(EngineLost, match="it did not make store"):
        RayEngine(cluster, clock, OpenSeal(), namespace="mind").start(
            "store", ProbeActor, 10, Watch(None), Placement(pinned=True)
        )
