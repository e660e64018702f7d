"""Carrying out the changes that say which backups and exports were made: what is erased later is still in them.

Below `mnemic.runtime.carry_capture`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw

from mnemic.actors.changes import DropBackup, RecordBackup
from mnemic.runtime.carry_spool import Carried

__all__ = ["COPY_TABLES", "CopyCarrier"]


COPY_TABLES = ("backups",)
"""What is written here alone; it can be made again from the log."""


class CopyCarrier:
    """Carries out changes on a connection, within a transaction that the caller holds."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection
        self.hands: dict[type, Callable[[Any, int], Carried]] = {
            RecordBackup: self._record_backup,
            DropBackup: self._drop_backup,
        }

    def _record_backup(self, change: RecordBackup, at: int) -> Carried:
        self._db.execute(
            "INSERT INTO backups(path, what, size, at) VALUES(?, ?, ?, ?)",
            (change.path, change.what, change.size_bytes, at),
        )
        return None, DropBackup(), True, None

    def _drop_backup(self, change: DropBackup, at: int) -> Carried:
        self._db.execute("DELETE FROM backups WHERE id = (SELECT max(id) FROM backups)")
        return None, None, True, None
