"""Redacting the log: entries about erased memories become tombstones, so that the log still replays.

Below `mnemic.runtime.transfer.erase`. A log that was rewritten gives, replayed, the state that erasing left: that is
the law by which `rebuild` and `fork` go on working. Numbers stay, so that whoever follows the log finds its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import apsw
import msgspec

from mnemic.actors.protocol.changes import (
    AddMemory,
    KeepOriginal,
    Logged,
    MergeScopes,
    MoveProject,
    QuarantineRecord,
    RecordBriefing,
    RecordRecall,
    RedactedChange,
    RenameScope,
    Retire,
    SplitScope,
    Supersede,
    Tombstone,
    Unretire,
)
from mnemic.actors.protocol.messages import Applied
from mnemic.actors.protocol.scopes import ScopeChange

__all__ = [
    "ErasedData",
    "RedactionResult",
    "Relinked",
    "history_changes",
    "redact_answers",
    "redact_log",
    "retirement_reasons",
    "scope_reference_test",
]

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Logged).decode
_decode_undo = msgspec.msgpack.Decoder(ScopeChange).decode
_decode_answer = msgspec.msgpack.Decoder(Applied).decode
_SCOPING = (RenameScope, MergeScopes, SplitScope, MoveProject)
_SCOPING_TAGS = ("rename_scope", "merge_scopes", "split_scope", "move_project")
_PAGE = 2000

LogRow = tuple[Any, bytes | None, int | None]
"""A change, what takes it back, and the row of its text."""


class ErasedData(NamedTuple):
    """What is erased."""

    memories: Mapping[bytes, tuple[int, bytes]]
    """Row and identity of each memory, by its id."""
    sessions: frozenset[str]
    """Names of conversations of which nothing is left."""
    queries: frozenset[str]
    """Questions that quote it."""
    reasons: frozenset[str]
    """Reasons for which others were forgotten that quote it."""
    texts: frozenset[int]
    """Rows of other texts that quote it: of what was given, and of what was set aside."""


class Relinked(NamedTuple):
    """What replaces a memory from now on, where one that stood between is erased."""

    memory: bytes
    """Which."""
    successor: bytes | None
    """What replaces it; ``None`` where nothing does."""
    at: int
    """System time at which that was so, microseconds."""


class _Edge(NamedTuple):
    new: bytes
    seq: int
    at: int


class RedactionResult(NamedTuple):
    """What else follows from a log that was rewritten."""

    relinked: list[Relinked]
    """What replaces memories that are left."""
    history_changed: bool
    """Whether anything was changed in what assistants were given."""


def redact_log(
    connection: apsw.Connection, gone: ErasedData, progress: Callable[[int, int | None], None]
) -> RedactionResult:
    """Rewrite the log, within a transaction of the caller's."""
    return _LogRedactor(connection, gone).run(progress)


def redact_answers(connection: apsw.Connection, gone: ErasedData) -> None:
    """Take ids of what is erased out of the answers that are kept for requests that come again."""
    for row, answer in _pages(connection, "SELECT id, answer FROM applies WHERE id > ? ORDER BY id LIMIT ?"):
        applied = _decode_answer(answer) if answer else None
        if applied is None or not any(kept.id in gone.memories for kept in applied.kept):
            continue
        kept = tuple(
            msgspec.structs.replace(one, id=bytes(16), created=False, erased=True) if one.id in gone.memories else one
            for one in applied.kept
        )
        replaced = _encode(msgspec.structs.replace(applied, kept=kept))
        connection.execute("UPDATE applies SET answer = ? WHERE id = ?", (replaced, row))


class _LogRedactor:
    def __init__(self, connection: apsw.Connection, gone: ErasedData) -> None:
        self._db = connection
        self._gone = gone
        self._named = _scoped_paths(connection)
        self._paths: set[str] = set()  # of scopes that something was added to since scopes were changed last
        self._links: list[tuple[int, int, list[tuple[bytes, bytes]], bool]] = []

    def run(self, progress: Callable[[int, int | None], None]) -> RedactionResult:
        given = False
        total = int(self._db.execute("SELECT count(*) FROM log").get)
        rows = _pages(
            self._db,
            "SELECT l.seq, l.change, l.undo, l.text, a.at FROM log l JOIN applies a ON a.id = l.apply"
            " WHERE l.seq > ? ORDER BY l.seq LIMIT ?",
        )
        for done, (seq, encoded, undo, text, at) in enumerate(rows, start=1):
            before = (_decode(encoded), undo, text)
            after = self._redact_row(seq, before, at)
            if after is not before:
                self._write(seq, after)
                given = given or isinstance(before[0], RecordRecall | RecordBriefing)
            if done % _PAGE == 0:
                progress(done, total)
        return RedactionResult(self._relink(), given)

    # --- row by row --------------------------------------------------------------------------------------------------

    def _redact_row(self, seq: int, row: LogRow, at: int) -> LogRow:
        """A row without what is erased; itself where it holds nothing of it."""
        change = row[0]
        memories = self._gone.memories
        match change:
            case AddMemory():
                return self._redact_memory(row)
            case KeepOriginal() | Retire() | Unretire():
                return (RedactedChange(), None, None) if change.memory in memories else self._redact_reason(row)
            case Supersede() | RedactedChange():
                self._collect_links(seq, change, at)
            case RecordRecall():
                return self._redact_recall(row)
            case RecordBriefing():
                return self._redact_delivery(row)
            case QuarantineRecord():
                return (change, row[1], None) if row[2] in self._gone.texts else row
            case MergeScopes() | SplitScope() | RenameScope() | MoveProject():
                self._paths.clear()  # whatever is added next may be the first of its scope again
                return self._redact_scope_change(row)
        return row

    def _redact_memory(self, row: LogRow) -> LogRow:
        change: AddMemory = row[0]
        place, is_first = change.place, change.place.path not in self._paths
        self._paths.add(place.path)
        erased = self._gone.memories.get(change.id)
        if erased is None:
            return row
        kept = place if is_first and _touches(self._named, place.path) else None
        return Tombstone(identity=erased[1], row=erased[0], place=kept), None, None

    def _redact_reason(self, row: LogRow) -> LogRow:
        """A row without the reason for which a memory was forgotten, where that quotes what is erased."""
        change = row[0]
        if not isinstance(change, Retire) or change.reason not in self._gone.reasons:
            return row
        return msgspec.structs.replace(change, reason=""), None, None

    def _redact_recall(self, row: LogRow) -> LogRow:
        change: RecordRecall = row[0]
        if change.session in self._gone.sessions:
            return RedactedChange(), None, None
        returned = self._without_erased(change.returned)
        parts = tuple(part for part in change.parts if part.memory not in self._gone.memories)
        same = len(returned) == len(change.returned) and len(parts) == len(change.parts)
        if same and change.query not in self._gone.queries:
            return row
        return msgspec.structs.replace(change, query="", returned=returned, parts=parts), row[1], row[2]

    def _redact_delivery(self, row: LogRow) -> LogRow:
        change: RecordBriefing = row[0]
        if change.session in self._gone.sessions:
            return RedactedChange(), None, None
        kept = [place for place, one in enumerate(change.memories) if one not in self._gone.memories]
        if len(kept) == len(change.memories) and row[2] not in self._gone.texts:
            return row
        left = tuple(change.memories[place] for place in kept)
        why = tuple(change.why[place] for place in kept if place < len(change.why))
        return msgspec.structs.replace(change, memories=left, why=why), row[1], None

    def _redact_scope_change(self, row: LogRow) -> LogRow:
        change, undo = row[0], None if row[1] is None else _decode_undo(row[1])
        after = [
            msgspec.structs.replace(one, memories=self._without_erased(one.memories))
            if isinstance(one, SplitScope)
            else one
            for one in (change, undo)
        ]
        if after == [change, undo]:
            return row
        return after[0], None if after[1] is None else _encode(after[1]), row[2]

    def _without_erased(self, memories: tuple[bytes, ...]) -> tuple[bytes, ...]:
        return tuple(one for one in memories if one not in self._gone.memories)

    def _write(self, seq: int, row: LogRow) -> None:
        change, undo, text = row
        self._db.execute(
            "UPDATE log SET change = ?, undo = ?, text = ? WHERE seq = ?", (_encode(change), undo, text, seq)
        )

    # --- what replaces what ------------------------------------------------------------------------------------------

    def _collect_links(self, seq: int, change: Supersede | RedactedChange, at: int) -> None:
        """Note which links a row made; it names the ends of the chains, as they were."""
        if isinstance(change, RedactedChange):
            self._links.append((seq, at, list(change.links), False))
        else:
            names_gone = change.old in self._gone.memories or change.new in self._gone.memories
            self._links.append((seq, at, [(change.old, change.new)], names_gone))

    def _relink(self) -> list[Relinked]:
        """Link what an erased memory stood between, from the moment at which both links were there."""
        edges = {old: _Edge(new, seq, at) for seq, at, links, _ in self._links for old, new in links}
        healed: list[Relinked] = []
        made: dict[int, list[tuple[bytes, bytes]]] = {}
        for old, edge in edges.items():
            if old in self._gone.memories:
                continue
            end: _Edge | None = edge
            last = edge
            while end is not None and end.new in self._gone.memories:
                end = edges.get(end.new)
                last = end if end is not None and end.seq > last.seq else last
            if end is not None:
                made.setdefault(last.seq, []).append((old, end.new))
            if end is not edge:
                healed.append(Relinked(old, None if end is None else end.new, last.at))
        for seq, _, links, names_gone in self._links:
            now = made.get(seq, [])
            if names_gone or set(now) != set(links):
                self._write(seq, (RedactedChange(links=tuple(now)), None, None))
        return healed


def history_changes(connection: apsw.Connection) -> Iterator[tuple[RecordRecall | RecordBriefing, int | None, int]]:
    """What the log says that assistants were given, in order: the change, the row of its text, and its time."""
    condition = " OR ".join(f"instr(l.change, CAST('{tag}' AS BLOB))" for tag in ("record_recall", "record_given"))
    rows = _pages(
        connection,
        "SELECT l.seq, l.change, l.text, a.at FROM log l JOIN applies a ON a.id = l.apply"
        f" WHERE l.seq > ? AND ({condition}) ORDER BY l.seq LIMIT ?",
    )
    for _, encoded, text, at in rows:
        change = _decode(encoded)
        if isinstance(change, RecordRecall | RecordBriefing):  # another's text may say one of the words
            yield change, text, at


def retirement_reasons(connection: apsw.Connection) -> set[str]:
    """Reasons for which memories were forgotten, ever."""
    rows = _pages(
        connection,
        "SELECT seq, change FROM log WHERE seq > ? AND instr(change, CAST('retire' AS BLOB)) ORDER BY seq LIMIT ?",
    )
    changes = (_decode(encoded) for _, encoded in rows)
    return {change.reason for change in changes if isinstance(change, Retire)} - {""}


def _scoped_paths(connection: apsw.Connection) -> frozenset[str]:
    """Paths that changes of scopes name."""
    condition = " OR ".join(f"instr(change, CAST('{tag}' AS BLOB))" for tag in _SCOPING_TAGS)
    found: list[Any] = connection.execute(f"SELECT change FROM log WHERE {condition}").fetchall()
    changes = (_decode(encoded) for (encoded,) in found)
    paths = (
        getattr(change, name, None)
        for change in changes
        if isinstance(change, _SCOPING)
        for name in ("path", "to", "into")
    )
    return frozenset(path for path in paths if path is not None)


def _touches(paths: frozenset[str], path: str) -> bool:
    """Whether one of some paths is a path, or above or below it."""
    return any(one == path or path.startswith(f"{one}/") or one.startswith(f"{path}/") for one in paths)


def scope_reference_test(connection: apsw.Connection) -> Callable[[str], bool]:
    """Says of the path of a scope whether changes in the log are about it: it must be there when they are replayed."""
    paths = _scoped_paths(connection)
    return lambda path: _touches(paths, path)


def _pages(connection: apsw.Connection, sql: str) -> Iterator[Any]:
    """All rows of a query that gives those after a number, page by page: what is read may be rewritten meanwhile."""
    after: Any = 0
    page: list[Any]
    while page := connection.execute(sql, (after, _PAGE)).fetchall():
        yield from page
        after = page[-1][0]
