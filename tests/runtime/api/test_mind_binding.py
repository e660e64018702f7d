"""Through the faces that a user has: wherever a mind came from, it binds its memories by itself, and says how far."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.actors.capture.forget_messages import Selection
from mnemic.errors import MnemicError
from mnemic.hd import roles
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.store import Store
from tests.paths import FIXTURES
from tests.processes.faces import Outcome, lines, start, turn
from tests.waiting import until


def talk(path: Path, count: int = 30) -> Path:
    return lines(path, *(turn(f"text {number} of the harbour", session=f"s{number % 3}") for number in range(count)))


def bits(home: Path) -> dict[bytes, bytes]:
    """The hypervector of each text's episode."""
    folder, keys = open_mind(home, "default")
    reader = open_reader(folder.store, keys)
    try:
        with reader.snapshot() as now:
            block = now.codes("episode", 0)
            texts = [one.data for one in now.load_memories(block.row.tolist())]
            return {text: code.tobytes() for text, code in zip(texts, block.codes, strict=True)}
    finally:
        reader.close()


def state(mind: Mind) -> tuple[int, int]:
    counts = mind.counts()
    return counts.bound, counts.unbound


@pytest.fixture
def captured(home: Path, tmp_path: Path) -> Path:
    """A home without a model in which thirty turns were captured."""
    with mnemic.open(home) as mind:
        report = mind.capture(talk(tmp_path / "talk.jsonl"))
        assert (report.bound, report.unbound, report.shape_error) == (30, 0, None)
    return home


def test_a_capture_waits_until_everything_is_bound_and_the_status_says_what_is_not(
    home: Path, tmp_path: Path, command: Callable[..., Outcome]
) -> None:
    done = command("capture", talk(tmp_path / "t.jsonl"), "--home", home, "--json")
    report = json.loads(done.out)
    assert (report["bound"], report["unbound"], report["shape_error"]) == (30, 0, None)
    with mnemic.open(home) as mind:
        assert state(mind) == (30, 0)
        assert not any(said.startswith("shape:") for said in mind.status().degraded)
        seen: list[tuple[str, int, int | None]] = []
        assert mind.bind(lambda what, at, total: seen.append((what, at, total))).done == 30
        assert seen == [("shape", 30, 30)]


def test_a_mind_that_was_restored_needs_nothing_bound_again(captured: Path, tmp_path: Path) -> None:
    before = bits(captured)
    with mnemic.open(captured) as mind:
        mind.backup(tmp_path / "kept")
        mind.remember("one more")
        mind.restore(tmp_path / "kept", replace=True)
        assert mind.bind().pending == 0
        assert state(mind) == (30, 0)
    assert bits(captured) == before


def test_an_imported_mind_binds_by_itself(captured: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    shutil.copy(captured / "mnemic.toml", other)
    with mnemic.open(captured) as mind:
        mind.export(tmp_path / "exported")
    with mnemic.open(other) as mind:
        mind.import_from(tmp_path / "exported")
        assert mind.bind().pending == 0
        assert state(mind) == (30, 0)
    assert bits(other).keys() == bits(captured).keys()
    assert bits(other) != bits(captured), "another mind has another seed: its codes tell nobody else's anything"


def test_a_mind_with_a_new_key_has_the_bits_it_had(captured: Path) -> None:
    before = bits(captured)
    with mnemic.open(captured) as mind:
        mind.rekey()
        assert state(mind) == (30, 0)
        mind.rebuild()
        mind.bind()
    assert bits(captured) == before


def test_what_is_forgotten_or_moved_is_bound_anew_at_once(captured: Path) -> None:
    with mnemic.open(captured) as mind:
        hits = mind.recall("text 7 harbour", observe=False).hits
        mind.forget([hits[0].id])
        mind.bind()
        assert state(mind) == (29, 0)
        mind.recover([hits[0].id])
        mind.bind()
        assert state(mind) == (30, 0)


def test_what_waits_to_be_bound_is_said_by_the_status(home: Path, tmp_path: Path) -> None:
    with mnemic.open(home) as mind:
        mind.capture(talk(tmp_path / "talk.jsonl"))
        folder, keys = open_mind(home, "default")
        with closing(Store.open(folder.store, keys)) as store:
            store.rebuild(lambda done, total: None, meaning=False)  # the actors are not told
        said = [one for one in mind.status().degraded if one.startswith("shape:")]
        assert said == ["shape: 30 memories wait to be bound as they are now"], (
            "without a model none waits for it first"
        )
        mind.bind()
        assert not [one for one in mind.status().degraded if one.startswith("shape:")]


def test_a_call_forgets_what_only_its_erased_result_named(home: Path, tmp_path: Path) -> None:
    call = {"session": "s", "kind": "tool_call", "role": "assistant", "tool": "Bash", "text": "Bash\ncommand: pytest"}
    failed = "FAILED tests/test_heron.py::test_one - assert 1 == 2\n1 failed"
    result = {
        "session": "s",
        "kind": "tool_result",
        "role": "tool",
        "tool": "Bash",
        "outcome": "failed",
        "text": failed,
    }
    with mnemic.open(home) as mind:
        mind.capture(lines(tmp_path / "t.jsonl", call, result))
        hits = mind.shape({"file": "test_heron.py"}).hits
        assert {hit.kind for hit in hits} == {"tool_call", "tool_result"}
        selection = Selection(ids=tuple(hit.id for hit in hits if hit.kind == "tool_result"))
        mind.erase(selection)
        mind.bind()
        assert state(mind) == (1, 0)
        known = {one.name: one.samples for one in mind.roles().roles}
        assert (known["file"], known["outcome"], known["tool"]) == ((), (), ("bash", "pytest"))


@pytest.mark.system
def test_killed_while_it_binds_a_mind_loses_nothing(home: Path, tmp_path: Path) -> None:
    transcript = talk(tmp_path / "talk.jsonl", 600)
    process = start("capture", transcript, "--home", home, "--json")
    try:

        def begun() -> bool:
            try:
                return bool(bits(home))
            except MnemicError:  # it is not made yet
                return False

        until(begun)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    with mnemic.open(home) as mind:
        report: Any = mind.capture(transcript)
        assert report.new + report.known == 600
        assert state(mind) == (600, 0)
    assert len(bits(home)) == 600


def test_triples_are_found_by_the_function_that_the_settings_name(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "def triples(text, speaker):\n    return [(speaker, 'said', text.split()[0])]\n"
    (tmp_path / "my_triples.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with (home / "mnemic.toml").open("a") as settings:
        settings.write('[binder]\nextractor = "my_triples:triples"\n')
    with mnemic.open(home) as mind:
        mind.capture(lines(tmp_path / "t.jsonl", turn("Herons stand in the water", speaker="Ann")))
        found = {one.name: one.samples for one in mind.roles().roles}
    assert (found["subject"], found["relation"], found["object"]) == (("ann",), ("said",), ("herons",))


def test_a_role_of_ones_own_is_bound_by_ones_own_extractor_and_can_be_asked_for(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = """
from mnemic.hd.roles import Role, register_role

register_role(Role(name="bird", encoder="symbol", tiers=("episode",), many=True, help="A bird that it names."))

class Birds:
    def __call__(self, text, speaker):
        return []

    def fillers(self, memory):
        return [("bird", one) for one in ("heron", "tern") if one in memory.text.lower()]

birds = Birds()
"""
    (tmp_path / "my_birds.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    talked = turn("A heron and a tern", speaker="Ann"), turn("A tern", speaker="Ben"), turn("Tea", speaker="Cy")
    transcript = lines(tmp_path / "t.jsonl", *talked)
    with mnemic.open(home) as mind:
        mind.capture(transcript)
    with (home / "mnemic.toml").open("a") as settings:
        settings.write('[binder]\nextractor = "my_birds:birds"\n')
    try:
        with mnemic.open(home) as mind:
            steps: list[tuple[str, int, int | None]] = []
            assert mind.capture(transcript, progress=lambda *step: steps.append(step)).known == len(talked)
            assert ("shape", 3, 3) in steps
            asked = mind.shape({"who": "ann", "bird": "?"})
            found = mind.shape({"bird": "tern", "who": "?"})
    finally:
        roles.ROLES.pop("bird", None)
    assert {one.filler for one in asked.answers} == {"heron", "tern"}
    assert {one.filler for one in found.answers} == {"ann", "ben"}


def test_the_role_of_ones_own_that_is_documented_finds_each_ticket_of_the_example_however_it_stands_in_the_text(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, page = (FIXTURES.parents[1] / "docs" / "shape.md").read_text("utf-8").partition("### Roles of your own")
    shown = page.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "tickets.py").write_text(shown, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with (home / "mnemic.toml").open("a") as settings:
        settings.write('[binder]\nextractor = "tickets:tickets"\n')
    try:
        with mnemic.open(home) as mind:
            mind.capture(FIXTURES.parents[1] / "mnemic" / "example")
            tickets = {one.name: one.samples for one in mind.roles().roles}["ticket"]
            found = mind.shape({"ticket": "SLIP-23", "date": "?"}, k=100)
    finally:
        roles.ROLES.pop("ticket", None)
    folder, keys = open_mind(home, "default")
    with closing(open_reader(folder.store, keys)) as reader, reader.snapshot() as now:
        named = [one.id for one in now.load_memories(now.memory_columns(0).row.tolist()) if b"SLIP-23" in one.data]
    assert set(tickets) == {"slip-4", "slip-9", "slip-23", "slip-31", "slip-44"}
    assert {hit.id for hit in found.hits} == set(named)
    assert (found.answers[0].filler, found.answers[0].support) == ("2026-10-02", 3)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no_such.place:triples", "there is no module 'no_such'"),
        ("json.nowhere:triples", "there is no module 'json.nowhere'"),
        ("json:nothing", "json has no function 'nothing'"),
        ("json:__name__", "json has no function '__name__'"),
        ("json", "it names no function of a module"),
        (":json", "it names no function of a module"),
        ("antigravity.:geohash", "there is no module"),
        ("a_broken_one:triples", "importing a_broken_one failed: ZeroDivisionError at <module> (a_broken_one.py:1)"),
        ("one_that_leaves:triples", "importing one_that_leaves failed: it ends the process"),
    ],
)
def test_an_extractor_that_is_none_is_refused_in_a_sentence_that_names_the_file(
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    why: str,
    command: Callable[..., Outcome],
) -> None:
    (tmp_path / "a_broken_one.py").write_text("1 / 0\n", "utf-8")
    (tmp_path / "one_that_leaves.py").write_text("raise SystemExit(3)\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    command("init", "--home", home)
    with (home / "mnemic.toml").open("a") as settings:
        settings.write(f'[binder]\nextractor = "{name}"\n')
    done = command("recall", "harbour", "--home", home)
    assert done.code != 0
    assert f"binder.extractor in {home / 'mnemic.toml'} cannot be '{name}': {why}" in done.err
    assert "module:function" in done.err


def test_a_role_that_is_left_out_and_that_there_is_none_of_is_refused_with_the_file(
    home: Path, command: Callable[..., Outcome]
) -> None:
    command("init", "--home", home)
    with (home / "mnemic.toml").open("a") as settings:
        settings.write('[binder]\nleave_out = ["colour"]\n')
    done = command("status", "--home", home)
    assert done.code != 0
    assert f"binder.leave_out in {home / 'mnemic.toml'} cannot be 'colour': there is no such role" in done.err


def test_what_an_extractor_failed_on_is_told_by_the_capture_and_the_status_and_mended_by_the_doctor(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Outcome]
) -> None:
    def shape_check() -> Any:
        found = json.loads(command("doctor", "--home", home, "--json").out)["checks"]
        return next(one for one in found if one["name"] == "shape")

    module = tmp_path / "my_failing_triples.py"
    module.write_text("def triples(text, speaker):\n    return 1 / 0\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with (home / "mnemic.toml").open("a") as settings:
        settings.write('[binder]\nextractor = "my_failing_triples:triples"\n')
    transcript = lines(tmp_path / "t.jsonl", turn("Herons wade", speaker="Ann"), turn("Terns dive", speaker="Ben"))
    told = "2 memories have no facts, no roles of your own, or no shape at all"
    assert told in command("capture", transcript, "--home", home).out
    report = json.loads(command("capture", transcript, "--home", home, "--json").out)
    assert (report["bound"], report["unbound"], report["unread"]) == (2, 0, 2)
    with mnemic.open(home) as mind:
        (said,) = (one for one in mind.status().degraded if one.startswith("shape: "))
        assert told in said
        assert {one.filler for one in mind.shape({"who": "?"}).answers} == {"ann", "ben"}, "all else is bound"
        (missing,) = (one for one in mind.shape({"subject": "?"}).degraded if "binds them again" in one)
        assert missing.startswith("facts: what reads memories failed on 2 of those looked through")
    assert "ZeroDivisionError at triples (my_failing_triples.py:2)" in (home / "mnemic.log").read_text("utf-8")
    check = shape_check()
    assert (check["state"], check["repairable"]) == ("advice", True)
    assert "the extractor 'my_failing_triples:triples' failed on them" in check["detail"]

    assert "shape: bound them again; 2 still fail" in command("doctor", "--repair", "--home", home).out
    import my_failing_triples  # type: ignore[import-not-found]

    def mended(text: str, speaker: str) -> list[tuple[str, str, str]]:
        bird, does = text.lower().split()
        return [(bird, "can", does)]

    monkeypatch.setattr(my_failing_triples, "triples", mended)
    assert "shape: bound them again, all whole" in command("doctor", "--repair", "--home", home).out
    assert shape_check()["state"] == "ok"
    with mnemic.open(home) as mind:
        assert not [one for one in mind.status().degraded if one.startswith("shape: ")]
        assert [one.filler for one in mind.shape({"subject": "terns", "object": "?"}).answers] == ["dive"]


def test_a_question_alone_is_asked_of_what_the_settings_of_now_have_bound(
    captured: Path, command: Callable[..., Outcome]
) -> None:
    with (captured / "mnemic.toml").open("a") as settings:
        settings.write("[binder]\nleave_out = []\ndimensions = 512\n")
    found = json.loads(command("shape", "workspace=?", "kind=turn", "--home", captured, "--json").out)
    assert not [one for one in found["degraded"] if "workspace" in one or one.startswith("shape: ")]
    assert {len(code) for code in bits(captured).values()} == {512 // 8}
    assert len(bits(captured)) == 30


def test_a_mind_that_is_opened_looks_whether_its_settings_say_otherwise_than_what_is_bound(captured: Path) -> None:
    with (captured / "mnemic.toml").open("a") as settings:
        settings.write("[binder]\ndimensions = 512\n")
    with mnemic.open(captured) as mind:
        until(lambda: state(mind) == (30, 0) and {len(code) for code in bits(captured).values()} == {64})
        assert not mind.actor_system.report().dead_letters


def test_while_another_process_binds_otherwise_a_question_is_told_so(captured: Path) -> None:
    with mnemic.open(captured) as mind:
        with (captured / "mnemic.toml").open("a") as settings:
            settings.write("[binder]\ndimensions = 512\n")
        with mnemic.open(captured) as other:
            other.bind()
        said = [one for one in mind.shape({"kind": "turn"}).degraded if one.startswith("shape: the settings")]
        assert said
        assert "binder.dimensions is 5120, and 512 are bound" in said[0]
