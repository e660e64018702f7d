"""Cursor's hooks, by fixtures with the fields that its documentation names: https://cursor.com/docs/agent/hooks."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import UnreadableRecord
from mnemic.actors.kernel.events import Event, HookEvent, HookRecord, to_text
from mnemic.hooks.hosts.cursor import IGNORED_EVENTS
from mnemic.hooks.read.records import read_record
from tests.paths import ROOT

COMMON = {
    "conversation_id": "668320d2-2fd8-4888-b33c-2a466fec86e7",
    "generation_id": "490b90b7-a2ce-4c2c-bb76-cb77b125df2f",
    "model": "claude-sonnet-4",
    "cursor_version": "2.4.1",
    "workspace_roots": ["/home/ana/shelf"],
    "user_email": None,
    "transcript_path": "/home/ana/.cursor/projects/shelf/agent-transcripts/668320d2.txt",
}
SESSION = str(COMMON["conversation_id"])

# One session, event by event.
PAYLOADS: list[dict[str, Any]] = [
    {"hook_event_name": "sessionStart", "session_id": SESSION, "is_background_agent": False, "composer_mode": "agent"},
    {
        "hook_event_name": "beforeSubmitPrompt",
        "prompt": "We decided: books are lent for 28 days.",
        "attachments": [{"type": "rule", "file_path": "/home/ana/shelf/AGENTS.md"}],
    },
    {"hook_event_name": "afterAgentThought", "text": "The rule is in loans.py.", "duration_ms": 900},
    {"hook_event_name": "beforeShellExecution", "command": "npm test", "cwd": "/home/ana/shelf"},
    {"hook_event_name": "afterShellExecution", "command": "npm test", "output": "1 failed", "duration": 1234},
    {
        "hook_event_name": "postToolUse",
        "tool_name": "Shell",
        "tool_input": {"command": "npm test"},
        "tool_output": '{"exitCode":1,"stdout":"1 failed","stderr":""}',
        "tool_use_id": "call_1",
        "cwd": "/home/ana/shelf",
        "duration": 5432,
    },
    {
        "hook_event_name": "postToolUseFailure",
        "tool_name": "Read",
        "tool_input": {"file_path": "/home/ana/shelf/absent.py"},
        "tool_use_id": "call_2",
        "error_message": "File not found",
        "failure_type": "error",
        "duration": 12,
        "is_interrupt": False,
    },
    {
        "hook_event_name": "postToolUse",
        "tool_name": "MCP:search_issues",
        "tool_input": '{"query":"loans"}',
        "tool_output": '{"content":[{"type":"text","text":"none"}],"isError":false}',
        "tool_use_id": "call_3",
    },
    {
        "hook_event_name": "postToolUse",
        "tool_name": "MCP:memory_recall",
        "tool_input": '{"query":"loan rule"}',
        "tool_output": '{"content":[{"type":"text","text":"28 days"}]}',
        "tool_use_id": "call_4",
    },
    {"hook_event_name": "afterAgentResponse", "text": "Books are due after 28 days."},
    {
        "hook_event_name": "subagentStop",
        "subagent_type": "explore",
        "status": "completed",
        "summary": "Two books.",
        "duration_ms": 45000,
        "agent_transcript_path": None,
    },
    {"hook_event_name": "preCompact", "trigger": "auto", "context_usage_percent": 85, "message_count": 45},
    {"hook_event_name": "stop", "status": "completed", "loop_count": 0},
    {"hook_event_name": "sessionEnd", "session_id": SESSION, "reason": "completed", "duration_ms": 45000},
]

TOLD = r"""
turn user | We decided: books are lent for 28 days.
tool_call assistant Shell | Shell⏎command: npm test
tool_result tool Shell failed | 1 failed
tool_call assistant Read | Read⏎file_path: /home/ana/shelf/absent.py
tool_result tool Read failed | File not found
tool_call assistant MCP:search_issues | MCP:search_issues⏎query: loans
tool_result tool MCP:search_issues ok | none
turn assistant | Books are due after 28 days.
"""


def record(payload: object) -> HookRecord:
    raw = json.dumps(payload).encode()
    return HookRecord(id=bytes(16), assistant="cursor", event="", at=7, cwd="/own", branch="main", payload=raw)


def tell(event: str, **fields: Any) -> list[HookEvent]:
    return read_record(record({**COMMON, "hook_event_name": event, **fields}))


def row(event: HookEvent) -> str:
    assert isinstance(event, Event)
    head = " ".join(part for part in (event.kind, event.role, event.tool, event.outcome) if part)
    return f"{head} | {to_text(event.text)}".replace("\n", "⏎")


def test_a_session_is_told_event_by_event() -> None:
    told = [one for payload in PAYLOADS for one in read_record(record(COMMON | payload))]
    assert [row(one) for one in told] == TOLD.strip("\n").split("\n")
    for event in told:
        assert isinstance(event, Event)
        assert (event.session, event.cwd, event.branch, event.said_at) == (SESSION, "/home/ana/shelf", "main", 7)
        assert (event.host_id is None) == (event.kind == "turn")


def test_calls_name_their_files() -> None:
    call, result = tell("postToolUse", tool_name="Write", tool_use_id="c", tool_input={"file_path": "a.py"})
    assert isinstance(call, Event)
    assert isinstance(result, Event)
    assert call.files == result.files == ("a.py",)
    assert call.host_id == result.host_id == "c"


@pytest.mark.parametrize(
    ("output", "text", "outcome"),
    [
        ("plain words", "plain words", "ok"),
        ('{"exitCode":0,"stdout":"a","stderr":"b"}', "a\nb", "ok"),
        ('{"content":[{"type":"text","text":"a"}],"isError":true}', "a", "failed"),
        ('{"diff":"+a"}', "diff: +a", "ok"),
        ('["a"]', '["a"]', "ok"),
        ("42", "42", "ok"),
        (None, "", "ok"),
    ],
)
def test_a_result_is_what_the_tool_answered(output: object, text: str, outcome: str) -> None:
    _, result = tell("postToolUse", tool_name="Shell", tool_use_id="c", tool_input={}, tool_output=output)
    assert isinstance(result, Event)
    assert (to_text(result.text), result.outcome) == (text, outcome)


def test_a_subagent_that_has_a_name_reports_in_a_session_of_its_own() -> None:
    (report,) = tell("subagentStop", subagent_id="sub", summary="Two books.")
    assert isinstance(report, Event)
    assert (report.session, row(report)) == (f"{SESSION}/sub", "turn assistant | Two books.")


def test_this_memorys_own_tools_are_those_of_the_documentation_and_are_not_told() -> None:
    documented = re.findall(r"^#+ .*?`(memory_\w+)", (ROOT / "docs" / "mcp.md").read_text("utf-8"), re.MULTILINE)
    assert documented
    for name in (*documented, "mnemic:memory_recall", "mnemic:new"):
        assert tell("postToolUse", tool_name=f"MCP:{name}", tool_use_id="c", tool_input={}) == []
    assert len(tell("postToolUse", tool_name="MCP:memory_other", tool_use_id="c", tool_input={})) == 2


@pytest.mark.parametrize("event", sorted(IGNORED_EVENTS))
def test_events_that_tell_nothing_are_known(event: str) -> None:
    assert tell(event, text="x", prompt="y") == []


@pytest.mark.parametrize(
    ("event", "fields", "why"),
    [
        ("afterDinner", {}, "no event of that name is known"),
        ("beforeSubmitPrompt", {}, "prompt is missing"),
        ("beforeSubmitPrompt", {"conversation_id": None, "prompt": "x"}, "session_id is missing"),
        ("postToolUse", {"tool_name": "Shell"}, "tool_use_id is missing"),
    ],
)
def test_what_lacks_what_it_needs_is_refused(event: str, fields: dict[str, Any], why: str) -> None:
    with pytest.raises(UnreadableRecord, match=why):
        tell(event, **fields)


FIELDS = ["prompt", "text", "tool_name", "tool_use_id", "tool_input", "tool_output", "summary", "subagent_id"]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(['{"a":1}', "[" * 9]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "text", "stdout", "exitCode", "isError", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
ENCODED = VALUES.map(json.dumps)
EVENTS = ["beforeSubmitPrompt", "afterAgentResponse", "postToolUse", "postToolUseFailure", "subagentStop", "x"]


@given(
    payload=st.dictionaries(st.sampled_from([*FIELDS, "workspace_roots", "session_id"]), VALUES | ENCODED),
    event=st.sampled_from(EVENTS),
)
def test_any_payload_is_understood_or_refused(payload: dict[str, Any], event: str) -> None:
    with contextlib.suppress(UnreadableRecord):
        tell(event, **payload)
