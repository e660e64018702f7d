"""Through the faces that a user has: wherever a mind came from, it binds its memories by itself, and says how far."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.errors import MnemicError
from mnemic.mind import Mind
from mnemic.runtime.homes import open_mind
from mnemic.runtime.reader import open_reader
from tests.faces import Outcome, lines, start, turn, until

FIXTURES = Path(__file__).parent / "fixtures"


def talk(path: Path, count: int = 30) -> Path:
    return lines(path, *(turn(f"text {number} of the harbour", session=f"s{number % 3}") for number in range(count)))


def bits(home: Path) -> dict[bytes, bytes]:
    """The hypervector of each text's episode."""
    folder, keys = open_mind(home, "default")
    reader = open_reader(folder.store, keys)
    try:
        with reader.snapshot() as now:
            block = now.codes("episode", 0)
            texts = [one.text for one in now.records(block.row.tolist())]
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


@pytest.mark.parametrize("schema", range(1, 6))
def test_a_mind_of_an_earlier_version_is_bound_when_it_is_next_used(home: Path, schema: int) -> None:
    folder = home / "minds" / "default"
    shutil.copytree(FIXTURES / f"schema-{schema}", folder)
    with mnemic.open(home) as mind:
        active = mind.counts().memories - mind.counts().retired
        mind.follow()
        assert mind.bind().pending == 0
        assert state(mind) == (active, 0)


def test_what_is_forgotten_or_moved_is_bound_anew_at_once(captured: Path) -> None:
    with mnemic.open(captured) as mind:
        hits = mind.recall("text 7 harbour", observe=False).hits
        mind.forget([hits[0].id])
        mind.bind()
        assert state(mind) == (29, 0)
        mind.recover([hits[0].id])
        mind.bind()
        assert state(mind) == (30, 0)


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


@pytest.mark.parametrize("name", ["no.such:triples", "json:nothing", "json:__name__", "json"])
def test_an_extractor_that_is_none_is_refused_in_a_sentence(
    home: Path, name: str, command: Callable[..., Outcome]
) -> None:
    command("init", "--home", home)
    with (home / "mnemic.toml").open("a") as settings:
        settings.write(f'[binder]\nextractor = "{name}"\n')
    done = command("recall", "harbour", "--home", home)
    assert done.code != 0
    assert f"binder.extractor cannot be '{name}'" in done.err
    assert "module:function" in done.err
