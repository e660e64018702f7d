"""The link in ``~/.local/bin`` by which a new shell finds `mnemic`, where it was installed into an environment.

It goes with the home that is meant where none is named, as completions do. A file of that name that is there stays.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mnemic.cli.start.completions import SHELLS, is_usual_home
from mnemic.runtime.files.atomic_replace import write_error

_LOGIN_S = 5.0
"""A login shell that takes longer is not waited for, and no link offered."""


class ProgramLink(msgspec.Struct, frozen=True, kw_only=True):
    """The link that is offered, or was made."""

    path: str
    """Where."""
    note: str = ""
    """What is left to do, where a new shell does not look there."""
    failed: str = ""
    """Why it could not be made."""


def install_link(home: Path, environment: Mapping[str, str], *, write: bool) -> ProgramLink | None:
    """Have new shells find `mnemic`; ``None`` where they do, or where something else of that name is there.

    Args:
        write: whether to make the link, not only to say where it would be.
    """
    path, program = _path(environment), _program()
    if path is None or not is_usual_home(home, environment) or not program.is_file():
        return None
    if os.path.lexists(path) or _is_found(program, environment) is not False:
        return None
    if write:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(program)
        except OSError as error:
            return ProgramLink(path=str(path), failed=str(write_error(path, error)))
    is_looked_for = not write or _is_found(program, environment)
    return ProgramLink(path=str(path), note="" if is_looked_for else f"put {path.parent} into your shell's PATH")


def remove_link(home: Path, environment: Mapping[str, str], *, write: bool) -> list[Path]:
    """Take the link away, where it leads to this program; returns it.

    Raises:
        StoreReadOnly: it cannot be removed.
    """
    path = _path(environment)
    if path is None or not path.is_symlink() or not is_usual_home(home, environment):
        return []
    try:
        if path.readlink() != _program():
            return []
        if write:
            path.unlink()
    except OSError as error:
        raise write_error(path, error) from error
    return [path]


def _path(environment: Mapping[str, str]) -> Path | None:
    user = environment.get("HOME", "")
    return Path(user) / ".local" / "bin" / "mnemic" if os.path.isabs(user) else None


def _program() -> Path:
    return Path(sys.executable).with_name("mnemic")


def _is_found(program: Path, environment: Mapping[str, str]) -> bool | None:
    """Whether a login shell of the user's finds `mnemic`, with this environment's own folder out of its PATH; ``None``
    where no shell can be asked.
    """
    shell = environment.get("SHELL", "")
    if Path(shell).name not in (*SHELLS, "sh", "dash", "ksh"):
        return None
    folders = environment.get("PATH", "").split(os.pathsep)
    kept = os.pathsep.join(one for one in folders if one != str(program.parent))
    given = {name: value for name, value in environment.items() if name != "VIRTUAL_ENV"} | {"PATH": kept}
    command, none = [shell, "-l", "-c", "command -v mnemic"], subprocess.DEVNULL
    try:
        done = subprocess.run(
            command, env=given, stdin=none, stdout=none, stderr=none, timeout=_LOGIN_S, start_new_session=True
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.returncode == 0
