"""What the stages of a recall hand on: gather, first pass, second look, weigh, lift, read again, fold,
render.

`mnemic.actors.recall.recaller` goes through them in this order. All arrays are by position in the index, ``(n,)`` for
all memories and ``(m,)`` for some.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.folding import Copies
from mnemic.actors.index.query import QuestionWord
from mnemic.actors.index.windows import Cosines
from mnemic.actors.log.queries import Columns
from mnemic.actors.recall.messages import Hit, Recall
from mnemic.actors.recall.ranking.asked_when import AskedWhen
from mnemic.actors.recall.ranking.day_signal import WEIGHT, day_nearness
from mnemic.actors.recall.ranking.replaced import Replacements
from mnemic.actors.recall.ranking.reranker import FirstPass
from mnemic.algorithms.retrieval.calibration import Calibration
from mnemic.algorithms.retrieval.fusion import FusedScores, SignalScores

_CANDIDATES_TRACED = 200

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Question(NamedTuple):
    """What is asked, and what is looked through: gathered."""

    recall: Recall
    """As it came, in the scope that it looks through."""
    asks: Recall
    """The same, with the question whose words and meaning count."""
    k: int
    """So many hits are wanted."""
    words: list[QuestionWord]
    """Of that question."""
    terms: frozenset[str]
    """What these may be kept under."""
    stems: list[str]
    """Their stems, whatever their language."""
    visible: Mask
    """``(n,)``: what is looked through."""
    when: AskedWhen
    """The time that is asked for."""

    @property
    def limit(self) -> int:
        """So many memories are ranked."""
        return max(4 * self.k, _CANDIDATES_TRACED)


class FirstLook(NamedTuple):
    """What the first pass found."""

    signals: list[SignalScores]
    """Each by itself."""
    first: FirstPass | None
    """What the second look goes on with; ``None`` where words or meaning do not take part."""
    found: Cosines | None
    """What meaning knows."""
    fused: FusedScores
    """The sum of the signals."""
    copies: Copies
    """What nights found to say the same."""
    shown: Mask
    """``(n,)``: what is looked through, without copies."""
    ranked: Mask
    """``(n,)``: the same without what was just asked; later with what facts lift."""
    pool: Ints
    """``(m,)``: the best, best first."""
    said_near: tuple[str, ...]
    """The days near to which it counts more."""


class SecondLook(NamedTuple):
    """What was looked at again."""

    best: Ints
    """``(m,)``: the best of the pool, and what follows those of them that ask."""
    rivals: int
    """So many of these, the first, are of the pool."""
    pool: Ints
    """The pool, with what follows."""
    kept: Replacements
    """What replaced statements of the best."""
    calibration: Calibration
    """Makes probabilities of scores."""


class Lifted(NamedTuple):
    """What is ranked in the end."""

    total: Floats
    """``(n,)``: scores."""
    before: Floats
    """``(n,)``: scores before anything was lifted."""
    may: Mask
    """``(n,)``: what may be a hit."""
    order: Ints
    """``(m,)``: the best of the pool, best first."""
    nothing_fits: bool
    """Whether nothing is likely to answer."""


class Rendered(NamedTuple):
    """The hits of a recall."""

    hits: list[Hit]
    """Best first."""
    left_out: int
    """So many had no room in the budget."""
    used_tokens: int
    """The tokens of all."""
    no_room: list[str]
    """Why not even the best had room."""


def day_signal(when: AskedWhen, columns: Columns, *, by_words_alone: bool) -> SignalScores:
    """Score memories by how near to the days that are named they were said, ``(n,)``."""
    near = day_nearness(when.days, columns.local_at)
    if when.kind != "any" and not by_words_alone:
        near[:] = 0.0  # what held that day was said at any time before
    near[columns.said_at >= when.until_us] = 0.0
    return SignalScores("structural", near, WEIGHT)


def spread(values: Floats, best: Ints, visible: Mask) -> Floats:
    """Give the best their values, and what else is visible the least of these, or 0 where that is less, ``(n,)``."""
    of_all = np.zeros(len(visible))
    if (least := values.min(initial=0.0)) < 0:
        of_all[visible] = least
    of_all[best] = values
    return of_all


def has_signal(scores: Floats, found: Cosines | None, ranked: Mask) -> Mask:
    """Tell of which of the ranked any signal says something, ``(n,)``."""
    scored: Mask = scores > 0
    if found is not None:
        scored |= ~np.isnan(found.best)  # meaning tells something of all it knows: the nearest, however far
    return scored & ranked


class Ranking(NamedTuple):
    """What a recall ranked, best first, `m` memories, as it is explained."""

    order: Ints
    """``(m,)``: positions."""
    prior: Floats
    """``(m,)``: what corrections take over from what they replace."""
    contributions: dict[str, Floats]
    """``(m,)`` for each signal."""
    found: Cosines | None
    """What meaning knows of them."""
    calibration: Calibration
    """Makes probabilities of the scores."""

    def explain(self, place: int) -> tuple[dict[str, float], float]:
        """What each signal adds to the log-odds of the one at a place, and how probably it answers."""
        evidence = {name: float(share[place]) for name, share in self.contributions.items()}
        if self.prior[place]:
            evidence["prior"] = float(self.prior[place])
        why = {"base": self.calibration.intercept}
        why |= {name: self.calibration.slope * share for name, share in evidence.items()}
        return why, self.calibration.probability(sum(evidence.values()))
