"""How tests wait: for a condition, and never for a time to pass; one bound for all, which slow machines keep."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

BOUND_S = 240.0
"""How long a test waits for what has to come, at most."""


T = TypeVar("T")


def until(condition: Callable[[], T], pause_s: float = 0.005) -> T:
    """Wait for a condition that nothing signals; returns what it gave."""
    pause = threading.Event()
    for _ in range(round(BOUND_S / pause_s)):
        if given := condition():
            return given
        pause.wait(pause_s)
    raise AssertionError("it did not come to that")
