"""The validity signal of a recall: whether each of its best still holds, or held at the time that is asked for.

Beside the others in `mnemic.actors.recall.retriever`, and of the same unit: what it adds to a score. It changes ranks
and stores nothing. Where facts changed in passing, an old statement is as near to the question as the new one, and so
is what was only planned; this signal weighs both by rates and by newer rivals (`mnemic.algorithms.knowledge.rivals`,
`mnemic.algorithms.knowledge.assertion`). A question that asks for no time is answered as without it. What a person
corrected stands above it: see `RetrieverActor`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.actors.protocol.times import day_of
from mnemic.actors.recall.day_signal import end_of_days
from mnemic.actors.recall.recall_index import RecallIndex
from mnemic.algorithms.knowledge.asked_time import AskedTime
from mnemic.algorithms.knowledge.assertion import Assertion, read_assertion
from mnemic.algorithms.knowledge.rivals import held_last, same_slot, still_holds
from mnemic.algorithms.retrieval.calibration import FULL
from mnemic.algorithms.text.days import DateRange

DAY_WEIGHT = 0.5
"""What a day named counts where a state is asked for, beside where an event is: what held that day was mostly said
earlier."""
_WEIGHTS: dict[AskedTime, float] = {"now": 0.6, "before": 0.3, "day": 0.5}  # of log-probabilities in the log-odds
_LATER = 1.0  # of the log-odds, what was said after the day asked for loses
_LEAST = 1e-3  # no probability counts as less
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
        asked: AskedTime,
        days: Sequence[DateRange],
        now_us: int,
        snapshot: Snapshot,
    ) -> Floats:
        """What it adds to the score of each candidate, ``(m,)``, 0 or less.

        Args:
            candidates: ``(m,)``: positions of memories.
            asked: the time that the question asks for; ``any`` adds 0 everywhere.
            days: those that it names; one or more where it asks for a day.
            now_us: what ``now`` is, microseconds.
            snapshot: which the index is as of.
        """
        if asked == "any" or not len(candidates):
            return np.zeros(len(candidates))
        columns = self._index.columns
        said_at = columns.said_at[candidates]
        known = self._read(columns.row[candidates].tolist(), said_at.tolist(), snapshot)
        day = None if asked == "before" else max(span.last for span in days) if asked == "day" else day_of(now_us)
        rates = [one.rate if day is None else one.rate_on(day) for one, _ in known]
        asserted = np.maximum(np.array(rates), _LEAST)
        lengths = np.array([length for _, length in known], np.int64)
        vectors = self._index.first_vectors(candidates).astype(np.float64)
        same = same_slot(vectors @ vectors.T, lengths)
        late = np.zeros(len(candidates))
        if asked == "before":
            fits = held_last(same, asserted, said_at)
        elif asked == "day":
            end = end_of_days(days)
            fits = still_holds(same, asserted, said_at, end)
            late[said_at >= end] = _LATER
        else:
            fits = still_holds(same, asserted, said_at)
        log = np.log(asserted) + np.log(np.maximum(fits, _LEAST))
        weighed: Floats = (_WEIGHTS[asked] * log - late) / FULL.slope
        return weighed

    def _read(self, rows: list[int], said_at: list[int], snapshot: Snapshot) -> list[tuple[Assertion, int]]:
        """How probably each memory asserts what it says, and how long its text is."""
        if snapshot.generation != self._generation or len(self._known) > _MOST_KNOWN:
            self._generation, self._known = snapshot.generation, {}
        unknown = {row: at for row, at in zip(rows, said_at, strict=True) if row not in self._known}
        texts = snapshot.text_starts(list(unknown), _MOST_BYTES, with_speaker=False)
        for (row, at), text in zip(unknown.items(), texts, strict=True):
            self._known[row] = read_assertion(text, day_of(at)), len(text)
        return [self._known[row] for row in rows]
