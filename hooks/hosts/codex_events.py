"""Turns payloads of Codex's hooks into the same events that its session file gives.

Written against Codex 0.169.0 (payloads of real sessions in the tests; the fields are described at
https://developers.openai.com/codex/hooks). Its hooks tell little of tools: none of a call that failed, of a patch or of
one that went on in the background, and of a shell command that was run its output, but not how it ended. What was told
first stays, so a result without its outcome would stand in the way of the rollout's: it is left to that, as is all
that the hooks don't tell.

Both say what was called and how it ended in the same forms, which differ by version; these are parsed here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from mnemic.actors.kernel.events import Event, HookEvent, HookRecord, Outcome
from mnemic.hooks.read.lines import InvalidInput, Json, argument_files, nonblank_text, render_call
from mnemic.hooks.read.media import media_name, name_media
from mnemic.hooks.read.own_calls import call_share
from mnemic.hooks.read.records import RecordEventFactory, required_text
from mnemic.hooks.read.speakers import user_text_events

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
        if prompt := nonblank_text(make.prompt()):
            yield from user_text_events(make, prompt)
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
    tool = ROLLOUT_TOOL_NAMES.get(told, told)
    if tool == "write_stdin":  # the rollout tells what was started there
        return
    share = call_share(tool, parse_arguments(_arguments(told, payload.get("tool_input"))))
    if share is None:
        return
    text, files = render_codex_call(tool, share.arguments)
    common: dict[str, Any] = {"host_id": call, "tool": tool, "files": files}
    yield make("tool_call", "assistant", text, **common)
    answered = _mcp_result(payload.get("tool_response"))
    if answered and (kept := share.result(answered[0])) is not None:
        yield make("tool_result", "tool", kept, outcome=answered[1], **common)


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
        else json.dumps(name_media(data), ensure_ascii=False, separators=(",", ":"))
    )
    return text, "failed" if failed else "ok"


# What Codex writes into the user's place. New rollouts say so (`content_item_kinds`), older ones show it.
HOST_TEXT = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|INSTRUCTIONS|subagent_notification|turn_aborted|user_shell_command|"
    r"skill|permissions instructions)>|# AGENTS\.md instructions for )"
)
IMAGE_MARK = re.compile(r"<image(?: name=[^>]*)?>|</image>")
"""What stands around an image in a message: nobody's words."""
CAPABILITY_LISTING = re.compile(r"\s*<(skills_instructions|apps_instructions|plugins_instructions)>")
PATCHED_FILE = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.MULTILINE)
FAILED_PATCH = "apply_patch verification failed"


def texts(blocks: object) -> Iterator[str]:
    """The texts of a message's content (or a summary's): blocks with a ``text``, or plain strings."""
    for block in blocks if isinstance(blocks, list) else [blocks]:
        text = block.get("text") if isinstance(block, dict) else block
        if isinstance(text, str):
            yield text


def is_host_text(kind: object, text: str) -> bool:
    """Whether a text in the user's place was written by Codex: by the kind it notes beside it, else by its look."""
    if isinstance(kind, str) and kind != "unknown":
        return not kind.startswith("user.")
    return HOST_TEXT.match(text) is not None


def is_capability_listing(text: str) -> bool:
    """Whether a text lists what Codex offers the model: the same in every session, and nobody's memory."""
    return CAPABILITY_LISTING.match(text) is not None


def parse_arguments(arguments: object) -> object:
    """The arguments of a call, parsed where they are an object as JSON."""
    try:
        parsed = json.loads(arguments) if isinstance(arguments, str) else None
    except (ValueError, RecursionError):  # free-form input, such as a patch
        parsed = None
    return parsed if isinstance(parsed, dict) else arguments


def render_codex_call(tool: str, arguments: object) -> tuple[str, tuple[str, ...]]:
    """A call as text, and the files it names; its arguments are parsed."""
    text = render_call(tool, arguments)
    patched = (file for line in PATCHED_FILE.findall(text) if (file := line.rstrip()))
    return text, tuple(dict.fromkeys((*patched, *argument_files(arguments))))


def parse_outcome(end: Json) -> Outcome | None:
    """How a call ended, from the item or event that tells of its end."""
    result = end.get("result")
    if isinstance(result, dict):
        inner = result.get("Ok", result)
        if "Err" in result or (isinstance(inner, dict) and (inner.get("isError") or inner.get("is_error"))):
            return "failed"
    for name, good in (("exit_code", 0), ("success", True), ("status", "completed")):
        value = end.get(name)
        if value is not None and value != "in_progress":
            return "ok" if value == good else "failed"
    return "ok" if isinstance(result, dict) else None


def parse_output(output: object) -> tuple[str, Outcome | None]:
    """A call's output as text, and its outcome where the text or its wrapper says it."""
    if isinstance(output, dict) and "content" in output:
        success = output.get("success")
        text, _ = parse_output(output["content"])
        return text, None if success is None else "ok" if success else "failed"
    if isinstance(output, list):
        return "\n".join(_block(block) for block in output), None
    if not isinstance(output, str):
        return render_call("", name_media(output)).strip(), None
    return output, _outcome_in(output)


def _block(block: object) -> str:
    for text in texts([block]):
        return text
    if not isinstance(block, dict):
        return "[None]"
    return media_name(block) or f"[{block.get('type')}]"


def _outcome_in(output: str) -> Outcome | None:
    if output.startswith(FAILED_PATCH):
        return "failed"
    if output.startswith('{"output":'):  # the shell tool until 2025
        try:
            metadata = json.loads(output).get("metadata")
        except (ValueError, RecursionError):
            return None
        return parse_outcome(metadata) if isinstance(metadata, dict) else None
    head, output_follows, _ = output.partition("Output:\n")
    code = EXIT_CODE.search(head) if output_follows else None
    return parse_outcome({"exit_code": int(code[1])}) if code else None
