"""What is no text in a tool's answer is named, the same by every host's hook and transcript."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mnemic.actors.kernel.events import Event, HookRecord, to_text
from mnemic.hooks.read.media import name_media
from mnemic.hooks.read.records import read_record

DATA = "iVBORw0KGgo" * 400
BLOCKS: list[tuple[dict[str, Any], str]] = [
    ({"type": "text", "text": "a chart"}, "a chart"),
    ({"type": "image", "data": DATA, "mimeType": "image/png"}, "[image: image/png]"),
    ({"type": "audio", "data": DATA, "mimeType": "audio/wav"}, "[audio: audio/wav]"),
    (
        {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "application/pdf", "blob": DATA}},
        "[resource: application/pdf]",
    ),
    ({"type": "resource", "resource": {"uri": "file:///a", "blob": DATA}}, "[resource: file:///a]"),
    ({"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": DATA}}, "[image: image/gif]"),
    ({"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"}, "[image: image/png]"),
    ({"type": "image_url", "image_url": {"url": f"data:image/webp;base64,{DATA}"}}, "[image: image/webp]"),
]


@pytest.mark.parametrize(("block", "named"), BLOCKS)
def test_a_block_that_holds_data_is_its_name_wherever_it_stands(block: dict[str, Any], named: str) -> None:
    if named.startswith("["):
        assert name_media({"a": [block, {"b": block}], "c": 1}) == {"a": [named, {"b": named}], "c": 1}
    else:
        assert name_media([block]) == [block]


def test_text_and_what_only_resembles_a_picture_stay() -> None:
    kept: Any = [
        {"type": "image", "path": "a.png"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "words"}},
        {"type": "document", "source": {"type": "text", "data": "words"}},
        "see data:image/png;base64,AAAA",
        {"type": "data", "data": "words"},
    ]
    assert name_media(kept) == kept
    assert name_media("data:application/pdf;base64,AAAA") == "[data: application/pdf]"
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    assert name_media(deep) is deep


def result(assistant: str, event: str, payload: dict[str, Any]) -> str:
    """The result that a hook of a host tells of."""
    given = json.dumps({"session_id": "s", "tool_use_id": "t", "tool_name": "mcp__probe__draw", **payload}).encode()
    record = HookRecord(
        id=bytes(16), assistant=assistant, event=event, at=0, cwd="/home/ana", branch=None, payload=given
    )
    (told,) = [one for one in read_record(record) if isinstance(one, Event) and one.kind == "tool_result"]
    return to_text(told.text)


@pytest.mark.parametrize("form", ["list", "answer"])
def test_hook_and_transcript_of_claude_code_name_the_same(read: Any, write: Any, form: str) -> None:
    blocks = [block for block, _ in BLOCKS]
    response: Any = blocks if form == "list" else {"content": blocks, "isError": False}
    hooked = result("claude-code", "tool", {"hook_event_name": "PostToolUse", "tool_response": response})
    content = [{"type": "tool_result", "tool_use_id": "t", "content": blocks}]
    line = {"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": content}}
    (event,) = read(write(line))
    assert to_text(event.text) == hooked == "\n".join(named for _, named in BLOCKS)


def test_hook_and_rollout_of_codex_name_the_same(read: Any, write: Any) -> None:
    blocks, names = [block for block, _ in BLOCKS], [named for _, named in BLOCKS]
    response = {"content": blocks, "isError": False}
    assert result("codex", "tool", {"hook_event_name": "PostToolUse", "tool_response": response}) == "\n".join(names)
    data = {"content": [], "isError": False, "structuredContent": {"shot": BLOCKS[1][0]}}
    told = result("codex", "tool", {"hook_event_name": "PostToolUse", "tool_response": data})
    assert told == '{"shot":"[image: image/png]"}'
    output = {"type": "function_call_output", "call_id": "t", "output": blocks}
    meta = {"type": "session_meta", "payload": {"id": "s", "cwd": "/home/ana"}}
    (event,) = read(write(meta, {"type": "response_item", "payload": output}))
    assert to_text(event.text) == "\n".join(names)


def test_hook_and_transcript_of_gemini_cli_name_the_same(read: Any, write: Any) -> None:
    parts = [{"functionResponse": {"id": "t", "name": "draw", "response": {"content": [BLOCKS[0][0], BLOCKS[1][0]]}}}]
    hooked = result("gemini-cli", "tool", {"hook_event_name": "AfterTool", "tool_response": {"llmContent": parts}})
    head = {"sessionId": "s", "projectHash": "p"}
    call = {"id": "t", "name": "draw", "args": {}, "status": "success", "result": parts}
    event = read(write(head, {"id": "m", "type": "gemini", "content": "", "toolCalls": [call]}))[-1]
    assert to_text(event.text) == hooked == 'content: [{"type": "text", "text": "a chart"}, "[image: image/png]"]'


def test_cursors_hook_names_them_too() -> None:
    output = json.dumps({"content": [block for block, _ in BLOCKS]})
    told = result("cursor", "tool", {"hook_event_name": "postToolUse", "tool_output": output})
    assert told == "\n".join(named for _, named in BLOCKS)
