"""The time that a recall asks for: by its parameters, by the days that the question names, or by what came later.

Part of `mnemic.actors.recall.recaller`; the words are read in `mnemic.algorithms.knowledge.asked_time`.
"""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.query import question_words
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.kernel.times import Zone, day_end, day_of, local_day
from mnemic.actors.recall.messages import Recall
from mnemic.actors.recall.ranking.day_signal import days_in_question
from mnemic.algorithms.knowledge.asked_time import AskedTime, Predecessor, asked_time, asks_for_newest
from mnemic.algorithms.text.days import DateRange


class AskedWhen(NamedTuple):
    """The time that a recall asks for."""

    kind: AskedTime
    """Of which kind it is."""
    days: list[DateRange]
    """The days that count; one or more where it is of the kind ``day``."""
    until_us: float
    """World time, microseconds: what was said then or later tells of what came after; infinite unless a day is asked
    for."""
    now_us: int
    """World time, microseconds: what ``now`` is."""
    handover: bool
    """Whether it is what came before something: who tells of its end was asked as well."""
    newest: bool
    """Whether what holds now is asked for in so many words."""
    today: date
    """The day of whoever asks."""

    @property
    def at_us(self) -> int:
        """The world time that is asked for."""
        return self.now_us if math.isinf(self.until_us) else min(self.now_us, int(self.until_us))

    @property
    def held_on(self) -> str:
        """The day of which it is told what held, ISO 8601; of several the last; empty where none is asked for."""
        return min(self.today, self.days[-1].last).isoformat() if self.kind == "day" else ""

    @property
    def named_days(self) -> tuple[str, ...]:
        """The days, as a person may give them to a filter: ``2026-10-02``, ``2026-10-01..2026-10-31``."""
        return tuple("..".join(day.isoformat() for day in dict.fromkeys(span)) for span in self.days)


def read_asked_when(
    recall: Recall,
    predecessor: Predecessor | None,
    index: RecallIndex,
    visible: NDArray[np.bool_],
    now_us: int,
    zone: Zone,
    snapshot: Snapshot,
) -> AskedWhen:
    """The time that a recall asks for.

    Args:
        predecessor: what its question asks for, if that is what came before something that it names: then the day
            before that was first spoken of.
        visible: ``(n,)``: what is looked through.
        now_us: when it is asked, or as of when.
        zone: of whoever asks.
    """
    local_at, today = index.columns.local_at, local_day(now_us, zone)
    days = days_in_question(recall.query, today, local_at[visible], snapshot.languages())
    kind: AskedTime = "any"
    handover = False
    if "validity" in recall.signals:
        kind = asked_time(recall.query, names_days=bool(days))
        if recall.at is not None:
            days, kind = [DateRange(*2 * (local_day(recall.at, zone),))], "day"
        elif predecessor is not None and (first := _first_said(predecessor.successor, index, visible, snapshot)):
            day = day_of(first, 0) - timedelta(days=1)
            days, kind, handover = [DateRange(day, day)], "day", True
    until = day_end(days[-1].last, zone) if kind == "day" else math.inf
    return AskedWhen(kind, days, until, now_us, handover, kind == "now" and asks_for_newest(recall.query), today)


def _first_said(name: str, index: RecallIndex, visible: NDArray[np.bool_], snapshot: Snapshot) -> int:
    """When something was first spoken of, by the clock of who did, microseconds; 0 where nobody did."""
    words = question_words(name, snapshot, [])
    positions = np.flatnonzero(visible)
    held = index.words.holds([one.terms for one in words], positions)
    positions = positions[held.all(axis=0)] if len(words) else positions[:0]
    return int(index.columns.local_at[positions].min()) if len(positions) else 0
