"""Parses a shell line into the commands it runs and classifies each: test, build, lint, edit …

Above it stands `mnemic.algorithms.steps.steps`. This is no shell: it knows quotes, lists, pipes, here-documents, the
usual wrappers (``sudo``, ``timeout``, ``uv run``, ``bash -lc``, ``docker compose exec web``, ``ssh host``) and the
usual programs; of whatever else is said that it is run, or what its file is named for (``scripts/lint.sh``). Of a pipe
the first program counts, since that is the one that was wanted.

Target kinds: what kind of thing a file is, by its name. Below `mnemic.algorithms.steps.steps`.

A test is ``test`` whatever it is written in, since that is what one looks for; all else goes by its last name.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mnemic.algorithms.steps.shell_programs import (
    ACTION_PRIORITY,
    BUILD_TOOLS,
    INSTALL_SUBCOMMANDS,
    OPTIONS_WITH_VALUE,
    PROGRAMS,
    REMOTE_RUNNERS,
    RUNNERS,
    SCRIPT_ACTIONS,
    SCRIPT_RUNNERS,
    SHELL_BUILTINS,
    SUBCOMMANDS,
    VIA,
)

_SUFFIXES = """
python py pyi pyx ipynb
rust rs
javascript js jsx mjs cjs vue svelte
typescript ts tsx mts cts
go go
java java kt kts scala groovy gradle
c c h cc cpp cxx hpp hh
csharp cs fs vb csproj sln
ruby rb erb rake gemspec
php php
swift swift m mm
elixir ex exs erl
shell sh bash zsh fish ps1 bat
sql sql ddl
html html htm xml svg jinja j2
css css scss sass less
docs md rst txt adoc tex org
config toml yaml yml json jsonc json5 ini cfg conf env lock properties plist service timer tf hcl nix
data csv tsv parquet jsonl ndjson xlsx db sqlite
image png jpg jpeg gif webp ico
log log
"""
_KINDS = {suffix: kind for kind, *suffixes in map(str.split, _SUFFIXES.strip().splitlines()) for suffix in suffixes}
_NAMES = {
    **dict.fromkeys(("makefile", "dockerfile", "justfile", "procfile", "cmakelists.txt", "pipfile"), "config"),
    **dict.fromkeys(("requirements.txt", "constraints.txt", "manifest.in", "go.mod", "go.sum", ".gitignore"), "config"),
    **dict.fromkeys(("readme", "license", "changelog", "contributing"), "docs"),
}
_CODE = frozenset(_KINDS.values()) - {"docs", "config", "data", "image", "log", "html", "css", "sql"}
_FILE = re.compile(r"(?!.*//)[\w.~/\\ @+-]*[\w-]\.\w+")
_TEST = re.compile(r"(?:test|spec|conftest)(?:[_.-].*)?|.*(?:[_.-]|(?-i:[a-z](?=[TS])))(?:tests?|spec)", re.IGNORECASE)
_LANGUAGES = {
    program: language
    for language, programs in (
        ("python", "python pytest pip pip3 uv poetry tox nox mypy ruff black pyright flake8 pylint unittest ipython"),
        ("python", "manage.py setup.py"),
        ("rust", "cargo rustc rustfmt rustup"),
        ("javascript", "node npm npx yarn pnpm bun jest vitest mocha eslint prettier webpack vite playwright cypress"),
        ("typescript", "tsc deno ts-node tsx"),
        ("go", "go gofmt golangci-lint"),
        ("java", "java javac mvn mvnw gradle gradlew sbt"),
        ("c", "gcc g++ clang cmake ctest ninja"),
        ("ruby", "ruby bundle rake rspec rubocop gem rails"),
        ("php", "php composer phpunit"),
        ("csharp", "dotnet"),
        ("elixir", "mix elixir"),
        ("swift", "swift xcodebuild"),
        ("git", "git gh"),
        ("shell", "shellcheck shfmt"),
        ("sql", "sqlite3 psql mysql"),
    )
    for program in programs.split()
}


def file_kind(files: Sequence[str]) -> str:
    """The kind of the first file that has one; ``""`` where none has."""
    return next((kind for path in files if (kind := _kind(path))), "")


def looks_like_file(word: str) -> bool:
    """Whether a word of a command looks like the name of a file of a known kind: no address and no pattern."""
    return bool(_FILE.fullmatch(word)) and bool(_kind(word))


def program_language(program: str) -> str:
    """What a program is for, as far as its name says it; ``""`` for all others."""
    return _LANGUAGES.get(program, "")


def _kind(path: str) -> str:
    folder, _, name = path.partition("::")[0].replace("\\", "/").rpartition("/")
    if name.lower() in _NAMES:
        return _NAMES[name.lower()]
    stem, dot, suffix = name.rpartition(".")
    kind = _KINDS.get(suffix.lower(), "") if dot else ""
    if kind in _CODE and (_TEST.fullmatch(stem) or not {"test", "tests", "__tests__"}.isdisjoint(folder.split("/"))):
        return "test"
    return kind or ("test" if name in ("test", "tests") else _NAMES.get(name.partition(".")[0].lower(), ""))


MAX_LINE_CHARS = 4_000
"""Characters of a line that are looked at: what matters of a long script stands at its start, or in its name."""
MAX_NESTING = 3
"""How far shells within shells are followed."""


class Command(NamedTuple):
    """One program that is run."""

    action: str
    """What it does: ``test``, ``build``, ``lint``, ``edit``, ``commit``, … or ``run``; ``via`` if it has others run."""
    program: str
    """Its name, lower case, without its folder."""
    arguments: tuple[str, ...]
    """Its arguments, options left out."""


_HERE_DOCUMENT = re.compile(r"<<-?[ \t]*(['\"]?)(\w++)\1([^\n]*)\n(?:.*?\n)??(?:[ \t]*\2[ \t]*(?=\n|\Z)|\Z)", re.DOTALL)
_UNENDED = re.compile(r"<<-?[ \t]*(['\"]?)\w++\1([^\n]*)(?:\n.*)?\Z", re.DOTALL)
_TOKEN = re.compile(
    r"(?P<silent>\d?>&\d?-?|(?:&|\d)?>>?\s*/dev/null|<<<|<)"
    r"|(?P<into>[\d&]?>>?\|?)"
    r"|(?P<list>&&|\|\||;+|\n|&)"
    r"|(?P<pipe>\|&?)"
    r"|(?P<group>[()])"
    r"|(?P<comment>(?<!\S)\#[^\n]*)"
    r"|(?P<word>(?:\"(?:\\.|[^\"\\]++)*+\"|'[^']*'|\$\([^()]*\)|\\.|[^\s;&|()<>\"'\\]|[\"'\\])+)",
    re.DOTALL,
)
_QUOTED = re.compile(r"\\.|\"((?:\\.|[^\"\\]++)*+)\"|'([^']*)'", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_DURATION = re.compile(r"[\d.]+[smhd]?")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*|py")


def parse_commands(line: str) -> list[Command]:
    """The programs that a line runs, in order; without what says nothing (``cd``) and what a pipe feeds."""
    return list(_commands(line[:MAX_LINE_CHARS], 0))


def main_command(found: Sequence[Command]) -> Command | None:
    """The command that a line is for; of several that do the same the first."""
    return min(found, key=lambda one: ACTION_PRIORITY.get(one.action, len(ACTION_PRIORITY)), default=None)


def program_of(line: str) -> str:
    """The first word of a line as the name of a program; ``""`` where there is none."""
    return program_name("".join(line.split(None, 1)[:1]))


def is_program(line: str) -> bool:
    """Whether a line starts with one of the usual programs."""
    program = program_of(line)
    known = program in PROGRAMS or program in SUBCOMMANDS or program in BUILD_TOOLS or program in RUNNERS
    return known or program in REMOTE_RUNNERS or bool(program_language(program))


def _commands(line: str, depth: int) -> Iterator[Command]:
    if "<<" in line:
        line = _UNENDED.sub(r"\2", _HERE_DOCUMENT.sub(r"\3", line))
    for stage in stages(line):
        words = [] if stage.fed else unwrapped(stage.words)
        if words and depth < MAX_NESTING and (inner := _nested_line(words)):
            found = list(_commands(inner, depth + 1))
            yield from found
            if program_name(words[0]) in REMOTE_RUNNERS:
                yield Command(VIA if found else "run", program_name(words[0]), ())
        elif words:
            yield from _command(words, stage.into)


def _command(words: list[str], into: str) -> Iterator[Command]:
    program = program_name(words[0])
    if SHELL_BUILTINS.get(program) == "shell" and len(words) > 1 and not words[1].startswith("-"):
        words = words[1:]  # a script
        program = program_name(words[0])
    if into and program in ("cat", "echo", "printf", "tee"):
        yield Command("edit", program, (into,))
    elif program and program not in SHELL_BUILTINS:
        arguments = tuple(_arguments(words[1:], OPTIONS_WITH_VALUE.get(program, ())))
        yield Command(_action(program, words, arguments), program, arguments)


def _nested_line(words: list[str]) -> str:
    """The line that a shell, or another place, is given to run; ``""`` where none is."""
    program = program_name(words[0])
    if SHELL_BUILTINS.get(program) == "shell":
        return next((words[i + 1] for i, word in enumerate(words[:-1]) if re.fullmatch(r"-\w*c", word)), "")
    if program not in REMOTE_RUNNERS:
        return ""
    options = OPTIONS_WITH_VALUE.get(program, ())
    rest = _without_options(words[1:], options)
    if rest[:1] == ["compose"]:
        rest = _without_options(rest[1:], options)
    if REMOTE_RUNNERS[program]:
        if not rest or rest[0] not in REMOTE_RUNNERS[program]:
            return ""
        rest = _without_options(rest[1:], options)
    rest = _without_options(rest[1:], options)
    return " ".join(rest) if program == "ssh" else shlex.join(rest)


class Stage(NamedTuple):
    """One command of a pipe, as it is written."""

    words: list[str]
    raw: str
    into: str
    """The file that its output goes into, if any."""
    fed: bool
    """Whether a pipe feeds it."""
    feeds: bool
    """Whether its output goes into a pipe."""


def stages(line: str) -> Iterator[Stage]:
    """Each command of a line, those in pipes' later parts included; one without words is what a group feeds."""
    words: list[str] = []
    into, fed, to_file, start = "", False, False, 0
    for token in _TOKEN.finditer(line):
        kind, text = token.lastgroup, token[0]
        if kind == "word":
            text = _QUOTED.sub(lambda one: next((part for part in one.groups() if part is not None), one[0]), text)
            if to_file:
                into, to_file = text, False
            else:
                words.append(text)
        elif kind == "into":
            to_file = True
        elif kind in ("list", "pipe", "group"):
            if words or kind == "pipe":
                yield Stage(words, line[start : token.start()].strip(), into, fed, kind == "pipe")
            fed = kind == "pipe" or (fed and kind == "group")
            words, into, to_file, start = [], "", False, token.end()
    if words:
        yield Stage(words, line[start:].strip(), into, fed, False)


def unwrapped(words: list[str]) -> list[str]:
    """A command without the words that only say how it is run."""
    while words:
        first, kind = program_name(words[0]), SHELL_BUILTINS.get(words[0])
        if kind == "loop":
            return []
        if kind == "leading" or _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif kind == "wrapper":
            words = _without_options(words[1:], OPTIONS_WITH_VALUE.get(first, ()))
            if first == "timeout" and words and _DURATION.fullmatch(words[0]):
                words = words[1:]
        elif first in RUNNERS and not RUNNERS[first]:
            words = _without_options(words[1:], ("-p", "--package", "--with"))
        elif first in RUNNERS and len(words) > 1 and words[1] in RUNNERS[first].split():
            words = _without_options(words[2:], ("--with", "--extra", "-p", "-n"))
        elif first == "coverage" and words[1:2] == ["run"]:
            words = ["python", *words[2:]]
        elif _PYTHON.fullmatch(first):
            rest = words[1:]
            while rest and rest[0].startswith("-") and rest[0] != "-m":
                rest = rest[2 if rest[0] in OPTIONS_WITH_VALUE["python"] else 1 :]
            if rest[:1] == ["-m"] and len(rest) > 1:
                words = rest[1:]
            else:
                return rest if rest and program_name(rest[0]) in SUBCOMMANDS else ["python", *words[1:]]
        else:
            return words
    return words


def program_name(program: str) -> str:
    """The name of a program: lower case, without its folder."""
    return program.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")


def _without_options(words: list[str], with_value: Sequence[str]) -> list[str]:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in with_value else words[1:]
    return words


def _arguments(words: Sequence[str], with_value: Sequence[str]) -> Iterator[str]:
    """Words that are no options, nor belong to one, nor choose a toolchain (``+nightly``)."""
    passed = True
    for word in words:
        if passed and not word.startswith(("-", "+")):
            yield word
        passed = word not in with_value


def _action(program: str, words: Sequence[str], arguments: Sequence[str]) -> str:
    """What a program does.

    Args:
        program: its name.
        words: the command as it is written.
        arguments: its words without options.
    """
    options = words[1:]
    first = arguments[0].lower() if arguments else ""
    if program in ("sed", "perl") and any(re.match(r"-\w*i", option) for option in options):
        return "edit"
    if program == "tsc" and "--noEmit" in options:
        return "lint"
    if program == "node" and "--test" in options:
        return "test"
    if program in BUILD_TOOLS:
        return next((found for word in arguments if (found := _action_of_script_name(word.lower()))), "build")
    if program in SCRIPT_RUNNERS and (script := _script(arguments)):
        return _action_of_script_name(script) or PROGRAMS.get(script) or "run"
    known = SUBCOMMANDS.get(program, {}).get(first) or PROGRAMS.get(program)
    if known or program in SUBCOMMANDS or not {"/", "\\", "."}.intersection(words[0]):
        return known or "run"
    return _action_of_script_name(program.partition(".")[0]) or "run"  # a script of the project's own


def _script(arguments: Sequence[str]) -> str:
    """The script of a project that a package manager is to run, if it is one: ``npm run lint``, ``yarn lint:fix``."""
    if arguments[:1] == ("workspace",):
        arguments = arguments[2:]
    if arguments and arguments[0] in ("run", "run-script"):
        return "".join(arguments[1:2]).lower()
    return "" if not arguments or arguments[0] in INSTALL_SUBCOMMANDS else arguments[0].lower()


def _action_of_script_name(script: str) -> str | None:
    """What a script that a project has named itself does, as far as its name says it: ``test:unit``, ``lint-fix``."""
    parts = (part.removesuffix("s") for part in re.split(r"[^a-z0-9]+", script))
    return next(
        (SCRIPT_ACTIONS[part] for part in parts if part in SCRIPT_ACTIONS), "install" if script == "install" else None
    )
