"""Open minds: opened once for all who ask, closed when nobody uses them, and never left open by a process that ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from mnemic.actors.kernel.errors import ActorStopped, MindMissing, StoreBusy
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.serve.open_minds import OpenMinds
from tests.processes.hosted import together
from tests.waiting import BOUND_S


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


def used(minds: OpenMinds, name: str = "default", *, create: bool = False) -> Mind:
    with minds.use(name, create) as mind:
        return mind


def slow(closing: threading.Event, go: threading.Event) -> type[Opened]:
    """Minds that say when they are being closed, and wait for leave to be."""

    class Slow(Opened):
        def close(self) -> None:
            closing.set()
            assert go.wait(BOUND_S)
            super().close()

    return Slow


def test_a_mind_is_opened_once_for_all_who_ask() -> None:
    opener = Opener()
    minds = OpenMinds(opener)
    found = together([lambda: used(minds, create=True)] * 16)
    assert len({id(one) for one in found}) == len(opener.opened) == 1
    assert opener.asked == [("default", True)]
    used(minds, "other")
    assert set(minds.open_minds()) == {"default", "other"}


def test_one_that_cannot_be_opened_is_tried_again_by_the_next_who_asks() -> None:
    opener = Opener()

    def missing() -> Opened:
        raise MindMissing(mind="default", home="/home")

    minds, opener.make = OpenMinds(opener), missing
    for _ in range(2):
        with pytest.raises(MindMissing):
            used(minds)
    opener.make = Opened
    used(minds)
    assert len(opener.asked) == 3


def test_reopening_waits_for_those_who_use_one_and_for_no_longer_than_told() -> None:
    opener = Opener()
    minds = OpenMinds(opener)
    with minds.use("default", True) as mind:
        assert not minds.close_when_unused(0.0)
        assert not opener.opened[0].closed
        thread, ended = in_thread(lambda: minds.close_when_unused(BOUND_S))
    thread.join(BOUND_S)
    assert ended == [True]
    assert opener.opened[0].closed
    assert used(minds) is not mind


def test_closing_ends_what_is_open_and_refuses_who_comes_after() -> None:
    opener = Opener()
    minds = OpenMinds(opener)
    used(minds, "one")
    used(minds, "two")
    minds.close(BOUND_S)
    assert [one.closed for one in opener.opened] == [True, True]
    with pytest.raises(ActorStopped):
        used(minds, "one")


def test_closing_does_not_wait_for_ever_for_who_still_uses_one() -> None:
    opener = Opener()
    minds = OpenMinds(opener)
    with minds.use("default", True):
        minds.close(0.0)
        assert opener.opened[0].closed


def test_one_that_cannot_be_closed_does_not_keep_the_others_open() -> None:
    opener = Opener()
    opener.make = lambda: Opened(OSError("no"))
    minds = OpenMinds(opener)
    used(minds, "one")
    used(minds, "two")
    with pytest.raises(OSError, match="no"):
        minds.close(BOUND_S)
    assert [one.closed for one in opener.opened] == [True, True]


def test_a_mind_that_is_being_opened_while_the_process_ends_is_closed_and_nobody_gets_it() -> None:
    opener = Opener()
    minds = OpenMinds(opener)
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
    assert minds.open_minds() == {}


def test_whoever_comes_while_all_are_reopened_waits_and_gets_a_new_one() -> None:
    opener = Opener()
    minds = OpenMinds(opener)
    closing, go = threading.Event(), threading.Event()

    opener.make = slow(closing, go)
    used(minds)
    reopening, ended = in_thread(lambda: minds.close_when_unused(BOUND_S))
    assert closing.wait(BOUND_S)
    coming, got = in_thread(lambda: used(minds))
    assert len(opener.opened) == 1
    go.set()
    reopening.join(BOUND_S)
    coming.join(BOUND_S)
    assert ended == [True]
    assert got == [opener.opened[1]]


def test_a_mind_that_nobody_uses_is_closed_alone_and_opened_anew_for_who_comes_meanwhile() -> None:
    opener = Opener()
    closing, go = threading.Event(), threading.Event()
    closed: list[str] = []
    minds = OpenMinds(opener, closed.append)

    other = used(minds, "other")
    opener.make = slow(closing, go)
    mind = used(minds)
    leaving, ended = in_thread(lambda: minds.close_if_unused("default", mind, lambda: True))
    assert closing.wait(BOUND_S)
    coming, got = in_thread(lambda: used(minds))
    assert used(minds, "other") is other
    assert not minds.close_when_unused(0.0), "what is being closed is waited for"
    assert (len(opener.opened), closed) == (2, [])
    opener.make = Opened
    go.set()
    for one in (leaving, coming):
        one.join(BOUND_S)
    assert ended == [True]
    assert got == [opener.opened[2]]
    assert closed == ["default"]
    assert minds.open_minds() == {"other": other, "default": got[0]}


def test_a_mind_that_is_used_or_not_idle_or_another_by_now_stays_open() -> None:
    opener = Opener()
    minds = OpenMinds(opener)
    mind = used(minds)
    with minds.use("default", False):
        assert not minds.close_if_unused("default", mind, lambda: True)
    assert not minds.close_if_unused("default", mind, lambda: False)
    assert minds.close_when_unused(BOUND_S)
    assert not minds.close_if_unused("default", mind, lambda: True)
    again = used(minds)
    assert not minds.close_if_unused("default", mind, lambda: True)
    assert minds.open_minds() == {"default": again}


def test_who_closes_all_is_told_of_each_and_waits_for_one_that_is_being_closed() -> None:
    opener = Opener()
    closing, go = threading.Event(), threading.Event()
    closed: list[str] = []
    minds = OpenMinds(opener, closed.append)

    opener.make = slow(closing, go)
    mind = used(minds)
    opener.make = lambda: Opened(OSError("no"))
    used(minds, "other")
    leaving, _ = in_thread(lambda: minds.close_if_unused("default", mind, lambda: True))
    assert closing.wait(BOUND_S)
    ending, ended = in_thread(lambda: minds.close(BOUND_S))
    go.set()
    for one in (leaving, ending):
        one.join(BOUND_S)
    assert sorted(closed) == ["default", "other"]
    assert [type(one) for one in ended] == [OSError]


def test_whoever_asks_while_minds_are_closed_again_and_again_gets_an_open_one() -> None:
    opener = Opener()
    minds = OpenMinds(opener)
    done = threading.Event()

    def close() -> int:
        times = 0
        while not done.is_set():
            for name, mind in minds.open_minds().items():
                times += minds.close_if_unused(name, mind, lambda: True)
        return times

    def ask() -> int:
        for _ in range(500):
            with minds.use("default", True) as mind:
                assert not cast(Any, mind).closed
        return 500

    closer, times = in_thread(close)
    assert together([ask] * 4) == [500] * 4
    done.set()
    closer.join(BOUND_S)
    assert len(opener.opened) - times[0] in (0, 1)


def test_a_name_that_was_asked_for_in_vain_is_not_kept() -> None:
    def missing(name: str, create: bool) -> Mind:
        raise MindMissing(mind=name, home="/home")

    minds = OpenMinds(missing)
    before = len(written(minds))
    for number in range(100):
        with pytest.raises(MindMissing):
            used(minds, f"unknown {number}")
    assert len(written(minds)) == before


def written(minds: OpenMinds) -> str:
    """All that it holds, but for its lock."""
    return repr({name: value for name, value in vars(minds).items() if isinstance(value, dict)})


def test_a_mind_that_is_let_go_is_closed_and_whoever_wants_it_meanwhile_waits() -> None:
    opener = Opener()
    minds = OpenMinds(opener)
    first = used(minds)
    with minds.release_mind("default", BOUND_S):
        assert opener.opened[0].closed
        coming, got = in_thread(lambda: used(minds))
        assert used(minds, "other") is not first
        assert len(opener.opened) == 2
        assert not minds.close_when_unused(0.0)
    coming.join(BOUND_S)
    assert got == [opener.opened[2]]


def test_a_mind_that_somebody_uses_is_not_let_go_before_they_are_done() -> None:
    minds = OpenMinds(Opener())
    with minds.use("default", False):
        with pytest.raises(StoreBusy), minds.release_mind("default", 0.0):
            pytest.fail("it is used")
        letting, ended = in_thread(lambda: minds.release_mind("default", BOUND_S).__enter__())
    letting.join(BOUND_S)
    assert ended == [None]


def test_a_mind_that_is_not_open_is_let_go_too_and_a_process_that_leaves_lets_go_of_none() -> None:
    opener = Opener()
    minds = OpenMinds(opener)
    with minds.release_mind("default", 0.0):
        coming, got = in_thread(lambda: used(minds))
        assert opener.opened == []
    coming.join(BOUND_S)
    assert len(got) == len(opener.opened) == 1
    minds.close(BOUND_S)
    with pytest.raises(ActorStopped), minds.release_mind("default", BOUND_S):
        pytest.fail("it is leaving")
