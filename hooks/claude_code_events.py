"""Claude Code's hooks: what each payload tells, as the same events that its transcript gives.

Written against Claude Code 2.1.197 (payloads of real sessions in the tests; the fields are described at
https://code.claude.com/docs/en/hooks). What no hook tells comes from the transcript: an answer's earlier blocks and the
model's thinking, calls that were refused or broken off, a prompt typed while the assistant worked, and the summary of a
compaction, whose words differ between the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mnemic.actors.events import Event, Happening, Outcome, Record, TranscriptAt
from mnemic.hooks.claude_code import files_in, typed_or_injected
from mnemic.hooks.claude_code_results import result_text
from mnemic.hooks.lines import Bad, Json, is_own_tool, render_call, text_of
from mnemic.hooks.record_events import RecordEvents, required
from mnemic.hooks.third_party import is_cursors

__all__ = ["happenings"]

UNWANTED = {
    "ConfigChange",
    "CwdChanged",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "Notification",
    "PermissionDenied",
    "PermissionRequest",
    "PostToolBatch",
    "PreToolUse",
    "Setup",
    "StopFailure",
    "SubagentStart",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "WorktreeCreate",
    "WorktreeRemove",
}
"""Events of this version that tell nothing said or done, or nothing that another does not tell."""

# An editor puts what it shows before the prompt, as a text of its own in the transcript; the hook joins the two.
SHOWN = re.compile(r"<(ide_diagnostics|ide_opened_file|ide_selection|new-diagnostics)>.*?</\1>(?=\n)", re.DOTALL)
# A command is told as it was typed; in the transcript one space stands before its arguments and none behind them.
COMMAND = re.compile(r"(/[^\s/]+) +(.*)", re.DOTALL)


def happenings(record: Record, payload: Json) -> Iterator[Happening]:
    """What one payload tells, in order. Raises `Bad` where it lacks what it must have."""
    if is_cursors(payload):
        return
    name = required(payload, "hook_event_name")
    if name in UNWANTED:
        return
    make = RecordEvents(record, payload)
    if name in ("SessionStart", "PreCompact", "PostCompact"):
        yield from make.transcript(ended=False)
    elif name == "UserPromptSubmit":
        yield from _prompt(make, payload)
    elif name in ("PostToolUse", "PostToolUseFailure"):
        yield from _tool(make, payload, "ok" if name == "PostToolUse" else "failed")
        yield from _agents_transcript(payload)
    elif name == "Stop":
        yield from make.reply()
        yield from make.transcript(ended=False)
    elif name == "SubagentStop":
        yield from _agents_end(make, payload)
    elif name == "SessionEnd":
        yield from make.transcript(ended=True)
    else:
        raise Bad("its event is none that is known")


def _prompt(make: RecordEvents, payload: Json) -> Iterator[Event]:
    prompt = payload.get("prompt")
    if not isinstance(prompt, str):
        raise Bad("prompt is missing")
    texts = []
    while shown := SHOWN.match(prompt):
        texts.append(shown[0])
        prompt = prompt[shown.end() + 1 :]
    if command := COMMAND.fullmatch(prompt):
        prompt = f"{command[1]} {command[2].rstrip()}"
    texts += [prompt] if text_of(prompt) else []
    yield from typed_or_injected(make, texts)


def _tool(make: RecordEvents, payload: Json, outcome: Outcome) -> Iterator[Event]:
    tool, call = required(payload, "tool_name"), required(payload, "tool_use_id")
    if is_own_tool(tool):
        return
    arguments = payload.get("tool_input")
    if tool == "Edit" and isinstance(arguments, dict) and "replace_all" in arguments:
        arguments = {"replace_all": arguments["replace_all"]} | arguments  # the transcript has it first
    answer = payload.get("tool_response") if outcome == "ok" else payload.get("error")
    common: dict[str, Any] = {"host_id": call, "tool": tool, "files": files_in(arguments)}
    yield make("tool_call", "assistant", render_call(tool, arguments), **common)
    yield make("tool_result", "tool", result_text(tool, answer), outcome=outcome, **common)


def _agents_transcript(payload: Json) -> Iterator[TranscriptAt]:
    """Where the transcript of a subagent lies: only its end names it, and one that is killed has no end."""
    path, agent = text_of(payload.get("transcript_path")), text_of(payload.get("agent_id"))
    if path and agent and path.endswith(".jsonl"):
        path = f"{path.removesuffix('.jsonl')}/subagents/agent-{agent}.jsonl"
        yield TranscriptAt(path=path, format="claude-code", ended=False)


def _agents_end(make: RecordEvents, payload: Json) -> Iterator[Happening]:
    if payload.get("agent_type") == "":  # the agent that writes a compaction's summary: nobody, and nowhere kept
        return
    if text_of(payload.get("agent_id")) and text_of(
        payload.get("agent_type")
    ):  # else it isn't known whose answer it is
        yield from make.reply()
    yield from make.transcript(ended=True, name="agent_transcript_path")
