"""OpenCode's sessions: messages of parts, the same in its database, in ``opencode export`` and in what its plugins get.

So every event has an id that all three give: a prompt its message's, everything else its part's. Written against
1.18.33 (a real session in the tests); https://opencode.ai/docs/sdk#types names the fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mnemic.actors.events import Event, Kind, Role, to_bytes
from mnemic.hooks.lines import Bad, Json, MakeEvent, render_call, text_of
from mnemic.hooks.own import without_own

__all__ = ["ASSISTANT", "export_events", "is_export", "message_events", "part_events", "prompt_events", "session_name"]

ASSISTANT = "opencode"
ENDED = ("completed", "error")
FILE_ARGUMENTS = ("filePath", "path")
OWN_PREFIX = "mnemic_"
"""Tools of an MCP server are called after it."""


def is_export(document: Json) -> bool:
    """Whether a document is what ``opencode export`` prints."""
    info = document.get("info")
    return isinstance(info, dict) and isinstance(info.get("id"), str) and isinstance(document.get("messages"), list)


def export_events(document: Json) -> Iterator[Event | Bad]:
    """The events of an exported session; a `Bad` stands for a message that cannot be used."""
    info = document["info"]
    session = session_name(info["id"], info.get("parentID"))
    for message in document["messages"]:
        told, parts = (message.get("info"), message.get("parts")) if isinstance(message, dict) else (None, None)
        if not isinstance(told, dict) or not isinstance(parts, list):
            yield Bad("a message without its info and parts")
            continue
        yield from message_events(session, text_of(info.get("directory")), told, parts)


def session_name(own_id: str, parent: object) -> str:
    """The session of a conversation: a subagent's stands below that of who sent it."""
    return f"{parent}/{own_id}" if text_of(parent) else own_id


def message_events(session: str, cwd: str | None, info: Json, parts: Iterable[object]) -> Iterator[Event | Bad]:
    """The events of one message, in order."""
    make = _Maker(session, cwd, info)
    usable = [part for part in parts if isinstance(part, dict)]
    try:
        if info.get("role") == "user":
            yield from prompt_events(make, info, usable)
        elif info.get("role") == "assistant":
            for part in usable:
                yield from part_events(make, info, part)
        else:
            yield Bad("a message without its role")
    except Bad as bad:
        yield bad


def prompt_events(make: MakeEvent, info: Json, parts: Iterable[Json]) -> Iterator[Event]:
    """What stands in the user's place: what the host or a plugin put there, and what was typed, as one turn."""
    typed = []
    for part in parts:
        text = text_of(part.get("text")) if part.get("type") == "text" else None
        if text is None or part.get("ignored"):
            continue
        if not part.get("synthetic"):
            typed.append(text)
        elif text_of(rest := without_own(text)):
            yield make("injected", "system", rest, **_ids(part))
    if typed:
        yield make("turn", "user", "\n".join(typed), **_ids(info))


def part_events(make: MakeEvent, info: Json, part: Json) -> Iterator[Event]:
    """The events of one part of an assistant's message."""
    kind = part.get("type")
    if kind in ("text", "reasoning"):
        text = text_of(part.get("text"))
        if text and not part.get("synthetic") and not part.get("ignored"):
            ids = _ids(part)
            if kind == "reasoning":
                yield make("thinking", "assistant", text, **ids)
            elif info.get("summary") is True:
                yield make("summary", "system", text, **ids)
            else:
                yield make("turn", "assistant", text, **ids)
    elif kind == "tool":
        yield from _tool(make, part)


def _tool(make: MakeEvent, part: Json) -> Iterator[Event]:
    tool, state = text_of(part.get("tool")), part.get("state")
    if tool is None or not isinstance(state, dict):
        raise Bad("a tool call without its name or state")
    if tool.startswith(OWN_PREFIX) or (state.get("status") == "pending" and not state.get("input")):
        return
    arguments = state.get("input")
    common: dict[str, Any] = {"tool": tool, "files": _files(arguments), **_ids(part)}
    yield make("tool_call", "assistant", render_call(tool, arguments), **common)
    if state.get("status") in ENDED:
        failed = state["status"] == "error" or _exit_code(state) not in (None, 0)
        said = state.get("error") if state["status"] == "error" else state.get("output")
        text = said if isinstance(said, str) else ""
        yield make("tool_result", "tool", text, outcome="failed" if failed else "ok", **common)


class _Maker:
    """Makes the events of one message: what they share is taken from it once."""

    def __init__(self, session: str, cwd: str | None, info: Json) -> None:
        path, time = info.get("path"), info.get("time")
        created = time.get("created") if isinstance(time, dict) else None
        self._common: dict[str, Any] = {
            "assistant": ASSISTANT,
            "session": session,
            "said_at": int(created) * 1000 if isinstance(created, int | float) and 0 < created < 1e15 else None,
            "cwd": (text_of(path.get("cwd")) if isinstance(path, dict) else None) or cwd,
            "subagent": "/" in session,
        }

    def __call__(self, kind: Kind, role: Role, text: str, **more: Any) -> Event:
        return Event(kind=kind, role=role, text=to_bytes(text), **self._common, **more)


def _ids(named: Json) -> dict[str, Any]:
    own_id = text_of(named.get("id"))
    if own_id is None:
        raise Bad("a message or part without its id")
    return {"host_id": own_id, "source_id": own_id}


def _exit_code(state: Json) -> object:
    metadata = state.get("metadata")
    return metadata.get("exit") if isinstance(metadata, dict) else None


def _files(arguments: object) -> tuple[str, ...]:
    if not isinstance(arguments, dict):
        return ()
    return tuple(value for name in FILE_ARGUMENTS if (value := text_of(arguments.get(name))))
