"""`mnemic uninstall`: unwires every assistant, ends service and process, removes executables and, if asked, data.

What in a home is Mnemic's, told by the names that it gives: nothing else is ever removed.

A home may be a folder that others keep something in, so no folder is Mnemic's as a whole.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import InvalidValue
from mnemic.cli.hooks.wiring import WiringResult, uninstall
from mnemic.cli.start.completions import remove_completions
from mnemic.cli.start.shell_link import remove_link
from mnemic.hooks.wire.record import BACKUP
from mnemic.runtime.capture.hook_files import installed_hook_files, remove_hook_files
from mnemic.runtime.client.launcher import request_drain, wait_unpublished
from mnemic.runtime.files.atomic_replace import write_error
from mnemic.runtime.minds.run_dir import RunDir
from mnemic.runtime.serve.service import ServiceResult, remove_service

_HOME_FILES = {  # not hooks.json: leaving removes the one that it can read, and others' assistants have one too
    ".": re.compile(
        r"(mnemic|serve)\.log(\.[0-9])?|mnemic\.toml|http-token|\.http-token-\w+"
        r"|\.?trusted-folders\.json(-\w+)?"
    ),
    "backups": BACKUP,
    "run": re.compile(
        r"serve\.(lock|json|err)|listed-\d+\.(json|\d+)|drain\.lock|\.serve\.json-\w+|start\.lock|hook-start|queued-[\w.-]+"
        r"|(http|mcp|service)\.sock|service\.err"
    ),
}
_STATE_FILES = (
    r"key|lock|pauses|\.?mind\.json|mind\.json\.copy|\.?store(\.schema-\d+)?\.db(-wal|-shm|-journal|-mark)?|spool\.json"
    r"|\.(pauses|mind\.json|mind\.json\.copy|spool\.json)-\w+"
)
_MIND_FILES = {
    ".": re.compile(_STATE_FILES),
    "spool": re.compile(r"[0-9a-f]{32}(\.\d+)?\.spool|losses|\.losses-\w+|\.new-\w+"),
    "spool/aside": re.compile(r"[0-9a-f]{32}\.spool"),
    ".next": re.compile(_STATE_FILES),  # what was to take their place, and what is about to
    ".swap": re.compile(rf"{_STATE_FILES}|swap\.json"),
}
_KEY_HEADER = "mind.json"


def require_home(home: Path) -> None:
    """Refuse a folder that holds nothing by which a home is known.

    Raises:
        InvalidValue: there is no mind in it, and nothing that an install has left.
    """
    if not (home / "hooks.json").is_file() and not any((mind / _KEY_HEADER).is_file() for mind in _mind_folders(home)):
        raise InvalidValue(
            name="--home",
            value=str(home),
            why="it holds no mind that Mnemic made, and nothing that an install left",
            expected="the home whose data is to go",
        )


def mnemic_files(home: Path) -> list[Path]:
    """Mnemic's files, in an order to remove them: keys first, and the info files by which minds are known last."""
    found = [path for mind in _mind_folders(home) for path in _matching_files(mind, _MIND_FILES)]
    found += [*installed_hook_files(home), *_matching_files(home, _HOME_FILES)]
    return sorted(found, key=lambda path: (path.name != "key", path.name == _KEY_HEADER))


def mnemic_folders(home: Path) -> list[Path]:
    """The folders that Mnemic makes, the innermost first and the home last; others may have put something in them."""
    minds = [mind / inside for mind in _mind_folders(home) for inside in reversed(_MIND_FILES)]
    own = [*minds, *(home / name for name in ("minds", "backups", "bin", "run")), home]
    return [folder for folder in own if folder.is_dir() and not folder.is_symlink()]


def _mind_folders(home: Path) -> list[Path]:
    """The folders of minds, and those of minds that were never finished."""
    folders = sorted((home / "minds").iterdir()) if (home / "minds").is_dir() else []
    return [
        path for path in folders if (path / _KEY_HEADER).is_file() or (path.is_dir() and path.name.startswith(".new-"))
    ]


def _matching_files(folder: Path, names: Mapping[str, re.Pattern[str]]) -> Iterator[Path]:
    for inside, name in names.items():
        place = folder / inside
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            if name.fullmatch(path.name) and (path.is_symlink() or not path.is_dir()):
                yield path


_STOP_TIMEOUT_S, _STARTUP_S, _POLL_S = 20.0, 5.0, 0.05


class UninstallResult(msgspec.Struct, kw_only=True):
    """What leaving does, or did."""

    wiring: WiringResult
    """Of each host."""
    service: ServiceResult | None
    """What becomes, or became, of its service, where it has one."""
    process: str
    """What became, or becomes, of the process that serves the home."""
    completions: list[Path]
    """The files by which shells complete `mnemic`: they go, or are gone."""
    link: list[Path]
    """The link by which shells find `mnemic`: it goes, or is gone."""
    removed: list[Path]
    """What was taken out of the home's ``bin``."""


def uninstall_home(home: Path, environment: Mapping[str, str], clock: Clock, *, write: bool) -> UninstallResult:
    """Unwire every host, stop the home's process, and remove what hosts were started from.

    Raises:
        BadConfiguration: what was wired is not known.
        StoreError: the home cannot be written.
    """
    home = home.absolute()
    wired = uninstall(home, ["all"], environment, clock, write=write)
    service = remove_service(home, environment, write=write) if environment.get("HOME") else None
    completions = remove_completions(home, environment, write=write)
    link = remove_link(home, environment, write=write)
    if not write:
        info = RunDir(home).read_info()
        serving = info is not None and info.is_alive()
        process = f"process {info.pid} would be asked to leave" if serving and info else "no process serves"
        return UninstallResult(
            wiring=wired, service=service, process=process, completions=completions, link=link, removed=[]
        )
    removed = remove_hook_files(home)  # first: from now on no hook starts a process
    process = _stop_server(home, clock)
    return UninstallResult(
        wiring=wired, service=service, process=process, completions=completions, link=link, removed=removed
    )


def _stop_server(home: Path, clock: Clock) -> str:
    """Have the process that serves leave, one too that is just starting; says what became of it."""
    run_dir, pause, told = RunDir(home), threading.Event(), "no process serves"
    until = clock.monotonic_s() + _STOP_TIMEOUT_S
    while clock.monotonic_s() < until:
        info = run_dir.read_info()
        if info is not None and info.is_alive():
            request_drain(info, "mnemic uninstall")
            gone = wait_unpublished(home, info, clock)
            (run_dir.folder / "hook-start").unlink(missing_ok=True)  # it is this one that was started
            told = f"process {info.pid} has left" if gone else f"process {info.pid} has not left: kill {info.pid}"
            if not gone:
                return told
        if not run_dir.is_server_locked() and not _is_starting(run_dir, clock):
            return told
        pause.wait(_POLL_S)
    return "a process holds this home's lock and does not say which it is"


def _is_starting(run_dir: RunDir, clock: Clock) -> bool:
    """Whether a hook started a process so lately that it may not have the home's lock yet."""
    try:
        stamp = (run_dir.folder / "hook-start").stat().st_mtime
    except OSError:
        return False
    return 0 <= clock.now_us() / 1e6 - stamp < _STARTUP_S


def remaining_files(home: Path) -> Iterator[tuple[Path, int]]:
    """What of Mnemic's is still in a home, folder by folder, and how many bytes of it."""
    sizes: dict[Path, int] = {}
    for path in mnemic_files(home):
        place = home / path.relative_to(home).parts[0]
        sizes[place] = sizes.get(place, 0) + path.lstat().st_size
    yield from sorted(sizes.items())


def erase_data(home: Path) -> tuple[list[Path], list[Path]]:
    """Remove every file of a home that is Mnemic's: its minds with their keys, for good.

    Returns what is gone of the home, and what stays: what somebody else put there, and the folders that it is in.

    Raises:
        StoreReadOnly: not all of it could be removed.
    """
    before, files, folders = _entries(home), mnemic_files(home), mnemic_folders(home)
    try:
        if any((home / "run").glob("ray-*")):
            from mnemic.runtime.engine.ray.local import clean_up_home  # here: only where there was a Ray

            clean_up_home(home)
        for path in files:
            path.unlink(missing_ok=True)
        for folder in folders:
            if not any(folder.iterdir()):
                folder.rmdir()
    except OSError as error:
        raise write_error(home, error) from error
    left = _entries(home)
    return [path for path in before if path not in left], left


def uninstall_view(left: UninstallResult, home: Path) -> dict[str, Any]:
    """As JSON."""
    return {
        "home": str(home),
        "hosts": msgspec.to_builtins(left.wiring.hosts),
        "service": msgspec.to_builtins(left.service),
        "process": left.process,
        "completions": [str(path) for path in left.completions],
        "link": [str(path) for path in left.link],
        "removed": [str(path) for path in left.removed],
        "remains": [{"path": str(path), "size_bytes": size} for path, size in remaining_files(home)],
    }


def _entries(home: Path) -> list[Path]:
    return sorted(home.iterdir()) if home.is_dir() else []
