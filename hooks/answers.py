"""What a hook prints: what an assistant is to be told, as each host takes it. Above: `mnemic.mind` and
`mnemic.session_start`; `mnemic.hooks.asking` reads what was asked.

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
from collections.abc import Sequence
from typing import Any

from mnemic.actors.ambient import Briefed, Occasion

__all__ = ["NOTHING_BRIEFED", "answer", "takes"]

NOTHING_BRIEFED = Briefed(text="", memories=(), tokens=0)
"""Where there is nothing to tell."""
_EVENTS = {
    ("claude-code", "session-start"): "SessionStart",
    ("claude-code", "prompt"): "UserPromptSubmit",
    ("codex", "session-start"): "SessionStart",
    ("codex", "prompt"): "UserPromptSubmit",
    ("gemini-cli", "session-start"): "SessionStart",
    ("gemini-cli", "prompt"): "BeforeAgent",
    ("cursor", "session-start"): "",
    ("opencode", "session-start"): "",
    ("opencode", "prompt"): "",
}
"""Where a host takes something for the model, and what it calls that event itself, if its answer has to say so."""


def takes(assistant: str, event: str) -> bool:
    """Whether a host takes anything at an event; what it would not take is not to count as told."""
    return (assistant, event) in _EVENTS


def answer(assistant: str, occasion: Occasion | None, briefed: Briefed, notices: Sequence[str] = ()) -> bytes:
    """The exact bytes for a hook's standard output; none where the host is told nothing, or is not known.

    Args:
        occasion: when it is told; ``None`` where nothing is.
        notices: what the user is shown beside, a sentence each; the model reads it in what is told.
    """
    if not briefed.text or occasion is None or not takes(assistant, occasion):
        return _json({}) if assistant == "cursor" else b""
    if assistant == "cursor":
        return _json({"additional_context": briefed.text})
    if assistant == "opencode":
        return _json({"context": briefed.text, "shown": shown(briefed, notices)})
    context = {"hookEventName": _EVENTS[assistant, occasion], "additionalContext": briefed.text}
    return _json({"hookSpecificOutput": context, "systemMessage": shown(briefed, notices)})


def shown(briefed: Briefed, notices: Sequence[str] = ()) -> str:
    """What the user is shown of it."""
    count = len(briefed.memories)
    told = f"{count} {'memory' if count == 1 else 'memories'}, {briefed.tokens} tokens"
    return f"Mnemic: {' '.join([*notices, *([] if notices and not count else [told])])}"


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
