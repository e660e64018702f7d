"""What a hook asks is read from what its host gave it; what cannot be read asks for as little as can be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.protocol.changes import ScopeRef
from mnemic.hooks.read.hook_reply import HookRequest, brief_message, parse_hook_request
from mnemic.hooks.wire.commands import ASSISTANTS

START = {"session_id": "s", "cwd": "/w", "hook_event_name": "SessionStart"}


def asked(assistant: str, event: str, **payload: Any) -> HookRequest:
    return parse_hook_request(assistant, event, json.dumps(payload).encode())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("startup", HookRequest(occasion="session-start", session="s")),
        ("clear", HookRequest(occasion="session-start", session="s")),
        ("compact", HookRequest(occasion="session-start", session="s", after_compaction=True)),
        ("resume", HookRequest(occasion=None, session="s", resumed=True)),
        (None, HookRequest(occasion="session-start", session="s")),
    ],
)
def test_a_start_is_told_unless_the_session_is_resumed_and_again_once_it_was_compacted(
    source: str | None, expected: HookRequest
) -> None:
    assert asked("claude-code", "session-start", **START, **({} if source is None else {"source": source})) == expected


def test_a_session_is_named_as_it_is_captured() -> None:
    assert asked("cursor", "session-start", conversation_id="c").session == "c"
    assert asked("codex", "session-start", session_id="s", agent_id="a").session == "s/a"
    assert asked("opencode", "session-start", session_id="s/a", source="startup").session == "s/a"
    assert asked("claude-code", "session-start", session_id=7).session == ""


@pytest.mark.parametrize(
    ("assistant", "payload"),
    [
        ("claude-code", {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "where is it?"}),
        ("codex", {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "where is it?"}),
        (
            "gemini-cli",
            {
                "session_id": "s",
                "hook_event_name": "BeforeAgent",
                "prompt": "<hook_context>&lt;mnemic-memory&gt;x&lt;/mnemic-memory&gt;</hook_context>\n\nwhere is it?",
            },
        ),
        (
            "opencode",
            {
                "session_id": "s",
                "hook_event_name": "prompt",
                "message": {"id": "msg_1", "role": "user"},
                "parts": [{"id": "prt_1", "type": "text", "text": "where is it?"}],
            },
        ),
    ],
)
def test_a_prompt_is_what_the_user_said_and_nothing_around_it(assistant: str, payload: dict[str, Any]) -> None:
    assert asked(assistant, "prompt", **payload) == HookRequest(occasion="prompt", session="s", prompt="where is it?")


@pytest.mark.parametrize("event", ["reply", "tool", "tool-failed", "compaction", "session-end", "check", "", "prompt"])
def test_other_events_and_a_prompt_without_words_ask_for_nothing(event: str) -> None:
    assert asked("claude-code", event, **START).occasion is None


def test_a_trial_asks_at_a_start_to_be_told_back_and_else_for_nothing() -> None:
    assert asked("claude-code", "session-start", **START, mnemic_check="n") == HookRequest(
        occasion=None, check_nonce="n"
    )
    assert asked("claude-code", "prompt", **START, mnemic_check="n") == HookRequest(occasion=None)


@given(
    assistant=st.sampled_from([*ASSISTANTS, "somebody", ""]),
    event=st.sampled_from(["session-start", "prompt", "tool"]),
    payload=st.binary(max_size=60)
    | st.recursive(st.none() | st.text() | st.integers(), lambda inner: st.dictionaries(st.text(), inner)).map(
        lambda value: json.dumps(value).encode()
    ),
)
def test_no_payload_is_an_error(assistant: str, event: str, payload: bytes) -> None:
    assert isinstance(parse_hook_request(assistant, event, payload), HookRequest)


def test_the_message_says_all_of_it() -> None:
    place = ScopeRef(path="w", project="/w", found="git")
    brief = brief_message(
        "codex", HookRequest(occasion="prompt", session="s", prompt="p", after_compaction=True), place
    )
    assert (brief.occasion, brief.place, brief.assistant) == ("prompt", place, "codex")
    assert (brief.session, brief.prompt, brief.budget_tokens, brief.repeat) == ("s", "p", None, True)
