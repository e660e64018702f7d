"""Open minds: opened once for all who ask, closed when nobody uses them, and never left open by a process that ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from mnemic.actors.errors import ActorStopped, MindMissing
from mnemic.mind import Mind
from mnemic.minds import Minds
from tests.hosted import together

BOUND_S = 20.0


class Opened:
    """Stands for an open mind."""

    def __init__(self, trouble: Exception | None = None) -> None:
        self.closed = False
        self._trouble = trouble

    def close(self) -> None:
        assert not self.closed
        self.closed = True
        if self._trouble is not None:
            raise self._trouble


class Opener:
    """Opens minds when a test lets it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool]] = []
        self.opened: list[Opened] = []
        self.begun = threading.Event()
        self.gate = threading.Event()
        self.gate.set()
        self.make: Callable[[], Opened] = Opened

    def __call__(self, name: str, create: bool) -> Mind:
        self.asked.append((name, create))
        self.begun.set()
        assert self.gate.wait(BOUND_S)
        self.opened.append(self.make())
        return cast(Mind, self.opened[-1])


def in_thread(call: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Start a call; its answer or its error will be in the list."""
    ended: list[Any] = []

    def run() -> None:
        try:
            ended.append(call())
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, ended


def used(minds: Minds, name: str = "default", *, create: bool = False) -> Mind:
    with minds.use(name, create) as mind:
        return mind


def test_a_mind_is_opened_once_for_all_who_ask() -> None:
    opener = Opener()
    minds = Minds(opener)
    found = together([lambda: used(minds, create=True)] * 16)
    assert len({id(one) for one in found}) == len(opener.opened) == 1
    assert opener.asked == [("default", True)]
    used(minds, "other")
    assert set(minds.open_ones()) == {"default", "other"}


def test_one_that_cannot_be_opened_is_tried_again_by_the_next_who_asks() -> None:
    opener = Opener()

    def missing() -> Opened:
        raise MindMissing(mind="default", home="/home")

    minds, opener.make = Minds(opener), missing
    for _ in range(2):
        with pytest.raises(MindMissing):
            used(minds)
    opener.make = Opened
    used(minds)
    assert len(opener.asked) == 3


def test_reopening_waits_for_those_who_use_one_and_for_no_longer_than_told() -> None:
    opener = Opener()
    minds = Minds(opener)
    with minds.use("default", True) as mind:
        assert not minds.reopen(0.0)
        assert not opener.opened[0].closed
        thread, ended = in_thread(lambda: minds.reopen(BOUND_S))
    thread.join(BOUND_S)
    assert ended == [True]
    assert opener.opened[0].closed
    assert used(minds) is not mind


def test_closing_ends_what_is_open_and_refuses_who_comes_after() -> None:
    opener = Opener()
    minds = Minds(opener)
    used(minds, "one")
    used(minds, "two")
    minds.close(BOUND_S)
    assert [one.closed for one in opener.opened] == [True, True]
    with pytest.raises(ActorStopped):
        used(minds, "one")


def test_closing_does_not_wait_for_ever_for_who_still_uses_one() -> None:
    opener = Opener()
    minds = Minds(opener)
    with minds.use("default", True):
        minds.close(0.0)
        assert opener.opened[0].closed


def test_one_that_cannot_be_closed_does_not_keep_the_others_open() -> None:
    opener = Opener()
    opener.make = lambda: Opened(OSError("no"))
    minds = Minds(opener)
    used(minds, "one")
    used(minds, "two")
    with pytest.raises(OSError, match="no"):
        minds.close(BOUND_S)
    assert [one.closed for one in opener.opened] == [True, True]


def test_a_mind_that_is_being_opened_while_the_process_ends_is_closed_and_nobody_gets_it() -> None:
    opener = Opener()
    minds = Minds(opener)
    opener.gate.clear()
    first, got = in_thread(lambda: used(minds))
    assert opener.begun.wait(BOUND_S)
    second, waited = in_thread(lambda: used(minds))
    minds.close(0.0)
    second.join(BOUND_S)
    opener.gate.set()
    first.join(BOUND_S)
    assert [type(one) for one in got + waited] == [ActorStopped, ActorStopped]
    assert [one.closed for one in opener.opened] == [True]
    assert minds.open_ones() == {}


def test_whoever_comes_while_all_are_reopened_waits_and_gets_a_new_one() -> None:
    opener = Opener()
    minds = Minds(opener)
    closing, go = threading.Event(), threading.Event()

    class Slow(Opened):
        def close(self) -> None:
            closing.set()
            assert go.wait(BOUND_S)
            super().close()

    opener.make = Slow
    used(minds)
    reopening, ended = in_thread(lambda: minds.reopen(BOUND_S))
    assert closing.wait(BOUND_S)
    coming, got = in_thread(lambda: used(minds))
    assert len(opener.opened) == 1
    go.set()
    reopening.join(BOUND_S)
    coming.join(BOUND_S)
    assert ended == [True]
    assert got == [opener.opened[1]]
