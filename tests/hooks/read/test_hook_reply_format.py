"""Each host is answered in its own words, and with nothing that it could stumble over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mnemic.actors.protocol.ambient_messages import Briefed
from mnemic.hooks.read.hook_reply import EMPTY_BRIEFING, accepts_context, format_hook_reply
from mnemic.hooks.wire.commands import ASSISTANTS

TOLD = Briefed(text='<mnemic-memory>\n"é"\n</mnemic-memory>', memories=(b"1" * 16, b"2" * 16), tokens=12)
LINE = "Mnemic: 2 memories, 12 tokens"


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
    assert format_hook_reply(assistant, occasion, EMPTY_BRIEFING) == (b"{}\n" if assistant == "cursor" else b"")
    assert format_hook_reply(assistant, None, TOLD) == (b"{}\n" if assistant == "cursor" else b"")


def test_an_unknown_host_is_told_nothing() -> None:
    assert format_hook_reply("somebody", "session-start", TOLD) == b""
    assert not accepts_context("somebody", "session-start")


@pytest.mark.parametrize("assistant", ASSISTANTS)
def test_every_host_takes_something_at_the_start_and_all_but_cursor_beside_prompts(assistant: str) -> None:
    assert accepts_context(assistant, "session-start")
    assert accepts_context(assistant, "prompt") == (assistant != "cursor")
    assert not accepts_context(assistant, "reply")


def test_one_memory_is_one() -> None:
    told = json.loads(format_hook_reply("codex", "prompt", Briefed(text="x", memories=(b"1" * 16,), tokens=1)))
    assert told["systemMessage"] == "Mnemic: 1 memory, 1 tokens"
