"""Queries about capture: how far the spool was read, quarantined records, transcripts that wait.

Part of `mnemic.runtime.store.reader.StoreSnapshot`; the doctor reads the same by a connection of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from mnemic.actors.capture.changes import MemoryLabels, OccurrenceCount, Relabel, TranscriptState
from mnemic.actors.capture.messages import CaptureProgress
from mnemic.actors.capture.queries import QuarantinedRecord
from mnemic.actors.kernel.changes import Logged
from mnemic.actors.kernel.events import escape_surrogates
from mnemic.actors.kernel.scope_paths import ScopeChange
from mnemic.actors.log.queries import DocumentNote, KeptText
from mnemic.runtime.store.schema import SAID_OR_KEPT
from mnemic.runtime.store.texts import load_text, text_prefix

_SHOWN = 20
_LABELS = ("m.uuid", "m.kind", "m.role", "m.speaker", "m.author", "m.said_at", "m.utc_offset_min")
"""The columns that `MemoryLabels` holds, in its order."""
_UNLABELLED = ("m.author IS NULL", "(m.author IS NULL OR m.utc_offset_min IS NULL)")
"""Which memories `m` have no labels; then those too that had them taken back: these have an author, and no offset."""
_WORDS_BYTES = 1 << 20
"""How much of a text is read to tell whose it is."""
_STEP_BYTES = 1 << 16
"""How much of a call or a result."""
_decode_change = msgspec.msgpack.Decoder(Logged).decode
_decode_undo = msgspec.msgpack.Decoder(ScopeChange | Relabel).decode
TOTALS_ROW = b""
"""In place of a file's id: the row of the spool files that are gone."""


class CaptureQueries:
    """What a snapshot tells of the capture; see `mnemic.actors.kernel.snapshot.Snapshot`."""

    _db: apsw.Connection

    def spool_offsets(self) -> dict[bytes, int]:
        return spool_offsets(self._db)

    def torn_counts(self) -> dict[bytes, int]:
        return _pairs(self._db, "SELECT file, torn FROM spool WHERE torn > 0 AND file != ?", TOTALS_ROW)

    def occurrences(self, identities: Sequence[bytes]) -> dict[bytes, OccurrenceCount]:
        found = (read_occurrences(self._db, identity) for identity in identities)
        return {one.identity: one for one in found if one is not None}

    def labels_of(self, identities: Sequence[bytes]) -> dict[bytes, MemoryLabels]:
        asked = f"SELECT {', '.join(_LABELS)} FROM memories m WHERE m.identity = ?"
        found: dict[bytes, Any] = {one: self._db.execute(asked, (one,)).fetchone() for one in dict.fromkeys(identities)}
        return {identity: _labels(row) for identity, row in found.items() if row is not None}

    def unlabelled(self, limit: int, most_bytes: int, *, again: bool = False) -> list[KeptText]:
        found: list[Any] = self._db.execute(
            f"SELECT s.assistant, s.mode = 'subagent', m.text, m.tool, m.session, {SAID_OR_KEPT}, m.id, m.role,"
            f" m.recorded_at, {', '.join(_LABELS)} FROM memories m JOIN sessions s ON s.id = m.session"
            f" WHERE {_UNLABELLED[again]} ORDER BY m.id LIMIT ?",
            (limit,),
        ).fetchall()
        kept: list[KeptText] = []
        left_bytes = most_bytes
        for assistant, is_subagent, text, tool, session, at, row, role, recorded_at, *labels in found:
            if left_bytes <= 0:
                break
            words = text_prefix(self._db, text, _STEP_BYTES if tool else _WORDS_BYTES)[0]
            call = self._call_before(session, at, row, tool) if tool and role == "tool" else b""
            left_bytes -= len(words) + len(call)
            kept.append(
                KeptText(
                    labels=_labels(labels),
                    assistant=assistant,
                    is_subagent=bool(is_subagent),
                    recorded_at=recorded_at,
                    text=words,
                    tool=tool,
                    call=call,
                )
            )
        return kept

    def _call_before(self, session: int, at: int, row: int, tool: str) -> bytes:
        """The text of the call that a result follows at once; empty where something else stands between."""
        asked = "SELECT m.text, m.tool, m.role FROM memories m WHERE m.session = ? AND m.tool IS NOT NULL"
        # Two questions: by one comparison of pairs, SQLite would walk through the whole session.
        found: Any = self._db.execute(
            f"{asked} AND {SAID_OR_KEPT} = ? AND m.id < ? ORDER BY m.id DESC LIMIT 1", (session, at, row)
        ).fetchone()
        if found is None:
            found = self._db.execute(
                f"{asked} AND {SAID_OR_KEPT} < ? ORDER BY {SAID_OR_KEPT} DESC, m.id DESC LIMIT 1", (session, at)
            ).fetchone()
        if found is None or found[1] != tool or found[2] == "tool":
            return b""
        return text_prefix(self._db, found[0], _STEP_BYTES)[0]

    def unlabelled_count(self, *, again: bool = False) -> int:
        return unlabelled_count(self._db, again=again)

    def relabelled_since(self, night: int) -> list[tuple[Relabel, Relabel]]:
        found: list[Any] = self._db.execute(
            "SELECT l.change, l.undo FROM nights n JOIN applies a ON a.seq >= n.seq AND a.run = n.run"
            " JOIN log l ON l.seq = a.seq WHERE n.id >= ? AND n.undone_at IS NULL AND l.undo IS NOT NULL"
            " ORDER BY l.id DESC",
            (night,),
        ).fetchall()
        changes = ((_decode_change(change), _decode_undo(undo)) for change, undo in found)
        return [(now, was) for now, was in changes if isinstance(now, Relabel) and isinstance(was, Relabel)]

    def current_labels(self, memories: Sequence[bytes]) -> dict[bytes, MemoryLabels]:
        asked = f"SELECT {', '.join(_LABELS)} FROM memories m WHERE m.uuid = ?"
        found: list[Any] = [self._db.execute(asked, (one,)).fetchone() for one in memories]
        return {row[0]: _labels(row) for row in found if row is not None}

    def document_notes(self, assistant: str, session: str) -> list[DocumentNote]:
        found: list[Any] = self._db.execute(
            "SELECT m.uuid, m.identity, m.source_id, m.superseded_by IS NULL AND m.retired_at IS NULL,"
            " n.session IS m.session FROM memories m JOIN sessions s ON s.id = m.session"
            " LEFT JOIN memories n ON n.id = m.superseded_by WHERE s.assistant = ? AND s.name = ? ORDER BY m.id",
            (assistant, escape_surrogates(session)),
        ).fetchall()
        return [
            DocumentNote(bytes(uuid), bytes(identity), source_id, bool(holds), bool(edited))
            for uuid, identity, source_id, holds, edited in found
        ]

    def transcript(self, path: str) -> TranscriptState | None:
        return read_transcript_state(self._db, path)

    def due_transcript(self, now: int) -> tuple[str, str] | None:
        found: Any = self._db.execute(
            "SELECT path, format FROM transcripts WHERE due_at <= ? ORDER BY changed_at DESC, path LIMIT 1", (now,)
        ).fetchone()
        return None if found is None else (str(found[0]), str(found[1]))

    def next_due_at(self) -> int | None:
        due = self._db.execute("SELECT min(due_at) FROM transcripts WHERE due_at IS NOT NULL").get
        return None if due is None else int(due)

    def waiting_transcripts(self, now: int) -> list[str]:
        found = self._db.execute("SELECT path FROM transcripts WHERE due_at <= ? ORDER BY path", (now,)).fetchall()
        return [str(path) for (path,) in found]

    def failed_transcripts(self) -> list[tuple[str, str]]:
        found = self._db.execute("SELECT path, format FROM transcripts WHERE why != '' ORDER BY path").fetchall()
        return [(str(path), str(format)) for path, format in found]

    def is_session_ignored(self, assistant: str, session: str) -> bool:
        found = self._db.execute("SELECT 1 FROM silenced WHERE assistant = ? AND session = ?", (assistant, session)).get
        return found is not None

    def quarantined_records(self, after_row: int, limit: int) -> list[QuarantinedRecord]:
        found: list[Any] = self._db.execute(
            "SELECT id, record, assistant, event, at, cwd, branch, text FROM aside"
            " WHERE id > ? AND readmitted_at IS NULL ORDER BY id LIMIT ?",
            (after_row, limit),
        ).fetchall()
        return [
            QuarantinedRecord(
                row, record, assistant, event, at, cwd, branch, b"" if text is None else load_text(self._db, text)
            )
            for row, record, assistant, event, at, cwd, branch, text in found
        ]

    def capture_progress(self, now: int) -> CaptureProgress:
        return capture_progress(self._db, now)


def count_memories(connection: apsw.Connection) -> tuple[int, int | None]:
    """How many memories there are, and when the newest was captured, microseconds; ``None`` where there is none."""
    asked = "SELECT (SELECT count(*) FROM memories), (SELECT max(recorded_at) FROM memories)"
    found: tuple[int, int | None] = next(connection.execute(asked))
    return found


def spool_offsets(connection: apsw.Connection) -> dict[bytes, int]:
    """How far each spool file is taken in, by its id."""
    return _pairs(connection, "SELECT file, offset FROM spool WHERE file != ?", TOTALS_ROW)


def unlabelled_count(connection: apsw.Connection, *, again: bool = False) -> int:
    """Tell how many memories were kept before memories had labels, and have none yet; or have none any more, too."""
    return int(connection.execute(f"SELECT count(*) FROM memories m WHERE {_UNLABELLED[again]}").get)


def _labels(row: Sequence[Any]) -> MemoryLabels:
    return MemoryLabels(**dict(zip(MemoryLabels.__struct_fields__, row, strict=True)))


def read_occurrences(connection: apsw.Connection, identity: bytes) -> OccurrenceCount | None:
    """How often a text has occurred, if that is known."""
    found: Any = connection.execute(
        "SELECT hooks, missed, read_at FROM occurrences WHERE identity = ?", (identity,)
    ).fetchone()
    return (
        None if found is None else OccurrenceCount(identity=identity, hooks=found[0], missed=found[1], read_at=found[2])
    )


def read_transcript_state(connection: apsw.Connection, path: str) -> TranscriptState | None:
    """What is known of a transcript, if anything is."""
    found: Any = connection.execute(
        "SELECT format, due_at, changed_at, size, taken_at, why FROM transcripts WHERE path = ?", (path,)
    ).fetchone()
    return None if found is None else TranscriptState(*found)


def capture_progress(connection: apsw.Connection, now: int) -> CaptureProgress:
    """What became of what was captured by itself.

    Args:
        now: system time, microseconds: what of the transcripts is due by then counts as waiting.
    """
    records, torn = next(connection.execute("SELECT coalesce(sum(records), 0), coalesce(sum(torn), 0) FROM spool"))
    quarantined: list[Any] = connection.execute(
        "SELECT assistant, event, why FROM aside WHERE readmitted_at IS NULL ORDER BY id DESC LIMIT ?", (_SHOWN,)
    ).fetchall()
    failed: list[Any] = connection.execute(
        "SELECT path, why FROM transcripts WHERE why != '' ORDER BY taken_at DESC, path LIMIT ?", (_SHOWN,)
    ).fetchall()
    return CaptureProgress(
        offsets=spool_offsets(connection),
        records=int(records),
        torn=int(torn),
        quarantined=tuple((assistant, event, why) for assistant, event, why in quarantined),
        quarantined_count=int(connection.execute("SELECT count(*) FROM aside WHERE readmitted_at IS NULL").get),
        scrubbed=_pairs(connection, "SELECT type, sum(count) FROM scrubbed GROUP BY type ORDER BY type"),
        transcripts=int(connection.execute("SELECT count(*) FROM transcripts WHERE due_at <= ?", (now,)).get),
        transcripts_later=int(connection.execute("SELECT count(*) FROM transcripts WHERE due_at > ?", (now,)).get),
        transcripts_failed=tuple((path, why) for path, why in failed),
        checks=_pairs(connection, "SELECT assistant, nonce FROM checks ORDER BY assistant"),
    )


def _pairs(connection: apsw.Connection, sql: str, *bindings: bytes) -> dict[Any, Any]:
    found: list[Any] = connection.execute(sql, bindings).fetchall()
    return dict(found)
