"""Doctor checks of a home's files: settings, permissions, leftover drafts, free disk space.

Looks at what Mnemic needs of a machine: the model, the native code, a device that would pay.
"""

from __future__ import annotations

import importlib.util
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mnemic.actors.protocol.contract import Clock
from mnemic.actors.protocol.errors import MnemicError
from mnemic.actors.protocol.ports import Encoder
from mnemic.algorithms.retrieval.scan import NATIVE, backend
from mnemic.runtime.doctor.checks import Check, format_size, pluralize
from mnemic.runtime.engine.settings import load_settings, unknown_settings
from mnemic.runtime.minds.run_dir import RunDir, settings_edited
from mnemic.runtime.models.encoders import accelerator
from mnemic.runtime.models.models import check_instruction_set
from mnemic.runtime.store.schema import remove_file

__all__ = [
    "LoadEncoder",
    "check_device",
    "check_disk",
    "check_leftovers",
    "check_model",
    "check_native",
    "check_permissions",
    "check_settings",
    "remove_drafts",
    "restrict_permissions",
]

_LOW_DISK_BYTES = 200 << 20
_OTHERS_BITS = 0o077
_OTHERS_WRITE = 0o022
_ABANDONED_S = 3600.0
"""A draft that nobody has written to for so long is nobody's: one takes seconds, and is written to all the while."""


def check_settings(home: Path) -> Iterator[Check]:
    """Whether the file and what it names can be read, and a process that serves works with what it holds."""
    path = home / "mnemic.toml"
    unknown = unknown_settings(path)
    if unknown:
        told = f"{path} names what is no setting: {', '.join(unknown)}"
        yield Check("settings", "wrong", told, "Take it out, or look up its name in docs/settings.md.")
        return
    rules = load_settings(path)["capture.secret_rules"]
    if rules:
        from mnemic.runtime.secrets.rule_files import load_rules  # here: most homes name none

        load_rules(rules)
    card = RunDir(home).read_info()
    if card is not None and card.is_alive() and settings_edited(card.settings, home):
        told = f"{path} was edited, and process {card.pid} works on with what it read before"
        yield Check("settings", "advice", told, f"kill -HUP {card.pid}; else its next start takes it up.")
        return
    yield Check("settings", "ok", f"{path} can be read" if path.exists() else "there is no file: all have defaults")


# --- who may read ----------------------------------------------------------------------------------------------------


def check_permissions(home: Path) -> Iterator[Check]:
    """Whether nobody else may read or write what is the home's."""
    open_to_others = list(_open_to_others(home))
    if not open_to_others:
        yield Check("permissions", "ok", "only you can read what is the home's")
        return
    path, mode = open_to_others[0]
    more = f", and {len(open_to_others) - 1} more are open to others" if len(open_to_others) > 1 else ""
    yield Check(
        "permissions", "wrong", f"{path} has mode {mode:04o}{more}", "--repair takes the others' rights away.", True
    )


def restrict_permissions(home: Path) -> str:
    """Take from others what they may do with the home's files; returns what was done.

    Raises:
        OSError: one of them is not this user's to change.
    """
    changed = list(_open_to_others(home))
    for path, mode in changed:
        path.chmod(mode & 0o700)
    return f"took the others' rights from {pluralize(len(changed), 'file')}"


def _open_to_others(home: Path) -> Iterator[tuple[Path, int]]:
    own = home / "mnemic.toml"  # a user writes it, as his editor will have it; no secret is in it
    private = not _mode(home) & _OTHERS_BITS
    for path in dict.fromkeys(_files(home)):
        mode = _mode(path)
        if mode & (_OTHERS_WRITE if path == own and private else _OTHERS_BITS):
            yield path, mode


def _files(home: Path) -> Iterator[Path]:
    """Everything of a home, but what the user himself put there, and what Ray keeps in its folder of mode 0700."""
    meeting = RunDir(home)
    card = meeting.read_info()
    yield home
    for pattern in ("mnemic.toml", "hooks.json", "*.log", "*.log.[0-9]", "http-token*"):
        yield from sorted(home.glob(pattern))
    folders = [meeting.folder, meeting.folder / "ray", home / "bin", home / "backups"]
    if card is not None and Path(card.folder) != meeting.folder:  # the home is too deep for a socket's path
        folders.append(Path(card.folder))
    for folder in folders:
        if folder.is_dir():
            yield from (folder, *sorted(folder.iterdir()))
    minds = home / "minds"
    if minds.is_dir():
        yield from (minds, *sorted(minds.rglob("*")))


def _mode(path: Path) -> int:
    with suppress(FileNotFoundError):  # SQLite removes a store's companions when the last one closes it
        return stat.S_IMODE(path.stat().st_mode)
    return 0


# --- what was left behind --------------------------------------------------------------------------------------------


def check_leftovers(home: Path, clock: Clock) -> Iterator[Check]:
    """Whether there are drafts that nobody finished, and copies from before a migration."""
    drafts, copies = list(_drafts(home, clock)), sorted(home.glob("minds/*/store.schema-*.db"))
    told, remedy = [], []
    if drafts:
        told.append(f"{pluralize(len(drafts), 'draft')} of a mind or of a copy, never finished ({_named(drafts)})")
        remedy.append("--repair removes the drafts.")
    if copies:
        told.append(f"{pluralize(len(copies), 'copy', 'copies')} from before a migration ({_named(copies)})")
        remedy.append("Once you are content with the newer store, remove the copy: what is forgotten is still in it.")
    if told:
        yield Check("leftovers", "advice", "there is " + "; there is ".join(told), " ".join(remedy), bool(drafts))
    else:
        yield Check("leftovers", "ok", "no draft was abandoned, no old copy is kept")


def remove_drafts(home: Path, clock: Clock) -> str:
    """Remove what nobody finished; returns what was done. Copies stay: they are whole, and the user's to remove."""
    drafts = list(_drafts(home, clock))
    for path in drafts:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            remove_file(path)
    return f"removed {pluralize(len(drafts), 'draft')}: {', '.join(path.name for path in drafts)}"


def _drafts(home: Path, clock: Clock) -> Iterator[Path]:
    """Minds and copies that were begun and never finished."""
    patterns = ("minds/.new-*", "minds/*/.next", "minds/*/.store.schema-*.db")
    for path in sorted(path for pattern in patterns for path in home.glob(pattern)):
        with suppress(FileNotFoundError):  # it was finished meanwhile
            written = max(one.stat().st_mtime for one in (path, *path.rglob("*")))
            if clock.now_us() / 1e6 - written > _ABANDONED_S:
                yield path


def _named(paths: list[Path]) -> str:
    size = sum(one.stat().st_size for path in paths for one in (path, *path.rglob("*")) if one.is_file())
    return f"{', '.join(f'{path.parent.name}/{path.name}' for path in paths)}, {format_size(size)}"


def check_disk(home: Path) -> Iterator[Check]:
    """Whether there is room."""
    existing = next(place for place in (home, *home.absolute().parents) if place.exists())
    free = shutil.disk_usage(existing).free
    low = free < _LOW_DISK_BYTES
    yield Check("disk", "wrong" if low else "ok", f"{free / 1e9:.1f} GB free", "Free some space." if low else "")


LoadEncoder = Callable[[Mapping[str, Any]], Encoder]
"""Loads the encoder that the settings name."""


def check_model(home: Path, load: LoadEncoder) -> Iterator[Check]:
    """Whether the model is there, is the one that was measured, and can be used."""
    try:
        settings = load_settings(home / "mnemic.toml").values()
    except MnemicError:  # which is said by the check of the settings
        yield Check("model", "advice", "which one is meant cannot be read in the settings", "Mend the settings.")
        return
    encoder = load(settings)
    yield Check("model", "ok", f"{encoder.implementation}, weights {encoder.model[:12]}")


def check_native() -> Iterator[Check]:
    """Whether the native code is built, and for which instructions it chose itself."""
    if NATIVE:
        check_instruction_set()
        yield Check("native", "ok", backend())
    else:
        yield Check("native", "advice", "not built: NumPy scans", "Install cargo and then Mnemic again.")


def check_device() -> Iterator[Check]:
    """Whether there is a device that nothing here can use."""
    seen = accelerator()
    if seen and importlib.util.find_spec("torch") is None:
        yield Check("device", "advice", f"{seen} is there, torch is not", "pip install 'mnemic[torch]'")
