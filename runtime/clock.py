"""The system clock; no other module reads the time, nor the zone that the machine is in."""

from __future__ import annotations

import os
import time

_EARLIEST_S, _LATEST_S = -62_135_596_800, 253_402_300_799
"""The calendar's first and last second; before and after, the offset is the one of these."""
_ZONE_S = 1.0
"""So long the zone that was read counts."""


class SystemClock:
    """The machine's clocks."""

    _zone_name: str | None = None
    _zone_until_s = 0.0

    def now_us(self) -> int:
        """World time, microseconds since 1970 UTC; 0 where the machine's clock stands before, as in the hook.

        Neither an id nor a record of the spool has room for a time before.
        """
        return max(0, time.time_ns() // 1000)

    def monotonic_s(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def utc_offset_min(self, at_us: int) -> int:
        """Minutes east of UTC that the machine's clock shows, or showed, at a time.

        The zone is the one that the machine, or the variable TZ, names now; it knows each switch of daylight saving.
        """
        name, now_s = os.environ.get("TZ"), time.monotonic()
        if name != self._zone_name or now_s >= self._zone_until_s:  # a process lives on when its owner travels
            time.tzset()  # 15 µs
            self._zone_name, self._zone_until_s = name, now_s + _ZONE_S
        seconds = min(max(at_us // 1_000_000, _EARLIEST_S), _LATEST_S)
        return time.localtime(seconds).tm_gmtoff // 60
