"""What tests build of memories and events: a plain one, with the fields that a test is about."""

from __future__ import annotations

from typing import Any

from mnemic.actors.kernel.events import Event, to_bytes
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import AddMemory
from mnemic.actors.recall.messages import Hit, Memory

SCOPE = ScopeRef(path="work/shelf", project=None, found="named")
_SAID: dict[str, Any] = {"assistant": "t", "session": "s", "kind": "turn", "role": "user"}
_PLACE: dict[str, Any] = {"source_id": None, "speaker": None, "scope": "work/shelf", "said_at": None}
_HIT: dict[str, Any] = {"start_byte": 0, "score": 0.5, "why": {}, "superseded_by": None}
_MEMORY: dict[str, Any] = {
    "found": "named",
    "branch": None,
    "tool": None,
    "outcome": None,
    "files": (),
    "valid_from": 0,
    "valid_to": None,
    "recorded_at": 0,
    "superseded_by": None,
    "supersedes": (),
}


def event(text: str | bytes = b"yes", **fields: Any) -> Event:
    """What a user said."""
    return Event(**(_SAID | {"text": to_bytes(text) if isinstance(text, str) else text} | fields))


def memory(text: str | bytes = b"", **fields: Any) -> Memory:
    """A memory as the store gives it."""
    data = to_bytes(text) if isinstance(text, str) else text
    return Memory(**(_SAID | _PLACE | _MEMORY | {"id": bytes(16), "data": data} | fields))


def hit(text: str | bytes = b"", **fields: Any) -> Hit:
    """A hit that shows the whole memory."""
    data = to_bytes(text) if isinstance(text, str) else text
    return Hit(**(_SAID | _PLACE | _HIT | {"id": bytes(16), "data": data, "size_bytes": len(data)} | fields))


def added(number: int, text: bytes = b"the shelf holds nine books", **fields: Any) -> AddMemory:
    """A change that keeps a memory, whose id and identity follow from a number."""
    ids = {"id": number.to_bytes(16, "big"), "identity": number.to_bytes(32, "big")}
    return AddMemory(**(_SAID | ids | {"place": SCOPE, "text": text} | fields))
