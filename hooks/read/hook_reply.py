"""Computes what a hook prints back to its assistant, from the payload the assistant passed in.

Nothing slow to load is imported here: a session start without a running process loads it too. What a host takes:

* Claude Code (https://code.claude.com/docs/en/hooks), Codex (https://developers.openai.com/codex/hooks) and Gemini CLI
  (https://geminicli.com/docs/hooks/reference) take ``hookSpecificOutput.additionalContext`` for the model and show
  ``systemMessage`` to the user. Codex refuses members that it does not know, and Gemini CLI whatever is not JSON.
* Cursor (https://cursor.com/docs/agent/hooks) takes ``additional_context`` at the start of a session and has no place
  for a line to its user; beside a prompt it takes nothing. What it reads is to be JSON, so it is answered even where
  there is nothing to tell. Where no answer comes at all, nothing is printed: the same page wires a script that prints
  nothing (``audit.sh``) to prompts and to the ends of sessions, and the start of one does not wait for its hooks.
* OpenCode has no hooks; the plugin that Mnemic installs takes ``context`` and ``shown``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from mnemic.actors.brief.compose import with_notices
from mnemic.actors.brief.messages import Brief, Briefed, FailedCall, Occasion
from mnemic.actors.index.hits import token_count
from mnemic.actors.kernel.errors import UnreadableRecord
from mnemic.actors.kernel.events import Event, HookRecord, to_text
from mnemic.actors.kernel.ports import ResolveScope
from mnemic.hooks.read.own_text import is_cursor_payload

_EMPTY_BRIEFING = Briefed(text="", memories=(), tokens=0)
_EVENTS = {
    ("claude-code", "session-start"): "SessionStart",
    ("claude-code", "prompt"): "UserPromptSubmit",
    ("claude-code", "tool-failed"): "PostToolUseFailure",
    ("codex", "session-start"): "SessionStart",
    ("codex", "prompt"): "UserPromptSubmit",
    ("gemini-cli", "session-start"): "SessionStart",
    ("gemini-cli", "prompt"): "BeforeAgent",
    ("cursor", "session-start"): "",
    ("opencode", "session-start"): "",
    ("opencode", "prompt"): "",
}
"""Where a host takes something for the model, and what it calls that event itself, if its answer has to say so."""


class HookRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook asks."""

    occasion: Occasion | None
    """When; ``None`` where nothing is to be told."""
    session: str = ""
    """The conversation; a subagent's is ``<session>/<agent>``, as it is captured."""
    prompt: str = ""
    """What the user said, where the occasion is a prompt."""
    failed: FailedCall | None = None
    """What failed, where the occasion is that."""
    after_compaction: bool = False
    """Whether the session was compacted, and has lost what it was told."""
    resumed: bool = False
    """Whether a session starts that goes on with an earlier one: it has what it was told."""
    check_nonce: str = ""
    """What is asked where somebody only tries whether hooks are answered."""


def parse_hook_request(assistant: str, event: str, payload: bytes) -> HookRequest:
    """Read what a hook was given; where its host would take no answer, it asks for nothing."""
    nothing = HookRequest(occasion=None)
    if (assistant, event) not in _EVENTS:
        return nothing
    try:
        given = json.loads(payload.decode("utf-8-sig", "replace"))  # Cursor on Windows writes a mark before it
    except (ValueError, RecursionError):
        given = {}
    given = given if isinstance(given, dict) else {}
    if given.get("mnemic_check"):  # somebody tries whether hooks arrive: no session is there to be told anything
        nonce = _text(given["mnemic_check"]) if event == "session-start" else ""
        return HookRequest(occasion=None, check_nonce=nonce)
    if assistant == "claude-code" and is_cursor_payload(given):
        return nothing
    session = _text(given.get("session_id")) or _text(given.get("conversation_id"))
    agent = _text(given.get("agent_id"))
    session = f"{session}/{agent}" if agent else session
    source = given.get("source")
    if event == "prompt":
        prompt = _prompt(assistant, payload)
        return HookRequest(occasion="prompt", session=session, prompt=prompt) if prompt else nothing
    if event == "tool-failed":
        failed = _failed_call(assistant, payload)
        return nothing if failed is None else HookRequest(occasion="tool-failed", session=session, failed=failed)
    if source == "resume":
        return HookRequest(occasion=None, session=session, resumed=True)
    return HookRequest(occasion="session-start", session=session, after_compaction=source == "compact")


def _prompt(assistant: str, payload: bytes) -> str:
    """What the user said, and nothing that the host put around it: what the same payload is captured as."""
    said = [one.text for one in _events(assistant, "prompt", payload) if (one.kind, one.role) == ("turn", "user")]
    return "\n".join(map(to_text, said))


def _failed_call(assistant: str, payload: bytes) -> FailedCall | None:
    """The call that failed, as the same payload is captured."""
    told = {one.kind: one for one in _events(assistant, "tool-failed", payload)}
    call, result = told.get("tool_call"), told.get("tool_result")
    if call is None or result is None:
        return None
    return FailedCall(tool=call.tool or "", call=call.text, result=result.text, files=call.files)


def _events(assistant: str, event: str, payload: bytes) -> list[Event]:
    """What a payload tells; nothing, where it cannot be read: it is quarantined with the reason when it is drained."""
    from mnemic.hooks.read.records import read_record  # here: the start of a session needs none of it

    record = HookRecord(id=bytes(16), assistant=assistant, event=event, at=0, cwd=None, branch=None, payload=payload)
    try:
        return [one for one in read_record(record) if isinstance(one, Event)]
    except UnreadableRecord:
        return []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def check_reply_pid(said: bytes, nonce: str) -> int | None:
    """The number of the process whose answer to a trial this is; ``None`` where it is none."""
    head, _, pid = said.decode("utf-8", "replace").strip().rpartition(" ")
    return int(pid) if head == f"mnemic-check {nonce}" and pid.isascii() and pid.isdigit() else None


def format_hook_reply(
    assistant: str, occasion: Occasion | None, briefed: Briefed, notices: Sequence[str] = ()
) -> bytes:
    """The exact bytes for a hook's standard output; none where the host is told nothing, or is not known.

    Args:
        occasion: when it is told; ``None`` where nothing is.
        notices: what the user is shown beside, a sentence each; the model reads it in what is told.
    """
    if not briefed.text or occasion is None or (assistant, occasion) not in _EVENTS:
        return _json({}) if assistant == "cursor" else b""
    if assistant == "cursor":
        return _json({"additional_context": briefed.text})
    count = len(briefed.memories)
    told = f"{count} {'memory' if count == 1 else 'memories'}, {briefed.tokens} tokens"
    shown = f"Mnemic: {' '.join([*notices, *([] if notices and not count else [told])])}"
    if assistant == "opencode":
        return _json({"context": briefed.text, "shown": shown})
    context = {"hookEventName": _EVENTS[assistant, occasion], "additionalContext": briefed.text}
    return _json({"hookSpecificOutput": context, "systemMessage": shown})


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def hook_reply(
    assistant: str,
    event: str,
    cwd: str | None,
    payload: bytes,
    locate: ResolveScope,
    tell: Callable[[Brief], Briefed],
    notices: Sequence[str] = (),
    updates_only: bool = False,
) -> bytes:
    """The exact bytes for a hook's standard output; few or none where there is nothing to tell.

    Args:
        assistant: the host, as its hooks are wired.
        event: what its adapter calls the event.
        cwd: the folder it works in.
        payload: what it gave the hook, byte for byte.
        locate: finds the scope of a folder.
        tell: says what the assistant should know; asked only where something is to be told.
        notices: what the start of a session is told in any case, also one that goes on, a sentence each.
        updates_only: whether a prompt is told nothing but what replaced something that its session was told.

    Raises:
        MnemicError: the scope cannot be told, or `tell` fails.
    """
    asked = parse_hook_request(assistant, event, payload)
    if asked.check_nonce:
        return f"mnemic-check {asked.check_nonce} {os.getpid()}\n".encode()
    starts = asked.occasion == "session-start" or asked.resumed
    told_first = tuple(notices) if starts and "/" not in asked.session else ()  # a subagent's session has no user
    occasion: Occasion | None = asked.occasion
    if occasion is None:
        briefed, occasion = _EMPTY_BRIEFING, "session-start" if told_first else None
    else:
        place = locate(None, cwd)
        briefed = tell(
            Brief(
                occasion=occasion,
                place=place,
                assistant=assistant,
                session=asked.session,
                prompt=asked.prompt,
                updates_only=updates_only and occasion == "prompt",
                failed=asked.failed,
                repeat=asked.after_compaction,
                notices=told_first,
            )
        )
    text = with_notices(briefed.text, told_first)  # where nothing else is told, they are
    if text != briefed.text:
        briefed = msgspec.structs.replace(briefed, text=text, tokens=token_count(text.encode()))
    return format_hook_reply(assistant, occasion, briefed, told_first)
