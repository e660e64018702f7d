"""The rebind queue: which memories need new hypervectors, since something they are bound from has changed.

`mnemic.runtime.store.log.write` tells the `RebindQueue` of every such change, in the transaction that makes it;
and `mnemic.runtime.store.shape.read` reads by the same neighbourhoods.

The item memory: which fillers each role has, how many memories have each, and which of them a memory has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import apsw

from mnemic.actors.shape.queries import NEAR_CALLS
from mnemic.runtime.store.schema import SAID_OR_KEPT


def set_fillers(
    connection: apsw.Connection, row: int, fillers: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """Have a memory have some fillers, each with its role, and no others; those that nobody has any more go.

    Returns their numbers.

    How many memories have a filler is kept with it: to count them for a role of a large mind would take longer than the
    question that needs it.
    """
    had = connection.execute("SELECT fillers FROM bound WHERE memory = ?", (row,)).get
    if had is not None:
        connection.execute(
            "UPDATE fillers SET memories = memories - 1 WHERE id IN (SELECT value FROM json_each(?))", (had,)
        )
    has = {one: _count_filler(connection, *one) for one in sorted(set(fillers))}
    if had is not None:
        connection.execute("DELETE FROM fillers WHERE memories = 0 AND id IN (SELECT value FROM json_each(?))", (had,))
        connection.execute("DELETE FROM bound WHERE memory = ?", (row,))
    if has:
        kept = json.dumps(list(has.values()), separators=(",", ":"))
        connection.execute("INSERT INTO bound(memory, fillers) VALUES(?, ?)", (row, kept))
    return has


def _count_filler(connection: apsw.Connection, role: str, filler: str) -> int:
    """Count a memory more that has a filler; its number, which no other one ever had."""
    known = connection.execute(
        "UPDATE fillers SET memories = memories + 1 WHERE role = ? AND filler = ? RETURNING id", (role, filler)
    ).get
    if known is None:  # an upsert would use up a number each time
        known = connection.execute(
            "INSERT INTO fillers(role, filler, folded, memories) VALUES(?, ?, ?, 1) RETURNING id",
            (role, filler, filler.lower()),
        ).get
    return int(known)


MAX_SPEAKERS = 4
"""So many names of a session's speakers are looked at, the first by the alphabet: three, and a memory's own."""

BINDING_FAILED = -1
"""In place of an encoder's number: something of this memory could not be bound, and it waits until it is marked again,
because of what it says or stands beside, or since somebody asks for it."""

TURNS = "('turn')"
CALLS = "('tool_call', 'tool_result')"
_KINDS = {"turn": TURNS, "tool_call": CALLS, "tool_result": CALLS}
_SESSION_END = (1 << 62, 1 << 62)


class RebindQueue:
    """Says which memories are to be bound, within a transaction that the caller holds.

    A record is read from its memory, from the turns beside it in the session, from the calls of tools near it, from its
    scope, and from the names of the session's speakers. What is forgotten has no records, and is beside nothing.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection
        self._places: dict[str, set[tuple[int, int, int]]] = {TURNS: set(), CALLS: set()}
        """Where turns and calls came or left: session, time and row."""

    def memory_added(self, row: int) -> None:
        """A memory is there that was not, or is not forgotten any more."""
        self._note_place(row)
        self._enqueue_rows(self._affected_by_speaker(row) | {row})

    def memory_leaving(self, row: int) -> None:
        """A memory is about to go, or to be forgotten; its hypervectors go at once.

        This is called before it goes, since its place tells which memories stand beside it.
        """
        self._note_place(row)
        others = self._affected_by_speaker(row)
        self.drop_codes(row)
        self._db.execute("DELETE FROM unbound WHERE memory = ?", (row,))
        self._enqueue_rows(others - {row})

    def vectors_changed(self, rows: Iterable[int]) -> None:
        """The vectors of some memories came or went."""
        rows = list(rows)
        for row in rows:
            self._note_place(row)
        self._enqueue_rows(rows)

    def enqueue_neighbours(self) -> None:
        """Enqueue what stands beside the memories that came, left or changed; the last step of a transaction.

        One at a time, each of a thousand turns before a thousand other texts would enqueue all of these.
        """
        self._enqueue_rows(self.take_neighbours())

    def scopes_changed(self, scopes: Iterable[int]) -> None:
        """Scopes have other paths, or other memories."""
        for scope in scopes:
            self._enqueue_where("m.scope = ?", scope)

    def enqueue_all(self) -> None:
        """Everything is to be bound again."""
        self._enqueue_where("1")

    def enqueue(self, row: int) -> None:
        """A memory is to be bound again, and no other one."""
        self._enqueue_rows([row])

    def encoder_dropped(self, encoder: int) -> None:
        """An encoder has gone with its vectors: what waited with them waits with another's, or for some."""
        self._db.execute(
            "UPDATE unbound SET encoder ="
            " coalesce((SELECT max(x.encoder) FROM meanings x WHERE x.memory = unbound.memory), 0) WHERE encoder = ?",
            (encoder,),
        )

    def drop_codes(self, row: int) -> None:
        """Drop what was bound of a memory, and the fillers that no other one has."""
        self._db.execute("DELETE FROM codes WHERE memory = ?", (row,))
        set_fillers(self._db, row, ())

    def take_neighbours(self) -> set[int]:
        """Take the memories, not forgotten, whose records say something of those that came, left or changed, by place.

        These are the turns before and behind a turn, with all between it and the turn behind, and the calls near a
        call. What stands now decides: a place before the next turn or call of the place before it adds no others.
        """
        found: set[int] = set()
        for (kinds, places), limit in zip(self._places.items(), (1, NEAR_CALLS), strict=True):
            end = (-1, 0, 0)
            for session, at, row in sorted(places):
                if (session, at, row) < end:
                    continue
                before, after = (
                    adjacent_rows(self._db, session, at, row, step, kinds, limit) for step in ("before", "after")
                )
                found.update(one for one, _ in (*before, *after))
                last, last_at = after[0] if after else _SESSION_END
                end = (session, last_at, last)
                if kinds == TURNS:
                    found.update(self._rows_between(session, (at, row), (last_at, last)))
            places.clear()
        return found

    def _rows_between(self, session: int, after: tuple[int, int], before: tuple[int, int]) -> list[int]:
        found = self._db.execute(
            f"SELECT m.id FROM memories m WHERE m.session = ?1 AND {SAID_OR_KEPT} >= ?2 AND {SAID_OR_KEPT} <= ?4"
            f" AND ({SAID_OR_KEPT}, m.id) > (?2, ?3) AND ({SAID_OR_KEPT}, m.id) < (?4, ?5) AND m.retired_at IS NULL",
            (session, *after, *before),
        )
        return [int(one) for (one,) in found]

    def _affected_by_speaker(self, row: int) -> set[int]:
        """The whole session, where nobody else in it has the memory's speaker, and the name is one of the first."""
        session, speaker = next(self._db.execute("SELECT session, speaker FROM memories WHERE id = ?", (row,)))
        if speaker is None:
            return set()
        also = "SELECT 1 FROM memories WHERE session = ? AND speaker = ? AND retired_at IS NULL AND id != ? LIMIT 1"
        if self._db.execute(also, (session, speaker, row)).get is not None:
            return set()
        first = first_speakers(self._db, session)
        if len(first) == MAX_SPEAKERS and speaker > first[-1]:
            return set()
        found = self._db.execute("SELECT id FROM memories WHERE session = ? AND retired_at IS NULL", (session,))
        return {int(one) for (one,) in found}

    def _note_place(self, row: int) -> None:
        session, kind, at = next(
            self._db.execute(f"SELECT m.session, m.kind, {SAID_OR_KEPT} FROM memories m WHERE m.id = ?", (row,))
        )
        if kind in _KINDS:
            self._places[_KINDS[str(kind)]].add((int(session), int(at), row))

    def _enqueue_rows(self, rows: Iterable[int]) -> None:
        self._enqueue_where("m.id IN (SELECT value FROM json_each(?))", json.dumps(sorted(rows)))

    def _enqueue_where(self, condition: str, *values: int | str) -> None:
        """Mark memories with the number of the transaction, which no snapshot has that was read before it."""
        self._db.execute(
            "INSERT INTO unbound(memory, marked, encoder) SELECT m.id, (SELECT coalesce(max(seq), 0) FROM applies),"
            " coalesce((SELECT max(x.encoder) FROM meanings x WHERE x.memory = m.id), 0) FROM memories m"
            f" WHERE m.retired_at IS NULL AND {condition}"
            " ON CONFLICT(memory) DO UPDATE SET marked = excluded.marked, encoder = excluded.encoder"
            " WHERE (marked, encoder) != (excluded.marked, excluded.encoder)",
            values,
        )


def adjacent_rows(
    connection: apsw.Connection, session: int, at: int, row: int, step: str, kinds: str, limit: int
) -> list[tuple[int, int]]:
    """Rows and times of memories of some kinds, not forgotten, beside a place in a session, the nearest first.

    Args:
        step: ``before`` or ``after``.
        kinds: `TURNS` or `CALLS`.
    """
    compared, order = ("<", "DESC") if step == "before" else (">", "ASC")
    found = connection.execute(
        f"SELECT id, {SAID_OR_KEPT} FROM memories WHERE session = ?1 AND {SAID_OR_KEPT} {compared}= ?2"
        f" AND ({SAID_OR_KEPT}, id) {compared} (?2, ?3) AND kind IN {kinds} AND retired_at IS NULL"
        f" ORDER BY {SAID_OR_KEPT} {order}, id {order} LIMIT ?4",
        (session, at, row, limit),
    )
    return [(int(one), int(then)) for one, then in found]


def first_speakers(connection: apsw.Connection, session: int) -> list[str]:
    """The first names of a session's speakers by the alphabet, `MAX_SPEAKERS` at most; by few steps, however long it
    is.
    """
    found: list[str] = []
    while len(found) < MAX_SPEAKERS:
        name = connection.execute(
            "SELECT min(speaker) FROM memories WHERE session = ? AND speaker IS NOT NULL AND retired_at IS NULL"
            " AND speaker > ?",
            (session, found[-1] if found else ""),
        ).get
        if name is None:
            break
        found.append(str(name))
    return found
