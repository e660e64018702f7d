"""Restores a backup as a new mind or in place of an existing one, atomically.

Below are `mnemic.runtime.transfer.backup`, which knows the form of a backup, and `mnemic.runtime.api.verbs`, which has
the mind for itself meanwhile; above are `mnemic.runtime.api.transfer` and the command line.
"""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from mnemic.actors.kernel.errors import (
    AlreadyThere,
    BackupLocked,
    BadPassphrase,
    DamagedStore,
    InvalidValue,
    KeyMismatch,
    KeyMissing,
    MindExists,
    MnemicError,
    NotABackup,
    SourceUnreadable,
    WrongPassphrase,
    WrongRecoveryKey,
)
from mnemic.actors.kernel.events import escape_surrogates
from mnemic.actors.transfer.changes import RecordBackup, Tombstone
from mnemic.runtime.api.verbs import exclusive_mind
from mnemic.runtime.capture.hook_files import installed_hook_files
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.files.atomic_replace import Draft, atomic_replace
from mnemic.runtime.keys.key_slots import (
    KeyHeader,
    has_other_key,
    is_locked,
    is_recovery_key,
    open_by_file,
    open_by_passphrase,
    open_by_recovery,
    parse_recovery_key,
    slot_of,
    with_slot,
)
from mnemic.runtime.keys.keys import Keys, generate_key, random_id, read_key, write_private
from mnemic.runtime.minds.homes import (
    MindFolder,
    create_atomically,
    ensure_spool,
    expand_home,
    mind_folder,
    open_mind,
    read_key_header,
    spool_config_bytes,
    write_key_header,
)
from mnemic.runtime.store.schema import check_schema, connect, remove_file, translate_errors
from mnemic.runtime.store.store import Store, TransactionMetadata
from mnemic.runtime.transfer.backup import BackupFile, open_backup, verify_store
from mnemic.runtime.transfer.orphans import Orphans, UnreadBackup, backups_to_orphan
from mnemic.runtime.version import __version__

_log = logging.getLogger("mnemic.runtime.api.restore")


class RestoreResult(msgspec.Struct, frozen=True, kw_only=True):
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
    hooked: bool
    """Whether what assistants' hooks start is in the home."""
    marks_lost: str | None = None
    """Why it is not known what was erased in the mind that was replaced, nor where copies of it are, if it is not."""
    orphaned: tuple[str, ...] = ()
    """Paths of the backups that only what opened the mind that was replaced opens."""
    unread: tuple[UnreadBackup, ...] = ()
    """Backups that cannot be looked into, and so may be like that too."""


class _OpenedBackup(msgspec.Struct, frozen=True, kw_only=True):
    """A backup that was opened, and what is to open the mind."""

    keys: Keys
    """Of the mind."""
    header: KeyHeader
    """What opens it from then on."""
    file: bytes | None
    """What its key file holds, if it has one."""
    new: bool
    """Whether that was made now."""


class _ReplacedState(msgspec.Struct, frozen=True, kw_only=True):
    """What the mind that is replaced knows, and its backup from before may not."""

    erased: frozenset[bytes] = frozenset()
    """What was erased, by the keyed hash of each."""
    copies: tuple[tuple[str, Literal["backup", "export"], int, int], ...] = ()
    """Which backups and exports were made: path, what, length, when."""


def restore(
    path: str | os.PathLike[str],
    home: str | os.PathLike[str],
    mind: str = "default",
    *,
    replace: bool = False,
    passphrase: str | None = None,
    key_file: str | os.PathLike[str] | None = None,
    known: str | None = None,
    agree: Callable[[Orphans], None] = lambda left: None,
    progress: Callable[[int, int | None], None] = lambda done, total: None,
) -> RestoreResult:
    """Make a mind of a backup: where there is none, or in the place of the one that is there.

    Without a passphrase or a key file, the key file that the mind has opens it.

    Args:
        replace: whether a mind of that name may go, with all that it holds.
        passphrase: of the backup, or of the mind as it was then; or its recovery key.
        key_file: a copy of the key file that the mind had then.
        known: what opens the mind that is there; tried for the backup where neither of these is given.
        agree: told of the backups that only what opens the mind that is there opens, or that cannot be looked into,
            where there are some, before anything is changed; what it raises leaves all as it was.

    Raises:
        AlreadyThere: there is such a mind, and it may not go.
        NotABackup, NewerSchema, DamagedStore: the file is no backup that can be read, or of another mind than the one
            that it would replace.
        SourceUnreadable: there is no such key file.
        BackupLocked, WrongPassphrase, WrongRecoveryKey, KeyMismatch: that does not open it.
        StoreError: it could not be written. Whatever is raised, what was there is as it was.
    """
    clock, source = SystemClock(), Path(os.path.abspath(Path(path).expanduser()))
    base = expand_home(Path(home))
    folder = mind_folder(base, mind)
    copy = None if key_file is None else Path(os.path.abspath(Path(key_file).expanduser()))
    if copy is not None and not copy.exists():
        raise SourceUnreadable(path=str(copy), why="there is no such file")
    with open_backup(source) as archive:
        there = folder.path.exists()
        if there and not replace:
            remedy = "Add --replace to put the backup in its place (what it holds now is lost), or name another --mind"
            raise AlreadyThere(path=str(folder.path), remedy=remedy)
        opened = _open_backup(archive, folder, passphrase, copy, known)
        if there and mind != archive.manifest.mind and has_other_key(folder.key_header, opened.keys):
            named = archive.manifest.mind
            raise NotABackup(
                path=str(source),
                why=f"it is of the mind {named!r}, and {mind!r}, which it would replace, is another one",
                remedy=f"Add --mind {named}, or a --mind that is not there; nothing was changed",
            )
        left = _backups_left(folder, opened, [None, known, passphrase]) if there else Orphans()
        if left.orphaned or left.unread:
            agree(left)
        told: list[tuple[int, tuple[bytes, ...]]] = []
        marks_lost = None

        def fill(into: MindFolder, since: _ReplacedState | None = None) -> None:
            archive.extract_store(into.store, opened.keys, progress)
            told.append(_complete_store(archive, into.store, opened.keys, since or _ReplacedState(), clock.now_us()))
            write_key_header(into, opened.header)
            if opened.file is not None:
                write_private(into.key, opened.file)

        def make(into: MindFolder) -> None:
            fill(into)
            if archive.pauses is not None:  # a mind that is there keeps its own
                write_private(into.pauses, archive.pauses)
            ensure_spool(into, opened.keys)

        if there:
            with exclusive_mind(base, mind, clock), atomic_replace(folder.path) as draft:
                into = MindFolder(draft.path)
                since, marks_lost = _read_replaced_state(folder, opened.keys, [None, known, passphrase])
                fill(into, since)
                write_private(into.spool_config, spool_config_bytes(opened.keys))
                _remove_obsolete(draft, folder, opened)
        else:
            try:
                create_atomically(base, mind, make)
            except MindExists:
                raise AlreadyThere(path=str(folder.path), remedy="It was made meanwhile: look at it first") from None
    memories, erased = told[-1]
    return RestoreResult(
        mind=mind,
        folder=str(folder.path),
        memories=memories,
        made_at=archive.manifest.made_at,
        replaced=there,
        key=None if opened.file is None else str(folder.key),
        new_key=opened.new,
        erased=erased,
        hooked=bool(installed_hook_files(base)),
        marks_lost=marks_lost,
        orphaned=left.orphaned,
        unread=left.unread,
    )


def _open_backup(
    archive: BackupFile, folder: MindFolder, said: str | None, copy: Path | None, known: str | None
) -> _OpenedBackup:
    """Open a backup, and say what is to open the mind.

    Args:
        said: a passphrase or a recovery key.
        copy: a copy of the mind's key file; that of the mind that is there will do.
        known: a passphrase or a recovery key, of the mind that is there.
    """
    header = archive.key_header
    if copy is not None or said is None:
        try:
            file = _read_key_file(archive, folder, copy)
        except BackupLocked as locked:
            if known is None:
                raise
            try:
                return _open_backup(archive, folder, known, None, None)
            except (WrongPassphrase, WrongRecoveryKey, InvalidValue):
                raise locked from None
        return _OpenedBackup(keys=open_by_file(header, file, copy or folder.key), header=header, file=file, new=False)
    keys = _open_by_secret(archive, folder, said)
    if is_locked(header):
        return _OpenedBackup(keys=keys, header=header, file=None, new=False)
    try:
        file = read_key(folder.key)
        open_by_file(header, file, folder.key)
    except (KeyMissing, KeyMismatch):  # that one is not here: another one opens the mind from now on
        file = generate_key()
        return _OpenedBackup(keys=keys, header=with_slot(header, keys, file=file), file=file, new=True)
    return _OpenedBackup(keys=keys, header=header, file=file, new=False)


def _read_key_file(archive: BackupFile, folder: MindFolder, copy: Path | None) -> bytes:
    """What opens a backup without a word."""
    if copy is not None:
        return read_key(copy)
    how = ["--key-file FILE (your copy of the key)"] if not is_locked(archive.key_header) else []
    how += ["--passphrase"] if archive.passphrase_header is not None or is_locked(archive.key_header) else []
    how += ["--recovery"] if slot_of(archive.key_header, "recovery") is not None else []
    locked = BackupLocked(path=str(archive.path), how=" or ".join(how))
    if is_locked(archive.key_header):
        raise locked
    try:
        file = read_key(folder.key)
        open_by_file(archive.key_header, file, folder.key)
    except (KeyMissing, KeyMismatch) as error:
        raise locked from error
    return file


def _open_by_secret(archive: BackupFile, folder: MindFolder, said: str) -> Keys:
    """Open a backup by a passphrase, its own or the mind's, or by the recovery key."""
    with _translated_to_backup(archive.path):
        return _try_secret(archive, folder, said)


def check_recovery_key(said: str, path: str | os.PathLike[str]) -> str:
    """A recovery key as it was typed.

    Args:
        path: the backup that it is to open.

    Raises:
        WrongRecoveryKey: there is a slip in it.
    """
    with _translated_to_backup(Path(path)):
        parse_recovery_key(said)
    return said


_OPENED_BY = "Say what opened the mind when it was made, or the backup's own; a copy of its key file opens it too"


@contextmanager
def _translated_to_backup(path: Path) -> Iterator[None]:
    """Say of the backup what the keyring says of a mind, which there may not be."""
    try:
        yield
    except WrongRecoveryKey as error:
        raise WrongRecoveryKey(what=f"the backup {path}", why=error.operands["why"], remedy=_OPENED_BY) from error
    except WrongPassphrase as error:
        raise WrongPassphrase(what=f"the backup {path}", remedy=_OPENED_BY) from error


def _try_secret(archive: BackupFile, folder: MindFolder, said: str) -> Keys:
    named = Path(folder.path.name) / "mind.json"  # for what is damaged
    if is_recovery_key(said) and slot_of(archive.key_header, "recovery") is not None:
        return open_by_recovery(archive.key_header, said, named)
    headers = [
        header
        for header in (archive.passphrase_header, archive.key_header)
        if header is not None and slot_of(header, "passphrase")
    ]
    if not headers:
        expected = "its recovery key, or --key-file"
        raise BadPassphrase(why="no passphrase opens this backup", expected=expected)
    for header in headers[:-1]:
        try:
            return open_by_passphrase(header, said, named)
        except WrongPassphrase:
            _log.debug("it is not the backup's own")
    return open_by_passphrase(headers[-1], said, named)


def _complete_store(
    archive: BackupFile, store: Path, keys: Keys, since: _ReplacedState, now: int
) -> tuple[int, tuple[bytes, ...]]:
    """Prove a store that was unpacked, and have it know of its backup, and of what was erased and copied since.

    Returns how many memories it holds, and the ids of those that were erased since and are there again.
    """
    path = str(archive.path)
    try:
        memories = verify_store(store, keys)
    except DamagedStore as error:
        raise NotABackup(path=path, why=f"the store in it is damaged: {error.operands['why']}") from error
    run = random_id()
    note = RecordBackup(path=escape_surrogates(path), what="backup", size_bytes=archive.path.stat().st_size)
    stamp = TransactionMetadata(machine=platform.node(), version=__version__)
    with closing(Store.open(store, keys, stamp)) as copy, copy.transaction() as (apply, connection):
        found: list[Any] = connection.execute("SELECT identity, uuid FROM memories").fetchall() if since.erased else []
        there = {identity: uuid for identity, uuid in found if identity in since.erased}
        marks = [Tombstone(identity=one) for one in sorted(since.erased - there.keys())]
        copies = set(connection.execute("SELECT path, what, size, at FROM backups").fetchall())
        for number, made in enumerate(one for one in since.copies if one not in copies):
            copied, what, size, at = made
            change = RecordBackup(path=copied, what=what, size_bytes=size)
            apply((change,), at=at, key=f"restore/{run}/{number}".encode(), author="restore", run=run)
        noted = any(one[:3] == (note.path, note.what, note.size_bytes) for one in since.copies)
        notes = () if noted else (note,)
        apply((*notes, *marks), at=now, key=f"restore/{run}".encode(), author="restore", run=run, also=(Tombstone,))
    for kept in store.parent.glob("store.schema-*.db"):  # of a migration: the backup is one
        remove_file(kept)
    return memories, tuple(there.values())


def _read_replaced_state(folder: MindFolder, keys: Keys, known: list[str | None]) -> tuple[_ReplacedState, str | None]:
    """What was erased in the mind that is about to be replaced, so that it is not kept again, and where copies of it
    are; or why nobody knows.

    Args:
        keys: those of the backup, which are often the same.
        known: what may open the mind.
    """
    try:
        if has_other_key(folder.key_header, keys):
            keys = _keys_of_replaced(folder, known)
        with closing(connect(folder.store, keys, alone=True)) as connection, translate_errors(folder.store):
            check_schema(connection, folder.store)
            erased: list[Any] = connection.execute("SELECT identity FROM erased").fetchall()
            copies: list[Any] = connection.execute("SELECT path, what, size, at FROM backups ORDER BY id").fetchall()
    except MnemicError as error:  # it is being replaced because it is damaged, perhaps, or it is another one's
        _log.warning("what was erased in %s is not known: %s", folder.path, error)
        return _ReplacedState(), str(error)
    return _ReplacedState(erased=frozenset(identity for (identity,) in erased), copies=tuple(copies)), None


def _backups_left(folder: MindFolder, opened: _OpenedBackup, known: list[str | None]) -> Orphans:
    """The backups that what opens a mind opens, and not what opens it once it is replaced; none that are known where
    it cannot be opened, which `RestoreResult.marks_lost` says.

    Args:
        known: what may open the mind.
    """
    try:
        keys = _keys_of_replaced(folder, known) if has_other_key(folder.key_header, opened.keys) else opened.keys
        return backups_to_orphan(folder, keys, read_key_header(folder), opened.header)
    except MnemicError as error:
        _log.warning("which backups %s leaves is not known: %s", folder.path, error)
        return Orphans()


def _keys_of_replaced(folder: MindFolder, known: list[str | None]) -> Keys:
    """The keys of the mind that is about to be replaced.

    Raises:
        MnemicError: why none of it opens that; as `open_mind` the first time.
    """
    home, mind = folder.path.parents[1], folder.path.name
    refused: MnemicError | None = None
    for said in known:
        try:
            return open_mind(home, mind, said)[1]
        except MnemicError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _remove_obsolete(draft: Draft, folder: MindFolder, opened: _OpenedBackup) -> None:
    """Have what belongs to the replaced mind alone go with it."""
    if opened.file is None:
        draft.remove(folder.key.name)
    for copy in folder.path.glob("store.schema-*.db"):
        draft.remove(copy.name)
