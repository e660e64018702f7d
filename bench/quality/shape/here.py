"""We were here before: what is done next, and what helps against a failure, told from what lies before each moment.

Each step of each session is held back with all that came after it, and asked for from the steps before. Beside the
product stand the most frequent step, a first-order Markov table, and hypervectors: each moment the bundle of its steps,
permuted once and weighing half for each step back, the likest found by one scan. The same vote counts for both.

What helps is judged on failures that were scripted in real tools (``tests/fixtures/failures``): a family is what is
mended by the same kind of step, and a proposal is right where it is a mend of a failure of the same family.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.brief.messages import Brief, Briefed, FailedCall
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.recall.messages import Memory
from mnemic.actors.shape.fillers import ShapeSearch
from mnemic.actors.shape.questions.situations import (
    DECAY,
    MAX_SITUATIONS,
    Situations,
    StepOrder,
    alike_failures,
    alike_situations,
    done_steps,
    fixes,
    next_steps,
    situation_pairs,
)
from mnemic.actors.shape.shape_index import ShapeIndex
from mnemic.algorithms.steps.fixes import DoneStep
from mnemic.bench.harness.homes import MIND_NAME
from mnemic.bench.harness.measure import Row, goal, quantiles
from mnemic.bench.harness.statistics import paired_test, wilson_interval
from mnemic.hd.codebook import draw_hypervector
from mnemic.hd.records import Pair
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader

Floats = NDArray[np.float64]
Coarse = tuple[str, str, str]
"""Action, target and tool of a step."""

_PRODUCT, _VECTORS, _MARKOV, _FREQUENT = "shape --here", "hypervectors", "Markov table", "most frequent"
_TOP_WEIGHT = 8  # of the newest step in a bundle


class _Moment(NamedTuple):
    place: int
    """The record of the step."""
    step: DoneStep
    """What is done at it."""
    after: Coarse | None
    """What is done next in its session; ``None`` at its end."""
    after_at: int
    """When that is done, microseconds."""


class Replay:
    """All steps of a mind, each with what lay before it; in use until it is closed."""

    def __init__(self, home: Path) -> None:
        folder, keys = open_mind(home, MIND_NAME)
        self._reader = open_reader(folder.store, keys)
        self._snapshots = self._reader.snapshot()
        self.snapshot = self._snapshots.__enter__()
        self.recall, self.shapes = RecallIndex(), ShapeIndex(keys.seed)
        self.recall.sync(self.snapshot, next(reversed(self.snapshot.encoders()), None))
        self.shapes.sync(self.snapshot, self.recall.columns)
        self.columns, self.records = self.recall.columns, self.shapes.records["step"]
        everything = ShapeSearch(self.shapes, self.snapshot, np.ones(len(self.columns.row), np.bool_))
        places = everything.visible("step")
        told = dict(zip(places.tolist(), done_steps(everything, places), strict=True))
        self.moments: list[_Moment] = []
        order = StepOrder(everything, self.columns)
        for session in dict.fromkeys(self.columns.session[self.records.position[places]].tolist()):
            own: list[int] = order.of(session).tolist()
            for place, after in zip(own, [*own[1:], None], strict=True):
                done = (None, 0) if after is None else (_coarse(told[after]), self.at(after))
                self.moments.append(_Moment(place, told[place], *done))
        self.moments.sort(key=lambda one: (self.at(one.place), one.place))
        self._vectors: dict[int, NDArray[np.uint64]] = {}

    def close(self) -> None:
        """Let go of the store."""
        self._snapshots.__exit__(None, None, None)
        self._reader.close()

    def at(self, place: int) -> int:
        """When a step was done, microseconds."""
        return int(self.columns.said_at[self.records.position[place]])

    def before(self, place: int) -> ShapeSearch:
        """What lay before a step."""
        return ShapeSearch(self.shapes, self.snapshot, self.columns.said_at < self.at(place))

    def memory(self, place: int) -> Memory:
        """The memory of a step."""
        return self.snapshot.load_memories([int(self.records.row[place])])[0]

    def brief(self, place: int, session: str) -> Brief:
        """What a host asks once a call failed, in a session of its own."""
        call = self.memory(place)
        rows = self.columns.row[self.columns.session == self.columns.session[self.records.position[place]]]
        result = next(
            one.data
            for one in self.snapshot.load_memories([int(row) for row in rows if row > self.records.row[place]])
            if one.kind == "tool_result"
        )
        failed = FailedCall(tool=call.tool or "", call=call.data, result=result, files=call.files)
        where = ScopeRef(path=call.scope, project=None, found="named")
        return Brief(occasion="tool-failed", place=where, assistant="bench", session=session, failed=failed)

    def by_vectors(self, looking: ShapeSearch, place: int) -> Situations:
        """The moments before one whose bundles are the likest to its own."""
        places = looking.visible("step")
        if not len(places):
            return Situations(places, np.empty(0))
        codes = np.stack([self._vector(looking, one) for one in places.tolist()])
        alike = np.maximum(0.0, self.shapes.algebra.similarity(codes, self._vector(looking, place)))
        order = np.lexsort((-places, -alike))[:MAX_SITUATIONS]
        return Situations(places[order], alike[order])

    def failures_by_vectors(self, looking: ShapeSearch, place: int) -> Situations:
        """The failures before one whose bundles are the likest to its own, each as probable as it is alike."""
        failed = looking.having("step", [Pair("outcome", "failed")])
        found = self.by_vectors(looking, place)
        own = np.isin(found.place, failed)
        return Situations(found.place[own], np.clip(found.fit[own], 0.0, 0.99))

    def _vector(self, looking: ShapeSearch, place: int) -> NDArray[np.uint64]:
        """The moment of a step as one hypervector, ``(w,) uint64``."""
        if place not in self._vectors:
            pairs = situation_pairs(looking, place)
            weights = np.array([round(_TOP_WEIGHT * DECAY**pair.shift) for pair in pairs], np.int32)
            tie = draw_hypervector(looking.encoders.space, "tie", "situation")
            self._vectors[place] = self.shapes.algebra.bundle(looking.encoders.encode_pairs(pairs), tie, weights)
        return self._vectors[place]


def _coarse(step: DoneStep) -> Coarse:
    return step.action, step.target, step.tool


# --- the next step ---------------------------------------------------------------------------------------------------


def next_rows(home: Path, of: str) -> Iterator[Row]:
    """How often the next step is the one proposed, by each way, over all steps of a mind but the first few."""
    with closing(Replay(home)) as replay:
        ways: dict[str, list[tuple[Coarse | None, float]]] = {
            name: [] for name in (_PRODUCT, _VECTORS, _MARKOV, _FREQUENT)
        }
        wanted: list[Coarse] = []
        counts: Counter[Coarse] = Counter()
        table: dict[tuple[str, ...], Counter[Coarse]] = {}
        pending: list[_Moment] = []
        for moment in replay.moments:
            now = replay.at(moment.place)
            for one in [one for one in pending if one.after_at < now]:  # what came after it is known by now
                pending.remove(one)
                assert one.after is not None
                counts[one.after] += 1
                table.setdefault(_key(one.step), Counter())[one.after] += 1
            if moment.after is None:
                continue
            pending.append(moment)
            if not counts:
                continue
            looking = replay.before(moment.place)
            found = alike_situations(looking, situation_pairs(looking, moment.place))
            ways[_PRODUCT].append(_vote(replay, looking, found))
            ways[_VECTORS].append(_vote(replay, looking, replay.by_vectors(looking, moment.place)))
            known = table.get(_key(moment.step))
            ways[_MARKOV].append(_most(known or counts))
            ways[_FREQUENT].append(_most(counts))
            wanted.append(moment.after)
        right = {
            name: np.array([got == want for (got, _), want in zip(given, wanted, strict=True)], np.float64)
            for name, given in ways.items()
        }
        for name, given in ways.items():
            sure = np.array([confidence for _, confidence in given])
            row: Row = {"what": "next", "of": of, "by": name, "steps": len(wanted), "right": float(right[name].mean())}
            told = sure >= 0.5
            row["told"] = float(told.mean())
            row |= {"right_of_told": float(right[name][told].mean())} if told.any() else {}
            row["brier"] = float(np.mean((sure - right[name]) ** 2))
            if name != _PRODUCT:
                row["here_minus_this"], row["p"] = paired_test(right[_PRODUCT], right[name], seed=1, rounds=4_000)
            yield row


def _key(step: DoneStep) -> tuple[str, ...]:
    return (*_coarse(step), step.outcome)


def _most(counts: Counter[Coarse]) -> tuple[Coarse | None, float]:
    best, count = counts.most_common(1)[0]
    return best, count / counts.total()


def _vote(replay: Replay, looking: ShapeSearch, found: Situations) -> tuple[Coarse | None, float]:
    """What was done next in most of some moments, and in which part of them, each counting as it is alike."""
    sample = next_steps(looking, StepOrder(looking, replay.columns), found)
    votes: dict[Coarse, float] = {}
    for step, weight in zip(done_steps(looking, sample.indices), sample.weights.tolist(), strict=True):
        votes[_coarse(step)] = votes.get(_coarse(step), 0.0) + weight
    if not votes:
        return None, 0.0
    best = max(votes, key=lambda one: votes[one])
    return best, votes[best]


# --- what helps ------------------------------------------------------------------------------------------------------


class _Failure(NamedTuple):
    place: int
    """The record of the call that failed."""
    family: str
    """What fixes it."""
    half: str
    """``a``, ``b``, or neither of a failure that is the only one of its family."""
    fixes: tuple[int, ...]
    """The records of the calls that mended it."""
    precedent: bool
    """Whether one of its family lies in an earlier session."""


class _Proposal(NamedTuple):
    family: str
    """Of what is proposed, as it is labelled; ``""`` where that is no mend, and where nothing is proposed."""
    coarse: Coarse | None
    """The step proposed."""
    probability: float
    """How probable it is said to be that it helps; 0 where nothing is proposed."""


def read_failures(folder: Path, replay: Replay) -> list[_Failure]:
    """The labelled failures of a folder whose sessions were captured, in the order in which they happened.

    Raises:
        OSError: a file cannot be read.
        ValueError: a label names no call that was captured.
    """
    line_of: dict[str, str] = {}
    for path in sorted((folder / "sessions").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            told = json.loads(line)
            content = told.get("message", {}).get("content")
            for part in content if isinstance(content, list) else ():
                if part.get("type") == "tool_use":
                    line_of[part["id"]] = told["uuid"]
    places = {replay.memory(one.place).source_id: one.place for one in replay.moments}
    found = []
    for label in json.loads((folder / "labels.json").read_text("utf-8")):
        calls = [label["failure"], *label["fix"]]
        missing = [call for call in calls if line_of.get(call) not in places]
        if missing:
            raise ValueError(f"{folder}: no call that was captured is {missing[0]}")
        failed, *fixes = (places[line_of[call]] for call in calls)
        found.append(_Failure(failed, label["family"], label["half"], tuple(fixes), label["precedent"]))
    return sorted(found, key=lambda one: (replay.at(one.place), one.place))


LEVELS = (0.0, 0.5, 0.7)
"""What is less probable is not proposed."""


def mend_rows(home: Path, folder: Path) -> Iterator[Row]:
    """How often what is proposed against a failure is of the kind that fixes it, by each way and half.

    Args:
        folder: labels, and the sessions that were captured into the home.

    Raises:
        OSError, ValueError: as `read_failures`.
    """
    with closing(Replay(home)) as replay:
        failures = read_failures(folder, replay)
        told = {_PRODUCT: [], _VECTORS: [], _MARKOV: [], _FREQUENT: []}  # type: dict[str, list[_Proposal]]
        family_of = {fix: one.family for one in failures for fix in one.fixes}
        step_of = {one.place: one.step for one in replay.moments}
        for failure in failures:
            looking = replay.before(failure.place)
            alike = alike_failures(looking, step_of[failure.place])
            for name, found in ((_PRODUCT, alike), (_VECTORS, replay.failures_by_vectors(looking, failure.place))):
                best = next(iter(fixes(looking, StepOrder(looking, replay.columns), found)[0]), None)
                told[name].append(
                    _Proposal("", None, 0.0)
                    if best is None
                    else _Proposal(family_of.get(best.place, ""), best.step, best.probability)
                )
            earlier = [one for one in failures if replay.at(one.place) < replay.at(failure.place)]
            same = [one for one in earlier if _coarse(step_of[one.place]) == _coarse(step_of[failure.place])]
            for name, known in ((_MARKOV, same), (_FREQUENT, earlier)):
                counts = Counter(_coarse(step_of[one.fixes[-1]]) for one in known)
                step, share = _most(counts) if counts else (None, 0.0)
                told[name].append(_Proposal("", step, share))
        steps = [_coarse(step_of[one.fixes[-1]]) for one in failures]
        for half in ("a", "b", "all"):
            own = np.array([half == "all" or one.half in (half, "") for one in failures])
            for name, proposals in told.items():
                yield from _mend_rows(half, name, failures, steps, proposals, own)


def _mend_rows(
    half: str,
    name: str,
    failures: Sequence[_Failure],
    steps: Sequence[Coarse],
    proposals: Sequence[_Proposal],
    own: NDArray[np.bool_],
) -> Iterator[Row]:
    """A row for each level of probability."""
    precedent = np.array([one.precedent for one in failures])[own]
    step_right = np.array([one.coarse == step for one, step in zip(proposals, steps, strict=True)])[own]
    right = np.array([one.family == failure.family for one, failure in zip(proposals, failures, strict=True)])[own]
    sure = np.array([one.probability for one in proposals])[own]
    for level in LEVELS:
        given = (sure > 0) & (sure >= level)
        row: Row = {"what": "mends", "half": half, "by": name, "level": level, "failures": int(own.sum())}
        row |= {"told": int(given.sum()), "step_precision": _share(step_right, given)}
        row["step_recall"] = float((step_right & given & precedent).sum() / max(1, precedent.sum()))
        if name in (_PRODUCT, _VECTORS):
            low, high = wilson_interval(int((right & given).sum()), int(given.sum()))
            row |= {"precision": _share(right, given), "low": low, "high": high}
            row["recall"] = float((right & given & precedent).sum() / max(1, precedent.sum()))
            row["brier"] = float(np.mean((sure - right)[given] ** 2)) if given.any() else math.nan
        yield row


def _share(right: NDArray[np.bool_], given: NDArray[np.bool_]) -> float:
    return float(right[given].mean()) if given.any() else math.nan


# --- what an assistant is told ---------------------------------------------------------------------------------------


def hint_rows(home: Path, folder: Path, actors: Supervisor) -> Iterator[Row]:
    """How long an assistant waits to be told what helped, once a call failed, and how long what it is told is."""
    with closing(Replay(home)) as replay:
        failures = read_failures(folder, replay)
        asked = [replay.brief(one.place, str(number)) for number, one in enumerate(failures)]
    taken, tokens = [], []
    for one in asked:
        started = perf_counter()
        answer = actors.ask(one)
        taken.append(1e3 * (perf_counter() - started))
        assert isinstance(answer, Briefed)
        tokens += [answer.tokens] if answer.text else []
    row: Row = {
        "what": "hints",
        "by": _PRODUCT,
        **quantiles(taken[1:]),
        **goal("p95_ms", quantiles(taken[1:])["p95_ms"], 20),
    }
    yield row | {"told": len(tokens), "tokens_most": max(tokens, default=0)}
