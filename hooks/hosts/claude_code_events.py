"""Turns payloads of Claude Code's hooks into the same events that its transcript gives.

Written against Claude Code 2.1.197 (payloads of real sessions in the tests; the fields are described at
https://code.claude.com/docs/en/hooks). What no hook tells comes from the transcript: an answer's earlier blocks and the
model's thinking, calls that were refused or broken off, a prompt typed while the assistant worked, and the summary of a
compaction, whose words differ between the two.

Of a tool's answer a hook is given data where the transcript has what the model reads. The text made of it is the
transcript's where the data says enough for it, so that the same memory results whichever comes first. It is not for a
command in the background, an agent (its answer alone, without the line on how to go on with it), a
part of a file beyond its end, and tools that are not named here: their data stands as it is. A long output is the
first 30,000 characters here, and there its first two kilobytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mnemic.actors.kernel.events import Event, HookEvent, HookRecord, TranscriptRef
from mnemic.hooks.hosts.claude_code import blocks_text, user_message_events
from mnemic.hooks.read.lines import InvalidInput, Json, call_events, nonblank_text, render_call
from mnemic.hooks.read.media import name_media
from mnemic.hooks.read.own_calls import OUTPUT_FILE
from mnemic.hooks.read.own_text import is_cursor_payload
from mnemic.hooks.read.records import RecordEventFactory, required_text

_MCP_ANSWER = {"content", "isError", "_meta"}
FILE_STATE_NOTE = " (file state is current in your context — no need to Read it back)"


def result_text(tool: str, answer: object) -> str:
    """An answer as text; nothing of one that no rule knows is left out."""
    if not isinstance(answer, dict):
        return blocks_text(answer)
    known = RESULT_RENDERERS[tool](answer) if tool in RESULT_RENDERERS else None
    if known is None and isinstance(answer.get("content"), list) and set(answer) <= _MCP_ANSWER:
        return blocks_text(answer["content"])
    return render_call("", name_media(answer)).strip() if known is None else known


def _agent(answer: Json) -> str | None:
    content = answer.get("content")
    return blocks_text(content) if isinstance(content, list) else None


def _bash(answer: Json) -> str | None:
    printed = [answer.get("stdout"), answer.get("stderr")]
    if not all(isinstance(text, str) for text in printed) or "backgroundTaskId" in answer:
        return None
    if answer.get("isImage"):
        return f"[image: {str(printed[0]).removeprefix('data:').partition(';')[0]}]"
    return "\n".join(filter(None, map(str, printed))) or "(Bash completed with no output)"


def _read(answer: Json) -> str | None:
    file = answer.get("file")
    if not isinstance(file, dict):
        return None
    if "base64" in file:
        return f"[{': '.join(filter(None, (nonblank_text(answer.get('type')), nonblank_text(file.get('type')))))}]"
    content, first = file.get("content"), file.get("startLine")
    if not isinstance(content, str) or not content or not isinstance(first, int):
        return None
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(content.split("\n"), first))


def _edit(answer: Json) -> str | None:
    path = answer.get("filePath")
    if not isinstance(path, str) or answer.get("userModified"):
        return None
    if answer.get("replaceAll"):
        return f"The file {path} has been updated. All occurrences were successfully replaced.{FILE_STATE_NOTE}"
    return f"The file {path} has been updated successfully.{FILE_STATE_NOTE}"


def _write(answer: Json) -> str | None:
    if answer.get("type") == "create" and isinstance(path := answer.get("filePath"), str):
        return f"File created successfully at: {path}{FILE_STATE_NOTE}"
    return _edit(answer)


def _glob(answer: Json) -> str | None:
    names = _names(answer)
    return None if names is None or answer.get("truncated") else "\n".join(names) or "No files found"


def _grep(answer: Json) -> str | None:
    names, content = _names(answer), answer.get("content")
    if "appliedLimit" in answer or "appliedOffset" in answer:
        return None
    if answer.get("mode") == "content" and isinstance(content, str):
        return content or "No matches found"
    if answer.get("mode") != "files_with_matches" or names is None:
        return None
    plural = "" if len(names) == 1 else "s"
    return "\n".join([f"Found {len(names)} file{plural}", *names]) if names else "No files found"


def _names(answer: Json) -> list[str] | None:
    names = answer.get("filenames")
    return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else None


RESULT_RENDERERS: dict[str, Callable[[Json], str | None]] = {
    "Agent": _agent,
    "Bash": _bash,
    "Edit": _edit,
    "Glob": _glob,
    "Grep": _grep,
    "Read": _read,
    "Task": _agent,
    "Write": _write,
}
"""How each tool's data becomes the text that the model read; ``None`` where it says too little."""


IGNORED_EVENTS = {
    *("ConfigChange", "CwdChanged", "Elicitation", "ElicitationResult", "FileChanged", "InstructionsLoaded"),
    *("MessageDisplay", "Notification", "PermissionDenied", "PermissionRequest", "PostToolBatch", "PreToolUse"),
    *("Setup", "StopFailure", "SubagentStart", "TaskCompleted", "TaskCreated", "TeammateIdle"),
    *("UserPromptExpansion", "WorktreeCreate", "WorktreeRemove"),
}
"""Events of this version that tell nothing said or done, or nothing that another does not tell."""

BACKGROUND_TOOLS = ("BashOutput", "KillBash", "KillShell", "TaskOutput", "TaskStop")
# An editor puts what it shows before the prompt, as a text of its own in the transcript; the hook joins the two.
IDE_CONTEXT = re.compile(r"<(ide_diagnostics|ide_opened_file|ide_selection|new-diagnostics)>.*?</\1>(?=\n)", re.DOTALL)
# A command is told as it was typed; in the transcript one space stands before its arguments and none behind them.
TYPED_COMMAND = re.compile(r"(/[^\s/]+) +(.*)", re.DOTALL)


def hook_events(record: HookRecord, payload: Json) -> Iterator[HookEvent]:
    """What one payload tells, in order. Raises `InvalidInput` where it lacks what it must have."""
    if is_cursor_payload(payload):
        return
    name = required_text(payload, "hook_event_name")
    if name in IGNORED_EVENTS:
        return
    make = RecordEventFactory(record, payload)
    if name in ("SessionStart", "PreCompact", "PostCompact"):
        yield from make.transcript_events(ended=False)
    elif name == "UserPromptSubmit":
        yield from _prompt(make)
    elif name in ("PostToolUse", "PostToolUseFailure"):
        yield from _tool(make, payload, failed=name == "PostToolUseFailure")
        yield from _subagent_transcript(payload)
    elif name == "Stop":
        yield from make.reply_events()
        yield from make.transcript_events(ended=False)
    elif name == "SubagentStop":
        yield from _subagent_stop(make, payload)
    elif name == "SessionEnd":
        yield from make.transcript_events(ended=True)
    else:
        raise InvalidInput("its event is none that is known")


def _prompt(make: RecordEventFactory) -> Iterator[Event]:
    prompt, texts, begin = make.prompt(), [], 0
    while shown := IDE_CONTEXT.match(prompt, begin):
        texts.append(shown[0])
        begin = shown.end() + 1
    prompt = prompt[begin:]
    if command := TYPED_COMMAND.fullmatch(prompt):
        prompt = f"{command[1]} {command[2].rstrip()}"
    texts += [prompt] if nonblank_text(prompt) else []
    yield from user_message_events(make, texts)


def _tool(make: RecordEventFactory, payload: Json, *, failed: bool) -> Iterator[Event]:
    tool, call = required_text(payload, "tool_name"), required_text(payload, "tool_use_id")
    arguments = payload.get("tool_input")
    texts = [one for one in arguments.values() if isinstance(one, str)] if isinstance(arguments, dict) else []
    if tool in BACKGROUND_TOOLS or any(map(OUTPUT_FILE.search, texts)):  # the transcript tells what was started there
        return
    if tool == "Edit" and isinstance(arguments, dict) and "replace_all" in arguments:
        arguments = {"replace_all": arguments["replace_all"]} | arguments  # the transcript has it first
    answer = payload.get("error" if failed else "tool_response")
    yield from call_events(make, tool, arguments, result_text(tool, answer), failed, host_id=call)


def _subagent_transcript(payload: Json) -> Iterator[TranscriptRef]:
    """Where the transcript of a subagent lies: only its end names it, and one that is killed has no end."""
    path, agent = nonblank_text(payload.get("transcript_path")), nonblank_text(payload.get("agent_id"))
    if path and agent and path.endswith(".jsonl"):
        path = f"{path.removesuffix('.jsonl')}/subagents/agent-{agent}.jsonl"
        yield TranscriptRef(path=path, format="claude-code", ended=False)


def _subagent_stop(make: RecordEventFactory, payload: Json) -> Iterator[HookEvent]:
    if payload.get("agent_type") == "":  # the agent that writes a compaction's summary: nobody, and nowhere kept
        return
    if all(nonblank_text(payload.get(name)) for name in ("agent_id", "agent_type")):  # else it isn't known whose it is
        yield from make.reply_events()
    yield from make.transcript_events(ended=True, name="agent_transcript_path")
