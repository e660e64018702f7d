"""The database: how it is opened, its tables, and its numbered migrations.

``log`` and ``texts`` are what was given; all other tables can be made again from them. `mnemic.runtime.store` writes
them and `mnemic.runtime.reader` reads them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw
import sqlite_vec

from mnemic.actors.errors import DamagedStore, DiskFull, MindExists, NewerSchema, StoreBusy, StoreReadOnly
from mnemic.runtime.keys import Keys

__all__ = ["MIGRATIONS", "STEMMER", "WORDS", "backup", "connect", "create_file", "lease", "migrate", "translated"]

WORDS = ("unicode61", "remove_diacritics", "2")
"""The tokenizer that finds words."""
STEMMER = ("porter", *WORDS)
"""The tokenizer of the word index: the same, stemmed."""
BUSY_TIMEOUT_S = 20.0
_WAL_LIMIT_BYTES = 16 << 20

_FIRST = f"""
CREATE TABLE generation(number INTEGER NOT NULL) STRICT;
INSERT INTO generation VALUES(1);
CREATE TABLE applies(
  id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, at INTEGER NOT NULL, machine TEXT NOT NULL, code TEXT NOT NULL,
  settings TEXT NOT NULL, author TEXT NOT NULL, run TEXT NOT NULL, answer BLOB NOT NULL) STRICT;
CREATE TABLE log(
  seq INTEGER PRIMARY KEY, apply INTEGER NOT NULL REFERENCES applies(id), change BLOB NOT NULL, inverse BLOB,
  text INTEGER REFERENCES texts(id)) STRICT;
CREATE INDEX log_apply ON log(apply);
CREATE TABLE texts(
  id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, packed INTEGER NOT NULL,
  body BLOB NOT NULL) STRICT;
CREATE TABLE scopes(
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, project TEXT UNIQUE, found TEXT NOT NULL) STRICT;
CREATE TABLE sessions(
  id INTEGER PRIMARY KEY, assistant TEXT NOT NULL, name TEXT NOT NULL, UNIQUE(assistant, name)) STRICT;
CREATE TABLE memories(
  id INTEGER PRIMARY KEY, uuid BLOB NOT NULL UNIQUE, identity BLOB NOT NULL UNIQUE, source_id TEXT,
  session INTEGER NOT NULL REFERENCES sessions(id), scope INTEGER NOT NULL REFERENCES scopes(id),
  kind TEXT NOT NULL, role TEXT NOT NULL, text INTEGER NOT NULL REFERENCES texts(id), words INTEGER NOT NULL,
  speaker TEXT, branch TEXT, tool TEXT, outcome TEXT, files TEXT NOT NULL,
  said_at INTEGER, valid_from INTEGER NOT NULL, valid_to INTEGER, recorded_at INTEGER NOT NULL,
  superseded_by INTEGER REFERENCES memories(id), superseded_at INTEGER) STRICT;
CREATE INDEX memories_session ON memories(session);
CREATE INDEX memories_scope ON memories(scope);
CREATE INDEX memories_text ON memories(text);
CREATE INDEX memories_superseded ON memories(superseded_by) WHERE superseded_by IS NOT NULL;
CREATE VIRTUAL TABLE words USING fts5(
  text, speaker, content='', contentless_delete=1, tokenize='{" ".join(STEMMER)}');
CREATE VIRTUAL TABLE word_instances USING fts5vocab(words, 'instance');
CREATE TABLE encoders(
  id INTEGER PRIMARY KEY, implementation TEXT NOT NULL, model TEXT NOT NULL, dimensions INTEGER NOT NULL,
  UNIQUE(implementation, model)) STRICT;
CREATE TABLE meanings(
  encoder INTEGER NOT NULL REFERENCES encoders(id), memory INTEGER NOT NULL REFERENCES memories(id),
  covered INTEGER NOT NULL, total INTEGER NOT NULL, PRIMARY KEY(encoder, memory)) STRICT, WITHOUT ROWID;
CREATE TABLE windows(
  id INTEGER PRIMARY KEY, encoder INTEGER NOT NULL REFERENCES encoders(id),
  memory INTEGER NOT NULL REFERENCES memories(id), start INTEGER NOT NULL, stop INTEGER NOT NULL) STRICT;
CREATE INDEX windows_memory ON windows(memory);
"""

MIGRATIONS: tuple[str, ...] = (_FIRST,)
"""Migration n takes a store from schema n to schema n + 1; the schema's number is SQLite's ``user_version``."""


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite raises into the errors a user is told."""
    try:
        yield
    except apsw.FullError as error:
        raise DiskFull(path=str(path)) from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError) as error:
        raise StoreReadOnly(path=str(path), why=str(error)) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(path=str(path), waited_s=BUSY_TIMEOUT_S) from error
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError) as error:
        raise DamagedStore(path=str(path), why=str(error)) from error


@contextmanager
def lease(connection: apsw.Connection) -> Iterator[None]:
    """One writing transaction: the right to write is taken at its start, so that several processes take turns."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk ends the transaction by itself
            connection.execute("ROLLBACK")
        raise


def create_file(path: Path) -> None:
    """Make an empty file of mode 0600; SQLite gives its companions (WAL, shared memory) the same mode."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise MindExists(path=str(path)) from None
    os.fchmod(descriptor, 0o600)
    os.close(descriptor)


def connect(path: Path, keys: Keys) -> apsw.Connection:
    """Open the sealed database; the file must be there.

    Raises:
        DamagedStore: it is no database that this (proven) key opens.
        StoreReadOnly: it cannot be opened for writing.
    """
    with translated(path):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute("PRAGMA cipher = 'aegis'")
            connection.execute(f"PRAGMA key = 'raw:{keys.store.hex()}'")
            connection.set_busy_timeout(round(BUSY_TIMEOUT_S * 1000))
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT_BYTES}")
            connection.enable_load_extension(True)
            connection.load_extension(sqlite_vec.loadable_path())
            connection.enable_load_extension(False)
        except BaseException:
            connection.close()
            raise
    return connection


def migrate(connection: apsw.Connection, path: Path, keys: Keys, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring a store to the newest schema, in one transaction, after a sealed copy beside it.

    Raises:
        NewerSchema: the store is of a schema that this version does not know.
    """
    with translated(path):
        found = _schema(connection)
        if found > len(migrations):
            raise NewerSchema(path=str(path), found=found, known=len(migrations))
        if found == len(migrations):
            return
        if found:
            _copy(connection, path.with_name(f"{path.stem}.schema-{found}{path.suffix}"), keys)
        with lease(connection):
            for number in range(_schema(connection), len(migrations)):  # nothing, where another process was faster
                connection.execute(migrations[number])
            connection.execute(f"PRAGMA user_version = {len(migrations)}")


def _schema(connection: apsw.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").get)


def _copy(connection: apsw.Connection, target: Path, keys: Keys) -> None:
    """A sealed copy; one that is there already is an earlier try's, and whole or not, it is replaced."""
    target.unlink(missing_ok=True)
    backup(connection, target, keys)


def backup(connection: apsw.Connection, target: Path, keys: Keys) -> None:
    """Copy a living database into a new file, sealed with the same key.

    Raises:
        MindExists: there is a file of that name.
        StoreBusy: the source stayed busy.
    """
    create_file(target)
    with translated(target):
        copy = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            copy.execute("PRAGMA cipher = 'aegis'")
            copy.execute(f"PRAGMA key = 'raw:{keys.store.hex()}'")
            with copy.backup("main", connection, "main") as running:
                while not running.done:
                    running.step(-1)
        except BaseException:
            copy.close()
            target.unlink(missing_ok=True)
            raise
        copy.close()
