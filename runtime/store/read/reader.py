"""Read snapshots of the store for actors: each is one SQLite read transaction."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from mnemic.actors.protocol.changes import EncoderName
from mnemic.actors.protocol.errors import NoSuchMemory
from mnemic.actors.protocol.events import DEFAULT_KINDS, KINDS
from mnemic.actors.protocol.meaning.messages import EmbedProgress
from mnemic.actors.protocol.recall.messages import Memory
from mnemic.actors.protocol.snapshot import (
    Columns,
    MemoryAttributes,
    Pending,
    Retired,
    Superseded,
    TermBlock,
    VectorBlock,
)
from mnemic.actors.protocol.store.messages import Counts, ScopeCount
from mnemic.actors.protocol.times import DAY_US, Zone
from mnemic.algorithms.retrieval.term_codes import TermTotals
from mnemic.algorithms.text.languages.table import DEFAULT
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.store.apply.meaning import UNEMBEDDED, encoder_row
from mnemic.runtime.store.high_water import lost_transactions
from mnemic.runtime.store.memory_terms import read_totals
from mnemic.runtime.store.read.brief import BriefQueries
from mnemic.runtime.store.read.capture import CaptureQueries
from mnemic.runtime.store.read.codes import CodeQueries
from mnemic.runtime.store.read.communities import CommunityQueries
from mnemic.runtime.store.read.knowledge import KnowledgeQueries
from mnemic.runtime.store.read.log import LogQueries
from mnemic.runtime.store.read.scopes import ScopeQueries
from mnemic.runtime.store.read.selections import SelectionQueries
from mnemic.runtime.store.read.sleep import SleepQueries
from mnemic.runtime.store.rebind_queue import BINDING_FAILED
from mnemic.runtime.store.schema import (
    AUTHOR,
    SAID_OR_KEPT,
    check_schema,
    connect,
    translate_errors,
)
from mnemic.runtime.store.supersession import current_successor, superseded_ids
from mnemic.runtime.store.texts import load_text, text_prefix, to_index_text

_BULK = "(" + ", ".join(f"'{kind}'" for kind in KINDS if kind not in DEFAULT_KINDS) + ")"
_MEMORY_FIELDS = (
    *("id", "source_id", "assistant", "session", "scope", "found", "kind", "role", "speaker", "branch", "tool"),
    *("outcome", "said_at", "valid_from", "recorded_at", "retired_at", "retired_reason", "utc_offset_min", "author"),
)
_AT_ONCE = 256  # rows that one query asks for
_NO_OFFSET = -10_000  # what stands for none; a day has 1,440 minutes
_KIND_NUMBER = "CASE kind " + " ".join(f"WHEN '{kind}' THEN {n}" for n, kind in enumerate(KINDS)) + " END"


class Reader:
    """Snapshots of one store by a connection of its own. Not for use by two threads at once."""

    def __init__(self, path: Path, connection: apsw.Connection, zone: Zone) -> None:
        self._path = path
        self._db = connection
        self._zone = zone

    @contextmanager
    def snapshot(self) -> Iterator[StoreSnapshot]:
        """The newest state, in one read transaction.

        Raises:
            DamagedStore: a page that is read does not hold what was written.
            NewerSchema: a newer Mnemic has changed the store since it was opened.
        """
        with translate_errors(self._path):
            self._db.execute("BEGIN")
            try:
                check_schema(self._db, self._path)
                yield StoreSnapshot(self._db, self._zone)
            finally:
                if self._db.in_transaction:  # some failures end it by themselves
                    self._db.execute("ROLLBACK")

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


class PendingReader:
    """Snapshots of one store by a connection that is opened for the first of them: 6 of 8 actors of a short command
    never ask for one. Not for use by two threads at once.
    """

    def __init__(self, open_now: Callable[[], Reader]) -> None:
        self._open_now = open_now
        self._reader: Reader | None = None

    def snapshot(self) -> AbstractContextManager[StoreSnapshot]:
        """The newest state, as of `Reader.snapshot`.

        Raises:
            StoreError: the store cannot be opened, or read.
        """
        if self._reader is None:
            self._reader = self._open_now()
        return self._reader.snapshot()

    def close(self) -> None:
        """Let go of the file, where it was opened."""
        if self._reader is not None:
            self._reader.close()


def open_reader(path: Path, keys: Keys, zone: Zone | None = None) -> Reader:
    """A reader with a connection of its own, for one thread.

    Args:
        zone: by which days are told of what was kept without an offset of its own; the machine's where absent.

    Raises:
        DamagedStore, StoreReadOnly: the store cannot be opened.
    """
    return Reader(path, connect(path, keys), zone or SystemClock())


class StoreSnapshot(
    CaptureQueries,
    BriefQueries,
    CodeQueries,
    ScopeQueries,
    LogQueries,
    SelectionQueries,
    CommunityQueries,
    KnowledgeQueries,
    SleepQueries,
):
    """One state of the store; see `mnemic.actors.protocol.snapshot.Snapshot` for what its methods give."""

    def __init__(self, connection: apsw.Connection, zone: Zone) -> None:
        self._db = connection
        self._zone = zone
        self.seq = int(connection.execute("SELECT coalesce(max(seq), 0) FROM applies").get)
        self.log_row = int(connection.execute("SELECT coalesce(max(id), 0) FROM log").get)
        self.generation = int(connection.execute("SELECT number FROM generation").get)

    def memory_columns(self, after_row: int) -> Columns:
        found = self._db.execute(
            f"SELECT id, session, scope, {_KIND_NUMBER}, words, {SAID_OR_KEPT}, recorded_at,"
            f" said_at IS NOT NULL, coalesce(utc_offset_min, {_NO_OFFSET}) FROM memories WHERE id > ? ORDER BY id",
            (after_row,),
        ).fetchall()
        columns = Columns(*_columns(found, 9))
        unknown = columns.utc_offset_min == _NO_OFFSET
        if unknown.any():
            columns.utc_offset_min[unknown] = _offsets(columns.said_at[unknown], self._zone)
        return columns

    def memory_attributes(self, first_row: int, last_row: int) -> list[MemoryAttributes]:
        found = self._db.execute(
            "SELECT m.role, m.speaker, s.assistant, m.branch, m.tool, m.files FROM memories m"
            " JOIN sessions s ON s.id = m.session WHERE m.id BETWEEN ? AND ? ORDER BY m.id",
            (first_row, last_row),
        )
        read: dict[tuple[Any, ...], MemoryAttributes] = {}  # many rows are equal
        attributes = []
        for row in found:
            if row not in read:
                role, speaker, assistant, branch, tool, files = row
                read[row] = MemoryAttributes(role, speaker, assistant, branch, tool, tuple(json.loads(str(files))))
            attributes.append(read[row])
        return attributes

    def superseded(self) -> Superseded:
        # Told to use the index: to have them in order, SQLite would rather read all memories, 9 ms for 100,000.
        found = self._db.execute(
            "SELECT id, superseded_by, superseded_at FROM memories INDEXED BY memories_superseded"
            " WHERE superseded_by IS NOT NULL ORDER BY id"
        ).fetchall()
        return Superseded(*_columns(found, 3))

    def retired(self) -> Retired:
        found = self._db.execute(
            "SELECT id, retired_at FROM memories INDEXED BY memories_retired WHERE retired_at IS NOT NULL ORDER BY id"
        ).fetchall()
        return Retired(*_columns(found, 2))

    def scopes(self) -> dict[int, str]:
        return dict(self._db.execute("SELECT id, path FROM scopes"))

    def session_rows(self, name: str) -> list[int]:
        return [row for (row,) in self._db.execute("SELECT id FROM sessions WHERE name = ? ORDER BY id", (name,))]

    def session_names(self, rows: Sequence[int]) -> list[str]:
        found = self._db.execute(
            "SELECT name FROM sessions WHERE id IN (SELECT value FROM json_each(?))"
            " GROUP BY name ORDER BY max(id) DESC",
            (json.dumps(list(rows)),),
        )
        return [name for (name,) in found]

    def encoders(self) -> list[EncoderName]:
        return [EncoderName(*row) for row in self._db.execute("SELECT implementation, model FROM encoders ORDER BY id")]

    def vectors(self, encoder: EncoderName, after_window: int) -> VectorBlock:
        number = encoder_row(self._db, encoder)
        if number is None:
            none = np.empty(0, np.int64)
            return VectorBlock(none, none, none, np.empty((0, 0), np.float32))
        dimensions = int(self._db.execute("SELECT dimensions FROM encoders WHERE id = ?", (number,)).get)
        found: list[Any] = self._db.execute(
            "SELECT id, memory, start FROM windows WHERE encoder = ? AND id > ? ORDER BY id", (number, after_window)
        ).fetchall()
        window, row, start = _columns(found, 3)
        vectors = np.empty((len(found), dimensions), "<f4")
        # sqlite-vec scans all rows for a range of them; beyond a tenth of all, that is faster than one by one.
        count = "SELECT count(*) FROM windows WHERE encoder = ?"
        if found and len(found) > int(self._db.execute(count, (number,)).get) // 10:  # to count takes long, too
            rows = self._db.execute(f"SELECT rowid, embedding FROM vectors_{number}")
            while some := list(islice(rows, _AT_ONCE)):  # all at once would be in memory twice
                ids, blobs = zip(*some, strict=True)
                place = np.searchsorted(window, ids)
                new = np.array(ids) > after_window
                block = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), dimensions)
                vectors[place[new]] = block[new]
        else:
            one = f"SELECT embedding FROM vectors_{number} WHERE rowid = ?"
            for vector, (number_of_window, _, _) in zip(vectors, found, strict=True):
                vector[:] = np.frombuffer(self._db.execute(one, (number_of_window,)).get, "<f4")
        return VectorBlock(window, row, start, vectors)

    def languages(self) -> list[str]:
        found = [DEFAULT.code]
        step = f"SELECT min(language) FROM memories WHERE language != '{DEFAULT.code}' AND language > ?"
        code = self._db.execute(step, ("",)).get
        while code is not None:  # from one to the next in the index, however many memories have it
            found.append(str(code))
            code = self._db.execute(step, (code,)).get
        return found

    def memory_terms(self, after_row: int, limit: int) -> TermBlock:
        found: list[Any] = self._db.execute(
            "SELECT memory, codes FROM memory_terms WHERE memory > ? ORDER BY memory LIMIT ?", (after_row, limit)
        ).fetchall()
        rows, codes = zip(*found, strict=True) if found else ((), ())
        sizes = np.fromiter(map(len, codes), np.int64, len(codes))
        return TermBlock(np.array(rows, np.int64), np.cumsum(sizes), b"".join(codes))

    def term_totals(self) -> TermTotals:
        return read_totals(self._db)

    def text_starts(self, rows: Sequence[int], most_bytes: int, *, with_speaker: bool = True) -> list[str]:
        found = self._text_prefixes(rows, most_bytes)
        return [f"{found[row][0]} " * with_speaker + to_index_text(found[row][1]) for row in rows]

    def text_prefixes(self, rows: Sequence[int], most_bytes: int) -> list[bytes]:
        found = self._text_prefixes(rows, most_bytes)
        return [found[row][1] for row in rows]

    def _text_prefixes(self, rows: Sequence[int], most_bytes: int) -> dict[int, tuple[str, bytes]]:
        """By row, who spoke, empty where nobody is named, and how the text begins."""
        found = {}
        # A longer text is not read whole.
        sql = (
            "SELECT m.id, m.speaker, m.text, t.packed, CASE WHEN t.size <= ?1 THEN t.body END"
            " FROM memories m JOIN texts t ON t.id = m.text WHERE m.id IN"
        )
        for row, speaker, text, packed, body in self._select_rows(sql, rows, most_bytes):
            if body is None:
                start = text_prefix(self._db, text, most_bytes)[0]
            else:
                start = zlib.decompress(body) if packed else body
            found[row] = speaker or "", start
        return found

    def load_memories(self, rows: Sequence[int]) -> list[Memory]:
        return self._load_memories(rows)

    def ids_of(self, rows: Sequence[int]) -> list[bytes]:
        found = dict(self._select_rows("SELECT id, uuid FROM memories WHERE id IN", rows))
        return [bytes(found[row]) for row in rows]

    def rows_of(self, ids: Sequence[bytes]) -> list[int]:
        rows = []
        for memory in ids:
            row = self._db.execute("SELECT id FROM memories WHERE uuid = ?", (memory,)).get
            if row is None:
                raise NoSuchMemory.of(memory)
            rows.append(int(row))
        return rows

    def pending_embeddings(self, encoder: EncoderName, after_row: int, bulk: bool, limit: int) -> list[Pending]:
        number = encoder_row(self._db, encoder) or 0
        complete = int(self._db.execute("SELECT complete_to FROM encoders WHERE id = ?", (number,)).get or 0)
        found: list[Any] = self._db.execute(
            "SELECT m.id, m.uuid, m.kind, m.speaker, m.text FROM memories m WHERE m.id > ? AND m.kind"
            f" {'' if bulk else 'NOT'} IN {_BULK} AND {UNEMBEDDED} ORDER BY m.id LIMIT ?",
            (max(after_row, complete), number, limit),
        ).fetchall()
        return [
            Pending(row, uuid, kind, speaker, load_text(self._db, text)) for row, uuid, kind, speaker, text in found
        ]

    def counts(self, encoder: EncoderName | None) -> Counts:
        number = encoder_row(self._db, encoder) if encoder else self._db.execute("SELECT max(id) FROM encoders").get
        memories, retired = self._memory_counts()
        embedded, partly = self._embedded_counts(number or 0)
        bound, unbound = self.bound_counts(None, waiting=False)
        scopes: list[Any] = self._db.execute(
            "SELECT s.path, s.found, count(m.id) FROM scopes s LEFT JOIN memories m ON m.scope = s.id"
            " GROUP BY s.id ORDER BY s.path"
        ).fetchall()
        sizes = "SELECT coalesce(sum(t.size), 0) FROM memories m JOIN texts t ON t.id = m.text"
        return Counts(
            seq=self.seq,
            memories=memories,
            retired=retired,
            sessions=int(self._db.execute("SELECT count(*) FROM sessions").get),
            headless=int(self._db.execute("SELECT count(*) FROM sessions WHERE mode = 'headless'").get),
            subagents=int(self._db.execute("SELECT count(*) FROM sessions WHERE mode = 'subagent'").get),
            text_bytes=int(self._db.execute(sizes).get),
            kept_bytes=int(self._db.execute("SELECT coalesce(sum(length(body)), 0) FROM texts").get),
            embedded=embedded,
            pending=memories - retired - embedded,
            partly=partly,
            bound=bound,
            unbound=unbound,
            unread=int(self._db.execute("SELECT count(*) FROM unbound WHERE encoder = ?", (BINDING_FAILED,)).get),
            communities=self.community_counts(),
            unreadable=int(self._db.execute("SELECT count(*) FROM unreadable").get),
            scopes=tuple(ScopeCount(path=path, found=found, memories=count) for path, found, count in scopes),
            kinds=dict(self._db.execute("SELECT kind, count(*) FROM memories GROUP BY kind ORDER BY kind")),
            lost=lost_transactions(self._db),
        )

    def embed_progress(self, encoder: EncoderName) -> EmbedProgress:
        memories, retired = self._memory_counts()
        embedded, partly = self._embedded_counts(encoder_row(self._db, encoder) or 0)
        return EmbedProgress(done=embedded, pending=memories - retired - embedded, partly=partly)

    def _memory_counts(self) -> tuple[int, int]:
        """How many memories there are, and how many of them are retired."""
        retired = "SELECT count(*) FROM memories WHERE retired_at IS NOT NULL"
        return int(self._db.execute("SELECT count(*) FROM memories").get), int(self._db.execute(retired).get)

    def _embedded_counts(self, encoder: int) -> tuple[int, int]:
        """How many memories have their meaning, and how many of them a part of it, without those that are retired."""
        all_of_them = "SELECT count(*), coalesce(sum(covered < total), 0) FROM meanings WHERE encoder = ?"
        hidden = (  # few, and found by their own index: to join all would take longer the more there are
            "SELECT count(*), coalesce(sum(x.covered < x.total), 0) FROM memories m"
            " CROSS JOIN meanings x ON x.encoder = ? AND x.memory = m.id WHERE m.retired_at IS NOT NULL"
        )
        (whole, partly), (less, less_partly) = (
            next(self._db.execute(sql, (encoder,))) for sql in (all_of_them, hidden)
        )
        return int(whole - less), int(partly - less_partly)

    def _load_memories(self, rows: Sequence[int], text_bytes: int | None = None) -> list[Memory]:
        """Memories; with `text_bytes` no more of a longer text than so much of its start."""
        replacing = {
            row
            for (row,) in self._select_rows(
                "SELECT DISTINCT superseded_by FROM memories INDEXED BY memories_superseded"
                " WHERE superseded_by IS NOT NULL AND superseded_by IN",
                rows,
            )
        }
        body = "t.packed, t.body" if text_bytes is None else "NULL, NULL"
        sql = (
            f"SELECT m.id, m.text, {body}, m.files, m.superseded_by, m.uuid, m.source_id, s.assistant, s.name, c.path,"
            " c.found, m.kind, m.role, m.speaker, m.branch, m.tool, m.outcome, m.said_at, m.valid_from, m.recorded_at,"
            f" m.retired_at, m.retired_reason, m.utc_offset_min, {AUTHOR} FROM memories m"
            " JOIN sessions s ON s.id = m.session"
            f" JOIN scopes c ON c.id = m.scope {'JOIN texts t ON t.id = m.text ' if text_bytes is None else ''}"
            "WHERE m.id IN"
        )
        found = {}
        for row, text, packed, kept, files, superseded_by, *rest in self._select_rows(sql, rows):
            fields = dict(zip(_MEMORY_FIELDS, rest, strict=True))
            if fields["utc_offset_min"] is None:
                said_at = fields["recorded_at"] if fields["said_at"] is None else fields["said_at"]
                fields["utc_offset_min"] = self._zone.utc_offset_min(said_at)
            newer = None if superseded_by is None else current_successor(self._db, row)
            if text_bytes is not None:
                data = text_prefix(self._db, text, text_bytes)[0]
            else:
                data = zlib.decompress(kept) if packed else bytes(kept)
            found[row] = Memory(
                data=data,
                files=tuple(json.loads(files)),
                # What holds from before this one on leaves it no time at all, and never less than none.
                valid_to=None if newer is None else max(fields["valid_from"], newer.valid_from),
                superseded_by=None if newer is None else newer.id,
                supersedes=superseded_ids(self._db, row) if row in replacing else (),
                **fields,
            )
        return [found[row] for row in rows]

    def _select_rows(self, sql: str, rows: Sequence[int], *values: int) -> Iterator[Any]:
        """What is selected of some rows, in any order; the statement ends with ``IN``."""
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            yield from self._db.execute(f"{sql} ({', '.join('?' * len(some))})", (*values, *some)).fetchall()


def _offsets(said_at: NDArray[np.int64], zone: Zone) -> NDArray[np.int64]:
    """The offsets of a zone at some times, minutes: on most days the clock is not moved, and one look does for all."""
    days, place = np.unique(said_at // DAY_US, return_inverse=True)
    starts = [zone.utc_offset_min(int(day) * DAY_US) for day in days]
    ends = [zone.utc_offset_min((int(day) + 1) * DAY_US) for day in days]
    offsets = np.array(starts, np.int64)[place]
    for moved in np.flatnonzero(offsets != np.array(ends, np.int64)[place]):
        offsets[moved] = zone.utc_offset_min(int(said_at[moved]))
    return offsets


def _columns(rows: Sequence[Sequence[Any]], width: int) -> tuple[NDArray[np.int64], ...]:
    table = np.array(rows, dtype=np.int64).reshape(len(rows), width)
    return tuple(np.ascontiguousarray(table[:, column]) for column in range(width))
