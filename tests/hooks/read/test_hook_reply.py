"""What a hook asks is read from what its host gave it, and each host is answered in its own words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.brief.messages import Brief, Briefed, FailedCall
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.hooks.read.hook_reply import HookRequest, format_hook_reply, hook_reply, parse_hook_request
from mnemic.hooks.wire.commands import ASSISTANTS

TOLD = Briefed(text='<mnemic-memory>\n"é"\n</mnemic-memory>', memories=(b"1" * 16, b"2" * 16), tokens=12)
LINE = "Mnemic: 2 memories, 12 tokens"
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


FAILED = {
    "session_id": "s",
    "hook_event_name": "PostToolUseFailure",
    "tool_name": "Bash",
    "tool_use_id": "c",
    "tool_input": {"command": "false"},
    "error": "Exit code 1",
}


def test_once_a_call_failed_it_is_told_as_it_is_captured_to_claude_code_alone() -> None:
    failed = FailedCall(tool="Bash", call=b"Bash\ncommand: false", result=b"Exit code 1")
    expected = HookRequest(occasion="tool-failed", session="s", failed=failed)
    assert asked("claude-code", "tool-failed", **FAILED) == expected
    assert asked("claude-code", "tool-failed", **{**FAILED, "agent_id": "a"}).session == "s/a"
    for assistant in set(ASSISTANTS) - {"claude-code"}:
        assert asked(assistant, "tool-failed", **FAILED).occasion is None
    for lacking in ("tool_name", "hook_event_name"):
        assert asked("claude-code", "tool-failed", **{**FAILED, lacking: None}).occasion is None
    (context,) = [json.loads(format_hook_reply("claude-code", "tool-failed", TOLD))["hookSpecificOutput"]]
    assert context == {"hookEventName": "PostToolUseFailure", "additionalContext": TOLD.text}


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
    place, briefs = ScopeRef(path="w", project="/w", found="git"), []

    def tell(brief: Brief) -> Briefed:
        briefs.append(brief)
        return TOLD

    payload = json.dumps({"session_id": "s", "source": "compact"}).encode()
    hook_reply("codex", "session-start", "/w", payload, lambda scope, folder: place, tell, ("Mind you.",))
    (brief,) = briefs
    assert (brief.occasion, brief.place, brief.assistant) == ("session-start", place, "codex")
    assert (brief.session, brief.prompt, brief.budget_tokens, brief.repeat) == ("s", "", None, True)
    assert brief.notices == ("Mind you.",)


# --- what it prints --------------------------------------------------------------------------------------------------


def in_hook_output(event: str) -> dict[str, Any]:
    told = {"hookEventName": event, "additionalContext": TOLD.text}
    return {"hookSpecificOutput": told, "systemMessage": LINE}


@pytest.mark.parametrize(
    ("assistant", "occasion", "expected"),
    [
        ("claude-code", "session-start", in_hook_output("SessionStart")),
        ("claude-code", "prompt", in_hook_output("UserPromptSubmit")),
        ("codex", "session-start", in_hook_output("SessionStart")),
        ("codex", "prompt", in_hook_output("UserPromptSubmit")),
        ("gemini-cli", "session-start", in_hook_output("SessionStart")),
        ("gemini-cli", "prompt", in_hook_output("BeforeAgent")),
        ("cursor", "session-start", {"additional_context": TOLD.text}),
        ("cursor", "prompt", {}),  # it takes no context there
        ("opencode", "session-start", {"context": TOLD.text, "shown": LINE}),
        ("opencode", "prompt", {"context": TOLD.text, "shown": LINE}),
    ],
)
def test_a_host_is_told_where_it_looks(assistant: str, occasion: Any, expected: dict[str, Any]) -> None:
    told = format_hook_reply(assistant, occasion, TOLD)
    assert json.loads(told) == expected
    assert told.endswith(b"}\n")
    assert told.isascii()


@pytest.mark.parametrize("assistant", ASSISTANTS)
@pytest.mark.parametrize("occasion", ["session-start", "prompt", None])
def test_nothing_is_no_byte_but_where_only_json_is_taken(assistant: str, occasion: Any) -> None:
    empty = Briefed(text="", memories=(), tokens=0)
    assert format_hook_reply(assistant, occasion, empty) == (b"{}\n" if assistant == "cursor" else b"")
    assert format_hook_reply(assistant, None, TOLD) == (b"{}\n" if assistant == "cursor" else b"")


def test_an_unknown_host_is_told_nothing() -> None:
    assert format_hook_reply("somebody", "session-start", TOLD) == b""


def test_one_memory_is_one() -> None:
    told = json.loads(format_hook_reply("codex", "prompt", Briefed(text="x", memories=(b"1" * 16,), tokens=1)))
    assert told["systemMessage"] == "Mnemic: 1 memory, 1 tokens"
