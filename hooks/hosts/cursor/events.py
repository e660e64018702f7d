"""Turns payloads of Cursor's hooks into events.

Its documentation was read (https://cursor.com/docs/agent/hooks); the program does not run without its window, so
nothing of this is measured. Every payload has ``conversation_id``; only ``sessionStart`` and ``sessionEnd`` call the
same thing ``session_id``. The folder is the first of ``workspace_roots``. ``transcript_path`` names a file whose format
is not documented: it is not read, so what these hooks miss is not captured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mnemic.actors.protocol.events import Event, HookEvent, HookRecord, Outcome
from mnemic.hooks.read.lines import InvalidInput, Json, nonblank_text, render_call
from mnemic.hooks.read.records import RecordEventFactory, required_text

__all__ = ["hook_events"]

IGNORED_EVENTS = {
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


def hook_events(record: HookRecord, payload: Json) -> Iterator[HookEvent]:
    """What one payload tells, in order. Raises `InvalidInput` where it lacks what it must have."""
    event = required_text(payload, "hook_event_name")
    if event in IGNORED_EVENTS:
        return
    make = RecordEventFactory(record, {"cwd": _folder(payload), "session_id": _session(payload)})
    if event == "beforeSubmitPrompt":
        prompt = payload.get("prompt")
        if not isinstance(prompt, str):
            raise InvalidInput("prompt is missing")
        if nonblank_text(prompt):
            yield make("turn", "user", prompt)
    elif event == "afterAgentResponse":
        if text := nonblank_text(payload.get("text")):
            yield make("turn", "assistant", text)
    elif event == "postToolUse":
        answer = _parse_if_json(payload.get("tool_output"))
        yield from _tool(make, payload, _answer_text(answer), "failed" if _failed(answer) else "ok")
    elif event == "postToolUseFailure":
        yield from _tool(make, payload, nonblank_text(payload.get("error_message")) or "", "failed")
    elif event == "subagentStop":
        yield from _subagent(record, payload)
    else:
        raise InvalidInput("no event of that name is known")


def _session(payload: Json) -> str:
    return nonblank_text(payload.get("conversation_id")) or required_text(payload, "session_id")


def _folder(payload: Json) -> str | None:
    roots = payload.get("workspace_roots")
    return nonblank_text(roots[0]) if isinstance(roots, list) and roots else None


def _tool(make: RecordEventFactory, payload: Json, answer: str, outcome: Outcome) -> Iterator[Event]:
    tool, call = required_text(payload, "tool_name"), required_text(payload, "tool_use_id")
    server, named, name = tool.rpartition(":")
    if named and (name in OWN_TOOLS or server == "MCP:mnemic"):
        return
    arguments = _parse_if_json(payload.get("tool_input"))
    files = tuple(
        value
        for name in FILE_ARGUMENTS
        if (value := nonblank_text(arguments.get(name) if isinstance(arguments, dict) else None))
    )
    common: dict[str, Any] = {"host_id": call, "tool": tool, "files": files}
    yield make("tool_call", "assistant", render_call(tool, arguments), **common)
    yield make("tool_result", "tool", answer, outcome=outcome, **common)


def _subagent(record: HookRecord, payload: Json) -> Iterator[Event]:
    """What a subagent reports in the end, in a session of its own where the payload has a name for it."""
    text = nonblank_text(payload.get("summary"))
    agent = nonblank_text(payload.get("subagent_id")) or nonblank_text(payload.get("tool_call_id"))
    if text and agent:
        fields = {"cwd": _folder(payload), "session_id": _session(payload), "agent_id": agent}
        yield RecordEventFactory(record, fields)("turn", "assistant", text)


def _parse_if_json(value: object) -> object:
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
