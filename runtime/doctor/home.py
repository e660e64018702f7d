"""Doctor checks of a home's files (settings, permissions, drafts, room) and of the machine (model, native code)."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mnemic.actors.kernel.errors import MnemicError, ModelOff
from mnemic.algorithms.retrieval.scan import NATIVE, backend
from mnemic.runtime.api.reports import format_size, pluralize
from mnemic.runtime.doctor.checks import Check, Target
from mnemic.runtime.engine.settings import load_settings, unknown_settings
from mnemic.runtime.files.users import user_name
from mnemic.runtime.files.writable import unwritable_reason
from mnemic.runtime.minds.projects import TRUST_FILE, read_trusted
from mnemic.runtime.minds.run_dir import settings_edited
from mnemic.runtime.models.encoders import accelerator, encoder_from_settings
from mnemic.runtime.models.models import check_instruction_set
from mnemic.runtime.store.schema import remove_file

_LOW_DISK_BYTES = 200 << 20
_OTHERS_BITS = 0o077
_OTHERS_WRITE = 0o022
_ABANDONED_S = 3600.0
"""A draft that nobody has written to for so long is nobody's: one takes seconds, and is written to all the while."""


def check_settings(target: Target) -> Iterator[Check]:
    """Whether the file and what it names can be read, and a process that serves works with what it holds."""
    path = target.home / "mnemic.toml"
    unknown = unknown_settings(path)
    if unknown:
        told = f"{path} names what is no setting: {', '.join(unknown)}"
        yield Check("settings", "wrong", told, "Take it out, or look up its name in docs/settings.md.")
        return
    load_settings(path)
    info = target.run_dir.read_info()
    if info is not None and info.is_alive() and settings_edited(info.settings, target.home):
        told = f"{path} was edited, and process {info.pid} works on with what it read before"
        yield Check("settings", "advice", told, f"kill -HUP {info.pid}; else its next start takes it up.")
        return
    yield Check("settings", "ok", f"{path} can be read" if path.exists() else "there is no file: all have defaults")


def check_trust(target: Target) -> Iterator[Check]:
    """Whether it can be read which folders' scope files count."""
    count = len(read_trusted(target.home))
    yield Check("trust", "ok", f"{pluralize(count, 'folder')} may name a scope by a file")


def check_permissions(target: Target) -> Iterator[Check]:
    """Say whether nobody else may read or write what is the home's, and whether all of it is its owner's."""
    foreign = list(_foreign(target))
    if foreign:
        (path, user), owner = foreign[0], user_name(target.home.stat().st_uid)
        told = f"files in the home that do not belong to {owner}: {len(foreign)}, such as {path} ({user}'s)"
        remedy = f"A command ran as {user}. `sudo chown -R {owner} {shlex.quote(str(target.home))}` gives them back."
        yield Check("permissions", "wrong", told, remedy)
        return
    found = list(_open_to_others(target))
    if not found:
        yield Check("permissions", "ok", "only you can read what is the home's")
        return
    path, mode = found[0]
    more = f", and {len(found) - 1} more are open to others" if len(found) > 1 else ""
    remedy = "--repair takes the others' rights away."
    yield Check("permissions", "wrong", f"{path} has mode {mode:04o}{more}", remedy, True)


def restrict_permissions(target: Target) -> str:
    """Take from others what they may do with the home's files; returns what was done.

    Raises:
        OSError: one of them is not this user's to change.
    """
    changed = list(_open_to_others(target))
    for path, mode in changed:
        path.chmod(mode & 0o700)
    return f"took the others' rights from {pluralize(len(changed), 'file')}"


def _foreign(target: Target) -> Iterator[tuple[Path, str]]:
    """What lies in the home and belongs to another user than the home, with that user."""
    for path in dict.fromkeys(_files(target)):
        with suppress(FileNotFoundError):  # it went meanwhile
            if (owner := path.lstat().st_uid) != target.home.stat().st_uid:
                yield path, user_name(owner)


def _open_to_others(target: Target) -> Iterator[tuple[Path, int]]:
    own = target.home / "mnemic.toml"  # a user writes it, as his editor will have it; no secret is in it
    private = not _mode(target.home) & _OTHERS_BITS
    for path in dict.fromkeys(_files(target)):
        mode = _mode(path)
        if mode & (_OTHERS_WRITE if path == own and private else _OTHERS_BITS):
            yield path, mode


def _files(target: Target) -> Iterator[Path]:
    """Everything of a home, but what the user himself put there, and what Ray keeps in its folder of mode 0700."""
    home, run = target.home, target.run_dir
    info = run.read_info()
    yield home
    for pattern in ("mnemic.toml", "hooks.json", TRUST_FILE, "*.log", "*.log.[0-9]", "http-token*"):
        yield from sorted(home.glob(pattern))
    folders = [run.folder, home / "bin", home / "backups"]
    if info is not None and Path(info.folder) != run.folder:  # the home is too deep for a socket's path
        folders.append(Path(info.folder))
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


def check_drafts(target: Target) -> Iterator[Check]:
    """Whether there are drafts that nobody finished."""
    drafts = list(_drafts(target))
    if not drafts:
        yield Check("leftovers", "ok", "no draft was abandoned")
        return
    names = ", ".join(f"{path.parent.name}/{path.name}" for path in drafts)
    size = sum(one.stat().st_size for path in drafts for one in (path, *path.rglob("*")) if one.is_file())
    told = f"there is {pluralize(len(drafts), 'draft')} of a mind, never finished ({names}, {format_size(size)})"
    yield Check("leftovers", "advice", told, "--repair removes the drafts.", True)


def remove_drafts(target: Target) -> str:
    """Remove what nobody finished; returns what was done."""
    drafts = list(_drafts(target))
    for path in drafts:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            remove_file(path)
    return f"removed {pluralize(len(drafts), 'draft')}: {', '.join(path.name for path in drafts)}"


def _drafts(target: Target) -> Iterator[Path]:
    """Minds and copies that were begun and never finished."""
    patterns = ("minds/.new-*", "minds/*/.next", "minds/*/.store.schema-*.db")
    for path in sorted(path for pattern in patterns for path in target.home.glob(pattern)):
        with suppress(FileNotFoundError):  # it was finished meanwhile
            written = max(one.stat().st_mtime for one in (path, *path.rglob("*")))
            if target.clock.now_us() / 1e6 - written > _ABANDONED_S:
                yield path


def check_disk(target: Target) -> Iterator[Check]:
    """Whether the home can be written, and there is room."""
    existing = next(place for place in (target.home, *target.home.absolute().parents) if place.exists())
    free = shutil.disk_usage(existing).free
    unwritable = unwritable_reason(existing)
    if unwritable is not None and free >= _LOW_DISK_BYTES:
        yield Check("disk", "wrong", f"{unwritable}: memories are read, and nothing is kept", "Make it writable.")
        return
    low = free < _LOW_DISK_BYTES
    yield Check("disk", "wrong" if low else "ok", f"{free / 1e9:.1f} GB free", "Free some space." if low else "")


def check_model(target: Target) -> Iterator[Check]:
    """Whether the model is there, is the one that was measured, and can be used."""
    try:
        settings = load_settings(target.home / "mnemic.toml").values()
    except MnemicError:  # which is said by the check of the settings
        yield Check("model", "advice", "which one is meant cannot be read in the settings", "Mend the settings.")
        return
    try:
        encoder = encoder_from_settings(settings)
    except ModelOff:
        target.wants_model = False
        yield Check("model", "ok", "switched off in the settings: words alone answer")
        return
    target.able = True
    yield Check("model", "ok", f"{encoder.implementation}, weights {encoder.model[:12]}")


def check_native(target: Target) -> Iterator[Check]:
    """Whether the native code is built, for which instructions it chose itself, and a device that nothing here uses."""
    if NATIVE:
        check_instruction_set()
        yield Check("native", "ok", backend())
    else:
        yield Check("native", "advice", "not built: NumPy scans", "Install cargo and then Mnemic again.")
    seen = accelerator()
    if seen and importlib.util.find_spec("torch") is None:
        yield Check("device", "advice", f"{seen} is there, torch is not", "pip install 'mnemic[torch]'")
