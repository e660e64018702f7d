"""Erasing memories for good: from tables, indexes, vectors, log and spool, in a copy that replaces the store.

It is done in a copy of the store, which then takes the old one's place (`mnemic.runtime.files.atomic_replace`): whoever
is killed leaves the one or the other. Deleted cells are overwritten, the word index is merged, vectors are overwritten
before they are deleted, and the whole file is written anew (``VACUUM``), so that no page keeps what a table lost.

The caller holds the mind alone. Below: `mnemic.runtime.transfer.redact_log`.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from mnemic.actors.capture.forget_messages import Selection, Surveyed
from mnemic.actors.kernel.errors import DamagedStore
from mnemic.runtime.files.atomic_replace import atomic_replace, write_error
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder
from mnemic.runtime.spool.files import QUARANTINE, SpoolFile, open_spool_file, spool_files, try_lock
from mnemic.runtime.spool.frames import FILE_HEADER_BYTES, FrameDecryptor
from mnemic.runtime.store.capture.read import spool_offsets
from mnemic.runtime.store.communities.write import clear_communities
from mnemic.runtime.store.forget import select_rows
from mnemic.runtime.store.knowledge.write import forget_readings
from mnemic.runtime.store.log.write import text_tombstones
from mnemic.runtime.store.memory_terms import remove_terms
from mnemic.runtime.store.schema import connect, copy_database, translate_errors, write_transaction
from mnemic.runtime.store.shape.rebind_queue import RebindQueue, first_speakers
from mnemic.runtime.store.sleep.write import erase_sources
from mnemic.runtime.store.supersession import set_successor
from mnemic.runtime.store.texts import drop_text_if_unused, load_text
from mnemic.runtime.transfer.redact_log import (
    LogRedactor,
    Relinked,
    find_quotes,
    retirement_reasons,
    scope_change_paths,
    touches,
)

_ZEROS = bytes(1 << 20)

Progress = Callable[[str, int, int | None], None]
"""Told what is being done, how much of it is done, and how much there is."""


class Erasure(msgspec.Struct, frozen=True, kw_only=True, rename={"quarantined": "aside"}):
    """What was erased."""

    memories: int
    """Memories that are gone."""
    size_bytes: int
    """How long their texts were together."""
    before_bytes: int
    """Length of the store before."""
    after_bytes: int
    """Length of the store now."""
    quoted: int
    """Questions, reasons, and records that nobody understood, which quoted them and lost their words."""
    spool_files: int
    """Files of the spool from which what was taken in is wiped."""
    quarantined: tuple[str, ...]
    """Files that were kept beside the spool because they held what could not be opened, and are removed."""
    migration_copies: tuple[str, ...]
    """Copies of the store from before a migration, which are removed."""


class _TextKey(NamedTuple):
    """What tells the words of a memory from others; as in `AddMemory`."""

    assistant: str
    session: str
    kind: str
    role: str
    text: bytes


class _MemoryToErase(NamedTuple):
    """A memory that is to be erased."""

    row: int
    id: bytes
    identity: bytes
    text: int
    original: int | None
    marks: tuple[bytes, ...]
    """Of its words: see `text_tombstones`."""


def migration_copies(folder: MindFolder) -> list[str]:
    """Names of the copies of the store that older versions of it left, and of what a killed one left of them."""
    found = [*folder.path.glob("store.schema-*"), *folder.path.glob(".store.schema-*")]
    return sorted(path.name for path in found)


def erase(folder: MindFolder, keys: Keys, selection: Selection, seen: Surveyed, progress: Progress) -> Erasure:
    """Erase the memories of a selection that were there when it was surveyed.

    Args:
        seen: what was shown of it: what was kept since is not erased.

    Raises:
        NoSuchMemory, UnknownScope, UnknownSession: there is nothing of that name.
        DamagedStore: the store is not whole, or was made anew since it was surveyed.
        DiskFull, StoreReadOnly: nothing was erased.
    """
    before = folder.store.stat().st_size
    with atomic_replace(folder.path) as draft:
        copy = draft.path / folder.store.name
        progress("copying", 0, None)
        with closing(connect(folder.store, keys, alone=True)) as source:
            copy_database(source, copy, keys)
        with translate_errors(copy), closing(connect(copy, keys, alone=True)) as connection:
            done = _Eraser(connection, keys, selection, seen, progress).run()
            offsets = spool_offsets(connection)
        copies = migration_copies(folder)
        quarantined = quarantined_files(folder.spool)
        for name in (*copies, *(f"{folder.spool.name}/{one}" for one in quarantined)):
            draft.remove(name)
        # What is taken in is in the store, whichever of the two it will be: it need not wait for the moment of change.
        wiped = _wipe_spool(folder, keys, offsets)
        after = copy.stat().st_size
    return Erasure(
        memories=done[0],
        size_bytes=done[1],
        before_bytes=before,
        after_bytes=after,
        quoted=done[2],
        spool_files=wiped,
        quarantined=tuple(quarantined),
        migration_copies=tuple(copies),
    )


def _wipe_spool(folder: MindFolder, keys: Keys, offsets: dict[bytes, int]) -> int:
    try:
        return wipe_consumed(
            folder.spool, offsets, FrameDecryptor(keys.spool_private, keys.earlier_spool_privates).key_ids
        )
    except OSError as error:
        raise write_error(folder.spool, error) from error


class _Eraser:
    """Erases in a copy that nobody else has open, and that is thrown away where it fails."""

    def __init__(
        self, connection: apsw.Connection, keys: Keys, selection: Selection, seen: Surveyed, progress: Progress
    ) -> None:
        self._db = connection
        self._identity = keys.identity_hash()
        self._selection = selection
        self._seen = seen
        self._progress = progress

    def run(self) -> tuple[int, int, int]:
        """How many memories are erased, how long their texts were, and how many records quoted them."""
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "foreign_keys = OFF", "secure_delete = ON"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.execute("PRAGMA temp_store = FILE")  # sealed, and without a name; a store may be larger than memory
        with write_transaction(self._db):
            counts = self._erase()
            if self._db.execute("PRAGMA foreign_key_check").fetchone() is not None:
                raise DamagedStore(path=self._db.filename, why="something in it belongs to nothing")
        self._progress("writing", 0, None)
        self._db.execute("VACUUM")
        self._db.execute("PRAGMA journal_mode = WAL")
        return counts

    def _erase(self) -> tuple[int, int, int]:
        if self._db.execute("SELECT number FROM generation").get != self._seen.generation:
            raise DamagedStore(path=self._db.filename, why="it was made anew since it was looked at: look again")
        rows = select_rows(self._db, self._selection, self._seen.last_row)
        self._db.execute("CREATE TEMP TABLE gone(row INTEGER PRIMARY KEY)")
        self._db.executemany("INSERT INTO gone VALUES(?)", [(row,) for row in rows])
        size = int(
            self._db.execute(
                "SELECT coalesce(sum(t.size), 0) FROM gone g JOIN memories m ON m.id = g.row"
                " JOIN texts t ON t.id = m.text"
            ).get
        )
        doomed = [self._load_memory(row) for row in rows]
        own = {text for one in doomed for text in (one.text, one.original) if text is not None}
        quoting = self._find_quotes(own)
        reasons = frozenset(name for what, name in quoting if what == "reason")
        gone = {one.id: (one.row, one.identity) for one in doomed}
        relinked = LogRedactor(self._db, gone, reasons).run(lambda done, total: self._progress("log", done, total))
        self._progress("tables", 0, None)
        self._relink(relinked)
        self._erase_history(quoting)
        self._erase_side_tables(quoting)
        self._erase_codes()
        self._erase_vectors()
        self._erase_graph()
        self._erase_knowledge()
        erase_sources(self._db, self._column("SELECT row FROM gone"))
        self._erase_memories(doomed)
        for text in own | {name for what, name in quoting if what == "text"}:
            drop_text_if_unused(self._db, text)
        self._db.execute("UPDATE generation SET number = number + 1")
        return len(rows), size, len(quoting)

    def _load_memory(self, row: int) -> _MemoryToErase:
        found: Any = next(
            self._db.execute(
                "SELECT m.uuid, m.identity, m.text, o.text, s.assistant, s.name, m.kind, m.role"
                " FROM memories m JOIN sessions s ON s.id = m.session LEFT JOIN originals o ON o.memory = m.id"
                " WHERE m.id = ?",
                (row,),
            )
        )
        id, identity, text, original, assistant, session, kind, role = found
        said = _TextKey(assistant, session, kind, role, load_text(self._db, text))
        return _MemoryToErase(row, id, identity, text, original, text_tombstones(said, self._identity)[:1])

    def _find_quotes(self, own: set[int]) -> set[tuple[str, Any]]:
        """Questions, reasons, and rows of texts that nobody understood, that hold a run of what goes."""

        def candidates() -> Iterator[tuple[tuple[str, Any], bytes]]:
            for query in self._column("SELECT DISTINCT query FROM givings WHERE query != ''"):
                yield ("query", query), query.encode("utf-8", "surrogatepass")
            for reason in retirement_reasons(self._db):
                yield ("reason", reason), reason.encode("utf-8", "surrogatepass")
            for row in self._column("SELECT text FROM aside WHERE text IS NOT NULL"):
                yield ("text", row), load_text(self._db, row)

        return find_quotes(candidates(), lambda: (load_text(self._db, row) for row in own))

    def _erase_history(self, quoting: set[tuple[str, Any]]) -> None:
        """What assistants were given of them, and what was asked where one of them was found or is quoted."""
        emptied = (  # conversations of which nothing is left
            "SELECT s.name FROM sessions s JOIN memories m ON m.session = s.id WHERE s.name != '' GROUP BY s.name"
            " HAVING count(*) = sum(m.id IN (SELECT row FROM gone))"
        )
        given = "SELECT giving FROM given_parts WHERE memory IN (SELECT row FROM gone)"
        for sql in (
            f"DELETE FROM given_parts WHERE giving IN (SELECT id FROM givings WHERE session IN ({emptied}))",
            f"DELETE FROM givings WHERE session IN ({emptied})",
            f"UPDATE givings SET query = '', erased = erased + (SELECT count(*) FROM ({given} AND giving = givings.id))"
            f" WHERE id IN ({given})",
            "DELETE FROM given_parts WHERE memory IN (SELECT row FROM gone)",
        ):
            self._db.execute(sql)
        queries = [(name,) for what, name in quoting if what == "query"]
        self._db.executemany("UPDATE givings SET query = '' WHERE query = ?", queries)

    def _relink(self, relinked: list[Relinked]) -> None:
        for link in relinked:
            newer = None if link.successor is None else self._row_of(link.successor)
            set_successor(self._db, self._row_of(link.memory), newer, None if newer is None else link.at)

    def _erase_side_tables(self, quoting: set[tuple[str, Any]]) -> None:
        """What is beside the memories."""
        for what, name in quoting:
            if what == "text":
                # Nobody can understand it any more: it is let go of, as one is that was understood after all.
                self._db.execute(
                    "UPDATE aside SET text = NULL, readmitted_at = coalesce(readmitted_at, recorded_at) WHERE text = ?",
                    (name,),
                )
            elif what == "reason":
                self._db.execute("UPDATE memories SET retired_reason = '' WHERE retired_reason = ?", (name,))
        self._db.execute("DELETE FROM originals WHERE memory IN (SELECT row FROM gone)")
        self._db.execute("DELETE FROM scrubbed WHERE memory IN (SELECT row FROM gone)")

    def _row_of(self, memory: bytes) -> int:
        return int(self._db.execute("SELECT id FROM memories WHERE uuid = ?", (memory,)).get)

    def _column(self, sql: str) -> list[Any]:
        """The only column of a query."""
        return [one for (one,) in self._db.execute(sql).fetchall()]

    def _erase_vectors(self) -> None:
        """Windows and vectors; sqlite-vec leaves a deleted vector where it was, so it is overwritten before."""
        encoders: list[Any] = self._db.execute("SELECT id, dimensions FROM encoders").fetchall()
        for encoder, dimensions in encoders:
            windows: list[Any] = self._db.execute(
                "SELECT id FROM windows WHERE encoder = ? AND memory IN (SELECT row FROM gone)", (encoder,)
            ).fetchall()
            nothing = bytes(4 * dimensions)
            for (window,) in windows:
                self._db.execute(f"UPDATE vectors_{encoder} SET embedding = ? WHERE rowid = ?", (nothing, window))
                self._db.execute(f"DELETE FROM vectors_{encoder} WHERE rowid = ?", (window,))
        self._db.execute("DELETE FROM windows WHERE memory IN (SELECT row FROM gone)")
        self._db.execute("DELETE FROM meanings WHERE memory IN (SELECT row FROM gone)")

    def _erase_codes(self) -> None:
        """Hypervectors, of others too: those of what stood beside it hold its meaning, and are bound again without."""
        marker = RebindQueue(self._db)
        rows = self._column("SELECT row FROM gone")
        sessions = self._column("SELECT DISTINCT m.session FROM gone g JOIN memories m ON m.id = g.row")
        named = {session: first_speakers(self._db, session) for session in sessions}
        for row in rows:
            marker.memory_leaving(row)
        self._db.execute("UPDATE memories SET retired_at = coalesce(retired_at, 0) WHERE id IN (SELECT row FROM gone)")
        others = marker.take_neighbours()
        for session in sessions:  # records name those who are spoken to: whoever says nothing any more is not
            if first_speakers(self._db, session) != named[session]:
                others.update(self._column(f"SELECT id FROM memories WHERE session = {session} AND retired_at IS NULL"))
        stale = (  # what waits may have been bound when it still stood beside it
            "SELECT u.memory FROM unbound u JOIN memories m ON m.id = u.memory WHERE m.session IN"
            " (SELECT g.session FROM gone JOIN memories g ON g.id = gone.row)"
        )
        for row in others.union(self._column(stale)).difference(rows):
            marker.drop_codes(row)
            marker.enqueue(row)
        self._db.execute("DELETE FROM unbound WHERE memory IN (SELECT row FROM gone)")
        self._db.execute("UPDATE unbound SET marked = 0")  # no transaction will come for it

    def _erase_graph(self) -> None:
        """What goes, out of all boundaries; the communities that it took part in are found again without it."""
        gone = "IN (SELECT row FROM gone)"
        was_node = self._db.execute(f"SELECT 1 FROM boundary_changes WHERE memory {gone} LIMIT 1").get is not None
        self._db.execute(f"DELETE FROM graph_waiting WHERE memory {gone}")
        self._db.execute(f"DELETE FROM members WHERE memory {gone}")
        self._db.execute(f"DELETE FROM boundary_changes WHERE memory {gone}")
        self._db.execute(f"UPDATE boundary_changes SET successor = NULL WHERE successor {gone}")
        if was_node:
            clear_communities(self._db)

    def _erase_knowledge(self) -> None:
        """What was read from what goes, what was said of that, and what it replaced stands again."""
        forget_readings(self._db, self._column("SELECT row FROM gone"))
        gone = "IN (SELECT row FROM gone)"
        self._db.execute(f"DELETE FROM unread WHERE memory {gone}")
        self._db.execute(f"DELETE FROM verdicts WHERE older {gone} OR newer {gone}")

    def _erase_memories(self, doomed: list[_MemoryToErase]) -> None:
        """The memories, their words, and the conversations and scopes that hold nothing then."""
        marks = ((mark,) for one in doomed for mark in (one.identity, *one.marks))
        self._db.executemany("INSERT OR IGNORE INTO erased(identity) VALUES(?)", marks)
        self._db.execute("UPDATE erased_rows SET last = max(last, (SELECT coalesce(max(row), 0) FROM gone))")
        remove_terms(self._db, self._column("SELECT row FROM gone"))
        places: list[Any] = self._db.execute(
            "SELECT DISTINCT m.session, m.scope FROM memories m WHERE m.id IN (SELECT row FROM gone)"
        ).fetchall()
        self._db.execute("DELETE FROM memories WHERE id IN (SELECT row FROM gone)")
        for session in {session for session, _ in places}:
            self._db.execute(
                "DELETE FROM sessions WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM memories WHERE session = ?1)",
                (session,),
            )
        paths = scope_change_paths(self._db)
        for scope in {scope for _, scope in places}:
            path = self._db.execute("SELECT path FROM scopes WHERE id = ?", (scope,)).get
            if self._db.execute("SELECT 1 FROM memories WHERE scope = ?", (scope,)).get is None and not touches(
                paths, path
            ):
                self._db.execute("DELETE FROM projects WHERE scope = ?", (scope,))
                self._db.execute("DELETE FROM scopes WHERE id = ?", (scope,))


def wipe_consumed(folder: Path, offsets: Mapping[bytes, int], keys: frozenset[bytes]) -> int:
    """Overwrite what is taken in, and remove files that have nothing else; returns how many files that were.

    A hook only ever appends, and what is taken in is not read again, so zeros take its place whoever is writing at the
    moment.

    Args:
        offsets: how far each file is taken in, by its id.
        keys: ids of the keys that the mind opens; another key's files are left alone.

    Raises:
        OSError: a file cannot be written; others may have been wiped.
    """
    wiped = 0
    for name in spool_files(folder):
        with open_spool_file(folder / name) as file:
            if file is None or not file.is_readable(keys):
                continue
            stop = min(offsets.get(file.id, 0), file.size())
            if stop > FILE_HEADER_BYTES:
                wiped += 1
                _overwrite(folder / name, file, stop)
                _remove(folder / name, file, stop)
    return wiped


def quarantined_files(folder: Path) -> list[str]:
    """Names, below the spool's folder, of files that are kept though they are read."""
    return [f"{QUARANTINE}/{name}" for name in spool_files(folder / QUARANTINE)]


def _overwrite(path: Path, file: SpoolFile, stop: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not os.path.samestat(os.fstat(descriptor), os.fstat(file.descriptor)):
            raise FileNotFoundError(f"{path} was replaced at this moment")
        position = FILE_HEADER_BYTES
        while position < stop:
            position += os.pwrite(descriptor, _ZEROS[: stop - position], position)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path, file: SpoolFile, stop: int) -> None:
    """Remove a file that has nothing else, if nobody is writing to it: a hook sees that its name is gone."""
    with try_lock(file.descriptor, fcntl.LOCK_EX) as is_held:
        if is_held and file.size() == stop and os.path.samestat(path.lstat(), os.fstat(file.descriptor)):
            path.unlink()
