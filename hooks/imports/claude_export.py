"""Reads Claude's data export: ``conversations.json``, and where it is there ``projects.json`` (or a folder with a file
for each) and ``memories.json``.

It is what claude.ai and its apps keep; Claude Code's transcripts are something else
(`mnemic.hooks.hosts.claude_code`). Anthropic documents no schema: the fields are those of exports up to 2026 as tools
that read them tell of them. An export does not say which project a conversation belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mnemic.actors.kernel.events import Role, UnknownFields, escape_surrogates
from mnemic.hooks.imports.chat_events import ChatFormat, Group, document_events, file_names, title_events
from mnemic.hooks.read.lines import (
    EventFactory,
    InvalidInput,
    Json,
    call_events,
    nonblank_text,
    parse_written_time,
    time_fields,
)
from mnemic.hooks.read.own_calls import CallShares, is_own_tool

ASSISTANT = "claude"
_UNTITLED = ("New conversation", "Untitled")
_ROLES: dict[str, Role] = {"human": "user", "user": "user", "assistant": "assistant"}
_WORDLESS = ("token_budget", "flag")
_LONGEST_NAME = 60


def conversation_groups(conversation: Json) -> Iterator[Group]:
    """The events of a conversation, message by message. Raises `InvalidInput` where it has none."""
    session, messages = nonblank_text(conversation.get("uuid")), conversation.get("chat_messages")
    if session is None:
        raise InvalidInput("a conversation without its uuid")
    if not isinstance(messages, list):
        raise InvalidInput("a conversation without its messages (chat_messages)")
    written = parse_written_time(conversation.get("created_at"))
    make = EventFactory(assistant=ASSISTANT, session=session, **time_fields(written))
    yield title_events(make, conversation.get("name"), _UNTITLED)
    yield _summary_events(make, conversation.get("summary"))
    for message in messages:
        if isinstance(message, dict):
            written = parse_written_time(message.get("created_at")) or written
        yield _message_events(EventFactory(assistant=ASSISTANT, session=session, **time_fields(written)), message)


def _summary_events(make: EventFactory, summary: object) -> Group:
    if (text := nonblank_text(summary)) is not None:
        yield make("summary", "system", text, disambiguator="summary")


def _message_events(make: EventFactory, message: object) -> Group:
    """The events of one message: what was attached, its calls and thoughts in order, then its words as one turn."""
    if not isinstance(message, dict):
        raise InvalidInput("a message that is no object")
    own_id, role = nonblank_text(message.get("uuid")), _ROLES.get(str(message.get("sender")))
    if own_id is None or role is None:
        raise InvalidInput("a message without its uuid or sender")
    attached = message.get("attachments")
    for number, one in enumerate(attached if isinstance(attached, list) else ()):
        text = nonblank_text(one.get("extracted_content")) if isinstance(one, dict) else None
        if text is not None:
            yield make(
                "injected",
                "user",
                text,
                author="unknown",
                files=file_names([one], "file_name"),
                **_ids(f"{own_id}#file{number}"),
            )
    said = []
    blocks = message.get("content")
    shares = CallShares()
    for number, block in enumerate(blocks if isinstance(blocks, list) else ()):
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind in ("text", "voice_note"):
            said += [text for text in [nonblank_text(block.get("text"))] if text is not None]
        else:
            yield from _block_events(make, kind, block, f"{own_id}#{number}", shares)
    text = "\n".join(said) or nonblank_text(message.get("text"))
    if text:
        named = file_names(attached, "file_name") + file_names(message.get("files"), "file_name")
        yield make("turn", role, text, files=named, **_ids(own_id))


def _block_events(make: EventFactory, kind: object, block: Json, own_id: str, shares: CallShares) -> Group:
    """The events of a block that is no text."""
    if kind == "thinking":
        if (text := nonblank_text(block.get("thinking"))) is not None:
            yield make("thinking", "assistant", text, **_ids(own_id))
    elif kind == "tool_use":
        ids = _ids(nonblank_text(block.get("id")) or own_id)
        shares.call(nonblank_text(block.get("id")), _tool(block), block.get("input"))
        yield from call_events(make, _tool(block), block.get("input"), None, False, **ids)
    elif kind == "tool_result":
        ids = _ids(nonblank_text(block.get("tool_use_id")) or own_id)
        kept = shares.result(nonblank_text(block.get("tool_use_id")), _result(block.get("content")))
        if kept is not None and not is_own_tool(_tool(block)):
            outcome = "failed" if block.get("is_error") is True else "ok"
            yield make("tool_result", "tool", kept, tool=_tool(block), outcome=outcome, **ids)
    elif kind not in _WORDLESS:
        yield UnknownFields((f"type {escape_surrogates(str(kind)[:_LONGEST_NAME])}",))


def _tool(block: Json) -> str:
    tool = nonblank_text(block.get("name"))
    if tool is None:
        raise InvalidInput("a tool call or its result without the tool's name")
    return tool


def _result(content: object) -> str:
    """The words of a tool's result: a text, or those of its parts."""
    if isinstance(content, str):
        return content
    parts = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    told = [nonblank_text(one.get(name)) for one in parts for name in ("title", "url", "text")]
    return "\n".join(text for text in told if text is not None)


def _ids(own_id: str) -> dict[str, Any]:
    return {"host_id": own_id, "source_id": own_id}


def project_groups(project: Json) -> Iterator[Group]:
    """What a project holds: its description, its instructions and its documents, as notes."""
    session, name = nonblank_text(project.get("uuid")), nonblank_text(project.get("name"))
    if session is None:
        raise InvalidInput("a project without its uuid")
    if project.get("is_starter_project") is True:  # Anthropic's own, the same for everybody
        return
    written = parse_written_time(project.get("created_at"))
    make = EventFactory(assistant=ASSISTANT, session=session, **time_fields(written))
    for field in ("description", "prompt_template"):
        yield document_events(make, (name,), project.get(field))
    documents = project.get("docs")
    for document in documents if isinstance(documents, list) else ():
        if isinstance(document, dict):
            own = parse_written_time(document.get("created_at")) or written
            of_document = EventFactory(assistant=ASSISTANT, session=session, **time_fields(own))
            path = name, document.get("filename")
            yield document_events(of_document, path, document.get("content"), author="unknown")


def memory_groups(memories: Json) -> Iterator[Group]:
    """What Claude has noted by itself: of all conversations, and of each project."""
    make = EventFactory(assistant=ASSISTANT, session="memories")
    yield document_events(make, (), memories.get("conversations_memory"), "assistant")
    of_projects = memories.get("project_memories")
    for session, text in of_projects.items() if isinstance(of_projects, dict) else ():
        yield document_events(EventFactory(assistant=ASSISTANT, session=session), (), text, "assistant")


CLAUDE = ChatFormat(
    name="claude-export",
    key="chat_messages",
    names=frozenset(("users.json", "projects.json", "projects", "memories.json")),
    conversation=conversation_groups,
    others={"projects": project_groups, "memories": memory_groups},
)
"""Claude's data export."""
