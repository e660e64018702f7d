"""What keeps a record of a hook out of the way that nobody understands, without secrets and what is private.

It may stay for long, and is read again when somebody asks (`mnemic.actors.capture.drain`). So where it is JSON, it
stays JSON: secrets are taken out text by text.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from mnemic.actors.capture.changes import QuarantineRecord
from mnemic.actors.kernel.events import HookRecord, escape_surrogates, to_bytes, to_text
from mnemic.actors.kernel.ports import Scrub, UndecodedRecord

_log = logging.getLogger("mnemic.capture")

_WHY_CHARS = 400


def quarantine_change(record: HookRecord | UndecodedRecord, why: str, scrub: Scrub) -> QuarantineRecord:
    """What keeps a record out of the way.

    Args:
        why: what is wrong with it, without its text.
        scrub: takes out what must not be kept.
    """
    try:
        text = scrub_payload(record.payload if isinstance(record, HookRecord) else record.body, scrub)
    except Exception as error:  # it must not stop what others keep, and with its secrets it may not be kept: logged
        _log.error("secrets could not be taken out of a record: %s", type(error).__name__)
        text, why = b"", f"taking secrets out of it failed ({type(error).__name__}), so its words are not kept; {why}"
    if isinstance(record, UndecodedRecord):
        return QuarantineRecord(record=record.id, assistant="", event="", why=why[:_WHY_CHARS], text=text)
    return QuarantineRecord(
        record=record.id,
        assistant=str(escape_surrogates(record.assistant)),
        event=str(escape_surrogates(record.event)),
        why=str(escape_surrogates(why))[:_WHY_CHARS],
        text=text,
        at=record.at,
        cwd=escape_surrogates(record.cwd),
        branch=escape_surrogates(record.branch),
    )


def scrub_payload(payload: bytes, scrub: Scrub) -> bytes:
    """A payload without what must not be kept: JSON stays JSON, its names as they are; else the bytes as a text."""
    try:
        document = json.loads(to_text(payload))
        left = _scrub_json(document, scrub)
    except (ValueError, RecursionError):  # half of one, another encoding, or too deep for us
        return scrub(payload).text
    return payload if left == document else json.dumps(left).encode()


def _scrub_json(value: Any, scrub: Scrub, name: str | None = None) -> Any:
    if isinstance(value, dict):
        return {key: _scrub_json(one, scrub, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_scrub_json(one, scrub) for one in value]
    if not isinstance(value, str):
        return value
    left = _scrub_text(value, scrub)
    if name is None:
        return left
    before, written = f"{json.dumps(name)}: ", json.dumps(left, ensure_ascii=False)
    pair = _scrub_text(before + written, scrub).removeprefix(before)
    return left if pair == written else _string_or_empty(pair)  # some secrets are known by their names alone


def _scrub_text(text: str, scrub: Scrub) -> str:
    left = scrub(to_bytes(text)).text
    try:
        return to_text(left)
    except UnicodeDecodeError:  # a rule of somebody's own has cut a character in two
        return left.decode("utf-8", "replace")


def _string_or_empty(token: str) -> str:
    try:
        value = json.loads(token)
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""
