"""Names of memories on a command line: a whole id, the end of one as answers print it, or ``@1`` of the last list."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mnemic.actors.kernel.errors import InvalidValue, MnemicError
from mnemic.runtime.minds.run_dir import RunDir

if TYPE_CHECKING:
    from mnemic.runtime.api.mind import Mind

_PLACE = re.compile(r"@(\d+)")
_FILE = "listed-{terminal}.json"


class _Listed(msgspec.Struct, frozen=True):
    """The last list that was printed in a terminal."""

    mind: str
    """Name of the mind."""
    ids: tuple[str, ...]
    """Ids, as they stood below each other."""


def keep_list(home: Path, mind: str, ids: Iterable[str]) -> None:
    """Have ``@1`` mean the first of these from now on, in this terminal; none where nothing can be written."""
    path = _list_path(home)
    try:
        RunDir(home).prepare()
        _forget_ended(path.parent)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_bytes(msgspec.json.encode(_Listed(mind=mind, ids=tuple(ids))))
        draft.replace(path)
    except (OSError, MnemicError):  # the answer stands all the same; who asks for @1 is told that nothing is kept
        return


def forget_lists(home: Path) -> None:
    """Have ``@1`` mean nothing in any terminal: what was listed may be erased or locked now."""
    for path in (home / "run").glob(_FILE.format(terminal="*")):
        path.unlink(missing_ok=True)


def _list_path(home: Path) -> Path:
    """Where the last list of this terminal is kept: each terminal has its own session of processes."""
    return RunDir(home).folder / _FILE.format(terminal=os.getsid(0))


def _forget_ended(folder: Path) -> None:
    """Remove the lists of terminals that are closed."""
    for path in folder.glob(_FILE.format(terminal="*")):
        number = path.stem.rpartition("-")[2]
        if number.isdecimal() and not _is_running(int(number)):
            path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def resolve_ids(mind: Mind, home: Path, name: str, texts: Sequence[str]) -> tuple[bytes, ...]:
    """The memories that are named on a command line, in their order.

    Args:
        name: of the mind.

    Raises:
        InvalidValue: an ``@`` names none of the last list.
        NoSuchMemory, AmbiguousId: no id ends so, or several do.
    """
    whole = [_listed_id(home, name, text) if text.startswith("@") else text for text in texts]
    parts = [text for text in whole if _as_uuid(text) is None]
    found = iter(mind.find_ids(parts) if parts else ())
    return tuple(given.bytes if (given := _as_uuid(text)) is not None else next(found) for text in whole)


def _as_uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _listed_id(home: Path, mind: str, text: str) -> str:
    expected = "@1 for the first memory of the list that was printed last in this terminal, or an id"
    number = _PLACE.fullmatch(text)
    if number is None:
        raise InvalidValue(name="the memory", value=text, why="no number stands after the @", expected=expected)
    try:
        listed = msgspec.json.decode(_list_path(home).read_bytes(), type=_Listed)
    except (OSError, msgspec.DecodeError):
        listed = None
    if listed is None or listed.mind != mind:
        why = f"no list of the mind {mind!r} was printed in this terminal"
        raise InvalidValue(name="the memory", value=text, why=why, expected=expected)
    place = int(number[1])
    if not 1 <= place <= len(listed.ids):
        why = f"the last list has {len(listed.ids)}"
        raise InvalidValue(name="the memory", value=text, why=why, expected=expected)
    return listed.ids[place - 1]
