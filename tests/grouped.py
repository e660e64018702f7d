"""Communities in a store without anybody who finds them: which memory belongs where is said by the test."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from mnemic.actors.communities.changes import CommunityRow, LineageEvent, MarkBoundary, SetCommunities
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.store.messages import Apply
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader

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
    """What is found at the next boundary.

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
    return SetCommunities(
        generation=snapshot.generation,
        boundary=1 + max((one.number for one in snapshot.boundaries(0)), default=0),
        encoder="",
        scales=(),
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
    apply: Callable[[Change, Change], object],
    look: Callable[[Callable[[Snapshot], SetCommunities]], SetCommunities],
    topics: Topics,
    **more: object,
) -> None:
    """Mark a boundary, and say in the same transaction what is found at it, before anybody else looks for it.

    Args:
        apply: has the store carry out changes.
        look: answers with what a function says of a snapshot.
        more: as `boundary_changes` takes it.
    """
    found = look(lambda snapshot: boundary_changes(snapshot, topics, **more))  # type: ignore[arg-type]
    apply(MarkBoundary(reason="asked"), found)


def group_scopes(mind: Mind, home: Path, *paths: str) -> None:
    """Make of the memories of each scope one community, numbered from 1 on, in a mind that is open here."""
    folder, keys = open_mind(home, "default", looking=True)
    with closing(open_reader(folder.store, keys)) as reader:

        def look(what: Callable[[Snapshot], Any]) -> Any:
            with reader.snapshot() as now:
                return what(now)

        def apply(*changes: Change) -> None:
            key = hashlib.sha256(repr(changes).encode()).digest()
            mind.actor_system.ask(Apply(changes=changes, key=key, author="test", run="test"))

        columns, scopes = look(lambda now: (now.memory_columns(0), now.scopes()))
        of = {path: number for number, path in scopes.items()}
        group(apply, look, {n: columns.row[columns.scope == of[path]].tolist() for n, path in enumerate(paths, 1)})


def _numbers(values: Sequence[int]) -> bytes:
    return np.array(values, "<i8").tobytes()
