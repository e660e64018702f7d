"""Circular codes: hours of the day and days of the week, where the last is next to the first.

They are `mnemic.hd.levels` on a circle: opposite places have nothing in common.
"""

from __future__ import annotations

import re

from mnemic.hd.levels import LevelEncoder
from mnemic.hd.symbols import LONGEST

__all__ = ["WEEKDAYS", "HourEncoder", "WeekdayEncoder"]

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class HourEncoder(LevelEncoder):
    """Hours of the day, ``0`` to ``23``."""

    _SCALES, _PERIOD = (1, 4, 12), 24
    """Hours. A third of the bits is each hour's own, so that neighbours are told apart at cleanup."""
    _FORM = re.compile(r"([0-9]{1,2})(?::[0-5][0-9]){0,2} ?(am|pm)?")

    @classmethod
    def canonical(cls, filler: str) -> str:
        """The hour of ``14``, ``14:30`` or ``2 pm``, as ``14``.

        Raises:
            ValueError: it is none.
        """
        found = cls._FORM.fullmatch(" ".join(filler.lower().split()))
        hour = int(found[1]) if found else -1
        if found and found[2]:
            hour = hour % 12 + 12 * (found[2] == "pm") if 1 <= hour <= 12 else -1
        if not 0 <= hour <= 23:
            raise ValueError(f"an hour is from 0 to 23, as in 14, 14:30 or 2 pm, not {filler[:LONGEST]!r}")
        return str(hour)

    @classmethod
    def _place(cls, canonical: str) -> int:
        return int(canonical)


class WeekdayEncoder(LevelEncoder):
    """Days of the week, ``monday`` to ``sunday``."""

    _SCALES, _PERIOD = (2, 7), 14
    """Half days. Half of the bits is each day's own, so that neighbours are told apart at cleanup."""

    @classmethod
    def canonical(cls, filler: str) -> str:
        """The name of the day that is meant by at least its first three letters.

        Raises:
            ValueError: there is none.
        """
        name = filler.strip().lower()
        found = [day for day in WEEKDAYS if len(name) >= 3 and day.startswith(name)]
        if not found:
            raise ValueError(f"a day of the week is expected, as in monday or mon, not {filler[:LONGEST]!r}")
        return found[0]

    @classmethod
    def _place(cls, canonical: str) -> int:
        return 2 * WEEKDAYS.index(canonical)
