"""Finds specs: those that ship with Mnemic by their names, others by their paths."""

from __future__ import annotations

from pathlib import Path

from mnemic.actors.protocol.errors import InvalidValue

_FOLDER = Path(__file__).with_name("specs")


def shipped_specs() -> dict[str, Path]:
    """The specs that ship, by name."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.toml"))}


def find_spec(named: str) -> Path:
    """A spec by its name or its path.

    Raises:
        InvalidValue: there is none.
    """
    path = Path(named).expanduser()
    shipped = shipped_specs()
    if path.is_file() or named not in shipped:
        if not path.is_file():
            expected = f"a file, or one of {', '.join(shipped)}"
            raise InvalidValue(name="the spec", value=named, why="there is no such file", expected=expected)
        return path
    return shipped[named]
