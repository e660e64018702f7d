"""Rekeying: re-encrypting a mind with a new root key, atomically.

The store is copied page by page into a draft that is sealed with the new keys; the draft takes the mind's place by one
rename (`mnemic.runtime.files.atomic_replace`). Frames that a hook seals meanwhile still open: the new secrets hold the
spool's key from before. Above stands `mnemic.runtime.api.lock`, which holds the mind alone meanwhile.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from mnemic.actors.kernel.errors import DamagedStore, Rekeyed
from mnemic.runtime.files.atomic_replace import atomic_replace
from mnemic.runtime.keys.key_slots import KeyHeader, new_key_header, with_slot
from mnemic.runtime.keys.keys import Keys, generate_key, write_private
from mnemic.runtime.minds.homes import MindFolder, read_key_header, spool_config_bytes, write_key_header
from mnemic.runtime.store.schema import connect, copy_database, translate_errors


def rekey_mind(folder: MindFolder, keys: Keys, *, passphrase: str | None = None, recovery: bytes | None = None) -> Keys:
    """Give a mind a new root, and seal all of it with that; returns the new keys. The caller holds the mind alone.

    Args:
        keys: those of now.
        passphrase: what locks it from then on; a new key file opens it where absent.
        recovery: opens it as well, 32 bytes. What opened it before opens it no more.

    Raises:
        Rekeyed: it has another key by now.
        DamagedStore: the store cannot be read to its end; the mind is as it was.
        DiskFull, StoreReadOnly: so is it where it cannot be written.
    """
    new = keys.with_new_root()
    file = generate_key() if passphrase is None else None
    with atomic_replace(folder.path) as draft:
        into = MindFolder(draft.path)
        for name in _store_files(folder):
            _copy_and_verify(folder.path / name, keys, into.path / name, new)
        header = new_key_header(
            new, read_key_header(folder).made_at_us, file=file, passphrase=passphrase, recovery=recovery
        )
        write_key_header(into, header)
        write_private(into.spool_config, spool_config_bytes(new))
        if file is None:
            draft.remove(folder.key.name)
        else:
            write_private(into.key, file)
    return new


def replace_key_file(folder: MindFolder, keys: Keys) -> None:
    """Give a mind a new key file, in place of one that was lost; nothing else changes. The caller holds it alone.

    Raises:
        Rekeyed: it has another key by now.
        DamagedStore: its key header cannot be read.
        DiskFull, StoreReadOnly: it cannot be written; the mind is as it was.
    """
    header, file = _header_of(folder, keys), generate_key()
    with atomic_replace(folder.path) as draft:
        into = MindFolder(draft.path)
        write_key_header(into, with_slot(header, keys, file=file))
        write_private(into.key, file)


def add_recovery_slot(folder: MindFolder, keys: Keys, recovery: bytes) -> None:
    """Have a recovery key, 32 bytes, open a mind too; what opens it goes on opening it. The caller holds it alone.

    Raises: as `replace_key_file`.
    """
    with atomic_replace(folder.path) as draft:
        write_key_header(MindFolder(draft.path), with_slot(_header_of(folder, keys), keys, recovery=recovery))


def _header_of(folder: MindFolder, keys: Keys) -> KeyHeader:
    header = read_key_header(folder)
    if header.check != keys.check:  # a slot that seals the keys of before would open nothing
        raise Rekeyed(path=str(folder.path))
    return header


def _store_files(folder: MindFolder) -> list[str]:
    """The store, and what migrations have kept of it."""
    return [folder.store.name, *sorted(path.name for path in folder.path.glob("store.schema-*.db"))]


def _copy_and_verify(source: Path, keys: Keys, target: Path, new: Keys) -> None:
    with translate_errors(source), closing(connect(source, keys, alone=True)) as connection:
        copy_database(connection, target, new)
        pages = connection.execute("PRAGMA page_count").get
    with (
        translate_errors(target),
        closing(connect(target, new, alone=True)) as copy,
    ):  # every page opens with the new key
        fault = copy.execute("PRAGMA quick_check(1)").get
        if fault != "ok" or copy.execute("PRAGMA page_count").get != pages:
            raise DamagedStore(path=str(source), why="not every page of it can be read")
