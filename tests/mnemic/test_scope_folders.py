"""A home folder that is a repository, and a worktree that was removed, as their user meets them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import mnemic
from mnemic.actors.kernel.scope_paths import ScopeRef
from tests.actors.capture.test_gone_folders import remove_worktree, worktree
from tests.mnemic.test_session_start import alone
from tests.processes.faces import Outcome, claude_turn, git_project, lines

Command = Callable[..., Outcome]


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user whose home folder is a repository."""
    monkeypatch.setenv("HOME", str(tmp_path / "ines"))
    return git_project(tmp_path / "ines")


def captured(command: Command, home: Path, folder: Path, *said: str) -> list[str]:
    """Capture a transcript of a session in a folder; returns the scopes that it went to."""
    file = lines(folder.parent / "a.jsonl", *(claude_turn(text, folder, number) for number, text in enumerate(said)))
    done = command("capture", file, "--home", home, "--no-meaning", "--json")
    assert done.code == 0, done.err
    scopes = done.json["scopes"]
    assert isinstance(scopes, list)
    return scopes


def test_what_lies_below_a_home_folder_that_is_a_repository_is_kept_and_told_by_its_own_folder(
    command: Command, home: Path, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (user / "notes").mkdir()
    (user / "other").mkdir()
    assert captured(command, home, user / "notes", "Decision: we use oars for the boat.") == ["notes"]
    monkeypatch.chdir(user / "notes")
    assert command("recall", "oars", "--home", home, "--json").json["scope"] == "notes"
    assert "oars" in alone(home, str(user / "notes")).out
    assert "oars" not in alone(home, str(user / "other")).out
    assert command("remember", "A sail is spare.", "--home", home, "--json").json["scope"] == "notes"
    assert "home folder" not in command("setup", "--home", home).out


def test_a_scope_that_it_has_from_before_stays_and_setup_says_so_until_it_is_moved(
    command: Command, home: Path, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (user / "notes").mkdir()
    with mnemic.open(home) as mind:
        mind.remember(
            "Decision: we use oars for the boat.", kind="decision", scope=ScopeRef("ines", f"{user}/.git", "git")
        )
    assert captured(command, home, user / "notes", "The sail is red.") == ["ines"]
    assert "oars" in alone(home, str(user / "notes")).out
    monkeypatch.chdir(user / "notes")
    assert command("remember", "A sail is spare.", "--home", home, "--json").json["scope"] == "ines"
    told = command("setup", "--home", home)
    assert "your home folder is a git repository and a project: ines" in told.out
    assert f"`mnemic scope move ines FOLDER --home {home}` ends that" in told.out
    moved = git_project(user / "dotfiles")
    assert command("scope", "move", "ines", moved, "--home", home).code == 0
    assert captured(command, home, user / "notes", "The sail is red.", "The oar is blue.") == ["notes"]
    assert "home folder" not in command("setup", "--home", home).out


def test_a_session_in_a_worktree_that_was_removed_is_one_project(command: Command, home: Path, tmp_path: Path) -> None:
    app = git_project(tmp_path / "app")
    pay = worktree(tmp_path / "app-pay", app)
    assert captured(command, home, pay, "pay by card") == ["app"]
    remove_worktree(pay, app)
    assert captured(command, home, pay, "pay by card", "and by cheque") == ["app"]
    scopes = json.loads(command("scope", "list", "--home", home, "--json").out)["scopes"]
    assert [(one["path"], one["memories"]) for one in scopes] == [("app", 2)]
    shutil.rmtree(app)
    assert captured(command, home, app, "a session from before") == ["app"]
