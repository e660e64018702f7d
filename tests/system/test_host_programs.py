"""Transcripts of the real Claude Code and Codex: what their script says is exactly what is read.

They talk to a scripted model on loopback. Where the programs are not there, these tests are skipped.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemic.hooks import find_transcripts
from tests.assistants.programs import ASSISTANTS, World, programs

pytestmark = pytest.mark.system


def two_sessions(name: str, folder: Path) -> World:
    """A session with two calls, of which one fails, and another one that goes on with it."""
    programs()
    world = World(folder / "world", ASSISTANTS[name])
    tool, argument = world.assistant.shell
    calls = [f"[[do {tool} {json.dumps({argument: command})}]]" for command in ("echo one", "exit 3")]
    world.say(f"Try it. {' '.join(calls)} [[say Both were tried.]]")
    world.say("yes", resume=True)
    return world


def said_and_done(read: Any, table: Any, folder: Path) -> list[str]:
    """The rows of the one transcript in a folder, without what the host injected."""
    (path,) = find_transcripts(str(folder))
    sessions = {event.session for event in read(path)}
    assert len(sessions) == 1
    return [row for row in table(path) if not row.startswith("injected")]


def test_a_scripted_session_of_claude_code_is_read_exactly(tmp_path: Path, read: Any, table: Any) -> None:
    world = two_sessions("claude-code", tmp_path)
    assert said_and_done(read, table, world.home / ".claude" / "projects") == [
        'turn user | Try it. [[do Bash {"command": "echo one"}]]',
        "tool_call assistant Bash | Bash⏎command: echo one",
        "tool_result tool Bash ok | one",
        "tool_call assistant Bash | Bash⏎command: exit 3",
        "tool_result tool Bash failed | Exit code 3",
        "turn assistant | Both were tried.",
        "turn user | yes",
        "turn assistant | Both were tried.",
    ]


def test_a_scripted_session_of_codex_is_read_exactly(tmp_path: Path, read: Any, table: Any) -> None:
    world = two_sessions("codex", tmp_path)
    rows = said_and_done(read, table, world.home / ".codex" / "sessions")
    results = [row.split(" | ")[0] for row in rows if row.startswith("tool_result")]
    assert results == ["tool_result tool exec_command ok", "tool_result tool exec_command failed"]
    assert [row for row in rows if not row.startswith("tool_result")] == [
        'turn user | Try it. [[do exec_command {"cmd": "echo one"',
        "tool_call assistant exec_command | exec_command⏎cmd: echo one",
        "tool_call assistant exec_command | exec_command⏎cmd: exit 3",
        "turn assistant | Both were tried.",
        "turn user | yes",
        "turn assistant | Both were tried.",
    ]
