"""The system clock; no other module reads the time."""

from __future__ import annotations

import time


class SystemClock:
    """The machine's clocks."""

    def now_us(self) -> int:
        """World time, microseconds since 1970 UTC."""
        return time.time_ns() // 1000

    def monotonic_s(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()
