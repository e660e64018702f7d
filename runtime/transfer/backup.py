"""Backups: one ZIP file with the encrypted store and its key header, verified by opening it before it is kept.

The file is a ZIP archive whose entries are not compressed (what is sealed cannot be): ``backup.json`` says what it is,
``mind.json`` is the mind's key header, ``passphrase.json``, where there is one, a key header whose passphrase opens the
same, ``pauses`` says when nothing was to be captured, and ``store.db`` is the store, sealed as it lay in its home. The
archive's comment is a keyed hash of all bytes before it, so that nothing of it can be altered, added or left out.
Above stands `mnemic.runtime.api.transfer`; docs/backup.md describes the form.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import apsw
import msgspec

from mnemic.actors.kernel.errors import DamagedStore, DiskFailed, NewerSchema, NotABackup
from mnemic.actors.kernel.typed import convert
from mnemic.runtime.files.atomic_replace import fsync_path, write_error
from mnemic.runtime.files.foreign import bounded_reads, open_regular
from mnemic.runtime.keys.key_slots import KeyHeader, key_header_bytes, new_key_header, parse_key_header
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, read_key_header
from mnemic.runtime.store.schema import (
    LATEST_SCHEMA,
    check_schema,
    connect,
    copy_database,
    create_file,
    remove_file,
    translate_errors,
)

FORMAT = "mnemic-backup"
VERSION = 1
_MANIFEST = "backup.json"
_MIND = "mind.json"
_PASSPHRASE = "passphrase.json"
_PAUSES = "pauses"
_STORE = "store.db"
_FINISHED_NAME = "backup"  # the finished file, before it has its name
_CHUNK_BYTES = 1 << 20
_SEAL_BYTES = 64  # a SHA-256 in hexadecimal
_FIXED_TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # when it was made is said in backup.json

Progress = Callable[[int, int | None], None]
"""Told how many bytes are done, and how many there are."""


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    """``backup.json``: what can be known of a backup without its key."""

    format: str
    """``mnemic-backup``."""
    version: int
    """Of the form; a version that a program does not know is not read by it."""
    mnemic: str
    """Version of the program that wrote it."""
    made_at: int
    """When, microseconds since 1970 UTC."""
    mind: str
    """Name of the mind."""
    schema: int
    """The store's."""
    store_bytes: int
    """How long the store is."""
    store_sha256: str
    """Of its bytes, sealed as they are; hexadecimal."""


class BackupFile(NamedTuple):
    """A backup, open for reading."""

    path: Path
    """Where it is."""
    file: BinaryIO
    """Its bytes."""
    archive: zipfile.ZipFile
    """Its entries."""
    manifest: BackupManifest
    """What it says of itself."""
    key_header: KeyHeader
    """What opens the mind, and so the backup."""
    passphrase_header: KeyHeader | None
    """What opens the backup alone: its passphrase."""
    pauses: bytes | None
    """When the mind captured nothing, as its file said; ``None`` where it never paused."""

    def extract_store(self, target: Path, keys: Keys, progress: Progress = lambda done, total: None) -> None:
        """Write the store into a new file, if the backup is in every byte as it was written with these keys.

        Raises:
            NotABackup: it is not what was backed up.
            MindExists: there is a file of that name.
            DiskFull, StoreReadOnly: it cannot be written.
        """
        with _read_as_backup(self.path):
            self.file.seek(-_SEAL_BYTES, os.SEEK_END)
            found = self.file.read(_SEAL_BYTES)
            if not hmac.compare_digest(found, _seal(self.file, self.file.tell() - _SEAL_BYTES, keys)):
                raise NotABackup(path=str(self.path), why="it was altered since it was written")
        create_file(target)
        digest, done = hashlib.sha256(), 0
        try:
            with _opened(self.path, self.archive, _STORE) as entry, target.open("r+b") as file:
                while chunk := _read(self.path, entry):
                    try:
                        file.write(chunk)
                    except OSError as error:
                        raise write_error(target, error) from error
                    digest.update(chunk)
                    done += len(chunk)
                    progress(done, self.manifest.store_bytes)
            if digest.hexdigest() != self.manifest.store_sha256:
                raise NotABackup(path=str(self.path), why="the store in it was altered")
        except BaseException:
            remove_file(target)
            raise


def write_backup(
    path: Path,
    folder: MindFolder,
    keys: Keys,
    *,
    mind: str,
    mnemic: str,
    made_at: int,
    passphrase: str | None = None,
    progress: Progress = lambda done, total: None,
) -> int:
    """Back up a mind into one file, in place of what was there; others may write to it meanwhile.

    Args:
        mind: its name, and `mnemic`, the version of the program, for whoever finds the file.
        passphrase: opens the backup, beside what opens the mind.

    Returns how many memories are in it, counted in the finished file.

    Raises:
        DiskFull, StoreReadOnly: it cannot be written; what was there is there still.
        DamagedStore: the store cannot be read to its end, or what was written does not open.
    """
    draft = path.with_name(f".{path.name}.part")
    try:
        shutil.rmtree(draft, ignore_errors=True)  # of one that was killed
        draft.mkdir(mode=0o700)
        try:
            with closing(connect(folder.store, keys)) as connection:  # held: the key is not changed meanwhile
                mind_header = read_key_header(folder)
                with translate_errors(folder.store):
                    copy_database(connection, draft / _STORE, keys)
            pauses = folder.pauses.read_bytes() if folder.pauses.exists() else None
            _pack(draft, mind_header, pauses, keys, mind, mnemic, made_at, passphrase, progress)
            (draft / _STORE).unlink()
            memories = _verify_backup(draft / _FINISHED_NAME, keys, draft / _STORE)
            os.replace(draft / _FINISHED_NAME, path)
            fsync_path(path.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise write_error(path, error) from error
    return memories


def _pack(
    draft: Path,
    mind_header: KeyHeader,
    pauses: bytes | None,
    keys: Keys,
    mind: str,
    mnemic: str,
    made_at: int,
    passphrase: str | None,
    progress: Progress,
) -> None:
    """Put all into one file."""
    store = draft / _STORE
    with closing(connect(store, keys, alone=True)) as copy, translate_errors(store):
        schema = check_schema(copy, store)
    create_file(draft / _FINISHED_NAME)
    size = store.stat().st_size
    with (draft / _FINISHED_NAME).open("r+b") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            archive.comment = bytes(_SEAL_BYTES)  # the place of the seal
            digest = _pack_store(archive, store, size, progress)
            manifest = BackupManifest(
                format=FORMAT,
                version=VERSION,
                mnemic=mnemic,
                made_at=made_at,
                mind=mind,
                schema=schema,
                store_bytes=size,
                store_sha256=digest,
            )
            _write_entry(archive, _MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
            _write_entry(archive, _MIND, key_header_bytes(mind_header))
            if pauses is not None:
                _write_entry(archive, _PAUSES, pauses)
            if passphrase is not None:
                own = new_key_header(keys, mind_header.made_at_us, passphrase=passphrase)
                _write_entry(archive, _PASSPHRASE, key_header_bytes(own))
        length = file.seek(-_SEAL_BYTES, os.SEEK_END)
        seal = _seal(file, length, keys)
        file.seek(length)
        file.write(seal)
        file.flush()
        os.fsync(file.fileno())


def _pack_store(archive: zipfile.ZipFile, store: Path, size: int, progress: Progress) -> str:
    digest, done = hashlib.sha256(), 0
    entry = _zip_entry(_STORE)
    entry.file_size = size
    with store.open("rb") as source, archive.open(entry, "w") as target:
        while chunk := source.read(_CHUNK_BYTES):
            target.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            progress(done, size)
    return digest.hexdigest()


def _seal(file: BinaryIO, length: int, keys: Keys) -> bytes:
    """A keyed hash of a file's first bytes, as its last ones have it."""
    digest = hmac.new(keys.backup_key(), digestmod="sha256")
    file.seek(0)
    while length and (chunk := file.read(min(length, _CHUNK_BYTES))):
        digest.update(chunk)
        length -= len(chunk)
    return digest.hexdigest().encode()


def _verify_backup(path: Path, keys: Keys, store: Path) -> int:
    """Open a finished backup as a restore would, and count what is in it."""
    try:
        with open_backup(path) as archive:
            archive.extract_store(store, keys)
        return verify_store(store, keys)
    except NotABackup as error:
        raise DamagedStore(path=str(path), why=f"the backup does not open: {error}") from error


def verify_store(store: Path, keys: Keys) -> int:
    """Open a store that nobody else has, look at every page of it, and count its memories.

    Raises:
        DamagedStore, NewerSchema: it does not open, or a page cannot be read.
    """
    with closing(connect(store, keys, alone=True)) as connection, translate_errors(store):
        check_schema(connection, store)
        fault = connection.execute("PRAGMA quick_check(1)").get
        if fault != "ok":
            if f"error code={apsw.SQLITE_IOERR_CORRUPTFS}" in fault:  # SQLite's word for EIO
                raise DiskFailed(path=str(store), why="disk I/O error")
            raise DamagedStore(path=str(store), why=" ".join(str(fault).split()))
        return int(connection.execute("SELECT count(*) FROM memories").get)


@contextmanager
def open_backup(path: Path) -> Iterator[BackupFile]:
    """A backup, open.

    Raises:
        NotABackup: it is none, or cannot be read.
        DiskFailed: nobody can say what it is.
        NewerSchema: a newer version made it.
    """
    try:
        file = open_regular(path)
    except OSError as error:
        if error.errno == errno.EIO:
            raise DiskFailed(path=str(path), why=error.strerror) from error
        raise NotABackup(path=str(path), why=error.strerror or type(error).__name__) from error
    with file:
        with _read_as_backup(path):
            archive = zipfile.ZipFile(bounded_reads(file))
        with archive:
            manifest = _read_manifest(path, archive)
            own, pauses = (
                _read_small_entry(path, archive, name) if name in archive.namelist() else None
                for name in (_PASSPHRASE, _PAUSES)
            )
            try:
                mind = parse_key_header(_read_small_entry(path, archive, _MIND), path)
                opens = None if own is None else parse_key_header(own, path)
            except DamagedStore as error:
                raise NotABackup(path=str(path), why="what opens it cannot be read") from error
            yield BackupFile(path, file, archive, manifest, mind, opens, pauses)


def _read_manifest(path: Path, archive: zipfile.ZipFile) -> BackupManifest:
    if _MANIFEST not in archive.namelist():
        raise NotABackup(path=str(path), why=f"there is no {_MANIFEST} in it")
    try:
        said = json.loads(_read_small_entry(path, archive, _MANIFEST))
        known = isinstance(said, dict) and said.get("format") == FORMAT
        if known and isinstance(said.get("version"), int) and said["version"] > VERSION:
            raise NewerSchema(path=str(path), form="backup", found=said["version"], known=VERSION)
        if known:
            manifest = convert(said, BackupManifest)
            if manifest.schema > LATEST_SCHEMA:  # before gigabytes are unpacked, to be refused by a draft's name
                raise NewerSchema(path=str(path), form="schema", found=manifest.schema, known=LATEST_SCHEMA)
            return manifest
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise NotABackup(path=str(path), why=f"its {_MANIFEST} cannot be read") from error
    raise NotABackup(path=str(path), why=f"its {_MANIFEST} is something else's")


def _read_small_entry(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    with _opened(path, archive, name) as entry:
        return _read(path, entry)


def _opened(path: Path, archive: zipfile.ZipFile, name: str) -> zipfile.ZipExtFile:
    with _read_as_backup(path):
        if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{name} is compressed")
        return archive.open(name)  # type: ignore[return-value]


def _read(path: Path, entry: zipfile.ZipExtFile) -> bytes:
    """The next bytes of an entry; a manifest is no longer than that."""
    with _read_as_backup(path):
        return entry.read(_CHUNK_BYTES)


@contextmanager
def _read_as_backup(path: Path) -> Iterator[None]:
    """Turn what reading an archive raises into what a user is told."""
    try:
        yield
    except (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        cause = error.__context__ if isinstance(error, zipfile.BadZipFile) else error  # which says nothing of it
        if isinstance(cause, OSError) and cause.errno == errno.EIO:
            raise DiskFailed(path=str(path), why=cause.strerror) from error
        # KeyError: an entry is missing; RuntimeError and NotImplementedError: it is packed as none of ours is.
        why = f"it is damaged, or something else ({type(error).__name__})"
        if isinstance(cause, OSError):
            raise NotABackup(path=str(path), why=cause.strerror or why) from cause
        raise NotABackup(path=str(path), why=why) from error


def _write_entry(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(_zip_entry(name), data)


def _zip_entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _FIXED_TIMESTAMP)
    entry.external_attr = 0o600 << 16
    return entry
