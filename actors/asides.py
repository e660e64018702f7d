"""What is set aside: a record that cannot be understood, without what must not be kept even of such a one.

Below `mnemic.actors.draining`. A record lies aside for as long as nobody understands it, so secrets and what is private
are taken out of it before, text by text where it is JSON: it can be read again later.
"""

from __future__ import annotations

import json
import re

from mnemic.actors.changes import SetAside
from mnemic.actors.events import Record, printable, to_bytes, to_text
from mnemic.actors.ports import Scrub, Unreadable

__all__ = ["clean", "set_aside"]

_WHY_CHARS = 400
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_STRINGS = re.compile(rf"({_STRING})(?:(\s*:\s*)({_STRING})?)?", re.DOTALL)
"""A string of a JSON document; where it is a name, with the colon, and with the value if that is a string."""


def set_aside(record: Record | Unreadable, why: str, scrub: Scrub) -> SetAside:
    """What keeps a record out of the way.

    Args:
        why: what is wrong with it, without its text; one that was never taken apart says that itself.
        scrub: takes out what must not be kept.
    """
    if isinstance(record, Unreadable):
        text = clean(record.body, scrub)
        return SetAside(record=record.id, assistant="", event="", why=record.why[:_WHY_CHARS], text=text)
    return SetAside(
        record=record.id,
        assistant=str(printable(record.assistant)),
        event=str(printable(record.event)),
        why=str(printable(why))[:_WHY_CHARS],
        text=clean(record.payload, scrub),
        at=record.at,
        cwd=printable(record.cwd),
        branch=printable(record.branch),
    )


def clean(payload: bytes, scrub: Scrub) -> bytes:
    """A payload without what must not be kept: JSON stays JSON, its names as they are; else the bytes as a text."""
    try:
        text = to_text(payload)
        json.loads(text)
    except (ValueError, RecursionError):  # half of one, another encoding, or too deep for us
        return scrub(payload).text
    return to_bytes(_STRINGS.sub(lambda found: _cleaned(found, scrub), text))


def _cleaned(found: re.Match[str], scrub: Scrub) -> str:
    name, colon, value = found.groups()
    if colon is None:
        return _string(name, scrub)
    if value is None:
        return str(found[0])
    before = f"{name}{colon}"
    pair = to_bytes(before + _string(value, scrub))
    value = _text(scrub(pair).text).removeprefix(before)  # some secrets are known by their names alone
    return before + (value if _is_string(value) else '""')


def _string(token: str, scrub: Scrub) -> str:
    """A string of a JSON document, as JSON again; one that holds nothing of the kind stays as it was written."""
    text = to_bytes(json.loads(token))
    left = scrub(text).text
    return token if left == text else json.dumps(_text(left))


def _text(left: bytes) -> str:
    try:
        return to_text(left)
    except UnicodeDecodeError:  # a rule of somebody's own has cut a character in two
        return left.decode("utf-8", "replace")


def _is_string(token: str) -> bool:
    try:
        return isinstance(json.loads(token), str)
    except ValueError:
        return False
