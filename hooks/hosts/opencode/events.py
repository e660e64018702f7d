"""Turns payloads of Mnemic's plugin for OpenCode into events.

The plugin passes on messages and parts as OpenCode gives them, so that they are read as they are in the database.
"""

from __future__ import annotations

from collections.abc import Iterator

from mnemic.actors.protocol.events import HookEvent, HookRecord
from mnemic.hooks.hosts.opencode.transcript import part_events, prompt_events
from mnemic.hooks.read.lines import InvalidInput, Json
from mnemic.hooks.read.records import RecordEventFactory, required_text

__all__ = ["hook_events"]


def hook_events(record: HookRecord, payload: Json) -> Iterator[HookEvent]:
    """What one payload tells, in order. Raises `InvalidInput` where it lacks what it must have."""
    event = required_text(payload, "hook_event_name")
    make = RecordEventFactory(record, payload)
    if event in ("session-start", "compaction", "compacted"):
        yield from make.transcript_events(ended=False)
    elif event == "prompt":
        parts = payload.get("parts")
        if not isinstance(parts, list):
            raise InvalidInput("parts are missing")
        yield from prompt_events(make, _object(payload, "message"), [part for part in parts if isinstance(part, dict)])
    elif event in ("reply", "tool", "tool-failed"):
        message = payload.get("message")
        yield from part_events(make, message if isinstance(message, dict) else {}, _object(payload, "part"))
        if event == "reply":
            yield from make.transcript_events(ended=False)
    elif event == "subagent":
        yield from make.transcript_events(ended=True)
    elif event == "session-end":
        if payload.get("reason") != "deleted":  # it is not there any more
            yield from make.transcript_events(ended=True)
    else:
        raise InvalidInput("no event of that name is known")


def _object(payload: Json, name: str) -> Json:
    value = payload.get(name)
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} is missing")
    return value
