"""Finds the records that match a structural query, and what fills the roles that it asks for.

What is exact, and what fills a role, is looked up; hypervectors tell how near the meaning that a record holds is, and
what a set has in common. Between `mnemic.hd`, which knows arrays, and `mnemic.actors.shape.shape_recall`, which knows
messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.shape.about import TextQuery
from mnemic.actors.shape.file_names import one_name_a_file, without_last_parts
from mnemic.actors.shape.messages import Answer, RolesListed, RoleView
from mnemic.actors.shape.patterns import AFTER, SESSION, STEP_ROLES, THEN
from mnemic.actors.shape.queries import MOST_SHIFT, filler_term
from mnemic.actors.shape.questions.community_role import COMMUNITY, community_role, topics_of_records
from mnemic.actors.shape.shape_index import FillerTable, ShapeIndex, merge_case
from mnemic.hd.codebook import draw_hypervector
from mnemic.hd.encoders import match_kind
from mnemic.hd.evidence import MIN_SIMILARITY, expected_weights
from mnemic.hd.query import TEMPERATURE, Matches, best_matches, match_weights, sample_rows
from mnemic.hd.records import Pair, prototype, typicality
from mnemic.hd.roles import ROLES, Tier

Floats = NDArray[np.float64]

_TIE_TOLERANCE = 0.02
"""Probabilities that differ by less than this are alike."""
_MAX_PROTOTYPE_RECORDS = 2048
"""Of more records the prototype is that of a sample, and the typical ones are of it."""
_MAX_READ_RECORDS = 512
"""At most so many records are read for an answer."""
MOST_SPELT = 16_384
"""Of more fillers of a role the most frequent are compared by their letters: each takes as much memory as a record."""
MAX_MATCHES = 4096
"""At most so many matches are found."""
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
        reach: NDArray[np.bool_] | None = None,
    ) -> None:
        """Look through some memories.

        Args:
            memories: ``(n,) bool``: which.
            within: numbers of the scopes in which memories may be named beside them; ``None`` for all.
            reach: ``(n,) bool``: the memories of these scopes, whether they are looked through or not.
        """
        assert index.encoders is not None
        self.index, self.snapshot, self.encoders = index, snapshot, index.encoders
        self.visible_memories = memories
        """``(n,) bool``: which memories are looked through."""
        self.reach = memories if reach is None else reach
        """``(n,) bool``: the memories of the scopes asked for."""
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

    def reach_count(self, tier: Tier) -> int:
        """How many records the scopes asked for have."""
        if self.within is None:
            return self.index.records[tier].alive_count
        return len(self.index.records[tier].visible(self.reach))

    def items(self, role: str) -> FillerTable:
        """The fillers of a role: what memories of the scopes asked for have, so that no other is named."""
        return self.index.items(role, self.snapshot, self.within)

    def numbers(self, pair: Pair) -> list[int]:
        """The numbers that the filler of a pair is known by; none where no memory has it."""
        return self.snapshot.filler_numbers(pair.role, str(pair.filler))

    def spelt_like(self, pair: Pair) -> Floats:
        """How alike the fillers of a role are spelt to that of a pair, in the order of `items`: ``(c,)``, 0 to 1."""
        items = self.items(pair.role)
        if len(items.names) > MOST_SPELT:
            count = len(items.names)
            self.warn(f"{pair.role}: of its {count} fillers the {MOST_SPELT} most frequent were compared by letters")
        alike = np.zeros(len(items.names))
        alike[:MOST_SPELT] = self.index.spelt_like(pair.role, items.names[:MOST_SPELT], str(pair.filler))
        return alike

    def knows(self, pair: Pair) -> bool:
        """Whether a memory of the scopes asked for has a filler in a role, whichever its record is."""
        numbers = self.numbers(pair)
        if self.within is None or not numbers:
            return bool(numbers)
        return any(
            len(records.among(records.having([filler_term(one, shift) for one in numbers]), self.reach))
            for records in self.index.records.values()
            for shift in range(MOST_SHIFT + 1)
        )

    def find(
        self,
        tier: Tier,
        exact: Sequence[Pair],
        near: Sequence[Pair] = (),
        texts: Sequence[TextQuery] = (),
        most: int = MAX_MATCHES,
    ) -> Matches:
        """The records that have what is exact, the nearest first to what is near, and to texts."""
        places = self.having(tier, exact)
        columns = [np.ones(len(places)) for _ in exact]
        columns += [self.near(tier, one, places) for one in near]
        columns += [one.nearness(self.index.records[tier].position[places]) for one in texts]
        return best_matches(places, np.array(columns).reshape(len(columns), len(places)).T, most)

    def having(self, tier: Tier, pairs: Sequence[Pair], memories: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """The records looked through, or of some memories, that have all of some pairs, ``(m,) int64``, ascending."""
        if not pairs:
            return self.visible(tier)
        records = self.index.records[tier]
        postings = [
            records.having([filler_term(one, pair.shift) for one in self.numbers(pair)])
            for pair in dict.fromkeys(pairs)
        ]
        found, *others = sorted(postings, key=len)
        for other in others:  # both ascend, so that none has to be sorted
            if len(other):
                found = found[other[np.minimum(np.searchsorted(other, found), len(other) - 1)] == found]
        return records.among(found, self.visible_memories if memories is None else memories)

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

    def sample_memories(self, tier: Tier, matches: Matches) -> Sample:
        """The records that memories have in a tier, to be read for answers; they match by their episodes."""
        episodes, records = self.index.records["episode"], self.index.records[tier]
        first = slice(_MAX_READ_RECORDS)
        best = Matches(matches.row[first], matches.nearness[first], matches.shares[first])
        weight = np.zeros(len(self.visible_memories))
        weight[episodes.position[best.row]] = match_weights(best)
        places = self.visible(tier)
        places = places[weight[records.position[places]] > _TIE_TOLERANCE][:_MAX_READ_RECORDS]
        meant = weight[records.position[places]]
        order = np.argsort(-meant, kind="stable")
        return Sample(places[order], expected_weights(meant[order]), meant[order] > _MIN_SUPPORT_PROBABILITY)

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
        vectors = self.index.vectors(tier, self.snapshot)[places]
        strengths = self._strengths(tier, places)
        common = self._prototype(vectors, strengths) if common is None else common
        typical = np.maximum(least, typicality(common, vectors, self.index.algebra))
        order = np.lexsort((-places, -typical))
        matches = Matches(places[order], typical[order], typical[order][:, None])
        read = sample_rows(np.arange(len(places)), _MAX_READ_RECORDS, 0)
        weights = np.full(len(read), 1 / max(1, len(read)))
        return matches, Sample(places[read], weights, np.ones(len(read), np.bool_))

    def answers(self, tier: Tier, role: str, sample: Sample, k: int) -> list[Answer]:
        """What fills a role of the records sampled, the most confident first."""
        well = self._worked(sample) if tier == "step" and role in (THEN, *STEP_ROLES) else None
        if role == THEN:
            having = self._step_phrases(sample)
        elif role == COMMUNITY:
            having = topics_of_records(self.snapshot, self.index.records[tier].row[sample.indices])
        else:
            having = self.fill(tier, role, sample)
        if role == "file":
            having = one_name_a_file(having, sample.weights)
        confidence = {name: float(sample.weights @ probability) for name, probability in having.items()}
        first = {name: _first(probability) for name, probability in having.items()}
        # of equal ones that of the best memory: what is told first of several roles then goes together where it can
        best = sorted(having, key=lambda name: (-round(confidence[name], _DIGITS), first[name], name))
        if role == "file":
            best = without_last_parts(best, confidence, _TIE_TOLERANCE)
        found = [self._answer(tier, role, name, sample, having[name], well) for name in best[:k]]
        read = [one for one in found if one.support]
        told = [one for one in read if one.confidence >= _MIN_CONFIDENCE]
        if read and not told:
            self.warn(f"{role}: nothing that fills it is as probable as {100 * _MIN_CONFIDENCE:g} %")
        return told

    def fill(self, tier: Tier, role: str, sample: Sample, shift: int = 0) -> dict[str, Floats]:
        """Of each filler that records sampled have in a role, 1 for the records that have it, ``(m,) float64``."""
        which, terms = self.index.records[tier].terms_of(sample.indices)
        own = self.index.of_role(role, terms, shift)
        which, numbers = which[own], terms[own] // (MOST_SHIFT + 1)
        known, place_of = np.unique(numbers, return_inverse=True)
        named = merge_case(self.snapshot.named_fillers(known.tolist()))
        column = {number: place for place, (_, same, _) in enumerate(named) for number in same}
        has = np.zeros((len(named), len(sample.indices)))
        has[np.array([column[number] for number in known.tolist()], np.int64)[place_of], which] = 1.0
        return {name: own for (name, _, _), own in zip(named, has, strict=True)}

    def pairs(self, tier: Tier, place: int) -> list[tuple[int, Pair]]:
        """The pairs of a record that have a name, each with its term."""
        terms = self.index.records[tier].terms_of(np.array([place]))[1].tolist()
        named = self.snapshot.named_fillers([term // (MOST_SHIFT + 1) for term in terms])
        names = {one.number: one.name for one in named}
        return [
            (term, Pair(self.index.role_of(number), names[number], shift))
            for term in terms
            for number, shift in (divmod(term, MOST_SHIFT + 1),)
            if number in names  # a filler that went with a memory that was forgotten, until that is bound anew
        ]

    def term_names(self, terms: NDArray[np.uint32]) -> list[str]:
        """What each of some terms is called; ``""`` where a filler went with a memory that was forgotten."""
        numbers = (terms // (MOST_SHIFT + 1)).tolist()
        names = {one.number: one.name for one in self.snapshot.named_fillers(list(dict.fromkeys(numbers)))}
        return [names.get(number, "") for number in numbers]

    def share(self, tier: Tier, pair: Pair, sample: Sample) -> float:
        """How many of the records sampled have a pair, as a share, each counting its weight."""
        having = self.index.records[tier].having([filler_term(one, pair.shift) for one in self.numbers(pair)])
        return float(sample.weights @ np.isin(sample.indices, having))

    def _step_phrases(self, sample: Sample) -> dict[str, Floats]:
        """The steps themselves, each told in words: what was done, to what or by what, and how it ended."""
        words: list[list[str]] = [[] for _ in sample.indices]
        for role in STEP_ROLES:
            for name, has in self.fill("step", role, sample).items():
                for place in np.flatnonzero(has).tolist():
                    told = words[place]
                    if role != "tool" or (len(told) < 2 and name not in told):  # what it was done to says more
                        told.append(name)
        phrases = [" ".join(one) for one in words]
        return {one: np.array([each == one for each in phrases], np.float64) for one in dict.fromkeys(phrases) if one}

    def _worked(self, sample: Sample) -> tuple[Floats, Floats]:
        """Of each step sampled, 1 where things were well after it; and where they were not."""
        found, none = self.fill("step", "worked", sample), np.zeros(len(sample.indices))
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

    def near(self, tier: Tier, asked: Pair, places: NDArray[np.int64]) -> Floats:
        """How near some records are to a filler that is matched by nearness, ``(m,)``, 0 to 1."""
        items, records = self.items(asked.role), self.index.records[tier]
        alike = self.encoders.similarities(asked.role, items.names, str(asked.filler))
        near = np.zeros(len(records.row))
        for place in np.flatnonzero(alike > MIN_SIMILARITY).tolist():
            having = records.having([filler_term(one, asked.shift) for one in items.numbers[place]])
            near[having] = np.maximum(near[having], alike[place])
        return near[places]

    def _strengths(self, tier: Tier, places: NDArray[np.int64]) -> Floats:
        """How strong the memory of each record is: the more often it was given, the stronger."""
        rows = self.index.records[tier].row[places]
        given = self.snapshot.delivery_counts(rows.tolist())
        return 1 + np.log2([1 + given.get(row, 0) for row in rows.tolist()])

    def _prototype(self, vectors: NDArray[np.uint64], strengths: Floats) -> NDArray[np.uint64]:
        return prototype(
            vectors, strengths, draw_hypervector(self.encoders.space, "tie", "prototype"), self.index.algebra
        )


def _first(probability: Floats) -> int:
    """The first record that probably has a filler; one after all of them, where none has."""
    has = probability > 0.5
    return int(has.argmax()) if has.any() else len(has)


_SAMPLES = 5
_AFTER_HELP = 'Only in questions: the steps before, oldest first, as in "edit, test failed"; three at most.'
_SESSION_HELP = "Only in questions, with ?: the conversation that had all of the pattern, in whichever memories."
_STEP_QUESTION_ROLES = (
    RoleView(name=AFTER, help=_AFTER_HELP, match="exact", decodes=False),
    RoleView(name=SESSION, help=_SESSION_HELP, match="exact", decodes=True),
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
            samples=tuple(one.name for one in snapshot.fillers(role.name)[:_SAMPLES]),
        )
        for role in ROLES.values()
    )
    bound, pending = snapshot.bound_counts(None, False)
    asked_only = (*_STEP_QUESTION_ROLES, community_role(snapshot))
    return RolesListed(roles=(*roles, *asked_only), bound=bound, pending=pending)
