"""Wiring by the command line: shown, written, proved by a trial, taken back; and leaving altogether."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic.hooks.commands import ASSISTANTS
from tests.faces import Outcome, claude_turn, lines, until
from tests.hooks.wirings import FIXTURES
from tests.serving import card_of

Command = Callable[..., Outcome]


@pytest.fixture
def user(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, empty, and no assistant's program in sight; the home is elsewhere, and no hook starts it."""
    folder = tmp_path / "a user's $folder"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GEMINI_CLI_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "MNEMIC_OFF",
    ):
        monkeypatch.delenv(name, raising=False)
    (home / "run").mkdir(mode=0o700)
    stamp = home / "run" / "hook-start"
    stamp.touch()
    os.utime(stamp, (stamp.stat().st_mtime - 20, stamp.stat().st_mtime - 20))  # so lately that no hook starts another
    return folder


def install(command: Command, home: Path, name: str, *more: object) -> Outcome:
    return command("hooks", "install", "--assistant", name, "--apply", "--home", home, *more)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_is_shown_before_anything_is_written(command: Command, user: Path, home: Path) -> None:
    shown = command("hooks", "install", "--assistant", "claude-code", "--home", home)
    assert shown.code == 0
    assert "nothing was written; --apply does it" in shown.out
    assert '+    "SessionStart": [' in shown.out
    assert everything(user) == {}
    assert not (home / "bin").exists()
    assert not (home / "minds").exists()


@pytest.mark.parametrize("name", ASSISTANTS)
def test_an_install_a_trial_and_an_uninstall(command: Command, user: Path, home: Path, name: str) -> None:
    installed = install(command, home, name, "--json")
    assert installed.code == 0
    assert installed.json["applied"]
    assert {file["change"] for file in installed.json["hosts"][name]["files"]} == {"made"}
    again = install(command, home, name)
    assert "nothing to do: it is all there already" in again.out
    status = command("hooks", "status", "--assistant", name, "--home", home, "--json")
    told = status.json["hosts"][name]
    assert (told["trial"], told["wrong"], told["wired"], status.code) == ("arrived", [], True, 0)
    preview = command("hooks", "uninstall", "--home", home)
    assert "nothing was written; --apply does it" in preview.out
    removed = command("hooks", "uninstall", "--assistant", name, "--home", home, "--apply")
    assert removed.code == 0
    assert everything(user) == {}
    assert "no assistant is wired" in command("hooks", "uninstall", "--home", home).out


def test_all_wires_who_is_here_and_says_who_is_not(command: Command, user: Path, home: Path) -> None:
    (user / ".cursor").mkdir()
    installed = install(command, home, "all", "--json").json
    assert list(installed["hosts"]) == ["cursor"]
    assert set(installed["left_out"]) == set(ASSISTANTS) - {"cursor"}
    (user / ".cursor" / "hooks.json").unlink()
    assert "no assistant was found" not in install(command, home, "all").out


def test_no_assistant_at_all_is_said_and_nothing_is_made(command: Command, user: Path, home: Path) -> None:
    assert "no assistant was found" in install(command, home, "all").out
    assert not (home / "minds").exists()


def test_an_unknown_assistant_and_a_broken_file_are_one_sentence(command: Command, user: Path, home: Path) -> None:
    unknown = install(command, home, "copilot")
    assert unknown.code == 2
    assert all(name in unknown.err for name in ASSISTANTS)
    (user / ".claude").mkdir()
    (user / ".claude" / "settings.json").write_text('{"a": }', "utf-8")
    (user / ".cursor").mkdir()
    broken = install(command, home, "all")
    assert broken.code == 2
    assert "settings.json was not changed: it cannot be read as JSON (line 1: a value is missing)" in broken.err
    assert set(everything(user)) == {".claude/settings.json"}
    assert not (home / "hooks.json").exists()


def test_a_host_that_cannot_be_undone_keeps_no_other_from_it(command: Command, user: Path, home: Path) -> None:
    install(command, home, "claude-code")
    install(command, home, "cursor")
    (user / ".claude.json").write_text("{", "utf-8")
    undone = command("hooks", "uninstall", "--home", home, "--apply")
    assert undone.code == 2
    assert "claude-code: not undone:" in undone.out
    assert not (user / ".cursor").exists()
    assert (user / ".claude" / "settings.json").exists()
    (user / ".claude.json").unlink()
    assert command("hooks", "uninstall", "--home", home, "--apply").code == 0
    assert everything(user) == {}


def test_status_finds_what_is_wrong(command: Command, user: Path, home: Path) -> None:
    install(command, home, "cursor")
    (home / "bin" / "mnemic-hook").unlink()
    wrong = command("hooks", "status", "--home", home)
    assert wrong.code == 1
    assert "mnemic-hook is missing" in wrong.out
    assert "claude-code: not wired, and not here" in wrong.out
    looked = command("hooks", "status", "--assistant", "cursor", "--no-trial", "--home", home, "--json").json
    assert looked["hosts"]["cursor"]["trial"] is None


def test_without_codex_its_user_is_told_how_to_trust_its_hooks(command: Command, user: Path, home: Path) -> None:
    assert "type /hooks" in install(command, home, "codex").out


def transcripts(user: Path, number: int) -> None:
    folder = user / ".claude" / "projects" / "-home-ada"
    folder.mkdir(parents=True)
    (user / "proj").mkdir()
    for one in range(number):
        lines(folder / f"{one}.jsonl", claude_turn(f"an otter, the {one}th", user / "proj", one))


def test_transcripts_from_before_are_counted_and_wait_for_a_yes(command: Command, user: Path, home: Path) -> None:
    transcripts(user, 3)
    told = install(command, home, "claude-code").out
    assert re.search(r"claude-code has 3 transcripts from before: [\d.]+ kB, under a minute in the background", told)
    assert "they wait: mnemic hooks install --assistant all --apply --backfill takes them in" in told
    assert "they were left alone" in install(command, home, "claude-code", "--no-backfill").out
    assert card_of(home) is None


def test_on_a_yes_they_are_taken_in_by_the_homes_process(command: Command, user: Path, home: Path) -> None:
    transcripts(user, 3)
    taken = install(command, home, "claude-code", "--backfill", "--json").json["backfill"]
    assert taken == {"queued": 3, "known": 0, "error": None}

    def found() -> list[Any]:
        return command("recall", "otter", "--scope", "*", "--home", home, "--json").json["hits"]

    until(lambda: len(found()) == 3)
    assert {hit["scope"] for hit in found()} == {"proj"}


# --- leaving ---------------------------------------------------------------------------------------------------------


def test_leaving_is_shown_first_and_then_undoes_every_host(command: Command, user: Path, home: Path) -> None:
    source = FIXTURES / "cursor" / "plain" / ".cursor" / "hooks.json"
    (user / ".cursor").mkdir()
    (user / ".cursor" / "hooks.json").write_bytes(source.read_bytes())
    before = everything(user)
    for name in ("cursor", "claude-code", "opencode"):
        install(command, home, name)
    command("hooks", "status", "--home", home)
    shown = command("uninstall", "--home", home)
    assert "nothing was done; --yes does it" in shown.out
    assert (home / "bin" / "mnemic-hook").exists()
    left = command("uninstall", "--yes", "--home", home, "--json").json
    assert everything(user) == before
    assert not (home / "bin").exists()
    assert card_of(home) is None
    assert str(home / "minds") in {one["path"] for one in left["remains"]}
    assert (home / "minds" / "default" / "key").exists()
    assert left["erased"] == []


def test_erasing_needs_a_yes_and_takes_only_what_is_mnemics(command: Command, user: Path, home: Path) -> None:
    install(command, home, "cursor")
    (home / "mine.txt").write_text("not Mnemic's", "utf-8")
    shown = command("uninstall", "--erase-data", "--home", home)
    assert "--erase-data would remove, for good:" in shown.out
    assert (home / "minds" / "default" / "key").exists()
    command("uninstall", "--erase-data", "--yes", "--home", home)
    assert [path.name for path in home.iterdir()] == ["mine.txt"]
    assert everything(user) == {}


def test_data_is_not_erased_while_a_host_still_needs_its_backups(command: Command, user: Path, home: Path) -> None:
    install(command, home, "cursor")
    (user / ".cursor" / "mcp.json").write_text("{", "utf-8")
    left = command("uninstall", "--erase-data", "--yes", "--home", home)
    assert left.code == 2
    assert "the data was not erased" in left.out
    assert (home / "minds" / "default" / "key").exists()


class Terminal:
    """A standard input that says it is a terminal, and answers."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)

    def isatty(self) -> bool:
        return True

    def readline(self, *_: Any) -> str:
        return self._answers.pop(0) + "\n"


def asked(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    terminal = Terminal(*answers)
    monkeypatch.setattr(sys, "stdin", terminal)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda prompt="": terminal.readline().rstrip("\n"))


@pytest.mark.parametrize(
    ("answers", "left", "erased"), [(["n"], False, False), (["y", "no"], True, False), (["y", "ERASE"], True, True)]
)
def test_on_a_terminal_it_asks_and_data_goes_only_by_a_typed_word(
    command: Command,
    user: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    answers: list[str],
    left: bool,
    erased: bool,
) -> None:
    install(command, home, "cursor")
    asked(monkeypatch, *answers)
    assert command("uninstall", "--erase-data", "--home", home).code == 0
    assert (user / ".cursor").exists() is not left
    assert (home / "minds").exists() is not erased


@pytest.mark.parametrize(("answer", "queued"), [("n", False), ("y", True)])
def test_on_a_terminal_an_install_asks_for_the_transcripts(
    command: Command, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch, answer: str, queued: bool
) -> None:
    transcripts(user, 1)
    asked(monkeypatch, answer)
    told = install(command, home, "claude-code").out
    assert ("1 transcript will be taken in" in told) is queued
    assert ("they were left alone" in told) is not queued


def test_the_preview_in_json_holds_each_diff(command: Command, user: Path, home: Path) -> None:
    view = command("hooks", "install", "--assistant", "cursor", "--home", home, "--json").json
    files = view["hosts"]["cursor"]["files"]
    assert {Path(file["path"]).name for file in files} == {"hooks.json", "mcp.json"}
    assert all(file["diff"][0] == "--- /dev/null" for file in files)
    assert view["transcripts"] == {}
    assert json.loads(json.dumps(view)) == view
