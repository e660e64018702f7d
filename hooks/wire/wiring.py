"""Plans, shows as a diff, applies and undoes the changes to assistants' settings files.

A file is written whole or not at all, under its own mode, behind whatever link leads to it (a user's settings may lie
among their dotfiles; what an export writes must not leave its folder), and only if it is still what the plan was made
from. What was in it is kept once, before the first change, until it is taken back. Taking back
removes what an install put there; where nothing else has changed by then but white space, the file gets its bytes from
before. Below stands `mnemic.hooks.wire.edits`; above is the command.
"""

from __future__ import annotations

import difflib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import msgspec

from mnemic.actors.kernel.errors import BadConfiguration, InvalidSettings, InvalidValue, MnemicError, StoreReadOnly
from mnemic.hooks.wire.codex_trust import with_trusted_hooks
from mnemic.hooks.wire.commands import Wiring
from mnemic.hooks.wire.edits import (
    FileEdits,
    Member,
    apply_edits,
    calls_this_home,
    edit_summary,
    hook_commands,
    remove_edits,
    settings_in,
)
from mnemic.hooks.wire.host import CONFIG_VARIABLES, Host
from mnemic.hooks.wire.record import HostInstall, InstalledFile, InstallRecord
from mnemic.hooks.wire.settings_formats import MOST_SETTINGS_BYTES, ParseError, value_at
from mnemic.runtime.files.atomic_replace import write_error
from mnemic.runtime.files.foreign import read_regular
from mnemic.runtime.keys.keys import replace_private

_CONTEXT_LINES = 2


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one file."""

    file: FileEdits
    """The file, and what is to stand in it."""
    before: bytes | None
    """What is in it; ``None`` where it is not there."""
    after: bytes | None
    """What will be in it; ``None`` where it goes."""
    base: bytes | None = None
    """What it held before any install; ``None`` where it was not there, or that is not known any more."""

    @property
    def path(self) -> Path:
        """Where it is, as its host names it."""
        return self.file.path

    @property
    def action(self) -> str:
        """In a word, what becomes of it."""
        if self.before == self.after:
            return "unchanged"
        return "made" if self.before is None else "removed" if self.after is None else "changed"


def plan_install(host: Host, wiring: Wiring, files: list[FileEdits] | None = None) -> list[FileChange]:
    """What changes where a host is wired; nothing is written.

    Args:
        files: what is to stand in its files; the host's own edits unless given.

    Raises:
        InvalidValue: no configuration can hold the home's path.
        InvalidSettings: one of the files is not what its host reads.
    """
    wiring.check_path()
    files = host.file_edits(wiring) if files is None else files
    edited: list[tuple[FileEdits, bytes | None, bytes]] = []
    for file in files:  # first of all: it says what to add by hand
        before = _read(file)
        with naming_parse_errors(file):
            after = apply_edits(_text(before, file), file, host.name).encode("utf-8", "surrogateescape")
        edited.append((file, before, after))
    found_here = _calls_home(host, files, wiring)  # a home that was restored finds its own there, and has no record
    changes = []
    for file, before, after in edited:
        base = None if found_here and _holds_edits(_text(before, file), file, host, wiring) else before
        changes.append(FileChange(file=file, before=before, after=after, base=base))
    return changes


def _holds_edits(text: str, file: FileEdits, host: Host, wiring: Wiring) -> bool:
    try:
        return remove_edits(text, file, wiring, host.name, None) != text
    except ParseError:  # they cannot be taken out
        return True


def plan_uninstall(host: Host, wiring: Wiring, record: InstallRecord) -> list[FileChange]:
    """What changes where a host is unwired; nothing is written.

    Where its hooks call another home by now, or there is no record and they do not call this one, nothing does.

    Raises:
        InvalidSettings: one of the files is not what its host reads.
    """
    known, changes = record.hosts.get(host.name), []
    files = host.file_edits(wiring)
    calls = _calls_home(host, files, wiring)
    if calls is False or (calls is None and known is None):
        return []
    for path, kept in known.files.items() if known is not None else ():
        if not any(str(file.path) == path for file in files):  # its host reads another file by now
            edits = tuple(edit for file in files if file.format == kept.format for edit in file.edits)
            files.append(FileEdits(path=Path(path), format=kept.format, edits=edits))
    trusted = {} if known is None else known.trusted
    for file in with_trusted_hooks(files, trusted):
        before = _read(file)
        if before is not None:
            kept_file = None if known is None else known.files.get(str(file.path))
            after = _without_edits(before, file, host, wiring, kept_file, record)
            changes.append(FileChange(file=file, before=before, after=after))
    return changes


def plan_files(files: Iterable[FileEdits], contents: Mapping[Path, bytes] = MappingProxyType({})) -> list[FileChange]:
    """What changes where files are written that no install keeps a record of; nothing is written.

    Args:
        contents: what a file is to hold that is no text, by its path.

    Raises:
        InvalidSettings: one of the files cannot be read.
    """
    changes = []
    for file in files:
        before = _read(file)
        after = contents.get(file.path)
        if after is None:
            after = apply_edits(_text(before, file), file, "").encode("utf-8", "surrogateescape")
        changes.append(FileChange(file=file, before=before, after=after))
    return changes


def apply_install(
    host: Host,
    changes: list[FileChange],
    wiring: Wiring,
    record: InstallRecord,
    trusted: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Carry changes out, all or none; returns the name of each changed file's backup, by path.

    Args:
        trusted: the hooks that are marked as trusted, besides those that are.

    Raises:
        BadConfiguration: a file was written by somebody else meanwhile, or cannot be written.
        StoreReadOnly, DiskFull: the home or a file cannot be written.
    """
    known = record.hosts.get(host.name)
    places = {name: value for name, value in wiring.environment.items() if name in CONFIG_VARIABLES}
    now = HostInstall(
        wiring.mind,
        wiring.recall_prompts,
        places,
        allow=wiring.allow,
        without_failures=not wiring.recall_failures,
    )
    if known is not None:
        now.files, now.folders, now.trusted = dict(known.files), list(known.folders), dict(known.trusted)
    now.trusted |= trusted or {}
    made: list[str] = []
    for change in changes:
        if str(change.path) not in now.files:
            backup = "" if change.base is None else record.save_backup(host.name, change.path, change.base)
            now.files[str(change.path)] = InstalledFile(change.file.format, backup)
            made.append(backup)
        now.folders += [str(folder) for folder in change.path.parents if not folder.exists()]
    record.hosts[host.name] = now
    record.save()  # first: what is recorded and was not done is seen for what it is
    try:
        write_all(changes)
    except MnemicError:
        record.hosts.pop(host.name)
        if known is not None:
            record.hosts[host.name] = known
        _remove_folders(now.folders)
        record.save()
        for backup in filter(None, made):
            record.remove_backup(backup)
        raise
    changed = {str(change.path) for change in changes if change.action != "unchanged"}
    return {path: kept.backup for path, kept in now.files.items() if kept.backup and path in changed}


def apply_uninstall(host: Host, changes: list[FileChange], record: InstallRecord) -> dict[str, str]:
    """Take back what was changed, all or none; returns the backups that are kept, of files that others have changed.

    Raises:
        BadConfiguration: a file was written by somebody else meanwhile, or cannot be written.
        StoreReadOnly, DiskFull: the home or a file cannot be written.
    """
    write_all(changes)
    known = record.hosts.pop(host.name, None)
    record.save()
    if known is None:
        return {}
    _remove_folders(known.folders)
    backups = {path: kept.backup for path, kept in known.files.items() if kept.backup}
    for change in changes:
        backup = backups.get(str(change.path))
        if backup is not None and change.after == record.read_backup(backup):
            record.remove_backup(backups.pop(str(change.path)))
    return backups


def diff_of(change: FileChange) -> Iterator[str]:
    """A change as the lines of a unified diff."""
    old, new = (
        (one or b"").decode("utf-8", "backslashreplace").splitlines(keepends=True)
        for one in (change.before, change.after)
    )
    was, is_now = ("/dev/null" if one is None else str(change.path) for one in (change.before, change.after))
    for line in difflib.unified_diff(old, new, was, is_now, n=_CONTEXT_LINES):
        yield line.rstrip("\r\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def parts_of(change: FileChange, assistant: str) -> list[str]:
    """In a few words each, what of Mnemic's a change puts into a file, or takes out."""
    if change.action == "unchanged":
        return []
    before, after = (_text(content, change.file) for content in (change.before, change.after))
    return edit_summary(before, after, change.file, assistant)


def read_text(file: FileEdits) -> str | None:
    """A file's text; ``None`` where it is not there.

    Raises:
        InvalidSettings: it cannot be read.
    """
    content = _read(file)
    return None if content is None else _text(content, file)


def _calls_home(host: Host, files: Iterable[FileEdits], wiring: Wiring) -> bool | None:
    """Whether what is in a host's files calls this home, not another; ``None`` where nothing of Mnemic's is there."""
    calls = []
    for file in files:
        text = read_text(file)
        if text is None:
            continue
        if file.format == "whole" and "/bin/mnemic-hook" in text:
            calls.append(json.dumps(str(wiring.executable)) in text)
        with naming_parse_errors(file):
            calls += [calls_this_home(told, wiring) for _, told in hook_commands(text, file, host.name)]
            held = settings_in(text, file)
        members = [value_at(held, edit.path) for edit in file.edits if isinstance(edit, Member)]
        calls += [True for member in members if calls_this_home(member, wiring)]
    return any(calls) if calls else None


def _without_edits(
    before: bytes, file: FileEdits, host: Host, wiring: Wiring, kept: InstalledFile | None, record: InstallRecord
) -> bytes | None:
    """A file without what an install put there: as it was, where nobody has written to it since."""
    backup = record.read_backup(kept.backup) if kept is not None and kept.backup else None
    base = None if backup is None else _text(backup, file)
    with naming_parse_errors(file):
        text = remove_edits(_text(before, file), file, wiring, host.name, base)
    if base is not None and _without_space(text, file) == _without_space(base, file):
        return backup
    if not _without_space(text, file) and not (kept is not None and kept.backup):
        return None
    return text.encode("utf-8", "surrogateescape")


def _without_space(text: str, file: FileEdits) -> str:
    told = "".join(text.split())
    return "" if told == "{}" and file.format.startswith("json") else told


def _target(file: FileEdits) -> Path:
    """Where a file really lies, behind whatever link leads to it.

    Raises:
        InvalidValue: a link leads out of the folder that it must lie in.
    """
    target = Path(os.path.realpath(file.path))
    if file.inside is not None and not target.is_relative_to(os.path.realpath(file.inside)):
        why = f"a link leads to {target}, out of {file.inside}"
        raise InvalidValue(name="the file", value=str(file.path), why=why, expected="the path that you mean")
    return target


def _read(file: FileEdits) -> bytes | None:
    try:
        return read_regular(_target(file), MOST_SETTINGS_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _invalid(file, f"it cannot be read ({error.strerror})") from error


def _text(content: bytes | None, file: FileEdits) -> str:
    if content is None:
        return ""
    try:
        return content.decode("utf-8", "surrogateescape" if file.format in ("block", "whole") else "strict")
    except UnicodeDecodeError as error:
        raise _invalid(file, f"it is not UTF-8 from byte {error.start} on") from error


@contextmanager
def naming_parse_errors(file: FileEdits) -> Iterator[None]:
    """Say which file it is that is broken.

    Raises:
        InvalidSettings: what is done meanwhile raised `ParseError`.
    """
    try:
        yield
    except ParseError as error:
        raise _invalid(file, str(error)) from error


def _invalid(file: FileEdits, why: str) -> InvalidSettings:
    """What is said of a file that cannot be edited, wherever it is met."""
    what = {"toml": "TOML", "block": "text", "whole": "text"}.get(file.format, "JSON")
    return InvalidSettings(path=str(file.path), what=what, why=why)


def write_all(changes: Iterable[FileChange]) -> None:
    """Write every file that changes; where one cannot be written, those before it get their bytes back.

    Raises:
        BadConfiguration, DiskFull: all are as they were.
    """
    done: list[FileChange] = []
    try:
        for change in changes:
            if change.action != "unchanged":
                _write(change)
                done.append(change)
    except MnemicError:
        for change in reversed(done):
            _write(msgspec.structs.replace(change, before=change.after, after=change.before))
        raise


def _write(change: FileChange) -> None:
    """Replace a file by what it is to hold, unless it is not what it was any more.

    Raises:
        BadConfiguration, DiskFull: it is as it was.
    """
    if _read(change.file) != change.before:
        raise BadConfiguration(path=str(change.path), why="somebody else wrote to it at this very moment")
    target = _target(change.file)
    try:
        if change.after is None:
            change.path.unlink()
            return
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = stat.S_IMODE(target.stat().st_mode) if change.before is not None else 0o600
        replace_private(target, change.after, mode=mode)
    except OSError as error:
        failed = write_error(change.path, error)
        if isinstance(failed, StoreReadOnly):  # it is the user's own file that is named, not what is written beside it
            why, remedy = f"it cannot be written ({failed.operands['why']})", "Make it and its folder writable for you"
            raise BadConfiguration(path=str(change.path), why=why, remedy=remedy) from error
        raise failed from error


def _remove_folders(folders: Iterable[str]) -> None:
    """Remove folders that were made, the innermost first, where nothing else is in them by now."""
    for folder in sorted(set(folders), key=len, reverse=True):
        if os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)
