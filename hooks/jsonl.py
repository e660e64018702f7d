"""Generic JSON Lines: anybody's conversations, one object a line. The field names are a promise of the documentation.

``session``, ``role`` and ``text`` are required; ``speaker``, ``said_at``, ``scope``, ``id``, ``kind``, ``tool``,
``outcome`` and ``files`` may be there; anything else is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from mnemic.actors.events import KINDS, ROLES, Event, Outcome, to_bytes
from mnemic.hooks.lines import Bad, Json, microseconds

__all__ = ["ASSISTANT", "GenericReader", "is_generic"]

ASSISTANT = "generic"
OUTCOMES: tuple[str, ...] = get_args(Outcome)


def is_generic(line: Json) -> bool:
    """Whether a line looks like generic JSON Lines."""
    return all(isinstance(line.get(name), str) for name in ("session", "role", "text"))


class GenericReader:
    """Reads generic lines; each stands for itself."""

    def read(self, line: Json) -> Iterable[Event]:
        """The event of one line. Raises `Bad` for a missing field or a value that cannot be."""
        role = _one_of(line, "role", ROLES, _required(line, "role"))
        default = "tool_result" if role == "tool" else "turn"
        own_id = _text(line, "id")
        session = _required(line, "session")
        if not session:
            raise Bad("session is empty")
        yield Event(
            assistant=ASSISTANT,
            session=session,
            kind=_one_of(line, "kind", KINDS, _text(line, "kind") or default),
            role=role,
            text=to_bytes(_required(line, "text")),
            host_id=own_id,
            occasion=_text(line, "said_at") if own_id is None else None,
            source_id=own_id,
            speaker=_text(line, "speaker"),
            said_at=_said_at(line),
            scope=_text(line, "scope"),
            tool=_text(line, "tool"),
            outcome=_one_of(line, "outcome", OUTCOMES, _text(line, "outcome")),
            files=_files(line),
        )

    def finish(self) -> Iterable[Event]:
        """Nothing is held back."""
        return ()


def _required(line: Json, name: str) -> str:
    value = _text(line, name)
    if value is None:
        raise Bad(f"{name} is missing")
    return value


def _text(line: Json, name: str) -> str | None:
    value = line.get(name)
    if value is not None and not isinstance(value, str):
        raise Bad(f"{name} is no string")
    return value


def _one_of(line: Json, name: str, known: tuple[str, ...], value: str | None) -> Any:
    if value is not None and value not in known:
        raise Bad(f"{name} is none of {', '.join(known)}")
    return value


def _said_at(line: Json) -> int | None:
    value = _text(line, "said_at")
    moment = microseconds(value)
    if value is not None and moment is None:
        raise Bad("said_at is no ISO 8601 time")
    return moment


def _files(line: Json) -> tuple[str, ...]:
    value = line.get("files")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise Bad("files is no list of strings")
    return tuple(value)
