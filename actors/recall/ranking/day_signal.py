"""The structural signal of a recall: how near to the days that a question names each memory was said.

Beside meaning and words in `mnemic.actors.recall.recaller`; below it stands `mnemic.algorithms.text.days`, which reads
questions. A question that names no day is answered as without it. The days are read off the column of times, so that
two minds of the same memories answer alike; hypervectors did as well
(docs/decisions/0011-structural-signal.md, docs/decisions/0014-latency.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.kernel.times import DAY_US, day_of
from mnemic.algorithms.text.days import DateRange, extract_dates
from mnemic.algorithms.text.languages.table import BY_CODE, DEFAULT
from mnemic.algorithms.text.terms import language_of

WEIGHT = 1.0
"""What it counts in a recall's score, where a cosine counts 2."""
_LONGEST_DAYS = 100  # a day of a longer span tells too little
_FAR_DAYS = 7  # so far from the days named, nothing is near them; a month does no better
_EPOCH = date(1970, 1, 1).toordinal()

Floats = NDArray[np.float64]


def days_in_question(
    question: str, today: date, local_at: NDArray[np.int64], languages: Sequence[str] = ()
) -> list[DateRange]:
    """The days that a question names, none longer than a season; none where nothing is looked through.

    Args:
        languages: codes of those that texts are of, beside the question's own and the default.
        today: of whoever asks: what ``yesterday`` is told from.
        local_at: ``(v,) int64``: when the memories that are looked through were said, each by its own clock.
    """
    if not len(local_at):
        return []
    known = [BY_CODE[code] for code in languages]
    spoken = dict.fromkeys((language_of(question, known), DEFAULT, *known))
    named = extract_dates(question, today, day_of(int(local_at.min()), 0), day_of(int(local_at.max()), 0), spoken)
    return [span for span in named if (span.last - span.first).days < _LONGEST_DAYS]


def day_nearness(spans: Sequence[DateRange], local_at: NDArray[np.int64]) -> Floats:
    """How near to the nearest of some days each memory was said, by the calendar of who said it.

    Args:
        spans: one or more, none longer than a season.
        local_at: ``(n,) int64``: when, microseconds since 1970, each by its own clock.

    Returns:
        ``(n,) float64``: 1 on the days, falling in a straight line to 0 at a week's distance.
    """
    day = local_at // DAY_US
    apart = np.full(len(day), _FAR_DAYS, np.int64)
    for span in spans:
        first, last = span.first.toordinal() - _EPOCH, span.last.toordinal() - _EPOCH
        np.minimum(apart, np.maximum(np.maximum(first - day, day - last), 0), out=apart)
    return 1.0 - apart / _FAR_DAYS
