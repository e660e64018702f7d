"""How a session was started: by somebody who sits in front of it, or by a program. Below the readers of each host.

* Claude Code says so in every line of a transcript (``entrypoint``) and in its hooks' environment
  (``CLAUDE_CODE_ENTRYPOINT``, which a hook passes on): ``sdk-cli`` is ``claude -p``. Seen with 2.1.197.
* Codex says so in the first line of a rollout (``originator``, ``source``); its hooks only name that file. Seen with
  0.169.0: ``codex exec``.
* OpenCode says so to nobody; the plugin that Mnemic installs sees ``opencode run`` on the command line.
* Gemini CLI and Cursor say nothing of it: their sessions count as somebody's.
"""

from __future__ import annotations

from functools import lru_cache

from mnemic.actors.events import Record
from mnemic.hooks.lines import Bad, Json, parse, text_of

__all__ = ["by_program", "claude_by_program", "codex_by_program"]

_CLAUDE = ("bench", "claude-code-github-action", "remote_trigger")
_CODEX = ("codex_exec", "codex_sdk_")
_FIRST_LINE_BYTES = 1 << 20  # it holds the instructions of the model, about 20 kB


def claude_by_program(entry: object) -> bool:
    """Whether this entry point of Claude Code is a program's."""
    return isinstance(entry, str) and (entry.startswith("sdk-") or entry in _CLAUDE)


def codex_by_program(meta: Json) -> bool:
    """Whether a thread of Codex was started by a program, as its ``session_meta`` says."""
    originator = text_of(meta.get("originator")) or ""
    return originator.startswith(_CODEX) or meta.get("source") == "exec"


def by_program(record: Record, payload: Json) -> bool:
    """Whether a program started the session that a hook's record is of, as far as its host tells."""
    if record.assistant == "claude-code":
        return claude_by_program(record.entry)
    if record.assistant == "codex":
        path = text_of(payload.get("transcript_path"))
        return path is not None and _rollout(path)
    return record.assistant == "opencode" and payload.get("headless") is True


def _rollout(path: str) -> bool:
    try:
        return _rollout_by_program(path)
    except (OSError, ValueError):  # there is none yet, or none any more
        return False


@lru_cache(maxsize=256)
def _rollout_by_program(path: str) -> bool:
    """What the first line of a rollout says; it never changes.

    Raises:
        OSError, ValueError: it cannot be read, or says nothing yet.
    """
    with open(path, "rb") as file:
        line = parse(file.readline(_FIRST_LINE_BYTES), first=True)
    meta = None if line is None else line.get("payload")
    if not isinstance(meta, dict):
        raise Bad("a rollout without its first line")
    return codex_by_program(meta)
