"""Finds specs: those that ship with Mnemic by their names, others by their paths."""

from __future__ import annotations

import os
from pathlib import Path

from mnemic.actors.kernel.errors import InvalidValue

_FOLDER = Path(__file__).with_name("specs")


def shipped_specs() -> dict[str, Path]:
    """The specs that ship, by name."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.toml"))}


def find_spec(named: str) -> Path:
    """A shipped spec by its name, or a file by its path, which has a slash or ends in ``.toml``.

    A spec can have any installed code run, so a bare name never runs a file that lies in the working folder.

    Raises:
        InvalidValue: there is none.
    """
    shipped, path = shipped_specs(), Path(named).expanduser()
    if os.sep not in named and path.suffix != ".toml":
        if named in shipped:
            return shipped[named]
        expected = f"one of {', '.join(shipped)}, or a file: ./{named}"
        raise InvalidValue(name="the spec", value=named, why="no spec of that name ships", expected=expected)
    if not path.is_file():
        expected = f"the path of a file, or one of {', '.join(shipped)}"
        raise InvalidValue(name="the spec", value=named, why="there is no such file", expected=expected)
    return path
