"""Finds where a shell line runs one program, and what else the line runs.

Above it stands `mnemic.hooks.read.own_calls`; below it `mnemic.algorithms.steps.shell`. In doubt it finds a call: a
call that is missed costs more than one too many. So a program that is not known to run nothing else (`find -exec`,
``tmux send-keys``) runs what it names with one of the program's verbs. What it cannot see is a script that runs the
program, and a variable that another line has set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from mnemic.algorithms.steps.shell import (
    MAX_NESTING,
    Stage,
    program_name,
    stages,
    unwrapped,
)
from mnemic.algorithms.steps.shell_programs import (
    BUILD_TOOLS,
    PROGRAMS,
    REMOTE_RUNNERS,
    RUNNERS,
    SHELL_BUILTINS,
    SUBCOMMANDS,
)

MAX_CALL_CHARS = 4_000
"""A line that is longer without its here-documents counts as a call where it names the program with a verb."""
_INTERPRETERS = re.compile(r"(?:python|pypy)[\d.]*|py|node|deno|bun|ruby|perl|php|osascript")
_SUBSTITUTION = re.compile(r"(?:\$\(|`)([^`]*)")
_DOCUMENT = re.compile(r"(?<!<)<<(?!<)-?[ \t]*(['\"]?)(\w+)\1")
_LOOKED_BACK = 400
_ESCAPED = re.compile(r"\\([\"$`\\])")
_LITERAL = re.compile(r"'[^']*'")
_NAMED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_CAPTURED_GROUP = re.compile(r"[$<>=]\(")
_GROUP_ENDS = ("}", "done", "fi", "esac")
_CARRIERS = ("eval", "find", "pipx", "xargs")
_NAMING_DATA = ("createdb", "dropdb", "journalctl", "mysql", "psql", "service", "systemctl", "tar", "unzip", "zip")
"""Programs whose words name files, databases and services, and run nothing."""


class Calls(NamedTuple):
    """How often a line runs a program, and what else it runs."""

    times: int
    others: tuple[str, ...]
    """Its other commands, pipe by pipe, as they are written; without those that say nothing (``cd``)."""
    in_view: bool
    """Whether all that the program prints comes out of the line unchanged, as far as the line shows it."""
    harmless: int = 0
    """How many of the calls print nothing of a user's, and so need not be hidden."""
    bare: int = 0
    """How many of these print no marks either."""


class Program(NamedTuple):
    """A program to look for."""

    names: frozenset[str]
    verbs: frozenset[str]
    """Its subcommands and its own options: one of them follows its name wherever another program is to run it."""
    harmless: re.Pattern[str] = re.compile(r"(?!)")
    """All arguments of the calls that print nothing of a user's, as one line; a group ``bare`` where without marks."""


def names_call(text: str, program: Program) -> bool:
    """Say whether a text in any language names the program with a verb: ``"mnemic", "recall"``, ``mnemic recall``."""
    names, verbs = ("|".join(map(re.escape, sorted(words))) for words in (program.names, program.verbs))
    return re.search(rf"(?<![\w.-])(?:{names})(?:\.exe)?[\"'`]?[,\s]\s*[\"'`]?(?:{verbs})(?![\w-])", text) is not None


def program_calls(line: str, program: Program, depth: int = 0) -> Calls:
    """Where a shell line runs a program.

    Args:
        depth: how many shells the line stands in.
    """
    if not any(name in line.lower() for name in program.names):
        return Calls(0, (line,), True)
    line, scripts = (line, "") if depth > MAX_NESTING else _without_documents(line.replace("\\\n", " "))
    if scripts and (program_calls(scripts, program, depth + 1).times or names_call(scripts, program)):
        return Calls(1, (), False)
    if depth > MAX_NESTING or len(line) > MAX_CALL_CHARS:
        named = names_call(line, program)
        return Calls(int(named), () if named else (line,), not named)
    called: set[str] = set()
    count, harmless, bare, in_view = 0, 0, 0, _CAPTURED_GROUP.search(line) is None
    others: list[str] = []
    for pipe in _pipes(line):
        found = []
        for stage in pipe:
            called |= _names_given(stage.words, program, called)
            found.append(_stage_calls(stage, program, called, depth))
        group_fed = pipe[0].feeds and _ends_group(pipe[0])
        in_view = in_view and not group_fed
        if own := sum(one.times for one in found):
            count += own
            harmless, bare = harmless + sum(one.harmless for one in found), bare + sum(one.bare for one in found)
            in_view = in_view and found[-1].times > 0 and all(one.in_view for one in found)
            others += [other for one in found if one.times for other in one.others]
        elif not group_fed and any(map(_says_something, pipe)):
            others.append(" | ".join(stage.raw for stage in pipe if stage.words))
    return Calls(count, tuple(others), in_view, harmless, bare)


def _pipes(line: str) -> Iterator[list[Stage]]:
    pipe: list[Stage] = []
    for stage in stages(line):
        if pipe and not stage.fed:
            yield pipe
            pipe = []
        pipe.append(stage)
    if pipe:
        yield pipe


def _ends_group(stage: Stage) -> bool:
    """Say whether it ends a group or a loop, whose whole output its pipe takes."""
    return not stage.words or stage.words[0] in _GROUP_ENDS


def _names_given(words: list[str], program: Program, called: set[str]) -> set[str]:
    """What stands for the program from here on: ``M=.venv/bin/mnemic; $M recall``, ``alias m=mnemic``."""
    given = (_NAMED.fullmatch(word) for word in words)
    named = [one[1] for one in given if one and any(_is_program(word, program, called) for word in one[2].split())]
    return {form for name in named for form in (f"${name}", f"${{{name}}}", *([name] if words[0] == "alias" else []))}


def _is_program(word: str, program: Program, called: set[str]) -> bool:
    if word.startswith(("$(", "`")):  # `$(which mnemic)`
        word = (word.strip("$()`").split() or [""])[-1]
    return word in called or re.split("[@=]", program_name(word), maxsplit=1)[0] in program.names


def _stage_calls(stage: Stage, program: Program, called: set[str], depth: int) -> Calls:
    """The calls of one command: itself, what it is told to run, and what its words are made of."""
    expanded = stage.raw if '"' in stage.raw else _LITERAL.sub("", stage.raw)
    inner = [program_calls(one, program, depth + 1) for one in _SUBSTITUTION.findall(expanded)]
    if count := sum(one.times for one in inner):
        return Calls(count, (), False, sum(one.harmless for one in inner), sum(one.bare for one in inner))
    words = unwrapped(stage.words)
    name = program_name(words[0]) if words else ""
    asks_where = stage.words[:2] in (["command", "-v"], ["command", "-V"])
    if words and _is_program(words[0], program, called) and not asks_where:
        return Calls(1, (), True, *_harmless(words, program, called))
    if not words or not _is_carrier(name):
        return Calls(0, (), True)
    if any(_is_program(word, program, called) and after in program.verbs for word, after in pairwise(words)):
        return Calls(1, (), True)
    lines = [word for word in words[1:] if any(map(str.isspace, word))]
    if _INTERPRETERS.fullmatch(name):
        return Calls(int(any(names_call(line, program) for line in lines)), (), False)
    found = (program_calls(_ESCAPED.sub(r"\1", line), program, depth + 1) for line in lines)
    return next((one for one in found if one.times), Calls(0, (), True))


def _harmless(words: list[str], program: Program, called: set[str]) -> tuple[int, int]:
    """Say whether a call prints nothing of a user's and no marks; what stands for the program may hold a verb."""
    told = words[0] not in called and not any(re.search(r"[\s$`]", word) for word in words)
    found = program.harmless.fullmatch(" ".join(words[1:])) if told else None
    return int(found is not None), int(found is not None and found["bare"] is not None)


def _is_carrier(name: str) -> bool:
    """Say whether a program may run another one that its words name."""
    if name in RUNNERS or name in REMOTE_RUNNERS or name in _CARRIERS or SHELL_BUILTINS.get(name) == "shell":
        return True
    return not (
        name in _NAMING_DATA or name in PROGRAMS or name in SUBCOMMANDS or name in BUILD_TOOLS or name in SHELL_BUILTINS
    )


def _says_something(stage: Stage) -> bool:
    words = unwrapped(stage.words)
    return bool(words) and (program_name(words[0]) not in SHELL_BUILTINS or bool(stage.into))


def _without_documents(line: str) -> tuple[str, str]:
    """A line without its here-documents, and what stands in those that a program may run."""
    if "<<" not in line:
        return line, ""
    kept: list[str] = []
    scripts: list[str] = []
    waiting: list[tuple[str, bool]] = []
    held: list[str] = []
    for row in line.split("\n"):
        if not waiting:
            kept.append(_DOCUMENT.sub("", row))
            waiting = [(found[2], _runs_document(row[: found.start()])) for found in _DOCUMENT.finditer(row)]
        elif row.strip() == waiting[0][0]:
            scripts += held if waiting.pop(0)[1] else []
            held = []
        else:
            held.append(row)
    return "\n".join([*kept, *held]), "\n".join(scripts)  # one without its end is none: `1<<n`


def _runs_document(before: str) -> bool:
    words = unwrapped(re.split(r"[;&|(\"']", before[-_LOOKED_BACK:])[-1].split())
    return bool(words) and _is_carrier(program_name(words[0]))
