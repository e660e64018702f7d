"""At a Tab the minds of the home that is named are offered, and every path of a command is known as one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from mnemic.cli.context import cli
from mnemic.cli.start.subjects import SUBJECTS
from mnemic.cli.terminal.completing import complete_paths


def offered(*words: str) -> list[str]:
    """What is offered in place of the last word."""
    completer = ShellComplete(cli, {}, "mnemic", "_MNEMIC_COMPLETE")
    return [
        item.value if item.type == "plain" else item.type
        for item in completer.get_completions([*words[:-1]], words[-1])
    ]


def parameters(command: click.Command) -> Iterator[click.Parameter]:
    yield from command.params
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        yield from parameters(below)


def test_all_commands_are_offered_and_a_name_that_fits_nothing_is_not() -> None:
    assert set(offered("")) == {name for names in SUBJECTS.values() for name in names}
    assert offered("zz") == []


def test_minds_are_those_of_the_home_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_HOME", str(tmp_path / "usual"))
    for home, mind in (("usual", "default"), ("other", "lake"), ("other", "pier")):
        (tmp_path / home / "minds" / mind).mkdir(parents=True)
    other = str(tmp_path / "other")
    assert offered("recall", "--mind", "") == ["default"]
    assert offered("recall", "--home", other, "--mind", "") == ["lake", "pier"]
    assert offered("--home", other, "recall", "--mind", "p") == ["pier"]
    assert offered("--home", str(tmp_path / "none"), "recall", "--mind", "") == []
    (tmp_path / "file").touch()
    assert offered("--home", str(tmp_path / "file"), "recall", "--mind", "") == []


def test_every_path_that_a_command_takes_is_completed_as_one() -> None:
    kinds = {}
    for command in cli.load_all().values():
        complete_paths(command)
        for one in parameters(command):
            found = one.shell_complete(click.Context(command), "x")
            if one.metavar and found and found[0].type in ("file", "dir"):
                kinds[one.metavar] = found[0].type
    assert {
        "FILE|DIR|-...": "file",
        "FILE": "file",
        "DIR": "dir",
        "FOLDER": "dir",
        "KEY": "file",
    }.items() <= kinds.items()
    assert offered("recall", "wh") == []  # a question is no path
