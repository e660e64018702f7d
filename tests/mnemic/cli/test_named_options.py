"""Whatever option an error, a remedy or a check names is one that a command has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click

from mnemic.cli.context import cli
from mnemic.cli.start.subjects import SubjectGroup
from tests.paths import ROOT

FOLDERS = ("actors", "algorithms", "hooks", "mnemic", "runtime")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
STRANGERS = {"--no-deps", "--assistant", "--event", "--cwd", "--ask", "--updates", "--off", "--unix-socket", "--line"}
STRANGERS |= {"--user", "--now", "--property", "--value", "--python"}
"""Options of pip, of uv, of curl, of systemctl, of the hook and of what it starts (docs/spool.md);
a colour of the page of HTTP."""
READERS = {"shell.py", "shell_programs.py", "git_log.py"}
"""Modules that name the options of other programs, whose calls are understood or made."""


def commands_of(group: click.Group) -> Iterator[click.Command]:
    """A group and all commands below it."""
    yield group
    for command in (group.load_all() if isinstance(group, SubjectGroup) else group.commands).values():
        yield from commands_of(command) if isinstance(command, click.Group) else (command,)


def texts_with(pattern: re.Pattern[str]) -> Iterator[tuple[Path, str]]:
    """Every text of the product that a pattern is found in and that is no docstring, with its module."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            source = path.read_text("utf-8")
            if pattern.search(source):  # to parse all of them takes two seconds
                yield from ((path, text) for text in texts(ast.parse(source)) if pattern.search(text))


def texts(tree: ast.Module) -> Iterator[str]:
    """Every text in a module that is no docstring."""
    said = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def test_every_option_that_a_text_names_exists() -> None:
    assert isinstance(cli, click.Group)
    known = {
        name
        for one in commands_of(cli)
        for parameter in one.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    } | {"--help"}
    named = {
        option: f"{path.parent.name}/{path.name}"
        for path, text in texts_with(OPTION)
        if path.name not in READERS
        for option in OPTION.findall(text)
    }
    assert {"--tls-cert", "--tls-key", "--repair", "--home"} <= named.keys()
    assert {option: where for option, where in named.items() if option not in known | STRANGERS} == {}


def test_no_remedy_names_a_setting_of_the_http_face_for_it_has_none() -> None:
    assert list(texts_with(re.compile(r"\bhttp\.(certificate|key|token)\b"))) == []
