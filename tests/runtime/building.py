"""What the tests of the store share: small memories, what a store holds table by table, and processes of their own."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.word_index import WordIndex
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.errors import MnemicError
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import DeliveredSpan, RecordDelivery
from mnemic.actors.meaning.changes import AddEncoder, AddVectors, EmbeddedWindows, EncoderName
from mnemic.actors.shape.changes import AddCodes, AddSpace, CodeInfo
from mnemic.actors.store.messages import Applied
from mnemic.runtime.keys.keys import Keys, Secrets, derive_key
from mnemic.runtime.store.memory_terms import wrongly_indexed
from mnemic.runtime.store.reader import Reader, StoreSnapshot, open_reader
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from tests.paths import ROOT
from tests.waiting import BOUND_S


def keys_of(root: bytes) -> Keys:
    """The keys of a mind all of whose secrets follow from one, so that a test has the same ones each time."""
    return Keys(Secrets(root=root, identities=derive_key(root, b"identities"), seed=derive_key(root, b"seed")))


KEYS = keys_of(bytes(range(32)))
ENCODER = EncoderName(implementation="test-float32", model="0" * 64)
DIMENSIONS = 4

_keys = itertools.count()
_MISCOUNTED = (
    "SELECT role, filler FROM fillers f WHERE memories !="
    " (SELECT count(*) FROM bound b, json_each(b.fillers) j WHERE j.value = f.id)"
)
_HYPERVECTORS = {
    "spaces": "SELECT * FROM spaces ORDER BY id",
    "codes": "SELECT space, memory, tier, pairs, code FROM codes JOIN code_bits USING(id) ORDER BY memory, id",
    "fillers": "SELECT role, filler FROM fillers ORDER BY role, filler",
    "bound": "SELECT b.memory, f.role, f.filler FROM bound b, json_each(b.fillers) j"
    " JOIN fillers f ON f.id = j.value ORDER BY 1, 2, 3",
    "unbound": "SELECT memory, encoder FROM unbound ORDER BY memory",
}
_COMMUNITIES = {
    "done": "SELECT id, done, encoder FROM boundaries ORDER BY id",
    "scales": "SELECT * FROM graph_scales ORDER BY scope",
    "neighbours": "SELECT * FROM neighbours ORDER BY memory",
    "communities": "SELECT id, level, parent, scope, size, born, died, prototype, bundled FROM communities ORDER BY id",
    "members": "SELECT * FROM members ORDER BY memory",
    "lineage": "SELECT * FROM lineage ORDER BY boundary, kind, community, other",
}
_KNOWLEDGE = {
    "reading": "SELECT * FROM knowledge",
    "unread": "SELECT * FROM unread ORDER BY memory",
    "ungraded": "SELECT * FROM ungraded ORDER BY memory",
    "entities": "SELECT key, name, mark FROM entities ORDER BY key",
    "statements": "SELECT x.memory, x.place, e.key, x.scope, x.said_at, x.holds_to, x.start, x.fields FROM statements x"
    " LEFT JOIN entities e ON e.id = x.subject ORDER BY x.memory, x.place",
    "mentions": "SELECT x.memory, x.start, x.stop, x.kind, e.key FROM mentions x JOIN entities e ON e.id = x.entity"
    " ORDER BY x.memory, x.start, e.key",
    "grades": "SELECT o.memory, o.place, n.memory, n.place, g.grade, g.probability, g.why FROM grades g"
    " JOIN statements o ON o.id = g.older JOIN statements n ON n.id = g.newer ORDER BY 1, 2, 3, 4",
}
_NIGHTS = {
    "derived": "SELECT stage, key, stamp, value, made, gone FROM derived ORDER BY stage, key, made",
    "derived_sources": "SELECT d.stage, d.key, d.made, s.place, s.memory, s.start, s.stop FROM derived_sources s"
    " JOIN derived d ON d.id = s.derived ORDER BY 1, 2, 3, 4",
    "night_reports": "SELECT * FROM night_reports ORDER BY night",
}
_MADE = _HYPERVECTORS | _COMMUNITIES | _KNOWLEDGE | _NIGHTS


def look(path: Path, what: Callable[[StoreSnapshot], Any]) -> Any:
    """Look at a store's newest snapshot."""
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        return what(now)


def id_of(number: int) -> bytes:
    """The id of the memory of that number."""
    return number.to_bytes(16, "big")


def vectors(*numbers: int, windows: int = 1, encoder: EncoderName = ENCODER, total: int = 26) -> AddVectors:
    """Vectors of some memories, each with so many windows; every number in them is another one."""
    values = np.arange(len(numbers) * windows * DIMENSIONS, dtype="<f4") + 1000 * sum(numbers)
    spans = tuple((5 * n, 5 * n + 5) for n in range(windows))
    meanings = tuple(EmbeddedWindows(memory=id_of(n), spans=spans, covered=5 * windows, total=total) for n in numbers)
    return AddVectors(encoder=encoder, meanings=meanings, vectors=values.tobytes())


def add_encoder(encoder: EncoderName = ENCODER) -> AddEncoder:
    """Room for small vectors."""
    return AddEncoder(encoder=encoder, dimensions=DIMENSIONS)


def add_space(stamp: str = "first", **fields: Any) -> AddSpace:
    """A space of short hypervectors."""
    given: dict[str, Any] = {"stamp": stamp, "dimensions": 64, "version": 1, "roles": ("who", "topic"), "model": ""}
    return AddSpace(**(given | {"embedding": 0} | fields))


def codes(*numbers: int, stamp: str = "first", seq: int = 1 << 40, topic: str = "shelf") -> AddCodes:
    """For each of some memories an episode and a fact; every hypervector is another one."""
    fact = CodeInfo(tier="fact", pairs=2, fillers=(("topic", topic, 0),))
    named = [
        [CodeInfo(tier="episode", pairs=3, fillers=(("who", f"w{n}", 0), ("topic", topic, 0))), fact] for n in numbers
    ]
    values = np.arange(2 * len(numbers), dtype="<u8") + 1000 * sum(numbers)
    items = msgspec.msgpack.encode(named)
    memories = tuple(id_of(n) for n in numbers)
    return AddCodes(stamp=stamp, seq=seq, memories=memories, items=items, codes=values.tobytes())


def delivery(*numbers: int, **fields: Any) -> RecordDelivery:
    """That the first bytes of some memories were given."""
    parts = tuple(DeliveredSpan(memory=id_of(n), start=0, stop=3, why="near") for n in numbers)
    given: dict[str, Any] = {"scope": "*", "parts": parts, "tokens": len(parts)}
    return RecordDelivery(**(given | fields))


def apply(store: Store, *changes: Change, at: int = 1_000_000, key: bytes | None = None) -> Applied:
    """Apply changes under a key that is used once, unless one is given."""
    key = b"key %d" % next(_keys) if key is None else key
    return store.apply(changes, at=at, key=key, author="test", run="run")


_PASSED_OVER = """
SELECT m.id, e.id FROM encoders e JOIN memories m ON m.id <= e.complete_to WHERE m.retired_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM meanings x WHERE x.encoder = e.id AND x.memory = m.id)
"""
"""Memories that wait for their meaning where nobody looks for one."""


def held(path: Path, keys: Keys = KEYS) -> dict[str, list[Any]]:
    """What a store holds, table by table. The generation is left out, and so are the numbers of hypervectors, of
    statements and of names, which are never the same twice, and how far nothing waits for an encoder, which a rebuild
    begins anew: that nothing does is looked at.
    """
    with closing(connect(path, keys)) as db:
        tables = ["applies", "log", "texts", "scopes", "sessions", "memories", "encoders", "meanings", "windows"]
        tables += ["spool", "occurrences", "aside", "transcripts", "originals", "checks", "scrubbed"]
        tables += ["givings", "given_parts", "erased", "silenced", "backups", "projects"]
        tables += ["graph_waiting", "boundary_changes", "verdicts", "merges", "nights"]
        encoders = [row for (row,) in db.execute("SELECT id FROM encoders ORDER BY id").fetchall()]
        found = {table: db.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
        found = {table: sorted(rows, key=lambda row: row[:2]) for table, rows in found.items()}
        found["encoders"] = [row[:4] for row in found["encoders"]]
        found |= {name: db.execute(sql).fetchall() for name, sql in _MADE.items()}
        found["boundaries"] = db.execute("SELECT id, seq, at, reason FROM boundaries ORDER BY id").fetchall()
        found["words"] = db.execute("SELECT * FROM memory_terms ORDER BY memory").fetchall()
        found["words in all"] = db.execute("SELECT * FROM term_totals").fetchall()
        assert wrongly_indexed(db) == (0, True)
        for row in encoders:
            stored = db.execute(f"SELECT rowid, embedding FROM vectors_{row}").fetchall()
            found[f"vectors_{row}"] = sorted(stored)
        kept = db.execute("SELECT name FROM sqlite_schema WHERE sql LIKE '%USING vec0%' ORDER BY name").fetchall()
        found["vector tables"] = kept
        assert db.execute("PRAGMA quick_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert db.execute(_MISCOUNTED).fetchall() == []
        assert db.execute(_PASSED_OVER).fetchall() == []
    return found


_BOOKKEEPING = {"spool", "transcripts", "checks", "backups"}
_DERIVED = {"encoders", "meanings", "windows", "vector tables", *_MADE}


def without_derived(state: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """What a store holds, but for vectors and hypervectors, which follow when there is time."""
    return {name: rows for name, rows in state.items() if name not in _DERIVED and not name.startswith("vectors_")}


def as_of_then(state: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """What a fork to that moment holds of it: not what is made from memories, nor how far capture had come."""
    return {name: rows for name, rows in without_derived(state).items() if name not in _BOOKKEEPING}


def answers(reader: Reader) -> dict[str, Any]:
    """Every answer a snapshot gives, in a form that can be compared; the generation is left out."""
    with reader.snapshot() as now:
        columns = now.memory_columns(0)
        rows = columns.row.tolist()
        records = now.load_memories(rows)
        return {
            "seq": now.seq,
            "memories": plain(columns),
            "superseded": plain(now.superseded()),
            "retired": plain(now.retired()),
            "scopes": now.scopes(),
            "projects": [
                now.scope_path_of(ScopeRef(path="", project=project, found="git"))
                for project in ("/a/shelf", "/b/shelf", "/nowhere")
            ],
            "sessions": {record.session: now.session_rows(record.session) for record in records},
            "encoders": now.encoders(),
            "vectors": [plain(now.vectors(encoder, 0)) for encoder in now.encoders()],
            "words": [now.memory_terms(0, len(rows)).codes, now.term_totals()],
            "records": records,
            "rows": now.rows_of([record.id for record in records]) == rows,
            "pending": [[now.pending_embeddings(e, 0, bulk, 1000) for bulk in (False, True)] for e in now.encoders()],
            "counts": now.counts(None),
            "capture": now.capture_progress(1 << 60),
            "spool": [now.spool_offsets(), now.torn_counts()],
            "aside": now.quarantined_records(0, 1000),
        }


def rows_with(snapshot: Any, stem: str) -> list[int]:
    """The rows of the memories that hold a stem."""
    rows: NDArray[np.int64] = snapshot.memory_columns(0).row
    words = WordIndex()
    words.sync(snapshot, rows)
    assert not words.damaged
    return rows[words.postings([stem])[0]].tolist()


def plain(arrays: tuple[NDArray[Any], ...]) -> list[Any]:
    """Arrays as lists, so that they can be compared."""
    return [array.tolist() for array in arrays]


def files_of(folder: Path) -> dict[str, bytes]:
    """The bytes of each file below a folder, but for what who opens a store holds: the empty lock, a write-ahead log
    with nothing in it, and SQLite's shared index of that.
    """
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    paths = (path for path in paths if path.name != "lock" and not path.name.endswith("-shm"))
    found = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    return {name: data for name, data in found.items() if data or not name.endswith("-wal")}


def said(error: MnemicError) -> str:
    """What a user is told, checked for its form: one sentence and a remedy, no line break, no traceback."""
    for text in (str(error), error.remedy_text):
        assert text.endswith(".")
        assert "\n" not in text
        assert "{" not in text
    return str(error)


def child(call: str, *arguments: object, before: Sequence[str] = (), **options: Any) -> subprocess.Popen[str]:
    """Start another Python process that calls ``module:function`` of the tests with the arguments, as strings."""
    module, function = call.split(":")
    code = f"import sys; from tests.{module} import {function}; {function}(*sys.argv[1:])"
    command = [*before, sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=ROOT, text=True, **(pipes | options))


def finish(process: subprocess.Popen[str], timeout_s: float = 60.0) -> str:
    """Wait for a process that is to succeed; returns what it printed."""
    printed, errors = process.communicate(timeout=timeout_s)
    assert process.returncode == 0, errors
    return printed


def release(processes: Sequence[subprocess.Popen[str]]) -> list[str]:
    """Let processes that have said that they are ready go on at the same moment; returns what they printed."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate(timeout=BOUND_S)
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [finish(process) for process in processes]


def wait_for_release() -> None:
    """In a process: say that it is ready, and wait for `release`."""
    print("ready", flush=True)
    sys.stdin.readline()
