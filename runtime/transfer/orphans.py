"""Backups that nothing opens any more which opens their mind now, and those that would become so by another key.

A backup holds the card of its mind as it was, and what opened the mind then opens it. The store knows where backups
were written; one that is not there any more is passed over. Above are `mnemic.runtime.api.lock`, which asks before a
rekey, and `mnemic.runtime.doctor.mind`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from mnemic.actors.protocol.errors import MnemicError
from mnemic.runtime.keys.key_slots import KeyHeader, shares_slot
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder
from mnemic.runtime.store.schema import connect, translate_errors
from mnemic.runtime.transfer.backup import open_backup


def orphaned_backups(connection: apsw.Connection, card: KeyHeader) -> list[str]:
    """Paths of a mind's backups that neither what is on its card opens nor a passphrase of their own, ascending."""
    return [path for path, opened in _locked_backups(connection, card) if not shares_slot(opened, card)]


def backups_to_orphan(folder: MindFolder, keys: Keys, card: KeyHeader) -> list[str]:
    """Paths of the backups that what is on a mind's card opens, and that a rekey would leave without, ascending.

    Raises:
        StoreError: the store cannot be read.
    """
    with translate_errors(folder.store), closing(connect(folder.store, keys)) as connection:
        return [path for path, opened in _locked_backups(connection, card) if shares_slot(opened, card)]


def _locked_backups(connection: apsw.Connection, card: KeyHeader) -> Iterator[tuple[str, KeyHeader]]:
    """The backups of a mind that are where they were written and have no passphrase of their own, with their cards."""
    asked = "SELECT DISTINCT path FROM backups WHERE what = 'backup' ORDER BY path"
    paths: list[Any] = connection.execute(asked).fetchall()
    for (path,) in paths:
        opened = _card_of(Path(path))
        if opened is not None and opened.made_at_us == card.made_at_us:  # else another mind's lies there now
            yield path, opened


def _card_of(path: Path) -> KeyHeader | None:
    """What opens a backup; ``None`` where there is none that can be read, or its own passphrase opens it."""
    try:
        with open_backup(path) as backup:
            return None if backup.passphrase_header is not None else backup.key_header
    except MnemicError:  # moved, gone, or something else by now: no backup that a key could open
        return None
