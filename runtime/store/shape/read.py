"""Queries for hypervectors, what they are bound from, and which memories still wait for theirs.

Part of `mnemic.runtime.store.reader.StoreSnapshot`. `mnemic.runtime.store.shape.write` writes what is read here,
and `mnemic.runtime.store.shape.rebind_queue` says by the same neighbourhoods which memories are to be bound again.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from mnemic.actors.meaning.changes import EncoderName
from mnemic.actors.recall.messages import Memory
from mnemic.actors.shape.queries import NEAR_CALLS, CodeBlock, NamedFiller, NearbyCall, RecordBlock, SpaceRow, Unbound
from mnemic.algorithms.text.terms import index_terms
from mnemic.runtime.store.meaning.write import encoder_row
from mnemic.runtime.store.schema import SAID_OR_KEPT
from mnemic.runtime.store.shape.rebind_queue import BINDING_FAILED, CALLS, TURNS, adjacent_rows, first_speakers
from mnemic.runtime.store.shape.write import newest_space_id
from mnemic.runtime.store.texts import text_prefix

_PAGE = 4096
_BOUND_WITHIN = """
memories m CROSS JOIN bound b ON b.memory = m.id AND m.scope IN (SELECT value FROM json_each(?))
"""
_MAX_OTHER_SPEAKERS = 3
"""So many speakers other than its own are told of a memory."""
_CALL_BYTES = 2048
"""So much of the text of a call or a result nearby is told."""
_FAILED_BYTES = 65_536
"""So much of the result of what failed is read for how it ends."""


class CodeQueries:
    """What a snapshot tells of hypervectors; see `mnemic.actors.kernel.snapshot.Snapshot`."""

    _db: apsw.Connection

    @abstractmethod
    def load_memories(self, rows: Sequence[int], text_bytes: int | None = None) -> list[Memory]: ...

    def space(self) -> SpaceRow | None:
        newest = newest_space_id(self._db)
        if newest is None:
            return None
        stamp, dimensions, version, roles, model, embedding, reading = next(
            self._db.execute(
                "SELECT stamp, dimensions, version, roles, model, embedding, reading FROM spaces WHERE id = ?",
                (newest,),
            )
        )
        return SpaceRow(
            stamp=stamp,
            dimensions=dimensions,
            version=version,
            roles=tuple(json.loads(roles)),
            model=model,
            embedding=embedding,
            reading=reading,
        )

    def records(self, tier: str, after: int) -> RecordBlock:
        columns, terms = [np.empty((0, 4), np.int64)], [np.empty(0, np.uint32)]
        for page in self._pages("id, memory, pairs, fillers", "codes", tier, after):
            columns.append(np.array([(*row[:3], len(row[3])) for row in page], np.int64))
            terms.append(np.frombuffer(b"".join(row[3] for row in page), "<u4"))
        number, row, pairs, sizes = np.concatenate(columns).T
        return RecordBlock(number, row, pairs, np.cumsum(sizes // terms[0].itemsize), np.concatenate(terms))

    def codes(self, tier: str, after: int) -> CodeBlock:
        newest = newest_space_id(self._db)
        words = 0 if newest is None else self._db.execute("SELECT dimensions FROM spaces WHERE id = ?", (newest,)).get
        columns, codes = [np.empty((0, 3), np.int64)], [np.empty((0, int(words or 0) // 64), np.uint64)]
        for page in self._pages("id, memory, pairs, code", "codes JOIN code_bits USING(id)", tier, after):
            columns.append(np.array([row[:3] for row in page], np.int64))
            codes.append(np.frombuffer(b"".join(row[3] for row in page), "<u8").reshape(len(page), -1))
        number, row, pairs = np.concatenate(columns).T
        return CodeBlock(number, row, pairs, np.concatenate(codes))

    def _pages(self, columns: str, of: str, tier: str, after: int) -> Iterator[list[Any]]:
        """Rows of the newest space and a tier, by their number, some at a time."""
        asked = f"SELECT {columns} FROM {of} WHERE space = ? AND tier = ? AND id > ? ORDER BY id LIMIT {_PAGE}"
        newest = newest_space_id(self._db)
        while True:
            page: list[Any] = self._db.execute(asked, (newest, tier, after)).fetchall()
            if not page:
                return
            yield page
            after = page[-1][0]

    def fillers(self, role: str, scopes: Collection[int] | None = None) -> list[NamedFiller]:
        if scopes is None:
            asked = "SELECT id, filler, memories FROM fillers WHERE role = ? ORDER BY memories DESC, filler"
            found: list[Any] = self._db.execute(asked, (role,)).fetchall()
        else:
            asked = (
                f"SELECT f.id, f.filler, count(*) AS held FROM {_BOUND_WITHIN} CROSS JOIN json_each(b.fillers) j"
                " CROSS JOIN fillers f ON f.id = j.value WHERE f.role = ? GROUP BY f.id ORDER BY held DESC, f.filler"
            )
            found = self._db.execute(asked, (json.dumps(sorted(scopes)), role)).fetchall()
        return [NamedFiller(*one) for one in found]

    def filler_numbers(self, role: str, filler: str) -> list[int]:
        asked = "SELECT id FROM fillers WHERE role = ? AND folded = ?"
        return [number for (number,) in self._db.execute(asked, (role, filler.lower()))]

    def filler_roles(self, after: int) -> tuple[NDArray[np.int64], list[str]]:
        found: list[Any] = self._db.execute(
            "SELECT id, role FROM fillers WHERE id > ? ORDER BY id", (after,)
        ).fetchall()
        return np.array([number for number, _ in found], np.int64), [role for _, role in found]

    def named_fillers(self, numbers: Sequence[int]) -> list[NamedFiller]:
        asked = (
            "SELECT id, filler, memories FROM fillers WHERE id IN (SELECT value FROM json_each(?))"
            " ORDER BY memories DESC, filler"
        )
        return [NamedFiller(*one) for one in self._db.execute(asked, (json.dumps(list(numbers)),))]

    def filler_counts(self) -> dict[str, int]:
        return dict(self._db.execute("SELECT role, count(*) FROM fillers GROUP BY role ORDER BY role"))

    def bound_counts(self, encoder: EncoderName | None, waiting: bool) -> tuple[int, int]:
        bound = self._db.execute(
            "SELECT count(*) FROM codes WHERE space = ? AND tier = 'episode'", (newest_space_id(self._db),)
        ).get
        condition, values = self._pending_condition(encoder, waiting)
        pending = self._db.execute(f"SELECT count(*) FROM unbound u WHERE {condition}", values).get
        return int(bound), int(pending)

    def pending_binding_count(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM unbound WHERE encoder != ?", (BINDING_FAILED,)).get)

    def failed_bindings(
        self, encoder: EncoderName | None, after_row: int, limit: int, text_bytes: int
    ) -> list[Unbound]:
        return self._load_pending("u.encoder = ?", (BINDING_FAILED,), encoder, after_row, limit, text_bytes)

    def failed_binding_rows(self) -> NDArray[np.int64]:
        found = self._db.execute(
            "SELECT memory FROM unbound WHERE encoder = ? ORDER BY memory", (BINDING_FAILED,)
        ).fetchall()
        return np.array([row for (row,) in found], np.int64)

    def pending_bindings(
        self, encoder: EncoderName | None, waiting: bool, after_row: int, limit: int, text_bytes: int
    ) -> list[Unbound]:
        condition, values = self._pending_condition(encoder, waiting)
        return self._load_pending(condition, values, encoder, after_row, limit, text_bytes)

    def _load_pending(
        self,
        condition: str,
        values: tuple[int, ...],
        encoder: EncoderName | None,
        after_row: int,
        limit: int,
        text_bytes: int,
    ) -> list[Unbound]:
        rows: list[Any] = self._db.execute(
            f"SELECT u.memory FROM unbound u WHERE {condition} AND u.memory > ? ORDER BY u.memory LIMIT ?",
            (*values, after_row, limit),
        ).fetchall()
        batch = _BindingBatch(self._db, 0 if encoder is None else encoder_row(self._db, encoder) or 0)
        memories = self.load_memories([row for (row,) in rows], text_bytes)
        return [batch.unbound(row, memory) for (row,), memory in zip(rows, memories, strict=True)]

    def _pending_condition(self, encoder: EncoderName | None, waiting: bool) -> tuple[str, tuple[int, ...]]:
        """Which of those that are to be bound can be; only what is not forgotten is to be."""
        if not waiting:
            return "u.encoder != ?", (BINDING_FAILED,)
        number = None if encoder is None else encoder_row(self._db, encoder)
        return ("0", ()) if number is None else ("u.encoder = ?", (number,))


class _BindingBatch:
    """Reads what records are read from, and no vector twice: what follows each other has its neighbours in common."""

    def __init__(self, connection: apsw.Connection, encoder: int) -> None:
        self._db = connection
        self._encoder = encoder
        self._means: dict[int | None, bytes] = {None: b""}
        self._calls: dict[int, NearbyCall] = {}
        self._speakers: dict[int, list[str]] = {}

    def unbound(self, row: int, memory: Memory) -> Unbound:
        session, at = next(self._db.execute(f"SELECT m.session, {SAID_OR_KEPT} FROM memories m WHERE m.id = ?", (row,)))
        is_call = memory.kind in ("tool_call", "tool_result")
        return Unbound(
            row=row,
            memory=memory,
            words=self._word_count(row),
            meaning=self._mean_vector(row),
            previous=self._mean_vector(self._adjacent_turn(session, at, row, "before")),
            next=self._mean_vector(self._adjacent_turn(session, at, row, "after")) if memory.kind == "turn" else b"",
            speakers=self._other_speakers(session, memory.speaker),
            before=self._nearby_calls(session, at, row, "before") if is_call else (),
            after=self._nearby_calls(session, at, row, "after") if is_call else (),
            own=self._call(row) if memory.kind == "tool_result" and memory.outcome == "failed" else None,
        )

    def _word_count(self, row: int) -> int:
        """Words of the text alone: what is kept beside a memory counts its speaker's name too."""
        words, speaker = next(self._db.execute("SELECT words, speaker FROM memories WHERE id = ?", (row,)))
        return int(words) - len(index_terms(speaker or ""))

    def _other_speakers(self, session: int, speaker: str | None) -> tuple[str, ...]:
        if session not in self._speakers:
            self._speakers[session] = first_speakers(self._db, session)
        return tuple(name for name in self._speakers[session] if name != speaker)[:_MAX_OTHER_SPEAKERS]

    def _adjacent_turn(self, session: int, at: int, row: int, step: str) -> int | None:
        found = adjacent_rows(self._db, session, at, row, step, TURNS, 1)
        return found[0][0] if found else None

    def _nearby_calls(self, session: int, at: int, row: int, step: str) -> tuple[NearbyCall, ...]:
        found = adjacent_rows(self._db, session, at, row, step, CALLS, NEAR_CALLS)
        return tuple(self._call(one) for one, _ in found)

    def _call(self, row: int) -> NearbyCall:
        if row not in self._calls:
            kind, tool, outcome, files, text = next(
                self._db.execute("SELECT kind, tool, outcome, files, text FROM memories WHERE id = ?", (row,))
            )
            failed = kind == "tool_result" and outcome == "failed"
            start = text_prefix(self._db, text, _FAILED_BYTES if failed else _CALL_BYTES)[0]
            if failed and len(start) > _CALL_BYTES:  # what ended it stands last
                start = start[: _CALL_BYTES // 2] + b"\n" + start[-_CALL_BYTES // 2 :]
            self._calls[row] = NearbyCall(
                kind=kind, tool=tool, outcome=outcome, files=tuple(json.loads(files)), text=start
            )
        return self._calls[row]

    def _mean_vector(self, row: int | None) -> bytes:
        """The mean of a memory's vectors; ``b""`` where it has none."""
        if row not in self._means:
            assert row is not None
            found: list[Any] = self._db.execute(
                "SELECT id FROM windows WHERE encoder = ? AND memory = ? ORDER BY id", (self._encoder, row)
            ).fetchall()
            one = f"SELECT embedding FROM vectors_{self._encoder} WHERE rowid = ?"
            vectors = [np.frombuffer(self._db.execute(one, (window,)).get, "<f4") for (window,) in found]
            self._means[row] = _mean_of(vectors).astype("<f4").tobytes() if vectors else b""
        return self._means[row]


def _mean_of(vectors: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """In double precision, in order: the same on any machine."""
    total = np.zeros(len(vectors[0]), np.float64)
    for vector in vectors:
        total += vector
    return (total / len(vectors)).astype(np.float32)
