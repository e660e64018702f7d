"""What erasing takes out beside the memories: their entries in the log, and the words of what quotes them.

Below `mnemic.runtime.transfer.erase`. Entries about erased memories become tombstones, so that the log still replays: a
log that was rewritten gives the state that erasing left. That is the law by which `rebuild` and `fork` go on working.

A text quotes another where they have 16 bytes in a row in common. Such runs are told apart by 64 bits of a hash: of a
million runs that are looked for in a gigabyte, a wrong one is found once in ten thousand times, and costs a question
its words.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import apsw
import msgspec
import numpy as np
from numpy.typing import NDArray

from mnemic.actors.capture.changes import KeepOriginal, Relabel
from mnemic.actors.kernel.changes import Logged
from mnemic.actors.kernel.scope_paths import ScopeChange
from mnemic.actors.knowledge.changes import SettleStatements
from mnemic.actors.log.changes import AddMemory, Retire, Supersede, Unretire
from mnemic.actors.scopes.changes import MergeScopes, MoveMemories, MoveProject, RenameScope, SplitScope
from mnemic.actors.store.messages import AddOutcome, Applied
from mnemic.actors.transfer.changes import RedactedChange, Tombstone

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Logged).decode
_decode_undo = msgspec.msgpack.Decoder(ScopeChange | Relabel).decode
_decode_answer = msgspec.msgpack.Decoder(Applied).decode
_SCOPING_TAGS = ("rename_scope", "merge_scopes", "split_scope", "move_project", "move_memories")
_PAGE = 2000

QUOTE_BYTES = 16
_BATCH_BYTES = 1 << 20
_SEPARATOR = b"\xff" * QUOTE_BYTES  # in no UTF-8
_FILTER_BITS = 26
_SHIFT = np.uint64(64 - _FILTER_BITS)
_HASH_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))

Name = TypeVar("Name", bound=Hashable)


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
    row: int
    at: int


class LogRedactor:
    """Rewrites the log, within a transaction of the caller's."""

    def __init__(
        self, connection: apsw.Connection, gone: Mapping[bytes, tuple[int, bytes]], reasons: frozenset[str]
    ) -> None:
        """Take what is erased.

        Args:
            gone: row and identity of each memory, by its id.
            reasons: those for which others were forgotten that quote it.
        """
        self._db = connection
        self._gone = gone
        self._reasons = reasons
        self._paths = scope_change_paths(connection)
        self._links: list[tuple[int, int, list[tuple[bytes, bytes]], bool]] = []

    def run(self, progress: Callable[[int, int | None], None]) -> list[Relinked]:
        """Rewrite it; gives what replaces memories that are left."""
        total = int(self._db.execute("SELECT count(*) FROM log").get)
        rows = _pages(
            self._db,
            "SELECT l.id, l.change, l.undo, a.at FROM log l JOIN applies a ON a.seq = l.seq"
            " WHERE l.id > ? ORDER BY l.id LIMIT ?",
        )
        for done, (row, encoded, undo, at) in enumerate(rows, start=1):
            change = _decode(encoded)
            redacted = self._redact(row, change, at)
            if redacted is not change:
                self._write(row, redacted)
            if undo is not None:
                self._redact_undo(row, _decode_undo(undo))
            if done % _PAGE == 0:
                progress(done, total)
        self._redact_answers()
        return self._relink()

    def _redact(self, row: int, change: Any, at: int) -> Any:
        """A change without what is erased; itself where it holds nothing of it."""
        match change:
            case AddMemory() if change.id in self._gone:
                place = change.place if touches(self._paths, change.place.path) else None
                return Tombstone(identity=self._gone[change.id][1], row=self._gone[change.id][0], place=place)
            case KeepOriginal() | Retire() | Unretire() if change.memory in self._gone:
                return RedactedChange()
            case SettleStatements() if change.older in self._gone or change.newer in self._gone:
                return RedactedChange()
            case Retire() if change.reason in self._reasons:
                return msgspec.structs.replace(change, reason="")
            case SplitScope() | MoveMemories() | Relabel():
                return self._without_erased(change)
            case RedactedChange():
                self._links.append((row, at, list(change.links), False))
            case Supersede():  # it names the ends of the chains, as they were
                names_gone = change.old in self._gone or change.new in self._gone
                self._links.append((row, at, [(change.old, change.new)], names_gone))
        return change

    def _redact_undo(self, row: int, undo: Any) -> None:
        redacted = self._without_erased(undo)
        if redacted is not undo:
            self._db.execute("UPDATE log SET undo = ? WHERE id = ?", (_encode(redacted), row))

    def _without_erased(self, change: Any) -> Any:
        if isinstance(change, Relabel):
            left = tuple(one for one in change.labels if one.memory not in self._gone)
            return change if len(left) == len(change.labels) else Relabel(labels=left)
        if not isinstance(change, SplitScope | MoveMemories) or self._gone.keys().isdisjoint(change.memories or ()):
            return change
        kept = tuple(one for one in change.memories or () if one not in self._gone)
        return msgspec.structs.replace(change, memories=kept)

    def _redact_answers(self) -> None:
        """Take ids of what is erased out of the answers that are kept for requests that come again."""
        for seq, answer in _pages(self._db, "SELECT seq, answer FROM applies WHERE seq > ? ORDER BY seq LIMIT ?"):
            applied = _decode_answer(answer)
            if any(one.id in self._gone for one in applied.kept):
                kept = tuple(map(self._redact_outcome, applied.kept))
                redacted = _encode(msgspec.structs.replace(applied, kept=kept))
                self._db.execute("UPDATE applies SET answer = ? WHERE seq = ?", (redacted, seq))

    def _redact_outcome(self, one: AddOutcome) -> AddOutcome:
        if one.id not in self._gone:
            return one
        return msgspec.structs.replace(one, id=bytes(16), created=False, erased=True)

    def _write(self, row: int, change: Any) -> None:
        text = ", text = NULL" if isinstance(change, Tombstone | RedactedChange) else ""
        self._db.execute(f"UPDATE log SET change = ?{text} WHERE id = ?", (_encode(change), row))

    def _relink(self) -> list[Relinked]:
        """Link what an erased memory stood between, from the moment at which both links were there."""
        edges = {old: _Edge(new, row, at) for row, at, links, _ in self._links for old, new in links}
        healed: list[Relinked] = []
        made: dict[int, list[tuple[bytes, bytes]]] = {}
        for old, edge in edges.items():
            if old in self._gone:
                continue
            end: _Edge | None = edge
            last = edge
            while end is not None and end.new in self._gone:
                end = edges.get(end.new)
                last = end if end is not None and end.row > last.row else last
            if end is not None:
                made.setdefault(last.row, []).append((old, end.new))
            if end is not edge:
                healed.append(Relinked(old, None if end is None else end.new, last.at))
        for row, _, links, names_gone in self._links:
            now = made.get(row, [])
            if names_gone or set(now) != set(links):
                self._write(row, RedactedChange(links=tuple(now)))
        return healed


def retirement_reasons(connection: apsw.Connection) -> set[str]:
    """Reasons for which memories were forgotten, ever."""
    return {change.reason for change in _tagged(connection, "retire") if isinstance(change, Retire)} - {""}


def scope_change_paths(connection: apsw.Connection) -> frozenset[str]:
    """Paths that changes of scopes name."""
    found: set[str | None] = set()
    for change in _tagged(connection, *_SCOPING_TAGS):
        if isinstance(change, RenameScope | MergeScopes | SplitScope | MoveProject | MoveMemories):
            found.update(getattr(change, name, None) for name in ("path", "to", "into"))
    return frozenset(path for path in found if path is not None)


def touches(paths: frozenset[str], path: str) -> bool:
    """Whether one of some paths is a path, or above or below it: what is of it must be there when they are replayed."""
    return any(one == path or path.startswith(f"{one}/") or one.startswith(f"{path}/") for one in paths)


def _tagged(connection: apsw.Connection, *tags: str) -> Iterator[Any]:
    """The log's changes that hold one of some tags; another's text may say the word too."""
    condition = " OR ".join(f"instr(change, CAST('{tag}' AS BLOB))" for tag in tags)
    rows = _pages(connection, f"SELECT id, change FROM log WHERE id > ? AND ({condition}) ORDER BY id LIMIT ?")
    return (_decode(encoded) for _, encoded in rows)


def _pages(connection: apsw.Connection, sql: str) -> Iterator[Any]:
    """All rows of a query that gives those after a number, page by page: what is read may be rewritten meanwhile."""
    after: Any = 0
    page: list[Any]
    while page := connection.execute(sql, (after, _PAGE)).fetchall():
        yield from page
        after = page[-1][0]


def find_quotes(candidates: Iterable[tuple[Name, bytes]], gone: Callable[[], Iterable[bytes]]) -> set[Name]:
    """Names of the candidates that hold `QUOTE_BYTES` bytes in a row which a text that goes has.

    Args:
        candidates: texts by name; read once, one at a time.
        gone: gives the same texts each time; read twice where a candidate may share something with them.
    """
    going = np.zeros(1 << _FILTER_BITS, bool)
    for batch in _batches(gone()):
        going[_run_hashes(batch) >> _SHIFT] = True
    names: list[Name] = []
    shared: list[NDArray[np.uint64]] = []
    for name, text in candidates:
        runs = _run_hashes(text)
        runs = runs[going[runs >> _SHIFT]]
        if len(runs):
            names.append(name)
            shared.append(runs)
    if not names:
        return set()
    table = np.unique(np.concatenate(shared))
    there = np.zeros(1 << _FILTER_BITS, bool)
    there[table >> _SHIFT] = True
    quoted = np.zeros(len(table), bool)
    for batch in _batches(gone()):
        runs = _run_hashes(batch)
        runs = runs[there[runs >> _SHIFT]]
        places = np.minimum(np.searchsorted(table, runs), len(table) - 1)
        quoted[places[table[places] == runs]] = True
    return {name for name, runs in zip(names, shared, strict=True) if quoted[np.searchsorted(table, runs)].any()}


def _run_hashes(text: bytes) -> NDArray[np.uint64]:
    """A hash of each run of a text, ``(n,) uint64``."""
    count = len(text) - QUOTE_BYTES + 1
    if count <= 0:
        return np.empty(0, np.uint64)
    halves = np.ndarray(count + 8, "<u8", text, strides=(1,))
    mixed = halves[:count] * _HASH_MULTIPLIERS[0] ^ (halves[8:] * _HASH_MULTIPLIERS[1] + (halves[8:] >> np.uint64(29)))
    mixed ^= mixed >> np.uint64(32)
    return mixed * _HASH_MULTIPLIERS[0]


def _batches(texts: Iterable[bytes]) -> Iterator[bytes]:
    """Texts joined, so that short ones cost little, by what no run of theirs holds."""
    waiting: list[bytes] = []
    size = 0
    for text in texts:
        waiting.append(text)
        size += len(text)
        if size >= _BATCH_BYTES:
            yield _SEPARATOR.join(waiting)
            waiting, size = [], 0
    if waiting:
        yield _SEPARATOR.join(waiting)
