"""What the tests of the faces share: the command in a process of its own, small transcripts, waiting."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from mnemic.runtime.minds.scope_trust import trust_folder
from tests.paths import ROOT
from tests.waiting import BOUND_S

COMMAND = (sys.executable, "-W", "error", "-m", "mnemic")
EXAMPLE = ROOT / "mnemic" / "example"


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as JSON: one line, and nothing else."""
        assert self.out.count("\n") == 1
        return json.loads(self.out)


def start(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    """Start the command; all three streams are pipes unless the options say otherwise."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*COMMAND, *map(str, arguments)], **(pipes | options))


def finish(process: subprocess.Popen[bytes], given: bytes | None = None) -> Outcome:
    """Give a command what it reads, and wait for its end."""
    try:
        out, err = process.communicate(given, timeout=BOUND_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return Outcome(process.returncode, (out or b"").decode(), (err or b"").decode())


def run(*arguments: object, given: bytes = b"", **options: Any) -> Outcome:
    """Run the command in a process of its own."""
    return finish(start(*arguments, **options), given)


def lines(path: Path, *objects: dict[str, Any]) -> Path:
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(one) + "\n" for one in objects), "utf-8")
    return path


def turn(text: str, session: str = "s", **fields: Any) -> dict[str, Any]:
    """A generic line."""
    return {"session": session, "role": "user", "text": text, **fields}


def claude_turn(text: str, cwd: Path, number: int = 1) -> dict[str, Any]:
    """A line as Claude Code writes it, of a session in a folder."""
    return {
        "type": "user",
        "sessionId": f"session-of-{cwd.name}",
        "uuid": f"{cwd.name}-{number}",
        "parentUuid": None,
        "cwd": str(cwd),
        "timestamp": "2026-11-21T14:05:00Z",
        "message": {"role": "user", "content": text},
    }


def name_scope(home: Path, folder: Path, scope: str) -> Path:
    """Have a folder name its scope by a file, and the owner of a home confirm it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".mnemic.toml").write_text(f'scope = "{scope}"\n', "utf-8")
    trust_folder(home, str(folder))
    return folder


def git_project(folder: Path) -> Path:
    """A folder that git would take for a repository."""
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    return folder
