"""Restoring: a backup put in the place of a mind, or made a mind where there is none. Whole, or not at all.

Below are `mnemic.runtime.archive`, which knows the form of a backup, and `mnemic.exclusive`, which has the mind for
itself meanwhile; above are `mnemic.moving` and the command line.
"""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from mnemic import __version__
from mnemic.actors.changes import Erased, RecordBackup
from mnemic.actors.errors import (
    AlreadyThere,
    BackupLocked,
    DamagedStore,
    InvalidValue,
    KeyMismatch,
    KeyMissing,
    MindExists,
    MnemicError,
    NotABackup,
    WrongPassphrase,
)
from mnemic.actors.events import printable
from mnemic.exclusive import exclusively
from mnemic.runtime.archive import Archive, check_store, opened_archive
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.homes import MindFolder, folder_of, make_spool, make_whole, open_mind, spool_card_bytes, write_card
from mnemic.runtime.keyring import (
    KeyCard,
    is_locked,
    is_recovery_key,
    open_by_file,
    open_by_passphrase,
    open_by_recovery,
    slot_of,
    with_slot,
)
from mnemic.runtime.keys import Keys, make_key, read_key, run_name, write_private
from mnemic.runtime.paths import expanded
from mnemic.runtime.schema import connect, remove_file, translated
from mnemic.runtime.store import Stamp, Store
from mnemic.runtime.swapping import Draft, replacing

__all__ = ["Restored", "restore"]

_log = logging.getLogger("mnemic.restoring")


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What a restored mind holds."""

    mind: str
    """Its name."""
    folder: str
    """Where it is."""
    memories: int
    """How many memories it holds."""
    made_at: int
    """When the backup was made, microseconds since 1970 UTC."""
    replaced: bool
    """Whether it took the place of another one."""
    key: str | None
    """The key file that opens it; ``None`` where its passphrase does."""
    new_key: bool
    """Whether that was made now."""
    erased: tuple[bytes, ...]
    """Ids of memories that were erased since the backup was made, and are there again."""


class _Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A backup that was opened, and what is to open the mind."""

    keys: Keys
    """Of the mind."""
    card: KeyCard
    """What opens it from then on."""
    file: bytes | None
    """What its key file holds, if it has one."""
    new: bool
    """Whether that was made now."""


def restore(
    path: str | os.PathLike[str],
    home: str | os.PathLike[str],
    mind: str = "default",
    *,
    replace: bool = False,
    passphrase: str | None = None,
    key_file: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int | None], None] = lambda done, total: None,
) -> Restored:
    """Make a mind of a backup: where there is none, or in the place of the one that is there.

    Without a passphrase or a key file, the key file that the mind has opens it.

    Args:
        replace: whether a mind of that name may go, with all that it holds.
        passphrase: of the backup, or of the mind as it was then; or its recovery key.
        key_file: a copy of the key file that the mind had then.

    Raises:
        AlreadyThere: there is such a mind, and it may not go.
        NotABackup, NewerSchema, DamagedStore: the file is no backup that can be read.
        BackupLocked, WrongPassphrase, WrongRecoveryKey, KeyMissing, KeyMismatch: that does not open it.
        StoreError: it could not be written. Whatever is raised, what was there is as it was.
    """
    clock, source = SystemClock(), Path(os.path.abspath(Path(path).expanduser()))
    base = expanded(Path(home))
    folder = folder_of(base, mind)
    there = folder.path.exists()
    if there and not replace:
        remedy = "Add --replace to put the backup in its place (what it holds now is lost), or name another --mind"
        raise AlreadyThere(path=str(folder.path), remedy=remedy)
    with opened_archive(source) as archive:
        copy = None if key_file is None else Path(os.path.abspath(Path(key_file).expanduser()))
        opened = _open(archive, folder, passphrase, copy)
        told: list[tuple[int, tuple[bytes, ...]]] = []

        def fill(into: MindFolder, erased: frozenset[bytes] = frozenset()) -> None:
            archive.unpack(into.store, progress)
            told.append(_settled(archive, into.store, opened.keys, erased, clock.now_us()))
            write_card(into, opened.card)
            if opened.file is not None:
                write_private(into.key, opened.file)

        def make(into: MindFolder) -> None:
            fill(into)
            if archive.pauses is not None:  # a mind that is there keeps its own
                write_private(into.pauses, archive.pauses)
            make_spool(into, opened.keys)

        if there:
            with exclusively(base, mind, clock), replacing(folder.path) as draft:
                into = MindFolder(draft.path)
                fill(into, _erased_here(base, mind))
                write_private(into.spool_card, spool_card_bytes(opened.keys))
                _remove_others(draft, folder, opened)
        else:
            try:
                make_whole(base, mind, make)
            except MindExists:
                raise AlreadyThere(path=str(folder.path), remedy="It was made meanwhile: look at it first") from None
    memories, erased = told[-1]
    return Restored(
        mind=mind,
        folder=str(folder.path),
        memories=memories,
        made_at=archive.card.made_at,
        replaced=there,
        key=None if opened.file is None else str(folder.key),
        new_key=opened.new,
        erased=erased,
    )


# --- what opens it ---------------------------------------------------------------------------------------------------


def _open(archive: Archive, folder: MindFolder, said: str | None, copy: Path | None) -> _Opened:
    """Open a backup, and say what is to open the mind.

    Args:
        said: a passphrase or a recovery key.
        copy: a copy of the mind's key file; that of the mind that is there will do.
    """
    card = archive.mind
    if copy is not None or said is None:
        file = _key_file(archive, folder, copy)
        return _Opened(keys=open_by_file(card, file, copy or folder.key), card=card, file=file, new=False)
    keys = _by_word(archive, folder, said)
    if is_locked(card):
        return _Opened(keys=keys, card=card, file=None, new=False)
    try:
        file = read_key(folder.key)
        open_by_file(card, file, folder.key)
    except (KeyMissing, KeyMismatch):  # that one is not here: another one opens the mind from now on
        file = make_key()
        return _Opened(keys=keys, card=with_slot(card, keys, file=file), file=file, new=True)
    return _Opened(keys=keys, card=card, file=file, new=False)


def _key_file(archive: Archive, folder: MindFolder, copy: Path | None) -> bytes:
    """What opens a backup without a word."""
    if copy is not None:
        return read_key(copy)
    how = ["--key-file FILE (your copy of the key)"] if not is_locked(archive.mind) else []
    how += ["--passphrase"] if archive.own is not None or is_locked(archive.mind) else []
    how += ["--recovery"] if slot_of(archive.mind, "recovery") is not None else []
    locked = BackupLocked(path=str(archive.path), how=" or ".join(how))
    if is_locked(archive.mind):
        raise locked
    try:
        file = read_key(folder.key)
        open_by_file(archive.mind, file, folder.key)
    except (KeyMissing, KeyMismatch) as error:
        raise locked from error
    return file


def _by_word(archive: Archive, folder: MindFolder, said: str) -> Keys:
    """Open a backup by a passphrase, its own or the mind's, or by the recovery key."""
    named = Path(folder.path.name) / "mind.json"  # the errors name the mind
    if is_recovery_key(said) and slot_of(archive.mind, "recovery") is not None:
        return open_by_recovery(archive.mind, said, named)
    cards = [card for card in (archive.own, archive.mind) if card is not None and slot_of(card, "passphrase")]
    if not cards:
        expected = "its recovery key, or --key-file"
        raise InvalidValue(name="the passphrase", value="this", why="the backup has none", expected=expected)
    for card in cards[:-1]:
        try:
            return open_by_passphrase(card, said, named)
        except WrongPassphrase:
            _log.debug("it is not the backup's own")
    return open_by_passphrase(cards[-1], said, named)


# --- what is in it ---------------------------------------------------------------------------------------------------


def _settled(
    archive: Archive, store: Path, keys: Keys, erased: frozenset[bytes], now: int
) -> tuple[int, tuple[bytes, ...]]:
    """Prove a store that was unpacked, and have it know of its backup, and of what was erased since.

    Returns how many memories it holds, and the ids of those that were erased since and are there again.
    """
    path = str(archive.path)
    try:
        memories = check_store(store, keys)
    except DamagedStore as error:
        raise NotABackup(path=path, why=f"the store in it is damaged: {error.operands['why']}") from error
    run = run_name()
    note = RecordBackup(path=printable(path), what="backup", size_bytes=archive.path.stat().st_size)
    stamp = Stamp(machine=platform.node(), code=__version__)
    with closing(Store.open(store, keys, stamp)) as copy, copy.together() as (apply, connection):
        found: list[Any] = connection.execute("SELECT identity, uuid FROM memories").fetchall() if erased else []
        there = {identity: uuid for identity, uuid in found if identity in erased}
        marks = [Erased(identity=one) for one in sorted(erased - there.keys())]
        apply((note, *marks), at=now, key=f"restore/{run}".encode(), author="restore", run=run, also=(Erased,))
    for kept in store.parent.glob("store.schema-*.db"):  # of a migration: the backup is one
        remove_file(kept)
    return memories, tuple(there.values())


def _erased_here(home: Path, mind: str) -> frozenset[bytes]:
    """What was erased in the mind that is about to be replaced, as far as that can be read: it is not kept again."""
    try:
        folder, keys = open_mind(home, mind)
        with closing(connect(folder.store, keys, alone=True)) as connection, translated(folder.store):
            has = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'erased'").get
            found: list[Any] = connection.execute("SELECT identity FROM erased").fetchall() if has else []
    except MnemicError as error:  # it is being replaced because it is damaged, perhaps, or it is another one's
        _log.warning("what was erased in %s is not known: %s", mind, error)
        return frozenset()
    return frozenset(identity for (identity,) in found)


def _remove_others(draft: Draft, folder: MindFolder, opened: _Opened) -> None:
    """Have what belongs to the replaced mind alone go with it."""
    if opened.file is None:
        draft.remove(folder.key.name)
    for copy in folder.path.glob("store.schema-*.db"):
        draft.remove(copy.name)
