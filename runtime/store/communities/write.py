"""Applying changes of communities: boundaries, the communities found at them, and what is made from those.

Triggers of the schema note every memory whose scope, successor or retirement has changed (`graph_waiting`), and a
boundary takes those over as what changed at it (`boundary_changes`): so the graph of each boundary can be told again,
after a replay too. `mnemic.runtime.store.communities.read` reads what is written here.
"""

from __future__ import annotations

import apsw
import numpy as np

from mnemic.actors.communities.changes import MarkBoundary, PlaceMembers, SetCommunities, SetPrototypes
from mnemic.actors.kernel.events import DEFAULT_KINDS
from mnemic.runtime.store.apply_context import CHANGED, UNCHANGED, ApplyContext, ChangeResult, Handler
from mnemic.runtime.store.shape.write import newest_space_id

FOUND_TABLES = ("members", "communities", "lineage", "neighbours", "graph_scales")
"""What holds communities, and what they were found by."""
GRAPH_TABLES = ("graph_waiting", "boundary_changes", "boundaries", *FOUND_TABLES)
"""The same with boundaries: what a replay of the log makes again, or what actors make again after it."""
NODE_KINDS = "(" + ", ".join(f"'{kind}'" for kind in DEFAULT_KINDS) + ")"
"""Kinds of the memories that communities are made of: those that recall looks through by default."""


def _mark_boundary(context: ApplyContext, change: MarkBoundary, at: int) -> ChangeResult:
    db = context.db
    waits = f"FROM graph_waiting w JOIN memories m ON m.id = w.memory AND m.kind IN {NODE_KINDS}"
    if db.execute(f"SELECT 1 {waits} LIMIT 1").get is None and not context.is_replaying:
        return UNCHANGED  # of one in the log, what had changed may be erased by now
    db.execute(
        "INSERT INTO boundaries(id, seq, at, reason) SELECT 1 + coalesce(max(id), 0), ?, ?, ? FROM boundaries",
        (context.seq, at, change.reason),
    )
    db.execute(
        "INSERT INTO boundary_changes(boundary, memory, scope, successor) SELECT ?, m.id,"
        f" CASE WHEN m.retired_at IS NULL THEN m.scope END, m.superseded_by {waits}",
        (db.last_insert_rowid(),),
    )
    db.execute("DELETE FROM graph_waiting")
    return CHANGED


def _set_communities(context: ApplyContext, change: SetCommunities, at: int) -> ChangeResult:
    db = context.db
    next_boundary = db.execute("SELECT min(id) FROM boundaries WHERE done = 0").get
    if not _is_current(context, change.generation) or next_boundary != change.boundary:
        return UNCHANGED
    rows = _numbers(change.neighbour_rows)
    width = len(change.neighbours) // max(1, 8 * len(rows))
    for place, row in enumerate(rows):
        near, cosines = (
            whole[place * width * size : (place + 1) * width * size]
            for whole, size in ((change.neighbours, 8), (change.cosines, 4))
        )
        db.execute(
            "INSERT INTO neighbours(memory, near, cosines) VALUES(?1, ?2, ?3)"
            " ON CONFLICT(memory) DO UPDATE SET near = ?2, cosines = ?3",
            (row, near, cosines),
        )
    db.executemany(
        "INSERT INTO communities(id, level, parent, scope, size, born) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"
        " ON CONFLICT(id) DO UPDATE SET level = ?2, parent = ?3, scope = ?4, size = ?5",
        [(one.id, one.level, one.parent, one.scope, one.size, change.boundary) for one in change.communities],
    )
    # Where they are nearest counts no more: what is not in `rows` is alone.
    db.execute(
        "DELETE FROM members WHERE placed = 1 AND memory IN (SELECT memory FROM boundary_changes WHERE boundary = ?)",
        (change.boundary,),
    )
    moved = list(zip(_numbers(change.rows), _numbers(change.topics), _numbers(change.parts), strict=True))
    stale = {topic for _, topic, _ in moved}
    stale |= {db.execute("SELECT topic FROM members WHERE memory = ?", (row,)).get for row, _, _ in moved}
    db.executemany("DELETE FROM members WHERE memory = ?", [one[:1] for one in moved if not one[1]])
    db.executemany(
        "INSERT INTO members(memory, topic, part, placed) VALUES(?1, ?2, ?3, 0)"
        " ON CONFLICT(memory) DO UPDATE SET topic = ?2, part = ?3, placed = 0",
        [one for one in moved if one[1]],
    )
    db.executemany("UPDATE communities SET stale = ? WHERE id = ?", [(context.seq, one) for one in stale if one])
    db.executemany(
        "UPDATE communities SET died = ?, prototype = NULL, bundled = 0, stale = 0 WHERE id = ?",
        [(change.boundary, one) for one in change.ended],
    )
    # what came after the boundary was marked may be placed where nothing is any more: it is placed anew
    db.executemany("DELETE FROM members WHERE topic = ? AND placed = 1", [(one,) for one in change.ended])
    for event in change.events:
        for other in event.others or (0,):
            db.execute(
                "INSERT INTO lineage(boundary, kind, community, other) VALUES(?, ?, ?, ?)",
                (change.boundary, event.kind, event.community, other),
            )
    db.executemany("DELETE FROM graph_scales WHERE scope = ?", [(one.scope,) for one in change.scales])
    db.executemany(
        "INSERT INTO graph_scales(scope, resolution, floor, chosen_at, embedded) VALUES(?, ?, ?, ?, ?)",
        [(one.scope, one.resolution, one.floor, one.chosen_at, one.embedded) for one in change.scales if one.chosen_at],
    )
    db.execute("UPDATE boundaries SET done = 1, encoder = ? WHERE id = ?", (change.encoder, change.boundary))
    return CHANGED


def _place_members(context: ApplyContext, change: PlaceMembers, at: int) -> ChangeResult:
    if not _is_current(context, change.generation):
        return UNCHANGED
    before = context.db.total_changes()
    context.db.executemany(
        "INSERT OR IGNORE INTO members(memory, topic, part, placed) SELECT m.id, c.id, 0, 1 FROM memories m"
        " JOIN communities c ON c.id = ?2 AND c.died IS NULL AND c.scope = m.scope"
        " WHERE m.id = ?1 AND m.retired_at IS NULL",
        list(zip(_numbers(change.rows), _numbers(change.topics), strict=True)),
    )
    return CHANGED if context.db.total_changes() > before else UNCHANGED


def _set_prototypes(context: ApplyContext, change: SetPrototypes, at: int) -> ChangeResult:
    db = context.db
    newest = newest_space_id(db)
    if newest is None or db.execute("SELECT stamp FROM spaces WHERE id = ?", (newest,)).get != change.stamp:
        return UNCHANGED
    if not _is_current(context, change.generation):
        return UNCHANGED
    size = int(db.execute("SELECT dimensions FROM spaces WHERE id = ?", (newest,)).get) // 8
    if not len(change.communities) == len(change.bundled) == len(change.prototypes) // size:
        raise ValueError(f"{len(change.prototypes)} bytes are not {len(change.communities)} prototypes of {size}")
    width = len(change.means) // max(1, len(change.communities))
    if width * len(change.communities) != len(change.means) or width % 4:
        raise ValueError(f"{len(change.means)} bytes are no means of {len(change.communities)} communities")
    for place, (community, bundled) in enumerate(zip(change.communities, change.bundled, strict=True)):
        code = change.prototypes[place * size : (place + 1) * size] if bundled else None
        mean = change.means[place * width : (place + 1) * width] if bundled else b""
        db.execute(
            "UPDATE communities SET prototype = ?2, mean = ?5, bundled = ?3,"
            " stale = CASE WHEN stale <= ?4 THEN 0 ELSE stale END WHERE id = ?1 AND level = 0 AND died IS NULL",
            (community, code, bundled, change.seq, mean if any(mean) else None),
        )
    return CHANGED


def clear_communities(db: apsw.Connection) -> None:
    """Have the communities of all boundaries found again, from the first on."""
    for table in FOUND_TABLES:
        db.execute(f"DELETE FROM {table}")
    db.execute("UPDATE boundaries SET done = 0, encoder = NULL")


def _is_current(context: ApplyContext, generation: int) -> bool:
    """Whether rows still mean what they meant when something was decided."""
    return bool(context.db.execute("SELECT number FROM generation").get == generation)


def _numbers(array: bytes) -> list[int]:
    found: list[int] = np.frombuffer(array, "<i8").tolist()
    return found


COMMUNITY_HANDLERS: dict[type, Handler] = {
    MarkBoundary: _mark_boundary,
    SetCommunities: _set_communities,
    PlaceMembers: _place_members,
    SetPrototypes: _set_prototypes,
}
