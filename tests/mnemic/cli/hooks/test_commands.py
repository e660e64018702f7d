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

from mnemic.errors import HookNotBuilt
from mnemic.hooks.wire.commands import ASSISTANTS
from mnemic.hooks.wire.record import InstallRecord
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.version import __version__
from tests.hooks.wirings import FIXTURES
from tests.paths import HOOK
from tests.processes.faces import Outcome
from tests.processes.serving import info_of, serving
from tests.processes.users import asked, everything, transcripts
from tests.runtime.building import files_of
from tests.waiting import until

Command = Callable[..., Outcome]


def install(command: Command, home: Path, name: str, *more: object) -> Outcome:
    return command("hooks", "install", name, "--apply", "--home", home, *more)


def test_it_is_shown_before_anything_is_written(command: Command, user: Path, home: Path) -> None:
    shown = command("hooks", "install", "claude-code", "--home", home)
    assert shown.code == 0
    assert shown.out.splitlines()[:4] == [
        "claude-code: would be wired",
        "  ~/.claude/settings.json: 9 hooks, 5 reading tools allowed (a new file)",
        "  ~/.claude.json: the MCP server (a new file)",
        "  ~/.claude/CLAUDE.md: instructions (a new file)",
    ]
    assert "nothing was written; --apply does it; --diff shows every line of it" in shown.out
    whole = command("hooks", "install", "claude-code", "--diff", "--home", home)
    assert '+    "SessionStart": [' in whole.out
    assert "--diff" not in whole.out
    assert everything(user) == {}
    assert not (home / "bin").exists()
    assert not (home / "minds").exists()


def test_where_no_cargo_built_the_hook_no_file_is_touched_and_rust_is_named(
    command: Command, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Path:
        raise HookNotBuilt(path="bin/mnemic-hook")

    monkeypatch.setattr("mnemic.cli.hooks.wiring.built_hook", missing)
    (user / ".codex").mkdir()
    for name, told in (
        ("claude-code", command("hooks", "install", "claude-code", "--apply", "--home", home).err),
        ("all", command("hooks", "install", "all", "--apply", "--home", home).out),
    ):
        assert "no cargo built it" in told, name
        assert "Install Rust (`cargo` 1.89 or newer)" in " ".join(told.split()), name
    assert everything(user) == {}


def test_another_home_names_the_one_that_is_wired_and_finds_nothing_wrong(
    command: Command, user: Path, home: Path, tmp_path: Path
) -> None:
    install(command, home, "claude-code")
    before = everything(user)
    for tried in ([], ["--no-trial"]):
        status = command("hooks", "status", "--home", tmp_path / "other", *tried)
        assert status.code == 0, status
        assert f"claude-code: wired to another home: {home}\n" in status.out
        assert "wrong" not in status.out
    assert everything(user) == before


@pytest.mark.parametrize("name", ASSISTANTS)
def test_an_install_a_trial_and_an_uninstall(command: Command, user: Path, home: Path, name: str) -> None:
    installed = install(command, home, name, "--json")
    assert installed.code == 0
    assert installed.json["applied"]
    assert {file["change"] for file in installed.json["hosts"][name]["files"]} == {"made"}
    again = install(command, home, name)
    assert "nothing to do: it is all there already" in again.out

    def is_answered() -> bool:
        """A hook waits two seconds for an answer, which a busy machine may not give: then it is asked again."""
        status = command("hooks", "status", name, "--home", home, "--json")
        told = status.json["hosts"][name]
        assert (told["trial"], told["wrong"], told["wired"]) == ("arrived", [], True)
        if told["asked"] == "it ran, and nobody answered it":
            return False
        assert (told["asked"], status.code) == ("answered", 0)
        return bool(told["asked_ms"] > 0)

    until(is_answered)
    preview = command("hooks", "uninstall", "--home", home)
    assert "nothing was written; --apply does it" in preview.out
    removed = command("hooks", "uninstall", name, "--home", home, "--apply")
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


def test_assistants_are_plain_arguments_and_the_option_from_before_means_the_same(
    command: Command, user: Path, home: Path
) -> None:
    def named(*given: str) -> list[str]:
        return [*command("hooks", "install", *given, "--home", home, "--json").json["hosts"]]

    (user / ".gemini").mkdir()
    assert named("claude-code", "cursor") == ["claude-code", "cursor"]
    assert named("--assistant", "cursor", "claude-code") == ["claude-code", "cursor"]
    assert named() == named("all") == ["gemini-cli"], "those that are here"
    assert "--assistant" not in command("hooks", "install", "--help").out


def test_the_preview_of_any_assistant_fits_80_columns(command: Command, user: Path, home: Path) -> None:
    for name in ASSISTANTS:
        shown = command("hooks", "install", name, "--home", home).out.partition("\nwould make")[0]
        files = [line for line in shown.splitlines() if line.startswith("  ~")]
        assert files
        assert max(map(len, files)) <= 80


def test_no_assistant_at_all_is_said_and_nothing_is_made(command: Command, user: Path, home: Path) -> None:
    assert "no assistant was found" in install(command, home, "all").out
    assert not (home / "minds").exists()


def test_an_unknown_assistant_and_a_broken_file_are_one_sentence(command: Command, user: Path, home: Path) -> None:
    unknown = install(command, home, "copilot")
    assert unknown.code == 2
    assert all(name in unknown.err for name in ASSISTANTS)
    assert "did you mean" not in unknown.err
    assert "(did you mean claude-code?)" in install(command, home, "claude").err
    (user / ".claude").mkdir()
    (user / ".claude" / "settings.json").write_text('{"a": }', "utf-8")
    broken = install(command, home, "claude-code")
    assert broken.code == 2
    assert "settings.json cannot be edited as JSON: Expecting value: line 1 column 7 (char 6). " in broken.err
    assert "Correct the file, then run the command again." in broken.err
    assert set(everything(user)) == {".claude/settings.json"}
    assert not (home / "hooks.json").exists()


def test_a_file_that_one_host_cannot_read_keeps_no_other_from_being_wired(
    command: Command, user: Path, home: Path
) -> None:
    (user / ".gemini").mkdir()
    (user / ".gemini" / "settings.json").write_text('{"a": 1,,}', "utf-8")
    (user / ".cursor").mkdir()
    shown = command("hooks", "install", "all", "--home", home)
    assert shown.code == 1
    assert "gemini-cli: not wired:" in shown.out
    assert "mcp.json: the MCP server (a new file)" in shown.out
    done = install(command, home, "all")
    assert done.code == 1
    assert "gemini-cli: not wired:" in done.out
    assert set(everything(user)) == {".gemini/settings.json", ".cursor/hooks.json", ".cursor/mcp.json"}
    again = install(command, home, "all")
    assert again.code == 1
    assert "nothing to do" not in again.out


def test_a_host_that_cannot_be_written_is_as_it_was_and_the_others_are_wired(
    command: Command, user: Path, home: Path
) -> None:
    (user / ".claude").mkdir()
    (user / ".cursor").mkdir()
    path = user / ".cursor" / "mcp.json"
    path.symlink_to(user / ".cursor" / ("n" * 250))  # too long for the draft that is written beside it
    done = install(command, home, "all")
    assert done.code == 1
    assert f"cursor: not wired: {path} was not changed: it cannot be written" in done.out
    assert "Make it and its folder writable" in done.out
    assert not (user / ".cursor" / "hooks.json").exists()
    assert (user / ".claude" / "settings.json").exists()
    looked = command("hooks", "status", "--no-trial", "--home", home, "--json").json["hosts"]
    assert {name for name, one in looked.items() if one["wired"]} == {"claude-code"}
    named = install(command, home, "cursor")
    assert named.code == 2
    assert f"{path} was not changed" in named.err
    assert "--home" not in named.err


def test_an_install_says_which_mind_it_made_and_where_its_key_is(command: Command, user: Path, home: Path) -> None:
    shown = command("hooks", "install", "cursor", "--home", home)
    assert f"would make the mind that they fill; its key is {home / 'minds' / 'default' / 'key'}" in shown.out
    made = install(command, home, "cursor").out
    assert f"made the mind that they fill; its key is {home / 'minds' / 'default' / 'key'}" in made
    assert "the mind that they fill" not in install(command, home, "cursor").out


def test_no_assistant_is_wired_to_a_mind_or_a_home_that_is_not_there(command: Command, user: Path, home: Path) -> None:
    before = files_of(user)
    for where in (("--mind", "deflaut", "--home", home), ("--home", home / "of nobody")):
        refused = command("hooks", "install", "cursor", "--apply", *where)
        assert (refused.code, "`mnemic init --home" in refused.err) == (2, True)
    assert files_of(user) == before


def test_the_bare_command_prints_its_help(command: Command, user: Path) -> None:
    told = command("hooks")
    assert told.code == 0
    assert told.out.startswith("Usage: mnemic hooks ")
    assert "\\x0a" not in told.out


def test_a_host_that_cannot_be_undone_keeps_no_other_from_it(command: Command, user: Path, home: Path) -> None:
    install(command, home, "claude-code")
    install(command, home, "cursor")
    (user / ".claude.json").write_text("{", "utf-8")
    undone = command("hooks", "uninstall", "--home", home, "--apply")
    assert undone.code == 1
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
    assert "the trial event" not in wrong.out  # nothing would come of it
    (user / ".cursor" / "hooks.json").write_text("{,", "utf-8")
    broken = command("hooks", "status", "cursor", "--home", home)
    assert broken.code == 1
    assert "cursor: whether it is wired cannot be seen" in broken.out
    assert "hooks.json cannot be edited as JSON" in broken.out
    assert "()" not in broken.out
    assert command("hooks", "status", "cursor", "--home", home, "--json").json["hosts"]["cursor"]["trial"] is None


def test_status_and_doctor_name_a_hook_of_an_older_version(command: Command, user: Path, home: Path) -> None:
    install(command, home, "cursor")
    older = home / "bin" / "mnemic-hook"
    older.write_text("#!/bin/sh\necho 'mnemic-hook 0.1.9, spool format 1'\n", "utf-8")
    told = (
        f"comes from another Mnemic than this one, {__version__}; mnemic-hook says: mnemic-hook 0.1.9, spool format 1"
    )
    remedy = f"mnemic hooks install all --apply --home {home} renews it."
    looked = command("hooks", "status", "cursor", "--no-trial", "--home", home)
    assert f"executable: mnemic-hook in {home / 'bin'} {told} -> {remedy}" in looked.out
    checks = command("doctor", "--home", home, "--json").json["checks"]
    (check,) = [one for one in checks if one["name"] == "hook executable"]
    assert (check["state"], check["detail"].endswith(told), check["remedy"]) == ("advice", True, remedy)
    install(command, home, "cursor")
    assert "executable: " not in command("hooks", "status", "cursor", "--no-trial", "--home", home).out


def test_after_an_uninstall_every_host_is_told_as_not_wired(command: Command, user: Path, home: Path) -> None:
    for name in ASSISTANTS:
        install(command, home, name)
    command("uninstall", "--yes", "--home", home)
    told = command("hooks", "status", "--home", home)
    assert [line.split(",")[0] for line in told.out.splitlines()] == [f"{name}: not wired" for name in ASSISTANTS]
    assert told.code == 0


def test_a_broken_record_says_what_to_do_and_that_helps(command: Command, user: Path, home: Path) -> None:
    install(command, home, "cursor")
    (home / "hooks.json").write_text("{", "utf-8")
    told = command("hooks", "uninstall", "--home", home, "--apply")
    assert told.code == 2
    assert "Remove it; an uninstall then takes out what it recognises" in told.err
    (home / "hooks.json").unlink()
    assert command("hooks", "uninstall", "--home", home, "--apply").code == 0
    assert everything(user) == {}


@pytest.mark.system
def test_a_process_that_takes_no_part_is_told_though_a_session_would_be_answered_without_it(
    command: Command, user: Path, home: Path
) -> None:
    install(command, home, "cursor")
    hook = home / "bin" / "mnemic-hook"
    hook.rename(home / "bin" / "own")
    alone = f'exec {sys.executable} -P -m mnemic.session_start --assistant "$1" --event "$2" --home "{home}"'
    hook.write_text(f'#!/bin/sh\ncase $2 in session-start) {alone};; esac\nexec "${{0%/*}}/own" "$@"\n', "utf-8")
    hook.chmod(0o700)
    with serving(home):
        told = command("hooks", "status", "cursor", "--home", home)
    assert told.code == 1
    assert "which serves the home, did not take part" in told.out


@pytest.mark.system
@pytest.mark.skipif(not HOOK.exists(), reason=f"{HOOK} is not built")
def test_the_process_that_serves_is_asked_and_answers(command: Command, user: Path, home: Path) -> None:
    install(command, home, "cursor")
    with serving(home):
        told = command("hooks", "status", "cursor", "--home", home)
    assert told.code == 0
    works = r"cursor: 8 of 8 events wired, a trial event reached the store, answered in \d+ ms\n"
    assert re.match(works, told.out), "one line where all is well"


def test_without_codex_its_user_is_told_how_to_trust_its_hooks(command: Command, user: Path, home: Path) -> None:
    assert "type /hooks" in install(command, home, "codex").out


def test_a_preview_promises_trust_only_where_codex_can_be_asked(
    command: Command, user: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def preview() -> str:
        return command("hooks", "install", "codex", "--home", home).out

    assert "--apply marks these as trusted" not in preview()
    assert "start `codex`, type /hooks" in preview()
    (tmp_path / "codex").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert "--apply marks these as trusted in config.toml" in preview()


def test_transcripts_from_before_are_counted_and_wait_for_a_yes(command: Command, user: Path, home: Path) -> None:
    transcripts(user, 3)
    told = install(command, home, "claude-code").out
    kept = r"claude-code has 3 transcripts from before: \d+ bytes, \d{4}-\d\d-\d\d, under a minute in the background"
    assert re.search(kept, told)
    way = "What of them is not known yet is taken in by: mnemic hooks install claude-code --apply --backfill"
    assert f"{way} --home {home}\n" in told
    command("init", "--home", home, "--mind", "m")
    again = install(
        command, home, "claude-code", "--no-backfill", "--recall-prompts", "--no-recall-failures", "--mind", "m"
    ).out
    assert f"{way} --recall-prompts --no-recall-failures --mind m --home {home}\n" in again
    assert info_of(home) is None


def test_what_helped_is_told_unless_it_was_switched_off_and_stays_off_until_it_is_wanted(
    command: Command, user: Path, home: Path
) -> None:
    def asks() -> bool:
        hooks = json.loads((user / ".claude" / "settings.json").read_text("utf-8"))["hooks"]
        return " --ask " in hooks["PostToolUseFailure"][0]["hooks"][0]["command"]

    told = []
    for flags in ((), ("--no-recall-failures",), (), ("--recall-failures",), ()):
        install(command, home, "claude-code", "--no-backfill", *flags)
        told.append(asks())
    assert told == [True, False, False, True, True]


@pytest.mark.system
def test_on_a_yes_they_are_taken_in_by_the_homes_process(command: Command, user: Path, home: Path) -> None:
    transcripts(user, 3)
    taken = install(command, home, "claude-code", "--backfill", "--json").json["backfill"]
    assert taken == {"queued": 3, "known": 0, "error": None}

    def found() -> list[Any]:
        return command("recall", "otter", "--scope", "*", "--home", home, "--json").json["hits"]

    until(lambda: len(found()) == 3)
    assert {hit["scope"] for hit in found()} == {"proj"}


@pytest.mark.system
def test_a_process_that_serves_already_is_told_of_them(command: Command, user: Path, home: Path) -> None:
    install(command, home, "cursor")
    with (home / "mnemic.toml").open("a", encoding="utf-8") as settings:
        settings.write('[runtime]\nlog_level = "debug"\n')
    with serving(home):
        command("recall", "otter", "--home", home)
        until(lambda: "drain: ok" in (home / "serve.log").read_text("utf-8"))  # it was asked, and would not be so soon
        transcripts(user, 3)
        assert install(command, home, "claude-code", "--backfill", "--json").json["backfill"]["queued"] == 3
        until(lambda: len(command("recall", "otter", "--scope", "*", "--home", home, "--json").json["hits"]) == 3)


# --- leaving ---------------------------------------------------------------------------------------------------------


@pytest.mark.system
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
    assert f"Uninstalling from the home {home}" in shown.out
    assert "cursor: would be undone\n  ~/.cursor/hooks.json: without 8 hooks\n" in shown.out
    assert not re.search(r": (undone|removed)$", shown.out, re.MULTILINE)
    assert (home / "bin" / "mnemic-hook").exists()
    left = command("uninstall", "--yes", "--home", home, "--json").json
    assert everything(user) == before
    assert not (home / "bin").exists()
    assert info_of(home) is None
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


def test_a_folder_that_is_no_home_is_not_erased(command: Command, user: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    for path in ("bin/mytool", "backups/tax.tar", "models/one", "server.log"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("theirs", "utf-8")
    before = everything(folder)
    for more in ((), ("--yes",), ("--yes", "--json")):
        refused = command("uninstall", "--erase-data", "--home", folder, *more)
        assert refused.code == 2
        assert "holds no mind that Mnemic made" in refused.out + refused.err
        assert everything(folder) == before


def test_what_stays_after_erasing_is_listed(command: Command, user: Path, home: Path) -> None:
    install(command, home, "cursor")
    for path in ("bin/mytool", "backups/tax.tar", "minds/default/notes.txt", "server.log"):
        (home / path).parent.mkdir(exist_ok=True)
        (home / path).write_text("theirs", "utf-8")
    left = command("uninstall", "--erase-data", "--yes", "--home", home)
    stays = [f"  {home / name}" for name in ("backups", "bin", "minds", "server.log")]
    assert left.out.splitlines()[-5:] == ["what stays is not Mnemic's:", *stays]
    assert set(everything(home)) == {"bin/mytool", "backups/tax.tar", "minds/default/notes.txt", "server.log"}


def test_data_is_not_erased_while_a_host_still_needs_its_backups(command: Command, user: Path, home: Path) -> None:
    install(command, home, "cursor")
    (user / ".cursor" / "mcp.json").write_text("{", "utf-8")
    left = command("uninstall", "--erase-data", "--yes", "--home", home)
    assert left.code == 1
    assert "the data was not erased" in left.out
    assert (home / "minds" / "default" / "key").exists()


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


@pytest.mark.parametrize(("answer", "queued"), [("n", False), pytest.param("y", True, marks=pytest.mark.system)])
def test_on_a_terminal_an_install_asks_for_the_transcripts(
    command: Command, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch, answer: str, queued: bool
) -> None:
    transcripts(user, 1)
    asked(monkeypatch, "n", answer)
    told = install(command, home, "claude-code").out
    assert ("1 transcript will be taken in" in told) is queued
    assert ("What of them is not known yet is taken in by: " in told) is not queued


@pytest.mark.parametrize(("answer", "allowed"), [("n", ()), ("y", ("read-all",))])
def test_on_a_terminal_a_first_install_asks_whose_memories_an_assistant_may_ask_for(
    command: Command, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch, answer: str, allowed: tuple[str, ...]
) -> None:
    def rights() -> tuple[str, ...]:
        server = json.loads((user / ".cursor" / "mcp.json").read_text())["mcpServers"]["mnemic"]
        assert server["args"] == ["mcp", "--assistant", "cursor", "--home", str(home)]  # no right stands there
        return InstallRecord(home, SystemClock()).hosts["cursor"].allow

    asked(monkeypatch, answer)
    told = install(command, home, "cursor").out
    assert rights() == allowed
    assert ("beyond its own project: read-all" in told) is bool(allowed)
    told = install(command, home, "cursor").out  # asks nothing any more, and changes nothing
    assert rights() == allowed
    assert "beyond its own project" not in told
    install(command, home, "cursor", "--allow", "write-all", "--allow", "read-all")
    assert rights() == ("write-all", "read-all")
    status = command("hooks", "status", "--home", home, "--json").json
    assert status["hosts"]["cursor"]["mcp"] == "wired"
    assert "beyond its own project: nothing" in install(command, home, "cursor", "--allow", "nothing").out
    assert rights() == ()


@pytest.mark.parametrize(
    "taken_back",
    [
        ("install", "codex", "--allow", "nothing"),
        ("install", "all", "--allow", "nothing"),
        ("uninstall",),
    ],
)
def test_rights_are_taken_back_though_the_settings_of_their_assistant_are_broken(
    command: Command, user: Path, home: Path, taken_back: tuple[str, ...]
) -> None:
    def rights() -> tuple[tuple[str, ...], list[str], bool]:
        told = command("hooks", "status", "codex", "--no-trial", "--home", home)
        view = command("hooks", "status", "codex", "--no-trial", "--home", home, "--json").json
        allowed = view["hosts"]["codex"]["allow"]
        plain = (f"beyond its own project: {' and '.join(allowed)}\n" in told.out) is bool(allowed)
        return InstallRecord(home, SystemClock()).hosts["codex"].allow, allowed, plain

    install(command, home, "codex", "--allow", "read-all")
    assert rights() == (("read-all",), ["read-all"], True)
    config = user / ".codex" / "config.toml"
    config.write_text(config.read_text() + "x = [\n")
    before = everything(user)
    shown = command("hooks", *taken_back, "--home", home)
    assert (shown.code, rights()[0]) == (1, ("read-all",))
    assert "beyond its own project would be: nothing\n" in shown.out
    refused = command("hooks", *taken_back, "--apply", "--home", home)
    assert refused.code == 1
    assert "  what it may do by MCP beyond its own project: nothing\n" in refused.out
    assert "config.toml cannot be edited as TOML" in refused.out
    assert rights()[:2] == ((), [])
    assert everything(user) == before


def test_an_assistant_that_cannot_be_wired_is_given_no_right(command: Command, user: Path, home: Path) -> None:
    (user / ".codex").mkdir()
    (user / ".codex" / "config.toml").write_text("x = [\n")
    for name in ("codex", "all"):
        refused = install(command, home, name, "--allow", "read-all")
        assert refused.code == 2
        assert "by MCP" not in refused.out
    assert not (home / "hooks.json").exists()


def test_where_the_input_ends_instead_of_an_answer_nothing_is_done_and_it_is_said(
    command: Command, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(prompt: str = "") -> str:
        raise EOFError

    transcripts(user, 1)
    asked(monkeypatch)
    monkeypatch.setattr("click.termui.visible_prompt_func", ends)
    told = install(command, home, "claude-code")
    assert told.code == 0
    assert "What of them is not known yet is taken in by: " in told.out
    left = command("uninstall", "--erase-data", "--home", home)
    assert "nobody answered: nothing was done" in left.out
    assert left.err == ""
    assert (home / "bin" / "mnemic-hook").exists()


def test_the_preview_in_json_holds_each_diff(command: Command, user: Path, home: Path) -> None:
    view = command("hooks", "install", "cursor", "--home", home, "--json").json
    files = view["hosts"]["cursor"]["files"]
    assert {Path(file["path"]).name for file in files} == {"hooks.json", "mcp.json"}
    assert all(file["diff"][0] == "--- /dev/null" for file in files)
    assert view["transcripts"] == {}
    assert json.loads(json.dumps(view)) == view


def test_what_no_test_has_run_and_what_nothing_reads_is_said_in_install_setup_and_status(
    command: Command, user: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, printed in {"opencode": "opencode v2.0.12", "codex": "codex-cli 0.169.0"}.items():
        (programs / name).write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && echo '{printed}'\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    path = user / ".codex" / "sessions" / "rollout-1.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    untried = "  OpenCode 2: no test has run it, only a stand-in made after its published source\n"
    unread = f"codex: 1 file looks like a session and is not read: {path}. Unpack what is compressed"
    for shown in (
        command("hooks", "install", "--home", home),
        command("setup", "--home", home),
        command("setup", "--yes", "--home", home),
        command("setup", "--home", home),
        command("hooks", "install", "--backfill", "--apply", "--home", home),
    ):
        assert (untried in shown.out, unread in shown.out) == (True, True), shown.out
    status = command("hooks", "status", "--no-trial", "--home", home)
    assert "  its version is 2.0.12, which no test has run: they run 1.18.33\n" in status.out
    assert untried in status.out
    assert "0.169.0" not in status.out
    told = command("hooks", "status", "--no-trial", "--home", home, "--json").json["hosts"]
    assert {name: one["version"] for name, one in told.items()} == {
        **dict.fromkeys(told),
        "codex": "0.169.0",
        "opencode": "2.0.12",
    }
    (programs / "opencode").write_text("#!/bin/sh\necho 1.18.33\n")
    assert "OpenCode 2" not in command("hooks", "install", "--home", home).out
