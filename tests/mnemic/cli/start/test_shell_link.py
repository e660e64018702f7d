"""A new shell finds `mnemic` by a link that setup offers, that uninstall takes away, and that replaces nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes.faces import Outcome
from tests.processes.users import asked

Command = Callable[..., Outcome]
PROGRAM = Path(sys.executable).with_name("mnemic")

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not installed")


@pytest.fixture
def link(user: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the link is to be, of a user whose login shell looks there and finds no `mnemic` yet."""
    place = user / ".local" / "bin" / "mnemic"
    shell = tmp_path / "bash"
    shell.write_text('#!/bin/sh\nPATH=$PATH:$HOME/.local/bin exec /bin/sh -c "$3"\n')
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))
    monkeypatch.setenv("PATH", f"{PROGRAM.parent}:/usr/bin:/bin")
    monkeypatch.setenv("MNEMIC_HOME", str(home))
    return place


def test_setup_shows_the_link_makes_it_with_a_yes_and_uninstall_takes_it_away(command: Command, link: Path) -> None:
    shown = command("setup")
    assert "a link, since a new shell finds no mnemic: ~/.local/bin/mnemic" in shown.out
    assert not os.path.lexists(link)
    done = command("setup", "--yes", "--no-backfill")
    assert "linked: ~/.local/bin/mnemic" in done.out
    assert link.readlink() == PROGRAM
    assert command("setup", "--yes", "--no-backfill", "--json").json["link"] is None, "it is found now"
    assert command("uninstall", "--yes", "--json").json["link"] == [str(link)]
    assert not os.path.lexists(link)


@pytest.mark.parametrize(("answer", "made"), [("y", True), ("n", False)])
def test_at_a_terminal_it_is_asked_for(
    command: Command, link: Path, monkeypatch: pytest.MonkeyPatch, answer: str, made: bool
) -> None:
    asked(monkeypatch, answer)
    done = command("setup")
    assert (done.code, os.path.lexists(link), "linked: " in done.out) == (0, made, made)


def test_where_a_shell_does_not_look_there_it_says_what_is_left_to_do(
    command: Command, link: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bash").write_text('#!/bin/sh\nexec /bin/sh -c "$3"\n')
    done = command("setup", "--yes", "--no-backfill")
    assert f"  put {link.parent} into your shell's PATH" in done.out


@pytest.mark.parametrize("there", ["a file", "a link elsewhere", "found elsewhere", "an unknown shell"])
def test_what_is_there_stays_and_nothing_is_offered(
    command: Command, link: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: str
) -> None:
    link.parent.mkdir(parents=True)
    if there == "a file":
        link.write_text("mine")
    elif there == "a link elsewhere":
        link.symlink_to("/opt/mnemic/bin/mnemic")
    elif there == "found elsewhere":
        (tmp_path / "mnemic").write_text("#!/bin/sh\n")
        (tmp_path / "mnemic").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    else:
        monkeypatch.setenv("SHELL", "/usr/bin/nu")
    before = os.path.lexists(link)
    assert command("setup", "--yes", "--no-backfill", "--json").json["link"] is None
    assert command("uninstall", "--yes", "--json").json["link"] == []
    assert os.path.lexists(link) == before


def test_a_link_that_cannot_be_made_is_said(command: Command, link: Path, user: Path) -> None:
    (user / ".local").write_text("a file")
    done = command("setup", "--yes", "--no-backfill")
    assert (done.code, "no link was made: " in done.out) == (1, True)
