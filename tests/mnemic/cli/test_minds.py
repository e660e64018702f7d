"""`mnemic minds` lists what is there, and no command makes a mind or a home that is only mistyped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.errors import MindMissing
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import create_mind, open_mind
from tests.processes.faces import Outcome, lines, turn
from tests.processes.serving import end
from tests.runtime.building import files_of

Command = Callable[..., Outcome]
WORDS = "nine books on a shelf"


def test_the_minds_of_a_home_are_listed_for_people_and_programs(command: Command, home: Path) -> None:
    nothing = command("minds", "--home", home)
    assert nothing.out == f"there is no mind in {home} yet; `mnemic init --home {home}` makes one\n"
    create_mind(home, "locked", SystemClock(), passphrase=WORDS)
    create_mind(home, "broken", SystemClock())
    (home / "minds" / "broken" / "key").unlink()
    with mnemic.open(home) as mind:
        mind.remember("an otter")
    shown = command("minds", "--home", home)
    assert shown.code == 0
    broken, default, locked = shown.out.splitlines()
    assert default.startswith("default (default): 1 memory, ")
    assert ", the last captured 20" in default
    assert broken.startswith("broken: ")
    assert "is not there, and without it the mind cannot be read" in broken
    assert locked.endswith(f"locked; `mnemic unlock --home {home} --mind locked` asks for its passphrase")
    views = {one["name"]: one for one in command("minds", "--home", home, "--json").json["minds"]}
    assert {name for name, one in views.items() if one["default"]} == {"default"}
    assert (views["locked"]["locked"], views["locked"]["unlocked"], views["locked"]["memories"]) == (True, False, None)
    assert views["default"]["last_captured_at"] is not None


@pytest.mark.system
def test_of_a_mind_that_is_unlocked_the_process_says_how_much_it_holds(command: Command, home: Path) -> None:
    with mnemic.open(home, passphrase=WORDS) as mind:
        mind.remember("an otter")
        mind.unlock()
    try:
        (one,) = command("minds", "--home", home, "--json").json["minds"]
        assert (one["locked"], one["unlocked"], one["memories"]) == (True, True, 1)
        assert ", unlocked" in command("minds", "--home", home).out
    finally:
        end(home)


WRITING: dict[str, tuple[Any, ...]] = {
    "capture": ("FILE",),
    "remember": ("an", "otter"),
    "hooks": ("install", "cursor", "--apply", "--no-backfill"),
}


@pytest.mark.parametrize("verb", ["capture", "remember", "hooks"])
def test_a_mind_that_is_mistyped_is_refused_with_those_that_are_there_and_nothing_is_made(
    command: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    file = lines(tmp_path / "a.jsonl", turn("an otter"))
    command("init", "--home", home)
    before = files_of(tmp_path)
    given = [file if one == "FILE" else one for one in WRITING[verb]]
    refused = command(verb, *given, "--home", home, "--mind", "deflaut")
    assert refused.code == 2
    assert f"There is no mind 'deflaut' in {home}. Did you mean 'default'? This home has 'default'; " in refused.err
    assert f"`mnemic init --home {home} --mind deflaut` makes this one." in refused.err
    typed = command(verb, *given, "--home", tmp_path / "hoem")
    assert (typed.code, f"There is no folder {tmp_path / 'hoem'}" in typed.err) == (2, True)
    assert files_of(tmp_path) == before


def test_an_export_is_taken_into_no_mind_that_is_mistyped(command: Command, home: Path, tmp_path: Path) -> None:
    with mnemic.open(home) as mind:
        mind.remember("an otter")
        mind.export(tmp_path / "e")
    refused = command("import", tmp_path / "e", "--home", home, "--mind", "deflaut", "--json")
    assert (refused.code, refused.json["code"]) == (2, "mind_missing")
    assert not (home / "minds" / "deflaut").exists()


def test_what_is_meant_where_nothing_is_named_is_made_by_what_comes_first(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_HOME", str(tmp_path / "from the environment"))
    file = lines(tmp_path / "a.jsonl", turn("an otter"))
    assert command("capture", file, "--no-meaning").code == 0
    assert open_mind(tmp_path / "from the environment", "default")
    (tmp_path / "there").mkdir()
    assert command("capture", file, "--no-meaning", "--home", tmp_path / "there").code == 0
    assert open_mind(tmp_path / "there", "default")


def test_a_program_says_whether_a_mind_is_made(tmp_path: Path) -> None:
    with pytest.raises(MindMissing):
        mnemic.open(tmp_path / "home", create=False)
    assert files_of(tmp_path) == {}
    mnemic.open(tmp_path / "home", "other").close()
    mnemic.open(tmp_path / "home", "other", create=False).close()
