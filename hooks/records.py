"""What the record of a hook stands for: each host's adapter tells. Above them: `mnemic.actors`, through its port.

A record is what a host wrote on the hook's standard input. Nothing of it is lost in silence: what cannot be understood
is set aside with a reason, and what nobody wants is known by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import cast

from mnemic.actors.errors import UnreadableRecord
from mnemic.actors.events import SILENCED, Check, Happening, Record, Silence
from mnemic.hooks.lines import Bad, Json, parse, text_of
from mnemic.hooks.record_events import required

__all__ = ["ADAPTERS", "read_record"]

ADAPTERS = {
    "claude-code": "mnemic.hooks.claude_code_events",
    "codex": "mnemic.hooks.codex_events",
    "cursor": "mnemic.hooks.cursor_events",
    "gemini-cli": "mnemic.hooks.gemini_cli_events",
    "opencode": "mnemic.hooks.opencode_events",
}
"""The module of each host. Its ``happenings(record, payload)`` gives them in order and raises `Bad` for what it cannot
understand; it is imported when its first record comes."""

# A byte that is no UTF-8 stands as a surrogate here, and three of them are a lone surrogate that was written as one.
ESCAPED = re.compile("[\udced][\udca0-\udcbf][\udc80-\udcbf]|[\udc80-\udcff]")


def read_record(record: Record) -> list[Happening]:
    r"""What a record stands for, in order; empty where it is nothing to keep.

    Bytes that are no UTF-8 are written out (``\xNN``), so that the rest of the event is kept.

    Raises:
        UnreadableRecord: it cannot be understood; the reason quotes nothing of it.
    """
    try:
        payload = parse(_mended(record.payload) + b"\n", first=True)
        if payload is None:
            raise Bad("it is empty")
        if nonce := text_of(payload.get("mnemic_check")):
            return [Check(assistant=record.assistant, nonce=nonce)]
        if record.event == SILENCED:
            return [Silence(assistant=record.assistant, session=required(payload, "session_id"))]
        return list(_adapter(record.assistant)(record, payload))
    except Bad as bad:
        why = str(bad)
    except RecursionError:  # it could be parsed, but not be written as text
        why = "it is nested too deeply"
    raise UnreadableRecord(assistant=record.assistant, event=record.event, why=why)


def _adapter(assistant: str) -> Callable[[Record, Json], Iterable[Happening]]:
    if assistant not in ADAPTERS:
        raise Bad("no adapter is known for its host")
    return cast("Callable[[Record, Json], Iterable[Happening]]", import_module(ADAPTERS[assistant]).happenings)


def _mended(payload: bytes) -> bytes:
    try:
        payload.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return ESCAPED.sub(_written_out, payload.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogatepass")
    return payload


def _written_out(found: re.Match[str]) -> str:
    raw = found[0].encode("utf-8", "surrogateescape")
    # Inside a JSON string a backslash is written twice; outside of one the record is no JSON anyway.
    return raw.decode("utf-8", "surrogatepass") if len(raw) > 1 else f"\\\\x{raw[0]:02X}"
