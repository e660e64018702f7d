"""The system clock; no other module reads the time."""

from __future__ import annotations

import time


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
