"""Records of hooks: every one is understood, known to be nothing, or quarantined with a reason that quotes nothing."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import UnreadableRecord
from mnemic.actors.kernel.events import Event, HookEvent, HookRecord, SelfTestEvent, TranscriptRef, to_text
from mnemic.hooks.read.formats import FORMATS
from mnemic.hooks.read.records import ADAPTERS, read_record

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
# Names and words that adapters look at, so that more than the first of them is reached.
FIELDS = st.sampled_from(
    [
        "session_id",
        "agent_id",
        "agent_type",
        "cwd",
        "transcript_path",
        "agent_transcript_path",
        "prompt",
        "tool_name",
        "tool_use_id",
        "tool_input",
        "tool_response",
        "error",
        "last_assistant_message",
    ]
)
EVENTS = st.sampled_from(
    ["SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop"]
)
TOOLS = st.sampled_from(
    ["Agent", "Bash", "Edit", "Glob", "Grep", "Read", "Write", "apply_patch", "mcp__mnemic__recall", "mcp__a__b"]
)
INNER = st.sampled_from(
    ["stdout", "stderr", "file", "filenames", "content", "mode", "type", "filePath", "isError", "structuredContent"]
)
ANSWERS = st.dictionaries(INNER, JSON | st.dictionaries(st.text(), JSON, max_size=2), max_size=4)


def record(payload: object, assistant: str = "claude-code", **more: Any) -> HookRecord:
    raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    told: dict[str, Any] = {"id": bytes(16), "event": "prompt", "at": 7, "cwd": "/own", "branch": "main"}
    return HookRecord(assistant=assistant, payload=raw, **told | more)


def prompt(text: str) -> dict[str, Any]:
    return {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": text}


def said(told: HookRecord) -> str:
    (event,) = read_record(told)
    assert isinstance(event, Event)
    return to_text(event.text)


def read(told: HookRecord) -> list[HookEvent] | list[str]:
    """What a record stands for, or why that cannot be told."""
    try:
        return read_record(told)
    except UnreadableRecord as error:
        return [error.operands["why"]]


def why(told: HookRecord) -> str:
    with pytest.raises(UnreadableRecord) as error:
        read_record(told)
    return str(error.value.operands["why"])


@pytest.mark.parametrize("assistant", ADAPTERS)
@given(
    payload=st.dictionaries(FIELDS, JSON | st.text(min_size=1), max_size=5),
    event=EVENTS,
    tool=TOOLS,
    answer=JSON | ANSWERS,
)
def test_any_object_is_understood_or_refused_with_a_reason(
    assistant: str, payload: dict[str, Any], event: str, tool: str, answer: Any
) -> None:
    usual = {
        "hook_event_name": event,
        "session_id": "s",
        "tool_name": tool,
        "tool_use_id": "c",
        "tool_response": answer,
    }
    for told in (payload, payload | {"hook_event_name": event}, usual | payload, payload | usual):
        assert all(
            isinstance(one, Event | TranscriptRef | SelfTestEvent | str) for one in read(record(told, assistant))
        )


@pytest.mark.parametrize("assistant", ADAPTERS)
@given(payload=st.binary())
def test_any_bytes_are_understood_or_refused(assistant: str, payload: bytes) -> None:
    assert all(isinstance(one, Event | TranscriptRef | SelfTestEvent | str) for one in read(record(payload, assistant)))


@pytest.mark.parametrize("assistant", ADAPTERS)
def test_every_host_has_an_adapter(assistant: str) -> None:
    assert callable(import_module(ADAPTERS[assistant]).hook_events)
    assert assistant in (*FORMATS, "cursor"), "its transcripts are announced by a name that is read"


@pytest.mark.parametrize("assistant", ADAPTERS)
def test_a_trial_event_is_a_check_whatever_else_is_in_it(assistant: str) -> None:
    told = {"mnemic_check": "n1", "hook_event_name": "Unheard"}
    assert read_record(record(told, assistant)) == [SelfTestEvent(assistant=assistant, nonce="n1")]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"[1]", "not a JSON object"),
        (b'{"prompt": "secret', "not JSON: Unterminated string starting at character 11"),
        (b"\xff", "not JSON: Expecting value at character 0"),
        (b"[" * 100_000, "not JSON that can be read: nested too deeply"),
        (b'{"hook_event_name":"Stop"}', "session_id is missing"),
        (b'{"session_id":"s"}', "hook_event_name is missing"),
        (b'{"hook_event_name":"NewInThree","session_id":"s"}', "its event is none that is known"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_a_reason_that_quotes_nothing(payload: bytes, reason: str) -> None:
    assert why(record(payload)) == reason


def test_a_host_that_nobody_knows_is_refused() -> None:
    assert why(record(prompt("hello"), "somebody")) == "no adapter is known for its host"


def test_bytes_that_are_no_utf_8_are_written_out_and_the_rest_is_kept() -> None:
    raw = json.dumps(prompt("caf? 1 ? ?"), ensure_ascii=False).encode()
    assert said(record(raw.replace(b"?", b"\xe9", 1).replace(b"?", b"\xff\x00"[:1], 1))) == "caf\\xE9 1 \\xFF ?"


def test_lone_surrogates_pass_however_they_are_written() -> None:
    escaped = json.dumps(prompt("a \ud83d b \udce9")).encode()
    raw = json.dumps(prompt("a \ud83d b \udce9"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert said(record(escaped)) == said(record(raw)) == "a \ud83d b \udce9"
    assert said(record(raw.replace(b"a ", b"a\xe9"))) == "a\\xE9\ud83d b \udce9"


def test_a_mark_of_byte_order_is_no_part_of_it() -> None:
    assert said(record(b"\xef\xbb\xbf" + json.dumps(prompt("hello")).encode())) == "hello"


def test_an_event_has_the_records_time_branch_and_folder_where_the_payload_names_none() -> None:
    (event,) = read_record(record(prompt("hello")))
    assert isinstance(event, Event)
    assert (event.said_at, event.branch, event.cwd) == (7, "main", "/own")
    (event,) = read_record(record(prompt("hello") | {"cwd": "/payload"}))
    assert isinstance(event, Event)
    assert event.cwd == "/payload"


def test_a_subagents_events_have_a_session_below() -> None:
    (event,) = read_record(record(prompt("hello") | {"agent_id": "a"}))
    assert isinstance(event, Event)
    assert event.session == "s/a"


def test_however_deep_a_payload_is_nested_it_is_understood_or_refused() -> None:
    called = (
        '{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"X","tool_use_id":"c","tool_input":{"a":%s}}'
    )
    for deep in (*range(800, 1000, 3), 10_000, 100_000):  # what can be parsed may be too deep to be written as text
        told = read(record((called % ("[" * deep + "]" * deep)).encode()))
        assert [type(one) for one in told] in ([Event, Event], [str])
