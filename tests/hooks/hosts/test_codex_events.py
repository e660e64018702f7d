"""Codex's hooks: what each payload tells. Whole sessions are in `tests.hooks.hosts.test_events`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mnemic.actors.kernel.errors import UnreadableRecord
from mnemic.actors.kernel.events import Event, HookEvent, HookRecord, TranscriptRef, to_text
from mnemic.hooks.hosts.codex_events import IGNORED_EVENTS
from mnemic.hooks.read.records import read_record

PATCH = "*** Begin Patch\n*** Update File: a.py\n+x\n*** End Patch"


def tell(event: str, **fields: Any) -> list[HookEvent]:
    payload = {"hook_event_name": event, "session_id": "t", "transcript_path": "/r/t.jsonl", "cwd": "/src", **fields}
    raw = json.dumps(payload).encode()
    return read_record(
        HookRecord(id=bytes(16), assistant="codex", event="", at=7, cwd=None, branch="main", payload=raw)
    )


def rows(told: list[HookEvent]) -> list[str]:
    found = []
    for one in told:
        if isinstance(one, Event):
            head = " ".join(part for part in (one.kind, one.role, one.tool, one.outcome) if part)
            found.append(f"{one.session} {head} | {to_text(one.text)}")
        else:
            assert isinstance(one, TranscriptRef)
            found.append(f"{one.path} {'ended' if one.ended else 'goes on'}")
    return found


def used(name: str, arguments: object, response: object, **more: Any) -> list[str]:
    call = {"tool_name": name, "tool_use_id": "c", "tool_input": arguments, "tool_response": response}
    return rows(tell("PostToolUse", **call, **more))


def test_prompts_and_answers_are_turns() -> None:
    assert rows(tell("UserPromptSubmit", prompt=" hello\n")) == ["t turn user |  hello\n"]
    assert tell("UserPromptSubmit", prompt="") == []
    answer = rows(tell("Stop", last_assistant_message=" hi"))
    assert answer == ["t turn assistant |  hi", "/r/t.jsonl goes on"]
    assert tell("Stop", last_assistant_message=None, transcript_path=None) == [], "a thread that is not kept"


@pytest.mark.parametrize(
    ("event", "end"),
    [("SessionStart", "goes on"), ("PreCompact", "goes on"), ("PostCompact", "goes on"), ("SessionEnd", "ended")],
)
def test_a_thread_names_its_rollout(event: str, end: str) -> None:
    assert rows(tell(event)) == [f"/r/t.jsonl {end}"]


def test_a_command_is_told_under_the_rollouts_name_and_its_output_left_to_that_which_knows_how_it_ended() -> None:
    assert used("Bash", {"command": "ls"}, "Exit code: 0\nOutput:\na\n") == [
        "t tool_call assistant exec_command | exec_command\ncmd: ls"
    ]


@pytest.mark.parametrize(
    ("response", "result"),
    [
        ({"content": [{"type": "text", "text": "a"}], "isError": False}, "ok | a"),
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "AA"}], "isError": False},
            "ok | a\n[image]",
        ),
        ({"content": [], "structuredContent": {"b": ["é", 1]}, "isError": False}, 'ok | {"b":["é",1]}'),
        ({"content": [{"type": "text", "text": "no"}], "isError": True}, "failed | no"),
    ],
)
def test_a_servers_answer_is_told_with_its_outcome(response: object, result: str) -> None:
    assert used("mcp__a__b", {"q": 1}, response) == [
        "t tool_call assistant mcp__a__b | mcp__a__b\nq: 1",
        f"t tool_result tool mcp__a__b {result}",
    ]


def test_this_memorys_own_tools_are_not_told() -> None:
    assert used("mcp__mnemic__memory_recall", {"query": "q"}, {"content": [], "isError": False}) == []


@pytest.mark.parametrize(
    ("name", "arguments", "tool", "text", "files"),
    [
        ("apply_patch", {"command": PATCH}, "apply_patch", f"apply_patch\n{PATCH}", ("a.py",)),
        ("Bash", {"command": f"apply_patch <<E\n{PATCH}\nE"}, "exec_command", None, ("a.py",)),
        ("Bash", {"command": ["ls"]}, "exec_command", 'exec_command\ncommand: ["ls"]', ()),
        ("view_image", {"path": "p.png"}, "view_image", "view_image\npath: p.png", ("p.png",)),
        ("spawn_agent", {"message": "m"}, "multi_agent_v1__spawn_agent", None, ()),
        ("unheard", None, "unheard", "unheard", ()),
    ],
)
def test_calls_have_the_rollouts_names_texts_and_files(
    name: str, arguments: object, tool: str, text: str | None, files: tuple[str, ...]
) -> None:
    (call,) = tell("PostToolUse", tool_name=name, tool_use_id="c", tool_input=arguments, tool_response="x")
    assert isinstance(call, Event)
    assert (call.tool, call.files, call.host_id) == (tool, files, "c")
    assert text in (None, to_text(call.text))


def test_a_subagent_is_announced_with_what_it_does_and_ended_with_its_answer() -> None:
    assert used("Bash", {"command": "ls"}, "", agent_id="a", transcript_path="/r/a.jsonl") == [
        "t/a tool_call assistant exec_command | exec_command\ncmd: ls",
        "/r/a.jsonl goes on",
    ]
    end = {"agent_transcript_path": "/r/a.jsonl", "last_assistant_message": "Two."}
    assert rows(tell("SubagentStop", agent_id="a", **end)) == ["t/a turn assistant | Two.", "/r/a.jsonl ended"]
    assert rows(tell("SubagentStop", **end)) == ["/r/a.jsonl ended"], "whose answer it is, is not said"


@pytest.mark.parametrize("event", sorted(IGNORED_EVENTS))
def test_events_that_tell_nothing_are_known(event: str) -> None:
    assert tell(event, tool_name="Bash", tool_use_id="c") == []


@pytest.mark.parametrize(
    ("event", "fields", "why"),
    [
        ("UserPromptSubmit", {"prompt": 3}, "prompt is missing"),
        ("PostToolUse", {"tool_name": "Bash"}, "tool_use_id is missing"),
        ("TurnStart", {}, "its event is none that is known"),
    ],
)
def test_what_lacks_what_it_needs_is_refused(event: str, fields: dict[str, Any], why: str) -> None:
    with pytest.raises(UnreadableRecord) as error:
        tell(event, **fields)
    assert error.value.operands["why"] == why
