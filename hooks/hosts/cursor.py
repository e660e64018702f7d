"""Turns payloads of Cursor's hooks into events.

Its documentation was read (https://cursor.com/docs/agent/hooks); the program does not run without its window, so
nothing of this is measured. Every payload has ``conversation_id``; only ``sessionStart`` and ``sessionEnd`` call the
same thing ``session_id``. The folder is the first of ``workspace_roots``. ``transcript_path`` names a file whose format
is not documented: it is not read, so what these hooks miss is not captured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from mnemic.actors.kernel.events import Event, HookEvent, HookRecord
from mnemic.hooks.read.lines import InvalidInput, Json, call_events, nonblank_text, render_call
from mnemic.hooks.read.media import name_media
from mnemic.hooks.read.records import RecordEventFactory, required_text
from mnemic.hooks.read.speakers import user_text_events

IGNORED_EVENTS = {
    *("afterAgentThought", "afterFileEdit", "afterMCPExecution", "afterShellExecution", "afterTabFileEdit"),
    *("beforeMCPExecution", "beforeReadFile", "beforeShellExecution", "beforeTabFileRead", "preCompact", "preToolUse"),
    *("sessionEnd", "sessionStart", "stop", "subagentStart", "workspaceOpen"),
}
"""Events that tell nothing said or done, or nothing that ``postToolUse`` and ``afterAgentResponse`` do not tell."""


def hook_events(record: HookRecord, payload: Json) -> Iterator[HookEvent]:
    """What one payload tells, in order. Raises `InvalidInput` where it lacks what it must have."""
    event = required_text(payload, "hook_event_name")
    if event in IGNORED_EVENTS:
        return
    roots = payload.get("workspace_roots")
    fields = {
        "cwd": roots[0] if isinstance(roots, list) and roots else None,
        "session_id": nonblank_text(payload.get("conversation_id")) or required_text(payload, "session_id"),
        "prompt": payload.get("prompt"),
    }
    make = RecordEventFactory(record, fields)
    if event == "beforeSubmitPrompt":
        if prompt := nonblank_text(make.prompt()):
            yield from user_text_events(make, prompt)
    elif event == "afterAgentResponse":
        if text := nonblank_text(payload.get("text")):
            yield make("turn", "assistant", text)
    elif event == "postToolUse":
        answer = _parse_if_json(payload.get("tool_output"))
        yield from _tool(make, payload, _answer_text(answer), _failed(answer))
    elif event == "postToolUseFailure":
        yield from _tool(make, payload, nonblank_text(payload.get("error_message")) or "", True)
    elif event == "subagentStop":
        # What a subagent reports in the end, in a session of its own where the payload has a name for it.
        text = nonblank_text(payload.get("summary"))
        agent = nonblank_text(payload.get("subagent_id")) or nonblank_text(payload.get("tool_call_id"))
        if text and agent:
            yield RecordEventFactory(record, {**fields, "agent_id": agent})("turn", "assistant", text)
    else:
        raise InvalidInput("no event of that name is known")


def _tool(make: RecordEventFactory, payload: Json, answer: str, failed: bool) -> Iterator[Event]:
    tool, call = required_text(payload, "tool_name"), required_text(payload, "tool_use_id")
    yield from call_events(make, tool, _parse_if_json(payload.get("tool_input")), answer, failed, host_id=call)


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
    answer = name_media(answer)
    if isinstance(answer, dict):
        blocks = answer.get("content")
        if isinstance(blocks, list) and all(
            isinstance(one, str) or (isinstance(one, dict) and "text" in one) for one in blocks
        ):
            return "\n".join(one if isinstance(one, str) else str(one["text"]) for one in blocks)
        if set(answer) <= {"exitCode", "stdout", "stderr"} and isinstance(answer.get("stdout"), str):
            return "\n".join(str(part) for name in ("stdout", "stderr") if (part := answer.get(name)))
    return render_call("", answer).strip()


def _failed(answer: object) -> bool:
    if not isinstance(answer, dict):
        return False
    return bool(answer.get("isError")) or answer.get("exitCode") not in (None, 0)
