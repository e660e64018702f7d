"""Backups that nothing opens any more which opens their mind now, and those that would become so by another key.

A backup holds the key header of its mind as it was, and what opened the mind then opens it. The store knows where
backups were written; one that is not there any more is passed over, and one that cannot be looked into is named.
Above are `mnemic.runtime.api.lock` and `mnemic.runtime.api.restore`, of which the command line asks before, and
`mnemic.runtime.doctor.backups`.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import msgspec

from mnemic.actors.kernel.errors import MnemicError, NotABackup
from mnemic.runtime.keys.key_slots import KeyHeader, opens_all_of, shares_slot
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder
from mnemic.runtime.store.schema import connect, translate_errors
from mnemic.runtime.transfer.backup import open_backup

_NO_BACKUP_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EINVAL)
"""What opening a file says where there is none, or a folder or a pipe."""


class UnreadBackup(msgspec.Struct, frozen=True, kw_only=True):
    """A backup of which nobody can say what opens it."""

    path: str
    """Where it was written."""
    why: str
    """Why it cannot be looked into."""


class Orphans(msgspec.Struct, frozen=True, kw_only=True):
    """Backups of a mind that nothing opens which opens it; of each kind by path, ascending."""

    orphaned: tuple[str, ...] = ()
    """Their paths."""
    unread: tuple[UnreadBackup, ...] = ()
    """Those that may be orphans, and cannot be looked into."""


def orphaned_backups(connection: apsw.Connection, header: KeyHeader) -> Orphans:
    """A mind's backups that neither what is on its key header opens nor a passphrase of their own."""
    return _backups_where(connection, header, lambda opened: not shares_slot(opened, header))


def backups_to_orphan(folder: MindFolder, keys: Keys, header: KeyHeader, after: KeyHeader | None = None) -> Orphans:
    """Backups that a mind's key header opens now, and that nothing would open which opens the mind afterwards.

    Args:
        after: what opens it then; nothing of what opens it now where absent, as after a rekey.

    Raises:
        StoreError: the store cannot be read.
    """
    if after is not None and opens_all_of(after, header):
        return Orphans()

    def is_left(opened: KeyHeader) -> bool:
        return shares_slot(opened, header) and (after is None or not shares_slot(opened, after))

    with translate_errors(folder.store), closing(connect(folder.store, keys)) as connection:
        return _backups_where(connection, header, is_left)


def _backups_where(connection: apsw.Connection, header: KeyHeader, holds: Callable[[KeyHeader], bool]) -> Orphans:
    """Backups of a mind without a passphrase of their own of whose key header something holds, where they were written.

    Args:
        header: of the mind.
    """
    asked = "SELECT DISTINCT path FROM backups WHERE what = 'backup' ORDER BY path"
    paths: list[Any] = connection.execute(asked).fetchall()
    orphaned: list[str] = []
    unread: list[UnreadBackup] = []
    for (path,) in paths:
        try:
            opened = _header_of(Path(path))
        except MnemicError as error:
            unread.append(UnreadBackup(path=path, why=str(error.operands.get("why", error))))
            continue
        if opened is not None and opened.made_at_us == header.made_at_us and holds(opened):  # else it is another mind's
            orphaned.append(path)
    return Orphans(orphaned=tuple(orphaned), unread=tuple(unread))


def _header_of(path: Path) -> KeyHeader | None:
    """What opens a backup; ``None`` where there is none, or its own passphrase opens it.

    Raises:
        NotABackup, DiskFailed: it cannot be read just now.
        NewerSchema: a newer version made it.
    """
    try:
        with open_backup(path) as backup:
            return None if backup.passphrase_header is not None else backup.key_header
    except NotABackup as error:
        cause = error.__cause__
        if not isinstance(cause, OSError) or cause.errno in _NO_BACKUP_THERE:  # moved, gone, or something else by now
            return None
        raise
