"""The structural signal of a recall: what was said near the days that a question names, read off the hypervectors.

Beside meaning and words in `mnemic.actors.recall.retriever`; below it stand `mnemic.algorithms.text.days`, which reads
questions, and `mnemic.actors.shape.shape_index`, which holds the records. A question that names no day is answered as
without it.

The days named are bundled, bound to the role ``date`` and compared with every episode: what that role's likeness loses
with distance is how near a memory was said. Which roles help ordinary recall, and which do not, was measured:
docs/decisions/0011-structural-signal.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.protocol.snapshot import Columns
from mnemic.actors.protocol.times import day_of
from mnemic.actors.shape.shape_index import ShapeIndex
from mnemic.algorithms.text.days import DateRange, extract_dates
from mnemic.algorithms.text.languages.table import BY_CODE, DEFAULT
from mnemic.algorithms.text.terms import language_of
from mnemic.hd.algebra import Algebra
from mnemic.hd.codebook import draw_hypervector
from mnemic.hd.encoders import RecordEncoder
from mnemic.hd.evidence import estimate_similarity

WEIGHT = 1.0
"""What it counts in a recall's score, where a cosine counts 2."""
_ROLE = "date"
_LONGEST_DAYS = 100  # of more days each is too little like their bundle
_BUNDLED_DAYS = 32
_FAR_DAYS = 30  # so far from the days named, nothing is near them
_ERRORS = 2.0  # standard errors by which what was said on the very day may look farther
_LEAST_ROOM = 0.1  # between near and far; where noise leaves less, nothing can be read

Floats = NDArray[np.float64]


def days_in_question(
    question: str, now_us: int, said_at: NDArray[np.int64], languages: Sequence[str] = ()
) -> list[DateRange]:
    """The days that a question names, none longer than a season; none where nothing is looked through.

    Args:
        languages: codes of those that texts are of, beside the question's own and the default.
        now_us: what ``yesterday`` is told from, microseconds.
        said_at: ``(v,) int64``: when the memories that are looked through were said, microseconds.
    """
    if not len(said_at):
        return []
    known = [BY_CODE[code] for code in languages]
    spoken = dict.fromkeys((language_of(question, known), DEFAULT, *known))
    named = extract_dates(question, day_of(now_us), day_of(int(said_at.min())), day_of(int(said_at.max())), spoken)
    return [span for span in named if (span.last - span.first).days < _LONGEST_DAYS]


def day_nearness(
    spans: Sequence[DateRange], memory: ShapeIndex, columns: Columns, visible: NDArray[np.bool_]
) -> Floats:
    """How near to the nearest of some days each memory was said.

    Args:
        spans: one or more, none longer than a season.
        memory: as of the same snapshot as the columns.
        visible: ``(n,) bool``: the memories that are looked through.

    Returns:
        ``(n,) float64``: 1 on the days, 0 from a month's distance; NaN where a memory has no hypervector yet, or is not
        visible.
    """
    scores = np.full(len(columns.row), np.nan)
    episodes = memory.records["episode"]
    places = episodes.visible(visible)
    if memory.encoders is None or _ROLE not in memory.encoders.space.roles or not len(places):
        return scores
    asked, alikes, fars = zip(*(_bundle_days(span, memory.encoders, memory.algebra) for span in spans), strict=True)
    codes = episodes.codes
    distances = codes.distances(places, np.array(asked), memory.algebra)
    alike, error = estimate_similarity(distances, codes.pairs[places], codes.dimensions)
    alike, error = alike / np.array(alikes), error[:, None] / np.array(alikes)
    room = 1 - _ERRORS * error - np.array(fars)
    near = np.where(room > _LEAST_ROOM, (alike - np.array(fars)) / np.maximum(room, _LEAST_ROOM), 0.0)
    scores[episodes.position[places]] = np.clip(near, 0.0, 1.0).max(axis=1)
    return scores


def _bundle_days(span: DateRange, encoders: RecordEncoder, algebra: Algebra) -> tuple[NDArray[np.uint64], float, float]:
    """The bundle of some days, bound to the role; its mean likeness to them; and, as a part of that, to far ones."""
    count = (span.last - span.first).days + 1
    steps = np.unique(np.linspace(0, count - 1, min(count, _BUNDLED_DAYS)).round().astype(int))
    days = encoders.encode_fillers(_ROLE, [(span.first + timedelta(days=int(step))).isoformat() for step in steps])
    bundle = algebra.bundle(days, draw_hypervector(encoders.space, "tie", "days"))
    alike = float(algebra.similarity(days, bundle).mean())
    far = [_shift_day(span.first, -_FAR_DAYS), _shift_day(span.last, _FAR_DAYS)]
    away = algebra.similarity(encoders.encode_fillers(_ROLE, [day.isoformat() for day in far]), bundle)
    return bundle ^ encoders.role_vector(_ROLE), alike, float(away.max()) / alike


def _shift_day(day: date, days: int) -> date:
    """So many days later, or the calendar's end."""
    return date.fromordinal(min(max(day.toordinal() + days, 1), date.max.toordinal()))
