"""Plans, shows as a diff, applies and undoes the changes to assistants' settings files.

A file is written whole or not at all, under its own mode, behind whatever link leads to it, and only if it is still
what the plan was made from. Taking back gives a file its bytes from before where nobody has written to it since, and
takes out only this home's entries where somebody has. Below stands `mnemic.hooks.wire.file_edits`; above are the host's
files and the command.
"""

from __future__ import annotations

import difflib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from mnemic.actors.protocol.errors import BadConfiguration, ConfigurationReadOnly, MnemicError, StoreReadOnly
from mnemic.hooks.wire.commands import Wiring
from mnemic.hooks.wire.edits import FileEdits, JsonDefault, UndoInfo, WholeFile
from mnemic.hooks.wire.file_edits import apply_edits, assumed_undo_info, belongs_to_home, remove_edits
from mnemic.hooks.wire.json_edits import ParseError
from mnemic.hooks.wire.record import HostInstall, InstalledFile, InstallRecord, digest
from mnemic.runtime.store.schema import write_error

__all__ = ["CONFIG_VARIABLES", "FileChange", "apply", "diff_of", "plan_install", "plan_uninstall", "read_text"]

_CONTEXT_LINES = 2


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one file."""

    path: Path
    """The file, as its host names it."""
    before: bytes | None
    """What is in it; ``None`` where it is not there."""
    after: bytes | None
    """What will be in it; ``None`` where it goes."""
    base: bytes | None = None
    """What it holds without this home's entries; ``None`` where it is not there without them. Only to install."""
    traces: UndoInfo | None = None
    """What it takes to take them out; ``None`` where that is known already."""

    @property
    def action(self) -> str:
        """In a word, what becomes of it."""
        if self.before == self.after:
            return "unchanged"
        return "made" if self.before is None else "removed" if self.after is None else "changed"


def plan_install(assistant: str, files: Iterable[FileEdits], wiring: Wiring, record: InstallRecord) -> list[FileChange]:
    """What changes where a host is wired; nothing is written.

    Where it is wired to this home already and the record does not say so, as in a home that was restored, what is there
    is taken for this home's, with a change that changes nothing.

    Raises:
        BadConfiguration: one of the files is not what its host reads.
    """
    known = record.hosts.get(assistant)
    changes, files = [], list(files)
    own = any(_is_own(file, wiring, assistant) for file in files)
    for file in files:
        before = _read(file.path)
        trace = known.files.get(str(file.path)) if known is not None else None
        if trace is None and own and before is not None:
            trace = _assumed_trace(before, file, wiring, assistant)
        adopts = trace is not None and (known is None or str(file.path) not in known.files)
        traces = UndoInfo() if trace is None else msgspec.json.decode(msgspec.json.encode(trace.traces), type=UndoInfo)
        with _parse_errors_name(file):
            text = apply_edits(_text(before, file), file, wiring, assistant, traces)
        after = _bytes(text)
        if before is not None and after == before and not adopts:
            changes.append(FileChange(path=file.path, before=before, after=after))
            continue
        base = None if before is None else _content_without_edits(before, file, wiring, assistant, trace, record)
        changes.append(FileChange(path=file.path, before=before, after=after, base=base, traces=traces))
    return changes


def plan_uninstall(
    assistant: str, files: Iterable[FileEdits], wiring: Wiring, record: InstallRecord
) -> list[FileChange]:
    """What changes where a host is unwired; nothing is written.

    Raises:
        BadConfiguration: one of the files is not what its host reads.
    """
    known = record.hosts.get(assistant)
    changes = []
    files = list(files)
    for file in [*files, *_orphaned_files(files, known)]:
        before = _read(file.path)
        if before is None:
            continue
        trace = known.files.get(str(file.path)) if known is not None else None
        after = _content_without_edits(before, file, wiring, assistant, trace, record)
        changes.append(FileChange(path=file.path, before=before, after=after))
    return changes


def apply(
    assistant: str, changes: Iterable[FileChange], wiring: Wiring, record: InstallRecord, *, install: bool
) -> list[tuple[Path, str]]:
    """Carry changes out, all or none; returns the files that were written, and the name of each one's backup.

    Raises:
        BadConfiguration: a file was written by somebody else meanwhile, or cannot be written.
        StoreReadOnly, DiskFull: the home or a file cannot be written.
    """
    known = record.hosts.get(assistant)
    done: list[FileChange] = []
    try:
        return _apply_changes(assistant, changes, wiring, record, done, install=install)
    except MnemicError:
        _roll_back(assistant, done, known, record)
        raise


def _apply_changes(
    assistant: str,
    changes: Iterable[FileChange],
    wiring: Wiring,
    record: InstallRecord,
    done: list[FileChange],
    *,
    install: bool,
) -> list[tuple[Path, str]]:
    host = record.hosts.get(assistant)
    places = {name: value for name, value in wiring.environment.items() if name in CONFIG_VARIABLES}
    if install:
        host = HostInstall(wiring.mind, wiring.recall_prompts, places, {} if host is None else dict(host.files))
        record.hosts[assistant] = host
    written = []
    for change in changes:
        if change.action == "unchanged":
            if install and host is not None and change.traces is not None:  # nothing is written, and it is known by now
                host.files[str(change.path)] = _file_trace(assistant, change, "", record, None)
            continue
        backup = "" if change.before is None else record.save_backup(assistant, change.path, change.before)
        if install and host is not None:
            known = host.files.get(str(change.path))
            host.files[str(change.path)] = _file_trace(assistant, change, backup, record, known)
            record.save()  # first: what is recorded and was not done is seen for what it is
        _write(change)
        done.append(change)
        written.append((change.path, backup))
    if not install:
        _remove_folders(
            folder for trace in (host.files.values() if host is not None else ()) for folder in trace.folders
        )
        record.hosts.pop(assistant, None)
    record.save()
    return written


def _roll_back(assistant: str, done: list[FileChange], known: HostInstall | None, record: InstallRecord) -> None:
    """Give the files that were written what was in them. Where one cannot have it, what is recorded tells of it."""
    for change in reversed(done):
        _write(FileChange(path=change.path, before=change.after, after=change.before))
    tried = record.hosts.pop(assistant, None)
    if known is not None:
        record.hosts[assistant] = known
    _remove_folders(folder for trace in (tried.files.values() if tried is not None else ()) for folder in trace.folders)
    record.save()


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


def read_text(file: FileEdits) -> str | None:
    """A file's text; ``None`` where it is not there.

    Raises:
        BadConfiguration: it cannot be read.
    """
    content = _read(file.path)
    return None if content is None else _text(content, file)


CONFIG_VARIABLES = ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
"""Variables that say where hosts have their configuration."""


# --- what a file held before -----------------------------------------------------------------------------------------


def _content_without_edits(
    before: bytes, file: FileEdits, wiring: Wiring, assistant: str, trace: InstalledFile | None, record: InstallRecord
) -> bytes | None:
    """A file without this home's entries: as it was, where nobody has written to it since."""
    if trace is not None and digest(before) == trace.after:
        if not trace.existed:
            return None
        kept = record.read_backup(trace.base)
        if kept is not None:
            return kept
    return _strip_edits(before, file, wiring, assistant, trace)


def _strip_edits(
    before: bytes, file: FileEdits, wiring: Wiring, assistant: str, trace: InstalledFile | None
) -> bytes | None:
    """A file without what is known to be this home's: by its record, or by a command that calls it."""
    if file.format == "whole":
        told = [
            edit.text.encode() for edit in file.edits if isinstance(edit, WholeFile) and not edit.same_for_all_homes
        ]
        return None if trace is not None or before in told else before
    if not before.strip() or (file.format == "text" and trace is None):
        return before
    traces = UndoInfo() if trace is None else trace.traces
    with _parse_errors_name(file):
        text = remove_edits(_text(before, file), file, wiring, assistant, traces)
    empty = not text.strip() or (file.format.startswith("json") and not text.strip(" \t\r\n{}"))
    if trace is not None and not trace.existed and empty:
        return None
    return _bytes(text)


def _is_own(file: FileEdits, wiring: Wiring, assistant: str) -> bool:
    before = _read(file.path)
    with _parse_errors_name(file):
        return before is not None and belongs_to_home(_text(before, file), file, wiring, assistant)


def _assumed_trace(before: bytes, file: FileEdits, wiring: Wiring, assistant: str) -> InstalledFile | None:
    """A trace of what is in a file though no record says so: a home that was restored finds its own there.

    ``None`` where nothing of it would be taken out.
    """
    if file.format == "whole" and before not in [
        edit.text.encode() for edit in file.edits if isinstance(edit, WholeFile)
    ]:
        return None
    trace = InstalledFile(existed=False, base="", after="", traces=assumed_undo_info(file, wiring, assistant))
    without = _strip_edits(before, file, wiring, assistant, trace)
    if without is not None:  # a default that stands among what is its user's is left there
        lone = [list(edit.path) for edit in file.edits if isinstance(edit, JsonDefault) and not edit.needed_by]
        trace.traces.made = [way for way in trace.traces.made if way not in lone]
        without = _strip_edits(before, file, wiring, assistant, trace)
    return None if without == before else trace


def _orphaned_files(files: Iterable[FileEdits], known: HostInstall | None) -> Iterator[FileEdits]:
    """Files that were changed, and would not be any more: another file holds instructions or settings by now."""
    now = {str(file.path) for file in files}
    for path in known.files if known is not None else ():
        kind = {".md": "text", ".toml": "toml", ".js": "whole"}.get(Path(path).suffix)
        alike = [file for file in files if kind is None and file.format.startswith("json")]
        if path not in now and kind is not None:
            yield FileEdits(path=Path(path), format=kind, edits=())  # type: ignore[arg-type]
        elif path not in now and alike:
            edits = tuple(edit for file in alike for edit in file.edits)
            yield FileEdits(
                path=Path(path), format="json5-commas", edits=edits, substitution_chars=alike[0].substitution_chars
            )


# --- files -----------------------------------------------------------------------------------------------------------


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadConfiguration(path=str(path), why=f"it cannot be read ({error.strerror})") from error


def _text(content: bytes | None, file: FileEdits) -> str:
    if content is None:
        return ""
    if file.format in ("text", "whole"):
        return content.decode("utf-8", "surrogateescape")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadConfiguration(path=str(file.path), why=f"it is not UTF-8 from byte {error.start} on") from error


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@contextmanager
def _parse_errors_name(file: FileEdits) -> Iterator[None]:
    """Say which file it is that is broken."""
    try:
        yield
    except ParseError as error:
        what = "TOML" if file.format == "toml" else "JSON"
        why = f"it cannot be read as {what} ({error})"
        raise BadConfiguration(path=str(file.path), why=why) from error


def _file_trace(
    assistant: str, change: FileChange, backup: str, record: InstallRecord, before: InstalledFile | None
) -> InstalledFile:
    assert change.after is not None
    assert change.traces is not None
    base = backup
    if change.base is not None and change.base != change.before:
        known = before is not None and before.base and record.read_backup(before.base) == change.base
        base = before.base if known and before else record.save_backup(assistant, change.path, change.base, ".without")
    folders = [] if before is None else before.folders
    missing = [str(folder) for folder in change.path.parents if not folder.exists()]
    return InstalledFile(
        existed=change.base is not None,
        base=base if change.base is not None else "",
        after=digest(change.after),
        traces=change.traces,
        folders=[*folders, *reversed(missing)],
    )


def _write(change: FileChange) -> None:
    """Replace a file by what it is to hold, unless it is not what it was any more.

    Raises:
        BadConfiguration, DiskFull: it is as it was.
    """
    if _read(change.path) != change.before:
        raise BadConfiguration(path=str(change.path), why="somebody else wrote to it at this very moment")
    target = Path(os.path.realpath(change.path))
    try:
        if change.after is None:
            change.path.unlink()
            return
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = stat.S_IMODE(target.stat().st_mode) if change.before is not None else 0o600
        descriptor, draft = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(change.after)
                file.flush()
                os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
            os.replace(draft, target)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as error:
        failed = write_error(change.path, error)
        if isinstance(failed, StoreReadOnly):  # it is the user's own file that is named, not what is written beside it
            raise ConfigurationReadOnly(path=str(change.path), why=failed.operands["why"]) from error
        raise failed from error


def _remove_folders(folders: Iterable[str]) -> None:
    """Remove folders that were made, the innermost first, where nothing else is in them by now."""
    for folder in sorted(set(folders), key=len, reverse=True):
        if os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)
