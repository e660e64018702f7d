"""The drainer opens a mind when something came, asks no more than it must, and no mind keeps another waiting."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.capture.messages import Drained, DrainSpool
from mnemic.actors.kernel.errors import DiskFull, MindMissing
from mnemic.cli.hooks.uninstall import mnemic_files
from mnemic.runtime.api.capture import DRAIN_LOCK
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.minds.run_dir import RunDir
from mnemic.runtime.serve.drainer import _MAX_PARTS, _RECHECK_DELAYS_S, DrainThread, notify_queued
from tests.clocks import ManualClock
from tests.harness import START_US
from tests.waiting import until


class Asked(Mind):
    """A mind of the home's process that only answers `DrainSpool`."""

    def __init__(self, name: str, asked: list[tuple[str, bool]]) -> None:
        super().__init__(self, Path(), name, None, dict)  # type: ignore[arg-type]
        self.name = name
        self.asked = asked
        self.answers: list[Drained] = []
        self.fails: Exception | None = None

    def ask(self, message: Any, timeout_s: float, progress: Any, *, idle: bool = False) -> Drained:
        assert message == DrainSpool()
        self.asked.append((self.name, idle))
        if self.fails is not None:
            raise self.fails
        return self.answers.pop(0) if self.answers else Drained()


class Opened:
    """Minds that are opened when they are used."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool]] = []
        self.minds: dict[str, Asked] = {}
        self.open: dict[str, Asked] = {}

    def __getitem__(self, name: str) -> Asked:
        return self.minds.setdefault(name, Asked(name, self.asked))

    @contextmanager
    def use(self, name: str, create: bool) -> Iterator[Asked]:
        assert not create
        self.open[name] = self[name]
        yield self[name]

    def open_minds(self) -> dict[str, Asked]:
        return self.open

    def since(self) -> list[tuple[str, bool]]:
        """Which were asked since, and whether that was nobody's wish."""
        asked = list(self.asked)
        self.asked.clear()
        return asked


class Home:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = ManualClock(START_US)
        self.minds = Opened()
        self.served: list[tuple[str, bool]] = []
        RunDir(path).prepare()
        self.drainer = DrainThread(path, self.minds, self.track_request, self.clock)  # type: ignore[arg-type]

    @contextmanager
    def track_request(self, verb: str, trace: str | None = None, *, idle: bool = False) -> Iterator[None]:
        self.served.append((verb, idle))
        yield

    def write(self, mind: str, content: bytes, name: str = "a.spool") -> None:
        folder = self.path / "minds" / mind / "spool"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("ab") as file:
            file.write(content)

    def look(self) -> list[tuple[str, bool]]:
        self.drainer.poll()
        return self.minds.since()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_where_nothing_lies_nothing_is_opened(home: Home) -> None:
    assert home.look() == []
    (home.path / "minds" / "default" / "spool").mkdir(parents=True)
    (home.path / "minds" / ".new-x" / "spool").mkdir(parents=True)
    home.write("default", b"x", ".new-1.spool")
    home.write("default", b"x", "losses")
    assert home.look() == []
    assert home.minds.open == {}


def test_what_comes_for_a_locked_mind_waits_and_nothing_is_wrong_or_kept_awake(home: Home) -> None:
    locked = {"default"}
    home.drainer = DrainThread(home.path, home.minds, home.track_request, home.clock, locked.__contains__)  # type: ignore[arg-type]
    home.write("default", b"x")
    home.write("other", b"x")
    assert home.look() == [("other", False)]
    assert home.look() == []
    assert home.served == [("drain", False)]
    assert home.drainer.problems() == []
    locked.clear()
    assert home.look() == [("default", False)]


def test_what_comes_is_drained_at_once_and_counts_as_somebodys_wish(home: Home) -> None:
    home.write("default", b"x")
    assert home.look() == [("default", False)]
    assert home.served == [("drain", False)]
    assert home.look() == []
    home.write("default", b"x")
    home.write("other", b"x")
    assert home.look() == [("default", False), ("other", False)]
    assert home.look() == []


def test_a_mind_that_somebody_opened_is_asked_once_which_is_nobodys_wish(home: Home) -> None:
    (home.path / "minds" / "default").mkdir(parents=True)
    home.minds.open["default"] = home.minds["default"]
    assert home.look() == [("default", True)]
    assert home.served == [("drain", True)]
    assert home.look() == []
    home.minds.open["default"] = home.minds.minds["default"] = Asked("default", home.minds.asked)
    assert home.look() == [("default", True)], "closed, and opened again"


def test_a_transcript_is_asked_for_when_it_is_due(home: Home) -> None:
    home.write("default", b"x")
    home.minds["default"].answers = [Drained(next_due_at=START_US + 60_000_000)]
    assert home.look() == [("default", False)]
    home.clock.advance(59)
    assert home.look() == []
    home.minds.open.clear()
    home.clock.advance(1)
    assert home.look() == [("default", False)], "it is opened for that"
    assert home.look() == []


def test_whoever_rings_has_a_mind_asked_at_once_and_once(home: Home) -> None:
    (home.path / "minds" / "m" / "spool").mkdir(parents=True)
    assert home.look() == []
    notify_queued(home.path, "m")
    assert [path.name for path in mnemic_files(home.path)] == ["queued-m"]  # and so it goes when the home's data does
    assert home.look() == [("m", False)]
    assert home.look() == []


def test_a_long_backlog_is_drained_by_turns(home: Home) -> None:
    for mind in ("a", "b"):
        home.write(mind, b"x")
    home.minds["a"].answers = [Drained(more=True)] * (_MAX_PARTS + 1)
    assert home.drainer.poll()
    assert home.minds.since() == [("a", False)] * _MAX_PARTS + [("b", False)]
    assert not home.drainer.poll()
    assert home.minds.since() == [("a", False)] * 2


def test_a_mind_that_cannot_be_drained_is_shown_rests_longer_each_time_and_keeps_no_other_waiting(home: Home) -> None:
    for mind in ("bad", "good"):
        home.write(mind, b"x")
    home.minds["bad"].fails = DiskFull(path="/x")
    assert home.look() == [("bad", False), ("good", False)]
    (trouble,) = home.drainer.problems()
    assert "'bad'" in trouble
    assert str(DiskFull(path="/x")) in trouble
    assert home.look() == [], "it rests"
    home.clock.advance(1)
    assert home.look() == [("bad", False)]
    home.clock.advance(1)
    assert home.look() == [], "it rests longer"
    home.clock.advance(1)
    home.minds["bad"].fails = None
    assert home.look() == [("bad", False)]
    assert home.drainer.problems() == []


def test_a_defect_ends_no_drainer_and_a_mind_that_goes_is_forgotten(home: Home) -> None:
    home.write("default", b"x")
    home.minds["default"].fails = ZeroDivisionError("with a text of a memory")
    home.look()
    (trouble,) = home.drainer.problems()
    assert "ZeroDivisionError" in trouble
    assert "a text of a memory" not in trouble
    os.rename(home.path / "minds" / "default", home.path / "gone")
    home.look()
    assert home.drainer.problems() == []


def test_a_folder_of_minds_that_cannot_be_listed_is_a_trouble_until_it_can(home: Home) -> None:
    (home.path / "minds").write_bytes(b"no folder")
    assert home.look() == []
    (trouble,) = home.drainer.problems()
    assert trouble.startswith("the spools could not be looked at: ")
    (home.path / "minds").unlink()
    home.write("default", b"x")
    assert home.look() != []
    assert home.drainer.problems() == []


def test_a_mind_that_is_none_is_a_trouble_and_no_failure(home: Home) -> None:
    home.write("default", b"x")

    def use(name: str, create: bool) -> Any:
        raise MindMissing(mind=name, home="h")

    home.minds.use = use  # type: ignore[method-assign]
    assert home.look() == []
    assert len(home.drainer.problems()) == 1


def test_while_a_command_drains_alone_nobody_else_does(home: Home) -> None:
    home.write("default", b"x")
    held = RunDir(home.path).acquire_lock(DRAIN_LOCK)
    assert held is not None
    assert home.look() == []
    os.close(held)
    assert home.look() == [("default", False)]


def test_files_that_fell_silent_are_looked_at_a_few_times_more_and_then_left_alone(home: Home) -> None:
    home.write("default", b"x")
    home.look()
    for seconds in _RECHECK_DELAYS_S:
        home.clock.advance(seconds - 1)
        assert home.look() == []
        home.clock.advance(1)
        assert home.look() == [("default", True)]
    home.clock.advance(100_000)
    assert home.look() == []
    home.write("default", b"x")
    assert home.look() == [("default", False)]


def test_the_thread_looks_until_it_is_stopped(home: Home) -> None:
    home.drainer.start()
    home.write("default", b"x")
    until(lambda: bool(home.minds.asked))
    home.drainer.stop(60.0)
    assert not home.drainer._thread.is_alive()
    home.minds.since()
    home.write("default", b"x")
    assert home.look() == [], "what comes after is the next process's"


def test_a_drainer_that_never_began_can_be_stopped(home: Home) -> None:
    stop: Callable[[float], None] = home.drainer.stop
    stop(1.0)
