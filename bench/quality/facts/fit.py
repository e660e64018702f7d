"""Fits the numbers that recall weighs validity by, and says how they hold up where they were not fitted.

How often statements with each kind of cue assert something for good is counted in a file of quiet changes
(`mnemic.algorithms.knowledge.assertion.RATES`). How probably two statements fill one slot follows from pairs among the
first hits of its questions, and among those of LoCoMo's, none of whose turns replaces another: a logistic regression by
Newton's method (`mnemic.algorithms.knowledge.rivals.COEFFICIENTS`). Made lives judge. Another encoder needs other
coefficients: its cosines have another scale.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.recall.messages import Recall, Recalled
from mnemic.algorithms.knowledge.asked_time import asked_time
from mnemic.algorithms.knowledge.assertion import RATES, status
from mnemic.algorithms.knowledge.rivals import COEFFICIENTS, MAX_CHARS, pair_features, same_slot
from mnemic.bench.harness.homes import MIND_NAME, actors_of
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.quality.asking import RULES
from mnemic.bench.quality.facts.change_sets import Slot, made_lives, quiet_changes
from mnemic.bench.quality.question_sets import locomo_set
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader

_HITS = 30  # of a question
_LONGEST_CHARS = 800  # of a text that is fitted on: what is long, and replaces nothing, teaches what length tells
_BINS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
_RIDGE = 1e-3
_STEPS = 50
_ASSERTING = ("first", "change", "both", "in passing", "restated")
_LIVES = (1, 2, 3, 4)

Floats = NDArray[np.float64]


class _Pairs(NamedTuple):
    """Pairs of texts among the hits of some questions."""

    features: Floats
    """``(n, 3)``: as `pair_features` has them."""
    same: NDArray[np.bool_]
    """``(n,)``: whether both fill one slot."""
    given: Floats
    """``(n,)``: how probably they do, as recall has it."""


class _Question(NamedTuple):
    text: str
    scope: str


def fit_rows(changes: Path, locomo: Path) -> Iterator[Row]:
    """Rates, coefficients, and how well both hold.

    Raises:
        OSError: a file cannot be read.
        ValueError, KeyError: it holds something else.
    """
    yield from _rates(changes)
    of, talks = quiet_changes(changes, locomo), locomo_set(locomo)
    asked = [_Question(one.question, one.slot[0]) for one in of.questions if one.kind == "now"]
    present = [
        _Question(one.question, one.scope)
        for one in talks.questions
        if asked_time(one.question, names_days=False) == "now"
    ]
    fitted = [_pairs(of.turns, of.slots, asked, _LONGEST_CHARS), _pairs(talks.turns, {}, present, _LONGEST_CHARS)]
    features, same = (np.concatenate([one[place] for one in fitted]) for place in (0, 1))
    names = ("bias", "cosine", "squared", "length")
    about: Row = {"what": "coefficient of a pair", "pairs": len(same), "of one slot": int(same.sum())}
    found = _logistic(features, same)
    for name, one, used in zip(names, found, COEFFICIENTS, strict=True):
        yield about | {"of": name, "fitted": float(one), "in use": used}
    lives = made_lives(_LIVES)
    asked = [_Question(one.question, one.slot[0]) for one in lives.questions if one.kind == "now"]
    judged = _pairs(lives.turns, lives.slots, asked, MAX_CHARS)
    for low, high in pairwise(_BINS):
        some = (judged.given >= low) & (judged.given < high)
        if some.any():
            yield {
                "what": "pairs of made lives",
                "given_from": low,
                "given_to": high,
                "pairs": int(some.sum()),
                "given": float(judged.given[some].mean()),
                "true": float(judged.same[some].mean()),
            }


def _rates(changes: Path) -> Iterator[Row]:
    """How many statements of each status asserted something for good, by the rule of succession."""
    counted: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for world in json.loads(changes.read_bytes())["worlds"]:
        for one in world["statements"]:
            counted[one["label"]["kind"] in _ASSERTING][status(one["text"])] += 1
    for name, rate in RATES.items():
        asserted, others = counted[True][name], counted[False][name]
        yield {
            "what": "rate of a status",
            "status": name,
            "statements": asserted + others,
            "fitted": (asserted + 1) / (asserted + others + 2),
            "in use": rate,
        }


def _pairs(
    turns: Sequence[dict[str, Any]], slots: dict[str, Slot], asked: Sequence[_Question], most_chars: int
) -> _Pairs:
    """Capture turns, ask, and pair those of so many characters at most among the first hits of each question."""
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        home, corpus = Path(folder) / "home", Path(folder) / "corpus.jsonl"
        corpus.write_text("".join(json.dumps(turn) + "\n" for turn in turns), "utf-8")
        run_mnemic(home, "capture", corpus)
        with actors_of(home) as actors:
            hits = [_ask(actors.ask, one) for one in asked]
        mind, keys = open_mind(home, MIND_NAME)
        with closing(open_reader(mind.store, keys)) as reader, reader.snapshot() as snapshot:
            rows, vectors = snapshot.mean_vectors(snapshot.encoders()[-1], snapshot.memory_columns(0).row)
            memories = snapshot.load_memories(rows.tolist())
    known = {one.source_id or "": place for place, one in enumerate(memories)}
    lengths = np.array([len(one.text) for one in memories])
    numbers = {slot: number for number, slot in enumerate(dict.fromkeys(slots.values()))}
    slot_of = np.full(len(lengths), -1)
    for id, slot in slots.items():
        if id in known:
            slot_of[known[id]] = numbers[slot]
    features, same, given = [], [], []
    for found in hits:
        places = np.array([known[id] for id in found if id in known and lengths[known[id]] <= most_chars], np.int64)
        if len(places) < 2:
            continue
        cosines = vectors[places] @ vectors[places].T
        one, other = np.triu_indices(len(places), 1)
        features.append(np.stack([each[one, other] for each in pair_features(cosines, lengths[places])], axis=1))
        mine = slot_of[places]
        same.append((mine[one] == mine[other]) & (mine[one] >= 0))
        given.append(same_slot(cosines, lengths[places])[one, other])
    return _Pairs(np.concatenate(features), np.concatenate(same), np.concatenate(given))


def _ask(ask: Any, question: _Question) -> list[str]:
    """The first hits of a question, without the signal that is fitted."""
    signals = RULES["fused without validity"]
    answer = ask(Recall(query=question.text, k=_HITS, scope=question.scope, signals=signals, observe=False))
    assert isinstance(answer, Recalled)
    return [hit.source_id or "" for hit in answer.hits]


def _logistic(features: Floats, truth: NDArray[np.bool_]) -> Floats:
    """Bias and weights of a logistic regression, ``(1 + features,)``, by Newton's method with a small ridge.

    Features are brought to mean 0 and deviation 1 first, so that the ridge weighs all alike.
    """
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    rows = np.column_stack([np.ones(len(features)), (features - mean) / deviation])
    weights = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        given = 1.0 / (1.0 + np.exp(-rows @ weights))
        slope = rows.T @ (given - truth) / len(rows) + _RIDGE * weights
        curve = (rows.T * (given * (1 - given))) @ rows / len(rows) + _RIDGE * np.eye(len(weights))
        step = np.linalg.solve(curve, slope)
        weights -= step
        if np.abs(step).max() < 1e-9:
            break
    raw = weights[1:] / deviation
    fitted: Floats = np.concatenate([[weights[0] - (raw * mean).sum()], raw])
    return fitted
