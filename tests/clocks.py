"""A clock that tests move."""

from __future__ import annotations


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us
        self._start_us = now_us

    def now_us(self) -> int:
        """World time, microseconds since 1970 UTC."""
        return self._now_us

    def monotonic_s(self) -> float:
        """Seconds since this clock was made."""
        return (self._now_us - self._start_us) / 1e6

    def advance(self, seconds: float) -> None:
        """Move it forward by so many seconds."""
        self._now_us += round(seconds * 1e6)
