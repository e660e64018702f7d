"""Answers what a session's start asks: memories and sessions as they stand, in an order that the query names.

Part of `mnemic.runtime.store.reader.StoreSnapshot`; `mnemic.session_start` reads the same by a connection of its
own, where no process runs. So nothing is imported here that is slow to load. `mnemic.actors.brief.gather` chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import apsw

from mnemic.actors.brief.current_sentences import StatedText, current_sentences
from mnemic.actors.brief.messages import NO_SOURCES, Brief, BriefingSources, Quote, QuotedPair
from mnemic.actors.brief.open_work import Turn, open_work
from mnemic.actors.brief.repeats import Said, is_from_user, merge_repeats, share_places
from mnemic.actors.kernel.events import MCP_PREFIX, escape_surrogates, to_bytes, to_text
from mnemic.actors.kernel.scope_paths import EVERYWHERE
from mnemic.actors.kernel.times import Zone, local_day
from mnemic.actors.knowledge.facts import MOSTLY, is_mostly, open_pairs, over_clauses, replacements, share_over
from mnemic.actors.sleep.changes import DIGEST_STAGES, PROFILE_STAGE, SourceSpan
from mnemic.actors.sleep.profile import decode_profile
from mnemic.algorithms.brief.sentences import told_sentences
from mnemic.runtime.store.brief.memories import ASSISTANTS, OWNERS, QUOTED, BriefMemories
from mnemic.runtime.store.brief.sessions import SessionQueries
from mnemic.runtime.store.knowledge.read import KnowledgeQueries
from mnemic.runtime.store.schema import AUTHOR, SAID_OR_KEPT
from mnemic.runtime.store.scopes.read import ScopeQueries
from mnemic.runtime.store.sleep.read import SleepQueries
from mnemic.runtime.store.supersession import current_successor
from mnemic.runtime.store.texts import text_prefix

_MAX_STATEMENTS = 22
"""So many things that stand are told of at most: who reads more reads none."""
_NEWNESS = 2.5
"""How much the newest counts more than the oldest, where a surer cue counts 1."""
_MAX_OPEN = 6
"""So many open items, at most."""
_OPEN_SESSIONS = 5
"""Of so many of the last sessions at least,"""
_OPEN_DAYS = 14
"""and of all those of so many days."""
_EXCHANGE = 2
"""A session of no more turns is one prompt and its reply, and is not counted."""
_ENDING = 8
"""Of each of them so many of the last words."""
_DAY_US = 86_400_000_000
_MAX_PERSONAL = 8
"""So many things that the user said of themselves, at most."""
_MAX_SCANNED = 4_000
"""So many of the newest memories that were kept, or that hold a telling word, are looked at for them."""
_MAX_READ = 400
"""So many different texts of these are read."""
_MAX_PAIRS = 200
"""So many of the newest pairs of a replaced statement and its successor are looked at."""
_MAX_TURNS = 500
"""So many of the newest turns are read for what stands, and for what replaced it."""


class BriefQueries:
    """What a snapshot tells of what an assistant should know; see `mnemic.actors.brief.queries`."""

    _db: apsw.Connection

    def ask(self, query: Query[AnswerT]) -> AnswerT:
        answer: AnswerT = _HANDLERS[type(query)](self._db, query)
        return answer

    def delivered_spans(self, assistant: str, session: str) -> dict[bytes, list[tuple[int, int]]]:
        return read_delivered_spans(self._db, assistant, session)


def read_briefing_sources(connection: apsw.Connection, asked: Brief, now_us: int, zone: Zone) -> BriefingSources:
    """What there is to tell at the start of a session; of a project that is not known what is kept for every project.

    Args:
        now_us: the world time, microseconds: what was to hold until then is over.
        zone: in which the days begin that statements name.
    """
    own = _scopes(connection, asked)
    everywhere = [number for number, _ in scopes_below(connection, EVERYWHERE) if number not in own]
    if not own and not everywhere:
        return NO_SOURCES
    return _BriefingQuery(connection, asked, own, everywhere, now_us, zone).collect()


def read_delivered_spans(
    connection: apsw.Connection, assistant: str, session: str
) -> dict[bytes, list[tuple[int, int]]]:
    """By id the memories that a session was given, asked or unasked, and which bytes of each."""
    found: list[Any] = connection.execute(
        "SELECT DISTINCT m.uuid, p.start, p.stop FROM givings g JOIN given_parts p ON p.giving = g.id"
        " JOIN memories m ON m.id = p.memory"
        " WHERE g.session = ?1 AND g.assistant = ?2 AND (?1 != '' OR g.occasion IN ('session-start', 'prompt'))"
        " AND p.stop > p.start",  # of one that an answer was read from, no word was given
        (escape_surrogates(session), escape_surrogates(assistant)),
    ).fetchall()
    spans: dict[bytes, list[tuple[int, int]]] = {}
    for memory, start, stop in found:
        spans.setdefault(memory, []).append((start, stop))
    return spans


class _BriefingQuery:
    """Gathers the material of one brief, within one read transaction of the caller's."""

    def __init__(
        self,
        connection: apsw.Connection,
        asked: Brief,
        own: list[int],
        everywhere: list[int],
        now_us: int,
        zone: Zone,
    ) -> None:
        """Gather for an assistant.

        Args:
            own: numbers of the scope where it works and of those below it.
            everywhere: of those that are kept for every project.
        """
        self._db = connection
        self._knowledge = KnowledgeQueries(connection, zone)
        self._memories = BriefMemories(connection, asked, own, everywhere)
        self._sessions = SessionQueries(connection, self._memories)
        self._own, self._scopes = own, [*own, *everywhere]
        self._now_us, self._zone = now_us, zone
        self._over: dict[bytes, list[tuple[int, int]]] = {}  # by memory, what it states and does not hold
        self._within = self._memories.within
        self._is_everywhere = self._memories.is_everywhere
        self._statement = f"{QUOTED}, m.session, m.superseded_by, {self._is_everywhere}, coalesce(m.said_at, -m.id)"

    def collect(self) -> BriefingSources:
        """All of it."""
        newest = self._sessions.newest()
        columns = f"{self._statement}, 0"
        turns = self._sessions.turns([session for session, _ in newest], columns, _MAX_TURNS)
        here = self._sessions.turns(self._sessions.own(), columns, _MAX_TURNS)
        kept = [row for row in self._kept(OWNERS) if row[5] != "turn"]
        conflict = self._conflict()
        return BriefingSources(
            last_session=self._sessions.session_end(*newest[0], kept, here) if newest else None,
            in_force=tuple(self._in_force(turns)[:_MAX_STATEMENTS]),
            open=tuple(self._open(turns, here, newest)),
            conflict=conflict,
            digest=tuple(self._digest()),
            profile=tuple(islice(self._profile(), _MAX_PERSONAL)),
        )

    def _in_force(self, turns: list[Any]) -> list[Quote]:
        """Return what stands, as stretches of memories, what tells it most surely first."""
        successors = self._successors()
        rows = [self._kept(OWNERS), self._kept(ASSISTANTS), self._cued(), self._rows_of(successors), turns]
        merged = merge_repeats(chain.from_iterable(map(self._current, rows)))
        merged.reverse()  # of what was said at one time, the last comes last
        ordered = sorted(merged, key=lambda one: one.at or 0)
        stretches = current_sentences(
            [
                StatedText(
                    key=place,
                    day=local_day(one.at or 0, self._zone),
                    text=to_text(self._without_over(one)),
                    is_owners=is_from_user(one),
                    is_kept=one.kind != "turn" or one.is_correction or one.assistant.startswith(MCP_PREFIX),
                    is_correction=one.is_correction,
                    successors=tuple(len(to_text(one.text[:start])) for start in successors.get(one.id, ())),
                )
                for place, one in enumerate(ordered)
            ]
        )
        stretches.sort(key=lambda one: (-one.score - _NEWNESS * one.key / len(ordered), -one.key, one.start))
        told = [_narrowed(ordered[one.key], one.start, one.stop) for one in stretches]
        told.sort(key=lambda one: not one.is_everywhere)
        return share_places(told)

    def _kept(self, whose: str) -> list[Any]:
        """Decisions, notes, corrections that stand; those for every project first, then decisions and corrections.

        Args:
            whose: a condition on their author.
        """
        rows: list[Any] = self._db.execute(
            "WITH kept(id, corrects) AS (SELECT id, max(corrects) FROM ("
            f"SELECT m.id, 0 AS corrects FROM memories m WHERE m.kind IN ('decision', 'note') AND {self._within}"
            " UNION ALL SELECT superseded_by, 1 FROM memories WHERE superseded_by IS NOT NULL) GROUP BY id)"
            f" SELECT {self._statement}, kept.corrects FROM kept JOIN memories m ON m.id = kept.id WHERE {self._within}"
            f" AND {whose}"
            f" ORDER BY {self._is_everywhere} DESC, m.kind != 'decision' AND NOT kept.corrects, {SAID_OR_KEPT} DESC,"
            f" m.id DESC LIMIT {_MAX_SCANNED}"
        ).fetchall()
        return rows

    def _cued(self) -> list[Any]:
        """Turns of the user's that may state something standing; those for every project, then newest first."""
        rows: list[Any] = self._db.execute(
            f"SELECT {self._statement}, 0 FROM memories m WHERE m.cued = 1 AND {self._within}"
            f" ORDER BY {self._is_everywhere} DESC, {SAID_OR_KEPT} DESC, m.id DESC LIMIT {_MAX_SCANNED}"
        ).fetchall()
        return rows

    def _successors(self) -> dict[bytes, list[int]]:
        """By memory, where it states what stands for something that was replaced."""
        over = replacements(self._knowledge.pairs(self._scopes, is_open=False)[:_MAX_PAIRS])
        numbers = {pair.successor for pairs in over.values() for pair in pairs} - over.keys()
        found: dict[bytes, list[int]] = {}
        for one in self._knowledge.successors(sorted(numbers)):
            found.setdefault(one.memory, []).append(one.said.clause[0])
        return found

    def _rows_of(self, memories: Iterable[bytes]) -> list[Any]:
        asked = f"SELECT {self._statement}, 0 FROM memories m WHERE m.uuid = ? AND {OWNERS} AND {self._within}"
        return [row for one in sorted(memories) for row in self._db.execute(asked, (one,))]

    def _current(self, rows: list[Any]) -> Iterator[Said]:
        """Of each text the first memory, where that holds: one that was replaced brings back no other of the same text.

        Args:
            rows: columns as `_statement` has them, and whether the memory corrects another.
        """
        equal: dict[tuple[int, str, bool], list[Any]] = {}
        for row in rows:
            if self._memories.is_briefable(row[6]):
                key = row[2], row[4], self._memories.assistants[row[6]].startswith(MCP_PREFIX)
                if key in equal or len(equal) < _MAX_READ:
                    equal.setdefault(key, []).append(row)
        ids = {same[0][0]: same[0][1] for same in equal.values()}
        for number, (_, over) in over_clauses(list(ids), self._now_us, self._knowledge):
            self._over.setdefault(ids[number], []).extend(over)
        for row, *others in equal.values():
            if self._memories.is_current(row[0], row[7]):
                quote = msgspec.structs.replace(
                    self._memories.quote(row, corrects=bool(row[10]), session=row[6]),
                    is_everywhere=bool(row[8]),
                    at=max(one[3] for one in (row, *others)),
                )
                yield Said(quote, frozenset(one[9] for one in (row, *others)))

    def _without_over(self, quote: Quote) -> bytes:
        """A text with blanks for what it states and does not hold, or is not settled; all blank where that is most."""
        text, clauses = quote.text, self._over.get(quote.id, ())
        if is_mostly(clauses, text):
            return b""
        whole = to_text(text)
        for first, sentence in told_sentences(whole):  # what is left of a sentence would be a fragment
            start, stop = (len(to_bytes(whole[:at])) for at in (first, first + len(sentence)))
            if any(start < end and begin < stop for begin, end in clauses):
                text = text[:start] + b" " * (stop - start) + text[stop:]
        return text

    def _open(self, turns: list[Any], here: list[Any], newest: list[tuple[int, int]]) -> Iterator[Quote]:
        """Return what was left open in the last sessions and is not done, newest first.

        A session is one of the last by number or by days: a busy week drops nothing, and neither does a quiet month.

        Args:
            turns: newest first, of all sessions that may say what is done.
            here: likewise of the session that starts.
            newest: the last sessions, with when something was said last in each.
        """
        said = Counter(row[6] for row in turns)
        talks = [at for session, at in newest if said[session] > _EXCHANGE][:_OPEN_SESSIONS]
        since = min(talks[-1] if talks else 0, self._now_us - _OPEN_DAYS * _DAY_US)
        last = [(session, at) for session, at in newest if at >= since]
        kept = [row for row in self._kept(OWNERS) + self._kept(ASSISTANTS) if row[5] != "turn"]
        ending = {row[0] for session, _ in last for row in [one for one in turns if one[6] == session][:_ENDING]}
        ending |= {row[0] for row in kept if row[3] >= since - _DAY_US and self._memories.is_briefable(row[6])}
        rows = {row[0]: row for row in [*kept, *turns, *here] if self._memories.is_current(row[0], row[7])}
        ordered = sorted(rows.values(), key=lambda row: (row[3], row[0]))
        quotes = [self._memories.quote(row, session=row[6]) for row in ordered]
        spoken = [Turn(to_text(one.text), row[6], row[0] in ending) for row, one in zip(ordered, quotes, strict=True)]
        for item in open_work(spoken, _MAX_OPEN):
            yield _narrowed(quotes[item.turn], item.start, item.stop)

    def _conflict(self) -> QuotedPair | None:
        """The newest pair that somebody should settle, of what is told to this session."""
        newest = self._knowledge.pairs(self._scopes, is_open=True)[:_MAX_STATEMENTS]
        for pair in open_pairs(newest, self._knowledge):
            both = {one.number: one for one in self._knowledge.statements([pair.older, pair.newer])}
            older, newer = both[pair.older], both[pair.newer]
            asked = f"SELECT {QUOTED}, m.session FROM memories m WHERE m.id = ? AND ({OWNERS} OR {ASSISTANTS})"
            rows: list[Any] = [self._db.execute(asked, (one.row,)).fetchone() for one in (older, newer)]
            if all(row is not None and self._memories.is_briefable(row[6]) for row in rows):
                for one in (older, newer):
                    self._over.setdefault(one.memory, []).append(one.said.clause)
                quotes = [
                    self._memories.stretch(row, *one.said.clause) for row, one in zip(rows, (older, newer), strict=True)
                ]
                return QuotedPair(older=quotes[0], newer=quotes[1])
        return None

    def _digest(self) -> Iterator[Quote]:
        """The sentences of the digests of the project, without those that hold no more."""
        keys = [b"project:%d" % scope for scope in self._own]
        items = SleepQueries(self._db).derived(DIGEST_STAGES["project"], keys)
        yield from self._stretches([span for item in items for span in item.sources])

    def _profile(self) -> Iterator[Quote]:
        """What the user says of themselves in these scopes, each once, without what holds no more."""
        items = SleepQueries(self._db).derived(PROFILE_STAGE)
        said = {item.number: decode_profile(item.value) for item in items}
        items.sort(key=lambda one: (-said[one.number].projects, -said[one.number].conversations, one.key))
        for item in items:
            yield from islice(self._stretches(item.sources), 1)

    def _stretches(self, spans: Sequence[SourceSpan]) -> Iterator[Quote]:
        """Stretches of memories that may be told, and of which most holds still."""
        clauses = {
            row: over for row, (_, over) in over_clauses(sorted({s.row for s in spans}), self._now_us, self._knowledge)
        }
        asked = f"SELECT {QUOTED}, m.session, m.superseded_by FROM memories m WHERE m.id = ? AND {self._within}"
        asked += f" AND ({OWNERS} OR {ASSISTANTS})"
        for span in spans:
            row: Any = self._db.execute(asked, (span.row,)).fetchone()
            if row is None or not self._memories.is_current(row[0], row[7]) or not self._memories.is_briefable(row[6]):
                continue
            over = share_over((span.start, span.stop), clauses.get(span.row, ()))
            if over < MOSTLY:
                yield self._memories.stretch(row, span.start, span.stop)


class BriefReader(BriefQueries, ScopeQueries, KnowledgeQueries, SleepQueries):
    """As much of a snapshot as a session's start reads, for where no process runs."""


def _newest(db: apsw.Connection, asked: Any, which: str, *values: Any, first: str = "") -> list[MemoryRow]:
    """The newest memories of some scopes that a condition holds for."""
    sql = f"{_MEMORIES} {which} AND {_within(asked.scopes)} ORDER BY {first}{_NEWEST}"
    return _rows(db, sql, *values, asked.limit)


def _rows(db: apsw.Connection, sql: str, *values: Any) -> list[MemoryRow]:
    return list(map(MemoryRow._make, db.execute(sql, values).fetchall()))


def _kept(db: apsw.Connection, asked: queries.KeptMemories) -> list[MemoryRow]:
    return _rows(db, _KEPT.format(within=_within(asked.scopes), first=_is_in(asked.first)), asked.author, asked.limit)


def _turns(db: apsw.Connection, asked: queries.SessionTurns) -> list[MemoryRow]:
    return _newest(db, asked, f"m.session = ? AND m.kind = 'turn' AND {_is_by(asked.authors)}", asked.session)


def _at(db: apsw.Connection, asked: queries.MemoriesAt) -> list[MemoryRow]:
    sql = f"{_MEMORIES} m.id = ? AND {_within(asked.scopes)} AND {_is_by(asked.authors)}"
    return [one for row in asked.rows for one in _rows(db, sql, row)]


def _ends(db: apsw.Connection, asked: queries.SessionEnds) -> list[SessionEnd]:
    found = db.execute(_ENDS.format(within=_within(asked.scopes)), (asked.limit,)).fetchall()
    return list(map(SessionEnd._make, found))


def _is_in(scopes: Iterable[int]) -> str:
    return f"m.scope IN ({','.join(map(str, scopes))})"


def _within(scopes: Iterable[int]) -> str:
    return f"{_is_in(scopes)} AND m.retired_at IS NULL"


def _is_by(authors: Iterable[str]) -> str:
    return f"{AUTHOR} IN ({', '.join(map(repr, authors))})"


_HANDLERS: dict[type[Query[Any]], Callable[[apsw.Connection, Any], Any]] = {
    queries.KeptMemories: _kept,
    queries.CuedMemories: lambda db, asked: _newest(db, asked, "m.cued = 1", first=f"{_is_in(asked.first)} DESC, "),
    queries.SessionTurns: _turns,
    queries.SessionSteps: lambda db, asked: _newest(db, asked, _IS_STEP, asked.session),
    queries.MemoriesAt: _at,
    queries.SessionEnds: _ends,
    queries.SessionName: lambda db, asked: next(db.execute(_NAME, (asked.session,))),
    queries.SessionNamed: lambda db, asked: db.execute(_NAMED, (asked.assistant, asked.name)).get,
    queries.TextStart: lambda db, asked: text_prefix(db, asked.text, asked.most_bytes),
    queries.IsReplaced: lambda db, asked: current_successor(db, asked.row) is not None,
}
