"""`mnemic uninstall`: every assistant as it was, the process stopped, the executables gone, and what remains listed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.contract import Clock
from mnemic.belongings import own_files, own_folders
from mnemic.runtime.hook_files import remove_hook_files
from mnemic.runtime.meeting import Meeting
from mnemic.runtime.schema import cannot_write
from mnemic.runtime.starting import drain, wait_gone
from mnemic.wiring import Wired, uninstall

__all__ = ["Left", "erase_data", "leave", "left_view", "remains", "stays"]

_LEAVES_S, _STARTS_S, _POLL_S = 20.0, 5.0, 0.05


class Left(msgspec.Struct, kw_only=True):
    """What leaving does, or did."""

    wired: Wired
    """Of each host."""
    process: str
    """What became, or becomes, of the process that serves the home."""
    removed: list[Path]
    """What was taken out of the home's ``bin``."""


def leave(home: Path, environment: Mapping[str, str], clock: Clock, *, write: bool) -> Left:
    """Unwire every host, stop the home's process, and remove what hosts were started from.

    Raises:
        BadConfiguration: what was wired is not known.
        StoreError: the home cannot be written.
    """
    home = home.absolute()
    wired = uninstall(home, ["all"], environment, clock, write=write)
    if not write:
        card = Meeting(home).card()
        serving = card is not None and card.alive()
        process = f"process {card.pid} would be asked to leave" if serving and card else "no process serves"
        return Left(wired=wired, process=process, removed=[])
    removed = remove_hook_files(home)  # first: from now on no hook starts a process
    return Left(wired=wired, process=_stop(home, clock), removed=removed)


def _stop(home: Path, clock: Clock) -> str:
    """Have the process that serves leave, one too that is just starting; says what became of it."""
    meeting, pause, told = Meeting(home), threading.Event(), "no process serves"
    until = clock.monotonic_s() + _LEAVES_S
    while clock.monotonic_s() < until:
        card = meeting.card()
        if card is not None and card.alive():
            drain(card, "mnemic uninstall")
            gone = wait_gone(home, card, clock)
            (meeting.folder / "hook-start").unlink(missing_ok=True)  # it is this one that was started
            told = f"process {card.pid} has left" if gone else f"process {card.pid} has not left: kill {card.pid}"
            if not gone:
                return told
        if not _held(meeting) and not _starting(meeting, clock):
            return told
        pause.wait(_POLL_S)
    return "a process holds this home's lock and does not say which it is"


def _starting(meeting: Meeting, clock: Clock) -> bool:
    """Whether a hook started a process so lately that it may not have the home's lock yet."""
    try:
        stamp = (meeting.folder / "hook-start").stat().st_mtime
    except OSError:
        return False
    return 0 <= clock.now_us() / 1e6 - stamp < _STARTS_S


def _held(meeting: Meeting) -> bool:
    """Whether a process has the home's lock."""
    if not (meeting.folder / "serve.lock").exists():
        return False
    descriptor = meeting.hold("serve.lock")
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is None


def remains(home: Path) -> Iterator[tuple[Path, int]]:
    """What of Mnemic's is still in a home, folder by folder, and how many bytes of it."""
    sizes: dict[Path, int] = {}
    for path in own_files(home):
        place = home / path.relative_to(home).parts[0]
        sizes[place] = sizes.get(place, 0) + path.lstat().st_size
    yield from sorted(sizes.items())


def erase_data(home: Path) -> list[Path]:
    """Remove every file of a home that is Mnemic's: its minds with their keys, for good; returns what is gone of it.

    What somebody else put there stays, and so do the folders that it is in.

    Raises:
        StoreReadOnly: not all of it could be removed.
    """
    before, files, folders = _entries(home), own_files(home), own_folders(home)
    try:
        if any((home / "run").glob("ray*")) and not _held(Meeting(home)):
            from mnemic.runtime.ray_local import sweep_home  # here: only where there was a Ray

            sweep_home(home)
        for path in files:
            path.unlink(missing_ok=True)
        for folder in folders:
            if not any(folder.iterdir()):
                folder.rmdir()
    except OSError as error:
        raise cannot_write(home, error) from error
    left = _entries(home)
    return [path for path in before if path not in left]


def stays(home: Path) -> list[Path]:
    """What is in a home that was erased: none of it is Mnemic's, or it was put there since."""
    return _entries(home)


def left_view(left: Left, home: Path) -> dict[str, Any]:
    """As JSON."""
    return {
        "hosts": {one.name: one.view() for one in left.wired.hosts},
        "process": left.process,
        "removed": [str(path) for path in left.removed],
        "remains": [{"path": str(path), "size_bytes": size} for path, size in remains(home)],
    }


def _entries(home: Path) -> list[Path]:
    return sorted(home.iterdir()) if home.is_dir() else []
