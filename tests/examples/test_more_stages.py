"""The example's three stages derive digests of topics and procedures, and bring back what commands show of them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mnemic_more_stages import (
    PROCEDURE_TIMES,
    TOPIC_DIGEST_BYTES,
    Follows,
    Procedures,
    SessionSteps,
    TopicDigests,
    count_procedures,
    step_name,
    steps_that_follow,
)

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.kernel.events import Event
from mnemic.actors.sleep.messages import DerivedListed, ListProcedures, ShowNight
from mnemic.actors.sleep.registry import MORE_SETTINGS, MORE_STAGES, find_stage
from mnemic.actors.store.messages import Rebuild
from mnemic.algorithms.steps.steps import ToolEvent
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader
from tests.actors.sleep.sleeping import offer_stages, whole_night
from tests.harness import START_US, ActorHarness
from tests.paths import ROOT
from tests.processes.faces import Outcome, run
from tests.waiting import BOUND_S

PACKAGE = ROOT / "examples" / "more_stages"
OFFERED = tomllib.loads((PACKAGE / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["mnemic.stages"]
STEPS = ("session-steps", "procedures")
Command = Callable[..., Outcome]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package, as Python finds one that is installed."""
    offer_stages(tmp_path / "installed", monkeypatch, "mnemic_more_stages", **OFFERED)


@pytest.fixture
def mind(tmp_path: Path, installed: None) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path / "home", **{"sleep.stages": " ".join(STEPS)}) as mind:
        yield mind


def test_it_offers_the_stages_that_were_built_in_by_their_names_with_the_settings_they_had(installed: None) -> None:
    assert [find_stage(one) for one in MORE_STAGES] == [TopicDigests, SessionSteps, Procedures]
    assert tuple(find_stage(one).name for one in MORE_STAGES) == MORE_STAGES
    known = {one.name: (one.default, one.minimum, one.maximum) for one in MORE_SETTINGS}
    assert known == {one.name: (one.default, one.minimum, one.maximum) for one in (PROCEDURE_TIMES, TOPIC_DIGEST_BYTES)}


# --- decisions -------------------------------------------------------------------------------------------------------


def ran(command: str, outcome: str = "ok") -> list[ToolEvent]:
    """A shell's call and its result."""
    return [
        ToolEvent(True, "Bash", None, (), f"Bash\ncommand: {command}"),
        ToolEvent(False, "Bash", outcome, (), ""),
    ]


def used(tool: str, file: str) -> list[ToolEvent]:
    """A call of a tool on a file and its result."""
    call = ToolEvent(True, tool, None, (file,), f"{tool}\nfile_path: {file}")
    return [call, ToolEvent(False, tool, "ok", (file,), "")]


def test_a_step_is_named_by_what_it_does_to_what_and_by_which_program() -> None:
    assert step_name("Bash", "Bash\ncommand: pytest tests/test_a.py") == "test python (pytest)"
    assert step_name("Edit", "Edit\nfile_path: src/a.py", ("src/a.py",)) == "edit python"
    assert step_name("mcp__tracker__close", "mcp__tracker__close\nid: 4") == "call (mcp__tracker__close)"


def test_after_a_failed_test_the_next_step_that_does_something_is_told_and_whether_it_worked() -> None:
    happened = [
        *ran("pytest tests/test_a.py", "failed"),
        *used("Read", "src/a.py"),
        *used("Edit", "src/a.py"),
        *ran("pytest tests/test_a.py"),
        *ran("git commit -m done"),
    ]
    assert steps_that_follow(happened) == [
        Follows(before=0, failed=True, then=4, worked=True),
        Follows(before=4, failed=False, then=6, worked=True),
        Follows(before=6, failed=False, then=8, worked=None),
    ]


def test_that_reading_follows_reading_is_told_by_nobody() -> None:
    assert steps_that_follow([*used("Read", "a.py"), *used("Grep", "b.py"), *used("Read", "c.py")]) == []
    assert steps_that_follow([]) == []


def test_what_is_too_far_behind_does_not_follow() -> None:
    happened = [*ran("pytest", "failed"), *(event for _ in range(7) for event in used("Read", "a.py")), *ran("make")]
    assert steps_that_follow(happened) == []


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 5), st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_counts_add_up_and_the_newest_example_is_the_last(seen: list[tuple[str, int, int, int]]) -> None:
    found = count_procedures(seen, 3)
    for what in "ab":
        own = [(place, one) for place, one in enumerate(seen) if one[0] == what]
        times = sum(one[1] for _, one in own)
        assert (what in found) is (times >= 3)
        if what in found:
            assert found[what] == (times, sum(o[2] for _, o in own), sum(o[3] for _, o in own), own[-1][0])


# --- nights ----------------------------------------------------------------------------------------------------------


def worked(mind: ActorHarness, session: str, *, fails: bool = True) -> None:
    """A session in which tests fail, a file is edited and they pass."""
    commands = [("Bash", "command: pytest tests", "failed" if fails else "ok"), ("Edit", "file_path: a.py", "ok")]
    events = []
    for number, (tool, argument, outcome) in enumerate([*commands, ("Bash", "command: pytest tests", "ok")]):
        about: dict[str, Any] = {"assistant": "t", "session": session, "tool": tool, "scope": "shelf"}
        about |= {"said_at": START_US + number * 1_000_000, "files": ("a.py",) if tool == "Edit" else ()}
        text = f"{tool}\n{argument}".encode()
        events.append(Event(kind="tool_call", role="assistant", text=text, **about))
        events.append(Event(kind="tool_result", role="tool", text=b"done", outcome=outcome, **about))  # type: ignore[arg-type]
    mind.sources[session] = events
    mind.take(session)


def procedures(mind: ActorHarness, **fields: Any) -> DerivedListed:
    found = mind.ask(ListProcedures(**fields))
    assert isinstance(found, DerivedListed)
    return found


def test_what_is_done_again_and_again_is_told_with_how_often_it_worked(mind: ActorHarness) -> None:
    for number in range(3):
        worked(mind, f"s{number}")
    assert whole_night(mind).changes == 4
    assert mind.ask(ShowNight(id=1)).total == 4
    other, first = procedures(mind, scope="shelf").derived
    well = "3 times; all was well after it 3 of 3 times"
    assert first.text == f"after test python (pytest) failed: edit python, {well}"
    assert other.text.startswith("after edit python: test python (pytest), 3 times")
    assert (first.of, first.scope, first.night) == ("project shelf", "shelf", 1)
    assert first.quotes == ("Bash\ncommand: pytest tests", "Edit\nfile_path: a.py")
    assert procedures(mind, k=1).derived == (other,)
    assert whole_night(mind).changes == 0
    mind.ask(Forget(ids=(first.memories[0],), reason="test"))
    assert first not in procedures(mind, scope="shelf").derived


def test_what_was_done_twice_is_no_procedure(mind: ActorHarness) -> None:
    for number in range(2):
        worked(mind, f"s{number}")
    whole_night(mind)
    assert procedures(mind).derived == ()


def test_a_rebuild_changes_nothing_and_what_was_forgotten_is_counted_no_more(mind: ActorHarness) -> None:
    for number in range(3):
        worked(mind, f"s{number}")
    whole_night(mind)
    told = [one.text for one in procedures(mind).derived]
    mind.ask(Rebuild())
    assert whole_night(mind).changes == 0
    assert [one.text for one in procedures(mind).derived] == told
    calls = mind.look(lambda now: now.ids_of(range(1, 7)))
    mind.ask(Forget(ids=tuple(calls), reason="test"))
    whole_night(mind)
    assert procedures(mind).derived == ()


# --- installed -------------------------------------------------------------------------------------------------------


@pytest.fixture
def upgraded(captured_example: tuple[Path, Outcome], tmp_path: Path) -> Path:
    """A home of the example, whose settings name these stages as in a version that had them built in."""
    home = Path(shutil.copytree(captured_example[0], tmp_path / "upgraded"))
    stages = " ".join(("communities", *MORE_STAGES))
    (home / "mnemic.toml").write_text(f'[sleep]\nstages = "{stages}"\nprocedure_times = 2\n', "utf-8")
    return home


def test_commands_show_topics_and_procedures_again_and_erased_words_are_in_neither(
    upgraded: Path, installed: None, command: Command
) -> None:
    assert command("sleep", "--home", upgraded).code == 0
    everywhere = ("--scope", "*", "--home", upgraded)
    topics = command("digest", "--of", "topic", *everywhere, "--json").json["digests"]
    assert topics
    assert all(one["of"].startswith("topic #") for one in topics)
    told = command("procedures", *everywhere).out
    assert told.startswith("  after ")
    assert "[slipway]" in told
    assert command("derived", "procedures", *everywhere).out == told
    first, *_ = command("procedures", *everywhere, "--json").json["derived"]
    said = topics[0]["sentences"][0]
    erased = command("forget", "--erase", "--yes", first["memories"][0], said["memory"], "--home", upgraded)
    assert erased.code == 0, erased
    after = command("procedures", *everywhere, "--json").json["derived"]
    assert not any(first["memories"][0] in one["memories"] for one in after)
    assert said["text"] not in command("digest", "--of", "topic", *everywhere).out


def test_without_the_package_a_home_goes_on_and_what_it_had_is_erased_all_the_same(
    upgraded: Path, tmp_path: Path, command: Command
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        offer_stages(tmp_path / "installed", patch, "mnemic_more_stages", **OFFERED)
        assert command("sleep", "--home", upgraded).code == 0
        first, *_ = command("procedures", "--scope", "*", "--home", upgraded, "--json").json["derived"]
    slept = command("sleep", "--home", upgraded)
    assert slept.code == 0
    assert "  procedures: a stage cannot be 'procedures': the package mnemic-more-stages has it" in slept.out
    assert "mnemic-more-stages" in command("doctor", "--home", upgraded).out
    assert held(upgraded) == set(MORE_STAGES)
    erased = command("forget", "--erase", "--yes", first["memories"][0], "--home", upgraded)
    assert erased.code == 0, erased
    assert "procedures" not in held(upgraded), "an item that points to what was erased is gone as a whole"


def held(home: Path) -> set[str]:
    """The stages of which a home holds items."""
    folder, keys = open_mind(home, "default")
    with closing(open_reader(folder.store, keys)) as reader, reader.snapshot() as now:
        return {one for one in MORE_STAGES if now.derived(one)}


@pytest.mark.system
@pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="pip is not installed")
def test_it_is_installed_and_a_home_has_its_stages_again(upgraded: Path, tmp_path: Path) -> None:
    package = shutil.copytree(PACKAGE, tmp_path / "package", ignore=shutil.ignore_patterns("__pycache__"))
    options = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation")
    target = tmp_path / "target"
    pip = [sys.executable, "-m", "pip", "install", *options, "--target", target, package]
    subprocess.run(pip, check=True, capture_output=True, timeout=BOUND_S)
    missing = run("procedures", "--scope", "*", "--home", upgraded)
    assert (missing.code, "mnemic-more-stages" in missing.err) == (2, True)
    environment = {**os.environ, "PYTHONPATH": str(target)}
    slept = run("sleep", "--home", upgraded, env=environment)
    assert slept.code == 0, slept
    assert "  procedures: " in slept.out
    assert run("procedures", "--scope", "*", "--home", upgraded, env=environment).out.startswith("  after ")
