"""A user at a shell, for the commands of a page: folders of their own, what was typed run here, what it printed."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TextIO

import click
import pytest

from mnemic.cli.context import cli
from mnemic.cli.main import main
from mnemic.runtime.minds.homes import default_home
from tests.docs.pages import Command
from tests.foreign_stores import copy_store
from tests.hooks.imports.exports import gpt_pier, zipped
from tests.paths import FIXTURES
from tests.processes.faces import EXAMPLE

USER = "/home/ada"
"""What the user's folder is called in what a page shows."""
TORN = "c4981233"
"""The session of the example in which a line is torn."""
YES = "y\n"
"""What somebody at a terminal says to whatever a command asks."""
SCORE_SLACK = 0.011
_TIMES = re.compile(r"\b[\d,]+ ms\b|\b\d+\.\d+ s\b")
_PROCESS = re.compile(r"\bprocess \d+\b")
_DAY = re.compile(r"\b(?P<day>\d{4}-\d\d-\d\d)(?: \d\d:\d\d)?")
_EXAMPLE_DAYS = ("2026-09-21", "2026-10-27")
_ID = re.compile(r"\b(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{8})\b")
_SCORE = re.compile(r"-?\b\d+\.\d\d\b")


class _Terminal(io.TextIOWrapper):
    """What somebody at a terminal says."""

    def isatty(self) -> bool:
        return True


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


class User:
    """Somebody with the example in their memory, and its transcripts where their assistants keep them."""

    def __init__(self, folder: Path, captured: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder / "user"
        """Their own, which is the working folder as well."""
        self.names: dict[str, str] = {}
        """Ids as the page shows them, and as they are here."""
        for name in [name for name in os.environ if name.startswith(("XDG_", "MNEMIC_")) or name == "COLUMNS"]:
            patch.delenv(name)
        patch.delenv("SHELL", raising=False)
        patch.setenv("HOME", str(self.folder))
        for home in (default_home(os.environ), self.folder / "memories"):
            shutil.copytree(captured, home)
        shutil.copytree(EXAMPLE, self.folder / "mnemic" / "example")
        for host, taken in ((".claude/projects", "claude"), (".codex/sessions", "codex")):
            shutil.copytree(EXAMPLE / taken, self.folder / host, ignore=shutil.ignore_patterns(f"{TORN}*"))
        for store, folder in (("mem0-later", ".mem0"), ("mempalace-later", ".mempalace")):
            copy_store(store, self.folder).rename(self.folder / folder)
        for folder in ("src/slip", "src/slipway", "src/shelf", ".gemini/tmp", ".local/share/opencode"):
            (self.folder / folder).mkdir(parents=True)
        (self.folder / "notes").mkdir()
        (self.folder / "notes" / "boats.md").write_text("# Boats\n\nThe Kittiwake takes in water.\n", "utf-8")
        (self.folder / "Downloads").mkdir()
        zipped(self.folder / "Downloads" / "chatgpt.zip", {"conversations.json": [gpt_pier()]})
        shutil.copytree(FIXTURES / "imports" / "basic-memory", self.folder / "basic-memory")
        shutil.copytree(FIXTURES / "imports" / "basic-memory", self.folder / "vault")
        (self.folder / "vault" / ".obsidian").mkdir()
        for words in ("init -q", "-c user.name=Ada -c user.email=ada@x commit -q --allow-empty -m Launched"):
            subprocess.run(["git", *words.split()], cwd=_made(self.folder / "boats"), check=True)
        (self.folder / "src" / "shelf" / ".mnemic.toml").write_text('scope = "work/shelf"\n', "utf-8")
        patch.setenv("PATH", os.pathsep.join([os.path.dirname(sys.executable), "/usr/bin", "/bin"]))
        patch.chdir(self.folder)

    def type(self, command: Command, said: str = "") -> tuple[int, list[str]]:
        """Run what somebody typed; the exit code, and the lines that it printed.

        Args:
            said: what they say then: ``y`` at a terminal, or lines of standard input.
        """
        written = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True)
        code: object = 0
        mask, handler = os.umask(0o077), signal.getsignal(signal.SIGTERM)  # the command sets both
        with self._given(command.piped_from, said) as stdin, redirect_stdout(written), redirect_stderr(written):
            before, sys.stdin = sys.stdin, stdin
            try:
                main(self._expanded(command.words[1:]))
            except SystemExit as ended:
                code = ended.code
            finally:
                sys.stdin = before
                os.umask(mask)
                signal.signal(signal.SIGTERM, handler)
        assert isinstance(code, int)
        written.seek(0)
        printed = written.read().replace(str(self.folder), USER)
        return code, [line.rstrip() for line in printed.splitlines()]

    def _expanded(self, words: Sequence[str]) -> list[str]:
        """The words with the user's folder for ~, and with the ids that memories have here."""
        named = [_ID.sub(lambda found: self.names.get(found[0], found[0]), word) for word in words]
        return [os.path.expanduser(word) for word in named]

    @contextmanager
    def _given(self, program: str, said: str) -> Iterator[TextIO]:
        """Standard input: what a program prints, or what the user says."""
        path = self.folder.parent / "given"
        printed = subprocess.run(program, shell=True, check=True, capture_output=True).stdout if program else b""
        path.write_bytes(printed or said.encode())
        with (_Terminal if said == YES else io.TextIOWrapper)(path.open("rb"), "utf-8") as given:
            yield given

    def differences(self, shown: Sequence[str], printed: Sequence[str]) -> list[str]:
        """Where what a page shows is not what was printed; what differs by nature is none."""
        if len(shown) != len(printed):
            return [f"{len(shown)} lines are shown, and {len(printed)} printed"]
        found = []
        for line, now in zip(shown, printed, strict=True):
            if _skeleton(line) != _skeleton(now) or any(
                abs(float(one) - float(other)) > SCORE_SLACK
                for one, other in zip(_SCORE.findall(line), _SCORE.findall(now), strict=True)
            ):
                found += [f"shown:   {line}", f"printed: {now}"]
            else:
                self.names.update(zip(_ID.findall(line), _ID.findall(now), strict=True))
        return found


def _skeleton(line: str) -> str:
    """A line without what differs from run to run: times taken, ids, scores, and days after the example's."""
    for pattern, name in ((_TIMES, "TIME"), (_PROCESS, "PROCESS"), (_ID, "ID"), (_SCORE, "SCORE")):
        line = pattern.sub(name, line)
    first, end = _EXAMPLE_DAYS
    return _DAY.sub(lambda found: found[0] if first <= found["day"] < end else "DAY", line)


def named_command(words: Sequence[str]) -> tuple[click.Command, list[str]]:
    """The command that words begin with, or the group of all where they begin with none, and the words after it."""
    command: click.Command = cli
    rest = list(words)
    cli.load_all()
    while isinstance(command, click.Group) and rest and rest[0] in command.commands:
        command = command.commands[rest.pop(0)]
    return command, rest


def accepts(words: Sequence[str]) -> None:
    """Have click parse what somebody typed, and do nothing.

    Raises:
        click.UsageError: there is no such command or option, or an argument is missing.
    """
    command: click.Command = cli
    name, rest = "mnemic", list(words)
    context: click.Context | None = None
    while True:
        context = command.make_context(name, rest, parent=context)
        if not isinstance(command, click.Group):
            return
        rest = [*context._protected_args, *context.args]
        if not rest:
            assert command.invoke_without_command, words
            return
        found, below, rest = command.resolve_command(context, rest)
        assert found is not None
        assert below is not None
        name, command = found, below
