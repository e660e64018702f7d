"""Searches hypervector records for a structural query and decodes the fillers of the roles it asks for.

Between `mnemic.hd`, which knows arrays, and `mnemic.actors.shape.shape_recall`, which knows messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.protocol.shape.messages import Answer, RolesListed, RoleView
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.actors.shape.about import AboutQuery
from mnemic.actors.shape.community_role import COMMUNITY, community_role, topics_of_records
from mnemic.actors.shape.features import STEPS_BACK
from mnemic.actors.shape.patterns import AFTER, STEP_ROLES, THEN
from mnemic.actors.shape.shape_index import MOST_FILLERS, FillerTable, ShapeIndex
from mnemic.hd.codebook import draw_hypervector
from mnemic.hd.encoders import match_kind
from mnemic.hd.evidence import KnownFillers, expected_weights
from mnemic.hd.query import (
    TEMPERATURE,
    FillerProbabilities,
    Matches,
    StructuralQuery,
    decode_fillers,
    find_matches,
    match_weights,
    sample_rows,
)
from mnemic.hd.records import Pair, nearest_candidates, prototype, typicality
from mnemic.hd.roles import ROLES, Tier

Floats = NDArray[np.float64]

_TIE_TOLERANCE = 0.02
"""Probabilities that differ by less than this are alike."""
_MAX_PROTOTYPE_RECORDS = 2048
"""Of more records the prototype is that of a sample, and the typical ones are of it."""
_MAX_READ_RECORDS = 512
"""At most so many records are read for an answer."""
_MAX_JUDGED_RECORDS = 1024
"""At most so many matches are found where it is asked what they are about: no noise hides one that is near."""
_MAX_PROPOSED_FILLERS = 128
"""So many fillers are proposed by what the records have in common, where there are too many to try all with all."""
_NEAR_ENOUGH = 0.5
"""What is at least so near to what was asked for is taken for what was meant."""
_MIN_SUPPORT_PROBABILITY = 0.05
"""A record less likely meant than this supports no answer."""
_MIN_CONFIDENCE = 0.005
"""What is less probable is no answer: people are shown two decimal places, and it would be 0.00."""
_MAX_SUPPORT_IDS = 5
_DIGITS = 6
"""Decimal places of a probability; what is beyond them is nothing that anybody could tell."""


class Sample(NamedTuple):
    """Records that are read, `m` of them."""

    indices: NDArray[np.int64]
    """``(m,) int64``: which of their tier."""
    weights: Floats
    """``(m,)``: how much each counts; together the probability that any is meant."""
    may_support: NDArray[np.bool_]
    """``(m,)``: which of them may support an answer."""


class ShapeSearch:
    """Looks through the records of some memories, as of one snapshot, which the shape memory has followed."""

    def __init__(
        self,
        index: ShapeIndex,
        snapshot: Snapshot,
        memories: NDArray[np.bool_],
        within: frozenset[int] | None = None,
    ) -> None:
        assert index.encoders is not None
        self.index, self.snapshot, self.encoders = index, snapshot, index.encoders
        self.visible_memories = memories
        """``(n,) bool``: which memories are looked through."""
        self.within = within
        """Numbers of the scopes in which memories may be named beside them; ``None`` for all."""
        self._visible: dict[Tier, NDArray[np.int64]] = {}
        self.degraded: list[str] = []
        """What did not take part, and why, one sentence each."""

    def warn(self, sentence: str) -> None:
        """Say what did not take part, once."""
        if sentence not in self.degraded:
            self.degraded.append(sentence)

    def visible(self, tier: Tier) -> NDArray[np.int64]:
        """The records looked through, ascending."""
        if tier not in self._visible:
            self._visible[tier] = self.index.records[tier].visible(self.visible_memories)
        return self._visible[tier]

    def items(self, role: str) -> FillerTable:
        """The item memory of a role: what memories of the scopes asked for have, so that no other is named."""
        return self.index.items(role, self.snapshot, self.within)

    # --- which records -----------------------------------------------------------------------------------------------

    def find(
        self, tier: Tier, exact: Sequence[Pair], near: Sequence[Pair] = (), about: AboutQuery | None = None
    ) -> Matches:
        """The records that have what is exact, the nearest first to what is near, and to what is asked about."""
        known = [self.items(role).count_of(str(filler)) for role, filler, _ in exact]
        priors = [self._priors(tier, one.role, np.array([count]))[0] for one, count in zip(exact, known, strict=True)]
        asked = StructuralQuery(
            self.encoders.encode_pairs(exact),
            np.array(priors, np.float64),
            self.encoders.encode_pairs(near),
            np.array([match_kind(one.role) == "meaning" for one in near], np.bool_),
            tuple(self._graded(tier, one, n) for n, one in enumerate(near) if is_graded(one.role)),
        )
        codes, algebra = self.index.records[tier].codes, self.index.algebra
        if about is None:
            return find_matches(codes, self.visible(tier), asked, algebra)

        def judge(places: NDArray[np.int64]) -> Floats:
            memories = self.index.records[tier].position[places]
            return about.nearness(
                memories, lambda lacking: about.projected_cosines(codes, places[lacking], self.encoders)
            )

        return find_matches(codes, self.visible(tier), asked, algebra, _MAX_JUDGED_RECORDS, judge)

    def sample_matches(self, matches: Matches, temperature: float = TEMPERATURE) -> Sample:
        """The matches that are read for answers: where too many match alike, some of them."""
        meant = match_weights(matches, temperature)
        order = np.argsort(-meant, kind="stable")
        order = order[meant[order] > _TIE_TOLERANCE / _MAX_READ_RECORDS]
        alike = meant[order] > meant[order[:1]] - _TIE_TOLERANCE
        order = (
            sample_rows(order[alike], _MAX_READ_RECORDS, 0)
            if np.count_nonzero(alike) > _MAX_READ_RECORDS
            else order[:_MAX_READ_RECORDS]
        )
        near = min(1.0, float(matches.nearness[order].max(initial=0.0)) / _NEAR_ENOUGH)
        return Sample(
            matches.row[order], near * expected_weights(meant[order]), meant[order] > _MIN_SUPPORT_PROBABILITY
        )

    def typical(
        self, tier: Tier, common: NDArray[np.uint64] | None = None, least: float = 0.0
    ) -> tuple[Matches, Sample]:
        """All records as one set: those first that are most like what the stronger have in common, and all to be read.

        Each counts the same for an answer, however strong: a confidence that rose by asking would be none.

        Args:
            common: what they are compared with, where it is not made of themselves, ``(w,) uint64``.
            least: how typical one is at least, 0 to 1: of 0 it is no hit.
        """
        places = sample_rows(self.visible(tier), _MAX_PROTOTYPE_RECORDS)
        vectors, strengths = self.index.records[tier].codes.join(places), self._strengths(tier, places)
        common = self._prototype(vectors, strengths) if common is None else common
        typical = np.maximum(least, typicality(common, vectors, self.index.algebra))
        order = np.lexsort((-places, -typical))
        ones = np.ones(len(order))
        matches = Matches(places[order], ones, typical[order], typical[order][:, None])
        read = sample_rows(np.arange(len(places)), _MAX_READ_RECORDS, 0)
        weights = np.full(len(read), 1 / max(1, len(read)))
        return matches, Sample(places[read], weights, np.ones(len(read), np.bool_))

    # --- what fills a role -------------------------------------------------------------------------------------------

    def answers(self, tier: Tier, role: str, sample: Sample, k: int) -> list[Answer]:
        """What fills a role of the records sampled, the most confident first."""
        well = self._worked_probabilities(sample) if tier == "step" and role in (THEN, *STEP_ROLES) else None
        if role == THEN:
            having = self._step_phrases(sample)
        elif role == COMMUNITY:
            having = topics_of_records(self.snapshot, self.index.records[tier].row[sample.indices])
        else:
            items, filled = self.fill(tier, role, sample)
            columns = zip(filled.candidate.tolist(), filled.probability.T, strict=True)
            having = {items.names[candidate]: probability for candidate, probability in columns}
        confidence = {name: float(sample.weights @ probability) for name, probability in having.items()}
        first = {name: _first(probability) for name, probability in having.items()}
        # of equal ones that of the best memory: what is told first of several roles then goes together where it can
        best = sorted(having, key=lambda name: (-round(confidence[name], _DIGITS), first[name], name))
        if role == "file":
            best = _without_last_parts(best, confidence)
        found = [self._answer(tier, role, name, sample, having[name], well) for name in best[:k]]
        read = [one for one in found if one.support]
        told = [one for one in read if one.confidence >= _MIN_CONFIDENCE]
        if read and not told:
            self.warn(f"{role}: nothing that fills it is as probable as {100 * _MIN_CONFIDENCE:g} %")
        return told

    def fill(self, tier: Tier, role: str, sample: Sample) -> tuple[FillerTable, FillerProbabilities]:
        """The item memory of a role, and how probable each of its fillers is in each record sampled."""
        items, codes = self.items(role), self.index.records[tier].codes
        if len(items.count_by_lowercase) > MOST_FILLERS:
            self.warn(
                f"{role}: of its {len(items.count_by_lowercase)} fillers only the {MOST_FILLERS} most frequent"
                " were compared"
            )
        proposed = None
        if len(items.names) > 2 * _MAX_PROPOSED_FILLERS and len(sample.indices) > 1:
            common = self._prototype(codes.join(sample.indices), np.maximum(sample.weights, np.finfo(float).tiny))
            proposed = nearest_candidates(common, items.codes, _MAX_PROPOSED_FILLERS, self.index.algebra)
        priors = self._priors(tier, role, items.counts)
        many = ROLES[role].many
        return items, decode_fillers(codes, sample.indices, items.codes, priors, many, self.index.algebra, proposed)

    def pair_probability(self, tier: Tier, pair: Pair, sample: Sample) -> float:
        """The probability that a record that is meant has a pair."""
        if match_kind(pair.role) == "near":  # a day is told only from the days beside it
            items, filled = self.fill(tier, pair.role, sample)
            column = [items.names[one] == pair.filler for one in filled.candidate.tolist()]
            return float((sample.weights @ filled.probability)[column].sum())
        prior = self._priors(tier, pair.role, np.array([self.items(pair.role).count_of(str(pair.filler))]))
        bound, codes = self.encoders.encode_pairs([pair]), self.index.records[tier].codes
        filled = decode_fillers(codes, sample.indices, bound, prior, True, self.index.algebra)
        return float((sample.weights @ filled.probability).sum())

    def prototype_of(self, tier: Tier, sample: Sample) -> NDArray[np.uint64]:
        """The prototype of the records sampled, ``(w,) uint64``."""
        return self._prototype(
            self.index.records[tier].codes.join(sample.indices),
            np.maximum(sample.weights, _TIE_TOLERANCE / _MAX_READ_RECORDS),
        )

    def _step_phrases(self, sample: Sample) -> dict[str, Floats]:
        """The steps themselves, each told in words: what was done, to what or by what, and how it ended.

        What is not told of a step it has not: that counts for how probable it is, too.
        """
        count = len(sample.indices)
        words: list[list[str]] = [[] for _ in range(count)]
        sure = np.ones(count)
        for role in STEP_ROLES:
            items, filled = self.fill("step", role, sample)
            if not len(filled.candidate):
                continue
            judged = filled.probability
            best = judged.argmax(axis=1)
            likely = judged[np.arange(count), best]
            none = (1 - judged).prod(axis=1) if ROLES[role].many else 1 - judged.sum(axis=1)
            for place in range(count):
                if role == "tool" and len(words[place]) > 1:  # what it was done to says more than by what
                    continue
                name = items.names[filled.candidate[best[place]]]
                if likely[place] <= 0.5:
                    sure[place] *= max(0.0, none[place])
                elif role != "tool" or name not in words[place]:  # a tool may be named as what it does
                    words[place].append(name)
                    sure[place] *= likely[place]
        told = [" ".join(one) for one in words]
        return {one: np.where([each == one for each in told], sure, 0.0) for one in dict.fromkeys(told) if one}

    def _worked_probabilities(self, sample: Sample) -> tuple[Floats, Floats]:
        """The probability of each step sampled that things were well after it, and that they were not."""
        items, filled = self.fill("step", "worked", sample)
        none = np.zeros(len(sample.indices))
        found = dict(zip((items.names[one] for one in filled.candidate), filled.probability.T, strict=True))
        return found.get("yes", none), found.get("no", none)

    def _answer(
        self, tier: Tier, role: str, filler: str, sample: Sample, having: Floats, well: tuple[Floats, Floats] | None
    ) -> Answer:
        counted = sample.weights * having
        order = np.argsort(-counted, kind="stable")
        order = order[(having[order] > 0.5) & sample.may_support[order]]
        rows = dict.fromkeys(
            self.index.records[tier].row[sample.indices[order]].tolist()
        )  # of one memory there may be several
        yes, no = (one[order] for one in well) if well is not None else (np.zeros(0), np.zeros(0))
        known = yes + no > 0.5
        worked = float((yes[known] / (yes + no)[known]).mean()) if known.any() else None
        return Answer(
            role=role,
            filler=filler,
            confidence=round(min(1.0, float(counted.sum())), _DIGITS),
            support=len(rows),
            worked=None if worked is None else round(worked, _DIGITS),
            worked_of=int(np.count_nonzero(known)),
            memories=tuple(self.snapshot.ids_of(list(rows)[:_MAX_SUPPORT_IDS])),
        )

    def _priors(self, tier: Tier, role: str, count: NDArray[np.int64]) -> Floats:
        """How probable it is that a record has a filler that so many memories have, before one looks.

        A step's memory counts for what the steps before it had, too, so up to four times in all: the sum would leave
        no room for a step that has none.
        """
        all_of_them = self.index.bound_count if "episode" in ROLES[role].tiers else len(self.index.records[tier].row)
        total = max(2.0, all_of_them * self.index.share(self.snapshot, self.within))
        times = 1 + STEPS_BACK if role in STEP_ROLES else 1
        return np.asarray(np.minimum(count / total, 1 - 1 / total) / times, np.float64)

    def _graded(self, tier: Tier, asked: Pair, column: int) -> KnownFillers:
        """The fillers that a role may have which is asked for by nearness."""
        items = self.items(asked.role)
        alike = self.encoders.similarities(asked.role, items.names, str(asked.filler))
        return KnownFillers(column, items.codes, self._priors(tier, asked.role, items.counts), alike)

    def _strengths(self, tier: Tier, places: NDArray[np.int64]) -> Floats:
        """How strong the memory of each record is: the more often it was given, the stronger."""
        rows = self.index.records[tier].row[places]
        given = self.snapshot.delivery_counts(rows.tolist())
        return 1 + np.log2([1 + given.get(row, 0) for row in rows.tolist()])

    def _prototype(self, vectors: NDArray[np.uint64], strengths: Floats) -> NDArray[np.uint64]:
        return prototype(
            vectors, strengths, draw_hypervector(self.encoders.space, "tie", "prototype"), self.index.algebra
        )


def is_graded(role: str) -> bool:
    """Whether it is decoded how near a record is: where it has but one filler."""
    return match_kind(role) == "near" and not ROLES[role].many


def _first(probability: Floats) -> int:
    """The first record that probably has a filler; one after all of them, where none has."""
    has = probability > 0.5
    return int(has.argmax()) if has.any() else len(has)


def _without_last_parts(names: Sequence[str], confidence: dict[str, float]) -> list[str]:
    """Files without names that are only the last part of a path that is told, too: both are bound of each file."""
    longer: dict[str, float] = {}
    for name in names:
        _, slash, last = name.rpartition("/")
        if slash:
            longer[last.lower()] = max(longer.get(last.lower(), 0.0), confidence[name])
    return [name for name in names if longer.get(name.lower(), 0.0) <= confidence[name] - _TIE_TOLERANCE or "/" in name]


_SAMPLES = 5
_AFTER_HELP = 'Only in questions: the steps before, oldest first, as in "edit, test failed"; three at most.'
_STEP_QUESTION_ROLES = (
    RoleView(name=AFTER, help=_AFTER_HELP, match="exact", decodes=False),
    RoleView(name=THEN, help="Only in questions: the step that followed.", match="exact", decodes=True),
)


def list_roles(snapshot: Snapshot) -> RolesListed:
    """Say what can be asked for."""
    counts = snapshot.filler_counts()
    roles = tuple(
        RoleView(
            name=role.name,
            help=role.help,
            match=match_kind(role.name),
            decodes=role.decodes,
            fillers=counts.get(role.name, 0),
            samples=tuple(name for name, _ in snapshot.fillers(role.name)[:_SAMPLES]),
        )
        for role in ROLES.values()
    )
    bound, pending = snapshot.bound_counts(None, False)
    asked_only = (*_STEP_QUESTION_ROLES, community_role(snapshot))
    return RolesListed(roles=(*roles, *asked_only), bound=bound, pending=pending)
