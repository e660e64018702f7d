"""Shell commands: what a line that an assistant has a shell run does, and with which programs. Pure.

Above it stands `mnemic.algorithms.steps`. This is no shell: it knows quotes, lists, pipes, here-documents, the usual
wrappers (``sudo``, ``timeout``, ``uv run``, ``bash -lc``) and the usual programs; of whatever else is said that it is
run. Of a pipe the first program counts, since that is the one that was wanted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mnemic.algorithms.shell_programs import (
    COMMANDS,
    INSTALL,
    MAKERS,
    PROGRAMS,
    RANKS,
    RUNNERS,
    SCRIPTS,
    USUAL,
    WITH_VALUE,
    WORDS,
)

__all__ = ["Command", "commands", "main_command"]

LONGEST = 4_000
"""Characters of a line that are looked at: what matters of a long script stands at its start, or in its name."""
DEEPEST = 3
"""How far shells within shells are followed."""


class Command(NamedTuple):
    """One program that is run."""

    action: str
    """What it does: ``test``, ``build``, ``lint``, ``edit``, ``commit``, … or ``run``."""
    program: str
    """Its name, lower case, without its folder."""
    words: tuple[str, ...]
    """Its arguments, options left out."""


_HERE_DOCUMENT = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1([^\n]*)\n(?:.*?\n)??(?:[ \t]*\2[ \t]*(?=\n|\Z)|\Z)", re.DOTALL)
_UNENDED = re.compile(r"<<-?[ \t]*(['\"]?)\w+\1([^\n]*)(?:\n.*)?\Z", re.DOTALL)
_TOKEN = re.compile(
    r"(?P<silent>\d?>&\d?-?|(?:&|\d)?>>?\s*/dev/null|<<<|<)"
    r"|(?P<into>[\d&]?>>?\|?)"
    r"|(?P<list>&&|\|\||;+|\n|&)"
    r"|(?P<pipe>\|&?)"
    r"|(?P<group>[()])"
    r"|(?P<comment>(?<!\S)\#[^\n]*)"
    r"|(?P<word>(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\$\([^()]*\)|\\.|[^\s;&|()<>\"'\\]|[\"'\\])+)",
    re.DOTALL,
)
_QUOTED = re.compile(r"\"((?:\\.|[^\"\\])*)\"|'([^']*)'", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_DURATION = re.compile(r"[\d.]+[smhd]?")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*|py")


def commands(line: str) -> list[Command]:
    """The programs that a line runs, in order; without what says nothing (``cd``) and what a pipe feeds."""
    return list(_commands(line[:LONGEST], 0))


def main_command(found: Sequence[Command]) -> Command | None:
    """The command that a line is for; of several that do the same the first."""
    return min(found, key=lambda one: RANKS.get(one.action, len(RANKS)), default=None)


def _commands(line: str, depth: int) -> Iterator[Command]:
    if "<<" in line:
        line = _UNENDED.sub(r"\2", _HERE_DOCUMENT.sub(r"\3", line))
    for given, into in _simple_commands(line):
        words = _unwrapped(given)
        if not words:
            continue
        program = _base(words[0])
        script = next((i + 1 for i, word in enumerate(words[:-1]) if re.fullmatch(r"-\w*c", word)), 0)
        if WORDS.get(program) == "shell" and script and depth < DEEPEST:
            yield from _commands(words[script], depth + 1)
        elif into and program in ("cat", "echo", "printf", "tee"):
            yield Command("edit", program, (into,))
        elif program and program not in WORDS:
            arguments = tuple(word for word in words[1:] if not word.startswith("-"))
            yield Command(_action(program, words[1:], arguments), program, arguments)


def _simple_commands(line: str) -> Iterator[tuple[list[str], str]]:
    """The words of each command outside of pipes' later parts, and the file that its output goes into."""
    words: list[str] = []
    into, fed, to_file = "", False, False
    for token in _TOKEN.finditer(line):
        kind, text = token.lastgroup, token[0]
        if kind == "word":
            text = _QUOTED.sub(lambda one: one[1] if one[1] is not None else one[2], text)
            if to_file:
                into, to_file = text, False
            else:
                words.append(text)
        elif kind == "into":
            to_file = True
        elif kind in ("list", "pipe", "group"):
            if words and not fed:
                yield words, into
            fed = kind == "pipe" or (fed and kind == "group")
            words, into, to_file = [], "", False
    if words and not fed:
        yield words, into


def _unwrapped(words: list[str]) -> list[str]:
    """A command without the words that only say how it is run."""
    while words:
        first, kind = _base(words[0]), WORDS.get(words[0])
        if kind == "loop":
            return []
        if kind == "leading" or _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif kind == "wrapper":
            words = _without_options(words[1:], WITH_VALUE.get(first, ()))
            if first == "timeout" and words and _DURATION.fullmatch(words[0]):
                words = words[1:]
        elif first in RUNNERS and not RUNNERS[first]:
            words = _without_options(words[1:], ("-p", "--package", "--with"))
        elif first in RUNNERS and len(words) > 1 and words[1] in RUNNERS[first].split():
            words = _without_options(words[2:], ("--with", "--extra", "-p", "-n"))
        elif _PYTHON.fullmatch(first):
            options = [i for i, word in enumerate(words[:-1]) if word == "-m"]
            if not options or any(not word.startswith("-") for word in words[1 : options[0]]):
                return ["python", *words[1:]]
            words = words[options[0] + 1 :]
        else:
            return words
    return words


def _base(program: str) -> str:
    return program.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")


def _without_options(words: list[str], with_value: Sequence[str]) -> list[str]:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in with_value else words[1:]
    return words


def _action(program: str, options: Sequence[str], arguments: Sequence[str]) -> str:
    first = arguments[0].lower() if arguments else ""
    if program in ("sed", "perl") and any(re.match(r"-\w*i", option) for option in options):
        return "edit"
    if program == "tsc" and "--noEmit" in options:
        return "lint"
    if program == "node" and "--test" in options:
        return "test"
    if program == "git" and options and options[0] in ("-C", "-c"):
        return _action(program, options[2:], [word for word in options[2:] if not word.startswith("-")])
    if program in MAKERS:
        return next((found for word in arguments if (found := _by_name(word.lower()))), "build")
    if program in SCRIPTS and (script := _script(arguments)):
        return _by_name(script) or "run"
    return COMMANDS.get(program, {}).get(first) or PROGRAMS.get(program, "run")


def _script(arguments: Sequence[str]) -> str:
    """The script of a project that a package manager is to run, if it is one: ``npm run lint``, ``yarn lint:fix``."""
    if arguments and arguments[0] in ("run", "run-script"):
        return "".join(arguments[1:2]).lower()
    return "" if not arguments or arguments[0] in INSTALL else arguments[0].lower()


def _by_name(script: str) -> str | None:
    """What a script that a project has named itself does, as far as its name says it: ``test:unit``, ``lint-fix``."""
    parts = (part.removesuffix("s") for part in re.split(r"[^a-z0-9]+", script))
    return next((USUAL[part] for part in parts if part in USUAL), "install" if script == "install" else None)
