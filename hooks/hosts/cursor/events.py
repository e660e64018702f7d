"""Cursor's hooks: what each payload tells. Above: `mnemic.hooks.read.records`.

Its documentation was read (https://cursor.com/docs/agent/hooks); the program does not run without its window, so
nothing of this is measured. Every payload has ``conversation_id``; only ``sessionStart`` and ``sessionEnd`` call the
same thing ``session_id``. The folder is the first of ``workspace_roots``. ``transcript_path`` names a file whose format
is not documented: it is not read, so what these hooks miss is not captured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mnemic.actors.protocol.events import Event, Happening, Outcome, Record
from mnemic.hooks.read.lines import Bad, Json, render_call, text_of
from mnemic.hooks.read.records import RecordEvents, required

__all__ = ["happenings"]

UNWANTED = {
    "afterAgentThought",
    "afterFileEdit",
    "afterMCPExecution",
    "afterShellExecution",
    "afterTabFileEdit",
    "beforeMCPExecution",
    "beforeReadFile",
    "beforeShellExecution",
    "beforeTabFileRead",
    "preCompact",
    "preToolUse",
    "sessionEnd",
    "sessionStart",
    "stop",
    "subagentStart",
    "workspaceOpen",
}
"""Events that tell nothing said or done, or nothing that ``postToolUse`` and ``afterAgentResponse`` do not tell."""

FILE_ARGUMENTS = ("file_path", "path", "target_file")
# An MCP tool is called ``MCP:`` and its name; of which server it is, is not said.
OWN_TOOLS = ("memory_capture", "memory_forget", "memory_get", "memory_recall", "memory_shape", "memory_status")


def happenings(record: Record, payload: Json) -> Iterator[Happening]:
    """What one payload tells, in order. Raises `Bad` where it lacks what it must have."""
    event = required(payload, "hook_event_name")
    if event in UNWANTED:
        return
    make = RecordEvents(record, {"cwd": _folder(payload), "session_id": _session(payload)})
    if event == "beforeSubmitPrompt":
        prompt = payload.get("prompt")
        if not isinstance(prompt, str):
            raise Bad("prompt is missing")
        if text_of(prompt):
            yield make("turn", "user", prompt)
    elif event == "afterAgentResponse":
        if text := text_of(payload.get("text")):
            yield make("turn", "assistant", text)
    elif event == "postToolUse":
        answer = _parsed(payload.get("tool_output"))
        yield from _tool(make, payload, _answer_text(answer), "failed" if _failed(answer) else "ok")
    elif event == "postToolUseFailure":
        yield from _tool(make, payload, text_of(payload.get("error_message")) or "", "failed")
    elif event == "subagentStop":
        yield from _subagent(record, payload)
    else:
        raise Bad("no event of that name is known")


def _session(payload: Json) -> str:
    return text_of(payload.get("conversation_id")) or required(payload, "session_id")


def _folder(payload: Json) -> str | None:
    roots = payload.get("workspace_roots")
    return text_of(roots[0]) if isinstance(roots, list) and roots else None


def _tool(make: RecordEvents, payload: Json, answer: str, outcome: Outcome) -> Iterator[Event]:
    tool, call = required(payload, "tool_name"), required(payload, "tool_use_id")
    server, named, name = tool.rpartition(":")
    if named and (name in OWN_TOOLS or server == "MCP:mnemic"):
        return
    arguments = _parsed(payload.get("tool_input"))
    files = tuple(
        value
        for name in FILE_ARGUMENTS
        if (value := text_of(arguments.get(name) if isinstance(arguments, dict) else None))
    )
    common: dict[str, Any] = {"host_id": call, "tool": tool, "files": files}
    yield make("tool_call", "assistant", render_call(tool, arguments), **common)
    yield make("tool_result", "tool", answer, outcome=outcome, **common)


def _subagent(record: Record, payload: Json) -> Iterator[Event]:
    """What a subagent reports in the end, in a session of its own where the payload has a name for it."""
    text = text_of(payload.get("summary"))
    agent = text_of(payload.get("subagent_id")) or text_of(payload.get("tool_call_id"))
    if text and agent:
        fields = {"cwd": _folder(payload), "session_id": _session(payload), "agent_id": agent}
        yield RecordEvents(record, fields)("turn", "assistant", text)


def _parsed(value: object) -> object:
    """What is JSON in a string is that; other strings are themselves."""
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, dict | list) else value


def _answer_text(answer: object) -> str:
    """What a tool answered, as text; nothing of it is left out."""
    if answer is None or isinstance(answer, str):
        return answer or ""
    if isinstance(answer, dict):
        blocks = answer.get("content")
        if isinstance(blocks, list) and all(isinstance(block, dict) and "text" in block for block in blocks):
            return "\n".join(str(block["text"]) for block in blocks)
        if set(answer) <= {"exitCode", "stdout", "stderr"} and isinstance(answer.get("stdout"), str):
            return "\n".join(str(part) for name in ("stdout", "stderr") if (part := answer.get(name)))
    return render_call("", answer).strip()


def _failed(answer: object) -> bool:
    if not isinstance(answer, dict):
        return False
    return bool(answer.get("isError")) or answer.get("exitCode") not in (None, 0)
