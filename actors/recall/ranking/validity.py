"""The validity signal of a recall: whether each of its best still holds, or held at the time that is asked for.

Beside the others in `mnemic.actors.recall.recaller`, and of the same unit: what it adds to a score. It changes ranks
and stores nothing. Where facts changed in passing, an old statement is as near to the question as the new one, and so
is what was only planned; this signal weighs both by rates and by newer rivals (`mnemic.algorithms.knowledge.rivals`,
`mnemic.algorithms.knowledge.assertion`). A question that asks for no time is answered as without it. What a person
corrected stands above it: see `RetrieverActor`.
"""

from __future__ import annotations

import math
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.kernel.times import Zone, day_end, day_of, local_day
from mnemic.actors.recall.ranking.asked_when import AskedWhen
from mnemic.actors.recall.ranking.replaced import Replacements
from mnemic.algorithms.knowledge.asked_time import AskedTime
from mnemic.algorithms.retrieval.calibration import FULL

if TYPE_CHECKING:
    from mnemic.algorithms.knowledge.assertion import Assertion

_WEIGHTS: dict[AskedTime, float] = {"now": 0.6, "before": 0.3, "day": 0.5}  # of log-probabilities in the log-odds
_LATER = 1.0  # of the log-odds, what was said after the day asked for loses
_LEAST = 1e-3  # no probability counts as less
_LONG_BEFORE = 0.2  # how probably a text too long to have rivals tells what held before
_MOST_BYTES = 512  # of a text; what is longer has no rivals, and counts as asserted
_MOST_KNOWN = 50_000  # memories whose text is known to assert something or not

Floats = NDArray[np.float64]


class Validity:
    """Weighs the best of a recall by what still holds."""

    def __init__(self, index: RecallIndex) -> None:
        self._index = index
        self._generation = -1
        self._known: dict[int, tuple[Assertion, int]] = {}

    def contributions(
        self,
        candidates: NDArray[np.int64],
        rivals: int,
        when: AskedWhen,
        as_of: int | None,
        kept: Replacements,
        snapshot: Snapshot,
        zone: Zone,
    ) -> Floats:
        """What it adds to the score of each candidate, ``(m,)``, 0 or less.

        Args:
            candidates: ``(m,)``: positions of memories.
            rivals: so many of them, the first, may take the place of others; the rest only follows what asked.
            when: the time that is asked for; ``any`` adds 0 everywhere.
            as_of: the time as of which it is asked, if it is.
            kept: what is kept of the candidates: it goes before what the pair alone makes likely.
            snapshot: which the index is as of.
            zone: of whoever asks.
        """
        asked = when.kind
        if asked == "any" or not len(candidates):
            return np.zeros(len(candidates))
        # Here: to load what reads assertions takes as long as a recall that asks for no time.
        from mnemic.algorithms.knowledge.rivals import MAX_CHARS, held_last, same_slot, still_holds

        columns = self._index.columns
        said_at, scope = columns.said_at[candidates], columns.scope[candidates]
        days_said = [day_of(at, 0) for at in columns.local_at[candidates].tolist()]
        known = self._read(columns.row[candidates].tolist(), days_said, snapshot)
        today = local_day(when.now_us, zone)
        past = [one.last for one in when.days if one.first <= today]
        day = max(past, default=today) if asked == "day" else today
        read = [one if asked == "before" else one.on(day) for one, _ in known]
        asserted = np.maximum(np.array([one.rate for one in read]), _LEAST)
        takes = np.array([one.takes for one in read])
        end = day_end(day, zone) if asked == "day" else math.inf
        old, new = self._index.superseded(as_of)
        corrected = np.isin(candidates, old[columns.said_at[new] < end])
        takes[corrected] = 0.0
        takes[rivals:] = 0.0
        lengths = np.array([length for _, length in known], np.int64)
        vectors = self._index.first_vectors(candidates).astype(np.float64)
        same = same_slot(vectors @ vectors.T, lengths) * (scope[:, None] == scope[None, :])
        place = {row: number for number, row in enumerate(columns.row[candidates].tolist())}
        for one in (*kept.likely, *kept.successions):
            if one.older in place and one.successor in place:
                same[place[one.older], place[one.successor]] = one.probability
        for row, other in kept.apart:
            if row in place and other in place:
                same[place[row], place[other]] = same[place[other], place[row]] = 0.0
        if asked == "before":
            told = np.array([one.on(today).told_past for one, _ in known])
            long = np.where(lengths > MAX_CHARS, _LONG_BEFORE, 0.0)
            fits = np.maximum(held_last(same, takes, said_at) * asserted, np.maximum(told, long))
            late = np.zeros(len(candidates))
        else:
            fits = asserted * np.maximum(still_holds(same, takes, said_at, end), _LEAST)
            looks_back = np.array([one.looks_back_on(day) or (when.handover and one.hands_over) for one, _ in known])
            late = np.where((said_at >= end) & ~looks_back, _LATER, 0.0)
        weighed: Floats = (_WEIGHTS[asked] * np.log(np.maximum(fits, _LEAST)) - late) / FULL.slope
        weighed[corrected] = 0.0  # it lifts what corrects it, which nobody has to weigh
        return weighed

    def _read(self, rows: list[int], said_on: list[date], snapshot: Snapshot) -> list[tuple[Assertion, int]]:
        """How probably each memory asserts what it says, and how long its text is."""
        from mnemic.algorithms.knowledge.assertion import read_assertion

        if snapshot.generation != self._generation or len(self._known) > _MOST_KNOWN:
            self._generation, self._known = snapshot.generation, {}
        unknown = {row: day for row, day in zip(rows, said_on, strict=True) if row not in self._known}
        texts = snapshot.text_starts(list(unknown), _MOST_BYTES, with_speaker=False)
        for (row, day), text in zip(unknown.items(), texts, strict=True):
            self._known[row] = read_assertion(text, day), len(text)
        return [self._known[row] for row in rows]
