"""`mnemic` alone says how things stand and what to do next, at once and without starting anything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.cli.context import cli
from mnemic.cli.start.overview import overview_lines
from mnemic.cli.start.subjects import SUBJECTS
from mnemic.cli.terminal.output import plain
from tests.hooks.wirings import FIXTURES
from tests.processes.faces import Outcome, lines, run, turn
from tests.processes.serving import info_of
from tests.processes.users import everything

Command = Callable[..., Outcome]


def test_where_nothing_is_set_up_it_names_setup_and_makes_nothing(command: Command, user: Path, home: Path) -> None:
    (user / ".cursor").mkdir()
    held = everything(home)
    told = command("--home", home)
    assert (told.code, told.err) == (0, "")
    assert "not set up yet: there is no mind 'default' in " in told.out
    assert "not wired: Cursor\n" in told.out
    assert f"  mnemic setup --home {home}" in told.out
    assert everything(home) == held


def test_where_it_is_set_up_it_says_how_much_it_holds_since_when_and_who_is_wired(
    command: Command, user: Path, home: Path, tmp_path: Path
) -> None:
    (user / ".cursor").mkdir()
    (user / ".codex").mkdir()
    command("capture", lines(tmp_path / "said.jsonl", turn("an otter"), turn("a heron")), "--home", home)
    command("hooks", "install", "codex", "--apply", "--home", home)
    assert "wrong: The embedding model is not at" in command("--home", home).out
    (home / "mnemic.toml").write_text("[recal]\nk = 1\n", "utf-8")
    assert "wrong: recal.k in " in command("--home", home).out
    (home / "mnemic.toml").unlink()  # which names a model that is not there
    told = command("--home", home)
    assert re.search(r"^2 memories, the last one captured \d{4}-\d\d-\d\d \d\d:\d\d$", told.out, re.MULTILINE)
    assert "wired: Codex\nnot wired: Cursor\n" in told.out
    assert "wrong" not in told.out
    assert re.findall(r"^  mnemic (\w+)", told.out, re.MULTILINE) == ["setup", "recall", "log"]
    assert info_of(home) is None
    view = command("--home", home, "--json").json
    assert (view["set_up"], view["memories"], view["wrong"]) == (True, 2, [])
    states = {one["name"]: one["state"] for one in view["assistants"]}
    assert states == {"codex": "wired", "cursor": "not wired"}
    assert [plain(line) for line in overview_lines(view)] == told.out.splitlines()


def test_what_is_wrong_is_said_and_it_still_ends_with_0(command: Command, user: Path, home: Path) -> None:
    shutil.copytree(FIXTURES / "codex" / "plain", user, dirs_exist_ok=True)
    command("hooks", "install", "codex", "--apply", "--home", home)
    command("pause", "--home", home)
    (home / "bin" / "mnemic-hook").unlink()
    (user / ".cursor").mkdir()
    (user / ".cursor" / "hooks.json").write_text("{,", "utf-8")
    told = command("--home", home)
    assert told.code == 0
    wrong = re.findall(r"^wrong: (.*)$", told.out, re.MULTILINE)
    assert told.out.count("is paused") == 1, "the mind and the assistant say the same"
    assert not any("paused" in why for why in wrong), "its owner wants it"
    assert any("mnemic-hook is missing" in why for why in wrong)
    assert any("hooks.json cannot be edited as JSON" in why for why in wrong)
    assert "settings unreadable: Cursor\n" in told.out
    assert f"  mnemic doctor --home {home}" in told.out


def test_a_locked_mind_says_how_to_unlock_it(
    command: Command, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.cli.keys.read_new_passphrase", lambda: "a heron at the weir")
    command("init", "--passphrase", "--home", home)
    told = command("--home", home)
    assert "locked by its passphrase" in told.out
    assert f"  mnemic unlock --home {home}" in told.out


def test_another_mind_and_home_are_named_in_what_it_proposes(command: Command, user: Path, home: Path) -> None:
    command("init", "--mind", "work", "--home", home)
    assert f"  mnemic capture FILE --home {home} --mind work" in command("--home", home, "--mind", "work").out
    refused = command("--home", home, "--mind", "../x")
    assert refused.code == 2
    assert "it names a folder" in refused.err


def test_what_it_proposes_for_a_relative_home_works_from_any_folder(
    command: Command, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home.parent)
    made = command("init", "--home", home.name, "--json").json
    assert (made["folder"], made["key"]) == (str(home / "minds" / "default"), str(home / "minds" / "default" / "key"))
    assert f"  mnemic capture FILE --home {home}" in command("--home", home.name).out


def test_no_program_is_started_for_it_not_even_codex(
    command: Command, user: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("hooks", "install", "codex", "--apply", "--home", home)
    (tmp_path / "codex").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    def started(*given: object, **more: object) -> None:
        raise AssertionError(given)

    monkeypatch.setattr(subprocess, "Popen", started)
    assert "wired: Codex\n" in command("--home", home).out


@pytest.mark.system
def test_it_loads_no_model_and_no_actor(home: Path, user: Path) -> None:
    run("init", "--home", home)
    loaded = "import sys; from mnemic.cli.main import main; main(['--home', sys.argv[1]]); print(*sys.modules)"
    told = subprocess.check_output([sys.executable, "-c", loaded, str(home)], text=True)
    assert "0 memories" in told
    modules = told.splitlines()[-1].split()
    assert not {"mnemic.runtime.engine.actor_system", "mnemic.runtime.models.encoders", "sqlite_vec"} & {*modules}


def test_the_help_lists_every_command_once_by_its_subject_in_80_columns(command: Command) -> None:
    shown = command("--help")
    assert shown.code == 0
    assert sorted(name for names in SUBJECTS.values() for name in names) == sorted(cli.load_all())
    listed = re.findall(r"^  ([a-z]+) {2,}[A-Z]", shown.out, re.MULTILINE)
    assert listed == [name for names in SUBJECTS.values() for name in names]
    assert [line[:-1] for line in shown.out.splitlines() if line.endswith(":") and line[0] != " "][1:] == [*SUBJECTS]
    assert all(len(line) <= 80 for line in shown.out.splitlines())
