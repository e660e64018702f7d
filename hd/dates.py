"""Dates: any day of the calendar has its hypervector, and the nearer two days are, the more alike they are.

They are `mnemic.hd.levels.Levels` of four scales, a quarter of the bits each: a day's own, a week, two months, two
years.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.levels import Levels
from mnemic.hd.space import Space
from mnemic.hd.symbols import LONGEST

__all__ = ["DateEncoder"]


class DateEncoder:
    """Days of the Gregorian calendar, from the year 1 to 9999."""

    match: ClassVar[Literal["exact", "near", "meaning"]] = "near"
    _SCALES = (1, 7, 61, 730)
    """Days. Similarity is 0.71 at a day's distance, 0.47 at a week's, 0.36 at a month's and 0 beyond two years."""

    def __init__(self, space: Space, namespace: str) -> None:
        self._levels = Levels(space, namespace, self._SCALES)

    _FORM = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8})([T ][0-9:.,]+(Z|[+-][0-9:]+)?)?", re.IGNORECASE)
    """Python alone takes a week for its Monday, and any letter for the T."""

    @classmethod
    def canonical(cls, filler: str) -> str:
        """The day as ``2026-05-01``; of a moment its day, in UTC where it names a zone.

        Raises:
            ValueError: it is none.
        """
        try:
            if not cls._FORM.fullmatch(filler.strip()):
                raise ValueError
            moment = datetime.fromisoformat(filler.strip())
            return (moment.astimezone(UTC) if moment.tzinfo else moment).date().isoformat()
        except (ValueError, OverflowError):
            raise ValueError(f"a day is expected, as in 2026-05-01, not {filler[:LONGEST]!r}") from None

    def encode(self, fillers: Sequence[str]) -> NDArray[np.uint64]:
        """The hypervectors of days, ``(n, space.words) uint64``."""
        return self._levels.encode([date.fromisoformat(self.canonical(filler)).toordinal() for filler in fillers])
