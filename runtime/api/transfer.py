"""Verbs of a mind for backup, restore, export and import.

Verbs of `mnemic.runtime.api.mind.Mind`, and `restore`, which works without a mind. Below are
`mnemic.runtime.transfer.backup`, `mnemic.runtime.transfer.export` and `mnemic.runtime.transfer.import_memories`, which
know the forms.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from mnemic.actors.kernel.errors import (
    AlreadyThere,
    InvalidValue,
    MindLocked,
    MnemicError,
    WrongPassphrase,
    WrongRecoveryKey,
)
from mnemic.actors.kernel.events import escape_surrogates
from mnemic.actors.store.messages import NoteBackup
from mnemic.runtime.api.capture import CaptureVerbs
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.keys.keys import random_id
from mnemic.runtime.version import __version__

if TYPE_CHECKING:
    from mnemic.runtime.api.restore import RestoreResult
    from mnemic.runtime.transfer.import_history import ImportReport

Progress = Callable[[int, int | None], None]
"""Told how much is done, and how much there is."""

_STORE_FILE = "store.db"


class CopyResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup or an export holds."""

    path: str
    """Where it is, absolute."""
    memories: int
    """How many memories it holds; of a backup counted in the finished file."""
    size_bytes: int
    """How long it is, all its files together."""
    behind: tuple[str, ...] = ()
    """Why what hooks kept is not in it, where it is not."""


class TransferVerbs(CaptureVerbs):
    """The verbs."""

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        passphrase: str | None = None,
        replace: bool = False,
        progress: Progress = lambda done, total: None,
    ) -> CopyResult:
        """Write a sealed copy of the mind into one file, while it is used, and prove it by opening it.

        What opens the mind opens the backup: its key file, its passphrase, its recovery key.

        Args:
            passphrase: opens the backup too.
            replace: whether a file of that name may go.

        Raises:
            AlreadyThere: there is a file of that name.
            InvalidValue: it would lie among the minds' own files or in no folder, or the passphrase is too short.
            StoreError: it could not be written whole; what was there is there still.
            MindLocked: nobody says what opens the mind.
        """
        from mnemic.runtime.keys.key_slots import check_passphrase
        from mnemic.runtime.transfer.backup import write_backup

        target = self._outside_target(path)
        if target.is_dir() or (os.path.lexists(target) and not replace):
            remedy = "Name a file" if target.is_dir() else "Name another file, or say --replace"
            raise AlreadyThere(path=str(target), remedy=remedy)
        if passphrase is not None:
            check_passphrase(passphrase)
        behind = self._drain_first()
        folder, keys = self._keys()
        memories = write_backup(
            target,
            folder,
            keys,
            mind=self._name,
            mnemic=__version__,
            made_at=SystemClock().now_us(),
            passphrase=passphrase,
            progress=progress,
        )
        size = target.stat().st_size
        self._note_backup(target, "backup", size)
        return CopyResult(path=str(target), memories=memories, size_bytes=size, behind=behind)

    def restore(
        self,
        path: str | os.PathLike[str],
        *,
        replace: bool = False,
        passphrase: str | None = None,
        key_file: str | os.PathLike[str] | None = None,
        progress: Progress = lambda done, total: None,
    ) -> RestoreResult:
        """Put a backup in the place of this mind; see `mnemic.runtime.api.restore.restore`.

        What opened this mind is tried for the backup too.

        Raises:
            MindLocked: it is restored, and nobody here knows the passphrase that opens it.
        """
        from mnemic.runtime.api.restore import restore

        own = self._reopen is not None
        if own:
            self.actor_system.stop()
        try:
            restored = restore(
                path,
                self._home,
                self._name,
                replace=replace,
                passphrase=passphrase,
                key_file=key_file,
                known=self._passphrase,
                progress=progress,
            )
            known = (passphrase, self._passphrase) if restored.key is None else ()
            self._passphrase = next((said for said in known if self._passphrase_opens(said)), None)
            return restored
        finally:
            if self._reopen is not None:
                self.actor_system = self._reopen(self._passphrase)

    def export(self, path: str | os.PathLike[str], *, progress: Progress = lambda done, total: None) -> CopyResult:
        """Write everything of the mind that cannot be rebuilt into a folder, as JSON Lines, in clear.

        Raises:
            AlreadyThere: the folder holds something.
            InvalidValue: it would lie among the minds' own files, or in no folder.
            StoreError: it could not be written, and is not there.
            MindLocked: nobody says what opens the mind.
        """
        from contextlib import closing

        from mnemic.runtime.store.schema import connect
        from mnemic.runtime.transfer.export import export_to

        target = self._outside_target(path)
        behind = self._drain_first()
        folder, keys = self._keys()
        with closing(connect(folder.store, keys)) as connection:
            manifest = export_to(
                connection,
                folder.store,
                keys,
                target,
                mind=self._name,
                mnemic=__version__,
                made_at=SystemClock().now_us(),
                progress=progress,
            )
        size = sum(sheet.size_bytes for sheet in manifest.files.values())
        self._note_backup(target, "export", size)
        memories = manifest.files["memories.jsonl"].lines
        return CopyResult(path=str(target), memories=memories, size_bytes=size, behind=behind)

    def import_from(
        self, path: str | os.PathLike[str], *, progress: Progress = lambda done, total: None
    ) -> ImportReport:
        """Take in what this or another mind exported: whole, or not at all. Twice is once, and two minds become one.

        Raises:
            NotAnExport: it is none, or not as it was written; nothing was changed.
            StoreError: nothing was changed.
            MindLocked: nobody says what opens the mind.
        """
        from contextlib import closing

        from mnemic.runtime.files.atomic_replace import atomic_replace
        from mnemic.runtime.store.schema import connect, copy_database
        from mnemic.runtime.store.store import Store, TransactionMetadata
        from mnemic.runtime.transfer.export_source import ExportSource
        from mnemic.runtime.transfer.import_memories import import_into

        source = ExportSource.open(_absolute(path))
        _, keys = self._keys()  # asked for while others can still work
        stamp = TransactionMetadata(machine=platform.node(), version=__version__)
        with self._exclusive_mind() as folder, atomic_replace(folder.path) as draft:
            store = draft.path / _STORE_FILE
            with closing(connect(folder.store, keys, alone=True)) as connection:
                copy_database(connection, store, keys)
            with closing(Store.open(store, keys, stamp)) as copy:
                imported = import_into(
                    copy, source, keys, run=random_id(), now=SystemClock().now_us(), progress=progress
                )
        if imported.new:
            self.embed_in_background()  # there is something to embed
        return imported

    def _drain_first(self) -> tuple[str, ...]:
        """Have what hooks kept taken in first; where that cannot be, say why, and go on with what is there."""
        try:
            self.drain_spool(transcripts=False)
        except MnemicError as error:
            return (f"what hooks kept could not be taken in: {error} {error.remedy_text}",)
        return ()

    def _outside_target(self, path: str | os.PathLike[str]) -> Path:
        """Where a copy is to be: not where it could take the place of a mind's own file, or be taken for one."""
        target = _absolute(path)
        if Path(os.path.realpath(target)).is_relative_to(os.path.realpath(self._home / "minds")):
            why = "the minds have their own files there"
            raise InvalidValue(name="path", value=str(target), why=why, expected="one elsewhere")
        if not target.parent.is_dir():
            why, expected = f"there is no folder {target.parent}", "a path in a folder that is there, or make that one"
            raise InvalidValue(name="path", value=str(target), why=why, expected=expected)
        return target

    def _passphrase_opens(self, said: str | None) -> bool:
        """Whether a passphrase opens the mind that is there now; that of a backup alone does not."""
        from mnemic.runtime.minds.homes import open_mind

        try:
            open_mind(self._home, self._name, said)
        except (MindLocked, WrongPassphrase, WrongRecoveryKey):
            return False
        return True

    def _note_backup(self, path: Path, what: Literal["backup", "export"], size: int) -> None:
        self._ask(NoteBackup(path=escape_surrogates(str(path)), what=what, size_bytes=size))


def _absolute(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.abspath(Path(path).expanduser()))
