"""A whole society is the same on either engine: same answers, each write once, one writer, nothing lost with a kill."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from mnemic.actors.changes import Place
from mnemic.actors.errors import Fenced, NoSuchMemory, RuntimeFault
from mnemic.actors.messages import CaptureText, Count, GetMemories, Recall, Sleep, Take
from mnemic.hooks.formats import open_transcript
from mnemic.local import ray_engine
from mnemic.runtime.clock import ManualClock
from mnemic.runtime.embedded import EmbeddedEngine
from mnemic.runtime.engine import Engine
from mnemic.runtime.homes import MindFolder, make_mind, open_mind
from mnemic.runtime.keys import Keys
from mnemic.runtime.ray_local import LocalRay
from mnemic.runtime.settings import load_settings
from mnemic.runtime.society import start_society
from mnemic.runtime.supervisor import Supervisor
from tests.faces import EXAMPLE, lines, turn, until
from tests.society import START_US

SEED = b"s" * 32
ENGINES = ["embedded", "ray"]
MakeEngine = Callable[[MindFolder, Keys], Engine]


@pytest.fixture
def make_engine(request: pytest.FixtureRequest) -> MakeEngine:
    """The engine of the test's parameter."""
    clock = ManualClock(START_US)
    if request.param == "embedded":
        return lambda folder, keys: EmbeddedEngine(clock)
    local: LocalRay = request.getfixturevalue("local_ray")
    return ray_engine(local.cluster, clock)


def start(home: Path, make_engine: MakeEngine, **options: Any) -> Supervisor:
    """Start the society of a home's mind, made where there is none, at the start of the tests' time."""
    if not (home / "minds").exists():
        make_mind(home, "default", ManualClock(START_US))
    folder, keys = open_mind(home, "default")
    return start_society(
        folder,
        keys,
        load_settings(home / "mnemic.toml"),
        ManualClock(START_US),
        opener=open_transcript,
        code="test",
        seed=SEED,
        engine=make_engine(folder, keys),
        **options,
    )


@pytest.fixture
def society(home: Path, make_engine: MakeEngine) -> Iterator[Supervisor]:
    """A society on an empty mind."""
    society = start(home, make_engine)
    yield society
    society.stop()


def take(society: Supervisor, path: Path) -> tuple[int, int]:
    """Take in a transcript; returns how many were new and known."""
    new = known = skip = 0
    done = False
    while not done:
        taken = society.ask(Take(path=str(path), format="auto", scope=None, skip=skip))
        new, known, skip, done = new + taken.new, known + taken.known, taken.taken, taken.done
    return new, known


def text(words: str) -> CaptureText:
    return CaptureText(
        text=words.encode(),
        role="user",
        session="s",
        place=Place(path="", project=None, found="none"),
        said_at=START_US,
    )


def both(*names: str) -> Any:
    return pytest.mark.parametrize("make_engine", names or ENGINES, indirect=True)


def test_both_engines_give_the_same_answers(tmp_path: Path, home: Path, request: pytest.FixtureRequest) -> None:
    make_mind(home, "default", ManualClock(START_US))
    answers: dict[str, list[Any]] = {}
    local: LocalRay = request.getfixturevalue("local_ray")
    engines: dict[str, MakeEngine] = {
        "embedded": lambda folder, keys: EmbeddedEngine(ManualClock(START_US)),
        "ray": ray_engine(local.cluster, ManualClock(START_US)),
    }
    for name, make_engine in engines.items():
        own = Path(shutil.copytree(home, tmp_path / name))  # one key: ids follow from it
        society = start(own, make_engine)
        try:
            for path in sorted((EXAMPLE / "claude").rglob("*.jsonl"))[:4]:
                take(society, path)
            asked = [
                society.ask(Recall(query=query, k=20, trace=True, observe=False))
                for query in ("commit messages", "tide table", "who is Bea", "session token")
            ]
            with pytest.raises(NoSuchMemory) as caught:
                society.ask(GetMemories(ids=(bytes(16),)))
            counts = society.ask(Count())
            answers[name] = [*asked, msgspec.structs.replace(counts, kept_bytes=0), str(caught.value)]
        finally:
            society.stop()
    assert answers["ray"] == answers["embedded"]
    assert all(answer.hits for answer in answers["ray"][:2])


@both()
def test_the_same_request_given_again_writes_nothing_more(society: Supervisor) -> None:
    first = society.ask(text("an otter"), trace="request-1")
    again = society.ask(text("an otter"), trace="request-1")
    assert again == first
    assert first.created
    assert not society.ask(text("an otter"), trace="request-2").created
    assert society.ask(Count()).memories == 1


@both()
def test_of_two_societies_of_one_slot_only_the_later_writes(home: Path, make_engine: MakeEngine) -> None:
    clock = ManualClock(START_US)
    earlier = start(home, lambda folder, keys: EmbeddedEngine(clock), fence="home")
    later = start(home, make_engine, fence="home")
    try:
        with pytest.raises(Fenced):
            earlier.ask(text("from the one believed dead"))
        assert later.ask(text("from the one that lives")).created
        assert later.ask(Count()).memories == 1
    finally:
        later.stop()
        earlier.stop()


@both()
def test_a_night_is_answered_by_the_consolidator(society: Supervisor) -> None:
    report = society.ask(Sleep(run="night-1", seed=SEED, budget_s=1.0))
    assert (report.run, report.finished) == ("night-1", True)


@both("ray")
def test_whatever_process_is_killed_under_load_nothing_acknowledged_is_lost_and_nothing_doubled(
    society: Supervisor, tmp_path: Path
) -> None:
    source = lines(tmp_path / "a.jsonl", *(turn(f"otter number {number}", id=str(number)) for number in range(600)))
    acknowledged: list[str] = []

    def keep(number: int) -> None:
        words = f"badger number {number}"
        while True:
            try:
                society.ask(text(words), trace=f"keep-{number}")
            except RuntimeFault:
                continue  # its process was killed twice, or it rests: whoever asked asks again
            acknowledged.append(words)
            return

    store, _, retriever, capture, _ = processes()  # in the order of `mnemic.runtime.plugins.SLOTS`
    victims = [capture, store, retriever]
    with ThreadPoolExecutor(4) as pool:
        taking = pool.submit(take, society, source)
        keeping = [pool.submit(keep, number) for number in range(120)]
        for count, victim in enumerate(victims, start=1):
            until(lambda count=count: len(acknowledged) >= 25 * count)  # type: ignore[misc]
            os.kill(victim, signal.SIGKILL)
        new, known = taking.result()
        for one in keeping:
            one.result()
    assert (new + known, len(acknowledged)) == (600, 120)
    assert society.ask(Count()).memories == 720
    assert take(society, source) == (0, 600)
    failed = {actor.actor: actor.failures for actor in society.report().actors}
    assert sum(failed.values()) >= len(victims)


def processes() -> list[int]:
    """Process ids of all actors that this process has under Ray, in the order in which they were started."""
    found = [one for one in psutil.Process().children(recursive=True) if "ray::Worker" in one.cmdline()[:1]]
    return [one.pid for one in sorted(found, key=lambda one: one.create_time())]
