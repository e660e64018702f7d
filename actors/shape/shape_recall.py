"""Answers structural queries: which memories match given role-filler pairs, and what fills the unknown roles.

Scope, conversation and time are exact: records of other memories are not looked through. What is exact, and what fills
a role, is looked up; where some of a pattern may be wrong, records are ranked by what fits
(`mnemic.actors.shape.questions.partial`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from mnemic.actors.brief.messages import Brief
from mnemic.actors.index.hits import excerpt, make_hit
from mnemic.actors.index.query import asked_scope_numbers, query_vector
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.events import escape_surrogates
from mnemic.actors.kernel.snapshot import Snapshot, SnapshotSource
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.log.list_memories import record_question
from mnemic.actors.meaning.changes import EncoderName
from mnemic.actors.meaning.messages import EmbedQuery, QueryEmbedded
from mnemic.actors.recall.messages import Hit
from mnemic.actors.shape.about import TEMPERATURE, TextQuery
from mnemic.actors.shape.bind import settings_mismatch
from mnemic.actors.shape.fillers import ShapeSearch
from mnemic.actors.shape.messages import Answer, Shape, Shaped, validate_shape
from mnemic.actors.shape.patterns import PatternQuery, parse_pattern, texts_to_embed, with_local_date
from mnemic.actors.shape.questions.alike import alike_matches
from mnemic.actors.shape.questions.analogies import solve
from mnemic.actors.shape.questions.community_role import COMMUNITY, LEAST_NEAR, members_among, none_is_in
from mnemic.actors.shape.questions.conversations import find_conversations
from mnemic.actors.shape.questions.failures import FailureHint, failure_hint
from mnemic.actors.shape.questions.partial import Cue, differences, partial_matches, read_cues, text_cue
from mnemic.actors.shape.questions.situations import alike_situations, here_answers, newest_step, situation_pairs
from mnemic.actors.shape.questions.typed import as_typed
from mnemic.actors.shape.questions.warnings import warn_nothing_near, warn_partly_bound, warn_unknown_fillers
from mnemic.actors.shape.shape_index import ShapeIndex
from mnemic.hd import evidence as grading
from mnemic.hd import query
from mnemic.hd.codebook import MAX_NAME_CHARS
from mnemic.hd.query import Matches
from mnemic.hd.records import Pair
from mnemic.hd.roles import ROLES, Tier


def _answer_span(answer: Answer) -> DeliveredSpan:
    """That an answer was given: beside the best memory that it was read from, and without any of that one's words."""
    why = f"{answer.role}: {answer.filler} {answer.confidence:.2f}"
    return DeliveredSpan(memory=answer.memories[0], start=0, stop=0, why=why)


_WITHOUT = "Its words and the rest answered."
_ABOUT = "about"
"""The role of meaning that vectors and words tell better than hypervectors do."""
_NONE = np.empty(0, np.int64)
_MAX_PARTIAL = 256
"""At most so many records that have most of a pattern are looked at."""


class _ShapeResult(NamedTuple):
    hits: list[Hit]
    answers: list[Answer]
    searched: int


class ShapeQueryEngine:
    """Answers what is asked by structure, from what the Retriever holds in memory."""

    def __init__(
        self,
        source: SnapshotSource,
        memory: RecallIndex,
        seed: bytes,
        settings: Mapping[str, Any],
        unwritable: Callable[[], str | None],
    ) -> None:
        self._source, self._recall_index, self._settings = source, memory, settings
        self._k, self._hit_bytes = settings["recall.k"], settings["recall.hit_bytes"]
        self._index = ShapeIndex(seed)
        self._unwritable = unwritable

    def shape(self, asked: Shape, context: Context, paused: Callable[[], bool]) -> Shaped:
        """Find memories by their structure, and what fills the roles that are asked for.

        Raises:
            UnknownRole, UnknownScope, UnknownSession, InvalidValue: what was asked for cannot be.
        """
        validate_shape(asked)
        degraded: list[str] = []
        vectors = {
            role: query_vector(text, context, degraded, _WITHOUT, role)
            for role, text in texts_to_embed(asked.pattern).items()
        }
        with self._source.snapshot() as snapshot:
            embedded = next((one for one in vectors.values() if one is not None), None)
            known = snapshot.encoders() if asked.like else []
            self._sync(snapshot, embedded.encoder if embedded else known[-1] if known else None, context)
            visible = self._visible(asked, snapshot, degraded)
            pattern = with_local_date(asked.pattern, context.clock)
            local = msgspec.structs.replace(asked, pattern=pattern)
            found = self._answer(local, vectors, visible, snapshot, degraded)
            otherwise = settings_mismatch(snapshot.space(), self._settings)
            degraded += [otherwise] if otherwise else []
        if asked.observe:
            answers = [_answer_span(one) for one in found.answers if one.memories]
            unkept = asked.private or paused()
            degraded += record_question(
                "shape",
                asked,
                as_typed(asked),
                found.hits,
                context,
                unkept=unkept,
                unwritable=self._unwritable(),
                answers=answers,
            )
        return Shaped(
            hits=tuple(found.hits),
            answers=tuple(found.answers),
            scope=asked.scope,
            searched=found.searched,
            degraded=tuple(degraded),
        )

    def failure_hint(self, asked: Brief, context: Context) -> tuple[str, FailureHint] | None:
        """What helped in the project when it failed like this before, and the scope looked through; see
        `mnemic.actors.shape.questions.failures`.
        """
        with self._source.snapshot() as snapshot:
            scope = snapshot.scope_path_of(asked.place) if asked.place.path else None
            if scope is None or asked.failed is None:
                return None
            self._sync(snapshot, None, context)
            if self._index.encoders is None or not self._index.bound_count:
                return None
            recall = self._recall_index
            visible, within = recall.visible(snapshot, scope), asked_scope_numbers(scope, snapshot)
            looking = ShapeSearch(self._index, snapshot, visible, within, visible)
            hint = failure_hint(asked, asked.failed, looking, recall.columns)
        return None if hint is None else (scope, hint)

    def _sync(self, snapshot: Snapshot, encoder: EncoderName | None, context: Context) -> None:
        self._recall_index.sync(snapshot, encoder)
        loaded = context.progress if self._index.empty else lambda *_: None
        self._index.sync(snapshot, self._recall_index.columns, loaded, self._recall_index.retired_count)

    def _visible(self, asked: Shape, snapshot: Snapshot, degraded: list[str]) -> NDArray[np.bool_]:
        """Which memories are looked through; where a filter leaves none of them, that is said."""
        index, scope, session = self._recall_index, asked.scope, None if asked.here else asked.session
        own = index.visible(snapshot, scope, session)
        if session is not None and not own.any() and index.visible(snapshot, scope).any():
            degraded.append(f"session: no memory looked through is of the conversation {session[:MAX_NAME_CHARS]!r}")
        left = index.visible(snapshot, scope, session, since=asked.since, until=asked.until)
        if own.any() and not left.any():
            degraded.append("time: no memory looked through was said in that time")
        return left

    def _answer(
        self,
        asked: Shape,
        vectors: dict[str, QueryEmbedded | None],
        visible: NDArray[np.bool_],
        snapshot: Snapshot,
        degraded: list[str],
    ) -> _ShapeResult:
        index, k = self._index, self._k if asked.k is None else asked.k
        if index.pending:
            wait = "memory waits" if index.pending == 1 else "memories wait"
            degraded.append(f"structure: {index.pending} {wait} to be bound, and took no part, or only as bound before")
        if (
            index.encoders is None or not index.bound_count
        ):  # a name that nothing has yet may be one that what waits has
            if asked.pattern:
                parse_pattern(
                    asked.pattern,
                    tuple(ROLES) if index.encoders is None else index.encoders.space.roles,
                    None,
                )
            return _ShapeResult([], [], 0)
        within = asked_scope_numbers(asked.scope, snapshot)
        reach = self._recall_index.visible(snapshot, asked.scope)
        looking = ShapeSearch(index, snapshot, visible, within, reach)
        if asked.here:
            found = self._here(asked, looking, k)
        elif asked.analogy:
            found = self._analogy(asked.analogy, looking, k)
        elif asked.like and not asked.pattern:
            found = self._alike(asked.like, PatternQuery(tier="episode"), looking, k)
        else:
            roles = index.encoders.space.roles
            question = parse_pattern(asked.pattern, roles, lambda role: looking.items(role).count_by_lowercase)
            if question.since is not None and question.until is not None:
                columns = self._recall_index.columns
                said_on = (columns.local_at >= question.since) & (columns.local_at < question.until)
                left = visible & said_on & (columns.dated == 1)
                if visible.any() and not left.any():
                    degraded.append("date: no memory looked through was said on those days")
                looking = ShapeSearch(index, snapshot, left, within, reach)
            if question.community is not None:
                rows, left = self._recall_index.columns.row, looking.visible_memories
                members = members_among(snapshot, question.community, rows, left)
                looking = ShapeSearch(index, snapshot, members, within, reach)
                if left.any() and not looking.visible_memories.any():
                    looking.warn(none_is_in(question.community))
            if question.session:
                found = self._conversations(question, looking, k, asked.strict)
            elif asked.like:
                found = self._alike(asked.like, question, looking, k)
            else:
                found = self._pattern(question, vectors, looking, k, asked.strict)
        degraded += looking.degraded
        return found

    def _pattern(
        self,
        question: PatternQuery,
        vectors: dict[str, QueryEmbedded | None],
        looking: ShapeSearch,
        k: int,
        strict: bool,
    ) -> _ShapeResult:
        near = [one.pair for one in question.near]
        texts = [
            query
            for role, text in question.similar_texts
            if (query := self._text_query(role, text, vectors[role], looking)) is not None
        ]
        names = [one.asked_role for one in (*question.exact, *question.near)] + [one.role for one in texts]
        warn_unknown_fillers(question, looking)
        warn_partly_bound(question, looking, self._recall_index.columns.row)
        searched = len(looking.visible(question.tier))
        if not names and question.similar_texts:  # nothing that was said of the memories can take part
            return _ShapeResult([], [], searched)
        if names:
            matches = looking.find(question.tier, [one.pair for one in question.exact], near, texts)
            sample = looking.sample_matches(matches, _temperature(near, texts))
            looking.degraded += [one for text in texts for one in text.warnings()]
            warn_nothing_near(question, matches, looking)
        elif question.community is None:
            (matches, sample), names = looking.typical(question.tier), ["typical"]
        else:
            own = question.tier == "episode" and looking.visible_memories.any()  # prototypes are bundles of episodes
            common = looking.snapshot.prototype(question.community) if own else None
            (matches, sample), names = looking.typical(question.tier, common, LEAST_NEAR), [COMMUNITY]
        whole = self._first_of_each(question.tier, matches, k)
        hits: list[Hit] = []
        if not strict and _may_be_wrong(question, len(whole), k):
            cues = read_cues(looking, question.tier, [*question.exact, *question.near])
            cues += [text_cue(looking, question.tier, one) for one in texts]
            # to be far from a day, or from a text, says as much against a memory as another cue that it has not
            told = _NONE if question.near or question.similar_texts else matches.row
            hits = self._hits(question.tier, matches, names, looking, k) if len(told) else []
            fitting, likely = partial_matches(looking, question.tier, cues, told, max(_MAX_PARTIAL, k))
            hits += self._partial_hits(question.tier, fitting, cues, looking, k, {hit.id for hit in hits})
            if hits and hits[0].differs:
                looking.warn("no memory has all of that: these have most of it, and say where they differ")
                sample = sample if whole else likely
        hits = hits or self._hits(question.tier, matches, names, looking, k)
        if not hits and names and searched and not looking.degraded:
            looking.warn("no memory looked through has all of that")
        answers = [one for role in question.unknown for one in looking.answers(question.tier, role, sample, k)]
        return _ShapeResult(hits, answers, searched)

    def _text_query(
        self, role: str, text: str, embedded: QueryEmbedded | None, looking: ShapeSearch
    ) -> TextQuery | None:
        """A text of a pattern; what was said before or after may lie outside of what is looked through."""
        seen = looking.visible_memories if role == _ABOUT else looking.reach
        index = self._recall_index
        return TextQuery.prepare(role, text, embedded, looking.snapshot, index, seen, looking.degraded)

    def _alike(self, like: Sequence[bytes], question: PatternQuery, looking: ShapeSearch, k: int) -> _ShapeResult:
        """Memories in which the same kind of thing happened as in some: by all roles at once, and by what they say."""
        warn_unknown_fillers(question, looking)
        warn_partly_bound(question, looking, self._recall_index.columns.row)
        matches, names = alike_matches(looking, self._recall_index, like, question)
        hits = self._hits("episode", matches, names, looking, k)
        sample = looking.sample_memories(question.tier, matches)
        answers = [one for role in question.unknown for one in looking.answers(question.tier, role, sample, k)]
        return _ShapeResult(hits, answers, len(looking.visible("episode")))

    def _conversations(self, question: PatternQuery, looking: ShapeSearch, k: int, strict: bool) -> _ShapeResult:
        """The conversations that had all of a pattern, and of each the memory that has most of it."""
        pairs = [*question.exact, *question.near]
        warn_unknown_fillers(question, looking)
        warn_partly_bound(question, looking, self._recall_index.columns.row)
        found = find_conversations(looking, self._recall_index.columns, pairs, k, strict=strict)
        hits = self._hits("episode", found.matches, found.roles, looking, k)
        if found.answers and not found.whole:
            looking.warn("session: no conversation had all of that: these had most of it")
        elif not found.answers and not looking.degraded:
            looking.warn("session: no conversation looked through had that")
        return _ShapeResult(hits, found.answers, len(looking.visible("episode")))

    def _here(self, asked: Shape, looking: ShapeSearch, k: int) -> _ShapeResult:
        """Earlier moments like the last steps of a conversation, what was done next there, and what helped."""
        columns = self._recall_index.columns
        asking = looking.snapshot.session_rows(escape_surrogates(asked.asking_session))  # of a new one nothing is kept
        own = looking.visible_memories & np.isin(columns.session, asking)
        of = own if own.any() else looking.visible_memories
        if asked.session:
            of = looking.visible_memories & self._recall_index.visible(looking.snapshot, asked.scope, asked.session)
        now = newest_step(looking, columns, of)
        searched = len(looking.visible("step"))
        if now is None:
            looking.warn("here: no call of a tool was found in the conversation")
            return _ShapeResult([], [], searched)
        found = alike_situations(looking, situation_pairs(looking, now), [now])
        if not len(found.place):
            looking.warn("here: no earlier moment is like this one")
        matches = Matches(found.place, found.fit, found.fit[:, None])
        hits = self._hits("step", matches, ["here"], looking, k)
        return _ShapeResult(hits, here_answers(looking, columns, now, found, k), searched)

    def _analogy(self, names: tuple[str, ...], looking: ShapeSearch, k: int) -> _ShapeResult:
        solved = solve(names, looking, k)
        if solved is None:
            looking.warn("analogy: nothing in memory relates the first two in a way in which the third has anything")
            return _ShapeResult([], [], len(looking.visible("episode")))
        if solved.missing_reason:
            looking.warn(f"analogy: {solved.missing_reason}")
        hits = self._hits(solved.tier, solved.matches, solved.pair_roles, looking, k)
        return _ShapeResult(hits, solved.answers, len(looking.visible(solved.tier)))

    def _hits(self, tier: Tier, matches: Matches, names: Sequence[str], looking: ShapeSearch, k: int) -> list[Hit]:
        first = self._first_of_each(tier, matches, k)
        memories = looking.snapshot.load_memories(list(first))
        links = self._recall_index.links(list(first), looking.snapshot, within=looking.within)
        hits = []
        for memory, linked, place in zip(memories, links, first.values(), strict=True):
            part, offset = excerpt(memory.data, self._hit_bytes, -1, [])
            why: dict[str, float] = {}
            for name, share in zip(names, matches.shares[place].tolist(), strict=True):
                why[name] = why.get(name, 1.0) * share
            hits.append(make_hit(memory, part, offset, why, linked, float(matches.nearness[place])))
        return hits

    def _first_of_each(self, tier: Tier, matches: Matches, k: int) -> dict[int, int]:
        """The rows of the first `k` memories that match, and the place of the best match of each."""
        found: dict[int, int] = {}
        for place, row in enumerate(self._index.records[tier].row[matches.row].tolist()):
            if len(found) == k:
                break
            if matches.nearness[place] > 0:
                found.setdefault(row, place)
        return found

    def _partial_hits(
        self, tier: Tier, matches: Matches, cues: Sequence[Cue], looking: ShapeSearch, k: int, told: set[bytes]
    ) -> list[Hit]:
        """Memories that have most of a pattern, `k` with those that are told already."""
        hits = self._hits(tier, matches, [one.role for one in cues], looking, k)
        found: list[Hit] = []
        for hit, place in zip(hits, self._first_of_each(tier, matches, k).values(), strict=True):
            if hit.id not in told and len(told) + len(found) < k:
                differs = differences(looking, tier, cues, int(matches.row[place]), matches.shares[place])
                found.append(msgspec.structs.replace(hit, differs=differs))
        return found


def foreseen(asked: Shape) -> tuple[EmbedQuery, ...]:
    """What a question will surely ask the Embedder for."""
    return tuple(EmbedQuery(text=text) for text in texts_to_embed(asked.pattern).values())


def _may_be_wrong(question: PatternQuery, whole: int, k: int) -> bool:
    """Whether a memory that has not all of a pattern may be meant: where other cues find it, or a name is misspelt.

    Args:
        whole: how many memories have all that is exact, `k` at most.
    """
    exact = {one.asked_role for one in question.exact}
    near = len(question.near) + len(question.similar_texts)
    if near:
        return len(exact) + near > 1 and bool(exact or question.near)
    return bool(exact) and whole < k and (len(exact) > 1 or not whole)


def _temperature(near: Sequence[Pair], texts: Sequence[TextQuery]) -> float:
    """How fast memories count less the farther they are from the nearest: the less noise, the faster."""
    if texts:
        return query.TEMPERATURE if near or len(texts) > 1 else TEMPERATURE
    return grading.TEMPERATURE
