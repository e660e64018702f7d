"""A user at a terminal: what is in their folder, what they answer, and the transcripts that an assistant has kept."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.processes.faces import claude_turn, lines


def everything(folder: Path) -> dict[str, bytes]:
    """What each file below a folder holds."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Terminal:
    """A standard input that says it is a terminal, and answers."""

    def __init__(self, *answers: str | type[BaseException]) -> None:
        self._answers = list(answers)

    def isatty(self) -> bool:
        return True

    def readline(self, *_: Any) -> str:
        answer = self._answers.pop(0)
        if not isinstance(answer, str):
            raise answer
        return answer + "\n"


def asked(monkeypatch: pytest.MonkeyPatch, *answers: str | type[BaseException]) -> None:
    """Have standard input be a terminal at which this is answered, or raised."""
    terminal = Terminal(*answers)
    monkeypatch.setattr(sys, "stdin", terminal)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda prompt="": terminal.readline().rstrip("\n"))


def transcripts(user: Path, number: int) -> None:
    """Put sessions of Claude Code, one turn each, where it keeps them."""
    folder = user / ".claude" / "projects" / "-home-ada"
    folder.mkdir(parents=True)
    (user / "proj").mkdir()
    for one in range(number):
        lines(folder / f"{one}.jsonl", claude_turn(f"an otter, the {one}th", user / "proj", one))
