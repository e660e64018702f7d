"""Reads the conversations of a ChatGPT data export (``conversations.json``).

A conversation is a tree of messages: an edited prompt and an answer that was asked for again are branches beside the
first. All of them were said, so all are taken; that also keeps a later export, which may show another branch, from
changing what is known. OpenAI documents no schema: the fields are those of exports up to 2026 as tools that read them
tell of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mnemic.actors.kernel.events import UnknownFields, escape_surrogates
from mnemic.hooks.imports.chat_events import ChatFormat, Group, file_names, seconds_to_us, title_events
from mnemic.hooks.read.lines import EventFactory, InvalidInput, Json, nonblank_text, render_call
from mnemic.hooks.read.own_calls import is_own_tool

ASSISTANT = "chatgpt"
_UNTITLED = ("New chat", "New Chat", "Untitled")
_TEXT_FIELDS = (
    *("title", "url", "name", "summary", "text", "result", "content", "thoughts", "parts"),
    *("user_profile", "user_instructions", "model_set_context"),
)
"""Where a message's content, or a part of it, has words; pointers to images and sounds have none."""
_INJECTED = ("user_editable_context", "model_editable_context")
_KNOWN_TYPES = frozenset(
    ("text", "multimodal_text", "code", "execution_output", "thoughts", "reasoning_recap", "system_error", *_INJECTED)
) | {"tether_quote", "tether_browsing_display", "tether_browsing_code", "sonic_webpage", "computer_output"}
_LONGEST_NAME = 60


def conversation_groups(conversation: Json) -> Iterator[Group]:
    """The events of a conversation, message by message. Raises `InvalidInput` where it has none."""
    session = nonblank_text(conversation.get("conversation_id")) or nonblank_text(conversation.get("id"))
    if session is None:
        raise InvalidInput("a conversation without its id")
    mapping = conversation.get("mapping")
    if not isinstance(mapping, dict):
        raise InvalidInput("a conversation without its messages (mapping)")
    said_at = seconds_to_us(conversation.get("create_time"))
    make = EventFactory(assistant=ASSISTANT, session=session, said_at=said_at)
    yield title_events(make, conversation.get("title"), _UNTITLED)
    for node in _nodes(mapping):
        message = node.get("message") if isinstance(node, dict) else node
        if message is None:  # the root
            continue
        if isinstance(message, dict):
            at = seconds_to_us(message.get("create_time"))
            said_at = said_at if at is None else at
        yield _message_events(EventFactory(assistant=ASSISTANT, session=session, said_at=said_at), message)


def _nodes(mapping: dict[str, Any]) -> Iterator[Any]:
    """The nodes of the tree, each once, a branch after another; last what no root leads to."""
    roots = [name for name, node in mapping.items() if not isinstance(node, dict) or node.get("parent") is None]
    waiting: list[object] = [*reversed(mapping), *reversed(roots)]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if not isinstance(name, str) or name in seen or name not in mapping:
            continue
        seen.add(name)
        node = mapping[name]
        yield node
        children = node.get("children") if isinstance(node, dict) else None
        waiting += reversed(children) if isinstance(children, list) else ()


def _message_events(make: EventFactory, message: object) -> Group:
    """The event of one message, if it says something."""
    if not isinstance(message, dict):
        raise InvalidInput("a message that is no object")
    own_id, content = nonblank_text(message.get("id")), message.get("content")
    author, metadata = _object(message.get("author")), _object(message.get("metadata"))
    role = author.get("role")
    if own_id is None or role not in ("user", "assistant", "system", "tool"):
        raise InvalidInput("a message without its id or role")
    if not isinstance(content, dict):
        raise InvalidInput("a message without its content")
    kind = content.get("content_type")
    text = "\n".join(_said(content))
    if not text:
        if kind not in _KNOWN_TYPES:
            yield UnknownFields((f"content_type {escape_surrogates(str(kind)[:_LONGEST_NAME])}",))
        return
    ids: dict[str, Any] = {"host_id": own_id, "source_id": own_id}
    is_hidden = metadata.get("is_visually_hidden_from_conversation") is True or message.get("weight") == 0
    recipient = nonblank_text(message.get("recipient")) or "all"
    if kind == "reasoning_recap":  # how long it thought
        return
    if kind == "thoughts":
        yield make("thinking", "assistant", text, **ids)
    elif role == "tool":
        tool = nonblank_text(author.get("name"))
        if tool is None or not is_own_tool(tool):
            yield make("tool_result", "tool", text, tool=tool, outcome=_outcome(kind, metadata), **ids)
    elif role == "system" or is_hidden or kind in _INJECTED:
        yield make("injected", "system", text, **ids)
    elif role == "user":
        yield make("turn", "user", text, files=file_names(metadata.get("attachments"), "name"), **ids)
    elif recipient == "all":
        yield make("turn", "assistant", text, **ids)
    elif not is_own_tool(recipient):
        yield make("tool_call", "assistant", render_call(recipient, text), tool=recipient, **ids)


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _said(value: object) -> Iterator[str]:
    """The words in a content, whatever its type."""
    if isinstance(value, str):
        if value.strip():
            yield value
    elif isinstance(value, list):
        for one in value:
            yield from _said(one)
    elif isinstance(value, dict):
        for name in _TEXT_FIELDS:
            yield from _said(value.get(name))


def _outcome(kind: object, metadata: Json) -> str | None:
    """How a call ended, where the result says so."""
    status = _object(metadata.get("aggregate_result")).get("status")
    if kind == "system_error":
        return "failed"
    return None if not isinstance(status, str) else "ok" if status == "success" else "failed"


CHATGPT = ChatFormat(
    name="chatgpt",
    key="mapping",
    names=frozenset(("chat.html", "message_feedback.json", "user.json")),
    conversation=conversation_groups,
    others={},
)
"""ChatGPT's data export."""
