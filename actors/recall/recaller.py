"""Recalls: ranks memories for a query by fusing embedding, word, session and date signals, and makes hits of the best.

Part of `mnemic.actors.recall.retriever`. Its stages hand on what they found (`mnemic.actors.recall.ranking.stages`):
gather, first pass, second look, weigh, lift, read again, fold, render. It keeps the columns, words and vectors of all
memories in memory and follows the store by `seq`. Ranking itself is `mnemic.algorithms`: BM25 over turns and over
whole sessions, cosines, fusion.
Where a question names a day, what was said near it counts more (`mnemic.actors.recall.ranking.day_signal`); what only
asks counts less, and what follows it more (`mnemic.actors.recall.ranking.answers`); where the question asks for what
holds or held, what holds no more counts less (`mnemic.actors.recall.ranking.validity`); and what was of use before
counts more where it asks for no time (`mnemic.actors.recall.ranking.night_effects`). A question is embedded
by the Embedder, before anything that is only pending; without a model, words answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.attribute_index import AttributeFilters
from mnemic.actors.index.folding import MOST_FOLDED, Copies, Folding
from mnemic.actors.index.hits import ANSWER_TOKENS, BYTES_PER_TOKEN
from mnemic.actors.index.query import known_or_everywhere, query_vector, question_words
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.index.validate import validate_recall
from mnemic.actors.index.windows import Cosines
from mnemic.actors.kernel.contract import Clock, Context
from mnemic.actors.kernel.events import to_bytes
from mnemic.actors.kernel.ports import Ports
from mnemic.actors.kernel.snapshot import Snapshot, SnapshotSource
from mnemic.actors.kernel.times import Zone
from mnemic.actors.log.list_memories import record_question
from mnemic.actors.meaning.messages import QueryEmbedded
from mnemic.actors.recall.messages import Candidate, Recall, Recalled
from mnemic.actors.recall.ranking import stages
from mnemic.actors.recall.ranking.answers import Answers
from mnemic.actors.recall.ranking.asked_when import read_asked_when
from mnemic.actors.recall.ranking.first_pass import first_signals
from mnemic.actors.recall.ranking.lifting import lift_all, lift_predecessors, lift_remedies
from mnemic.actors.recall.ranking.night_effects import NightEffects, surplus_copies
from mnemic.actors.recall.ranking.replaced import read_replacements
from mnemic.actors.recall.ranking.reranker import Reranker
from mnemic.actors.recall.ranking.second_reading import read_again
from mnemic.actors.recall.ranking.stages import FirstLook, Floats, Lifted, Question, Ranking, Rendered, SecondLook
from mnemic.actors.recall.ranking.validity import Validity
from mnemic.actors.recall.render import Renderer
from mnemic.algorithms.knowledge.asked_time import Predecessor, asked_predecessor
from mnemic.algorithms.retrieval.calibration import FULL, MEANING, UNLIKELY, WORDS
from mnemic.algorithms.retrieval.fusion import SignalScores, fuse, rank
from mnemic.algorithms.text.terms import stem_of

_RERANKED = 50  # of the first pass; 30 to 200 make no difference


class Recaller:
    """Answers recalls, over an index that others look at too."""

    def __init__(
        self, ports: Ports, source: SnapshotSource, index: RecallIndex, is_paused: Callable[[int], bool]
    ) -> None:
        """Make one.

        Args:
            is_paused: whether the memory is paused at a time: then no question is kept.
        """
        self._source, self._index, self._is_paused = source, index, is_paused
        self._unwritable = ports.unwritable
        self._k = ports.settings["recall.k"]
        self._reads_again = bool(ports.settings["rerank.model"])
        self._reranker = Reranker(index)
        self._validity, self._answers = Validity(index), Answers(index)
        self._folding = Folding(index)
        self._renderer = Renderer(index, self._folding, ports.settings["recall.hit_bytes"])
        self._nights = NightEffects(index, ports.settings["recall.use_weight"], ports.settings["recall.use_decay"])

    def recall(self, recall: Recall, context: Context, *, reads_again: bool = True) -> Recalled:
        """Find the memories that matter.

        Args:
            reads_again: whether the user's own cross-encoder, if there is one, orders the best; that takes time.

        Raises:
            UnknownScope, UnknownSession, UnknownFilter, InvalidValue: what was asked for cannot be.
        """
        validate_recall(recall)
        may_name = recall.at is None and "validity" in recall.signals
        predecessor = asked_predecessor(recall.query) if may_name else None
        found = self._recall(recall, context, predecessor, reads_again)
        if found is None:  # nobody spoke of what the question names: it is asked as it stands
            found = self._recall(recall, context, None, reads_again)
        assert found is not None
        return found

    def _recall(
        self, recall: Recall, context: Context, predecessor: Predecessor | None, reads_again: bool
    ) -> Recalled | None:
        """Recall; ``None`` where nobody spoke of what comes after what is asked for.

        Args:
            predecessor: what the question asks for, if that is what came before something that it names.
        """
        degraded: list[str] = []
        loaded = context.progress if self._index.empty else lambda done, total: None
        loaded(0, 2)  # the first time takes long: the model comes before the two parts that `sync` tells of
        asks = recall if predecessor is None else msgspec.structs.replace(recall, query=predecessor.question)
        by_meaning = "dense" in recall.signals
        asked = query_vector(asks.query, context, degraded, "Words alone answered.") if by_meaning else None
        scope_known = True
        with self._source.snapshot() as snapshot:
            if recall.place is not None:
                own = snapshot.scope_path_of(recall.place)
                asked_in = known_or_everywhere(own, snapshot)
                if asked_in is None:
                    return _nothing_known(recall.place.path)
                recall, scope_known = msgspec.structs.replace(recall, scope=asked_in), own is not None
            self._index.sync(snapshot, asked.encoder if asked else None, loaded)
            question = self._gather(recall, asks, predecessor, snapshot, context.clock, degraded)
            if question is None:
                return None
            first = self._first_pass(question, asked, snapshot, degraded)
            second = self._second_look(question, first, snapshot, context, degraded)
            weighed = self._weigh(question, first, second, snapshot, context.clock)
            lifted = self._lift(question, first, second, weighed, snapshot)
            if self._reads_again and reads_again and by_meaning:
                lifted, weighed["rerank"] = read_again(
                    question, lifted, first.found, self._index, snapshot, context, degraded
                )
            order, rendered = self._fold_and_render(question, first, second, weighed, lifted, snapshot, degraded)
            degraded += rendered.no_room
            candidates = self._candidates(snapshot, first.signals, order, first.found) if recall.trace else ()
        if recall.observe:
            unkept = recall.private or self._is_paused(context.clock.now_us())
            degraded += record_question(
                "recall", recall, recall.query, rendered.hits, context, unkept=unkept, unwritable=self._unwritable()
            )
        return Recalled(
            hits=tuple(rendered.hits),
            scope=recall.scope,
            scope_known=scope_known,
            searched=int(np.count_nonzero(question.visible)),
            used_tokens=rendered.used_tokens,
            left_out=rendered.left_out,
            nothing_fits=lifted.nothing_fits,
            degraded=tuple(degraded),
            held_on=question.when.held_on,
            said_near=first.said_near,
            candidates=candidates,
        )

    def _gather(
        self,
        recall: Recall,
        asks: Recall,
        predecessor: Predecessor | None,
        snapshot: Snapshot,
        clock: Clock,
        degraded: list[str],
    ) -> Question | None:
        """Gather what is looked through and what for; ``None`` where nobody spoke of what comes after it."""
        filters = AttributeFilters(**{name: getattr(recall, name) for name in AttributeFilters.__struct_fields__})
        within = {name: getattr(recall, name) for name in ("kinds", "since", "until", "as_of")}
        visible = self._index.visible(snapshot, recall.scope, recall.session, of=filters, **within)
        if filters.names and not visible.any():
            named = ", ".join(filters.names)
            degraded.append(f"filters: no memory looked through has all that is asked for: {named}")
        words = question_words(asks.query, snapshot, degraded)
        now_us = clock.now_us() if recall.as_of is None else recall.as_of
        when = read_asked_when(recall, predecessor, self._index, visible, now_us, clock, snapshot)
        if predecessor is not None and not when.handover:
            return None
        terms = [term for one in words for term in one.terms]
        k = self._k if recall.k is None else recall.k
        return Question(recall, asks, k, words, frozenset(terms), list(map(stem_of, terms)), visible, when)

    def _first_pass(
        self, question: Question, asked: QueryEmbedded | None, snapshot: Snapshot, degraded: list[str]
    ) -> FirstLook:
        """Score all that is looked through, and choose a pool of the best."""
        recall, visible, when, columns = question.recall, question.visible, question.when, self._index.columns
        signals, first, found = first_signals(
            self._index, question.asks, question.k, question.words, visible, asked, degraded
        )
        said_near = tuple[str, ...]()
        if when.days and "structural" in recall.signals:
            signals.append(stages.day_signal(when, columns, by_words_alone=first is None))
            said_near = when.named_days if when.kind == "any" else ()
        fused = fuse(signals, visible)
        self._nights.sync(snapshot, recall.trial)
        # Where it is asked what was when, what was said on another day stands for itself.
        alike = np.full(len(visible), -1) if when.days else self._nights.group_of(recall.as_of)
        surplus = surplus_copies(alike, visible, fused.scores, columns.said_at)
        # The same array where nothing is surplus, of which the index knows the neighbours.
        shown = visible & ~surplus if surplus.any() else visible
        ranked = shown.copy()
        if "answer" in recall.signals:
            said = [one.terms for one in question.words]
            ranked[self._answers.just_asked(said, visible, when.now_us, snapshot)] = False
        pool = rank(fused.scores, ranked, columns.said_at, question.limit)
        return FirstLook(signals, first, found, fused, Copies(alike, surplus), shown, ranked, pool, said_near)

    def _second_look(
        self, question: Question, look: FirstLook, snapshot: Snapshot, context: Context, degraded: list[str]
    ) -> SecondLook:
        """Look again at the best of the pool, and at what follows those of them that ask."""
        recall, pool = question.recall, look.pool
        # What was known at an earlier time tells nothing of what replaced it since.
        sought = pool[: 0 if recall.as_of is not None else _RERANKED]
        rows = self._index.columns.row[sought].tolist()
        kept = read_replacements(rows, question.when.at_us, snapshot, question.stems)
        best = pool[:_RERANKED]
        rivals = len(best)
        if "answer" in recall.signals:
            following = self._answers.followers(best, question.terms, look.shown, snapshot)
            best, pool = np.concatenate([best, following]), np.concatenate([pool, np.setdiff1d(following, pool)])
        calibration = FULL if look.first is not None else WORDS if look.found is None else MEANING
        if look.first is not None:
            reranked = self._reranker.look(best, look.first, snapshot, context, degraded)
            look.fused.replace(best, reranked.contributions)
            calibration = calibration.with_unknown(reranked.unknown)
        return SecondLook(best, rivals, pool, kept, calibration)

    def _weigh(
        self, question: Question, look: FirstLook, second: SecondLook, snapshot: Snapshot, zone: Zone
    ) -> dict[str, Floats]:
        """Weigh the best by what still holds, what answers and what was of use: ``(m,)`` each, of those that take part.

        What is not among the best passes none of them by it: it gets the least of each, or 0 where that is more.
        """
        recall, when, best = question.recall, question.when, second.best
        weighed = {}
        if "answer" in recall.signals:
            shares = look.fused.contributions(best)
            weighed["answer"] = self._answers.contributions(
                best, question.asks.query, question.terms, shares, question.visible, snapshot, when
            )
        if look.first is not None:
            weighed["validity"] = self._validity.contributions(
                best, second.rivals, when, recall.as_of, second.kept, snapshot, zone
            )
        if "use" in recall.signals:
            by_use = when.kind == "any"  # what was of use once need not hold now, nor then
            gained = self._nights.added(best, recall.as_of, by_use=by_use)
            weighed["use"] = gained / second.calibration.slope
        return {name: stages.spread(one, best, question.visible) for name, one in weighed.items()}

    def _lift(
        self,
        question: Question,
        look: FirstLook,
        second: SecondLook,
        weighed: Mapping[str, Floats],
        snapshot: Snapshot,
    ) -> Lifted:
        """Lift what stands for others above them, and rank the pool."""
        recall, when, visible, kept = question.recall, question.when, question.visible, second.kept
        total = sum(weighed.values(), look.fused.scores)
        scored = stages.has_signal(look.fused.scores, look.found, look.ranked)
        before, pool = total.copy(), second.pool
        if "answer" in recall.signals:
            about = total - np.minimum(weighed["answer"], 0.0)
            nearest = second.best[np.argsort(-about[second.best], kind="stable")]
            remedies = self._answers.remedies(nearest, question.asks.query, look.shown, snapshot)
            pool = np.union1d(pool, lift_remedies(remedies, about, total, scored))
        # What is lifted may pass others; these stand among each other as before.
        by_facts = when.kind != "before" and "validity" in recall.signals
        now, until = when.kind == "now", when.until_us
        lifted, successors = lift_all(
            self._index, kept, recall.as_of, total, scored, visible, until, successors=by_facts, now=now
        )
        if when.kind == "before":
            successors = lift_predecessors(self._index, kept, total, scored, visible)
            lifted = np.union1d(lifted, successors)
        look.ranked[successors], look.copies.surplus[successors] = True, False
        pool = np.union1d(pool, lifted)
        may, said_at = scored & look.ranked, self._index.columns.said_at
        order = pool[rank(total[pool], may[pool], said_at[pool], question.limit)]
        # what hardly holds may fit all the same, and what was of use fits no better
        fitting = total[order[:1]]
        for name in ("validity", "use"):
            fitting = fitting - weighed[name][order[:1]] if name in weighed else fitting
        nothing_fits = not len(order) or second.calibration.probability(float(fitting[0])) < UNLIKELY
        return Lifted(total, before, may, order, nothing_fits)

    def _fold_and_render(
        self,
        question: Question,
        look: FirstLook,
        second: SecondLook,
        weighed: Mapping[str, Floats],
        lifted: Lifted,
        snapshot: Snapshot,
        degraded: Sequence[str],
    ) -> tuple[NDArray[np.int64], Rendered]:
        """Fold what says the same, and make hits of the best; return all that was ranked as well."""

        def render(order: NDArray[np.int64]) -> Rendered:
            shares = look.fused.contributions(order)
            shares |= {name: one[order] for name, one in weighed.items() if one.any()}
            prior = lifted.total[order] - lifted.before[order]
            by_day = bool(question.when.days)
            groups = self._folding.fold(order, snapshot, question.recall.as_of, look.copies, by_day=by_day)
            ranking = Ranking(order, prior, shares, look.found, second.calibration)
            beside = BYTES_PER_TOKEN * ANSWER_TOKENS + sum(len(to_bytes(why)) for why in degraded)
            return self._renderer.render(question, snapshot, groups, ranking, beside)

        order, limit = lifted.order, question.limit
        rendered = render(order)
        if len(rendered.hits) < question.k and len(order) == limit < MOST_FOLDED and not rendered.left_out:
            # most of these say the same
            order = rank(lifted.total, lifted.may, self._index.columns.said_at, MOST_FOLDED)
            rendered = render(order)
        return order, rendered

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
