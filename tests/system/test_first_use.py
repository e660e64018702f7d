"""From nothing to the first useful answer in a real terminal of 80 and of 120 columns, as a new user sees it.

What the screen shows is compared with what is kept in ``tests/golden/screens``, but for what differs by nature (ids,
times, sizes, keys). ``MNEMIC_SCREENS=write`` keeps what is shown now.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.cells import cell_len

from mnemic.runtime.version import __version__
from tests.paths import ROOT
from tests.processes.serving import end
from tests.processes.terminal import Shell, shell

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here"),
]

SCREENS = ROOT / "tests" / "golden" / "screens"
CLAUDE_SETTINGS = {"model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}
SAID = "The pier is closed in winter."
STEERING = "A memory that \x1b[31mpaints\x1b[0m and \x1b]0;renames\x07 the window."
DIFFERS = [
    (re.compile(r"[A-Z2-7]{4}(-[A-Z2-7]{4}){5,}"), "RECOVERY-KEY"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "WHOLE-ID"),
    (re.compile(r"(?<=\s)[0-9a-f]{8}\b(?!-)"), "SHORT-ID"),
    (re.compile(r"\d+(\.\d)? (ms|s)\b"), "TIME"),
    (re.compile(r"\d+(\.\d)? (kB|MB)\b"), "SIZE"),
    (re.compile(r"\b0\.\d\d\b"), "FIT"),
    (re.compile(rf"\b{datetime.now(UTC).year}-\d\d-\d\d \d\d:\d\d"), "MINUTE"),
    (re.compile(rf"\b{datetime.now(UTC).year}-\d\d-\d\d"), "DAY"),
    (re.compile(rf"Mnemic {re.escape(__version__)}"), "Mnemic VERSION"),
]
_MACHINE = re.compile(r"  kept: .*\n(?:  on .*\n|  Mnemic .*\n)?")
"""Who kept it: wrapped by how long the machine's name is."""


@pytest.fixture(params=[80, 120])
def columns(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def user() -> Iterator[Path]:
    """The home folder of somebody who has Claude Code, with settings and a session of their own.

    Its path is as long on every machine, since lines are wrapped by it.
    """
    with tempfile.TemporaryDirectory(prefix="u", dir="/tmp") as made:
        _fill(Path(made))
        yield Path(made)


def _fill(folder: Path) -> None:
    project = folder / ".claude" / "projects" / "-home-ines-pier"
    project.mkdir(parents=True)
    (folder / ".claude" / "settings.json").write_text(json.dumps(CLAUDE_SETTINGS), "utf-8")
    turns = [
        {
            "type": "user",
            "sessionId": "one",
            "uuid": f"turn-{number}",
            "parentUuid": None,
            "cwd": "/home/ines/pier",
            "timestamp": f"2024-11-2{number}T14:05:00Z",
            "message": {"role": "user", "content": text},
        }
        for number, text in enumerate((SAID, "Tickets are sold at the kiosk.", STEERING))
    ]
    (project / "one.jsonl").write_text("".join(json.dumps(one) + "\n" for one in turns), "utf-8")


def normalised(line: str, user: Path) -> str:
    line = line.replace(str(user), "HOME").replace("~/", "HOME/")
    for pattern, name in DIFFERS:
        line = pattern.sub(name, line)
    return line


def steps(terminal: Shell) -> list[tuple[int, list[str]]]:
    """What a new user types, one after the other."""
    return [
        terminal.run("mnemic"),
        terminal.run("mnemic setup --no-backfill", ("[Y/n]:", "y")),
        terminal.run("mnemic capture ~/.claude/projects"),
        terminal.run("mnemic recall when is the pier closed -n 1"),
        terminal.run("mnemic log"),
        terminal.run("mnemic show @3"),
        terminal.run("mnemic remember The pier opens again in March. --scope pier"),
        terminal.run("mnemic forget @1 --reason 'was a joke'"),
        terminal.run("mnemic recall when does the pier open again -n 1"),
        terminal.run("mnemic"),
    ]


def test_a_new_user_comes_from_nothing_to_an_answer_and_back(columns: int, user: Path) -> None:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    environment = {"HOME": str(user), "PATH": path, "LC_ALL": "C.UTF-8", "TZ": "UTC", "OPENBLAS_NUM_THREADS": "1"}
    home = user / ".local" / "share" / "mnemic"
    try:
        with shell(columns, environment, user) as terminal:
            shown = steps(terminal)
    finally:
        end(home)
    assert [code for code, _ in shown] == [0] * len(shown)
    lines = [line for _, screen in shown for line in (*screen, "")]
    assert all(cell_len(line) <= columns for line in lines)
    assert b"\x1b[31mpaints" not in terminal.written
    assert b"\x1b]0;renames" not in terminal.written
    assert b"\x1b[36m" in terminal.written  # there are colours
    told = [normalised(line, user) for line in lines if "━" not in line]  # bars are as long as the work
    text = _MACHINE.sub("  kept: …\n", "\n".join(told) + "\n")
    kept = SCREENS / f"{columns}.txt"
    if os.environ.get("MNEMIC_SCREENS") == "write":
        kept.write_text(text, "utf-8")
    assert text.splitlines() == kept.read_text("utf-8").splitlines()
