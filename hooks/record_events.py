"""What the record of one hook gives to every event in it. Below the adapters' ``…_events`` modules.

Claude Code and the hosts that took over the shape of its hooks say in every payload which session it is, which
subagent, in which folder, and where the transcript lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mnemic.actors.events import Event, Kind, Record, Role, TranscriptAt, to_bytes
from mnemic.hooks.lines import Bad, Json, text_of
from mnemic.hooks.started import by_program

__all__ = ["RecordEvents", "required"]


class RecordEvents:
    """Makes the events of one record; fulfils `mnemic.hooks.lines.MakeEvent`. What they share is taken from it once."""

    def __init__(self, record: Record, payload: Json) -> None:
        session = required(payload, "session_id")
        agent = text_of(payload.get("agent_id"))
        self._payload = payload
        self._assistant = record.assistant
        self._common: dict[str, Any] = {
            "assistant": record.assistant,
            "session": f"{session}/{agent}" if agent else session,
            "said_at": record.at,
            "cwd": text_of(payload.get("cwd")) or record.cwd,
            "branch": record.branch,
            "headless": by_program(record, payload),
            "subagent": agent is not None or "/" in session,
        }

    def __call__(self, kind: Kind, role: Role, text: str, **more: Any) -> Event:
        return Event(kind=kind, role=role, text=to_bytes(text), **self._common, **more)

    def reply(self) -> Iterator[Event]:
        """The answer that ends a turn, where it has words."""
        if text := text_of(self._payload.get("last_assistant_message")):
            yield self("turn", "assistant", text)

    def transcript(self, *, ended: bool, name: str = "transcript_path") -> Iterator[TranscriptAt]:
        """The transcript that the payload names, if it does; a session that is not kept has none."""
        if path := text_of(self._payload.get(name)):
            yield TranscriptAt(path=path, format=self._assistant, ended=ended)


def required(payload: Json, name: str) -> str:
    """A field without which the event means nothing. Raises `Bad`."""
    value = text_of(payload.get(name))
    if value is None:
        raise Bad(f"{name} is missing")
    return value
