"""A machine whose clock stands before 1970, as one without a battery may: what is said is kept, as said in 1970."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.processes.faces import Outcome, lines, turn
from tests.waiting import BOUND_S

Command = Callable[..., Outcome]
START = """
import sys, time
time.time_ns, time.time = lambda: -(10**17), lambda: -1e8
"""
COMMANDS = f"{START}from mnemic.cli.main import main\nmain(sys.argv[1:])"


def before_1970(program: str, *arguments: object) -> str:
    """What a program prints that is told such a time."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=BOUND_S)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.decode()


@pytest.mark.system
def test_commands_keep_what_is_said_as_said_in_1970(command: Command, home: Path, tmp_path: Path) -> None:
    command("init", "--home", home)
    source = lines(tmp_path / "a.jsonl", turn("the otter sleeps"))
    assert "1 new memory" in before_1970(COMMANDS, "capture", source, "--no-meaning", "--home", home)
    before_1970(COMMANDS, "remember", "an otter's note", "--home", home)
    told = {"the otter sleeps", "an otter's note"}

    def found(printed: str) -> dict[str, str]:
        return {hit["text"]: hit["said_at"] for hit in json.loads(printed)["hits"]}

    asked = ("recall", "otter", "--scope", "*", "--json", "--home", home)
    said = found(before_1970(COMMANDS, *asked))
    assert said == dict.fromkeys(told, "1970-01-01T00:00:00Z") | {"the otter sleeps": None}  # its line says no time
    before_1970(COMMANDS, "pause", "--for", "2h", "--home", home)
    assert "paused" in before_1970(COMMANDS, "status", "--home", home)
    before_1970(COMMANDS, "resume", "--home", home)
    assert set(found(command(*asked).out)) == told  # by a clock that is right again
