"""Dates: any day of the calendar has its hypervector, and the nearer two days are, the more alike they are.

They are `mnemic.hd.levels` of four scales, a quarter of the bits each: a day's own, a week, two months, two
years.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

from mnemic.hd.levels import LevelEncoder
from mnemic.hd.symbols import LONGEST

__all__ = ["DateEncoder"]


class DateEncoder(LevelEncoder):
    """Days of the Gregorian calendar, from the year 1 to 9999."""

    _SCALES = (1, 7, 61, 730)
    """Days. Similarity is 0.71 at a day's distance, 0.47 at a week's, 0.36 at a month's and 0 beyond two years."""

    _FORM = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8})([T ][0-9:.,]+(Z|[+-][0-9:]+)?)?", re.IGNORECASE)
    """Python alone takes a week for its Monday, and any letter for the T."""

    @classmethod
    def canonical(cls, filler: str) -> str:
        """The day as ``2026-05-01``; of a moment its day, in UTC where it names a zone.

        Raises:
            ValueError: it is none.
        """
        found = cls._FORM.fullmatch(filler.strip())
        try:
            if found is None:
                raise ValueError
            moment = datetime.fromisoformat(filler.strip())
            return (moment.astimezone(UTC) if moment.tzinfo else moment).date().isoformat()
        except (ValueError, OverflowError):
            if found is not None:
                raise ValueError(f"there is no such {'time' if found[2] else 'day'}") from None
            raise ValueError(f"a day is expected, as in 2026-05-01, not {filler[:LONGEST]!r}") from None

    @classmethod
    def _place(cls, canonical: str) -> int:
        return date.fromisoformat(canonical).toordinal()
