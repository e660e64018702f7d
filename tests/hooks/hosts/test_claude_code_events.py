"""Claude Code's hooks: what each payload tells. Whole sessions are in `tests.hooks.hosts.test_events`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mnemic.actors.kernel.errors import UnreadableRecord
from mnemic.actors.kernel.events import Event, HookEvent, HookRecord, TranscriptRef, to_text
from mnemic.hooks.hosts.claude_code_events import IGNORED_EVENTS
from mnemic.hooks.read.hook_reply import HookRequest, parse_hook_request
from mnemic.hooks.read.records import read_record

CURSORS: list[dict[str, Any]] = [
    {"hook_event_name": "sessionStart", "session_id": "668320d2", "is_background_agent": False},
    {"hook_event_name": "beforeSubmitPrompt", "prompt": "We decided: 28 days.", "attachments": []},
    {"hook_event_name": "postToolUse", "tool_name": "Shell", "tool_input": {}, "tool_output": "{}", "tool_use_id": "c"},
    {"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {}, "tool_use_id": "c"},
    {"hook_event_name": "stop", "status": "completed", "loop_count": 0},
    {"hook_event_name": "somethingNew"},
]
"""What Cursor gives to hooks that are configured for Claude Code: https://cursor.com/docs/reference/third-party-hooks.md"""
CURSORS_COMMON = {
    "conversation_id": "668320d2-2fd8-4888-b33c-2a466fec86e7",
    "generation_id": "490b90b7-a2ce-4c2c-bb76-cb77b125df2f",
    "model": "claude-sonnet-4",
    "cursor_version": "2026.08.11-e8db854",
    "workspace_roots": ["/home/ana/shelf"],
    "user_email": None,
    "transcript_path": "/home/ana/.cursor/projects/shelf/agent-transcripts/668320d2.txt",
}
NOTIFICATION = "<task-notification>\n<task-id>b</task-id>\n<status>completed</status>\n</task-notification>"


def tell(event: str, **fields: Any) -> list[HookEvent]:
    payload = {"hook_event_name": event, "session_id": "s", "transcript_path": "/t/s.jsonl", "cwd": "/src", **fields}
    raw = json.dumps(payload).encode()
    return read_record(
        HookRecord(id=bytes(16), assistant="claude-code", event="", at=7, cwd=None, branch="main", payload=raw)
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


def tool(name: str, response: object, **more: Any) -> str:
    """The text of a result."""
    told = tell("PostToolUse", tool_name=name, tool_use_id="c", tool_input={}, tool_response=response, **more)
    result = told[1]
    assert isinstance(result, Event)
    assert (result.kind, result.outcome, result.host_id) == ("tool_result", "ok", "c")
    return to_text(result.text)


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("  fix it\n", ["s turn user |   fix it\n"]),
        ("", []),
        ("/fix", ["s turn user | /fix"]),
        ("/fix   the  login ", ["s turn user | /fix the  login"]),
        ("/fix two\nlines", ["s turn user | /fix two\nlines"]),
        ("/home/ana  is a path ", ["s turn user | /home/ana  is a path "]),
        (NOTIFICATION, [f"s injected system | {NOTIFICATION}"]),
        (
            "<ide_opened_file>a.py</ide_opened_file>\n<ide_selection>x\ny</ide_selection>\nlook",
            [
                "s injected system | <ide_opened_file>a.py</ide_opened_file>",
                "s injected system | <ide_selection>x\ny</ide_selection>",
                "s turn user | look",
            ],
        ),
        (
            "<ide_opened_file>a.py</ide_opened_file>",
            ["s injected system | <ide_opened_file>a.py</ide_opened_file>"],
        ),
        ("see <ide_selection>x</ide_selection>", ["s turn user | see <ide_selection>x</ide_selection>"]),
    ],
)
def test_a_prompt_is_what_was_typed_and_what_the_host_put_before_it_is_not(prompt: str, told: list[str]) -> None:
    assert rows(tell("UserPromptSubmit", prompt=prompt)) == told


@pytest.mark.parametrize("event", ["SessionStart", "PreCompact", "PostCompact"])
def test_a_session_that_begins_or_is_compacted_names_its_transcript(event: str) -> None:
    assert rows(tell(event, compact_summary="told otherwise there")) == ["/t/s.jsonl goes on"]


def test_an_answer_is_taken_at_the_end_of_a_turn_where_there_are_words() -> None:
    assert rows(tell("Stop", last_assistant_message="Done.")) == ["s turn assistant | Done.", "/t/s.jsonl goes on"]
    assert rows(tell("Stop")) == ["/t/s.jsonl goes on"]
    assert rows(tell("Stop", last_assistant_message="Done.", transcript_path=None)) == ["s turn assistant | Done."]


def test_the_end_of_a_session_ends_its_transcript() -> None:
    assert rows(tell("SessionEnd", reason="other")) == ["/t/s.jsonl ended"]


def test_a_call_and_its_result_are_told_together_with_the_files() -> None:
    call, result = tell(
        "PostToolUse",
        tool_name="Read",
        tool_use_id="c",
        tool_input={"file_path": "/src/a.py", "limit": 2},
        tool_response={"type": "text", "file": {"content": "x\n\ny", "startLine": 9}},
    )
    assert rows([call, result]) == [
        "s tool_call assistant Read | Read\nfile_path: /src/a.py\nlimit: 2",
        "s tool_result tool Read ok | 9\tx\n10\t\n11\ty",
    ]
    assert isinstance(call, Event)
    assert isinstance(result, Event)
    assert call.files == result.files == ("/src/a.py",)
    assert call.host_id == result.host_id == "c"


def test_a_call_that_failed_is_told_with_its_error() -> None:
    told = tell(
        "PostToolUseFailure", tool_name="Bash", tool_use_id="c", tool_input={"command": "false"}, error="Exit code 1"
    )
    assert rows(told) == [
        "s tool_call assistant Bash | Bash\ncommand: false",
        "s tool_result tool Bash failed | Exit code 1",
    ]


@pytest.mark.parametrize("event", ["PostToolUse", "PostToolUseFailure"])
def test_this_memorys_own_tools_are_not_told(event: str) -> None:
    assert tell(event, tool_name="mcp__mnemic__memory_recall", tool_use_id="c", tool_input={}, error="e") == []


@pytest.mark.parametrize(
    ("name", "response", "text"),
    [
        ("Bash", {"stdout": "a", "stderr": ""}, "a"),
        ("Bash", {"stdout": "a", "stderr": "b"}, "a\nb"),
        ("Bash", {"stdout": "", "stderr": ""}, "(Bash completed with no output)"),
        ("Bash", {"stdout": "data:image/png;base64,AA", "stderr": "", "isImage": True}, "[image: image/png]"),
        ("Bash", {"stdout": "", "stderr": "", "backgroundTaskId": "b"}, "stdout: \nstderr: \nbackgroundTaskId: b"),
        ("Read", {"type": "image", "file": {"base64": "AA", "type": "image/png"}}, "[image: image/png]"),
        ("Read", {"type": "pdf", "file": {"base64": "AA"}}, "[pdf]"),
        ("Read", {"file": {"content": "", "startLine": 1}}, 'file: {"content": "", "startLine": 1}'),
        ("Edit", {"filePath": "a", "userModified": True}, "filePath: a\nuserModified: true"),
        ("Glob", {"filenames": ["a", "b"]}, "a\nb"),
        ("Glob", {"filenames": ["a"], "truncated": True}, 'filenames: ["a"]\ntruncated: true'),
        ("Grep", {"mode": "files_with_matches", "filenames": ["a", "b"]}, "Found 2 files\na\nb"),
        (
            "Grep",
            {"mode": "content", "content": "a:1", "appliedLimit": 1},
            "mode: content\ncontent: a:1\nappliedLimit: 1",
        ),
        ("Agent", {"content": [{"type": "text", "text": "Two."}], "agentId": "a"}, "Two."),
        ("mcp__a__b", "plain", "plain"),
        ("mcp__a__b", [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ("Unheard", {"any": {"thing": [1]}}, 'any: {"thing": [1]}'),
        ("Unheard", None, ""),
    ],
)
def test_a_result_is_the_text_that_the_model_read_where_the_data_says_enough(
    name: str, response: object, text: str
) -> None:
    assert tool(name, response) == text


def test_a_subagent_is_announced_with_what_it_does_and_ended_with_its_answer() -> None:
    path = "/t/s/subagents/agent-a.jsonl"
    done = tell("PostToolUse", agent_id="a", tool_name="Bash", tool_use_id="c", tool_input={}, tool_response="x")
    assert rows(done)[2:] == [f"{path} goes on"]
    end = {"agent_id": "a", "agent_type": "Explore", "agent_transcript_path": path, "last_assistant_message": "Two."}
    assert rows(tell("SubagentStop", **end)) == ["s/a turn assistant | Two.", f"{path} ended"]


def test_nobody_answers_where_no_agent_is_named() -> None:
    end = {"agent_transcript_path": "/t/a.jsonl", "last_assistant_message": "A summary."}
    assert rows(tell("SubagentStop", agent_id="a", agent_type="", **end)) == [], (
        "the agent that compacts is kept nowhere"
    )
    assert rows(tell("SubagentStop", **end)) == ["/t/a.jsonl ended"]
    assert rows(tell("SubagentStop", agent_id="a", **end)) == ["/t/a.jsonl ended"]


@pytest.mark.parametrize("event", sorted(IGNORED_EVENTS))
def test_events_that_tell_nothing_are_known(event: str) -> None:
    assert tell(event, tool_name="Bash", tool_use_id="c", last_assistant_message="API Error") == []


@pytest.mark.parametrize(
    ("event", "fields", "why"),
    [
        ("UserPromptSubmit", {}, "prompt is missing"),
        ("PostToolUse", {"tool_use_id": "c"}, "tool_name is missing"),
        ("PostToolUse", {"tool_name": "Bash"}, "tool_use_id is missing"),
        ("Stop", {"session_id": 3}, "session_id is missing"),
        ("UserPromptSubmitted", {"prompt": "hello"}, "its event is none that is known"),
    ],
)
def test_what_lacks_what_it_needs_is_refused(event: str, fields: dict[str, Any], why: str) -> None:
    with pytest.raises(UnreadableRecord) as error:
        tell(event, **fields)
    assert error.value.operands["why"] == why


@pytest.mark.parametrize("own", CURSORS, ids=lambda own: own["hook_event_name"])
@pytest.mark.parametrize("absent", ["", "cursor_version", "generation_id"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_what_cursor_gives_to_claude_codes_hooks_is_nothing(own: dict[str, Any], absent: str, mark: bytes) -> None:
    payload = (
        mark + json.dumps({name: value for name, value in (CURSORS_COMMON | own).items() if name != absent}).encode()
    )
    record = HookRecord(
        id=bytes(16), assistant="claude-code", event="prompt", at=7, cwd=None, branch=None, payload=payload
    )
    assert read_record(record) == []
    for event in ("session-start", "prompt"):
        assert parse_hook_request("claude-code", event, payload) == HookRequest(occasion=None)
    assert (
        parse_hook_request("cursor", "session-start", payload).occasion == "session-start"
    )  # from its own hooks it is told
