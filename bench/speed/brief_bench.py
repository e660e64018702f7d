"""The brief bench: how long a session's start waits for what it is told, with a process and without one.

With a process: one request on a connection of its own, as the hook makes it. Without: the whole command that the hook
starts then, beside an interpreter that does nothing at all. With ``--data FILE`` (LoCoMo's) also how often what is told
beside a prompt is right (`mnemic.bench.quality.prompt_recall`).
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from mnemic.bench.harness.homes import BENCH_SCOPE, IDLE_SETTINGS, MIND_NAME, fill_home, lexical_settings
from mnemic.bench.harness.processes import COMMAND, served
from mnemic.bench.quality.prompt_recall import measure_prompt_recall
from mnemic.runtime.minds.run_dir import PROTOCOL
from mnemic.runtime.models.encoders import load_encoder

__all__ = ["run"]

_GOAL_MS = {"process": 20.0, "alone": 300.0}
_STANDING_RULES = 30
_REQUESTS = 200
_COMMANDS = 40


def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Fill a home, and ask it.

    Raises:
        ValueError: it cannot be served, or the data set is none.
        OSError, KeyError: the data set cannot be read.
    """
    rows = list(measure_prompt_recall(arguments.data)) if arguments.data is not None else []
    with tempfile.TemporaryDirectory(prefix="mnemic-brief-") as folder:
        home, project = Path(folder) / "home", Path(folder) / "project"
        home.mkdir(mode=0o700)
        project.mkdir()
        (project / ".mnemic.toml").write_text(f'scope = "{BENCH_SCOPE.path}"\n', "utf-8")
        encoder = None if arguments.no_model else load_encoder(None)
        settings = lexical_settings(home) if encoder is None else IDLE_SETTINGS
        fill_home(home, arguments.memories, seed=arguments.seed, encoder=encoder, settings=settings)
        _add_standing_rules(home, Path(folder) / "held.jsonl")
        return [*rows, *_rows(home, project, arguments.memories, prompts=encoder is not None)]


def _rows(home: Path, project: Path, memories: int, *, prompts: bool) -> Iterator[dict[str, Any]]:
    start = json.dumps({"session_id": "bench", "source": "startup"}).encode()
    with served(home, "embedded") as card:
        yield _row(
            "session start, a process up",
            memories,
            lambda _: _request(card.http_socket, project, "session-start", start),
            _REQUESTS,
            _GOAL_MS["process"],
        )
        if prompts:

            def ask(number: int) -> bytes:
                prompt = {"hook_event_name": "UserPromptSubmit", "prompt": f"what of word {number} was decided?"}
                body = json.dumps({"session_id": f"bench-{number}", **prompt}).encode()
                return _request(card.http_socket, project, "prompt", body)

            yield _row("beside a prompt, a process up", memories, ask, _REQUESTS, None)
    command = [sys.executable, "-P", "-m", "mnemic.session_start", "--assistant", "claude-code"]
    command += ["--event", "session-start", "--home", str(home), "--mind", MIND_NAME, "--cwd", str(project)]
    yield _row(
        "session start, no process", memories, lambda _: _run_command(command, start), _COMMANDS, _GOAL_MS["alone"]
    )
    nothing = [sys.executable, "-c", "pass"]
    yield _row("competitor: python -c pass", memories, lambda _: _run_command(nothing, b""), _COMMANDS, None)


def _row(what: str, memories: int, act: Callable[[int], bytes], count: int, goal_ms: float | None) -> dict[str, Any]:
    said = act(0)  # the first one loads
    took = []
    for number in range(1, count + 1):
        started = time.perf_counter()
        act(number)
        took.append(1e3 * (time.perf_counter() - started))
    p50, p95 = np.quantile(took, (0.5, 0.95))
    row = {"what": what, "memories": memories, "p50_ms": float(p50), "p95_ms": float(p95), "n": count}
    row["answer_bytes"] = len(said)
    return row if goal_ms is None else row | {"goal_p95_ms": goal_ms, "met": bool(p95 <= goal_ms)}


def _request(path: str, project: Path, event: str, body: bytes) -> bytes:
    headers = {"Mnemic-Protocol": str(PROTOCOL), "Mnemic-Mind": MIND_NAME, "Mnemic-Create": "0", "Connection": "close"}
    headers |= {"Mnemic-Assistant": "claude-code", "Mnemic-Event": event, "Mnemic-Cwd": quote(str(project))}
    connection = http.client.HTTPConnection("mnemic")
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.connect(path)
    with closing(connection):
        connection.request("POST", "/api/hook", body, headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise ValueError(f"the process answered {answer.status}")
        return answer.read()


def _run_command(command: list[str], given: bytes) -> bytes:
    return subprocess.run(command, input=given, capture_output=True, check=True).stdout


def _add_standing_rules(home: Path, lines: Path) -> None:
    """Keep decisions and turns that hold, so that there is as much to tell as a budget has room for."""
    held = [
        {
            "session": f"held-{number}",
            "role": "user",
            "scope": BENCH_SCOPE.path,
            "text": f"From now on rule {number} holds. " * 4,
        }
        | ({"kind": "decision"} if number % 2 else {})
        for number in range(_STANDING_RULES)
    ]
    lines.write_text("".join(json.dumps(line) + "\n" for line in held), "utf-8")
    command = [*COMMAND, "capture", str(lines), "--no-meaning", "--home", str(home)]
    subprocess.run(command, capture_output=True, check=True)
