"""Recalls: ranks memories for a query by fusing embedding, word, session and date signals, and makes hits of the best.

Part of `mnemic.actors.recall.retriever`. It keeps the columns, words and vectors of all memories in memory and follows
the store by `seq`. Ranking itself is `mnemic.algorithms`: BM25 over turns and over whole sessions, cosines, fusion.
Where a question names a day, what was said near it counts more (`mnemic.actors.recall.ranking.day_signal`); what only
asks counts less, and what follows it more (`mnemic.actors.recall.ranking.answers`); where the question asks for what
holds or held, what holds no more counts less (`mnemic.actors.recall.ranking.validity`); and what was of use before
counts more where it asks for no time (`mnemic.actors.recall.ranking.night_effects`). A question is embedded
by the Embedder, before anything that is only pending; without a model, words answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from mnemic.actors.protocol.contract import Context
from mnemic.actors.protocol.events import to_bytes
from mnemic.actors.protocol.ports import Ports
from mnemic.actors.protocol.recall.messages import Candidate, Hit, Recall, Recalled
from mnemic.actors.protocol.snapshot import Snapshot, SnapshotSource
from mnemic.actors.recall.attribute_index import AttributeFilters
from mnemic.actors.recall.folding import MOST_FOLDED, Copies, Folder
from mnemic.actors.recall.hits import ANSWER_TOKENS, BYTES_PER_TOKEN, excerpt, fitting_length, make_hit, sent_bytes
from mnemic.actors.recall.list_memories import record_question
from mnemic.actors.recall.newest import mark_newest
from mnemic.actors.recall.query import asked_scope_numbers, known_or_everywhere, query_vector, question_words
from mnemic.actors.recall.ranking.answers import Answers
from mnemic.actors.recall.ranking.asked_when import read_asked_when
from mnemic.actors.recall.ranking.day_signal import WEIGHT, day_nearness
from mnemic.actors.recall.ranking.first_pass import first_signals
from mnemic.actors.recall.ranking.lifting import lift_all, lift_predecessors, lift_remedies
from mnemic.actors.recall.ranking.night_effects import NightEffects, surplus_copies
from mnemic.actors.recall.ranking.replaced import read_replacements
from mnemic.actors.recall.ranking.reranker import Reranker
from mnemic.actors.recall.ranking.validity import Validity
from mnemic.actors.recall.recall_index import Cosines, RecallIndex
from mnemic.actors.recall.validate import validate_recall
from mnemic.algorithms.knowledge.asked_time import Predecessor, asked_predecessor
from mnemic.algorithms.retrieval.calibration import FULL, MEANING, UNLIKELY, WORDS, Calibration
from mnemic.algorithms.retrieval.fusion import SignalScores, fuse, rank
from mnemic.algorithms.text.terms import stem_of

_CANDIDATES_TRACED = 200
_RERANKED = 50  # of the first pass; 30 to 200 make no difference
_LEAST_BEST_BYTES = 96  # of the best, a line's words are given rather than a worse one whole
_LEAST_EXCERPT_BYTES = 256  # a shorter stretch of a longer text tells too little: that text is left out

Floats = NDArray[np.floating[Any]]


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
        self._k, self._hit_bytes = ports.settings["recall.k"], ports.settings["recall.hit_bytes"]
        self._reranker = Reranker(index)
        self._validity, self._answers = Validity(index), Answers(index)
        self._folder = Folder(index)
        self._nights = NightEffects(index, ports.settings["recall.use_weight"], ports.settings["recall.use_decay"])

    def recall(self, recall: Recall, context: Context) -> Recalled:
        """Find the memories that matter.

        Raises:
            UnknownScope, UnknownSession, UnknownFilter, InvalidValue: what was asked for cannot be.
        """
        validate_recall(recall)
        may_name = recall.at is None and "validity" in recall.signals
        predecessor = asked_predecessor(recall.query) if may_name else None
        found = self._recall(recall, context, predecessor)
        if found is None:  # nobody spoke of what the question names: it is asked as it stands
            found = self._recall(recall, context, None)
        assert found is not None
        return found

    def _recall(self, recall: Recall, context: Context, predecessor: Predecessor | None) -> Recalled | None:
        """Recall; ``None`` where nobody spoke of what comes after what is asked for.

        Args:
            predecessor: what the question asks for, if that is what came before something that it names.
        """
        k = self._k if recall.k is None else recall.k
        degraded: list[str] = []
        scope_known = True
        loaded = context.progress if self._index.empty else lambda done, total: None
        loaded(0, 2)  # the first time takes long: the model comes before the two parts that `sync` tells of
        by_meaning = "dense" in recall.signals
        asks = recall if predecessor is None else msgspec.structs.replace(recall, query=predecessor.question)
        asked = query_vector(asks.query, context, degraded, "Words alone answered.") if by_meaning else None
        with self._source.snapshot() as snapshot:
            if recall.place is not None:
                own = snapshot.scope_path_of(recall.place)
                asked_in = known_or_everywhere(own, snapshot)
                if asked_in is None:
                    return _nothing_known(recall.place.path)
                recall, scope_known = msgspec.structs.replace(recall, scope=asked_in), own is not None
            self._index.sync(snapshot, asked.encoder if asked else None, loaded)
            filters = AttributeFilters(**{name: getattr(recall, name) for name in AttributeFilters.__struct_fields__})
            visible = self._index.visible(
                snapshot,
                recall.scope,
                recall.session,
                kinds=recall.kinds,
                since=recall.since,
                until=recall.until,
                as_of=recall.as_of,
                of=filters,
            )
            if filters.names and not visible.any():
                named = ", ".join(filters.names)
                degraded.append(f"filters: no memory looked through has all that is asked for: {named}")
            words = question_words(asks.query, snapshot, degraded)
            signals, first, found = first_signals(self._index, asks, k, words, visible, asked, degraded)
            said_at, local_at, zone = self._index.columns.said_at, self._index.columns.local_at, context.clock
            now_us = context.clock.now_us() if recall.as_of is None else recall.as_of
            when = read_asked_when(recall, predecessor, self._index, visible, now_us, zone, snapshot)
            if predecessor is not None and not when.handover:
                return None
            said_near = tuple[str, ...]()
            if when.days and "structural" in recall.signals:
                near = day_nearness(when.days, local_at)
                if when.kind != "any" and first is not None:
                    near[:] = 0.0  # what held that day was said at any time before
                near[said_at >= when.until_us] = 0.0
                signals.append(SignalScores("structural", near, WEIGHT))
                said_near = when.named_days if when.kind == "any" else ()
            fused = fuse(signals, visible)
            limit = max(4 * k, _CANDIDATES_TRACED)
            self._nights.sync(snapshot, recall.trial)
            # Where it is asked what was when, what was said on another day stands for itself.
            alike = np.full(len(visible), -1) if when.days else self._nights.group_of(recall.as_of)
            surplus = surplus_copies(alike, visible, fused.scores, said_at)
            ranked = visible & ~surplus
            if "answer" in recall.signals:
                ranked[self._answers.just_asked([one.terms for one in words], visible, now_us, snapshot)] = False
            pool = rank(fused.scores, ranked, said_at, limit)
            answer, validity, use = (np.zeros_like(fused.scores) for _ in range(3))
            # What was known at an earlier time tells nothing of what replaced it since.
            sought = pool[: 0 if recall.as_of is not None else _RERANKED]
            terms = [stem_of(term) for one in words for term in one.terms]
            kept = read_replacements(self._index.columns.row[sought].tolist(), when.at_us, snapshot, terms)
            calibration = FULL if first is not None else WORDS if found is None else MEANING
            best, asked_terms = pool[:_RERANKED], frozenset(term for one in words for term in one.terms)
            following = best[:0]
            if "answer" in recall.signals:
                following = self._answers.followers(best, asked_terms, visible & ~surplus, snapshot)
                best, pool = np.concatenate([best, following]), np.concatenate([pool, np.setdiff1d(following, pool)])
            if first is not None:
                reranked = self._reranker.look(best, first, snapshot, context, degraded)
                fused.replace(best, reranked.contributions)
                calibration = calibration.with_unknown(reranked.unknown)
                rivals = len(best) - len(following)
                weighed = self._validity.contributions(best, rivals, when, recall.as_of, kept, snapshot, zone)
                validity[visible] = weighed.min(initial=0.0)  # what is not among the best passes none of them by it
                validity[best] = weighed
            if "answer" in recall.signals:
                told = self._answers.contributions(
                    best, asks.query, asked_terms, fused.contributions(best), visible, snapshot, when
                )
                answer[visible] = told.min(initial=0.0)
                answer[best] = told
            if "use" in recall.signals:
                by_use = when.kind == "any"  # what was of use once need not hold now, nor then
                gained = self._nights.added(best, recall.as_of, by_use=by_use) / calibration.slope
                use[visible] = gained.min(initial=0.0)
                use[best] = gained
            speaking = fused.scores > 0
            if found is not None:
                speaking |= ~np.isnan(found.best)  # meaning speaks for all it knows: the nearest, however far
            speaking &= ranked
            total = fused.scores + answer + validity + use
            before = total.copy()
            if "answer" in recall.signals:
                about = total - np.minimum(answer, 0.0)
                nearest = best[np.argsort(-about[best], kind="stable")]
                remedies = self._answers.remedies(nearest, asks.query, visible & ~surplus, snapshot)
                pool = np.union1d(pool, lift_remedies(remedies, about, total, speaking))
            # What is lifted may pass others; these stand among each other as before.
            by_facts = when.kind != "before" and "validity" in recall.signals
            lifted, heirs = lift_all(
                self._index,
                kept,
                recall.as_of,
                total,
                speaking,
                visible,
                when.until_us,
                heirs=by_facts,
                now=when.kind == "now",
            )
            if when.kind == "before":
                heirs = lift_predecessors(self._index, kept, total, speaking, visible)
                lifted = np.union1d(lifted, heirs)
            ranked[heirs], surplus[heirs] = True, False
            pool = np.union1d(pool, lifted)
            order = pool[rank(total[pool], speaking[pool] & ranked[pool], said_at[pool], limit)]
            # what hardly holds may fit all the same, and what was of use fits no better
            fitting = (total - validity - use)[order[:1]]
            nothing_fits = not len(order) or calibration.probability(float(fitting[0])) < UNLIKELY

            def give(order: NDArray[np.int64]) -> tuple[list[Hit], int, int, list[str]]:
                shares = fused.contributions(order)
                shares |= {
                    name: one[order]
                    for name, one in (("answer", answer), ("validity", validity), ("use", use))
                    if one.any()
                }
                prior = (total - before)[order]
                copies = Copies(alike, surplus)
                groups = self._folder.fold(order, snapshot, recall.as_of, copies, by_day=bool(when.days))
                ranking = _Ranking(order, prior, shares, found, calibration)
                beside = BYTES_PER_TOKEN * ANSWER_TOKENS + sum(len(to_bytes(why)) for why in degraded)
                return self._hits(recall, k, snapshot, terms, groups, ranking, when.at_us, beside)

            hits, left_out, used, no_room = give(order)
            if len(hits) < k and len(order) == limit < MOST_FOLDED and not left_out:  # most of these say the same
                order = rank(total, speaking & ranked, said_at, MOST_FOLDED)
                hits, left_out, used, no_room = give(order)
            degraded += no_room
            candidates = self._candidates(snapshot, signals, order, found) if recall.trace else ()
        if recall.observe:
            unkept = recall.private or self._is_paused(context.clock.now_us())
            degraded += record_question(
                "recall", recall, recall.query, hits, context, unkept=unkept, unwritable=self._unwritable()
            )
        return Recalled(
            hits=tuple(hits),
            scope=recall.scope,
            scope_known=scope_known,
            searched=int(np.count_nonzero(visible)),
            used_tokens=used,
            left_out=left_out,
            nothing_fits=nothing_fits,
            degraded=tuple(degraded),
            held_on=when.held_on,
            said_near=said_near,
            candidates=candidates,
        )

    def _hits(
        self,
        recall: Recall,
        k: int,
        snapshot: Snapshot,
        terms: list[str],
        groups: Iterator[tuple[int, list[int]]],
        ranking: _Ranking,
        at_us: int,
        used: int,
    ) -> tuple[list[Hit], int, int, list[str]]:
        """The hits, how many had no room in the budget, the tokens of all, and why not even the best had room.

        The best is cut to what is left of the budget, and where that is too little, no worse one takes its place.

        Args:
            used: bytes of what is beside.
        """
        hits, no_room, about = list[Hit](), list[str](), set[frozenset[bytes]]()
        hit_bytes = min(self._hit_bytes, recall.hit_bytes or self._hit_bytes)
        left_out = 0
        most = None if recall.budget_tokens is None else BYTES_PER_TOKEN * recall.budget_tokens
        within = asked_scope_numbers(recall.scope, snapshot)
        calibration, place_of = ranking.calibration, {int(one): place for place, one in enumerate(ranking.order)}
        numbered = iter(enumerate(groups if most is None else islice(groups, k)))
        while some := list(islice(numbered, k - len(hits))):
            rows = self._index.columns.row[[position for _, (position, _) in some]].tolist()
            memories, linked = snapshot.load_memories(rows), self._index.links(rows, snapshot, recall.as_of, within)
            kept = read_replacements([] if recall.as_of is not None else rows, at_us, snapshot, terms)
            about |= kept.about
            for (number, (position, same)), row, memory, links in zip(some, rows, memories, linked, strict=True):
                if no_room:
                    left_out += 1
                    continue
                start = -1 if ranking.found is None else ranking.found.start_of_best(position)
                part, offset = excerpt(memory.data, hit_bytes, start, terms)
                place = place_of[position]
                evidence = {name: float(share[place]) for name, share in ranking.contributions.items()}
                if ranking.prior[place]:
                    evidence["prior"] = float(ranking.prior[place])
                why = {"base": calibration.intercept}
                why |= {name: calibration.slope * share for name, share in evidence.items()}
                score = calibration.probability(sum(evidence.values()))
                hit = make_hit(
                    memory,
                    part,
                    offset,
                    why,
                    links,
                    score,
                    self._folder.name(same, snapshot),
                    kept.replaced.get(row, ()),
                    kept.contradicts.get(row, ()),
                )
                if most is not None and (excess := used + sent_bytes(hit) - most) > 0:
                    room = fitting_length(part, len(memory.data), excess)
                    least = min(hit_bytes, _LEAST_EXCERPT_BYTES if number else _LEAST_BEST_BYTES)
                    if room < least:
                        left_out += 1
                        if not number:
                            needed = min(most + excess, most + least - room)
                            no_room.append(
                                "budget: The best memory has no room."
                                f" An excerpt of it takes {-(-needed // BYTES_PER_TOKEN)} tokens,"
                                f" all that is shown of it {-(-(most + excess) // BYTES_PER_TOKEN)}."
                            )
                        continue
                    part, offset = excerpt(memory.data, room, start, terms)
                    hit = msgspec.structs.replace(hit, data=part, start_byte=offset)
                used += sent_bytes(hit)
                hits.append(hit)
        return mark_newest(hits, about), left_out, -(-used // BYTES_PER_TOKEN) if hits else 0, no_room

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
