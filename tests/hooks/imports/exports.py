"""Small invented exports of chat programs, as their programs write them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mnemic.hooks.read.lines import Json

GPT_ID = "6a000000-0000-8000-8000-000000000001"
CLAUDE_ID = "0b000000-0000-4000-8000-000000000001"


def gpt_message(own_id: str, role: str, content: Any, at: Any = 1_760_000_000.5, **more: Any) -> Json:
    """A message of ChatGPT's; a string is its text."""
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    author = {"role": role, "name": more.pop("name", None), "metadata": {}}
    common = {"status": "finished_successfully", "end_turn": True, "weight": 1.0, "metadata": {}, "recipient": "all"}
    return {"id": own_id, "author": author, "create_time": at, "update_time": None, "content": content} | common | more


def gpt_conversation(*messages: Json, own_id: str = GPT_ID, title: str = "Pier fees", **more: Any) -> Json:
    """A conversation of ChatGPT's, its messages one after another below a root."""
    mapping: Json = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    before = "root"
    for message in messages:
        mapping[before]["children"].append(message["id"])
        mapping[message["id"]] = {"id": message["id"], "message": message, "parent": before, "children": []}
        before = message["id"]
    told = {"title": title, "create_time": 1_760_000_000.25, "update_time": 1_760_000_100.0, "mapping": mapping}
    return told | {"moderation_results": [], "current_node": before, "conversation_id": own_id, "id": own_id} | more


def gpt_pier() -> Json:
    """A question and its answer."""
    return gpt_conversation(
        gpt_message("m0", "system", "", None, weight=0.0, metadata={"is_visually_hidden_from_conversation": True}),
        gpt_message("m1", "user", "What does a berth at the heron pier cost?"),
        gpt_message("m2", "assistant", "A berth at the heron pier costs 40 a month.", 1_760_000_009.0),
    )


def claude_message(own_id: str, sender: str, text: str, **more: Any) -> Json:
    """A message of Claude's, with its text in both places."""
    at = "2025-11-03T09:00:00.500000Z"
    content = [{"start_timestamp": at, "stop_timestamp": at, "type": "text", "text": text, "citations": []}]
    told = {"uuid": own_id, "text": text, "content": content, "sender": sender, "created_at": at, "updated_at": at}
    return told | {"attachments": [], "files": []} | more


def claude_conversation(*messages: Any, own_id: str = CLAUDE_ID, name: str = "Otter weights", **more: Any) -> Json:
    """A conversation of Claude's."""
    at = "2025-11-03T08:59:59.000000Z"
    told = {"uuid": own_id, "name": name, "summary": "", "created_at": at, "updated_at": at, "account": {"uuid": "a"}}
    return told | {"chat_messages": list(messages)} | more


def claude_otter() -> Json:
    """A question and its answer."""
    return claude_conversation(
        claude_message("c1", "human", "How heavy is a grown otter?"),
        claude_message("c2", "assistant", "A grown otter weighs about nine kilograms."),
    )


def zipped(path: Path, files: Mapping[str, Any]) -> Path:
    """A zip file; what is no text or bytes is written as JSON."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return path


def unzipped(folder: Path, files: Mapping[str, Any]) -> Path:
    """A folder with the same."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, str | bytes) else json.dumps(content)
        (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return folder
