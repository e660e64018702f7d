"""The memory's command in every assistant's shell: neither hooks nor transcripts tell what it was asked or answered."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.events import Event, HookRecord, MalformedLine, to_text
from mnemic.hooks import open_transcript
from mnemic.hooks.read.records import read_record
from tests.hooks.shells import HOSTS, MARKED, MEMORY, claude_line, codex_item, hook_payload, transcript

OWN = [
    "mnemic recall mast --scope '*'",
    "cd /srv && ./.venv/bin/mnemic recall mast | head -3",
    "uv run mnemic --json log",
]
READ = [host for host in HOSTS if host != "cursor"]
"""Hosts whose transcripts are read."""


def hooked(host: str, *calls: tuple[str, str]) -> list[Event]:
    told: list[Event] = []
    for number, (line, printed) in enumerate(calls):
        event, payload = hook_payload(host, line, printed, f"c{number}")
        raw = json.dumps(payload).encode()
        record = HookRecord(id=bytes(16), assistant=host, event=event, at=7, cwd=None, branch=None, payload=raw)
        told += [one for one in read_record(record) if isinstance(one, Event)]
    return told


def written(path: Path, host: str, *lines: Any) -> list[Event]:
    """What a transcript of such lines tells."""
    file = path / ("session.json" if host == "opencode" else "session.jsonl")
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    source = open_transcript(str(file), host)
    try:
        told: Iterable[object] = list(source)
    finally:
        source.close()
    assert not [one for one in told if isinstance(one, MalformedLine)]
    return [one for one in told if isinstance(one, Event)]


def rows(told: Iterable[Event]) -> list[str]:
    return [f"{one.kind} {to_text(one.text)}" for one in told]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("line", OWN)
def test_a_hook_tells_nothing_of_it(host: str, line: str) -> None:
    assert hooked(host, (line, MEMORY), (line, MARKED)) == []


@pytest.mark.parametrize("host", READ)
@pytest.mark.parametrize("line", OWN)
def test_a_transcript_tells_nothing_of_it(host: str, line: str, tmp_path: Path) -> None:
    assert written(tmp_path, host, *transcript(host, line, MEMORY)) == []


@pytest.mark.parametrize("host", READ)
def test_of_a_mixed_line_both_tell_the_same_rest(host: str, tmp_path: Path) -> None:
    line, printed = "git log -1; mnemic recall mast; make", f"one\n{MARKED}two\n"
    by_hook, by_transcript = hooked(host, (line, printed)), written(tmp_path, host, *transcript(host, line, printed))
    assert rows(by_hook) == rows(by_transcript)[: len(by_hook)]
    call, result = rows(by_transcript)
    assert call.split("\n", 1)[1].partition(": ")[2] == "git log -1\nmake"
    assert result.endswith("one\ntwo\n")
    unmarked = written(tmp_path, host, *transcript(host, line, f"one\n{MEMORY}\ntwo\n"))
    assert rows(unmarked) == [call]


def test_cursors_hook_tells_the_rest_of_a_mixed_line() -> None:
    told = rows(hooked("cursor", ("git log; mnemic recall mast", f"one\n{MARKED}")))
    assert told == ["tool_call Shell\ncommand: git log", "tool_result one\n"]


def test_what_claude_code_runs_in_the_background_is_left_to_the_transcript_which_knows_whose_it_is(
    tmp_path: Path,
) -> None:
    started = claude_line("assistant", {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": OWN[0]}})
    went_on = "Command running in background with ID: b7k. Output is being written to: /tmp/x/tasks/b7k.output."
    lines = [started, claude_line("user", {"type": "tool_result", "tool_use_id": "a", "content": went_on})]
    for call, tool, given, printed in (
        ("b", "TaskOutput", {"task_id": "b7k"}, MEMORY),
        ("c", "Read", {"file_path": "/tmp/x/tasks/b7k.output"}, MEMORY),
        ("d", "TaskOutput", {"task_id": "other"}, "built"),
    ):
        lines.append(claude_line("assistant", {"type": "tool_use", "id": call, "name": tool, "input": given}))
        lines.append(claude_line("user", {"type": "tool_result", "tool_use_id": call, "content": printed}))
        payload = {"hook_event_name": "PostToolUse", "session_id": "s", "cwd": "/src", "tool_use_id": call}
        payload |= {"tool_name": tool, "tool_input": given, "tool_response": printed}
        raw = json.dumps(payload).encode()
        record = HookRecord(
            id=bytes(16), assistant="claude-code", event="tool", at=7, cwd=None, branch=None, payload=raw
        )
        assert read_record(record) == []
    assert rows(written(tmp_path, "claude-code", *lines)) == [
        "tool_call TaskOutput\ntask_id: other",
        "tool_result built",
    ]


def test_a_session_of_codexs_shell_that_runs_it_is_its_own(tmp_path: Path) -> None:
    lines = transcript("codex", "mnemic recall mast", "")[:2]
    lines.append(codex_item("function_call_output", call_id="c1", output="Process running with session ID 15514\n"))
    given = json.dumps({"session_id": 15514, "chars": "", "yield_time_ms": 1000})
    lines.append(codex_item("function_call", call_id="c2", name="write_stdin", arguments=given))
    lines.append(codex_item("function_call_output", call_id="c2", output=f"Output:\n{MEMORY}"))
    assert written(tmp_path, "codex", *lines) == []
    payload = {"hook_event_name": "PostToolUse", "session_id": "s", "cwd": "/src", "tool_use_id": "c2"}
    payload |= {"tool_name": "write_stdin", "tool_input": json.loads(given), "tool_response": MEMORY}
    raw = json.dumps(payload).encode()
    record = HookRecord(id=bytes(16), assistant="codex", event="tool", at=7, cwd=None, branch=None, payload=raw)
    assert read_record(record) == []


def test_what_the_user_has_the_host_run_is_not_told(tmp_path: Path) -> None:
    claude = [
        claude_line("user", "<bash-input>mnemic recall mast</bash-input>"),
        claude_line("user", f"<bash-stdout>{MEMORY}</bash-stdout><bash-stderr></bash-stderr>"),
        claude_line("user", "<bash-input>git log; mnemic recall mast</bash-input>"),
        claude_line("user", f"<bash-stdout>one\n{MARKED}</bash-stdout><bash-stderr></bash-stderr>"),
    ]
    assert rows(written(tmp_path, "claude-code", *claude)) == [
        "injected <bash-input>git log</bash-input>",
        "injected <bash-stdout>one\n</bash-stdout><bash-stderr></bash-stderr>",
    ]
    ran = f"<command>\nmnemic log\n</command>\n<result>\n{MEMORY}\n</result>"
    block = {"type": "input_text", "text": f"<user_shell_command>\n{ran}\n</user_shell_command>"}
    codex = [transcript("codex", "", "")[0], codex_item("message", role="user", content=[block])]
    assert written(tmp_path, "codex", *codex) == []
    ran = "I ran the following shell command:\n```sh\nmnemic log\n```\n\nThis produced the following result:\n"
    message = {"id": "m", "type": "user", "content": [{"text": f"{ran}```\n{MEMORY}\n```"}]}
    assert written(tmp_path, "gemini-cli", {"sessionId": "s", "projectHash": "p"}, message) == []


def test_of_gemini_which_names_no_call_neither_counts_what_is_left_out(tmp_path: Path) -> None:
    calls = [("make", "built"), ("mnemic recall mast; make", f"{MARKED}built"), ("make", "built")]
    lines: list[Any] = [{"sessionId": "s", "projectHash": "p"}]
    for number, (line, printed) in enumerate(calls):
        (told,) = transcript("gemini-cli", line, printed, f"c{number}")[1:]
        lines.append(told | {"id": f"m{number}"})
    assert rows(hooked("gemini-cli", *calls)) == rows(written(tmp_path, "gemini-cli", *lines))
