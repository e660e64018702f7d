"""Level hypervectors: encodes numbers, hours, weekdays and dates so that near ones are similar.

A line has anchors, one at every `scale`, each a hypervector of its own. A place between two anchors takes each bit from
the one or the other, by a drawn order of the bits, and so many from the later one as it is on its way there. Two places
share what they took from the same anchor: their similarity falls in a straight line from 1 to 0 at a distance of one
scale, wherever they are, and stays 0 beyond. With several scales each has its own equal part of the bits, and the
similarity is their mean: small distances can be told apart, and large ones still be compared. Unlike a thermometer of
fixed ends (Rachkovskij et al. 2005, "Sparse binary distributed encoding of scalars"; torchhd's ``level``, of which
this is the form with anchors), it has no first and last level. On a circle, of hours or weekdays, the anchors come
round again. All of it is whole numbers: the bits are the same on any machine.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.codebook import MAX_NAME_CHARS, draw_hypervector, draw_ranks
from mnemic.hd.packing import pack
from mnemic.hd.space import Space

_MAX_CACHED_ANCHORS = 1024
"""Anchors that are kept: 1.3 MB. They are drawn again when they are needed again."""


class LevelCodebook:
    """The places of one line, or circle."""

    def __init__(self, space: Space, namespace: str, scales: Sequence[int], period: int = 0) -> None:
        """Divide the bits among the scales.

        Args:
            namespace: of what the places are; those of two namespaces have nothing to do with each other.
            scales: how far from each other the anchors are, positive.
            period: how long the circle is, a multiple of each scale and at least twice it; 0 is a line.

        Raises:
            ValueError: the scales do not fit.
        """
        if not scales or min(scales) < 1 or any(period % scale or period == scale for scale in scales):
            raise ValueError(f"scales must be positive, and parts of the period {period}, not {tuple(scales)}")
        self._space, self._namespace, self._scales, self._period = space, namespace, tuple(scales), period
        order = draw_ranks(space, namespace)
        starts = [space.dimensions * part // len(scales) for part in range(len(scales) + 1)]
        self._sizes = np.diff(starts).tolist()
        self._scale_of_bit = np.searchsorted(starts, order, side="right") - 1
        """Of each bit, which scale it is of."""
        self._counts = np.min_scalar_type(max(self._sizes))  # of 16 bits, as a rule, which is thrice as fast as of 64
        self._switch_rank = (order - np.array(starts)[self._scale_of_bit]).astype(self._counts)
        """Of each bit, how many of its scale are taken from the later anchor before it is."""
        self._masks = [pack(self._scale_of_bit == part) for part in range(len(scales))]
        self._anchors: dict[tuple[int, int], NDArray[np.uint64]] = {}

    def encode(self, places: Sequence[int]) -> NDArray[np.uint64]:
        """The hypervectors of places, ``(n, space.words) uint64``."""
        codes = np.zeros((len(places), self._space.words), np.uint64)
        for code, place in zip(codes, places, strict=True):
            taken = np.zeros(len(self._scales), self._counts)
            later = np.zeros_like(code)
            for part, (scale, size) in enumerate(zip(self._scales, self._sizes, strict=True)):
                anchor, beyond = divmod(place, scale)
                code |= self._anchor(part, anchor)
                if beyond:
                    taken[part] = beyond * size // scale
                    later |= self._anchor(part, anchor + 1)
            if taken.any():
                code ^= (code ^ later) & pack(self._switch_rank < taken.take(self._scale_of_bit))
        return codes

    def similarities(self, places: Sequence[int], place: int) -> NDArray[np.float64]:
        """How similar the hypervectors of places are to that of one, but for chance: ``(n,)``, 0 to 1."""
        apart = np.abs(np.array(places, np.int64) - place)
        if self._period:
            apart = np.minimum(apart % self._period, -apart % self._period)
        near = np.maximum(0.0, 1 - apart[:, None] / np.array(self._scales))
        return np.asarray(near @ np.array(self._sizes, np.float64) / sum(self._sizes))

    def _anchor(self, part: int, index: int) -> NDArray[np.uint64]:
        """The bits of one scale of an anchor; the others are not set."""
        scale = self._scales[part]
        if self._period:
            index %= self._period // scale
        found = self._anchors.get((part, index))
        if found is None:
            if len(self._anchors) >= _MAX_CACHED_ANCHORS:
                self._anchors.clear()
            drawn = draw_hypervector(self._space, self._namespace, f"{scale} {index}")
            found = self._anchors[part, index] = drawn & self._masks[part]
        return found


class LevelEncoder(ABC):
    """Fillers that have a place on a line, or on a circle."""

    match: ClassVar[Literal["exact", "near", "meaning"]] = "near"
    _SCALES: ClassVar[tuple[int, ...]]
    _PERIOD: ClassVar[int] = 0

    def __init__(self, space: Space, namespace: str) -> None:
        self._levels = LevelCodebook(space, namespace, self._SCALES, self._PERIOD)

    @classmethod
    @abstractmethod
    def canonical(cls, filler: str) -> str:
        """A filler in the one form in which it is kept.

        Raises:
            ValueError: it is none.
        """

    def encode(self, fillers: Sequence[str]) -> NDArray[np.uint64]:
        """The hypervectors of fillers, ``(n, space.words) uint64``."""
        return self._levels.encode([self._position(self.canonical(filler)) for filler in fillers])

    def similarities(self, fillers: Sequence[str], filler: str) -> NDArray[np.float64]:
        """How similar the hypervectors of canonical fillers are to that of one, but for chance: ``(n,)``, 0 to 1."""
        return self._levels.similarities([self._position(one) for one in fillers], self._position(filler))

    @classmethod
    @abstractmethod
    def _position(cls, canonical: str) -> int:
        """Where a canonical filler stands."""


class NumberEncoder(LevelEncoder):
    """Numbers, by their magnitude: as near as their ratio is near 1. Negative ones and 0 have their place too."""

    _LEVELS_PER_DOUBLING = 256
    """Places to a doubling: whole numbers below 370 have bits of their own, larger ones share them within 0.3 %."""
    _SCALES = (1, 64, 256, 1024, 4096)
    """A fifth of the bits is each place's own; the others tell a quarter of a doubling, one, four and sixteen."""
    _MAX_MAGNITUDE = 10**15
    _DIGITS = Decimal("0.000001")

    @classmethod
    def canonical(cls, filler: str) -> str:
        """A number without needless digits, as in ``300`` or ``0.5``, rounded to a millionth.

        Raises:
            ValueError: it is no number, or beyond 10^15.
        """
        try:
            if "_" in filler:  # which Python alone takes for a part of a number
                raise InvalidOperation
            value = Decimal(filler.strip())
        except InvalidOperation:
            raise ValueError(f"a number is expected, such as 300, not {filler[:MAX_NAME_CHARS]!r}") from None
        if (
            not value.is_finite() or not -cls._MAX_MAGNITUDE <= value <= cls._MAX_MAGNITUDE
        ):  # `abs` overflows at 10^1000000
            raise ValueError(f"a number from -10^15 to 10^15 is expected, not {filler.strip()[:MAX_NAME_CHARS]!r}")
        value = value.quantize(cls._DIGITS).normalize()
        return f"{value or Decimal(0):f}"

    @classmethod
    def _position(cls, canonical: str) -> int:
        value = float(canonical)
        return round(math.copysign(cls._LEVELS_PER_DOUBLING * math.log2(1 + abs(value)), value))


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
            raise ValueError(f"an hour is from 0 to 23, as in 14, 14:30 or 2 pm, not {filler[:MAX_NAME_CHARS]!r}")
        return str(hour)

    @classmethod
    def _position(cls, canonical: str) -> int:
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
            raise ValueError(f"a day of the week is expected, as in monday or mon, not {filler[:MAX_NAME_CHARS]!r}")
        return found[0]

    @classmethod
    def _position(cls, canonical: str) -> int:
        return 2 * WEEKDAYS.index(canonical)


class DateEncoder(LevelEncoder):
    """Days of the Gregorian calendar, from the year 1 to 9999."""

    _SCALES = (1, 7, 61, 730)
    """Days. Similarity is 0.71 at a day's distance, 0.47 at a week's, 0.36 at a month's and 0 beyond two years."""

    _FORM = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8})([T ][0-9:.,]+(Z|[+-][0-9:]+)?)?", re.IGNORECASE)
    """Python alone takes a week for its Monday, and any letter for the T."""

    @classmethod
    def canonical(cls, filler: str) -> str:
        """The day as ``2026-05-01``; of a moment the day that it is written with.

        Raises:
            ValueError: it is none.
        """
        found = cls._FORM.fullmatch(filler.strip())
        try:
            if found is None:
                raise ValueError
            return datetime.fromisoformat(filler.strip()).date().isoformat()
        except (ValueError, OverflowError):
            if found is not None:
                raise ValueError(f"there is no such {'time' if found[2] else 'day'}") from None
            raise ValueError(f"a day is expected, as in 2026-05-01, not {filler[:MAX_NAME_CHARS]!r}") from None

    @classmethod
    def _position(cls, canonical: str) -> int:
        return date.fromisoformat(canonical).toordinal()
