"""The files in HOME/bin that assistants start: the hook executable, its configuration, the mnemic launcher.

``mnemic-hook`` is the hook's executable, copied. ``mnemic`` starts this very Mnemic, for MCP; ``hook.json`` says what
hooks start by themselves. Above stands the command that wires hosts.
"""

from __future__ import annotations

import json
import os
import shlex
import site
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import HookNotBuilt, MindExists, MindLocked
from mnemic.runtime.files.atomic_replace import write_error
from mnemic.runtime.keys.keys import replace_private
from mnemic.runtime.minds.homes import create_mind, mind_folder, open_mind

_CONFIG = "hook.json"
_NAMES = ("mnemic-hook", "mnemic", _CONFIG)


class HookFile(msgspec.Struct, frozen=True):
    """A file of ``HOME/bin`` as it is to be."""

    path: Path
    """Where it is."""
    content: bytes
    """What it holds."""
    mode: int
    """Who may do what with it."""

    @property
    def is_installed(self) -> bool:
        """Whether it is there, just so."""
        try:
            return self.path.read_bytes() == self.content and self.path.stat().st_mode & 0o777 == self.mode
        except OSError:
            return False


def built_hook() -> Path:
    """The executable that was installed beside the `mnemic` that runs.

    Raises:
        HookNotBuilt: it is missing: there was no cargo to build it.
    """
    path = Path(sys.executable).parent / "mnemic-hook"
    if not os.access(path, os.X_OK):
        raise HookNotBuilt(path=str(path))
    return path


def required_hook_files(home: Path) -> list[HookFile]:
    """All that belongs into a home's ``bin``.

    Raises:
        HookNotBuilt: there is no executable to put there.
    """
    folder = home.absolute() / "bin"
    started = {
        "serve": [*_python(), "-m", "mnemic", "serve", "--on-demand", "--home", str(home.absolute())],
        "answer": [*_python(), "-m", "mnemic.session_start"],
    }
    return [
        HookFile(folder / "mnemic", _launcher(), 0o700),
        HookFile(folder / _CONFIG, json.dumps(started, indent=1).encode() + b"\n", 0o600),
        HookFile(folder / "mnemic-hook", built_hook().read_bytes(), 0o700),
    ]


def install_hook_files(home: Path, mind: str, clock: Clock) -> list[Path]:
    """Put them there, each whole or not at all, and make the mind where there is none; returns what was written.

    Raises:
        HookNotBuilt: there is no executable to put there; nothing was written.
        StoreReadOnly, DiskFull: the home cannot be written.
        InvalidValue: the mind's name could not be one folder's.
        StoreError: the mind is there and cannot be opened.
    """
    files = required_hook_files(home)
    if not mind_folder(home, mind).path.is_dir():
        with suppress(MindExists):  # somebody made it at this very moment
            create_mind(home, mind, clock)
    with suppress(MindLocked):  # what its hooks need was made with it
        open_mind(home, mind)  # one that an older version made gets what hooks write to
    written = []
    for file in files:
        if file.is_installed:
            continue
        try:
            file.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A hook that runs at this moment keeps the one it was started from.
            replace_private(file.path, file.content, mode=file.mode)
        except OSError as error:
            raise write_error(file.path, error) from error
        written.append(file.path)
    return written


def installed_hook_files(home: Path) -> list[Path]:
    """What of it is in a home's ``bin``: an older version's too, and a draft's of a try that was killed.

    A folder without the file that every install puts there is somebody else's, whatever the names in it; it comes last.
    """
    if not (home / "bin" / _CONFIG).is_file():
        return []
    paths = [path for name in _NAMES for path in (*(home / "bin").glob(f".{name}-*"), home / "bin" / name)]
    return [path for path in paths if path.is_file() and not path.is_symlink()]  # a link is never made here


def remove_hook_files(home: Path) -> list[Path]:
    """Take them away; hooks that are still wired are silent from then on. Returns what was removed.

    Raises:
        StoreReadOnly: they cannot be removed.
    """
    folder, removed = home / "bin", installed_hook_files(home)
    try:
        for path in removed:
            path.unlink()
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    except OSError as error:
        raise write_error(folder, error) from error
    return removed


def _python() -> list[str]:
    """This Python, as a command; without the modules of the folder that it is started in, or of the environment."""
    python = os.path.abspath(sys.executable)
    if site.ENABLE_USER_SITE:  # no virtual environment: Mnemic may lie in the user's own packages, which -I leaves out
        return [python, "-E", "-P"]
    return [python, "-I"]


def _launcher() -> bytes:
    """A script that starts this Mnemic, wherever it is: no path is too long for it, or has a letter it cannot take."""
    words = [shlex.quote(word) for word in (*_python(), "-m", "mnemic")]
    gone = f"test -x {words[0]} || {{ cat >/dev/null; exit 0; }}\n"
    return f'#!/bin/sh\n{gone}exec {" ".join(words)} "$@"\n'.encode()
