"""How tests wait: for a condition, and never for a time to pass; one bound for all, which slow machines keep."""

from __future__ import annotations

import threading
from collections.abc import Callable

BOUND_S = 240.0
"""How long a test waits for what has to come, at most."""


def until(condition: Callable[[], object], pause_s: float = 0.005) -> None:
    """Wait for a condition that nothing signals."""
    pause = threading.Event()
    for _ in range(round(BOUND_S / pause_s)):
        if condition():
            return
        pause.wait(pause_s)
    raise AssertionError("it did not come to that")
