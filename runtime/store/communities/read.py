"""Queries for the graph of memories: its boundaries, what its edges are made of, and the communities found in it.

Part of `mnemic.runtime.store.reader.StoreSnapshot`. `mnemic.runtime.store.communities.write` writes what is read
here. Members are told only where they are not forgotten and still in their community's scope: between two boundaries a
memory may leave it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from mnemic.actors.communities.changes import GraphScale
from mnemic.actors.communities.queries import (
    BoundaryRow,
    CommunityRecord,
    LineageRow,
    MemberCodes,
    Members,
    NeighbourRows,
    Nodes,
    NodeSource,
    PrototypeBlock,
)
from mnemic.actors.meaning.changes import EncoderName
from mnemic.actors.meaning.queries import VectorBlock
from mnemic.runtime.store.communities.write import NODE_KINDS
from mnemic.runtime.store.schema import SAID_OR_KEPT
from mnemic.runtime.store.shape.write import newest_space_id

_AT_ONCE = 256  # rows that one query asks for
_MANY = 2000  # memories
_LEAST_SIZE = 2  # one memory alone is no topic
_BOUNDARY = "SELECT id, seq, at, reason, done, coalesce(encoder, '') FROM boundaries"
# CROSS: members first, or SQLite goes through all memories of the scope, for each community.
_LIVING = "members x CROSS JOIN memories m ON m.id = x.memory AND m.retired_at IS NULL"
_BELONGS = "(x.topic = {0} OR (x.part = {0} AND x.part > 0))"  # a number is a topic's or a part's; each has its index
_HAS_PROTOTYPE = f"died IS NULL AND level = 0 AND size >= {_LEAST_SIZE} AND prototype IS NOT NULL"
_UNPLACED = (
    "FROM memories m JOIN codes k ON k.memory = m.id AND k.tier = 'episode' AND k.space = ?"
    f" WHERE m.id > ? AND m.retired_at IS NULL AND m.kind IN {NODE_KINDS}"
    " AND NOT EXISTS (SELECT 1 FROM members x WHERE x.memory = m.id)"
    # Of the boundaries that are done, one says of a memory that is no member that it is alone.
    " AND NOT EXISTS (SELECT 1 FROM boundary_changes y JOIN boundaries b ON b.id = y.boundary AND b.done = 1"
    " WHERE y.memory = m.id AND y.scope = m.scope)"
    f" AND m.scope IN (SELECT scope FROM communities WHERE {_HAS_PROTOTYPE})"
)
_ALIVE = (  # and not all that is in it was forgotten since
    f"c.died IS NULL AND c.level = 0 AND c.size >= {_LEAST_SIZE} AND EXISTS (SELECT 1 FROM {_LIVING}"
    " AND m.scope = c.scope WHERE x.topic = c.id AND x.placed = 0)"
)
_COMMUNITY = (
    "SELECT c.id, c.level, c.parent, c.scope, coalesce(s.path, ''), c.size,"
    f" (SELECT count(*) FROM {_LIVING} AND m.scope = c.scope WHERE x.topic = c.id AND x.placed = 1 AND c.level = 0),"
    " {times}, b.at, d.at, c.bundled FROM communities c LEFT JOIN scopes s ON s.id = c.scope"
    " JOIN boundaries b ON b.id = c.born LEFT JOIN boundaries d ON d.id = c.died"
)
_FIELDS = (
    *("id", "level", "parent", "scope", "path", "size", "placed", "first_at", "last_at", "born_at", "died_at"),
    "bundled",
)
_TIMES = (
    "(SELECT {0}(" + SAID_OR_KEPT + ") FROM " + _LIVING + " AND m.scope = c.scope"
    " WHERE " + _BELONGS.format("c.id") + ")"
)
_WITH_TIMES = _COMMUNITY.format(times=", ".join(_TIMES.format(name) for name in ("min", "max")))


class CommunityQueries:
    """What a snapshot tells of communities; see `mnemic.actors.communities.queries.GraphSnapshot`."""

    _db: apsw.Connection
    vectors: Callable[[EncoderName, int], VectorBlock]

    def boundaries(self, after: int) -> list[BoundaryRow]:
        found = self._db.execute(f"{_BOUNDARY} WHERE id > ? ORDER BY id", (after,)).fetchall()
        return [_boundary(one) for one in found]

    def last_done_boundary(self) -> BoundaryRow | None:
        found = self._db.execute(f"{_BOUNDARY} WHERE done = 1 ORDER BY id DESC LIMIT 1").fetchone()
        return None if found is None else _boundary(found)

    def open_boundaries(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM boundaries WHERE done = 0").get)

    def graph_waiting(self) -> tuple[int, int]:
        waits = f"SELECT count(*) FROM graph_waiting w JOIN memories m ON m.id = w.memory AND m.kind IN {NODE_KINDS}"
        return int(self._db.execute(waits).get), int(self._db.execute("SELECT count(*) FROM members").get)

    def boundary_changes(self, boundary: int) -> Nodes:
        return _nodes(
            self._db.execute(
                "SELECT memory, coalesce(scope, 0), coalesce(successor, 0) FROM boundary_changes WHERE boundary = ?"
                " ORDER BY memory",
                (boundary,),
            ).fetchall()
        )

    def nodes_at(self, boundary: int) -> Nodes:
        # SQLite takes the other columns from the row that has the greatest boundary.
        found = self._db.execute(
            "SELECT memory, scope, coalesce(successor, 0), max(boundary) FROM boundary_changes WHERE boundary <= ?"
            " GROUP BY memory ORDER BY memory",
            (boundary,),
        ).fetchall()
        return _nodes([one[:3] for one in found if one[1] is not None])

    def node_sources(self, rows: NDArray[np.int64]) -> NodeSource:
        asked = f"SELECT id, session, {SAID_OR_KEPT}, files FROM memories WHERE id IN"
        wanted = rows.tolist()
        found = {row: rest for row, *rest in self._in_parts(asked, wanted)}
        columns = np.array([found[row][:2] for row in wanted], np.int64).reshape(len(wanted), 2)
        return NodeSource(columns[:, 0], columns[:, 1], [tuple(json.loads(found[row][2])) for row in wanted])

    def graph_scales(self) -> list[GraphScale]:
        asked = "SELECT scope, resolution, floor, chosen_at, embedded FROM graph_scales ORDER BY scope"
        return [GraphScale(*one) for one in self._db.execute(asked)]

    def given_together(self, until_seq: int, after_seq: int = 0) -> list[list[int]]:
        given: dict[int, list[int]] = {}
        found: list[Any] = self._db.execute(
            "SELECT p.giving, p.memory FROM givings g JOIN given_parts p ON p.giving = g.id"
            " WHERE g.seq > ? AND g.seq <= ? AND g.occasion IN ('recall', 'shape') ORDER BY p.giving, p.place",
            (after_seq, until_seq),
        ).fetchall()
        for delivery, row in found:
            given.setdefault(delivery, []).append(row)
        return [list(dict.fromkeys(rows)) for rows in given.values()]

    def mean_vectors(
        self, encoder: EncoderName, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        if len(rows) > _MANY:  # sqlite-vec reads all of them faster than many one by one
            block = self.vectors(encoder, 0)
            here = np.isin(block.row, rows)
            of, vectors = block.row[here], block.vectors[here]
        else:
            of, vectors = self._vectors_of(encoder, rows.tolist())
        if not len(of):
            return np.empty(0, np.int64), np.empty((0, vectors.shape[1]), np.float32)
        order = np.argsort(of, kind="stable")  # windows of a memory stand in their order, and are added up in it
        found, first = np.unique(of[order], return_index=True)
        total = np.add.reduceat(vectors[order].astype(np.float64), first, axis=0)
        length = np.sqrt((total * total).sum(axis=1, keepdims=True))
        return found, (total / np.where(length == 0, 1.0, length)).astype(np.float32)

    def _vectors_of(self, encoder: EncoderName, rows: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        known = self._db.execute(
            "SELECT id, dimensions FROM encoders WHERE implementation = ? AND model = ?",
            (encoder.implementation, encoder.model),
        ).fetchone()
        if known is None:
            return np.empty(0, np.int64), np.empty((0, 0), np.float32)
        number, dimensions = known
        asked = f"SELECT id, memory FROM windows WHERE encoder = {number} AND memory IN"
        windows = sorted(self._in_parts(asked, sorted(rows)))
        one = f"SELECT embedding FROM vectors_{number} WHERE rowid = ?"
        blobs = b"".join(self._db.execute(one, (window,)).get for window, _ in windows)
        vectors = np.frombuffer(blobs, "<f4").reshape(len(windows), dimensions)
        return np.array([row for _, row in windows], np.int64), vectors

    def saved_neighbours(self) -> NeighbourRows:
        return _neighbours(self._db.execute("SELECT memory, near, cosines FROM neighbours ORDER BY memory").fetchall())

    def neighbours_of(self, rows: Sequence[int]) -> NeighbourRows:
        return _neighbours(
            list(self._in_parts("SELECT memory, near, cosines FROM neighbours WHERE memory IN", sorted(rows)))
        )

    def members(self) -> Members:
        found = self._db.execute(
            f"SELECT x.memory, x.topic, x.part, x.placed FROM {_LIVING}"
            " JOIN communities c ON c.id = x.topic AND c.scope = m.scope ORDER BY x.memory"
        ).fetchall()
        return _members(found)

    def kept_members(self) -> Members:
        return _members(
            self._db.execute(
                "SELECT memory, topic, part, placed FROM members WHERE placed = 0 ORDER BY memory"
            ).fetchall()
        )

    def next_community_number(self) -> int:
        return int(self._db.execute("SELECT 1 + coalesce(max(id), 0) FROM communities").get)

    def list_communities(self, scopes: Collection[int] | None, limit: int) -> tuple[list[CommunityRecord], int, int]:
        within, values = "", tuple[str, ...]()
        if scopes is not None:
            within, values = " AND c.scope IN (SELECT value FROM json_each(?))", (json.dumps(sorted(scopes)),)
        alive = f"{_ALIVE}{within}"
        count, memories = next(
            self._db.execute(f"SELECT count(*), coalesce(sum(c.size), 0) FROM communities c WHERE {alive}", values)
        )
        newest = f"{_WITH_TIMES} WHERE {alive} ORDER BY 9 DESC, c.size DESC, c.id LIMIT ?"
        found = self._db.execute(newest, (*values, limit)).fetchall()
        return [_community(one) for one in found], int(count), int(memories)

    def community(self, number: int) -> CommunityRecord | None:
        found = self._db.execute(f"{_WITH_TIMES} WHERE c.id = ?", (number,)).fetchone()
        return None if found is None else _community(found)

    def community_parts(self, topic: int) -> list[CommunityRecord]:
        found = self._db.execute(
            f"{_WITH_TIMES} WHERE c.parent = ? AND c.level = 1 AND c.died IS NULL ORDER BY c.size DESC, c.id", (topic,)
        ).fetchall()
        return [_community(one) for one in found]

    def members_of(self, community: int, limit: int) -> list[int]:
        found: list[Any] = self._db.execute(
            f"SELECT x.memory FROM {_LIVING} JOIN communities c ON c.id = ?1 AND c.scope = m.scope"
            f" WHERE {_BELONGS.format('?1')} ORDER BY x.memory",
            (community,),
        ).fetchall()
        return _evenly([int(row) for (row,) in found], limit)

    def speakers_of(self, rows: Sequence[int]) -> list[str]:
        found = dict(self._in_parts("SELECT id, coalesce(speaker, '') FROM memories WHERE id IN", rows))
        return [str(found[row]) for row in rows]

    def lineage(self, community: int) -> list[LineageRow]:
        events: dict[tuple[int, str, int], list[int]] = {}
        times: dict[int, int] = {}
        found: list[Any] = self._db.execute(
            "SELECT l.boundary, b.at, l.kind, l.community, l.other FROM lineage l"
            " JOIN boundaries b ON b.id = l.boundary WHERE (l.boundary, l.kind, l.community) IN"
            " (SELECT boundary, kind, community FROM lineage WHERE community = ?1 OR other = ?1)"
            " ORDER BY l.boundary, l.rowid",
            (community,),
        ).fetchall()
        for boundary, at, kind, of, other in found:
            events.setdefault((boundary, kind, of), []).append(other)
            times[boundary] = at
        return [
            LineageRow(at=times[boundary], kind=kind, community=of, others=tuple(one for one in others if one))
            for (boundary, kind, of), others in events.items()
        ]

    def community_counts(self) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM communities c WHERE {_ALIVE}").get)

    def stale_prototypes(self, limit: int) -> list[int]:
        asked = "SELECT id FROM communities WHERE stale > 0 AND died IS NULL AND level = 0 ORDER BY id LIMIT ?"
        found: list[Any] = self._db.execute(asked, (limit,)).fetchall()
        return [int(one) for (one,) in found]

    def stale_prototype_count(self) -> int:
        return int(
            self._db.execute("SELECT count(*) FROM communities WHERE stale > 0 AND died IS NULL AND level = 0").get
        )

    def member_codes(self, topic: int, limit: int) -> MemberCodes:
        bound: list[Any] = self._db.execute(
            f"SELECT k.id FROM {_LIVING} JOIN communities c ON c.id = x.topic AND c.scope = m.scope"
            " JOIN codes k ON k.memory = m.id AND k.tier = 'episode' AND k.space = ?"
            " WHERE x.topic = ? AND x.placed = 0 ORDER BY m.id",
            (newest_space_id(self._db), topic),
        ).fetchall()
        asked = (
            "SELECT m.id, m.scope, z.code FROM codes k JOIN code_bits z ON z.id = k.id"
            " JOIN memories m ON m.id = k.memory WHERE k.id IN"
        )
        chosen = _evenly([int(one) for (one,) in bound], limit)
        return MemberCodes(*_coded(sorted(self._in_parts(asked, chosen))))

    def prototypes(self) -> PrototypeBlock:
        found: list[Any] = self._db.execute(
            f"SELECT id, scope, prototype, mean FROM communities WHERE {_HAS_PROTOTYPE} ORDER BY id"
        ).fetchall()
        kept = [one[3] or b"" for one in found]
        width = max(map(len, kept), default=0)  # those of another model are found again before long
        means = np.frombuffer(b"".join(one if len(one) == width else bytes(width) for one in kept), "<f4")
        coded = _coded([one[:3] for one in found])
        return PrototypeBlock(*coded, means.astype(np.float32).reshape(len(found), width // 4))

    def prototype(self, topic: int) -> NDArray[np.uint64] | None:
        asked = f"SELECT prototype FROM communities WHERE {_HAS_PROTOTYPE} AND id = ?"
        code = self._db.execute(asked, (topic,)).get
        return None if code is None else np.frombuffer(code, "<u8").astype(np.uint64)

    def unplaced(self, after_row: int, limit: int) -> MemberCodes:
        found = self._db.execute(
            f"SELECT m.id, m.scope, (SELECT code FROM code_bits WHERE id = k.id) {_UNPLACED} ORDER BY m.id LIMIT ?",
            (newest_space_id(self._db), after_row, limit),
        ).fetchall()
        return MemberCodes(*_coded(found))

    def unplaced_count(self, after_row: int) -> int:
        return int(self._db.execute(f"SELECT count(*) {_UNPLACED}", (newest_space_id(self._db), after_row)).get)

    def topics_of(self, rows: Sequence[int]) -> dict[int, int]:
        asked = (
            f"SELECT x.memory, x.topic FROM {_LIVING} JOIN communities c ON c.id = x.topic AND c.scope = m.scope"
            f" AND c.died IS NULL AND c.size >= {_LEAST_SIZE} WHERE x.memory IN"
        )
        return {int(row): int(topic) for row, topic in self._in_parts(asked, rows)}

    def common_fillers(self, community: int, limit: int) -> list[tuple[str, str, int]]:
        found: list[Any] = self._db.execute(
            f"SELECT f.role, f.filler, count(*) AS held FROM {_LIVING} JOIN communities c ON c.id = ?1"
            " AND c.scope = m.scope JOIN bound b ON b.memory = x.memory JOIN json_each(b.fillers) j"
            " JOIN fillers f ON f.id = j.value"
            f" WHERE {_BELONGS.format('?1')}"
            " GROUP BY f.id ORDER BY held DESC, f.role, f.filler LIMIT ?2",
            (community, limit),
        ).fetchall()
        return [(str(role), str(filler), int(held)) for role, filler, held in found]

    def _in_parts(self, sql: str, rows: Sequence[int]) -> Iterator[Any]:
        """What is selected of some rows; the statement ends with ``IN``."""
        for start in range(0, len(rows), _AT_ONCE):
            some = [int(row) for row in rows[start : start + _AT_ONCE]]
            yield from self._db.execute(f"{sql} ({', '.join('?' * len(some))})", some).fetchall()


def _evenly(found: list[int], limit: int) -> list[int]:
    """All of some numbers, or of more than `limit` so many, evenly drawn."""
    return found if len(found) <= limit else [found[place * len(found) // limit] for place in range(limit)]


def _boundary(row: Sequence[Any]) -> BoundaryRow:
    number, seq, at, reason, done, encoder = row
    return BoundaryRow(number=number, seq=seq, at=at, reason=reason, done=bool(done), encoder=encoder)


def _community(row: Sequence[Any]) -> CommunityRecord:
    return CommunityRecord(**dict(zip(_FIELDS, row, strict=True)))


def _nodes(found: Sequence[Sequence[Any]]) -> Nodes:
    table = np.array(found, np.int64).reshape(len(found), 3)
    return Nodes(table[:, 0], table[:, 1], table[:, 2])


def _members(found: Sequence[Sequence[Any]]) -> Members:
    table = np.array(found, np.int64).reshape(len(found), 4)
    return Members(table[:, 0], table[:, 1], table[:, 2], table[:, 3].astype(np.bool_))


def _neighbours(found: Sequence[Sequence[Any]]) -> NeighbourRows:
    found = sorted(found, key=lambda one: one[0])
    rows = np.array([row for row, _, _ in found], np.int64)
    near = np.frombuffer(b"".join(one for _, one, _ in found), "<i8").astype(np.int64)
    cosines = np.frombuffer(b"".join(one for _, _, one in found), "<f4").astype(np.float32)
    width = len(near) // max(1, len(rows))
    return NeighbourRows(rows, near.reshape(len(rows), width), cosines.reshape(len(rows), width))


def _coded(found: Sequence[Sequence[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]:
    codes = np.frombuffer(b"".join(code for _, _, code in found), "<u8").astype(np.uint64)
    width = len(codes) // max(1, len(found))
    numbers = np.array([one[:2] for one in found], np.int64).reshape(len(found), 2)
    return numbers[:, 0], numbers[:, 1], codes.reshape(len(found), width)
