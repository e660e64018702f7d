"""Requests to the faces: each is logged, counted and timed, and its trace leads from here to the store.

Above stand the faces; below, every supervisor that is asked on behalf of a request puts its name before its traces.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from mnemic.actors.contract import Clock
from mnemic.actors.errors import MnemicError
from mnemic.runtime.engine import cause_of
from mnemic.runtime.post import ORIGIN

__all__ = ["RequestObserver", "Requests"]

_log = logging.getLogger("mnemic.requests")


class RequestObserver(Protocol):
    """Who counts requests; see `mnemic.runtime.metrics.Metrics`."""

    def requested(self, verb: str, outcome: str, took_s: float) -> None:
        """A face has answered a request: ``ok``, the code of the error, or ``failure``."""
        ...


class Requests:
    """The requests of one process. Any thread may use it."""

    def __init__(self, clock: Clock, observer: RequestObserver) -> None:
        """Count nothing yet."""
        self._clock = clock
        self._observer = observer
        self._numbers = itertools.count(1)
        self.touched_s = clock.monotonic_s()
        """Monotonic time at which somebody last wanted or got something."""

    @contextmanager
    def serving(self, verb: str, trace: str | None = None, *, idle: bool = False) -> Iterator[None]:
        """Held, in the thread that does the work, for as long as a request takes.

        Args:
            verb: one of the face's own; never what a caller sent.
            trace: the caller's own; one is made where there is none.
            idle: whether it is nobody's wish.
        """
        begun = self._clock.monotonic_s()
        if not idle:
            self.touched_s = begun
        name = trace or f"r{next(self._numbers)}"
        before = ORIGIN.set(f"{name}.")
        outcome = "ok"
        try:
            yield
        except MnemicError as error:
            outcome = error.code
            raise
        except BaseException as error:
            outcome = "failure"
            _log.error("%s failed: %s", verb, cause_of(error), extra={"trace": name})
            raise
        finally:
            ORIGIN.reset(before)
            now = self._clock.monotonic_s()
            if not idle:
                self.touched_s = now
            self._observer.requested(verb, outcome, now - begun)
            extra = {"trace": name, "took_ms": round(1e3 * (now - begun), 3), "code": outcome}
            _log.info("%s: %s", verb, outcome, extra=extra)
