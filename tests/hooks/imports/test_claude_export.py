"""What each message of a Claude export becomes, and its projects and memories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mnemic.actors.kernel.events import Event, UnknownFields
from mnemic.hooks.imports.claude_export import conversation_groups, memory_groups, project_groups
from mnemic.hooks.read.lines import InvalidInput
from tests.hooks.imports.exports import CLAUDE_ID, claude_conversation, claude_message, claude_otter


def read(value: Any, groups: Callable[[Any], Any] = conversation_groups) -> list[Any]:
    """The events; why, where a message is none."""
    told: list[Any] = []
    for group in groups(value):
        try:
            told += group
        except InvalidInput as error:
            told.append(str(error))
    return told


def told(event: Event) -> tuple[str, str, str]:
    return event.kind, event.role, event.text.decode()


def test_a_question_and_its_answer_are_turns_and_the_title_is_a_summary() -> None:
    title, asked, answered = read(claude_otter())
    assert told(title) == ("summary", "system", "Otter weights")
    assert told(asked) == ("turn", "user", "How heavy is a grown otter?")
    assert told(answered) == ("turn", "assistant", "A grown otter weighs about nine kilograms.")
    assert {(one.assistant, one.session) for one in (title, asked, answered)} == {("claude", CLAUDE_ID)}
    assert (title.said_at, asked.said_at) == (1_762_160_399_000_000, 1_762_160_400_500_000)
    assert (asked.host_id, title.host_id) == ("c1", None)


def test_the_blocks_of_a_message_are_its_thoughts_calls_results_and_one_turn() -> None:
    found = [{"title": "T", "url": "u", "text": "x"}]
    blocks = [
        {"type": "thinking", "thinking": "Let me see.", "summaries": []},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "web_search", "input": {"query": "otters"}},
        {"type": "tool_result", "tool_use_id": "t1", "name": "web_search", "content": found},
        {"type": "tool_use", "id": None, "name": "repl", "input": {"code": "1"}},
        {"type": "tool_result", "tool_use_id": None, "name": "repl", "is_error": True, "content": "broken"},
        {"type": "token_budget"},
        {"type": "text", "text": "Nine kilograms."},
        {"type": "hologram"},
        "words",
    ]
    events = read(claude_conversation(claude_message("c1", "assistant", "whole", content=blocks), name=""))
    *others, turn = [one for one in events if isinstance(one, Event)]
    assert [told(one) for one in others] == [
        ("thinking", "assistant", "Let me see."),
        ("tool_call", "assistant", "web_search\nquery: otters"),
        ("tool_result", "tool", "T\nu\nx"),
        ("tool_call", "assistant", "repl\ncode: 1"),
        ("tool_result", "tool", "broken"),
    ]
    assert told(turn) == ("turn", "assistant", "I look.\nNine kilograms.")
    assert [(one.host_id, one.outcome) for one in others[1:]] == [
        ("t1", None),
        ("t1", "ok"),
        ("c1#4", None),
        ("c1#5", "failed"),
    ]
    assert [one for one in events if isinstance(one, UnknownFields)] == [UnknownFields(("type hologram",))]


def test_older_exports_have_the_text_alone_and_attachments_are_what_was_put_in() -> None:
    attached = [{"file_name": "fees.txt", "file_type": "txt", "extracted_content": "40 a month"}, {"file_name": "b"}, 1]
    message = claude_message("c1", "human", "See there.", attachments=attached, files=[{"file_name": "pier.png"}])
    del message["content"]
    put_in, asked = read(claude_conversation(message, name=""))
    assert told(put_in) == ("injected", "user", "40 a month")
    assert (put_in.files, put_in.host_id) == (("fees.txt",), "c1#file0")
    assert (told(asked), asked.files) == (("turn", "user", "See there."), ("fees.txt", "b", "pier.png"))


def test_a_summary_is_one_and_names_that_are_none_are_nothing() -> None:
    (summary,) = read(claude_conversation(name="Untitled", summary="They weighed otters."))
    assert told(summary) == ("summary", "system", "They weighed otters.")
    assert read(claude_conversation(name=None, summary=7)) == []


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (None, "a message that is no object"),
        ({"sender": "human", "text": "x"}, "a message without its uuid or sender"),
        ({"uuid": "c", "sender": "nobody"}, "a message without its uuid or sender"),
        (
            {"uuid": "c", "sender": "assistant", "content": [{"type": "tool_use"}]},
            "a tool call or its result without the tool's name",
        ),
    ],
)
def test_a_message_that_cannot_be_understood_is_told_and_the_next_is_read(message: Any, why: str) -> None:
    first, second = read(claude_conversation(message, claude_message("c2", "human", "b"), name=""))
    assert (first, second.text) == (why, b"b")


@pytest.mark.parametrize("conversation", [{}, {"uuid": "x"}, {"uuid": "x", "chat_messages": {}}])
def test_a_conversation_without_its_uuid_or_messages_is_refused(conversation: Any) -> None:
    with pytest.raises(InvalidInput, match="a conversation without its "):
        list(conversation_groups(conversation))


def test_calls_of_this_memory_itself_are_left_out() -> None:
    name = "mcp__mnemic__memory_recall"
    blocks = [
        {"type": "tool_use", "id": "t", "name": name, "input": {}},
        {"type": "tool_result", "tool_use_id": "t", "name": name, "content": "three memories"},
    ]
    assert read(claude_conversation(claude_message("c", "assistant", "", content=blocks), name="")) == []


@pytest.mark.parametrize("call", ["t1", None])
def test_this_memorys_command_in_a_shell_is_left_out_with_its_answer(call: str | None) -> None:
    blocks = []
    for line, printed in (("mnemic recall mast", "14.2 m"), ("make", "built")):
        given = {"type": "tool_use", "id": call, "name": "start_process", "input": {"command": line}}
        answer = {"type": "tool_result", "tool_use_id": call, "name": "start_process", "content": printed}
        blocks += [given, answer]
    _, *events = read(claude_conversation(claude_message("c1", "assistant", "", content=blocks)))
    assert [told(one) for one in events] == [
        ("tool_call", "assistant", "start_process\ncommand: make"),
        ("tool_result", "tool", "built"),
    ]


def test_a_project_becomes_notes_by_section() -> None:
    fees = "# Fees\n\n40 a month.\n\n# Depth\n\n3 m.\n"
    project = {
        "uuid": "p1",
        "name": "Boats",
        "description": "All about boats.",
        "prompt_template": "",
        "created_at": "2025-05-01T00:00:00+00:00",
        "docs": [
            {
                "uuid": "d",
                "filename": "pier.md",
                "content": fees,
                "created_at": "2025-06-01T00:00:00Z",
            },
            {"uuid": "e", "filename": None, "content": None},
            "words",
        ],
    }
    notes = read(project, project_groups)
    assert [(one.kind, one.role, one.text.decode()) for one in notes] == [
        ("note", "user", "Boats\n\nAll about boats."),
        ("note", "user", "Boats > pier.md > Fees\n\n40 a month."),
        ("note", "user", "Boats > pier.md > Depth\n\n3 m."),
    ]
    assert {one.session for one in notes} == {"p1"}
    assert (notes[0].said_at, notes[1].said_at) == (1_746_057_600_000_000, 1_748_736_000_000_000)
    assert read(project | {"is_starter_project": True}, project_groups) == []
    with pytest.raises(InvalidInput, match="a project without its uuid"):
        read({"name": "x"}, project_groups)


def test_what_claude_noted_becomes_notes_of_the_assistants() -> None:
    noted = {"conversations_memory": "**Work**\n\nKeeps otters.", "project_memories": {"p1": "Of boats.", "p2": None}}
    notes = read(noted, memory_groups)
    assert [(one.role, one.session, one.text) for one in notes] == [
        ("assistant", "memories", b"**Work**\n\nKeeps otters."),
        ("assistant", "p1", b"Of boats."),
    ]
    assert read({"conversations_memory": 3, "project_memories": []}, memory_groups) == []
