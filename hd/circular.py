"""Circular codes: hours of the day and days of the week, where the last is next to the first.

They are `mnemic.hd.levels.Levels` on a circle: opposite places have nothing in common.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.levels import Levels
from mnemic.hd.space import Space
from mnemic.hd.symbols import LONGEST

__all__ = ["WEEKDAYS", "HourEncoder", "WeekdayEncoder"]

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class HourEncoder:
    """Hours of the day, ``0`` to ``23``."""

    match: ClassVar[Literal["exact", "near", "meaning"]] = "near"
    _SCALES = (1, 4, 12)
    """Hours. A third of the bits is each hour's own, so that neighbours are told apart at cleanup."""
    _FORM = re.compile(r"([0-9]{1,2})(?::[0-5][0-9]){0,2} ?(am|pm)?")

    def __init__(self, space: Space, namespace: str) -> None:
        self._levels = Levels(space, namespace, self._SCALES, period=24)

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

    def encode(self, fillers: Sequence[str]) -> NDArray[np.uint64]:
        """The hypervectors of hours, ``(n, space.words) uint64``."""
        return self._levels.encode([int(self.canonical(filler)) for filler in fillers])


class WeekdayEncoder:
    """Days of the week, ``monday`` to ``sunday``."""

    match: ClassVar[Literal["exact", "near", "meaning"]] = "near"
    _SCALES = (2, 7)
    """Half days. Half of the bits is each day's own, so that neighbours are told apart at cleanup."""

    def __init__(self, space: Space, namespace: str) -> None:
        self._levels = Levels(space, namespace, self._SCALES, period=14)

    @staticmethod
    def canonical(filler: str) -> str:
        """The name of the day that is meant by at least its first three letters.

        Raises:
            ValueError: there is none.
        """
        name = filler.strip().lower()
        found = [day for day in WEEKDAYS if len(name) >= 3 and day.startswith(name)]
        if not found:
            raise ValueError(f"a day of the week is expected, as in monday or mon, not {filler[:LONGEST]!r}")
        return found[0]

    def encode(self, fillers: Sequence[str]) -> NDArray[np.uint64]:
        """The hypervectors of days, ``(n, space.words) uint64``."""
        return self._levels.encode([2 * WEEKDAYS.index(self.canonical(filler)) for filler in fillers])
