"""The router finds who takes a message, gives it name, trace, time and deadline, and loses nothing that was told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.background import WorkOn
from mnemic.actors.kernel.errors import InboxFull, InvalidValue
from mnemic.actors.kernel.message import Envelope
from mnemic.runtime.engine.reports import Observer
from mnemic.runtime.engine.router import Router, log_fields
from tests.clocks import ManualClock

SECRET = "the tea is in the blue tin"


class One(msgspec.Struct, frozen=True):
    """One actor takes it."""

    text: str = SECRET


class Two(msgspec.Struct, frozen=True):
    """Two actors take it."""


class Nobody(msgspec.Struct, frozen=True):
    """Nobody takes it."""


ROUTES: dict[type, list[str]] = {One: ["left"], Two: ["left", "right"], WorkOn: ["left", "right"]}


class Engine:
    """Keeps what it is given, unless an actor's mailbox is full."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Envelope, float, bool]] = []
        self.full: set[str] = set()

    def send(self, name: str, envelope: Envelope, *, timeout_s: float, own: bool = False) -> Any:
        if name in self.full and not own:
            raise InboxFull(actor=name, capacity=1)
        self.sent.append((name, envelope, timeout_s, own))


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def router(engine: Engine) -> Router:
    clock = ManualClock(1_000_000)
    clock.advance(2)
    return Router(engine, ROUTES, clock, "run", Observer())  # type: ignore[arg-type]


@given(timeout_s=st.floats(-10.0, 1e6))
def test_what_is_asked_has_a_deadline_and_never_less_than_no_time(timeout_s: float) -> None:
    engine = Engine()
    Router(engine, ROUTES, ManualClock(0), "run", Observer()).send(One(), timeout_s, trace="t")  # type: ignore[arg-type]
    ((name, envelope, given_s, own),) = engine.sent
    assert (name, envelope.trace, envelope.message, own) == ("left", "t", One(), False)
    assert envelope.deadline == given_s == max(0.0, timeout_s)


@pytest.mark.parametrize(("message", "takers"), [(Nobody(), 0), (Two(), 2)])
def test_only_what_one_actor_takes_can_be_asked(router: Router, engine: Engine, message: Any, takers: int) -> None:
    with pytest.raises(InvalidValue, match=f"{takers} actors take it"):
        router.send(message, 1.0, trace="t")
    assert engine.sent == []


def test_what_has_an_actor_work_on_goes_to_its_sender_alone_and_is_dead_where_that_does_not_take_it(
    router: Router, engine: Engine
) -> None:
    engine.full = {"left", "right"}
    router.tell(WorkOn(), trace="t", sender="right")
    assert [(name, own) for name, _, _, own in engine.sent] == [("right", True)]
    router.tell(WorkOn(), trace="t", sender="other")
    router.tell(WorkOn(), trace="t")
    assert [letter.reason for letter in router.dead_letters.summaries()] == ["no_taker"] * 2


def test_what_is_told_goes_to_all_who_take_it_under_one_trace_with_the_time_of_the_request(
    router: Router, engine: Engine
) -> None:
    router.tell(Two(), trace="t", now=7, sender="right")
    assert [(name, one.trace, one.now, one.deadline, own) for name, one, _, own in engine.sent] == [
        ("left", "t", 7, None, False),
        ("right", "t", 7, None, True),
    ]
    assert len({one.id for _, one, _, _ in engine.sent}) == 2
    router.tell(One(), trace="t")
    assert engine.sent[2][1].now == 3_000_000


def test_what_finds_a_full_mailbox_is_kept_for_that_actor_alone_and_sent_again_as_it_was(
    router: Router, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.full = {"left"}
    router.tell(Two(), trace="t", now=7)
    router.tell(One(), trace="t")
    router.tell(Nobody(), trace="t")
    assert [(one.actor, one.message, one.reason) for one in router.dead_letters.summaries()] == [
        ("left", "Two", "inbox_full"),
        ("left", "One", "inbox_full"),
        ("-", "Nobody", "no_taker"),
    ]
    assert router.replay_dead_letters() == 0
    engine.full = set()
    assert router.replay_dead_letters() == 2
    assert [(name, type(one.message), one.now) for name, one, _, _ in engine.sent] == [
        ("right", Two, 7),
        ("left", Two, 7),
        ("left", One, 3_000_000),
    ]
    assert SECRET not in caplog.text


def test_names_are_never_given_twice_and_start_with_the_run(router: Router) -> None:
    names = [router.new_id("t") for _ in range(100)]
    assert len(set(names)) == 100
    assert all(one.startswith("run-t") for one in names)
    assert (router.has_route(One), router.has_route(Nobody)) == (True, False)


def test_what_the_log_says_of_a_message_is_nothing_of_its_content() -> None:
    said = log_fields("left", Envelope(id="m", trace="t", now=1, deadline=None, message=One()), "ok")
    assert said == {"actor": "left", "trace": "t", "message_id": "m", "message_type": "One", "code": "ok"}
