"""The SQLite schema: opening the encrypted database, its tables, and what brings an older one up to date.

``log`` and ``texts`` are what came in; memories, sessions, scopes and the word index follow from them. Vectors and
hypervectors are made from memories, communities from the graphs of their boundaries. The rest is kept beside the log:
what was given to whom, how far capture has come, what of this very file was lost, and who may write to it.
`mnemic.runtime.store.store` writes, `mnemic.runtime.store.reader` reads.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import apsw

from mnemic.actors.kernel.errors import (
    DamagedStore,
    DiskFailed,
    DiskFull,
    MindExists,
    NewerSchema,
    OtherSchema,
    Rekeyed,
    StoreBusy,
    StoreError,
    StoreReadOnly,
)
from mnemic.algorithms.text.languages.table import DEFAULT
from mnemic.runtime.files.atomic_replace import MARK_SUFFIX, lock_shared, write_error
from mnemic.runtime.keys.key_slots import has_other_key
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.store.index_file import connection_closed, connection_opens, read_index

_log = logging.getLogger("mnemic.store")

SAID_OR_KEPT = "coalesce(said_at, recorded_at)"
"""World time a memory was said, else kept; indexes have it."""
AUTHOR = "coalesce(m.author, CASE m.role WHEN 'user' THEN 'owner' WHEN 'assistant' THEN 'assistant' ELSE 'unknown' END)"
"""Whose words a memory `m` holds; of what was kept before memories said so, its role's (`author_of`)."""
VOICE = "CASE m.author WHEN 'assistant' THEN 'assistant' WHEN 'other' THEN 'other' ELSE m.role END"
"""Among whose words the statements of a memory `m` are: what another person or an agent says is not the user's."""
BUSY_TIMEOUT_S = 20.0
_WAL_LIMIT_BYTES = 16 << 20
_CHECKPOINT_PAGES = 1000  # as SQLite would by itself, and prove nothing
_LOOKS = 5  # at a log that looks damaged: another process may be beginning it anew
_UNREADABLE_LOG = (
    "What has the mind open tries to write it anew once nobody has wanted anything for some seconds, and keeps nothing"
    " new before it can. Where this is said for longer, end it and open the mind again: what was committed before the"
    " damage is there, and `mnemic doctor` says what is missing"
)
_REFUSALS = {
    apsw.CantOpenError: "unable to open database file",
    apsw.ReadOnlyError: "attempt to write a readonly database",
}
"""What SQLite says of these errors; a backup that meets one says "not an error"."""
_DAMAGE = (apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_CODEC, apsw.SQLITE_IOERR_BADKEY)
"""Errors of input and output that tell of what stands in a file, and not of the disk."""
_MIN_DATABASE_BYTES = 512  # of a database; SQLite takes a file of 0 or 1 bytes for a new one, and writes to it

_SCHEMA = f"""
CREATE TABLE generation(number INTEGER NOT NULL) STRICT;
INSERT INTO generation VALUES(1);
CREATE TABLE applies(
  seq INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, at INTEGER NOT NULL, machine TEXT NOT NULL, code TEXT NOT NULL,
  author TEXT NOT NULL, run TEXT NOT NULL, answer BLOB NOT NULL) STRICT;
CREATE TABLE log(
  id INTEGER PRIMARY KEY, seq INTEGER NOT NULL REFERENCES applies(seq), change BLOB NOT NULL, undo BLOB,
  text INTEGER REFERENCES texts(id)) STRICT;
CREATE INDEX log_seq ON log(seq);
CREATE INDEX log_text ON log(text) WHERE text IS NOT NULL;
CREATE TABLE texts(
  id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, packed INTEGER NOT NULL,
  body BLOB NOT NULL) STRICT;
CREATE TABLE scopes(
  id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, project TEXT UNIQUE, found TEXT NOT NULL) STRICT;
CREATE TABLE sessions(
  id INTEGER PRIMARY KEY, assistant TEXT NOT NULL, name TEXT NOT NULL,
  mode TEXT NOT NULL DEFAULT '', UNIQUE(assistant, name)) STRICT;
CREATE TABLE memories(
  id INTEGER PRIMARY KEY, uuid BLOB NOT NULL UNIQUE, identity BLOB NOT NULL UNIQUE, source_id TEXT,
  session INTEGER NOT NULL REFERENCES sessions(id), scope INTEGER NOT NULL REFERENCES scopes(id),
  kind TEXT NOT NULL, role TEXT NOT NULL, text INTEGER NOT NULL REFERENCES texts(id), words INTEGER NOT NULL,
  speaker TEXT, branch TEXT, tool TEXT, outcome TEXT, files TEXT NOT NULL,
  said_at INTEGER, valid_from INTEGER NOT NULL, recorded_at INTEGER NOT NULL,
  superseded_by INTEGER REFERENCES memories(id), superseded_at INTEGER,
  retired_at INTEGER, retired_reason TEXT, cued INTEGER NOT NULL, language TEXT NOT NULL) STRICT;
CREATE INDEX memories_session ON memories(session);
CREATE INDEX memories_scope ON memories(scope);
CREATE INDEX memories_text ON memories(text);
CREATE INDEX memories_superseded ON memories(superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_language ON memories(language) WHERE language != '{DEFAULT.code}';
CREATE TABLE memory_terms(memory INTEGER PRIMARY KEY REFERENCES memories(id), codes BLOB NOT NULL) STRICT;
CREATE TABLE term_totals(memories INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT;
INSERT INTO term_totals VALUES(0, 0);
CREATE TABLE encoders(
  id INTEGER PRIMARY KEY, implementation TEXT NOT NULL, model TEXT NOT NULL, dimensions INTEGER NOT NULL,
  complete_to INTEGER NOT NULL DEFAULT 0, UNIQUE(implementation, model)) STRICT;
CREATE TABLE meanings(
  encoder INTEGER NOT NULL REFERENCES encoders(id), memory INTEGER NOT NULL REFERENCES memories(id),
  covered INTEGER NOT NULL, total INTEGER NOT NULL, PRIMARY KEY(encoder, memory)) STRICT, WITHOUT ROWID;
CREATE INDEX meanings_memory ON meanings(memory);
CREATE TABLE windows(
  id INTEGER PRIMARY KEY, encoder INTEGER NOT NULL REFERENCES encoders(id),
  memory INTEGER NOT NULL REFERENCES memories(id), start INTEGER NOT NULL, stop INTEGER NOT NULL) STRICT;
CREATE INDEX windows_memory ON windows(memory);
CREATE TABLE lost(
  last INTEGER NOT NULL, count INTEGER NOT NULL, since INTEGER, until INTEGER NOT NULL, power_cut INTEGER NOT NULL,
  PRIMARY KEY(last, count, until)) STRICT, WITHOUT ROWID;
CREATE TABLE fences(slot TEXT PRIMARY KEY, epoch INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX memories_retired ON memories(retired_at) WHERE retired_at IS NOT NULL;
CREATE TABLE spool(
  file BLOB PRIMARY KEY, offset INTEGER NOT NULL, records INTEGER NOT NULL, torn INTEGER NOT NULL)
  STRICT, WITHOUT ROWID;
CREATE TABLE occurrences(
  identity BLOB PRIMARY KEY, hooks INTEGER NOT NULL, missed INTEGER NOT NULL, read_at INTEGER NOT NULL)
  STRICT, WITHOUT ROWID;
CREATE TABLE aside(
  id INTEGER PRIMARY KEY, record BLOB NOT NULL UNIQUE, assistant TEXT NOT NULL, event TEXT NOT NULL, why TEXT NOT NULL,
  text INTEGER REFERENCES texts(id), at INTEGER NOT NULL, cwd TEXT, branch TEXT, recorded_at INTEGER NOT NULL,
  readmitted_at INTEGER, seq INTEGER NOT NULL) STRICT;
CREATE INDEX aside_text ON aside(text);
CREATE TABLE transcripts(
  path TEXT PRIMARY KEY, format TEXT NOT NULL, due_at INTEGER, changed_at INTEGER NOT NULL, size INTEGER,
  taken_at INTEGER, why TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX transcripts_due ON transcripts(due_at) WHERE due_at IS NOT NULL;
CREATE TABLE originals(
  memory INTEGER PRIMARY KEY REFERENCES memories(id), text INTEGER NOT NULL REFERENCES texts(id)) STRICT;
CREATE INDEX originals_text ON originals(text);
CREATE TABLE checks(
  assistant TEXT PRIMARY KEY, nonce TEXT NOT NULL, recorded_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE scrubbed(
  memory INTEGER NOT NULL REFERENCES memories(id), type TEXT NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY(memory, type)) STRICT, WITHOUT ROWID;
CREATE INDEX memories_turns ON memories(scope, session, {SAID_OR_KEPT})
  WHERE kind = 'turn' AND retired_at IS NULL;
CREATE INDEX memories_kept ON memories(scope, kind) WHERE kind IN ('decision', 'note');
CREATE INDEX memories_cued ON memories(scope, {SAID_OR_KEPT}) WHERE cued = 1 AND retired_at IS NULL;
CREATE TABLE erased(identity BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE erased_rows(last INTEGER NOT NULL) STRICT;
INSERT INTO erased_rows VALUES(0);
CREATE TABLE silenced(
  assistant TEXT NOT NULL, session TEXT NOT NULL, PRIMARY KEY(assistant, session)) STRICT, WITHOUT ROWID;
CREATE TABLE backups(
  id INTEGER PRIMARY KEY, path TEXT NOT NULL, what TEXT NOT NULL, size INTEGER NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE TABLE projects(
  project TEXT PRIMARY KEY, scope INTEGER NOT NULL REFERENCES scopes(id)) STRICT, WITHOUT ROWID;
CREATE INDEX projects_scope ON projects(scope);
CREATE TABLE givings(
  id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, at INTEGER NOT NULL, occasion TEXT NOT NULL, assistant TEXT NOT NULL,
  session TEXT NOT NULL, scope TEXT NOT NULL, query TEXT NOT NULL, tokens INTEGER NOT NULL,
  erased INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX givings_session ON givings(session, assistant);
CREATE INDEX givings_when ON givings(at, id, assistant, session, scope);
CREATE TABLE given_parts(
  giving INTEGER NOT NULL REFERENCES givings(id), place INTEGER NOT NULL,
  memory INTEGER NOT NULL REFERENCES memories(id), start INTEGER NOT NULL, stop INTEGER NOT NULL, why TEXT NOT NULL,
  PRIMARY KEY(giving, place)) STRICT, WITHOUT ROWID;
CREATE INDEX given_parts_memory ON given_parts(memory);
CREATE INDEX memories_when ON memories({SAID_OR_KEPT}, id, scope, session, kind, retired_at, said_at);
CREATE INDEX memories_captured ON memories(recorded_at, id, scope, session, kind, retired_at);
CREATE TABLE spaces(
  id INTEGER PRIMARY KEY, stamp TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL, version INTEGER NOT NULL,
  roles TEXT NOT NULL, model TEXT NOT NULL, embedding INTEGER NOT NULL, reading TEXT NOT NULL) STRICT;
CREATE TABLE codes(
  id INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL REFERENCES spaces(id),
  memory INTEGER NOT NULL REFERENCES memories(id), tier TEXT NOT NULL, pairs INTEGER NOT NULL,
  fillers BLOB NOT NULL) STRICT;
CREATE TABLE code_bits(id INTEGER PRIMARY KEY, code BLOB NOT NULL) STRICT;
CREATE TRIGGER code_removed AFTER DELETE ON codes BEGIN DELETE FROM code_bits WHERE id = old.id; END;
CREATE INDEX codes_memory ON codes(memory);
CREATE INDEX codes_tier ON codes(space, tier, id);
CREATE TABLE fillers(
  id INTEGER PRIMARY KEY AUTOINCREMENT, role TEXT NOT NULL, filler TEXT NOT NULL, folded TEXT NOT NULL,
  memories INTEGER NOT NULL, UNIQUE(role, filler)) STRICT;
CREATE INDEX fillers_folded ON fillers(role, folded);
CREATE TABLE bound(memory INTEGER PRIMARY KEY REFERENCES memories(id), fillers TEXT NOT NULL) STRICT;
CREATE TABLE unbound(
  memory INTEGER PRIMARY KEY REFERENCES memories(id), marked INTEGER NOT NULL, encoder INTEGER NOT NULL) STRICT;
CREATE INDEX unbound_encoder ON unbound(encoder, memory);
CREATE TABLE graph_waiting(memory INTEGER PRIMARY KEY) STRICT;
CREATE TRIGGER graph_node_added AFTER INSERT ON memories
  BEGIN INSERT OR IGNORE INTO graph_waiting VALUES(new.id); END;
CREATE TRIGGER graph_node_changed AFTER UPDATE OF scope, superseded_by, retired_at ON memories
  BEGIN INSERT OR IGNORE INTO graph_waiting VALUES(new.id); END;
CREATE TABLE boundaries(
  id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, at INTEGER NOT NULL, reason TEXT NOT NULL,
  done INTEGER NOT NULL DEFAULT 0, encoder TEXT) STRICT;
CREATE INDEX boundaries_open ON boundaries(id) WHERE done = 0;
CREATE TABLE boundary_changes(
  boundary INTEGER NOT NULL REFERENCES boundaries(id), memory INTEGER NOT NULL, scope INTEGER, successor INTEGER,
  PRIMARY KEY(memory, boundary)) STRICT, WITHOUT ROWID;
CREATE INDEX boundary_changes_boundary ON boundary_changes(boundary);
CREATE TABLE graph_scales(
  scope INTEGER PRIMARY KEY, resolution REAL NOT NULL, floor REAL NOT NULL, chosen_at INTEGER NOT NULL,
  embedded INTEGER NOT NULL) STRICT;
CREATE TABLE neighbours(
  memory INTEGER PRIMARY KEY, near BLOB NOT NULL, cosines BLOB NOT NULL) STRICT;
CREATE TABLE communities(
  id INTEGER PRIMARY KEY, level INTEGER NOT NULL, parent INTEGER NOT NULL, scope INTEGER NOT NULL,
  size INTEGER NOT NULL, born INTEGER NOT NULL, died INTEGER, prototype BLOB, mean BLOB,
  bundled INTEGER NOT NULL DEFAULT 0, stale INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX communities_alive ON communities(level, scope, size) WHERE died IS NULL;
CREATE INDEX communities_stale ON communities(id) WHERE stale > 0;
CREATE TABLE members(
  memory INTEGER PRIMARY KEY, topic INTEGER NOT NULL, part INTEGER NOT NULL, placed INTEGER NOT NULL) STRICT;
CREATE INDEX members_topic ON members(topic);
CREATE INDEX members_part ON members(part) WHERE part > 0;
CREATE TABLE lineage(
  boundary INTEGER NOT NULL, kind TEXT NOT NULL, community INTEGER NOT NULL, other INTEGER NOT NULL) STRICT;
CREATE INDEX lineage_community ON lineage(community);
CREATE INDEX lineage_other ON lineage(other) WHERE other > 0;
CREATE TRIGGER prototype_member_bound AFTER INSERT ON codes WHEN new.tier = 'episode' BEGIN
  UPDATE communities SET stale = (SELECT max(seq) FROM applies)
  WHERE died IS NULL AND id = (SELECT topic FROM members WHERE memory = new.memory AND placed = 0); END;
CREATE TRIGGER prototype_member_unbound AFTER DELETE ON codes WHEN old.tier = 'episode' BEGIN
  UPDATE communities SET stale = (SELECT max(seq) FROM applies)
  WHERE died IS NULL AND id = (SELECT topic FROM members WHERE memory = old.memory AND placed = 0); END;
CREATE TRIGGER prototype_member_moved AFTER UPDATE OF scope ON memories WHEN new.scope IS NOT old.scope BEGIN
  DELETE FROM members WHERE memory = new.id AND placed = 1;
  UPDATE communities SET stale = (SELECT max(seq) FROM applies)
  WHERE died IS NULL AND id = (SELECT topic FROM members WHERE memory = new.id); END;
CREATE TABLE knowledge(reading TEXT NOT NULL) STRICT;
INSERT INTO knowledge VALUES('');
CREATE TABLE unread(memory INTEGER PRIMARY KEY) STRICT;
CREATE TABLE unreadable(memory INTEGER PRIMARY KEY REFERENCES memories(id)) STRICT;
CREATE TABLE ungraded(memory INTEGER PRIMARY KEY, marked INTEGER NOT NULL) STRICT;
CREATE TABLE entities(
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL, mark BLOB NOT NULL) STRICT;
CREATE TABLE statements(
  id INTEGER PRIMARY KEY AUTOINCREMENT, memory INTEGER NOT NULL REFERENCES memories(id), place INTEGER NOT NULL,
  subject INTEGER REFERENCES entities(id), scope INTEGER NOT NULL, said_at INTEGER NOT NULL, holds_to INTEGER,
  verb TEXT NOT NULL, is_change INTEGER NOT NULL, value_key INTEGER NOT NULL, over_key INTEGER NOT NULL,
  own_key INTEGER NOT NULL, start INTEGER NOT NULL, fields BLOB NOT NULL) STRICT;
CREATE INDEX statements_memory ON statements(memory, place);
CREATE INDEX statements_subject ON statements(subject, scope, said_at, id) WHERE subject IS NOT NULL;
CREATE INDEX statements_verb ON statements(subject, scope, verb, said_at) WHERE subject IS NOT NULL AND verb != '';
CREATE INDEX statements_change ON statements(subject, scope, said_at) WHERE is_change = 1;
CREATE INDEX statements_value ON statements(value_key, scope, said_at) WHERE value_key != 0;
CREATE INDEX statements_own ON statements(own_key, scope, said_at) WHERE own_key != 0;
CREATE INDEX statements_over ON statements(over_key, scope, said_at) WHERE over_key != 0;
CREATE INDEX statements_when ON statements(said_at, id, scope) WHERE subject IS NOT NULL;
CREATE TABLE mentions(
  entity INTEGER NOT NULL REFERENCES entities(id), memory INTEGER NOT NULL REFERENCES memories(id),
  start INTEGER NOT NULL, stop INTEGER NOT NULL, kind TEXT NOT NULL,
  PRIMARY KEY(memory, start, entity)) STRICT, WITHOUT ROWID;
CREATE INDEX mentions_entity ON mentions(entity, memory);
CREATE TABLE grades(
  older INTEGER NOT NULL REFERENCES statements(id) ON DELETE CASCADE,
  newer INTEGER NOT NULL REFERENCES statements(id) ON DELETE CASCADE,
  grade TEXT NOT NULL, probability REAL NOT NULL, why TEXT NOT NULL, PRIMARY KEY(older, newer)) STRICT, WITHOUT ROWID;
CREATE INDEX grades_newer ON grades(newer);
CREATE TABLE verdicts(
  older INTEGER NOT NULL REFERENCES memories(id), older_start INTEGER NOT NULL,
  newer INTEGER NOT NULL REFERENCES memories(id), newer_start INTEGER NOT NULL, verdict TEXT NOT NULL, by TEXT NOT NULL,
  PRIMARY KEY(older, older_start, newer, newer_start)) STRICT, WITHOUT ROWID;
CREATE INDEX verdicts_newer ON verdicts(newer);
CREATE TABLE merges(id INTEGER PRIMARY KEY, entity BLOB NOT NULL UNIQUE, other BLOB NOT NULL) STRICT;
CREATE TABLE nights(
  id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL, at INTEGER NOT NULL, reason TEXT NOT NULL,
  undone_at INTEGER, undone_row INTEGER) STRICT;
CREATE TABLE night_reports(
  night INTEGER PRIMARY KEY, ended_at INTEGER NOT NULL, why TEXT NOT NULL, stages BLOB NOT NULL) STRICT;
CREATE TABLE stage_failures(
  stage TEXT PRIMARY KEY, nights INTEGER NOT NULL, run TEXT NOT NULL, why TEXT NOT NULL) STRICT;
CREATE TABLE derived(
  id INTEGER PRIMARY KEY AUTOINCREMENT, stage TEXT NOT NULL, key BLOB NOT NULL, stamp BLOB NOT NULL,
  value BLOB NOT NULL, made INTEGER NOT NULL, made_seq INTEGER NOT NULL, gone INTEGER, gone_seq INTEGER) STRICT;
CREATE UNIQUE INDEX derived_standing ON derived(stage, key) WHERE gone IS NULL;
CREATE INDEX derived_made ON derived(made);
CREATE INDEX derived_gone ON derived(gone) WHERE gone IS NOT NULL;
CREATE TABLE derived_sources(
  derived INTEGER NOT NULL REFERENCES derived(id), place INTEGER NOT NULL,
  memory INTEGER NOT NULL REFERENCES memories(id), start INTEGER NOT NULL, stop INTEGER NOT NULL,
  PRIMARY KEY(derived, place)) STRICT, WITHOUT ROWID;
CREATE INDEX derived_sources_memory ON derived_sources(memory);
CREATE TABLE verdicts_of_stages(
  stage TEXT NOT NULL, night INTEGER NOT NULL, examined_in INTEGER NOT NULL, seq INTEGER NOT NULL, effect TEXT NOT NULL,
  questions INTEGER NOT NULL, passed INTEGER NOT NULL, why TEXT NOT NULL, PRIMARY KEY(stage, examined_in))
  STRICT, WITHOUT ROWID;
CREATE TRIGGER unread_added AFTER INSERT ON memories WHEN new.kind IN ('turn', 'decision', 'note')
  BEGIN INSERT INTO unread VALUES(new.id); END;
CREATE TRIGGER ungraded_moved AFTER UPDATE OF scope ON memories WHEN new.scope IS NOT old.scope
  BEGIN UPDATE statements SET scope = new.scope WHERE memory = new.id;
  INSERT OR REPLACE INTO ungraded SELECT DISTINCT memory, (SELECT max(seq) FROM applies) FROM statements
  WHERE memory = new.id AND (subject IS NOT NULL OR value_key OR over_key);
  END;
CREATE TRIGGER ungraded_restored AFTER UPDATE OF retired_at, superseded_by ON memories
  WHEN new.retired_at IS NULL AND new.superseded_by IS NULL
  AND (old.retired_at IS NOT NULL OR old.superseded_by IS NOT NULL) BEGIN
  INSERT OR REPLACE INTO ungraded SELECT DISTINCT memory, (SELECT max(seq) FROM applies) FROM statements
  WHERE memory = new.id AND (subject IS NOT NULL OR value_key OR over_key);
  END;
CREATE INDEX memories_order ON memories(session, {SAID_OR_KEPT}, id, kind, retired_at);
CREATE INDEX memories_speakers ON memories(session, speaker) WHERE speaker IS NOT NULL AND retired_at IS NULL;
"""

_LABELS = """
ALTER TABLE memories ADD COLUMN author TEXT;
ALTER TABLE memories ADD COLUMN utc_offset_min INTEGER;
CREATE INDEX memories_unlabelled ON memories(id) WHERE author IS NULL;
DROP TRIGGER unread_added;
CREATE TRIGGER unread_added AFTER INSERT ON memories
  WHEN new.kind IN ('turn', 'decision', 'note') AND new.author IS NOT 'unknown'
  BEGIN INSERT INTO unread VALUES(new.id); END;
"""
MIGRATIONS: tuple[str, ...] = (_LABELS,)
"""Migration n takes a store from schema n + 1 to schema n + 2; the schema's number is SQLite's ``user_version``.

Schema 1 is the one of the first release, 0.2.0, and is never edited: minds have it. A change of the tables is one more
migration here, and a new store is made by all of them, too.
"""
LATEST_SCHEMA = 1 + len(MIGRATIONS)
_RELEASED_FORM = 133649368
"""SQLite's ``application_id`` of every store since the first release; development versions had others."""


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite raises into the errors a user is told."""
    try:
        yield
    except apsw.FullError as error:
        raise DiskFull(path=str(path)) from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError) as error:
        why = _REFUSALS.get(type(error), str(error))
        raise StoreReadOnly(path=str(path), why=why) from error
    except (apsw.BusyError, apsw.LockedError, apsw.ProtocolError) as error:
        raise StoreBusy(path=str(path), waited_s=BUSY_TIMEOUT_S) from error
    except apsw.IOError as error:
        if _has_no_shm_room(error):
            raise DiskFull(path=str(path)) from error
        if getattr(error, "extendedresult", None) in _DAMAGE:
            raise DamagedStore(path=str(path), why=str(error)) from error
        raise DiskFailed(path=str(path), why="disk I/O error") from error
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        # SQLError: a table is not as it was made, or sqlite-vec met a page that cannot be read.
        raise DamagedStore(path=str(path), why=str(error)) from error


def _has_no_shm_room(error: apsw.Error) -> bool:
    """Whether there is no room on the disk for the file that the processes share, ``-shm``."""
    return getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_SHMSIZE


@contextmanager
def write_transaction(connection: apsw.Connection) -> Iterator[None]:
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
    """Make an empty file of mode 0600; SQLite gives its companions (WAL, shared memory) the same mode.

    Raises:
        MindExists: there is a file of that name.
        DiskFull, StoreReadOnly: it cannot be made.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)
    except FileExistsError:
        raise MindExists(path=str(path)) from None
    except OSError as error:
        raise write_error(path, error) from error


def remove_file(path: Path) -> None:
    """Remove a database and its companions, as far as they are there."""
    for suffix in ("", "-wal", "-shm", "-journal", MARK_SUFFIX):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


class EncryptedConnection(apsw.Connection):
    """A sealed database, open: its file is not replaced by another one before it is closed.

    Of its write-ahead log nothing is taken over that is not as it was written. While somebody has the store open, all
    that can be read can still be written anew; who opens it when nobody has it open any more finds what was committed
    before the damage.
    """

    lock: int | None = None
    """What holds its folder with others; see `mnemic.runtime.files.atomic_replace`."""
    counted: Path | None = None
    """The index that this connection was counted for; see `mnemic.runtime.store.index_file`."""
    is_log_damaged = False
    """Whether a page that stands in the log alone was not as it was written when the log was last proved."""
    _wal: Path | None = None
    _page_bytes = 0
    _pages_seen = 0

    def prove_checkpoints(self) -> None:
        """Have each checkpoint of this database proved first, those after a commit and at the end included."""
        self._wal = Path(self.filename_wal)
        self._page_bytes = int(self.execute("PRAGMA page_size").get)
        self.set_wal_hook(self._checkpoint_if_long)

    def empty_log(self, *, waits: bool = True) -> tuple[int, int, int]:
        """Take the write-ahead log over into the database's own file, once it is proved, and cut it to nothing.

        Where it is damaged, every page is written anew first, as this connection can still read it.

        Args:
            waits: whether for those who read an older state.

        Returns whether somebody kept it from that, how many pages stood in it, and how many of them the file has now;
        less than 0 without a log.

        Raises:
            DamagedStore: something in the log cannot be read any more; nothing was taken over.
            StoreError, apsw.Error: it cannot be taken over.
        """
        try:
            self.prove_log()
        except DamagedStore as damage:
            self._write_anew(damage)
        try:
            if not waits:
                self.set_busy_timeout(0)
            row: Any = self.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            self.set_busy_timeout(round(BUSY_TIMEOUT_S * 1000))
        busy, pages, taken_over = row
        return busy, pages, taken_over

    def close(self, force: bool = False) -> None:
        """Let go of the file. The last one to do so has the write-ahead log taken over, where that is proved."""
        if self._wal is not None:
            try:
                self.prove_log()
            except (StoreError, apsw.Error) as error:  # also where nothing can be written
                self.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                _log.log(
                    logging.ERROR if isinstance(error, DamagedStore) else logging.DEBUG,
                    "the write-ahead log is left as it is: %s",
                    error,
                )
            self._wal = None
            self.set_wal_hook(None)
        super().close(force)
        counted, self.counted = self.counted, None
        if counted is not None:
            connection_closed(counted)
        lock, self.lock = self.lock, None
        if lock is not None:
            os.close(lock)

    def prove_log(self) -> None:
        """Look whether all that a checkpoint would take over is as it was written.

        Raises:
            DamagedStore: it is not.
            DiskFailed: it cannot be read.
        """
        from mnemic.runtime.store.write_ahead_log import first_damaged_frame  # here: NumPy takes 0.1 s to load

        assert self._wal is not None, "it is open for writing"
        assert self.counted is not None, "it is open"
        damaged: int | None = None
        for _ in range(_LOOKS):
            pages, taken_over = self.wal_checkpoint("main", apsw.SQLITE_CHECKPOINT_NOOP)
            try:
                damaged = first_damaged_frame(self._wal, read_index(self.counted), self._page_bytes, taken_over, pages)
            except OSError as error:
                raise DiskFailed(path=str(self._wal), why=error.strerror) from error
            if damaged is None:
                break
        self.is_log_damaged = damaged is not None
        if damaged is not None:
            why = f"frame {damaged} of its write-ahead log is not as it was written"
            raise DamagedStore(path=self.filename, why=why, remedy=_UNREADABLE_LOG)

    def _write_anew(self, damage: DamagedStore) -> None:
        """Have every page written once more, so that nothing of a damaged log is needed.

        A page that is in this connection's memory is not read from the log. SQLite reads the others by what it knows
        of the log, not by the log's own headers, and each proves itself by its seal.

        Raises:
            DamagedStore: the given one, since one of them cannot be read.
            DiskFull, StoreBusy, DiskFailed: they cannot be written just now.
        """
        cached: Any = self.execute("PRAGMA cache_size").get
        pages: Any = self.execute("PRAGMA page_count").get
        try:
            # So that reading drops none of those in memory. With one page less than it writes, SQLite spills into the
            # damaged log and finds its own transaction malformed.
            self.execute(f"PRAGMA cache_size = {2 * pages}")
            with translate_errors(Path(self.filename)):
                self.execute("VACUUM")
        except DamagedStore as error:
            raise damage from error
        finally:
            self.execute(f"PRAGMA cache_size = {cached}")
        self.is_log_damaged = False
        _log.warning("%s All of it was written anew, and nothing is lost.", damage)

    def _checkpoint_if_long(self, _connection: apsw.Connection, _database: str, pages: int) -> int:
        """After a commit: take a long log over; where that fails, it is tried again when it is that much longer."""
        self._pages_seen = min(self._pages_seen, pages)
        if pages - self._pages_seen >= _CHECKPOINT_PAGES:
            self._pages_seen = pages
            try:
                self.prove_log()
                self.wal_checkpoint("main", apsw.SQLITE_CHECKPOINT_PASSIVE)
            except (StoreError, apsw.Error) as error:  # what was committed stands in the log
                _log.warning("the write-ahead log could not be taken over: %s", error)
        return apsw.SQLITE_OK


def connect(
    path: Path,
    keys: Keys,
    *,
    new: bool = False,
    words_only: bool = False,
    alone: bool = False,
    lasting: bool = False,
) -> EncryptedConnection:
    """Open the sealed database; the file must be there, and hold something unless it is new.

    It is read where nothing can be written, too, with what its write-ahead log holds. For that, SQLite needs the files
    ``-wal`` and ``-shm`` to be there, so they stay when the last one closes the store; where they are not writable, it
    keeps its index of the log in memory. Where they are, and the disk is full, it would want room for the index on the
    disk: it is asked to do the same. (``immutable=1`` would not do: it hides what stands in the log.)

    Args:
        words_only: whether nothing will be written, and no vector read: what gives those takes 0.2 s to load.
        alone: whether the caller holds the mind alone already, or works on a draft.
        lasting: whether the caller goes on when a full disk has room again; it is not opened for reading alone then,
            since it, and who opens it later in the same process, would never write.

    Raises:
        DiskFull: there is no room for the index of the log, for one who is `lasting`.
        DamagedStore: it is no database that this (proven) key opens.
        StoreReadOnly: it cannot be opened for writing.
        StoreBusy: somebody holds the mind alone.
        Rekeyed: the mind has been given another key since this one was read.
    """
    lock = None if alone else lock_shared(path.parent, BUSY_TIMEOUT_S)
    try:
        connection = _open_connection(path, keys, new=new, words_only=words_only, lasting=lasting)
    except DamagedStore:
        if lock is not None:
            os.close(lock)
        if has_other_key(path.parent / "mind.json", keys):
            raise Rekeyed(path=str(path)) from None
        raise
    except BaseException:
        if lock is not None:
            os.close(lock)
        raise
    connection.lock = lock
    return connection


def _open_connection(path: Path, keys: Keys, *, new: bool, words_only: bool, lasting: bool) -> EncryptedConnection:
    if not path.exists():
        raise DamagedStore(path=str(path), why="the file is not there")
    if not new and path.stat().st_size < _MIN_DATABASE_BYTES:
        raise DamagedStore(path=str(path), why="the file is empty")
    mode = apsw.SQLITE_OPEN_READONLY if words_only else apsw.SQLITE_OPEN_READWRITE
    with translate_errors(path):
        try:
            connection = _open_keyed(str(path), mode, keys)
        except apsw.CantOpenError:
            if os.access(path.parent, os.W_OK) or path.with_name(f"{path.name}-shm").exists():
                raise
            why = f"{path.name}-shm is not there, without which nobody can read it here either"
            remedy = "Run `mnemic status` once where its folder can be written: that makes the file"
            raise StoreReadOnly(path=str(path), why=why, remedy=remedy) from None
        except apsw.IOError as error:
            if lasting or not _has_no_shm_room(error):
                raise
            uri = f"{path.absolute().as_uri()}?readonly_shm=1"
            connection = _open_keyed(uri, mode | apsw.SQLITE_OPEN_URI, keys)
        try:
            if not words_only:
                import sqlite_vec  # here: what an assistant is told at its start is read without it

                connection.enable_load_extension(True)
                connection.load_extension(sqlite_vec.loadable_path())
                connection.enable_load_extension(False)
                connection.prove_checkpoints()
        except BaseException:
            connection.close()
            raise
    return connection


def _open_keyed(name: str, mode: int, keys: Keys) -> EncryptedConnection:
    """Open a database by its key, as SQLite names it, and look into it for the first time."""
    index = Path(f"{os.path.realpath(unquote(urlsplit(name).path) if mode & apsw.SQLITE_OPEN_URI else name)}-shm")
    connection_opens(index)
    try:
        connection = EncryptedConnection(name, flags=mode)
    except BaseException:
        connection_closed(index)
        raise
    connection.counted = index
    try:
        connection.execute("PRAGMA cipher = 'aegis'")
        connection.execute(f"PRAGMA key = 'raw:{keys.store_key.hex()}'")
        connection.set_busy_timeout(round(BUSY_TIMEOUT_S * 1000))
        persist = ctypes.c_int(1)
        connection.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, ctypes.addressof(persist))
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT_BYTES}")
    except BaseException:
        connection.close()
        raise
    return connection


def migrate(
    connection: apsw.Connection, path: Path, keys: Keys, migrations: Sequence[str] = MIGRATIONS, *, new: bool = False
) -> None:
    """Make the tables of a new store; bring an older one to the newest schema, after a sealed copy beside it.

    Raises:
        NewerSchema, OtherSchema: the store is of a schema that this version does not know.
        DiskFull, StoreReadOnly, StoreBusy, DamagedStore: the store is as it was.
    """
    latest = 1 + len(migrations)
    with translate_errors(path):
        found = check_schema(connection, path, latest)
        if found == latest:
            return
        if found == 0 and not new:
            raise DamagedStore(path=str(path), why="it holds no memory")
        with write_transaction(connection):
            found = check_schema(connection, path, latest)  # another process may have been faster
            if 0 < found < latest:
                _copy_before_migration(path, keys, found)
            if found == 0:
                connection.execute(_SCHEMA)
                connection.execute(f"PRAGMA application_id = {_RELEASED_FORM}")
                found = 1
            for step in migrations[found - 1 :]:
                connection.execute(step)
            connection.execute(f"PRAGMA user_version = {latest}")


def check_schema(connection: apsw.Connection, path: Path, known: int = LATEST_SCHEMA) -> int:
    """The number of the store's schema, 0 for a new file's.

    Raises:
        NewerSchema, OtherSchema: it is not known to this version, which then may neither read nor write.
    """
    found = int(connection.execute("PRAGMA user_version").get)
    if found and connection.execute("PRAGMA application_id").get != _RELEASED_FORM:
        raise OtherSchema(path=str(path))
    if found > known:
        raise NewerSchema(path=str(path), form="schema", found=found, known=known)
    return found


def _copy_before_migration(path: Path, keys: Keys, schema: int) -> None:
    """Keep a sealed copy beside a store that is about to change, in place of an earlier try's.

    The caller holds the lease, so that the copy is of this schema and one process makes it. It reads by a connection
    of its own, because SQLite copies nothing for one that is writing.
    """
    target = path.with_name(f"{path.stem}.schema-{schema}{path.suffix}")
    draft = target.with_name(f".{target.name}")
    remove_file(draft)
    reading = connect(path, keys)
    try:
        copy_database(reading, draft, keys)
    finally:
        reading.close()
    try:
        os.replace(draft, target)
    except OSError as error:
        remove_file(draft)
        raise write_error(target, error) from error


def copy_database(connection: apsw.Connection, target: Path, keys: Keys) -> None:
    """Copy a living database into a new file, sealed with the same key.

    Raises:
        MindExists: there is a file of that name.
        DiskFull, StoreReadOnly: it cannot be written.
        StoreBusy: the source stayed busy.
    """
    create_file(target)
    try:
        with translate_errors(target), closing(apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)) as copy:
            copy.execute("PRAGMA cipher = 'aegis'")
            copy.execute(f"PRAGMA key = 'raw:{keys.store_key.hex()}'")
            with copy.backup("main", connection, "main") as running:
                while not running.done:
                    running.step(-1)
    except BaseException:
        remove_file(target)
        raise
