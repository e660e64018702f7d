"""Read snapshots of the store for actors: each is one SQLite read transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import apsw

from mnemic.actors.kernel.times import Zone
from mnemic.actors.meaning.changes import EncoderName
from mnemic.actors.store.messages import Counts, ScopeCount
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.store.brief.read import BriefQueries
from mnemic.runtime.store.capture.read import CaptureQueries
from mnemic.runtime.store.communities.read import CommunityQueries
from mnemic.runtime.store.forget import SelectionQueries
from mnemic.runtime.store.high_water import lost_transactions
from mnemic.runtime.store.knowledge.read import KnowledgeQueries
from mnemic.runtime.store.log.memories import MemoryQueries
from mnemic.runtime.store.log.read import LogQueries
from mnemic.runtime.store.meaning.read import MeaningQueries
from mnemic.runtime.store.meaning.write import encoder_row
from mnemic.runtime.store.schema import check_schema, connect, translate_errors
from mnemic.runtime.store.scopes.read import ScopeQueries
from mnemic.runtime.store.shape.read import CodeQueries
from mnemic.runtime.store.shape.rebind_queue import BINDING_FAILED
from mnemic.runtime.store.sleep.read import SleepQueries


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
    MemoryQueries,
    MeaningQueries,
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
    """One state of the store; see `mnemic.actors.kernel.snapshot.Snapshot` for what its methods give."""

    def __init__(self, connection: apsw.Connection, zone: Zone) -> None:
        self._db = connection
        self._zone = zone
        self.seq = int(connection.execute("SELECT coalesce(max(seq), 0) FROM applies").get)
        self.log_row = int(connection.execute("SELECT coalesce(max(id), 0) FROM log").get)
        self.generation = int(connection.execute("SELECT number FROM generation").get)

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
