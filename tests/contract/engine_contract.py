"""The contract of an engine, run for every one: suites in `tests/runtime/engine` derive from `EngineContract`.

An engine's own suite gives the fixtures `engine` and `gates`. A gate is how a test and an actor meet wherever the actor
runs: nobody sleeps, and no test waits longer than `BOUND_S`.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, Protocol

import msgspec
import pytest

from mnemic.actors.kernel.contract import CONTRACT, Actor, Context, Setting
from mnemic.actors.kernel.errors import (
    ActorFailed,
    ActorStopped,
    DeadlineExceeded,
    InboxFull,
    InvalidValue,
    MnemicError,
    Quarantined,
)
from mnemic.actors.kernel.message import Envelope
from mnemic.runtime.engine.engine import error_kind
from tests.clocks import ManualClock
from tests.waiting import BOUND_S, until

SECRET = "the tea is in the blue tin"


class Gate(Protocol):
    """Closed until somebody opens it."""

    def open(self) -> None: ...

    def wait(self) -> None:
        """Raises AssertionError where nobody opens it within `BOUND_S`."""
        ...


class Say(msgspec.Struct, frozen=True):
    """Keep a number; answer with all that were kept so far."""

    number: int


class Hold(msgspec.Struct, frozen=True):
    """Open one gate, then wait for the other."""

    begun: Any
    go_on: Any


class Raise(msgspec.Struct, frozen=True):
    """Raise."""

    error: BaseException


class Echo(msgspec.Struct, frozen=True):
    """Answer with the payload."""

    payload: Any


class Who(msgspec.Struct, frozen=True):
    """Answer with the instance's name."""


class Speak(msgspec.Struct, frozen=True):
    """Ask the even numbers below this one, tell the odd ones; answer with what was answered."""

    below: int


class Draw(msgspec.Struct, frozen=True):
    """Answer with what the context holds: trace, time, and a number drawn by chance."""


class Work(msgspec.Struct, frozen=True):
    """Report each of so many steps, then log a line."""

    steps: int


class Wait(msgspec.Struct, frozen=True):
    """Open a gate, then wait until the process stops."""

    begun: Any


class Question(msgspec.Struct, frozen=True):
    """What the probe asks and tells."""

    number: int


class ProbeActor:
    """Does what a test tells it."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Say, Hold, Raise, Echo, Who, Speak, Draw, Work, Wait)
    settings: ClassVar[tuple[Setting, ...]] = ()

    def __init__(self, closing: BaseException | None = None) -> None:
        self.name = uuid.uuid4().hex
        self._closing = closing
        self._said: list[int] = []

    def handle(self, message: Any, context: Context) -> Any:
        match message:
            case Say():
                self._said.append(message.number)
                return tuple(self._said)
            case Hold():
                message.begun.open()
                message.go_on.wait()
            case Raise():
                raise message.error
            case Echo():
                return message.payload
            case Who():
                return self.name
            case Speak():
                return tuple(self._speak(number, context) for number in range(message.below))
            case Draw():
                return context.trace, context.now, context.random(b"salt").random()
            case Work():
                for step in range(message.steps):
                    context.progress(step + 1, message.steps)
                logging.getLogger("mnemic.probe").warning("worked %d steps", message.steps)
            case Wait():
                message.begun.open()
                until(context.cancelled)
                return context.cancelled()
        return None

    def _speak(self, number: int, context: Context) -> Any:
        if number % 2:
            return context.tell(Question(number))
        try:
            return context.ask(Question(number), 1.0)
        except InvalidValue as error:
            return error.code

    def close(self) -> None:
        if self._closing is not None:
            raise self._closing


class Watch:
    """An overseer that writes down what it is told, and does to the engine what the test wants done on a failure."""

    def __init__(
        self,
        engine: Any,
        on_failure: Callable[[str], None] | None = None,
        on_ask: Callable[[Question], Any] = lambda question: -question.number,
    ) -> None:
        self._clock = ManualClock(0)
        self._on_ask = on_ask
        self._on_failure = on_failure or (lambda actor: engine.restart(actor, 0.0))
        self.failures: list[tuple[str, str]] = []
        self.unclosed_ones: list[tuple[str, str]] = []
        self.lost: list[tuple[str, str]] = []
        self.handled_ones: list[tuple[str, str | None]] = []
        self.spoken: list[tuple[str, int]] = []
        self.progressed: list[tuple[int, int | None]] = []
        self.stopping = threading.Event()

    def make_context(self, actor: str, envelope: Envelope) -> Context:
        def ask(message: Any, timeout_s: float) -> Any:
            self.spoken.append(("asked", message.number))
            return self._on_ask(message)

        return Context(
            trace=envelope.trace,
            now=envelope.now,
            clock=self._clock,
            seed=b"seed",
            ask=ask,
            tell=lambda message: self.spoken.append(("told", message.number)),
            progress=lambda done, total: self.progressed.append((done, total)),
            cancelled=self.stopping.is_set,
        )

    def failed(self, actor: str, envelope: Envelope, error: BaseException) -> None:
        self.failures.append((actor, error_kind(error)))
        self._on_failure(actor)

    def handled(self, actor: str, envelope: Envelope, took_s: float, error: MnemicError | None) -> None:
        self.handled_ones.append((type(envelope.message).__name__, error.code if error else None))

    def close_failed(self, actor: str, error: Exception) -> None:
        self.unclosed_ones.append((actor, error_kind(error)))

    def undelivered(self, actor: str, envelope: Envelope, error: MnemicError) -> None:
        self.lost.append((type(envelope.message).__name__, error.code))


class Outcomes:
    """Makes a probe, or raises what comes next in the list; the place in the list is kept in a file."""

    def __init__(self, file: Path, *errors: BaseException | None) -> None:
        self._file = file
        self._errors = errors

    def __call__(self) -> Actor:
        with self._file.open("ab") as file:
            number = file.tell()
            file.write(b".")
        error = self._errors[number] if number < len(self._errors) else None
        if error is not None:
            raise error
        return ProbeActor()


def letter(message: Any, deadline: float | None = 1e9) -> Envelope:
    """An envelope; without a deadline it is told, not asked."""
    return Envelope(id="m", trace="t", now=0, deadline=deadline, message=message)


class EngineContract:
    """What every engine does. `engine` is a fresh one on a `ManualClock` that starts at 0."""

    def start(self, engine: Any, watch: Watch, make: Callable[[], Actor] = ProbeActor, capacity: int = 1000) -> None:
        engine.start("probe", make, capacity, watch)

    def ask(self, engine: Any, message: Any, timeout_s: float = BOUND_S) -> Any:
        return engine.send("probe", letter(message), timeout_s=timeout_s).get()

    def tell(self, engine: Any, message: Any) -> None:
        engine.send("probe", letter(message, None), timeout_s=0.0)

    def occupy(self, engine: Any, gates: Callable[[], Gate]) -> Gate:
        """Keep the actor busy until the gate that is returned opens."""
        begun, go_on = gates(), gates()
        self.tell(engine, Hold(begun, go_on))
        begun.wait()
        return go_on

    # --- order and answers -------------------------------------------------------------------------------------------

    def test_messages_of_one_sender_are_handled_in_the_order_they_were_sent(self, engine: Any) -> None:
        self.start(engine, Watch(engine))
        for number in range(200):
            self.tell(engine, Say(number))
        assert self.ask(engine, Say(200)) == tuple(range(201))

    def test_many_senders_get_each_their_own_answer_and_keep_their_own_order(self, engine: Any) -> None:
        self.start(engine, Watch(engine))

        def send(sender: int) -> list[Any]:
            return [self.ask(engine, Say(100 * sender + number)) for number in range(20)]

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(send, range(8)))
        whole = self.ask(engine, Say(-1))
        for sender, own in enumerate(answers):
            assert [said[-1] for said in own] == [100 * sender + number for number in range(20)]
            assert [number for number in whole if number // 100 == sender] == [said[-1] for said in own]

    def test_a_payload_of_50_mb_crosses_both_ways_whole(self, engine: Any) -> None:
        self.start(engine, Watch(engine))
        payload = bytes(range(256)) * (50 * 4096)
        assert self.ask(engine, Echo(payload)) == payload

    def test_a_typed_error_reaches_whoever_asked_as_it_was_raised_and_is_no_failure(self, engine: Any) -> None:
        watch = Watch(engine)
        self.start(engine, watch)
        error = InvalidValue(name="k", value=0, why="it is less than 1", expected="a number from 1")
        with pytest.raises(InvalidValue) as caught:
            self.ask(engine, Raise(error))
        assert caught.value.operands == error.operands
        assert watch.failures == []

    # --- deadlines ---------------------------------------------------------------------------------------------------

    def test_an_ask_that_nobody_answers_ends_in_deadline_exceeded_and_is_never_handled(
        self, engine: Any, gates: Callable[[], Gate]
    ) -> None:
        self.start(engine, Watch(engine))
        go_on = self.occupy(engine, gates)
        with pytest.raises(DeadlineExceeded):
            self.ask(engine, Say(1), timeout_s=0.01)
        go_on.open()
        assert self.ask(engine, Say(2)) == (2,)

    def test_a_message_whose_deadline_passed_while_it_waited_is_answered_and_not_handled(
        self, engine: Any, clock: ManualClock, gates: Callable[[], Gate]
    ) -> None:
        self.start(engine, Watch(engine))
        go_on = self.occupy(engine, gates)
        late = engine.send("probe", letter(Say(1), deadline=5.0), timeout_s=BOUND_S)
        in_time = engine.send("probe", letter(Say(2), deadline=6.0), timeout_s=BOUND_S)
        clock.advance(6.0)  # a deadline is the last moment at which it may still begin
        go_on.open()
        with pytest.raises(DeadlineExceeded):
            late.get()
        assert in_time.get() == (2,)

    # --- inboxes -----------------------------------------------------------------------------------------------------

    def test_a_full_inbox_refuses_and_an_actors_own_messages_pass(self, engine: Any, gates: Callable[[], Gate]) -> None:
        self.start(engine, Watch(engine), capacity=3)
        go_on = self.occupy(engine, gates)
        for number in range(3):
            self.tell(engine, Say(number))
        assert engine.mailbox_size("probe") == 3
        with pytest.raises(InboxFull):
            self.tell(engine, Say(3))
        with pytest.raises(InboxFull):
            self.ask(engine, Say(4))
        own = engine.send("probe", letter(Say(5), None), timeout_s=0.0, own=True)
        assert engine.mailbox_size("probe") == 4
        go_on.open()
        assert own is not None
        until(lambda: engine.mailbox_size("probe") < 3)
        assert self.ask(engine, Say(6)) == (0, 1, 2, 5, 6)

    def test_an_engine_is_idle_once_no_actor_has_a_message(self, engine: Any, gates: Callable[[], Gate]) -> None:
        assert engine.is_idle()
        self.start(engine, Watch(engine))
        assert engine.is_idle()
        go_on = self.occupy(engine, gates)
        assert not engine.is_idle()
        go_on.open()
        self.ask(engine, Say(0))
        assert engine.is_idle()

    def test_a_message_to_an_actor_that_was_never_started_is_refused(self, engine: Any) -> None:
        with pytest.raises(ActorStopped):
            self.ask(engine, Say(0))

    # --- failures ----------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("error", [ValueError(SECRET), KeyError(SECRET), SystemExit(SECRET), MemoryError(SECRET)])
    def test_an_exception_in_an_ask_is_answered_without_its_text_and_the_actor_lives_on(
        self, engine: Any, error: BaseException
    ) -> None:
        watch = Watch(engine, on_failure=lambda actor: None)
        self.start(engine, watch)
        before = self.ask(engine, Who())
        with pytest.raises(ActorFailed) as caught:
            self.ask(engine, Raise(error))
        assert caught.value.operands == {"actor": "probe", "message": "Raise", "cause": type(error).__name__}
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        assert self.ask(engine, Who()) == before
        assert watch.failures == [("probe", type(error).__name__)]

    def test_an_exception_in_a_tell_is_told_to_the_overseer_and_the_actor_lives_on(self, engine: Any) -> None:
        watch = Watch(engine, on_failure=lambda actor: None)
        self.start(engine, watch)
        self.tell(engine, Raise(ValueError(SECRET)))
        assert self.ask(engine, Say(1)) == (1,)
        assert watch.failures == [("probe", "ValueError")]
        assert watch.lost == [("Raise", "actor_failed")]

    def test_a_typed_error_in_a_tell_is_an_undelivered_message(self, engine: Any) -> None:
        watch = Watch(engine)
        self.start(engine, watch)
        self.tell(engine, Raise(DeadlineExceeded(actor="a", message="b", timeout_s=1.0)))
        assert self.ask(engine, Say(1)) == (1,)
        assert watch.lost == [("Raise", "deadline_exceeded")]

    def test_what_an_actor_raises_when_it_is_made_comes_out_of_start_and_nothing_runs(self, engine: Any) -> None:
        def broken() -> Actor:
            raise OSError("no")

        with pytest.raises(OSError, match="no"):
            self.start(engine, Watch(engine), broken)
        with pytest.raises(ActorStopped):
            self.ask(engine, Say(0))

    # --- restart and quarantine --------------------------------------------------------------------------------------

    def test_a_restart_makes_a_new_instance_and_keeps_what_waits(self, engine: Any, gates: Callable[[], Gate]) -> None:
        self.start(engine, Watch(engine))
        before = self.ask(engine, Who())
        self.tell(engine, Say(1))
        go_on = self.occupy(engine, gates)
        failing = engine.send("probe", letter(Raise(ValueError())), timeout_s=BOUND_S)
        waiting = [engine.send("probe", letter(Say(number)), timeout_s=BOUND_S) for number in (2, 3)]
        go_on.open()
        with pytest.raises(ActorFailed):
            failing.get()
        assert [reply.get() for reply in waiting] == [(2,), (2, 3)]
        assert self.ask(engine, Who()) != before

    def test_an_old_instance_that_raises_when_it_is_closed_goes_all_the_same_and_is_told(self, engine: Any) -> None:
        watch = Watch(engine)
        self.start(engine, watch, lambda: ProbeActor(closing=RuntimeError(SECRET)))
        before = self.ask(engine, Who())
        with pytest.raises(ActorFailed):
            self.ask(engine, Raise(ValueError()))
        assert self.ask(engine, Who()) != before
        assert watch.unclosed_ones == [("probe", "RuntimeError")]

    def test_an_actor_that_cannot_be_made_anew_fails_each_message_until_it_can(
        self, engine: Any, tmp_path: Path
    ) -> None:
        watch = Watch(engine)
        unmade = InvalidValue(name="", value=0, why="", expected="")
        self.start(engine, watch, Outcomes(tmp_path / "made", None, OSError(SECRET), unmade))
        for wanted in (ActorFailed, ActorFailed, InvalidValue):
            with pytest.raises(wanted):
                self.ask(engine, Raise(ValueError()))
        assert self.ask(engine, Say(1)) == (1,)
        assert watch.failures == [("probe", "ValueError"), ("probe", "OSError")]

    def test_quarantine_answers_what_waits_and_what_comes_with_its_reason(
        self, engine: Any, gates: Callable[[], Gate]
    ) -> None:
        reason = Quarantined(actor="probe", failures=5, cause="ValueError at f (x.py:1)")
        watch = Watch(engine, on_failure=lambda actor: engine.quarantine(actor, reason))
        self.start(engine, watch)
        go_on = self.occupy(engine, gates)
        failing = engine.send("probe", letter(Raise(ValueError())), timeout_s=BOUND_S)
        waiting = [engine.send("probe", letter(Say(number)), timeout_s=BOUND_S) for number in range(3)]
        self.tell(engine, Say(4))
        go_on.open()
        with pytest.raises(ActorFailed):
            failing.get()
        for reply in waiting:
            with pytest.raises(Quarantined) as caught:
                reply.get()
            assert caught.value.operands == reason.operands
        with pytest.raises(Quarantined):
            self.ask(engine, Who())
        assert watch.lost == [("Say", "quarantined")]
        assert watch.failures == [("probe", "ValueError")]

    def test_released_from_quarantine_the_actor_is_made_anew_and_answers(self, engine: Any) -> None:
        reason = Quarantined(actor="probe", failures=5, cause="ValueError at f (x.py:1)")
        self.start(engine, Watch(engine, on_failure=lambda actor: engine.quarantine(actor, reason)))
        before = self.ask(engine, Who())
        with pytest.raises(ActorFailed):
            self.ask(engine, Raise(ValueError()))
        with pytest.raises(Quarantined):
            self.ask(engine, Who())
        engine.end_quarantine("probe")
        assert self.ask(engine, Who()) != before

    # --- context and overseer ----------------------------------------------------------------------------------------

    def test_what_an_actor_asks_and_tells_comes_in_its_order_and_answers_and_errors_come_back(
        self, engine: Any
    ) -> None:
        refused = InvalidValue(name="n", value=4, why="", expected="")

        def answer(question: Question) -> int:
            if question.number == 4:
                raise refused
            return -question.number

        watch = Watch(engine, on_ask=answer)
        self.start(engine, watch)
        assert self.ask(engine, Speak(8)) == (0, None, -2, None, "invalid_value", None, -6, None)
        assert watch.spoken == [("told" if number % 2 else "asked", number) for number in range(8)]
        assert watch.failures == []

    def test_what_an_actor_told_before_it_failed_is_told(self, engine: Any) -> None:
        watch = Watch(engine, on_ask=lambda question: None if question.number < 4 else {}[SECRET])
        self.start(engine, watch)
        with pytest.raises(ActorFailed):
            self.ask(engine, Speak(6))
        assert watch.spoken == [("asked", 0), ("told", 1), ("asked", 2), ("told", 3), ("asked", 4)]
        assert watch.failures == [("probe", "KeyError")]
        assert self.ask(engine, Say(1)) == (1,)

    def test_trace_time_and_chance_are_the_envelopes_and_the_overseers(self, engine: Any) -> None:
        watch = Watch(engine)
        self.start(engine, watch)
        one = Envelope(id="m", trace="t7", now=8, deadline=1e9, message=Draw())
        answer = engine.send("probe", one, timeout_s=BOUND_S).get()
        assert answer == ("t7", 8, watch.make_context("probe", one).random(b"salt").random())

    def test_progress_is_told_to_its_end_and_so_is_what_was_logged(
        self, engine: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        watch = Watch(engine)
        self.start(engine, watch)
        self.ask(engine, Work(100))
        assert watch.progressed == sorted(watch.progressed)
        assert watch.progressed[-1] == (100, 100)
        lines = [record for record in caplog.records if record.name == "mnemic.probe"]
        assert [(line.levelname, line.getMessage()) for line in lines] == [("WARNING", "worked 100 steps")]

    def test_an_actor_at_work_hears_that_the_process_is_stopping(self, engine: Any, gates: Callable[[], Gate]) -> None:
        watch = Watch(engine)
        self.start(engine, watch)
        begun = gates()
        reply = engine.send("probe", letter(Wait(begun)), timeout_s=BOUND_S)
        begun.wait()
        watch.stopping.set()
        assert reply.get() is True

    def test_the_overseer_hears_of_every_message_that_was_handled_and_of_its_error(self, engine: Any) -> None:
        watch = Watch(engine)
        self.start(engine, watch)
        self.ask(engine, Say(1))
        self.tell(engine, Raise(DeadlineExceeded(actor="a", message="b", timeout_s=1.0)))
        with pytest.raises(ActorFailed):
            self.ask(engine, Raise(ValueError()))
        engine.stop("probe")
        assert watch.handled_ones == [("Say", None), ("Raise", "deadline_exceeded"), ("Raise", None)]

    # --- stopping ----------------------------------------------------------------------------------------------------

    def test_stopping_finishes_the_mailbox_and_refuses_what_comes_later(
        self, engine: Any, gates: Callable[[], Gate]
    ) -> None:
        self.start(engine, Watch(engine))
        go_on = self.occupy(engine, gates)
        waiting = [engine.send("probe", letter(Say(number)), timeout_s=BOUND_S) for number in range(5)]
        with ThreadPoolExecutor(1) as pool:
            stopping = pool.submit(engine.stop, "probe")
            while True:  # until the gate is shut
                try:
                    self.tell(engine, Who())
                except ActorStopped:
                    break
            go_on.open()
            stopping.result(BOUND_S)
        assert waiting[-1].get() == (0, 1, 2, 3, 4)
        with pytest.raises(ActorStopped):
            self.ask(engine, Say(5))

    def test_stopping_answers_a_hundred_who_wait_from_threads(self, engine: Any, gates: Callable[[], Gate]) -> None:
        self.start(engine, Watch(engine))
        go_on = self.occupy(engine, gates)

        def wait(number: int) -> str:
            try:
                return str(len(self.ask(engine, Say(number))) > 0)
            except ActorStopped:
                return "stopped"

        with ThreadPoolExecutor(100) as pool:
            waiting = [pool.submit(wait, number) for number in range(100)]
            until(lambda: engine.mailbox_size("probe") >= 50)  # half of them wait; the rest race with the stop
            stopping = pool.submit(engine.stop, "probe")
            go_on.open()
            answers = [one.result(BOUND_S) for one in waiting]
            stopping.result(BOUND_S)
        assert set(answers) <= {"True", "stopped"}
        assert answers.count("True") >= 50

    def test_an_actor_that_hangs_is_left_and_everyone_who_waits_for_it_is_answered(
        self, impatient_engine: Any, gates: Callable[[], Gate]
    ) -> None:
        engine = impatient_engine
        watch = Watch(engine)
        self.start(engine, watch)
        go_on = self.occupy(engine, gates)
        waiting = [engine.send("probe", letter(Say(number)), timeout_s=BOUND_S) for number in range(3)]
        self.tell(engine, Say(4))
        engine.stop("probe")
        for reply in waiting:
            with pytest.raises(ActorStopped):
                reply.get()
        assert watch.lost == [("Hold", "actor_stopped"), ("Say", "actor_stopped")]
        go_on.open()

    def test_stopping_twice_is_stopping_once(self, engine: Any) -> None:
        self.start(engine, Watch(engine))
        engine.stop("probe")
        engine.stop("probe")
