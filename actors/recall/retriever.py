"""The Retriever actor: ranks memories for a query by fusing embedding, word, session and date signals.

It keeps the columns, words and vectors of all memories in memory and follows the store by `seq`. Ranking itself is
`mnemic.algorithms`: BM25 over turns and over whole sessions, cosines, fusion.
Where a question names a day, what was said near it counts more (`mnemic.actors.recall.day_signal`); where it asks for
what holds or held, what holds no more counts less (`mnemic.actors.recall.validity`).
The cosines are exact for the windows that fit best, and off by 0.0005 or so for the others, which are scored by their
codes of one byte a value (`mnemic.algorithms.retrieval.scan`). Windows of one text have one cosine, however many they
are, so the newest of them come first. Windows that are not looked through are not read. A question is embedded by the
Embedder, before anything that is only pending; without a model, words answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from mnemic.actors.brief.brief import BriefSettings, answer_brief
from mnemic.actors.brief.compose import BUDGET_TOKENS
from mnemic.actors.capture.capture_filter import is_paused_at
from mnemic.actors.protocol.ambient_messages import Brief, Briefed
from mnemic.actors.protocol.contract import CONTRACT, Context, Setting
from mnemic.actors.protocol.errors import PausesUnreadable
from mnemic.actors.protocol.log_messages import DeliveriesListed, MemoriesListed, MemoriesShown, UseCounted
from mnemic.actors.protocol.messages import (
    Candidate,
    Count,
    Counts,
    EmbedQuery,
    FindScope,
    FindSimilar,
    GetMemories,
    Hit,
    Memories,
    QueryEmbedded,
    Recall,
    Recalled,
    ScopeFound,
    SimilarFound,
)
from mnemic.actors.protocol.ports import Ports
from mnemic.actors.protocol.scopes import ListScopes, ScopesListed, Survey, Surveyed
from mnemic.actors.protocol.shape_messages import ListRoles, RolesListed, Shape, Shaped
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.actors.protocol.times import day_of
from mnemic.actors.recall.day_signal import WEIGHT, day_nearness, days_in_question, end_of_day
from mnemic.actors.recall.folding import MOST_FOLDED, Copies, Folder
from mnemic.actors.recall.hits import BYTES_PER_TOKEN, excerpt, make_hit, token_count
from mnemic.actors.recall.list_memories import BROWSE_MESSAGES, browse, record_question
from mnemic.actors.recall.night_effects import NightEffects, surplus_copies
from mnemic.actors.recall.query import QuestionWord, query_vector, question_words
from mnemic.actors.recall.recall_index import Cosines, RecallIndex
from mnemic.actors.recall.replaced import Replacements, read_replacements
from mnemic.actors.recall.reranker import DENSE_WEIGHT, FirstPass, Reranker
from mnemic.actors.recall.similarity import find_similar
from mnemic.actors.recall.validate import LEAST_HIT_BYTES, validate_recall
from mnemic.actors.recall.validity import DAY_WEIGHT, Validity
from mnemic.actors.recall.word_index import WORDS_DAMAGED
from mnemic.actors.shape.fillers import list_roles
from mnemic.actors.shape.shape_recall import ShapeQueryEngine, foreseen
from mnemic.actors.sleep.night_views import NIGHT_MESSAGES, NightAnswer, answer_nights
from mnemic.algorithms.knowledge.asked_time import asked_time
from mnemic.algorithms.retrieval.bm25 import bm25, full_score, full_score_of
from mnemic.algorithms.retrieval.calibration import FULL, MEANING, UNLIKELY, WORDS, Calibration
from mnemic.algorithms.retrieval.fusion import SignalScores, fuse, rank
from mnemic.algorithms.retrieval.scan import NATIVE, RESCORE_ROWS, backend
from mnemic.algorithms.text.days import DateRange
from mnemic.algorithms.text.terms import stem_of

NOT_NATIVE = "native code is not built: NumPy scans instead, slower"
_CORRECTION_MARGIN = 1e-3  # a correction stands this much above what it replaces
_CANDIDATES_TRACED = 200
_RERANKED_WORDS = 64  # of a question; what is longer is pasted
_RERANKED = 50  # of the first pass; 30 to 200 make no difference
_LEAST_EXCERPT_BYTES = 256  # a shorter stretch of a longer text tells too little: that text is left out

Floats = NDArray[np.floating[Any]]


class RetrieverActor:
    """Answers recalls."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (
        Recall,
        GetMemories,
        FindScope,
        ListScopes,
        FindSimilar,
        Survey,
        Count,
        *BROWSE_MESSAGES,
        *NIGHT_MESSAGES,
        Brief,
        Shape,
        ListRoles,
    )
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting("recall.k", 10, "memories", "How many hits a recall gives unless it says.", 1),
        Setting(
            "recall.hit_bytes",
            8192,
            "bytes",
            "Of a longer memory the best stretch is given, with its place.",
            LEAST_HIT_BYTES,
        ),
        Setting(
            "brief.budget_tokens",
            BUDGET_TOKENS,
            "tokens",
            "An assistant is told at most so much unasked, at the start of a session; 0 is nothing.",
            0,
        ),
        Setting("brief.subagents", False, "-", "Whether the subagents of an assistant are told anything, too."),
    )
    pinned: ClassVar[bool] = True

    def __init__(self, ports: Ports) -> None:
        settings = ports.settings
        self._source = ports.open_snapshots()
        self._pauses = ports.pauses
        self._unwritable = ports.unwritable
        self._brief_settings = BriefSettings(settings["brief.budget_tokens"], settings["brief.subagents"])
        self._k = settings["recall.k"]
        self._hit_bytes = settings["recall.hit_bytes"]
        self._index = RecallIndex()
        self._reranker = Reranker(self._index)
        self._validity = Validity(self._index)
        self._folder = Folder(self._index)
        self._nights = NightEffects(self._index)
        self._shaper = ShapeQueryEngine(self._source, self._index, ports.seed, settings, ports.unwritable)

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Open the store for reading."""
        return cls(ports)

    @staticmethod
    def foresees(message: Any) -> tuple[Any, ...]:
        """A recall by meaning will ask for its question's vector, and what is told beside a prompt for the prompt's."""
        if isinstance(message, Recall) and "dense" in message.signals:
            return (EmbedQuery(text=message.query),)
        if isinstance(message, Brief) and message.occasion == "prompt":
            return (EmbedQuery(text=message.prompt),)
        if isinstance(message, FindSimilar):
            return (EmbedQuery(text=message.text),)
        if isinstance(message, Shape):
            return foreseen(message)
        return ()

    def handle(
        self, message: Any, context: Context
    ) -> (
        Recalled
        | Memories
        | ScopeFound
        | ScopesListed
        | SimilarFound
        | Surveyed
        | Counts
        | Briefed
        | MemoriesListed
        | DeliveriesListed
        | MemoriesShown
        | UseCounted
        | Shaped
        | RolesListed
        | NightAnswer
        | None
    ):
        """Recall, ask for shapes, give memories whole, find a scope, count, show, or say what to tell unasked.

        Raises:
            UnknownScope, UnknownSession, UnknownRole, InvalidValue, NoSuchMemory: what was asked for cannot be.
        """
        if isinstance(message, Recall):
            return self.recall(message, context)
        if isinstance(message, BROWSE_MESSAGES):
            return browse(message, self._source, context)
        if isinstance(message, NIGHT_MESSAGES):
            return answer_nights(message, self._source, context)
        if isinstance(message, Brief):
            count = self._index.words.count_memories  # as of the recall that comes first
            return answer_brief(message, self._brief_settings, self._source, self.recall, count, context)
        if isinstance(message, FindSimilar):
            return find_similar(message, self._index, self._source, context)
        if isinstance(message, Shape):
            return self._shaper.shape(message, context, lambda: self._paused(context.clock.now_us()))
        with self._source.snapshot() as snapshot:
            if isinstance(message, ListRoles):
                return list_roles(snapshot)
            if isinstance(message, Survey):
                return snapshot.survey(message.selection, message.shown)
            if isinstance(message, ListScopes):
                return ScopesListed(scopes=tuple(snapshot.list_scopes()), undo=snapshot.scope_undo())
            if isinstance(message, GetMemories):
                return Memories(memories=tuple(snapshot.load_memories(snapshot.rows_of(message.ids))))
            if isinstance(message, FindScope):
                return ScopeFound(path=snapshot.scope_path_of(message.place))
            return msgspec.structs.replace(snapshot.counts(None), scan=backend())

    def close(self) -> None:
        """Let go of the store."""
        self._source.close()

    def recall(self, recall: Recall, context: Context) -> Recalled:
        """Find the memories that matter.

        Raises:
            UnknownScope, UnknownSession, InvalidValue: what was asked for cannot be.
        """
        validate_recall(recall)
        k = self._k if recall.k is None else recall.k
        degraded: list[str] = []
        loaded = context.progress if self._index.empty else lambda done, total: None
        loaded(0, 2)  # the first time takes long: the model comes before the two parts that `sync` tells of
        by_meaning = "dense" in recall.signals
        asked = query_vector(recall.query, context, degraded, "Words alone answered.") if by_meaning else None
        with self._source.snapshot() as snapshot:
            if recall.place is not None:
                known = snapshot.scope_path_of(recall.place)
                if known is None:
                    return _nothing_known(recall.place.path)
                recall = msgspec.structs.replace(recall, scope=known)
            self._index.sync(snapshot, asked.encoder if asked else None, loaded)
            visible = self._index.visible(
                snapshot,
                recall.scope,
                recall.session,
                kinds=recall.kinds,
                since=recall.since,
                until=recall.until,
                as_of=recall.as_of,
            )
            words = question_words(recall.query, snapshot, degraded)
            signals, first, found = self._signals(recall, k, words, visible, asked, degraded)
            said_at = self._index.columns.said_at
            now_us = context.clock.now_us() if recall.as_of is None else recall.as_of
            days = days_in_question(recall.query, now_us, said_at[visible], snapshot.languages())
            asked_for = asked_time(recall.query, names_days=bool(days)) if "validity" in recall.signals else "any"
            if recall.at is not None:
                days, asked_for = [DateRange(day_of(recall.at), day_of(recall.at))], "day"
            at_us = min(now_us, end_of_day(days[-1].last)) if asked_for == "day" else now_us
            if days and "structural" in recall.signals:
                weight = WEIGHT if asked_for == "any" or first is None else WEIGHT * DAY_WEIGHT
                signals.append(SignalScores("structural", day_nearness(days, said_at), weight))
            fused = fuse(signals, visible)
            limit = max(4 * k, _CANDIDATES_TRACED)
            self._nights.sync(snapshot, recall.trial)
            # Where it is asked what was when, what was said on another day stands for itself.
            alike = np.full(len(visible), -1) if days else self._nights.group_of(recall.as_of)
            surplus = surplus_copies(alike, visible, fused.scores, said_at)
            ranked = visible & ~surplus
            pool = rank(fused.scores, ranked, said_at, limit)
            validity, use = np.zeros_like(fused.scores), np.zeros_like(fused.scores)
            # What was known at an earlier time tells nothing of what replaced it since.
            sought = pool[: 0 if recall.as_of is not None else _RERANKED]
            terms = [stem_of(term) for one in words for term in one.terms]
            kept = read_replacements(self._index.columns.row[sought].tolist(), at_us, snapshot, terms)
            if first is not None:
                best = pool[:_RERANKED]
                fused.replace(best, self._reranker.contributions(best, first, snapshot, context, degraded))
                weighed = self._validity.contributions(best, asked_for, days, now_us, recall.as_of, kept, snapshot)
                validity[visible] = weighed.min(initial=0.0)  # what is not among the best passes none of them by it
                validity[best] = weighed
            calibration = FULL if first is not None else WORDS if found is None else MEANING
            if "use" in recall.signals:
                by_use = asked_for == "any"  # what was of use once need not hold now, nor then
                gained = self._nights.added(pool[:_RERANKED], recall.as_of, by_use=by_use) / calibration.slope
                use[visible] = gained.min(initial=0.0)
                use[pool[:_RERANKED]] = gained
            speaking = fused.scores > 0
            if found is not None:
                speaking |= ~np.isnan(found.best)  # meaning speaks for all it knows: the nearest, however far
            speaking &= ranked
            total = fused.scores + validity + use
            before = total.copy()
            # What is lifted may pass others; these stand among each other as before.
            pool = np.union1d(pool, self._lift_corrections(recall.as_of, total, speaking))
            if asked_for != "before" and "validity" in recall.signals:
                pool = np.union1d(pool, self._lift_heirs(kept, total, speaking, visible))
            order = pool[rank(total[pool], speaking[pool] & ranked[pool], said_at[pool], limit)]
            # what hardly holds may fit all the same, and what was of use fits no better
            fitting = (total - validity - use)[order[:1]]
            nothing_fits = not len(order) or calibration.probability(float(fitting[0])) < UNLIKELY

            def give(order: NDArray[np.int64]) -> tuple[list[Hit], int, int]:
                shares = fused.contributions(order)
                shares |= {name: one[order] for name, one in (("validity", validity), ("use", use)) if one.any()}
                prior = (total - before)[order]
                copies = Copies(alike, surplus)
                groups = self._folder.fold(order, snapshot, recall.as_of, copies, by_day=bool(days))
                ranking = _Ranking(order, prior, shares, found, calibration)
                return self._hits(recall, k, snapshot, terms, groups, ranking, at_us)

            hits, left_out, used = give(order)
            if len(hits) < k and len(order) == limit < MOST_FOLDED and not left_out:  # most of these say the same
                order = rank(total, speaking & ranked, said_at, MOST_FOLDED)
                hits, left_out, used = give(order)
            candidates = self._candidates(snapshot, signals, order, found) if recall.trace else ()
        if recall.observe:
            unkept = recall.private or self._paused(context.clock.now_us())
            degraded += record_question(
                "recall", recall, recall.query, hits, context, unkept=unkept, unwritable=self._unwritable()
            )
        return Recalled(
            hits=tuple(hits),
            scope=recall.scope,
            searched=int(np.count_nonzero(visible)),
            used_tokens=used,
            left_out=left_out,
            nothing_fits=nothing_fits,
            degraded=tuple(degraded),
            candidates=candidates,
        )

    def _paused(self, at: int) -> bool:
        """Whether the memory is paused; where nobody can tell, no question is kept, as no hook keeps anything."""
        try:
            return is_paused_at(self._pauses(), at)
        except PausesUnreadable:
            return True

    def _signals(
        self,
        recall: Recall,
        k: int,
        words: list[QuestionWord],
        visible: NDArray[np.bool_],
        asked: QueryEmbedded | None,
        degraded: list[str],
    ) -> tuple[list[SignalScores], FirstPass | None, Cosines | None]:
        """The signals of the first pass, what the second one goes on with where there is one, and what meaning knows
        of the visible memories, if anything.
        """
        columns = self._index.columns
        signals: list[SignalScores] = []
        found = None
        if asked is not None:
            matched = self._index.cosines(asked.vector, visible, max(RESCORE_ROWS, 4 * k))
            unknown = np.isnan(matched.best)
            pending = visible & unknown
            if not unknown.all():
                found = matched
                # what nobody knows yet is as any other
                mean = float(matched.best[~unknown].mean(dtype=np.float64)) if pending.any() else 0.0
                cosines = np.where(unknown, np.float32(mean), matched.best)
                signals.append(SignalScores("dense", cosines, DENSE_WEIGHT))
            if pending.any():
                degraded.append(
                    f"meaning: {np.count_nonzero(pending)} of the memories looked through are found by their words only"
                    " so far"
                )
            if not NATIVE:
                degraded.append(NOT_NATIVE)
        by_words, by_session = "lexical" in recall.signals, "session" in recall.signals
        if not (words and (by_words or by_session)):
            return signals, None, found
        if self._index.words.damaged:
            degraded.append(WORDS_DAMAGED)
        matches = self._index.words.search([one.terms for one in words], visible, columns, by_session)
        if by_words:
            full = full_score_of(matches.holding, int(np.count_nonzero(visible)))
            signals.append(SignalScores("lexical", matches.scores / full))
        if matches.groups is not None:
            shares = bm25(*matches.groups) / full_score(matches.groups.postings, matches.groups.visible)
            signals.append(SignalScores("session", shares[columns.session] if len(shares) else np.zeros(0)))
        if asked is None or found is None:
            return signals, None, found
        most = _RERANKED_WORDS if by_words else 0
        first = FirstPass(
            recall.query, words[:most], matches.holding[:most], matches.groups, cosines, asked.encoder, visible
        )
        return signals, first, found

    def _lift_corrections(self, as_of: int | None, scores: Floats, speaking: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Lift each correction above what it replaces, and have it speak; returns the positions of those lifted.

        What is not looked through passes a lift on: who corrects a correction stands above both.
        """
        old, new = self._index.superseded(as_of)
        lifted = [new[:0]]
        rising = np.arange(len(old))
        for _ in range(len(old)):  # no chain is longer
            least = scores[old[rising]] + _CORRECTION_MARGIN
            above = speaking[old[rising]] & (scores[new[rising]] < least)
            rising, least = rising[above], least[above]
            if not len(rising):
                break
            lifted.append(new[rising])
            np.maximum.at(scores, lifted[-1], least)
            speaking[lifted[-1]] = True
            at = np.minimum(np.searchsorted(old, lifted[-1]), len(old) - 1)
            rising = at[old[at] == lifted[-1]]  # what replaces those, in their turn
        return np.unique(np.concatenate(lifted))

    def _lift_heirs(
        self, kept: Replacements, scores: Floats, speaking: NDArray[np.bool_], visible: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Lift what stands for a memory right above it; returns the positions of those lifted."""
        rows = self._index.columns.row
        lifted = []
        for one in sorted(kept.successions, key=lambda each: each.at):  # who stands for an heir stands above both
            older, heir = np.searchsorted(rows, (one.older, one.heir)).tolist()
            if heir < len(rows) and rows[heir] == one.heir and visible[heir] and speaking[older]:
                scores[heir] = max(scores[heir], scores[older] + _CORRECTION_MARGIN)
                speaking[heir] = True
                lifted.append(heir)
        return np.array(lifted, np.int64)

    def _hits(
        self,
        recall: Recall,
        k: int,
        snapshot: Snapshot,
        terms: list[str],
        groups: Iterator[tuple[int, list[int]]],
        ranking: _Ranking,
        at_us: int,
    ) -> tuple[list[Hit], int, int]:
        hits: list[Hit] = []
        hit_bytes = min(self._hit_bytes, recall.hit_bytes or self._hit_bytes)
        left_out = used = 0
        within = self._index.within(snapshot, recall.scope)
        calibration, place_of = ranking.calibration, {int(one): place for place, one in enumerate(ranking.order)}
        numbered = enumerate(groups)
        while some := list(islice(numbered, k - len(hits))):
            rows = self._index.columns.row[[position for _, (position, _) in some]].tolist()
            memories, linked = snapshot.load_memories(rows), self._index.links(rows, snapshot, recall.as_of, within)
            kept = read_replacements([] if recall.as_of is not None else rows, at_us, snapshot)
            for (number, (position, same)), row, memory, links in zip(some, rows, memories, linked, strict=True):
                start = -1 if ranking.found is None else ranking.found.start_of_best(position)
                room = hit_bytes
                if recall.budget_tokens is not None:
                    room = min(room, BYTES_PER_TOKEN * (recall.budget_tokens - used))
                if len(memory.data) > room < min(hit_bytes, _LEAST_EXCERPT_BYTES):
                    left_out += number < k
                    continue
                part, offset = excerpt(memory.data, room, start, terms)
                used += token_count(part)
                place = place_of[position]
                evidence = {name: float(share[place]) for name, share in ranking.contributions.items()}
                if ranking.prior[place]:
                    evidence["prior"] = float(ranking.prior[place])
                why = {"base": calibration.intercept}
                why |= {name: calibration.slope * share for name, share in evidence.items()}
                score = calibration.probability(sum(evidence.values()))
                names, marks = self._folder.name(same, snapshot), (kept.replaced, kept.contradicts)
                hits.append(
                    make_hit(memory, part, offset, why, links, score, names, *(one.get(row, ()) for one in marks))
                )
        return hits, left_out, used

    def _candidates(
        self, snapshot: Snapshot, signals: list[SignalScores], order: NDArray[np.int64], found: Cosines | None
    ) -> tuple[Candidate, ...]:
        def is_own(name: str, index: int) -> bool:  # and not what is taken for it until it is embedded
            return name != "dense" or (found is not None and not np.isnan(found.best[index]))

        return tuple(
            Candidate(
                id=memory,
                raw={
                    one.name: float(one.scores[index])
                    for one in signals
                    if is_own(one.name, int(index)) and not np.isnan(one.scores[index])
                },
            )
            for index, memory in zip(order, snapshot.ids_of(self._index.columns.row[order].tolist()), strict=True)
        )


def _nothing_known(scope: str) -> Recalled:
    """What is answered of a project that nothing is known of."""
    return Recalled(
        hits=(),
        scope=scope,
        scope_known=False,
        searched=0,
        used_tokens=0,
        left_out=0,
        nothing_fits=True,
        degraded=(),
        candidates=(),
    )


class _Ranking(NamedTuple):
    """What a recall ranked, best first, `m` memories."""

    order: NDArray[np.int64]
    """``(m,)``: positions."""
    prior: Floats
    """``(m,)``: what corrections take over from what they replace."""
    contributions: dict[str, Floats]
    """``(m,)`` for each signal."""
    found: Cosines | None
    """What meaning knows of them."""
    calibration: Calibration
    """Makes probabilities of the scores."""
