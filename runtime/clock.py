"""The system clock; no other module reads the time, nor the zone that the machine is in."""

from __future__ import annotations

import time

_EARLIEST_S, _LATEST_S = -62_135_596_800, 253_402_300_799
"""The calendar's first and last second; before and after, the offset is the one of these."""


class SystemClock:
    """The machine's clocks."""

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
        time.tzset()  # a process lives on when its owner travels
        seconds = min(max(at_us // 1_000_000, _EARLIEST_S), _LATEST_S)
        return time.localtime(seconds).tm_gmtoff // 60
