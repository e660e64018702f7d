"""Turns payloads of Codex's hooks into the same events that its session file gives.

Written against Codex 0.169.0 (payloads of real sessions in the tests; the fields are described at
https://developers.openai.com/codex/hooks). Its hooks tell little of tools: none of a call that failed, of a patch or of
one that went on in the background, and of a shell command that was run its output, but not how it ended. What was told
first stays, so a result without its outcome would stand in the way of the rollout's: it is left to that, as is all
that the hooks don't tell.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mnemic.actors.protocol.events import Event, HookEvent, HookRecord, Outcome
from mnemic.hooks.hosts.codex.shapes import parse_output, render_codex_call
from mnemic.hooks.read.lines import InvalidInput, Json, is_own_tool, nonblank_text
from mnemic.hooks.read.records import RecordEventFactory, required_text

__all__ = ["hook_events"]

IGNORED_EVENTS = {"Interrupt", "PermissionRequest", "PreToolUse", "SubagentStart"}
"""Events of this version that tell nothing said or done, or nothing that another does not tell."""

# The hooks have names of their own for some tools. For a command that is the rollout's name since 2025; before, and
# for some models, it is another one there.
AGENT_TOOLS = ("close_agent", "resume_agent", "send_input", "spawn_agent", "wait_agent")
ROLLOUT_TOOL_NAMES = {"Bash": "exec_command"} | {tool: f"multi_agent_v1__{tool}" for tool in AGENT_TOOLS}


def hook_events(record: HookRecord, payload: Json) -> Iterator[HookEvent]:
    """What one payload tells, in order. Raises `InvalidInput` where it lacks what it must have."""
    name = required_text(payload, "hook_event_name")
    if name in IGNORED_EVENTS:
        return
    make = RecordEventFactory(record, payload)
    if name in ("SessionStart", "PreCompact", "PostCompact"):
        yield from make.transcript_events(ended=False)
    elif name == "UserPromptSubmit":
        if not isinstance(payload.get("prompt"), str):
            raise InvalidInput("prompt is missing")
        if prompt := nonblank_text(payload["prompt"]):
            yield make("turn", "user", prompt)
    elif name == "PostToolUse":
        yield from _tool(make, payload)
        if nonblank_text(payload.get("agent_id")):  # one that is killed has no end that would name its rollout
            yield from make.transcript_events(ended=False)
    elif name == "Stop":
        yield from make.reply_events()
        yield from make.transcript_events(ended=False)
    elif name == "SubagentStop":
        if nonblank_text(payload.get("agent_id")):  # without it, its answer would be the thread's
            yield from make.reply_events()
        yield from make.transcript_events(ended=True, name="agent_transcript_path")
    elif name == "SessionEnd":
        yield from make.transcript_events(ended=True)
    else:
        raise InvalidInput("its event is none that is known")


def _tool(make: RecordEventFactory, payload: Json) -> Iterator[Event]:
    told, call = required_text(payload, "tool_name"), required_text(payload, "tool_use_id")
    if is_own_tool(told):
        return
    tool = ROLLOUT_TOOL_NAMES.get(told, told)
    text, files = render_codex_call(tool, _arguments(told, payload.get("tool_input")))
    common: dict[str, Any] = {"host_id": call, "tool": tool, "files": files}
    yield make("tool_call", "assistant", text, **common)
    if answered := _mcp_result(payload.get("tool_response")):
        yield make("tool_result", "tool", answered[0], outcome=answered[1], **common)


def _arguments(tool: str, arguments: object) -> object:
    """The arguments as the rollout names them: a command's is ``cmd``, a patch has no name."""
    if not isinstance(arguments, dict) or not isinstance(command := arguments.get("command"), str):
        return arguments
    if tool == "Bash":
        return {"cmd" if name == "command" else name: value for name, value in arguments.items()}
    return command if tool == "apply_patch" and len(arguments) == 1 else arguments


def _mcp_result(response: object) -> tuple[str, Outcome] | None:
    """A server's answer as text, with its outcome; ``None`` for what doesn't tell that, as a command's output."""
    if not isinstance(response, dict) or not isinstance(failed := response.get("isError"), bool):
        return None
    data = response.get("structuredContent")  # the model reads the data where there is any
    text = (
        parse_output(response.get("content"))[0]
        if data is None
        else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    )
    return text, "failed" if failed else "ok"
