"""Communities in a store without anybody who finds them: which memory belongs where is said by the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mnemic.actors.protocol.changes import Change
from mnemic.actors.protocol.community_changes import CommunityRow, LineageEvent, MarkBoundary, SetCommunities
from mnemic.actors.protocol.snapshot import Snapshot

Topics = Mapping[int, Sequence[int]]
"""Rows of the members of each topic, by its number."""


def boundary_changes(
    snapshot: Snapshot,
    topics: Topics,
    *,
    parts: Mapping[int, tuple[int, Sequence[int]]] | None = None,
    near: Mapping[int, Sequence[int]] | None = None,
    events: Sequence[LineageEvent] = (),
    ended: Sequence[int] = (),
) -> SetCommunities:
    """What is found at the boundary that waits.

    Args:
        parts: of each part, by its number, the topic it is of and the rows of its members.
        near: of some rows their nearest neighbours, as many of each.
    """
    columns, parts, near = snapshot.memory_columns(0), parts or {}, near or {}
    scopes = dict(zip(columns.row.tolist(), columns.scope.tolist(), strict=True))
    communities = [
        CommunityRow(id=number, level=0, parent=0, scope=scopes[rows[0]], size=len(rows))
        for number, rows in topics.items()
    ]
    communities += [
        CommunityRow(id=number, level=1, parent=of, scope=scopes[rows[0]], size=len(rows))
        for number, (of, rows) in parts.items()
    ]
    topic_of = {row: number for number, rows in topics.items() for row in rows}
    part_of = {row: number for number, (_, rows) in parts.items() for row in rows}
    (open_boundary,) = (one.number for one in snapshot.boundaries(0) if not one.done)
    return SetCommunities(
        generation=snapshot.generation,
        boundary=open_boundary,
        resolution=0.1,
        floor=0.5,
        chosen_at=len(scopes),
        neighbour_rows=_numbers(list(near)),
        neighbours=_numbers([row for rows in near.values() for row in rows]),
        cosines=np.full(sum(map(len, near.values())), 0.9, "<f4").tobytes(),
        rows=_numbers(list(topic_of)),
        topics=_numbers(list(topic_of.values())),
        parts=_numbers([part_of.get(row, topic) for row, topic in topic_of.items()]),
        communities=tuple(communities),
        ended=tuple(ended),
        events=tuple(events) or tuple(LineageEvent(kind="born", community=number) for number in topics),
    )


def group(
    apply: Callable[[Change], object],
    look: Callable[[Callable[[Snapshot], SetCommunities]], SetCommunities],
    topics: Topics,
    **more: object,
) -> None:
    """Mark a boundary, and say what is found at it.

    Args:
        apply: has the store carry out a change.
        look: answers with what a function says of a snapshot.
        more: as `boundary_changes` takes it.
    """
    apply(MarkBoundary(reason="asked"))
    apply(look(lambda snapshot: boundary_changes(snapshot, topics, **more)))  # type: ignore[arg-type]


def _numbers(values: Sequence[int]) -> bytes:
    return np.array(values, "<i8").tobytes()
