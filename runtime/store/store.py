"""The store: one encrypted SQLite file for each mind, an append-only log of what came in, and tables beside it.

A writing transaction takes the right to write at its start, so that several processes may take turns; readers
(`mnemic.runtime.store.reader`) work meanwhile. Each has a number, `seq`. Memories can be made again from the log
(`rebuild`), and a mind can be copied as it was after any transaction: the log, carried out again to that one (`fork`).

A writer that lives long is fenced: whoever opens the store for the same slot takes the next epoch, and one of an older
epoch, believed dead and perhaps only slow, writes no more. A command that opens, writes and closes needs no fence: each
of its transactions is whole, whoever else writes.

A commit stands in the write-ahead log until a checkpoint takes it over into the store's own file: after 1,000 pages,
else when nobody wants anything (`mnemic.runtime.engine.idleness`), before a spool file is removed, and at the end.
Damage in the log that matters is seen then (`mnemic.runtime.store.write_ahead_log`), and all is written anew. Where it
cannot be, no further transaction is taken: the log lacks its last ones for whoever opens the store next, and
`mnemic.runtime.store.high_water` says how many.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, get_args

import apsw
import msgspec

from mnemic.actors.capture.changes import KeepOriginal, Relabel
from mnemic.actors.kernel.changes import Change, Logged, UnloggedChange
from mnemic.actors.kernel.errors import DamagedStore, DiskFull, Fenced, InvalidValue, StoreError, StoreReadOnly
from mnemic.actors.kernel.scope_paths import SCOPES_UNDO_AUTHOR
from mnemic.actors.knowledge.changes import SettleStatements
from mnemic.actors.log.changes import AddMemory, Retire, Supersede, Unretire
from mnemic.actors.scopes.changes import RenameScope
from mnemic.actors.store.messages import AddOutcome, Applied
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.store.apply_context import ApplyContext, Handler
from mnemic.runtime.store.capture.write import CAPTURE_HANDLERS
from mnemic.runtime.store.communities.write import COMMUNITY_HANDLERS, GRAPH_TABLES
from mnemic.runtime.store.high_water import HighWaterMark, MarkWriter, newest_transaction, read_mark, unknown_loss
from mnemic.runtime.store.knowledge.write import KNOWLEDGE_HANDLERS, KNOWLEDGE_TABLES
from mnemic.runtime.store.log.write import MEMORY_HANDLERS
from mnemic.runtime.store.meaning.write import MEANING_HANDLERS, reopen_completeness
from mnemic.runtime.store.memory_terms import clear_terms
from mnemic.runtime.store.schema import (
    EncryptedConnection,
    check_schema,
    connect,
    copy_database,
    create_file,
    migrate,
    remove_file,
    translate_errors,
    write_transaction,
)
from mnemic.runtime.store.scopes.write import SCOPE_HANDLERS, check_undo
from mnemic.runtime.store.shape.rebind_queue import RebindQueue
from mnemic.runtime.store.shape.write import CODE_TABLES, SHAPE_HANDLERS
from mnemic.runtime.store.sleep.write import DERIVED_TABLES, NIGHT_TABLES, SLEEP_HANDLERS, clear_failures, rewind_nights
from mnemic.runtime.store.texts import drop_unused_texts, load_text

_log = logging.getLogger("mnemic.store")

_encode = msgspec.msgpack.Encoder().encode
_decode_change = msgspec.msgpack.Decoder(Logged).decode
_decode_answer = msgspec.msgpack.Decoder(Applied).decode
_REQUESTABLE = get_args(Change)
_UNLOGGED = get_args(UnloggedChange)
_HANDLERS: dict[type, Handler] = {
    **MEMORY_HANDLERS,
    **MEANING_HANDLERS,
    **SHAPE_HANDLERS,
    **CAPTURE_HANDLERS,
    **SCOPE_HANDLERS,
    **COMMUNITY_HANDLERS,
    **KNOWLEDGE_HANDLERS,
    **SLEEP_HANDLERS,
}
_LOGGED_TABLES = [
    "unbound",
    "occurrences",
    "originals",
    "silenced",
    "projects",
    "scrubbed",
    "memories",
    "sessions",
    "scopes",
]
"""What a replay of the log makes again, in an order in which it can go."""


class TransactionMetadata(msgspec.Struct, frozen=True):
    """What each transaction is marked with."""

    machine: str = ""
    """Name of the machine."""
    version: str = ""
    """Version of Mnemic."""


class Store:
    """The writer of one mind. Not for use by two threads at once."""

    def __init__(self, path: Path, keys: Keys, connection: EncryptedConnection, stamp: TransactionMetadata) -> None:
        self._path = path
        self._keys = keys
        self._db = connection
        self._metadata = stamp
        self._context = ApplyContext(connection, keys.identity_hash())
        self._fence: str | None = None
        self._epoch: int | None = None  # of the fence, once the store has it
        self._is_closed = False
        self._mark = MarkWriter(path, keys)
        self._newest: tuple[int, int | None] = (0, None)
        self._is_loss_unnoted = False
        self._synced = 0  # the disk has the transactions up to this one

    @classmethod
    def create(cls, path: Path, keys: Keys, stamp: TransactionMetadata | None = None) -> Store:
        """Make a new store.

        Raises:
            MindExists: there is a file of that name.
            DiskFull, StoreReadOnly: it cannot be written.
        """
        create_file(path)
        try:
            return cls._open(path, keys, stamp, new=True)
        except BaseException:
            remove_file(path)
            raise

    @classmethod
    def open(cls, path: Path, keys: Keys, stamp: TransactionMetadata | None = None, fence: str | None = None) -> Store:
        """Open a store, and bring an older one to the newest schema.

        Args:
            fence: the slot this writer fills. It is the slot's only one from now on: any that was opened for it before
                is refused by `Fenced`. Where nothing can be written now, that is so from its first transaction on.
                ``None`` for one that replaces nobody and that nobody replaces.

        Raises:
            DamagedStore, NewerSchema, StoreReadOnly, StoreBusy: nothing was written.
        """
        store = cls._open(path, keys, stamp, new=False, lasting=fence is not None)
        if fence is not None:
            store._fence = fence
            try:
                with store._write_transaction():
                    pass
            except (DiskFull, StoreReadOnly) as error:  # readers of this process work, and it writes nothing before
                _log.warning("%s is read only: %s", path, error.code)
            except BaseException:
                store.close()
                raise
        return store

    @classmethod
    def _open(
        cls, path: Path, keys: Keys, stamp: TransactionMetadata | None, *, new: bool, lasting: bool = False
    ) -> Store:
        connection = connect(path, keys, new=new, lasting=lasting)
        try:
            migrate(connection, path, keys, new=new)
            store = cls(path, keys, connection, stamp or TransactionMetadata())
            store._compare_mark()
            return store
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Let go of the file; the last one to do so empties the write-ahead log."""
        if not self._is_closed:
            self._try_checkpoint()
        self._is_closed = True
        self._mark.close()
        self._db.close()

    def checkpoint(self) -> bool:
        """Take the write-ahead log over into the store's own file, and cut it to nothing; waits for nobody.

        Says whether the disk holds all that was committed before, there. Not where somebody reads an older state.

        Raises:
            DiskFull, StoreReadOnly: nothing is lost, it stands in the log as before.
            DamagedStore: something in the log cannot be read any more; no transaction is taken until it can.
        """
        with translate_errors(self._path):
            self._newest = newest_transaction(self._db)  # others write, too
            busy, pages, taken_over = self._db.empty_log(waits=False)
        # busy: at least it is not cut, which the next one does
        complete = bool(pages == taken_over and (pages >= 0 or not busy))  # below 0: this file system allows no log
        if complete and self._newest[0] > self._synced:
            self._synced = self._newest[0]
            self._write_mark()
        return complete

    def accept_losses(self) -> None:
        """Take note of the transactions that are missing: nobody is told of them any more."""
        with self._write_transaction():
            self._db.execute("DELETE FROM lost")

    def retry_stages(self) -> None:
        """Have stages that failed in nights tried again by the next one."""
        with self._write_transaction():
            clear_failures(self._db)

    def apply(self, changes: Iterable[Change], *, at: int, key: bytes, author: str, run: str) -> Applied:
        """Carry out changes in one transaction: all or none.

        Args:
            at: system time, microseconds; what is written carries it.
            key: idempotency key; the same key again changes nothing and gives the answer of the first time.

        Raises:
            DiskFull, StoreReadOnly, StoreBusy, DamagedStore, NewerSchema, Fenced, NoSuchMemory, InvalidValue: nothing
                was changed.
        """
        with self._write_transaction():
            return self._apply(changes, at=at, key=key, author=author, run=run)

    @contextmanager
    def transaction(self) -> Iterator[tuple[Callable[..., Applied], apsw.Connection]]:
        """One transaction for many applies, each with a time of its own, and each carried out whole or not at all.

        Gives what takes what `apply` takes, and in ``also`` types of changes that no actor may ask for; and the
        connection, to look at what is there by then.

        Raises: as `apply`; nothing of all of them was changed then.
        """

        def apply(changes: Iterable[Change], **named: Any) -> Applied:
            with self._db:
                applied = self._apply(changes, **named)
            return applied  # noqa: RET504 - for all that mypy knows, the context may swallow an error

        with self._write_transaction():
            yield apply, self._db

    def rebuild(self, progress: Callable[[int, int | None], None], *, meaning: bool) -> int:
        """Make memories again by replaying the log; with `meaning`, the vectors go and follow later.

        Hypervectors go with the vectors; without `meaning` they answer until they are bound again. What nights derived
        goes with `meaning` alone, until the next night.

        Returns the store's number. One transaction: readers see the old state until the new one is whole.
        """
        with self._write_transaction():
            self._replay(progress, meaning=meaning)
            return self._last_seq()

    def fork(self, path: Path, at_seq: int | None = None) -> None:
        """Copy the store into a new file, as it was after transaction `at_seq`, or is; the same key opens it.

        Raises:
            InvalidValue: there was no such transaction.
            MindExists: there is a file of that name.
        """
        with translate_errors(self._path):
            last = self._last_seq()
        at_seq = last if at_seq is None else at_seq
        if not 0 <= at_seq <= last:
            raise InvalidValue(name="at_seq", value=at_seq, why="the store has no such number", expected=f"0 to {last}")
        copy_database(self._db, path, self._keys)
        try:
            with closing(Store.open(path, self._keys, self._metadata)) as copy:
                copy._rewind(at_seq)
        except BaseException:
            remove_file(path)
            raise

    def _apply(
        self,
        changes: Iterable[Change],
        *,
        at: int,
        key: bytes,
        author: str,
        run: str,
        also: tuple[type, ...] = (),
    ) -> Applied:
        answered = self._db.execute("SELECT answer FROM applies WHERE key = ?", (key,)).get
        if answered is not None:
            return _decode_answer(answered)
        if author == SCOPES_UNDO_AUTHOR:
            changes = tuple(changes)
            check_undo(self._db, changes)
        self._db.execute(
            "INSERT INTO applies(key, at, machine, code, author, run, answer) VALUES(?, ?, ?, ?, ?, ?, x'')",
            (key, at, self._metadata.machine, self._metadata.version, author, run),
        )
        self._context.seq = seq = self._db.last_insert_rowid()
        self._context.rebind_queue = RebindQueue(self._db)  # the one before may hold what failed
        kept: list[AddOutcome] = []
        known: dict[bytes, bytes] = {}
        gone: set[bytes] = set()  # was erased, and is not kept again; so what else is said of it does not hold either
        done: list[bool] = []
        made_way: list[RenameScope] = []
        for change in changes:
            if not isinstance(change, (*_REQUESTABLE, *also)):
                raise ValueError(f"{type(change).__name__} is what erasing leaves, which only the store may write")
            if not gone.isdisjoint(_memory_ids(change)):
                done.append(False)
                continue
            if isinstance(change, Supersede):  # what was captured before goes by its first id
                change = Supersede(old=known.get(change.old, change.old), new=known.get(change.new, change.new))
            elif isinstance(change, KeepOriginal):
                change = KeepOriginal(memory=known.get(change.memory, change.memory), text=change.text)
            result = _HANDLERS[type(change)](self._context, change, at)
            if isinstance(change, AddMemory) and result.kept is not None:
                kept.append(result.kept)
                if result.kept.erased:
                    gone.add(change.id)
                else:
                    known[change.id] = result.kept.id
            done.append(result.changed)
            made_way += [] if result.before is None else [result.before[0]]
            if result.changed and not isinstance(change, _UNLOGGED):
                logged = result.logged or change
                if isinstance(logged, AddMemory | KeepOriginal):  # its text stands in `texts`
                    logged = msgspec.structs.replace(logged, text=b"")
                for entry, undo, text in ((*(result.before or (None, None)), None), (logged, result.undo, result.text)):
                    if entry is not None:
                        self._db.execute(
                            "INSERT INTO log(seq, change, undo, text) VALUES(?, ?, ?, ?)",
                            (seq, _encode(entry), None if undo is None else _encode(undo), text),
                        )
        self._context.rebind_queue.enqueue_neighbours()
        if not any(done):  # all of it was known: there is nothing to say
            self._db.execute("DELETE FROM applies WHERE seq = ?", (seq,))
        answer = Applied(seq=self._last_seq(), kept=tuple(kept), changed=tuple(done), made_way=tuple(made_way))
        self._db.execute("UPDATE applies SET answer = ? WHERE seq = ?", (_encode(answer), seq))
        return answer

    def _replay(self, progress: Callable[[int, int | None], None], *, meaning: bool) -> None:
        total = int(self._db.execute("SELECT count(*) FROM log").get)
        self._db.execute("UPDATE generation SET number = number + 1")
        self._db.execute("UPDATE erased_rows SET last = 0")
        self._db.execute("PRAGMA defer_foreign_keys = ON")
        if meaning:
            for row in self._column("SELECT id FROM encoders"):
                self._db.execute(f"DROP TABLE vectors_{row}")
            for table in (*CODE_TABLES, "windows", "meanings", "encoders", *DERIVED_TABLES):
                self._db.execute(f"DELETE FROM {table}")
        reopen_completeness(self._db, 1)
        clear_terms(self._db)
        for table in (*GRAPH_TABLES, *KNOWLEDGE_TABLES, *NIGHT_TABLES, "unbound", *_LOGGED_TABLES):
            self._db.execute(f"DELETE FROM {table}")
        self._db.execute("DELETE FROM sqlite_sequence WHERE name = 'scopes'")  # they get the numbers that they had
        done = row = 0
        self._context.is_replaying = True
        try:
            while rows := self._log_page(row):
                for _, encoded, text, at, seq in rows:
                    change, self._context.seq = _decode_change(encoded), seq
                    if text is not None:
                        change = msgspec.structs.replace(change, text=load_text(self._db, text))
                    _HANDLERS[type(change)](self._context, change, at)
                self._context.rebind_queue.enqueue_neighbours()
                row = rows[-1][0]
                done += len(rows)
                progress(done, total)
        finally:
            self._context.is_replaying = False
        self._db.execute("UPDATE unbound SET marked = 0")  # no transaction is to come for it

    def _rewind(self, at_seq: int) -> None:
        """Make a copy what the store was after a transaction; vectors of what was there then stay."""
        with self._write_transaction():
            self._db.execute("DELETE FROM fences")  # who may write to the original says nothing about the copy
            if at_seq >= self._last_seq():
                return
            self._db.execute(
                "DELETE FROM given_parts WHERE giving IN (SELECT id FROM givings WHERE seq > ?)", (at_seq,)
            )
            rewind_nights(self._db, at_seq)
            for table in ("givings", "aside", "log", "applies"):
                self._db.execute(f"DELETE FROM {table} WHERE seq > ?", (at_seq,))
            self._db.execute("DELETE FROM transcripts")  # of what was taken in, some may not have been there yet
            for table in CODE_TABLES:  # a memory may have been bound with what came after it
                self._db.execute(f"DELETE FROM {table}")
            self._replay(lambda done, total: None, meaning=False)
            for encoder in self._column("SELECT id FROM encoders"):
                later = f"SELECT id FROM windows WHERE encoder = {encoder} AND memory NOT IN (SELECT id FROM memories)"
                for window in self._column(later):
                    self._db.execute(f"DELETE FROM vectors_{encoder} WHERE rowid = ?", (window,))
            for table in ("windows", "meanings"):
                self._db.execute(f"DELETE FROM {table} WHERE memory NOT IN (SELECT id FROM memories)")
            drop_unused_texts(self._db)

    @contextmanager
    def _write_transaction(self) -> Iterator[None]:
        """One transaction, unless a newer Mnemic has changed the store meanwhile, or another writer has taken over."""
        if self._db.is_log_damaged:
            self.checkpoint()  # or nothing is written: it would be acknowledged, and lost
        with translate_errors(self._path), write_transaction(self._db):
            check_schema(self._db, self._path)
            epoch = self._epoch
            if self._fence is not None and epoch is None:
                epoch = self._next_epoch(self._fence)
            elif self._fence is not None:
                current = self._db.execute("SELECT epoch FROM fences WHERE slot = ?", (self._fence,)).get or 0
                if current != epoch:
                    raise Fenced(path=str(self._path), own=epoch, current=current)
            if self._is_loss_unnoted:
                self._note_loss()
            yield
            newest = newest_transaction(self._db)
        self._epoch, self._newest, self._is_loss_unnoted = epoch, newest, False
        self._write_mark()

    def _compare_mark(self) -> None:
        """Keep in mind what the store lacks of what its mark says, before another transaction takes those numbers."""
        with translate_errors(self._path):
            mark = self._read_mark()  # first: who writes meanwhile makes the store newer than it, never older
            self._newest = newest_transaction(self._db)
        if mark is not None:
            self._synced = min(mark.synced, self._newest[0])
        if mark is None or mark.seq > self._newest[0]:
            self._is_loss_unnoted = True
            try:
                with translate_errors(self._path), write_transaction(self._db):
                    self._note_loss()
            except (DiskFull, StoreReadOnly) as error:  # it can be read; the next transaction notes it
                _log.warning("what is missing from %s is not noted yet: %s", self._path, error.code)
                return
            self._is_loss_unnoted = False
            self._try_checkpoint()  # so that the disk knows of it before the mark says nothing of it any more
        self._write_mark()

    def _read_mark(self) -> HighWaterMark | None:
        """The mark, one that says nothing where there is none yet; ``None`` where what it says is not known."""
        try:
            return read_mark(self._path, self._keys) or HighWaterMark()
        except DamagedStore as error:
            _log.error("%s", error)
        except OSError as error:
            _log.error("the high-water mark of %s cannot be read: %s", self._path, error.strerror)
        return None

    def _note_loss(self) -> None:
        """Keep in mind what is missing; of losses that are not known, one is told until somebody takes note of it."""
        mark = self._read_mark()  # again: another process may have been faster
        self._newest = newest_transaction(self._db)
        lost = unknown_loss(*self._newest) if mark is None else mark.missing(*self._newest)
        if lost is None:
            return
        self._db.execute(
            "INSERT OR IGNORE INTO lost(last, count, since, until, power_cut) SELECT ?1, ?2, ?3, ?4, ?5"
            " WHERE ?2 > 0 OR NOT EXISTS (SELECT 1 FROM lost WHERE count = 0)",
            (lost.last, lost.count, lost.since, lost.until, lost.power_cut),
        )
        if lost.count:
            _log.error("%s lacks its last %d transactions", self._path, lost.count)

    def _write_mark(self) -> None:
        if self._is_loss_unnoted:
            return
        seq, at = self._newest
        self._synced = min(self._synced, seq)  # a fork goes back
        self._mark.write(seq, at or 0, self._synced)

    def _try_checkpoint(self) -> None:
        """Make a checkpoint that is nobody's wish: where it fails, what was committed stands in the log as before."""
        try:
            self.checkpoint()
        except StoreError as error:
            _log.warning("the write-ahead log of %s could not be taken over: %s", self._path, error.code)

    def _next_epoch(self, slot: str) -> int:
        return int(
            self._db.execute(
                "INSERT INTO fences(slot, epoch) VALUES(?, 1) ON CONFLICT(slot) DO UPDATE SET epoch = epoch + 1"
                " RETURNING epoch",
                (slot,),
            ).get
        )

    def _column(self, sql: str) -> list[Any]:
        return [row for (row,) in self._db.execute(sql).fetchall()]

    def _log_page(self, row: int) -> list[Any]:
        """The next page of the log; fetched at once (see `mnemic.runtime.store.reader`)."""
        return self._db.execute(
            "SELECT l.id, l.change, l.text, a.at, l.seq FROM log l JOIN applies a ON a.seq = l.seq"
            " WHERE l.id > ? ORDER BY l.id LIMIT 1000",
            (row,),
        ).fetchall()

    def _last_seq(self) -> int:
        return int(self._db.execute("SELECT coalesce(max(seq), 0) FROM applies").get)


def _memory_ids(change: Change) -> tuple[bytes, ...]:
    """Ids of the memories that a change of what was just captured is about."""
    if isinstance(change, Supersede):
        return change.old, change.new
    if isinstance(change, SettleStatements):
        return change.older, change.newer
    if isinstance(change, Relabel):
        return tuple(labels.memory for labels in change.labels)
    return (change.memory,) if isinstance(change, KeepOriginal | Retire | Unretire) else ()
