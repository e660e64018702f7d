"""A clock that tests move."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from mnemic.actors.kernel.times import UTC_ZONE, Zone


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now_us: int, zone: Zone = UTC_ZONE) -> None:
        self._now_us = now_us
        self._start_us = now_us
        self._zone = zone

    def utc_offset_min(self, at_us: int) -> int:
        """Minutes east of UTC in the zone that it was made with."""
        return self._zone.utc_offset_min(at_us)

    def now_us(self) -> int:
        """World time, microseconds since 1970 UTC."""
        return self._now_us

    def monotonic_s(self) -> float:
        """Seconds since this clock was made."""
        return (self._now_us - self._start_us) / 1e6

    def advance(self, seconds: float) -> None:
        """Move it forward by so many seconds."""
        self._now_us += round(seconds * 1e6)


class NamedZone:
    """A zone of the IANA's list, by Python's own reading of it."""

    def __init__(self, name: str) -> None:
        self._info = ZoneInfo(name)

    def utc_offset_min(self, at_us: int) -> int:
        """Minutes east of UTC that its clocks show at a time."""
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)
        offset = moment.astimezone(self._info).utcoffset()
        assert offset is not None
        return offset // timedelta(minutes=1)
