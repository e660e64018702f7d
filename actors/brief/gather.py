"""Gathers the briefing at the start of a session: what stands, what is open, and how the last session ended.

Two read it: `mnemic.actors.brief.brief`, and `mnemic.session_start` where no process runs. So nothing is imported here
that is slow to load. The order is of the world's time, then of the store, and no clock is read: the same state gives
the same material. `mnemic.actors.brief.compose` words it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice

import msgspec

from mnemic.actors.brief import queries
from mnemic.actors.brief.current_sentences import StatedText, current_sentences
from mnemic.actors.brief.last_session import last_session
from mnemic.actors.brief.memories import TOLD_AUTHORS, BriefMemories
from mnemic.actors.brief.messages import NO_SOURCES, Brief, BriefingSources, Quote, QuotedPair
from mnemic.actors.brief.open_work import Turn, open_work
from mnemic.actors.brief.queries import BriefSnapshot, MemoryRow, SessionEnd
from mnemic.actors.brief.repeats import Said, is_from_user, merge_repeats, share_places
from mnemic.actors.kernel.events import MCP_PREFIX, to_bytes, to_text
from mnemic.actors.kernel.scope_paths import is_everywhere
from mnemic.actors.kernel.times import Zone, local_day
from mnemic.actors.knowledge.facts import MOSTLY, is_mostly, open_pairs, over_clauses, replacements, share_over
from mnemic.actors.sleep.changes import DIGEST_STAGES, PROFILE_STAGE, SourceSpan
from mnemic.actors.sleep.profile import decode_profile
from mnemic.algorithms.brief.sentences import told_sentences

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
_MAX_SESSIONS = 64
"""So many of the last sessions are looked at for one that is neither this one nor a subagent's."""


def gather_sources(snapshot: BriefSnapshot, asked: Brief, now_us: int, zone: Zone) -> BriefingSources:
    """What there is to tell at the start of a session; of a project that is not known what is kept for every project.

    Args:
        now_us: the world time, microseconds: what was to hold until then is over.
        zone: in which the days begin that statements name.
    """
    path, scopes = snapshot.scope_path_of(asked.place), sorted(snapshot.scopes().items())
    own = [number for number, at in scopes if path and f"{at}/".startswith(f"{path}/")]
    everywhere = [number for number, at in scopes if is_everywhere(at) and number not in own]
    if not own and not everywhere:
        return NO_SOURCES
    return _Gathering(BriefMemories(snapshot, asked, own, everywhere), now_us, zone).collect()


class _Gathering:
    """Gathers the material of one brief."""

    def __init__(self, memories: BriefMemories, now_us: int, zone: Zone) -> None:
        self._memories, self._now_us, self._zone = memories, now_us, zone
        self._snapshot = memories.snapshot
        self._over: dict[bytes, list[tuple[int, int]]] = {}  # by memory, what it states and does not hold
        self._kept = [
            self._snapshot.ask(queries.KeptMemories(memories.within, memories.everywhere, _MAX_SCANNED, author))
            for author in TOLD_AUTHORS
        ]

    def collect(self) -> BriefingSources:
        """All of it."""
        ends = self._snapshot.ask(queries.SessionEnds(self._memories.in_project, _MAX_SESSIONS))
        newest = [end for end in ends if not self._memories.session_kind(end.session)]
        turns = self._turns([end.session for end in newest])
        own = self._snapshot.ask(queries.SessionNamed(*self._memories.own))
        here = [] if own is None else self._turns([own])
        kept = [one for one in self._kept[0] if one.kind != "turn"]
        conflict = self._conflict()
        return BriefingSources(
            last_session=last_session(newest[0], kept, here, self._memories) if newest else None,
            in_force=tuple(self._standing(turns)[:_MAX_STATEMENTS]),
            open=tuple(self._open(turns, here, newest)),
            conflict=conflict,
            digest=tuple(self._digest()),
            profile=tuple(islice(self._profile(), _MAX_PERSONAL)),
        )

    def _turns(self, sessions: Sequence[int]) -> list[MemoryRow]:
        """What was said in some sessions, from the newest on."""
        found: list[MemoryRow] = []
        for session in sessions:
            left = _MAX_TURNS - len(found)
            found += self._snapshot.ask(queries.SessionTurns(session, self._memories.in_project, TOLD_AUTHORS, left))
        return found

    def _standing(self, turns: list[MemoryRow]) -> list[Quote]:
        """Return what stands, as stretches of memories, what tells it most surely first."""
        successors, stating = self._successors()
        cued = self._snapshot.ask(queries.CuedMemories(self._memories.within, self._memories.everywhere, _MAX_SCANNED))
        rows = [*self._kept, cued, self._memories.at(stating, ("owner",)), turns]
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

    def _successors(self) -> tuple[dict[bytes, list[int]], list[int]]:
        """By memory, where it states what stands for something that was replaced; and the rows of these memories."""
        over = replacements(self._snapshot.pairs(self._memories.within, is_open=False)[:_MAX_PAIRS])
        numbers = {pair.successor for pairs in over.values() for pair in pairs} - over.keys()
        found: dict[bytes, list[int]] = {}
        stating = self._snapshot.successors(sorted(numbers))
        for one in stating:
            found.setdefault(one.memory, []).append(one.said.clause[0])
        return found, [row for _, row in sorted({(one.memory, one.row) for one in stating})]

    def _current(self, found: list[MemoryRow]) -> Iterator[Said]:
        """Of each text the first memory, where it holds: a replaced one brings back no other of the same text."""
        equal: dict[tuple[int, str, bool], list[MemoryRow]] = {}
        for one in found:
            if self._memories.is_briefable(one.session):
                key = one.text, one.role, self._memories.assistant_of(one.session).startswith(MCP_PREFIX)
                if key in equal or len(equal) < _MAX_READ:
                    equal.setdefault(key, []).append(one)
        ids = {same[0].row: same[0].id for same in equal.values()}
        for row, (_, over) in over_clauses(list(ids), self._now_us, self._snapshot):
            self._over.setdefault(ids[row], []).extend(over)
        for same in equal.values():
            if self._memories.is_current(same[0]):
                quote = msgspec.structs.replace(
                    self._memories.quote(same[0]),
                    is_correction=bool(same[0].corrects),
                    is_everywhere=same[0].scope in self._memories.everywhere,
                    at=max(one.at for one in same),
                )
                yield Said(quote, frozenset(one.instant for one in same))

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

    def _open(self, turns: list[MemoryRow], here: list[MemoryRow], newest: list[SessionEnd]) -> Iterator[Quote]:
        """Return what was left open in the last sessions and is not done, newest first.

        A session is one of the last by number or by days: a busy week drops nothing, and neither does a quiet month.

        Args:
            turns: newest first, of all sessions that may say what is done.
            here: likewise of the session that starts.
            newest: the last sessions, with when something was said last in each.
        """
        said = Counter(one.session for one in turns)
        talks = [end.at for end in newest if said[end.session] > _EXCHANGE][:_OPEN_SESSIONS]
        since = min(talks[-1] if talks else 0, self._now_us - _OPEN_DAYS * _DAY_US)
        kept = [one for one in chain(*self._kept) if one.kind != "turn"]
        ending = {one.row for one in kept if one.at >= since - _DAY_US and self._memories.is_briefable(one.session)}
        for end in newest:
            if end.at >= since:
                ending.update(one.row for one in [one for one in turns if one.session == end.session][:_ENDING])
        rows = {one.row: one for one in (*kept, *turns, *here) if self._memories.is_current(one)}
        ordered = sorted(rows.values(), key=lambda one: (one.at, one.row))
        quotes = [self._memories.quote(one) for one in ordered]
        spoken = [
            Turn(to_text(quote.text), one.session, one.row in ending)
            for one, quote in zip(ordered, quotes, strict=True)
        ]
        for item in open_work(spoken, _MAX_OPEN):
            yield _narrowed(quotes[item.turn], item.start, item.stop)

    def _conflict(self) -> QuotedPair | None:
        """The newest pair that somebody should settle, of what is told to this session."""
        newest = self._snapshot.pairs(self._memories.within, is_open=True)[:_MAX_STATEMENTS]
        for pair in open_pairs(newest, self._snapshot):
            stated = {one.number: one for one in self._snapshot.statements([pair.older, pair.newer])}
            both = [stated[pair.older], stated[pair.newer]]
            found = [row for one in both for row in self._memories.at([one.row])]
            if len(found) == len(both) and all(self._memories.is_briefable(row.session) for row in found):
                for one in both:
                    self._over.setdefault(one.memory, []).append(one.said.clause)
                older, newer = (
                    self._memories.stretch(row, *one.said.clause) for row, one in zip(found, both, strict=True)
                )
                return QuotedPair(older=older, newer=newer)
        return None

    def _digest(self) -> Iterator[Quote]:
        """The sentences of the digests of the project, without those that hold no more."""
        keys = [b"project:%d" % scope for scope in self._memories.in_project]
        items = self._snapshot.derived(DIGEST_STAGES["project"], keys)
        yield from self._stretches([span for item in items for span in item.sources])

    def _profile(self) -> Iterator[Quote]:
        """What the user says of themselves in these scopes, each once, without what holds no more."""
        items = self._snapshot.derived(PROFILE_STAGE)
        said = {item.number: decode_profile(item.value) for item in items}
        items.sort(key=lambda one: (-said[one.number].projects, -said[one.number].conversations, one.key))
        for item in items:
            yield from islice(self._stretches(item.sources), 1)

    def _stretches(self, spans: Sequence[SourceSpan]) -> Iterator[Quote]:
        """Stretches of memories that may be told, and of which most holds still."""
        rows = sorted({span.row for span in spans})
        clauses = {row: over for row, (_, over) in over_clauses(rows, self._now_us, self._snapshot)}
        for span in spans:
            for one in self._memories.at([span.row]):
                is_told = self._memories.is_current(one) and self._memories.is_briefable(one.session)
                if is_told and share_over((span.start, span.stop), clauses.get(span.row, ())) < MOSTLY:
                    yield self._memories.stretch(one, span.start, span.stop)


def _narrowed(quote: Quote, start: int, stop: int) -> Quote:
    """A stretch of a memory, from one character to another, quoted as if it were all of it."""
    text = to_text(quote.text)
    said = to_bytes(text[start:stop])
    first = quote.start_byte + len(to_bytes(text[:start]))
    return msgspec.structs.replace(quote, text=said, start_byte=first, size_bytes=len(said))
