"""We were here before: which earlier moments of sessions are like this one, what was done next there, and what helped.

A moment is a step with those before it (`mnemic.actors.shape.features`): what was done, to what, by which tool, how it
ended and with which error. An earlier one counts as much as it has of that, the rarer the more, and the less for each
step back; what it has otherwise costs rank, and not the answer. What came after it is read from its session.

Whether one failure is fixed as another was is told by the words of their errors, the rarer the more, and by the tool.
How probable that is was fitted to failures in real tools (docs/decisions/0025-we-were-here-before.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.log.queries import Columns
from mnemic.actors.recall.messages import Memory
from mnemic.actors.shape.fillers import Sample, ShapeSearch
from mnemic.actors.shape.messages import Answer
from mnemic.actors.shape.patterns import STEP_ROLES, THEN
from mnemic.actors.shape.queries import MOST_SHIFT, filler_term
from mnemic.algorithms.steps.fixes import MAX_STEPS, DoneStep, attempts
from mnemic.algorithms.steps.steps import call_line
from mnemic.hd.evidence import WRONG_CUE, cue_evidence
from mnemic.hd.query import sample_rows
from mnemic.hd.records import Pair

Floats = NDArray[np.float64]

DECAY = 0.75
"""A step counts so much of the one after it."""
SITUATION_ROLES = (*STEP_ROLES, "error")
"""What a moment is told by."""
MAX_SITUATIONS = 64
"""At most so many earlier moments are followed."""
LEAST_FIT = 0.3
"""A moment that has less of this one is not like it."""
LEAST_PROBABLE = 0.2
"""What helps less probably is not told."""
SHARPNESS = 4.0
"""A moment counts by this power of how much of this one it has."""
_BASE, _MAX_BASE_STEPS = 0.5, 256
"""What is done anywhere counts as one moment that has this much; of so many steps."""
_NEVER, _WORDS, _TOOL = -4.6, 6.9, 1.4
"""Log-odds that a failure is fixed as another was: of any two, what all words in common add, and the same tool."""
_LIKE = 0.3
"""From so probable on a failure is like one."""
_MAX_FOLLOWED = 32
"""At most so many failures are followed."""
_RIGHT = 1 - WRONG_CUE


class Situations(NamedTuple):
    """Earlier moments that are like one, `m` of them, the likest first."""

    place: NDArray[np.int64]
    """``(m,) int64``: their steps, among the records of steps."""
    fit: Floats
    """``(m,)``: how much of it each has, 0 to 1."""


class Fix(NamedTuple):
    """What helped against failures like one."""

    step: tuple[str, str, str]
    """Action, target and tool."""
    place: int
    """The record of the step, where the failure was likest."""
    worked: int
    """How often a failure like it was over after it."""
    tried: int
    """How often it was tried against such failures."""
    probability: float
    """How probable it is that it is over after it here, 0 to 1."""


def alike_situations(looking: ShapeSearch, pairs: Sequence[Pair], without: Sequence[int] = ()) -> Situations:
    """The moments looked through that are like one.

    Args:
        pairs: what it is told by, the step itself unshifted.
        without: records of steps that are none of them.
    """
    records, count = looking.index.records["step"], max(1, looking.reach_count("step"))
    total, whole = np.zeros(len(records.row)), 0.0
    for pair in dict.fromkeys(pairs):
        terms = [filler_term(one, pair.shift) for one in looking.numbers(pair)]
        having = records.among(records.having(terms), looking.reach)
        weight = DECAY**pair.shift * _evidence(max(1, len(having)) / count)
        total[having] += weight
        whole += weight
    total[list(without)] = 0.0
    fit = total / max(whole, 1e-9)
    places = records.among(np.flatnonzero(fit >= LEAST_FIT), looking.visible_memories)
    places = places[np.lexsort((-places, -np.round(fit[places], 6)))][:MAX_SITUATIONS]
    return Situations(places, fit[places])


def situation_pairs(looking: ShapeSearch, place: int) -> list[Pair]:
    """What the moment of a step is told by."""
    return [pair for _, pair in looking.pairs("step", place) if pair.role in SITUATION_ROLES]


class StepOrder:
    """The steps looked through, each conversation's in the order in which they were done."""

    def __init__(self, looking: ShapeSearch, columns: Columns) -> None:
        """Put them in order."""
        records, places = looking.index.records["step"], looking.visible("step")
        at = records.position[places]
        order = np.lexsort((records.row[places], columns.said_at[at], columns.session[at]))
        self._places, self._sessions = places[order], columns.session[at[order]]
        self._rank = np.full(len(records.row), -1, np.int64)
        self._rank[self._places] = np.arange(len(order))

    def of(self, session: int) -> NDArray[np.int64]:
        """The steps of a conversation, ``(s,) int64``."""
        first, last = np.searchsorted(self._sessions, [session, session + 1]).tolist()
        return np.asarray(self._places[first:last], np.int64)

    def following(self, place: int, most: int) -> NDArray[np.int64]:
        """The steps after one in its conversation, the nearest first, ``(f,) int64``."""
        rank = int(self._rank[place])
        after = slice(rank + 1, rank + 1 + most)
        return np.asarray(self._places[after][self._sessions[after] == self._sessions[rank]], np.int64)


def newest_step(looking: ShapeSearch, columns: Columns, memories: NDArray[np.bool_]) -> int | None:
    """The step of some memories that was done last; ``None`` where none has any."""
    records = looking.index.records["step"]
    places = records.visible(memories)
    if not len(places):
        return None
    return int(places[np.lexsort((records.row[places], columns.said_at[records.position[places]]))[-1]])


def done_steps(looking: ShapeSearch, places: NDArray[np.int64]) -> list[DoneStep]:
    """What is done at some steps."""
    told: list[dict[str, list[str]]] = [{} for _ in places]
    which, terms = looking.index.records["step"].terms_of(places)
    for role in SITUATION_ROLES:
        own = looking.index.of_role(role, terms)
        numbers = looking.term_names(terms[own])
        for place, name in zip(which[own].tolist(), numbers, strict=True):
            told[place].setdefault(role, []).append(name)
    return [
        DoneStep(
            action=one.get("action", [""])[0],
            target=one.get("target", [""])[0],
            tool=one.get("tool", [""])[0],
            outcome=one.get("outcome", [""])[0],
            errors=frozenset(name.lower() for name in one.get("error", ())),
        )
        for one in told
    ]


def alike_failures(looking: ShapeSearch, failed: DoneStep, without: Sequence[int] = ()) -> Situations:
    """The failures looked through that may be fixed as one was; `Situations.fit` is how probable that is of each.

    Args:
        failed: the one.
        without: records of steps that are none of them.
    """
    records = looking.index.records["step"]
    places = np.setdiff1d(looking.having("step", [Pair("outcome", "failed")]), np.array([*without], np.int64))
    which, terms = records.terms_of(places)
    own = looking.index.of_role("error", terms)
    # both columns once for each word of a failure, whichever of its names it stands in
    at, words = _words(looking, which[own], terms[own])
    asked = looking.index.words_of(failed.errors)
    if not len(at) or not len(asked):
        return Situations(places[:0], np.empty(0))
    counts = np.bincount(words, minlength=int(max(words.max(), asked.max())) + 1)
    weights = np.log1p(len(places) / np.maximum(1, counts))
    shared = np.bincount(at, weights[words] * np.isin(words, asked), len(places))
    either = np.bincount(at, weights[words], len(places)) + weights[asked].sum() - shared
    tools = [filler_term(one, 0) for one in looking.numbers(Pair("tool", failed.tool))] if failed.tool else []
    same = np.isin(places, records.having(tools)) if tools else np.zeros(len(places), np.bool_)
    odds = _NEVER + _WORDS * shared / either + _TOOL * same
    order = np.lexsort((-places, -np.round(odds, 6)))[:MAX_SITUATIONS]
    return Situations(places[order], 1 / (1 + np.exp(-odds[order])))


def _words(
    looking: ShapeSearch, which: NDArray[np.int64], terms: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The words of some terms' names, each once for each record: ``(u,) int64`` each, records and words.

    Args:
        which: ``(t,) int64``: of which record each term is.
        terms: ``(t,) uint32``.
    """
    numbers, place = np.unique(terms // (MOST_SHIFT + 1), return_inverse=True)
    words = looking.index.words_of_fillers(numbers.tolist(), looking.snapshot)
    sizes = np.array([len(one) for one in words], np.int64)
    ends = np.cumsum(sizes)
    spread = np.repeat(np.arange(len(place)), sizes[place])
    inside = np.arange(len(spread)) - np.repeat(np.cumsum(sizes[place]) - sizes[place], sizes[place])
    flat = np.concatenate([*words, np.empty(0, np.int64)])
    width = int(flat.max(initial=0)) + 1
    pairs = np.unique(which[spread].astype(np.int64) * width + flat[(ends - sizes)[place][spread] + inside])
    return pairs // width, pairs % width


def fixes(looking: ShapeSearch, order: StepOrder, failures: Situations) -> tuple[list[Fix], int]:
    """What helped against failures like one, the most probable first; and how many of them were followed.

    Each thing that was done counts once, by the odds of the likest failure that it was done against, beside one for
    something else: a failure that comes again before it is fixed says no more than once. What is counted for a reader
    are those alone that are like it.
    """
    tried: dict[tuple[str, str, str], dict[int, tuple[bool, float]]] = {}
    followed = alike = 0
    for place, fit in zip(failures.place.tolist(), failures.fit.tolist(), strict=True):
        if followed == _MAX_FOLLOWED:
            break
        places = np.concatenate([[place], order.following(place, MAX_STEPS)])
        steps = done_steps(looking, places)
        found = attempts(steps)
        followed += bool(found)
        alike += bool(found) and fit >= _LIKE
        for one in found:
            step = steps[one.place]
            ways = tried.setdefault((step.action, step.target, step.tool), {})
            ways.setdefault(int(places[one.place]), (one.worked, fit / (1 - fit)))  # the likest comes first
    total = 1 + sum(odds for ways in tried.values() for worked, odds in ways.values() if worked)
    told = []
    for key, ways in tried.items():
        helped = [place for place, (worked, _) in ways.items() if worked]
        if helped:
            probability = sum(odds for worked, odds in ways.values() if worked) / total
            counted = [worked for worked, odds in ways.values() if odds >= _LIKE / (1 - _LIKE)]
            counted = counted if any(counted) else [True]  # none is like it: the likest alone
            told.append(Fix(key, helped[0], sum(counted), len(counted), probability))
    return sorted(told, key=lambda one: -one.probability), alike


def next_steps(looking: ShapeSearch, order: StepOrder, found: Situations) -> Sample:
    """What was done next in some moments, each counting as it is alike, and beside them what is done anywhere."""
    after = [order.following(place, 1) for place in found.place.tolist()]
    known = np.array([len(one) > 0 for one in after], np.bool_)
    places = np.array([one[0] for one in after if len(one)], np.int64)
    base = sample_rows(looking.visible("step"), _MAX_BASE_STEPS)
    weights = np.concatenate([found.fit[known] ** SHARPNESS, np.full(len(base), _BASE / max(1, len(base)))])
    supports = np.arange(len(weights)) < len(places)
    return Sample(np.concatenate([places, base]), weights / max(weights.sum(), 1e-9), supports)


def here_answers(looking: ShapeSearch, columns: Columns, now: int, found: Situations, k: int) -> list[Answer]:
    """What was done next in moments like one, and, where it is a failure, what helped.

    Args:
        now: the step that the moment is of.
    """
    order = StepOrder(looking, columns)
    (step,) = done_steps(looking, np.array([now]))
    (memory,) = looking.snapshot.load_memories([int(looking.index.records["step"].row[now])])
    line, ended = _line(memory), {"ok": ", which ended well", "failed": ", which failed"}.get(step.outcome, "")
    here = Answer(role=HERE, filler=f"{line}{ended}", confidence=1.0, support=1, memories=(memory.id,))
    told = [here, *looking.answers("step", THEN, next_steps(looking, order, found), k)]
    if step.outcome != "failed":
        return told
    helped, _ = fixes(looking, order, alike_failures(looking, step, [now]))
    fixed = [_fix_answer(looking, one) for one in helped[:k] if one.probability >= LEAST_PROBABLE]
    return [here, *fixed, *told[1:]]


def _line(memory: Memory) -> str:
    return call_line(memory.tool or "", memory.data.decode("utf-8", "replace"), memory.files)


def _fix_answer(looking: ShapeSearch, fix: Fix) -> Answer:
    """What helped, in the words of the call that did where the failure was likest."""
    (memory,) = looking.snapshot.load_memories([int(looking.index.records["step"].row[fix.place])])
    return Answer(
        role=HELPED,
        filler=_line(memory),
        confidence=fix.probability,
        support=fix.tried,
        worked=fix.worked / fix.tried,
        worked_of=fix.tried,
        memories=(memory.id,),
    )


HERE, HELPED = "here", "helped"
"""The roles under which is told which moment it is, and what fixed a failure."""


def _evidence(share: float) -> float:
    return float(cue_evidence(np.ones(1), np.array([share]), _RIGHT)[0])
