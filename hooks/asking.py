"""What a hook asks: the occasion, the session and the prompt, read from what the host gave it. Below
`mnemic.hooks.answers`, which words what comes of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import msgspec

from mnemic.actors.ambient import Brief, Occasion
from mnemic.actors.changes import Place
from mnemic.actors.errors import UnreadableRecord
from mnemic.actors.events import Event, Record, to_text
from mnemic.hooks.third_party import is_cursors

__all__ = ["Asked", "answer_check", "answered_by", "asked_by", "brief_for"]

_SESSION_FIELDS = ("session_id", "conversation_id")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook asks."""

    occasion: Occasion | None
    """When; ``None`` where nothing is to be told."""
    session: str = ""
    """The conversation; a subagent's is ``<session>/<agent>``, as it is captured."""
    prompt: str = ""
    """What the user said, where the occasion is a prompt."""
    again: bool = False
    """Whether the session was compacted, and has lost what it was told."""
    goes_on: bool = False
    """Whether a session starts that goes on with an earlier one: it has what it was told."""
    check: str = ""
    """What is asked where somebody only tries whether hooks are answered."""


def asked_by(assistant: str, event: str, payload: bytes) -> Asked:
    """Read what a hook was given; a session that is only resumed asks for nothing."""
    given = _object(payload)
    if given.get("mnemic_check"):  # somebody tries whether hooks arrive: no session is there to be told anything
        return Asked(occasion=None, check=_text(given["mnemic_check"]) if event == "session-start" else "")
    if assistant == "claude-code" and is_cursors(given):
        return Asked(occasion=None)
    session = next((text for name in _SESSION_FIELDS if (text := _text(given.get(name)))), "")
    agent = _text(given.get("agent_id"))
    session = f"{session}/{agent}" if agent else session
    if event == "session-start" and given.get("source") != "resume":
        return Asked(occasion="session-start", session=session, again=given.get("source") == "compact")
    if event == "session-start":
        return Asked(occasion=None, session=session, goes_on=True)
    if event == "prompt" and (prompt := _prompt(assistant, event, payload)):
        return Asked(occasion="prompt", session=session, prompt=prompt)
    return Asked(occasion=None)


def answer_check(check: str) -> bytes:
    """What somebody is told who only tries whether hooks are answered: that they are, and by which process."""
    return f"mnemic-check {check} {os.getpid()}\n".encode()


def answered_by(said: bytes, check: str) -> int | None:
    """The number of the process whose answer to such a trial this is; ``None`` where it is none."""
    head, _, pid = said.decode("utf-8", "replace").strip().rpartition(" ")
    return int(pid) if head == f"mnemic-check {check}" and pid.isascii() and pid.isdigit() else None


def brief_for(
    assistant: str, asked: Asked, place: Place, *, tracked: bool = False, notices: Sequence[str] = ()
) -> Brief:
    """The message that asks for what a hook asks.

    Args:
        tracked: whether a file that came with the project's repository says which place it is.
        notices: what is to be said first.
    """
    assert asked.occasion is not None
    return Brief(
        occasion=asked.occasion,
        place=place,
        assistant=assistant,
        session=asked.session,
        prompt=asked.prompt,
        again=asked.again,
        tracked=tracked,
        notices=tuple(notices),
    )


def _prompt(assistant: str, event: str, payload: bytes) -> str:
    """What the user said, and nothing that the host put around it: what the same payload is captured as."""
    from mnemic.hooks.records import read_record  # here: the start of a session needs none of it

    record = Record(id=bytes(16), assistant=assistant, event=event, at=0, cwd=None, branch=None, payload=payload)
    try:
        told = read_record(record)
    except UnreadableRecord:
        return ""  # it is kept, and set aside with the reason, when it is drained
    turns = [one.text for one in told if isinstance(one, Event) and (one.kind, one.role) == ("turn", "user")]
    return "\n".join(map(to_text, turns))


def _object(payload: bytes) -> dict[str, Any]:
    try:
        value = json.loads(payload.decode("utf-8-sig", "replace"))  # Cursor on Windows writes a mark before it
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
