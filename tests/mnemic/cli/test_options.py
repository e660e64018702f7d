"""Options that every command has, wherever they stand; counts, questions and views, the same for all commands."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from mnemic.cli.context import cli
from mnemic.cli.start.subjects import SubjectGroup
from tests.paths import ROOT
from tests.processes.faces import Outcome, lines, turn

Command = Callable[..., Outcome]


@pytest.fixture
def shelf(command: Command, home: Path, tmp_path: Path) -> Path:
    said = [turn(f"book {number} is about otters") for number in (1, 2, 3)]
    assert command("capture", lines(tmp_path / "a.jsonl", *said), "--home", home).code == 0
    return home


def test_common_options_stand_before_a_command_or_after_it(command: Command, shelf: Path) -> None:
    for asked in (
        ("--home", shelf, "--mind", "default", "--json", "recall", "otters"),
        ("recall", "otters", "--home", shelf, "--mind", "default", "--json"),
        ("--json", "recall", "--home", shelf, "otters"),
    ):
        assert len(command(*asked).json["hits"]) == 3
    for asked in (("scope", "--home", shelf, "list", "--json"), ("--home", shelf, "--json", "scope", "list")):
        assert [one["path"] for one in command(*asked).json["scopes"]] == [""]


def test_what_stands_after_the_command_counts(command: Command, shelf: Path, tmp_path: Path) -> None:
    asked = command("--home", tmp_path / "nowhere", "recall", "otters", "--home", shelf, "--json")
    assert len(asked.json["hits"]) == 3


def test_an_error_before_a_command_is_json_where_that_is_asked_for(command: Command) -> None:
    refused = command("--json", "recal", "x")
    assert (refused.code, refused.json["code"]) == (2, "usage")


def test_a_count_goes_by_all_of_its_names(command: Command, shelf: Path) -> None:
    for name in ("-n", "-k", "--limit"):
        assert len(command("recall", "otters", name, 2, "--home", shelf, "--json").json["hits"]) == 2
        assert len(command("log", name, 2, "--home", shelf, "--json").out.splitlines()) == 2


def test_a_question_and_a_text_need_no_quotes(command: Command, shelf: Path) -> None:
    kept = command("remember", "Releases", "go", "out", "on", "Tuesdays.", "--home", shelf, "--json").json
    hits = command("recall", "when", "do", "releases", "go", "out", "-n", 1, "--home", shelf, "--json").json["hits"]
    assert [(hit["id"], hit["text"]) for hit in hits] == [(kept["id"], "Releases go out on Tuesdays.")]


def commands_of(group: click.Group) -> Iterator[click.Command]:
    for command in (group.load_all() if isinstance(group, SubjectGroup) else group.commands).values():
        yield from commands_of(command) if isinstance(command, click.Group) else (command,)


def test_every_command_that_takes_a_count_takes_it_under_the_same_names() -> None:
    names = {"-n", "-k", "--limit"}
    assert isinstance(cli, click.Group)
    found = [{*one.opts} for command in commands_of(cli) for one in command.params if names & {*one.opts}]
    assert len(found) > 8
    assert all(names <= opts for opts in found)


def test_every_view_for_a_person_is_made_of_the_json_by_a_function_that_gets_nothing_else() -> None:
    """A closure could print what the JSON does not have."""
    wrong = []
    for path in sorted((ROOT / "mnemic" / "cli").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        known = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        known |= {name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr not in ("print_answer", "print_entries"):
                continue
            render = node.args[-1]
            if isinstance(render, ast.Call) and isinstance(render.func, ast.Name) and render.func.id == "partial":
                render = render.args[0]
            if not isinstance(render, ast.Name) or render.id not in known:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert wrong == []


def test_help_is_what_a_commands_own_help_is(command: Command) -> None:
    assert command("help", "recall").out == command("recall", "--help").out
    assert command("help", "scope", "move").out == command("scope", "move", "--help").out
    assert command("help").out == command("--help").out
    refused = command("help", "scope", "fly")
    assert (refused.code, "there is no command 'scope fly'" in refused.err) == (2, True)
