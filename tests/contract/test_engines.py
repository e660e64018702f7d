"""A whole actor system is the same on either engine: same answers, each write once, one writer, nothing lost with a
kill.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.capture.messages import CaptureText, CaptureTranscript, Drained, DrainSpool, GetCaptureProgress
from mnemic.actors.communities.messages import ListCommunities, ShowCommunity, UpdateCommunities
from mnemic.actors.kernel.errors import Fenced, NoSuchMemory, RuntimeFault
from mnemic.actors.kernel.message import to_json
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.knowledge.messages import (
    ListConflicts,
    ListEntities,
    ListFacts,
    SettleConflict,
    ShowEntity,
    UpdateFacts,
)
from mnemic.actors.recall.messages import FindSimilar, GetMemories, Recall
from mnemic.actors.scopes.changes import MergeScopes
from mnemic.actors.scopes.messages import ChangeScopes, FindScope, ListScopes
from mnemic.actors.shape.messages import BindPending, ListRoles, Shape
from mnemic.actors.sleep.messages import ListDerived, ListDigests, ListNights, NightReport, ShowNight, Sleep, UndoNights
from mnemic.actors.sleep.registry import BUILT_IN_STAGES
from mnemic.actors.store.messages import Count
from mnemic.compose import ray_engine_factory
from mnemic.hooks.read.formats import open_transcript
from mnemic.hooks.read.records import read_record
from mnemic.runtime.engine.actor_system import start_actor_system
from mnemic.runtime.engine.engine import EmbeddedEngine, Engine
from mnemic.runtime.engine.plugins import SLOTS
from mnemic.runtime.engine.ray.local import LocalRay
from mnemic.runtime.engine.settings import load_settings
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind
from tests.clocks import ManualClock
from tests.harness import START_US
from tests.processes.faces import EXAMPLE, lines, turn
from tests.runtime import spooling
from tests.waiting import BOUND_S, until

SEED = b"s" * 32
NOW_US = START_US + 400 * 86_400_000_000
"""After all that the example tells."""
ENGINES = ["embedded", pytest.param("ray", marks=pytest.mark.system)]
MakeEngine = Callable[[MindFolder, Keys], Engine]


@pytest.fixture
def make_engine(request: pytest.FixtureRequest) -> MakeEngine:
    """The engine of the test's parameter."""
    clock = ManualClock(NOW_US)
    if request.param == "embedded":
        return lambda folder, keys: EmbeddedEngine(clock)
    local: LocalRay = request.getfixturevalue("local_ray")
    return ray_engine_factory(local.cluster, clock)


def start(home: Path, make_engine: MakeEngine, **options: Any) -> Supervisor:
    """Start the actor system of a home's mind, made where there is none."""
    if not (home / "minds").exists():
        create_mind(home, "default", ManualClock(NOW_US))
    folder, keys = open_mind(home, "default")
    return start_actor_system(
        folder,
        keys,
        load_settings(home / "mnemic.toml"),
        ManualClock(NOW_US),
        opener=open_transcript,
        code="test",
        seed=SEED,
        engine=make_engine(folder, keys),
        **options,
    )


@pytest.fixture
def actor_system(home: Path, make_engine: MakeEngine) -> Iterator[Supervisor]:
    """An actor system on an empty mind."""
    actor_system = start(home, make_engine)
    yield actor_system
    actor_system.stop()


def take(actor_system: Supervisor, path: Path) -> tuple[int, int]:
    """Take in a transcript; returns how many were new and known."""
    new = known = skip = 0
    done = False
    while not done:
        taken = actor_system.ask(CaptureTranscript(path=str(path), format="auto", scope=None, skip=skip))
        new, known, skip, done = new + taken.new, known + taken.known, taken.taken, taken.done
    return new, known


def text(words: str) -> CaptureText:
    return CaptureText(
        text=words.encode(),
        role="user",
        session="s",
        place=ScopeRef(path="", project=None, found="none"),
        said_at=START_US,
    )


def rescoped(actor_system: Supervisor) -> list[Any]:
    """What is answered while two scopes are merged, and after that is taken back."""
    answers: list[Any] = []
    words = "The kettle in the boathouse is to be emptied before the first frost."
    place = ScopeRef(path="boathouse", project="/p/boathouse", found="folder")
    actor_system.ask(msgspec.structs.replace(text(words), place=place))
    (path,) = {one.path for one in actor_system.ask(ListScopes()).scopes} - {"boathouse"}
    actor_system.ask(ChangeScopes(changes=(MergeScopes(path="boathouse", into=path),)))
    for scope in (path, "boathouse"):
        answers += [
            actor_system.ask(FindSimilar(text=words.replace("first", "second"), scope=path)),
            actor_system.ask(FindScope(place=place)),
            actor_system.ask(Recall(query="kettle", scope=scope, observe=False)),
            actor_system.ask(ListScopes()),
        ]
        if scope == path:
            actor_system.ask(ChangeScopes(changes=answers[-1].undo, is_undo=True))
    assert [[hit.text for hit in answers[at].hits[:1]] for at in (2, 6)] == [[words]] * 2
    assert [len(answers[at].similar) for at in (0, 4)] == [1, 0]
    assert [answers[at].path for at in (1, 5)] == [path, "boathouse"]
    return answers


def shaped(actor_system: Supervisor) -> list[Any]:
    """What is answered to questions of structure, once all is bound."""
    while actor_system.ask(BindPending()).pending:
        pass
    asked = [
        Shape(pattern={"kind": "tool_call", "branch": "?", "file": "?"}, observe=False),
        Shape(pattern={"who": "assistant", "date": "2026-09-24", "tool": "?"}, k=3, observe=False),
        Shape(pattern={"kind": "?"}, session="168706d3-4975-4148-b2cb-ec5c946c9be5", observe=False),
        Shape(pattern={"after": "edit", "then": "?"}, observe=False),
    ]
    answers = [actor_system.ask(one) for one in asked]
    assert [bool(one.answers) for one in answers] == [True] * 4
    assert [one.degraded for one in answers] == [()] * 4
    return [*answers, actor_system.ask(ListRoles())]


def grouped(actor_system: Supervisor) -> list[Any]:
    """What belongs together, after two boundaries."""
    found: list[Any] = []
    for words in ("The kettle hangs in the shed by the slipway.", "The mooring at the north pier is to be renewed."):
        actor_system.ask(text(words))
        found.append(actor_system.ask(UpdateCommunities(mark="asked")))
        while found[-1].pending:
            found[-1] = actor_system.ask(UpdateCommunities())
    assert [(one.done, one.why_not) for one in found] == [(1, ""), (2, "")]
    while actor_system.ask(BindPending()).pending:  # the prototypes, too
        pass
    listed = actor_system.ask(ListCommunities())
    assert listed.total >= 3
    shown = [listed, *(actor_system.ask(ShowCommunity(id=one.id)) for one in listed.communities)]
    return [_without_system_time(to_json(one)) for one in shown]


def known(actor_system: Supervisor) -> list[Any]:
    """What holds and what is named, once all is read and graded, and one pair is settled."""
    for number, (words, role) in enumerate(
        (
            ("The workshop is in Berlin.", "user"),
            ("The workshop is in Hamburg now.", "user"),
            ("Ada Lovelace lives in Lisbon.", "user"),
            ("Ada Lovelace lives in Porto now.", "assistant"),
        )
    ):
        actor_system.ask(msgspec.structs.replace(text(words), role=role, said_at=START_US + number))
    read_all(actor_system)
    replaced, open_pairs = actor_system.ask(ListConflicts(replaced=True)), actor_system.ask(ListConflicts()).conflicts
    (pair,) = (one for one in open_pairs if one.newer.value == b"Porto")
    settled = actor_system.ask(SettleConflict(id=pair.id, verdict="newer"))
    named = actor_system.ask(ListEntities())
    assert (replaced.total > 0, settled.changed, named.total > 0) == (True, True, True)
    facts = [actor_system.ask(ListFacts(history=history, k=500)) for history in (False, True)]
    assert 0 < facts[0].total < facts[1].total
    return [*facts, replaced, settled, named, actor_system.ask(ShowEntity(name=named.entities[0].name, k=50))]


def slept(actor_system: Supervisor) -> list[Any]:
    """What a night derives, once all before it is settled; and what is left of it once it is taken back."""
    report = night(actor_system, "night-1")
    assert {"session-digests", "project-digests"} <= set(report.steps)
    digests = [actor_system.ask(ListDigests(of=of, k=99)) for of in ("project", "session")]  # type: ignore[arg-type]
    assert all(one.digests for one in digests)
    shown = actor_system.ask(ShowNight(id=1)).changes
    derived = actor_system.ask(ListDerived(stage="session-digests"))
    assert derived.derived
    assert night(actor_system, "night-2").changes == 0
    undone = actor_system.ask(UndoNights())
    after = actor_system.ask(ListDigests(of="session"))
    return [report.steps, report.changes, *digests, shown, derived, undone, after]


def night(actor_system: Supervisor, run: str) -> NightReport:
    """A whole night."""
    for _ in range(1000):
        report = actor_system.ask(Sleep(run=run, seed=SEED, budget_s=60.0, stages=tuple(BUILT_IN_STAGES)))
        if report.finished:
            return report
    pytest.fail("it never ends")


def read_all(actor_system: Supervisor) -> int:
    """Have all memories read and graded; returns how many were read."""
    while (progress := actor_system.ask(UpdateFacts())).pending:
        pass
    return int(progress.done)


def _without_system_time(value: Any) -> Any:
    """A view without when communities were found: each engine has its own clock."""
    if isinstance(value, list):
        return [_without_system_time(one) for one in value]
    if isinstance(value, dict):
        return {name: _without_system_time(one) for name, one in value.items() if name not in ("born_at", "at")}
    return value


def both(*names: str) -> Any:
    return pytest.mark.parametrize("make_engine", names or ENGINES, indirect=True)


@pytest.mark.system
def test_both_engines_give_the_same_answers(tmp_path: Path, home: Path, request: pytest.FixtureRequest) -> None:
    create_mind(home, "default", ManualClock(NOW_US))
    answers: dict[str, list[Any]] = {}
    local: LocalRay = request.getfixturevalue("local_ray")
    engines: dict[str, MakeEngine] = {
        "embedded": lambda folder, keys: EmbeddedEngine(ManualClock(NOW_US)),
        "ray": ray_engine_factory(local.cluster, ManualClock(NOW_US)),
    }
    for name, make_engine in engines.items():
        own = Path(shutil.copytree(home, tmp_path / name))  # one key: ids follow from it
        actor_system = start(own, make_engine)
        try:
            for path in sorted((EXAMPLE / "claude").rglob("*.jsonl"))[:4]:
                take(actor_system, path)
            asked = [
                actor_system.ask(Recall(query=query, k=20, trace=True, observe=False))
                for query in ("commit messages", "tide table", "who is Bea", "session token")
            ]
            (gone,) = actor_system.ask(Forget(ids=(asked[0].hits[0].id,), reason="it was wrong")).memories
            asked += [
                msgspec.structs.replace(gone, retired_at=0),
                actor_system.ask(Recall(query="tide", observe=False)),
            ]
            asked += rescoped(actor_system)
            asked += shaped(actor_system)
            asked += grouped(actor_system)
            asked += known(actor_system)
            asked += slept(actor_system)
            with pytest.raises(NoSuchMemory) as caught:
                actor_system.ask(GetMemories(ids=(bytes(16),)))
            counts = actor_system.ask(Count())
            counts = msgspec.structs.replace(counts, kept_bytes=0, seq=0)  # in how many steps all was bound differs
            answers[name] = [*asked, counts, str(caught.value)]
        finally:
            actor_system.stop()
    assert answers["ray"] == answers["embedded"]
    assert all(answer.hits for answer in answers["ray"][:2])
    assert answers["ray"][-2].retired == 1


@both()
def test_the_same_request_given_again_writes_nothing_more(actor_system: Supervisor) -> None:
    first = actor_system.ask(text("an otter"), trace="request-1")
    again = actor_system.ask(text("an otter"), trace="request-1")
    assert again == first
    assert first.created
    assert not actor_system.ask(text("an otter"), trace="request-2").created
    assert actor_system.ask(Count()).memories == 1


@both()
def test_of_two_actor_systems_of_one_slot_only_the_later_writes(home: Path, make_engine: MakeEngine) -> None:
    clock = ManualClock(NOW_US)
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
def test_a_night_is_answered_by_the_consolidator(actor_system: Supervisor) -> None:
    night = Sleep(run="night-1", seed=SEED, budget_s=600.0)
    reports = (actor_system.ask(night) for _ in range(1000))  # one request does a bounded while of it
    assert next(report.run for report in reports if report.finished) == "night-1"


@pytest.mark.system
@pytest.mark.system
@both("ray")
def test_whatever_process_is_killed_under_load_nothing_acknowledged_is_lost_and_nothing_doubled(
    actor_system: Supervisor, tmp_path: Path
) -> None:
    source = lines(tmp_path / "a.jsonl", *(turn(f"otter number {number}", id=str(number)) for number in range(600)))
    acknowledged: list[str] = []

    def keep(number: int) -> None:
        words = f"badger number {number}"
        while True:
            try:
                actor_system.ask(text(words), trace=f"keep-{number}")
            except RuntimeFault:
                continue  # its process was killed twice, or it rests: whoever asked asks again
            acknowledged.append(words)
            return

    running = processes()
    slots = ("capture", "store", "retriever", "binder", "communities", "knowledge", "consolidator")
    victims = [running[slot] for slot in slots]
    with ThreadPoolExecutor(4) as pool:
        taking = pool.submit(take, actor_system, source)
        keeping = [pool.submit(keep, number) for number in range(120)]
        for count, victim in enumerate(victims, start=1):
            until(lambda count=count: len(acknowledged) >= 15 * count)  # type: ignore[misc]
            os.kill(victim, signal.SIGKILL)
        new, known = taking.result()
        for one in keeping:
            one.result()
    assert (new + known, len(acknowledged)) == (600, 120)
    assert actor_system.ask(Count()).memories == 720
    assert take(actor_system, source) == (0, 600)
    while (bound := actor_system.ask(BindPending())).pending:
        pass
    assert bound.done == 720
    grouped = actor_system.ask(UpdateCommunities(mark="asked"))
    while grouped.pending:
        grouped = actor_system.ask(UpdateCommunities())
    assert grouped.why_not == ""
    assert actor_system.ask(ListCommunities()).memories > 0
    assert read_all(actor_system) == 720
    night(actor_system, "after")
    assert actor_system.ask(ListNights()).nights
    assert night(actor_system, "again").changes == 0
    failed = {actor.actor: actor.failures for actor in actor_system.report().actors}
    assert sum(failed.values()) >= len(victims)


@pytest.mark.system
@both()
def test_what_hooks_kept_is_taken_in_once_whatever_process_is_killed_meanwhile(
    home: Path, make_engine: MakeEngine
) -> None:
    settings = home / "mnemic.toml"
    settings.write_text(f"{settings.read_text('utf-8')}[capture]\nbatch_events = 7\n", "utf-8")
    actor_system = start(home, make_engine, reader=read_record)
    try:
        folder, keys = open_mind(home, "default")
        public, count = keys.spool_public(), 400
        said = [
            {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": f"otter {n % 9}"} for n in range(count)
        ]
        records = [
            spooling.record(n, json.dumps(one).encode(), assistant="claude-code", event="prompt")
            for n, one in enumerate(said)
        ]
        frames = [frame for one in records for frame in spooling.frames(one, public=public)]
        (folder.spool / "a.spool").write_bytes(b"".join([spooling.file_header(1, public), *frames]))
        parts: list[Drained] = []

        def drain() -> None:
            while not parts or parts[-1].more:
                try:
                    parts.append(actor_system.ask(DrainSpool()))
                except RuntimeFault:
                    continue  # its process was killed, or rests: who drains tries again

        with ThreadPoolExecutor(1) as pool:
            draining = pool.submit(drain)
            if actor_system.report().engine == "ray":
                running = processes()
                for number, slot in enumerate(("capture", "store"), start=1):
                    until(lambda number=number: len(parts) >= 8 * number)  # type: ignore[misc]
                    os.kill(running[slot], signal.SIGKILL)
            draining.result()
        told = actor_system.ask(GetCaptureProgress())
        assert (told.records, told.quarantined_count, told.torn) == (count, 0, 0)
        assert actor_system.ask(Count()).memories == count
        assert actor_system.ask(DrainSpool()).records == 0
    finally:
        actor_system.stop()


def processes() -> dict[str, int]:
    """Process ids of all actors that this process has under Ray, by slot: they are started in the order of these."""
    found = [
        one
        for one in psutil.Process().children(recursive=True)
        if one.cmdline()[0:1] and one.cmdline()[0].startswith("ray::Worker")
    ]
    return dict(zip(SLOTS, (one.pid for one in sorted(found, key=lambda one: one.create_time())), strict=True))


# --- one trace -------------------------------------------------------------------------------------------------------


WORDS = st.sampled_from(["otter", "badger", "heron", "newt"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["keep", "take", "forget"]), st.lists(WORDS, min_size=1, max_size=3)), max_size=6
)


@settings(max_examples=5)
@given(steps=STEPS)
def test_what_is_asked_for_under_one_trace_is_kept_as_if_each_had_its_own(steps: list[tuple[str, list[str]]]) -> None:
    kept = []
    for traces in (lambda number: "one", lambda number: f"trace-{number}"):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            (home / "mnemic.toml").write_text('[embedder]\nmodel = "/nowhere"\n', "utf-8")
            actor_system = start(home, lambda folder, keys: EmbeddedEngine(ManualClock(NOW_US)))
            try:
                kept.append(_life(actor_system, home, steps, traces))
            finally:
                actor_system.stop()
    assert kept[0] == kept[1]


def _life(
    actor_system: Supervisor, home: Path, steps: list[tuple[str, list[str]]], traces: Callable[[int], str]
) -> Any:
    ids: dict[str, bytes] = {}
    for number, (verb, words) in enumerate(steps):
        trace = traces(number)
        if verb == "keep":
            for word in words:
                ids[word] = actor_system.ask(text(word), trace=trace).id
        elif verb == "take":  # the same file each time, and each time with other lines
            path = lines(home / "a.jsonl", *(turn(word, session="t") for word in words))
            actor_system.ask(CaptureTranscript(path=str(path), format="jsonl", scope=None, skip=0), trace=trace)
        elif known := tuple(ids[word] for word in dict.fromkeys(words) if word in ids):
            actor_system.ask(Forget(ids=known, reason="it flew away"), trace=trace)
    found = actor_system.ask(GetMemories(ids=tuple(ids.values()))).memories
    counts = actor_system.ask(Count())
    return sorted((one.data, one.retired_at is None) for one in found), counts.memories, counts.text_bytes


def test_a_transcript_that_grew_while_the_answer_was_lost_is_taken_in_as_it_is_now(home: Path) -> None:
    actor_system = start(home, lambda folder, keys: EmbeddedEngine(ManualClock(NOW_US)))
    try:
        path = lines(home / "a.jsonl", turn("an otter", id="1"))
        message = CaptureTranscript(path=str(path), format="auto", scope=None, skip=0)
        assert actor_system.ask(message, trace="sent-twice").new == 1
        lines(home / "a.jsonl", turn("an otter", id="1"), turn("a badger", id="2"))
        again = actor_system.ask(message, trace="sent-twice")
        assert (again.new, again.known) == (1, 1)
        assert [actor.failures for actor in actor_system.report().actors if actor.actor == "capture"] == [0]
    finally:
        actor_system.stop()


@pytest.mark.system
def test_one_program_opens_a_mind_on_ray_again_and_again(home: Path) -> None:
    script = f"""
import mnemic
for number in range(2):
    with mnemic.open({str(home)!r}, engine="ray") as mind:
        mind.remember(f"otter {{number}}")
        print(mind.counts().memories, mind.status().actor_system.engine)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=BOUND_S)
    assert ended.stdout.decode().splitlines() == ["1 ray", "2 ray"]
