"""An owner's word that a ``.mnemic.toml`` counts: this folder, without links, and the scope its file names now.

It stands in the home, where no repository writes. The file changed to another scope, or copied to another folder, is
confirmed by nobody. `mnemic.runtime.minds.projects` reads it; the command line alone calls what is here to write it.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.runtime.files.atomic_replace import write_error
from mnemic.runtime.keys.keys import replace_private
from mnemic.runtime.minds.projects import (
    SETTINGS,
    TRUST_FILE,
    TRUST_VERSION,
    printable_path,
    read_trusted,
    resolve_folder,
    scope_in,
)


def trust_folder(home: Path, folder: str) -> tuple[str, str]:
    """Confirm the scope that a folder's file names; returns the folder without links, and the scope.

    Raises:
        InvalidValue: no such file is there, or it names no scope.
        BadSettings: it cannot be read, or what was confirmed before cannot.
        StoreReadOnly, DiskFull: the home cannot be written.
    """
    place = resolve_folder(folder)
    if not os.path.lexists(place / SETTINGS):
        expected = f'a folder whose {SETTINGS} says scope = "a/b"'
        raise InvalidValue(
            name="the folder", value=printable_path(place), why=f"no {SETTINGS} is in it", expected=expected
        )
    scope = scope_in(place)
    _save(home, read_trusted(home) | {str(place): scope})
    return printable_path(place), scope


def distrust_folder(home: Path, folder: str) -> tuple[str, str]:
    """Take back what was confirmed of a folder, there or not; returns it as `trust_folder` does.

    Raises:
        InvalidValue: nothing was.
        BadSettings: what was confirmed cannot be read.
        StoreReadOnly, DiskFull: the home cannot be written.
    """
    place, trusted = resolve_folder(folder), read_trusted(home)
    scope = trusted.pop(str(place), None)
    if scope is None:
        expected = "one that `mnemic scope list` shows as trusted"
        raise InvalidValue(name="the folder", value=printable_path(place), why="it is not trusted", expected=expected)
    _save(home, trusted)
    return printable_path(place), scope


def list_trusted(home: Path) -> list[tuple[str, str]]:
    """The folders whose file counts, with its scope, by folder.

    Raises:
        BadSettings: what was confirmed cannot be read.
    """
    return [(printable_path(Path(folder)), scope) for folder, scope in sorted(read_trusted(home).items())]


def unconfirmed_sentence(home: Path, folder: Path, scope: str) -> str:
    """What is said of a ``.mnemic.toml`` that is passed over, and how its owner has it count."""
    command = shlex.join(["mnemic", "scope", "trust", printable_path(folder), "--home", os.path.abspath(home)])
    file = printable_path(folder / SETTINGS)
    return f"{file} names the scope {scope!r} and is passed over until you trust it: {command}"


def _save(home: Path, folders: dict[str, str]) -> None:
    path = home / TRUST_FILE
    written = json.dumps({"version": TRUST_VERSION, "folders": folders}, indent=1)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_private(path, written.encode())
    except OSError as error:
        raise write_error(path, error) from error
