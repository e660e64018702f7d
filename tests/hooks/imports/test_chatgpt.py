"""What each message of a ChatGPT conversation becomes, and what is told where it cannot be understood."""

from __future__ import annotations

from typing import Any

import pytest

from mnemic.actors.kernel.events import Event, UnknownFields
from mnemic.hooks.imports.chatgpt import conversation_groups
from mnemic.hooks.read.lines import InvalidInput
from tests.hooks.imports.exports import GPT_ID, gpt_conversation, gpt_message, gpt_pier


def read(conversation: Any) -> list[Any]:
    """The events of a conversation; why, where a message is none."""
    told: list[Any] = []
    for group in conversation_groups(conversation):
        try:
            told += group
        except InvalidInput as error:
            told.append(str(error))
    return told


def only(*messages: Any) -> Any:
    """What one message becomes."""
    (event,) = read(gpt_conversation(*messages, title=""))
    return event


def told(event: Event) -> tuple[str, str, str]:
    return event.kind, event.role, event.text.decode()


def test_a_question_and_its_answer_are_turns_and_the_title_is_a_summary() -> None:
    title, asked, answered = read(gpt_pier())
    assert told(title) == ("summary", "system", "Pier fees")
    assert told(asked) == ("turn", "user", "What does a berth at the heron pier cost?")
    assert told(answered) == ("turn", "assistant", "A berth at the heron pier costs 40 a month.")
    assert {(one.assistant, one.session) for one in (title, asked, answered)} == {("chatgpt", GPT_ID)}
    assert (title.said_at, asked.said_at, answered.said_at) == (
        1_760_000_000_250_000,
        1_760_000_000_500_000,
        1_760_000_009_000_000,
    )
    assert (asked.host_id, asked.source_id, title.host_id) == ("m1", "m1", None)


def typed(content_type: str, **content: Any) -> dict[str, Any]:
    return {"content_type": content_type} | content


HIDDEN = {"is_visually_hidden_from_conversation": True}
IMAGE = typed("image_asset_pointer", asset_pointer="sediment://file_1", width=1)
SPOKEN = typed("audio_transcription", text="spoken", direction="in")


@pytest.mark.parametrize(
    ("role", "content", "more", "expected"),
    [
        ("assistant", typed("code", text="1+1"), {"recipient": "python"}, ("tool_call", "assistant", "python\n1+1")),
        ("tool", typed("execution_output", text="2"), {"name": "python"}, ("tool_result", "tool", "2")),
        ("assistant", typed("code", text="1+1"), {}, ("turn", "assistant", "1+1")),
        ("tool", typed("tether_quote", url="u", text="x", title="T"), {}, ("tool_result", "tool", "T\nu\nx")),
        ("tool", typed("tether_browsing_display", result="r", summary=None), {}, ("tool_result", "tool", "r")),
        (
            "assistant",
            typed("thoughts", thoughts=[{"summary": "S", "content": "C"}]),
            {},
            ("thinking", "assistant", "S\nC"),
        ),
        (
            "user",
            typed("user_editable_context", user_profile="P", user_instructions="I"),
            {},
            ("injected", "system", "P\nI"),
        ),
        ("assistant", typed("model_editable_context", model_set_context="M"), {}, ("injected", "system", "M")),
        ("system", "Be brief.", {}, ("injected", "system", "Be brief.")),
        ("user", "x", {"metadata": HIDDEN}, ("injected", "system", "x")),
        ("assistant", "x", {"weight": 0.0}, ("injected", "system", "x")),
        ("user", typed("multimodal_text", parts=[IMAGE, "Why?", SPOKEN]), {}, ("turn", "user", "Why?\nspoken")),
    ],
)
def test_each_content_becomes_what_it_is(role: str, content: Any, more: Any, expected: tuple[str, str, str]) -> None:
    assert told(only(gpt_message("a", role, content, **more))) == expected


def test_tools_outcomes_and_files_are_named() -> None:
    failed = {"aggregate_result": {"status": "failed_with_in_kernel_exception"}}
    output = {"content_type": "execution_output", "text": "2"}
    result = only(gpt_message("a", "tool", output, name="python", metadata=failed))
    assert (result.tool, result.outcome) == ("python", "failed")
    succeeded = {"aggregate_result": {"status": "success"}}
    assert only(gpt_message("a", "tool", output, name="python", metadata=succeeded)).outcome == "ok"
    error = only(gpt_message("a", "tool", {"content_type": "system_error", "name": "Timeout", "text": "late"}))
    assert (error.text, error.outcome) == (b"Timeout\nlate", "failed")
    asked = only(gpt_message("a", "user", "x", metadata={"attachments": [{"name": "boats.pdf"}, 3, {"id": "f"}]}))
    assert asked.files == ("boats.pdf",)


def test_all_branches_are_taken_whichever_is_the_last_that_was_shown() -> None:
    conversation = gpt_conversation(gpt_message("m1", "user", "first"), gpt_message("m2", "assistant", "one"))
    mapping = conversation["mapping"]
    for own_id, parent, said in (("m3", "m1", "another"), ("e1", "root", "edited"), ("e2", "e1", "to the edited")):
        role = "user" if own_id == "e1" else "assistant"
        mapping[own_id] = {"id": own_id, "message": gpt_message(own_id, role, said), "parent": parent, "children": []}
        mapping[parent]["children"].append(own_id)
    said = ["first", "one", "another", "edited", "to the edited"]
    assert [one.text.decode() for one in read(conversation)[1:]] == said
    assert read(conversation | {"current_node": "m3"}) == read(conversation | {"current_node": "nowhere"})


def test_a_tree_with_a_circle_or_strangers_gives_each_message_once() -> None:
    conversation = gpt_conversation(gpt_message("m1", "user", "a"), gpt_message("m2", "assistant", "b"), title="")
    mapping = conversation["mapping"]
    mapping["m2"]["children"] = ["m1", "nobody", 7, ["m1"], None]
    mapping["root"]["children"] = "m1"
    mapping["m1"]["parent"] = "m2"
    assert [one.text for one in read(conversation)] == [b"a", b"b"]


def test_a_message_without_a_time_has_that_of_the_one_before() -> None:
    conversation = gpt_conversation(
        gpt_message("m1", "user", "a", None),
        gpt_message("m2", "assistant", "b", 1_760_000_050),
        gpt_message("m3", "user", "c", float("nan")),
        gpt_message("m4", "user", "d", 1e300),
        gpt_message("m5", "user", "e", "yesterday"),
        title="New chat",
    )
    times = [one.said_at for one in read(conversation)]
    assert times == [1_760_000_000_250_000, *[1_760_000_050_000_000] * 4]
    assert read(conversation | {"create_time": None})[0].said_at is None


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (["x"], "a message that is no object"),
        (gpt_message("", "user", "x"), "a message without its id or role"),
        (gpt_message("a", "stranger", "x"), "a message without its id or role"),
        (gpt_message("a", "user", "x") | {"author": "me"}, "a message without its id or role"),
        (gpt_message("a", "user", "x") | {"content": None}, "a message without its content"),
    ],
)
def test_a_message_that_cannot_be_understood_is_told_and_the_next_is_read(message: Any, why: str) -> None:
    conversation = gpt_conversation(gpt_message("m1", "user", "a"), gpt_message("m2", "assistant", "b"), title="")
    conversation["mapping"]["m1"]["message"] = message
    first, second = read(conversation)
    assert (first, second.text) == (why, b"b")


@pytest.mark.parametrize("conversation", [{}, {"id": "x"}, {"id": "x", "mapping": []}, {"mapping": {}, "id": 3}])
def test_a_conversation_without_its_id_or_messages_is_refused(conversation: Any) -> None:
    with pytest.raises(InvalidInput, match="a conversation without its "):
        list(conversation_groups(conversation))


def test_content_of_an_unknown_type_is_named_and_its_words_are_kept() -> None:
    assert only(gpt_message("a", "user", typed("hologram\ud800"))) == UnknownFields(("content_type hologram\\ud800",))
    assert told(only(gpt_message("a", "user", typed("hologram", text="x")))) == ("turn", "user", "x")
    recap = gpt_message("a", "assistant", typed("reasoning_recap", content="Thought for 9s"))
    assert read(gpt_conversation(recap, title="")) == []


def test_what_this_memory_itself_was_asked_and_told_is_left_out() -> None:
    call = gpt_message("a", "assistant", "{}", recipient="mcp__mnemic__memory_recall")
    result = gpt_message("b", "tool", "three memories", name="mcp__mnemic__memory_recall")
    assert read(gpt_conversation(call, result, title="")) == []
