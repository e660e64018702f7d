"""Queries for the briefing at the start of a session: how the last one ended, and what was decided since.

Part of `mnemic.runtime.store.read.reader.StoreSnapshot`; `mnemic.session_start` reads the same by a connection of its
own, where no process runs. So nothing is imported here that is slow to load. The order is of the world's time, then of
the store, and no clock is read: the same state gives the same material.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

import apsw
import msgspec

from mnemic.actors.brief.repeats import Said, merge_repeats, share_places
from mnemic.actors.brief.statement_cues import MAX_STATEMENT_CHARS, directive_start
from mnemic.actors.knowledge.facts import MOSTLY, is_mostly, open_pairs, over_clauses, share_over
from mnemic.actors.protocol.ambient_messages import (
    NO_SOURCES,
    Brief,
    BriefingSources,
    LastSession,
    Quote,
    QuotedPair,
    UnresolvedFailure,
)
from mnemic.actors.protocol.events import COMMITS, MCP_PREFIX, escape_surrogates
from mnemic.actors.protocol.knowledge.snapshot import StatementRecord
from mnemic.actors.protocol.scopes import EVERYWHERE
from mnemic.actors.protocol.sleep.changes import DIGEST_STAGES, PROFILE_STAGE, SourceSpan
from mnemic.actors.protocol.times import Zone
from mnemic.actors.sleep.profile import decode_profile
from mnemic.runtime.store.read.knowledge import KnowledgeQueries
from mnemic.runtime.store.read.scopes import scope_path_of, scopes_below
from mnemic.runtime.store.read.sleep import SleepQueries
from mnemic.runtime.store.schema import AUTHOR, SAID_OR_KEPT
from mnemic.runtime.store.supersession import current_successor
from mnemic.runtime.store.texts import text_prefix

_MAX_STATEMENTS = 40
"""So many things that hold, at most, are told of: more than any budget has room for."""
_MAX_PERSONAL = 8
"""So many things that the user said of themselves, at most."""
_MAX_SCANNED = 4_000
"""So many of the newest memories that hold a telling word are looked at for them."""
_MAX_READ = 400
"""So many different texts of these are read."""
_REPLIES = 3
"""So many of a session's last replies may say what is left to do."""
_STEPS = 200
"""So many of the last memories of a session are looked at for a call that failed."""
_SESSIONS = 64
"""So many of the last sessions are looked at for one that is neither this one nor a subagent's."""
_READ_BYTES = 16 << 10
"""Of a longer text no more is read: a tool may have answered with 50 MB, and forty texts are judged for one start."""

_QUOTED = f"m.id, m.uuid, m.text, {SAID_OR_KEPT}, m.role, m.kind"
_OWNERS, _ASSISTANTS = f"{AUTHOR} = 'owner'", f"{AUTHOR} = 'assistant'"
"""Whose words are told unasked: no other person's, and nobody's."""


class BriefQueries:
    """What a snapshot tells of what an assistant should know; see `mnemic.actors.protocol.snapshot.Snapshot`."""

    _db: apsw.Connection
    _zone: Zone

    def briefing_sources(self, asked: Brief, now_us: int) -> BriefingSources:
        return read_briefing_sources(self._db, asked, now_us, self._zone)

    def delivered_ids(self, assistant: str, session: str) -> frozenset[bytes]:
        return frozenset(self.delivered_spans(assistant, session))

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
        self._own_scopes, self._scopes = own, [*own, *everywhere]
        self._now_us = now_us
        self._again = asked.repeat
        self._own = (escape_surrogates(asked.assistant), escape_surrogates(asked.session))
        self._in_project = f"{_is_in(own)} AND m.retired_at IS NULL"
        self._is_everywhere = _is_in(everywhere)
        self._within = f"{_is_in(self._scopes)} AND m.retired_at IS NULL"
        self._statement = f"{_QUOTED}, m.session, m.superseded_by, {self._is_everywhere}, coalesce(m.said_at, -m.id)"
        self._kinds: dict[int, str] = {}  # of sessions seen: "own", "subagent" or ""
        self._assistants: dict[int, str] = {}  # of sessions seen

    def collect(self) -> BriefingSources:
        """All of it."""
        kept = (self._decisions_and_notes(whose) for whose in (_OWNERS, _ASSISTANTS))
        held = share_places(merge_repeats(chain(*kept, self._user_statements())))
        return BriefingSources(
            last_session=self._last_session(),
            in_force=tuple(held[:_MAX_STATEMENTS]),
            conflict=self._conflict(),
            digest=tuple(self._digest()),
            profile=tuple(islice(self._profile(), _MAX_PERSONAL)),
        )

    # --- where we left off -------------------------------------------------------------------------------------------

    def _last_session(self) -> LastSession | None:
        found: list[Any] = self._db.execute(
            f"WITH ends(id, at) AS MATERIALIZED (SELECT s.id, (SELECT max({SAID_OR_KEPT}) FROM memories m"
            f" WHERE m.session = s.id AND m.kind = 'turn' AND {self._in_project}) FROM sessions s"
            f" WHERE s.assistant NOT LIKE '{MCP_PREFIX}%')"  # what a client kept was said in no session
            f" SELECT id, at FROM ends WHERE at IS NOT NULL ORDER BY at DESC, id DESC LIMIT {_SESSIONS}"
        ).fetchall()
        for session, at in found:
            if not self._session_kind(session):
                return self._session_end(session, at)
        return None

    def _session_end(self, session: int, at: int) -> LastSession:
        prompts, replies = (
            self._last_said(session, whose, count) for whose, count in ((_OWNERS, 1), (_ASSISTANTS, _REPLIES))
        )
        answered = not prompts or (bool(replies) and _sort_key(replies[0]) > _sort_key(prompts[0]))
        assistant = self._db.execute("SELECT assistant FROM sessions WHERE id = ?", (session,)).get
        return LastSession(
            assistant=str(assistant),
            at=at,
            prompt=self._last_quote(prompts[0], session) if prompts else None,
            replies=tuple(self._last_quote(reply, session) for reply in replies),
            answered=answered,
            failure=self._unresolved_failure(session),
        )

    def _last_said(self, session: int, whose: str, count: int) -> list[Any]:
        found: list[Any] = self._db.execute(
            f"SELECT {_QUOTED} FROM memories m WHERE m.session = ? AND m.kind = 'turn' AND {whose} AND"
            f" {self._in_project} ORDER BY {SAID_OR_KEPT} DESC, m.id DESC LIMIT ?",
            (session, count),
        ).fetchall()
        return found

    def _last_quote(self, row: Any, session: int) -> Quote:
        """What was said last, and whether it was replaced since."""
        corrected = current_successor(self._db, row[0]) is not None
        return msgspec.structs.replace(self._quote(row, session=session), is_superseded=corrected)

    def _unresolved_failure(self, session: int) -> UnresolvedFailure | None:
        """The last call that failed and that none of the same kind followed which succeeded.

        Of the same kind are calls of one tool whose first argument starts with the same word: the same program, the
        same file. A result belongs to the first call of its tool before it that has none yet.
        """
        steps: list[Any] = self._db.execute(
            f"SELECT {_QUOTED}, m.tool, m.outcome FROM memories m WHERE m.session = ? AND m.kind IN"
            f" ('tool_call', 'tool_result') AND {self._in_project} ORDER BY {SAID_OR_KEPT} DESC, m.id DESC"
            f" LIMIT {_STEPS}",
            (session,),
        ).fetchall()
        calls: dict[str, list[Any]] = {}
        ended: list[tuple[Any, Any]] = []
        for step in reversed(steps):
            tool, kind = step[6] or "", step[5]
            if kind == "tool_call":
                calls.setdefault(tool, []).append(step)
            else:
                waiting = calls.get(tool)
                ended.append((step, waiting.pop(0) if waiting else None))
        succeeded: set[tuple[str, str]] = set()
        for result, call in reversed(ended):
            kind_of_call = (
                result[6] or "",
                "" if call is None else _call_target(text_prefix(self._db, call[2], _READ_BYTES)[0]),
            )
            if result[7] != "failed":
                succeeded.add(kind_of_call)
            elif kind_of_call not in succeeded:
                return UnresolvedFailure(
                    tool=result[6] or "a tool",
                    call=None if call is None else self._quote(call),
                    answer=result[1],
                )
        return None

    # --- what holds --------------------------------------------------------------------------------------------------

    def _decisions_and_notes(self, whose: str) -> Iterator[Said]:
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
        yield from self._current_statements(rows)

    def _user_statements(self) -> Iterator[Said]:
        """Turns of the user's that state something standing, and stand; those for every project, then newest first."""
        rows: list[Any] = self._db.execute(
            f"SELECT {self._statement}, 0 FROM memories m WHERE m.cued = 1 AND {self._within}"
            f" ORDER BY {self._is_everywhere} DESC, {SAID_OR_KEPT} DESC, m.id DESC LIMIT {_MAX_SCANNED}"
        ).fetchall()
        for one in self._current_statements(rows):
            quote = one.quote
            if quote.size_bytes <= min(4 * MAX_STATEMENT_CHARS, len(quote.text)):
                start = directive_start(quote.text.decode("utf-8", "surrogatepass"))
                if start is not None:
                    yield one._replace(quote=msgspec.structs.replace(quote, start=start))

    def _current_statements(self, rows: list[Any]) -> Iterator[Said]:
        """Of each text the first memory, where that holds: one that was replaced brings back no other of the same text.

        Args:
            rows: columns as `_statement` has them, and whether the memory corrects another.
        """
        equal: dict[tuple[int, str, bool], list[Any]] = {}
        for row in rows:
            if self._is_briefable_session(row[6]):
                key = row[2], row[4], self._assistants[row[6]].startswith(MCP_PREFIX)
                if key in equal or len(equal) < _MAX_READ:
                    equal.setdefault(key, []).append(row)
        over = self._over([same[0][0] for same in equal.values()])
        for row, *others in equal.values():
            if not over.get(row[0]) and self._is_current(row[0], row[7]):
                quote = msgspec.structs.replace(
                    self._quote(row, corrects=bool(row[10]), session=row[6]),
                    is_partly_over=row[0] in over,
                    is_everywhere=bool(row[8]),
                    at=max(one[3] for one in (row, *others)),
                )
                yield Said(quote, frozenset(one[9] for one in (row, *others)))

    def _over(self, rows: list[int]) -> dict[int, bool]:
        """Of memories that state what was replaced or is over by its own words, whether that is most of them."""
        return {row: is_mostly(over, text) for row, (text, over) in over_clauses(rows, self._now_us, self._knowledge)}

    def _conflict(self) -> QuotedPair | None:
        """The newest pair that somebody should settle, of what is told to this session."""
        newest = self._knowledge.pairs(self._scopes, is_open=True)[:_MAX_STATEMENTS]
        for pair in open_pairs(newest, self._knowledge):
            both = {one.number: one for one in self._knowledge.statements([pair.older, pair.newer])}
            older, newer = both[pair.older], both[pair.newer]
            asked = f"SELECT {_QUOTED}, m.session FROM memories m WHERE m.id = ? AND ({_OWNERS} OR {_ASSISTANTS})"
            rows: list[Any] = [self._db.execute(asked, (one.row,)).fetchone() for one in (older, newer)]
            if all(row is not None and self._is_briefable_session(row[6]) for row in rows):
                quotes = [self._clause(row, one) for row, one in zip(rows, (older, newer), strict=True)]
                return QuotedPair(older=quotes[0], newer=quotes[1])
        return None

    def _digest(self) -> Iterator[Quote]:
        """The sentences of the digests of the project, without those that hold no more."""
        keys = [b"project:%d" % scope for scope in self._own_scopes]
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
        asked = f"SELECT {_QUOTED}, m.session, m.superseded_by FROM memories m WHERE m.id = ? AND {self._within}"
        asked += f" AND ({_OWNERS} OR {_ASSISTANTS})"
        for span in spans:
            row: Any = self._db.execute(asked, (span.row,)).fetchone()
            if row is None or not self._is_current(row[0], row[7]) or not self._is_briefable_session(row[6]):
                continue
            over = share_over((span.start, span.stop), clauses.get(span.row, ()))
            if over < MOSTLY:
                yield msgspec.structs.replace(self._stretch(row, span.start, span.stop), is_partly_over=over > 0.0)

    def _clause(self, row: Any, one: StatementRecord) -> Quote:
        return self._stretch(row, *one.said.clause)

    def _stretch(self, row: Any, start: int, stop: int) -> Quote:
        """A stretch of a memory, quoted as if it were all of it."""
        quote = self._quote(row, session=row[6])
        text = quote.text[start:stop]
        return msgspec.structs.replace(quote, text=text, start_byte=start, size_bytes=len(text))

    def _is_current(self, row: int, superseded_by: int | None) -> bool:
        return superseded_by is None or current_successor(self._db, row) is None

    def _is_briefable_session(self, session: int) -> bool:
        """Whether what was said in a session is told: not a subagent's, and its own only where it has lost it."""
        kind = self._session_kind(session)
        return not kind or (kind == "own" and self._again)

    # --- both --------------------------------------------------------------------------------------------------------

    def _session_kind(self, session: int) -> str:
        if session not in self._kinds:
            assistant, name = next(self._db.execute("SELECT assistant, name FROM sessions WHERE id = ?", (session,)))
            self._assistants[session] = assistant
            parent = name.rpartition("/")[0]
            known = "SELECT 1 FROM sessions WHERE assistant = ? AND name = ?"
            if (assistant, name) == self._own:
                self._kinds[session] = "own"
            elif not parent:
                self._kinds[session] = ""
            elif (assistant, parent) == self._own or self._db.execute(known, (assistant, parent)).get is not None:
                self._kinds[session] = "subagent"  # `<session>/<agent>`, as the adapters name them
            else:
                self._kinds[session] = ""
        return self._kinds[session]

    def _speaker(self, row: int) -> str | None:
        name = self._db.execute("SELECT speaker FROM memories WHERE id = ?", (row,)).get
        return None if name is None else str(name)

    def _quote(self, row: Any, corrects: bool = False, session: int | None = None) -> Quote:
        text, size = text_prefix(self._db, row[2], _READ_BYTES)
        assistant = self._db.execute("SELECT assistant FROM sessions WHERE id = ?", (session,)).get
        return Quote(
            id=row[1],
            text=text,
            size_bytes=size,
            at=row[3],
            role=row[4],
            kind=row[5],
            assistant=str(assistant or ""),
            speaker=None if assistant != COMMITS else self._speaker(row[0]),
            is_correction=corrects,
        )


def _is_in(scopes: Sequence[int]) -> str:
    """A condition on ``memories m``: it is in one of some scopes."""
    return f"m.scope IN ({','.join(map(str, scopes))})"


def _sort_key(row: Any) -> tuple[int, int]:
    """What comes later is greater."""
    return row[3], row[0]


def _call_target(call: bytes) -> str:
    """What a call is about: the first word of its first argument, as `mnemic.hooks.read.lines.render_call` writes
    it.
    """
    lines = call.decode("utf-8", "surrogatepass").split("\n", 2)
    words = lines[1].partition(": ")[2].split() if len(lines) > 1 else []
    while len(words) > 3 and words[0] == "cd" and words[2] == "&&":  # where it runs is not what runs
        words = words[3:]
    return next((word for word in words if "=" not in word), "")


def _scopes(connection: apsw.Connection, asked: Brief) -> list[int]:
    """Numbers of the scope where the assistant works and of those below it."""
    path = scope_path_of(connection, asked.place)
    return [number for number, _ in scopes_below(connection, path)] if path else []
