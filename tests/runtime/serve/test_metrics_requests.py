"""Every request to a face is logged, counted and timed; its name leads to what it set off; nothing of it is quoted."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.open_mind import open_here
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.logs import log_to, set_level
from mnemic.runtime.serve.metrics import RequestTracker
from tests.clocks import ManualClock

SECRET = "the tea is in the blue tin"


class Counted:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, float]] = []

    def request_finished(self, verb: str, outcome: str, took_s: float) -> None:
        self.told.append((verb, outcome, took_s))


def test_each_request_is_counted_with_its_outcome_and_its_time() -> None:
    clock, counted = ManualClock(0), Counted()
    requests = RequestTracker(clock, counted)
    with requests.track_request("recall"):
        clock.advance(2)
    with pytest.raises(InvalidValue), requests.track_request("recall"):
        raise InvalidValue(name="k", value=0, why="it is less than 1", expected="a number from 1")
    with pytest.raises(RuntimeError), requests.track_request("get"):
        raise RuntimeError(SECRET)
    assert counted.told == [("recall", "ok", 2.0), ("recall", "invalid_value", 0.0), ("get", "failure", 0.0)]


def test_a_look_at_how_things_are_is_nobodys_wish() -> None:
    clock = ManualClock(0)
    requests = RequestTracker(clock, Counted())
    clock.advance(5)
    with requests.track_request("status", idle=True):
        pass
    assert requests.last_activity_s == 0.0
    with requests.track_request("recall"):
        assert requests.last_activity_s == 5.0
        clock.advance(3)
    assert requests.last_activity_s == 8.0


def test_it_is_quiet_once_nobody_waits_nor_has_for_a_while() -> None:
    clock = ManualClock(0)
    requests = RequestTracker(clock, Counted())
    assert not requests.is_quiet(2.0), "somebody has just started it"
    clock.advance(2)
    assert requests.is_quiet(2.0)
    with requests.track_request("backup"), requests.track_request("recall"):
        clock.advance(60)
        assert not requests.is_quiet(2.0)
    with requests.track_request("status", idle=True):
        assert not requests.is_quiet(2.0), "a command may ask one thing more"
        clock.advance(2)
        assert requests.is_quiet(2.0)


def test_a_requests_name_is_in_every_line_from_the_face_to_the_store_and_no_text_is(home: Path, tmp_path: Path) -> None:
    requests = RequestTracker(SystemClock(), Counted())
    log = tmp_path / "a.log"
    with log_to(log), open_here(home, create=True) as mind:
        set_level("debug")
        with requests.track_request("memory_capture"):
            mind.remember(SECRET)
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    (request,) = [line["trace"] for line in lines if line["logger"] == "mnemic.requests"]
    actors = {line["actor"] for line in lines if line.get("trace", "").startswith(f"{request}.")}
    assert {"capture", "store"} <= actors
    assert SECRET not in log.read_text("utf-8")


def test_what_a_failure_says_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(RuntimeError), RequestTracker(SystemClock(), Counted()).track_request("get"):
        raise RuntimeError(SECRET)
    assert "failed" in caplog.text
    assert SECRET not in caplog.text
