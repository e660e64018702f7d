"""Whether a program started a session is told as its host tells it, by hooks and transcripts alike."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.events import Event, HookRecord, IgnoredSession
from mnemic.hooks.read.formats import open_transcript
from mnemic.hooks.read.records import is_headless, is_headless_claude, is_headless_codex, read_record
from tests.paths import FIXTURES


def record(assistant: str, payload: dict[str, Any], *, event: str = "prompt", entry: str | None = None) -> HookRecord:
    written = json.dumps(payload).encode()
    return HookRecord(
        id=bytes(16), assistant=assistant, event=event, at=1, cwd=None, branch=None, payload=written, entry=entry
    )


def read(path: Path) -> list[Event]:
    with closing(open_transcript(str(path), "auto")) as source:
        return [item for item in source if isinstance(item, Event)]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("sdk-cli", True),
        ("sdk-py", True),
        ("claude-code-github-action", True),
        ("cli", False),
        ("claude-vscode", False),
        ("", False),
        (None, False),
        (7, False),
    ],
)
def test_claude_code_names_its_entry_point(entry: object, expected: bool) -> None:
    assert is_headless_claude(entry) == expected


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({"originator": "codex_exec", "source": "exec"}, True),
        ({"originator": "codex_exec", "source": {"subagent": {}}}, True),
        ({"originator": "codex_sdk_ts", "source": "vscode"}, True),
        ({"originator": "codex-tui", "source": "cli"}, False),
        ({"originator": 7}, False),
        ({}, False),
    ],
)
def test_codex_names_who_began_a_thread(meta: dict[str, Any], expected: bool) -> None:
    assert is_headless_codex(meta) == expected


def test_real_sessions_that_programs_started_are_told_so_and_their_subagents() -> None:
    claude, codex = FIXTURES / "transcripts" / "claude-code", FIXTURES / "transcripts" / "codex"
    seen = {
        (event.session.count("/"), event.headless, event.subagent)
        for path in (*claude.rglob("*.jsonl"), *codex.rglob("*.jsonl"))
        for event in read(path)
    }
    assert seen == {(0, True, False), (1, True, True)}


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini-cli", "opencode"])
def test_hooks_tell_the_same_of_subagents_as_transcripts(host: str) -> None:
    folder = FIXTURES / "hooks" / host
    told: dict[str, bool] = {}
    for line in (folder / "hooks.jsonl").read_text("utf-8").splitlines():
        given = json.loads(line)
        payload = given.get("payload", given)
        payload = payload if isinstance(payload, dict) else json.loads(payload)
        for one in read_record(record(host, payload)):
            if isinstance(one, Event):
                told[one.session] = one.subagent
    assert told
    assert all(subagent == ("/" in session) for session, subagent in told.items())


def test_a_hook_of_claude_code_says_it_by_what_its_shell_has() -> None:
    prompt = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "yes"}
    for entry, expected in (("sdk-cli", True), ("cli", False), (None, False)):
        (event,) = read_record(record("claude-code", prompt, entry=entry))
        assert isinstance(event, Event)
        assert event.headless == expected
    assert not is_headless(record("codex", prompt, entry="sdk-cli"), prompt), "the variable of another program"


def test_a_hook_of_codex_says_it_by_the_rollout_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    payload = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "x", "transcript_path": str(path)}
    asked = record("codex", payload)
    assert not is_headless(asked, payload), "it is not there yet"
    path.write_text("")
    assert not is_headless(asked, payload)
    path.write_text("no rollout\n")
    assert not is_headless(asked, payload)
    path.write_text(json.dumps({"type": "session_meta", "payload": {"originator": "codex_exec"}}) + "\n")
    assert is_headless(asked, payload)
    path.unlink()
    assert is_headless(asked, payload), "it says so once and for all"


def test_a_hook_of_opencode_says_it_by_its_plugin() -> None:
    payload: dict[str, Any] = {"session_id": "s", "headless": True}
    assert is_headless(record("opencode", payload), payload)
    assert not is_headless(record("opencode", {}), {})
    assert not is_headless(record("gemini-cli", payload), payload)


def test_a_session_that_is_to_be_left_alone_is_only_named() -> None:
    assert read_record(record("codex", {"session_id": "s/a"}, event="silenced")) == [
        IgnoredSession(assistant="codex", session="s/a")
    ]
