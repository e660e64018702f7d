"""Prometheus metrics of the server: counters and latencies per actor and per request.

The one module that imports prometheus_client; only the process that serves a home imports it. The registry is its own,
so that nothing of the host's or of another home's is in it. Labels are names of actors, messages, verbs and codes.

Requests to the faces: each is logged, counted and timed, and its trace leads from here to the store.

Above stand the faces; below, every supervisor that is asked on behalf of a request puts its name before its traces.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import MnemicError
from mnemic.runtime.engine.engine import safe_cause
from mnemic.runtime.engine.reports import ActorSystemReport, Observer
from mnemic.runtime.engine.router import TRACE_PREFIX
from mnemic.runtime.logs import outcome_level

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""What `Metrics.exposition` is."""

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)


class Metrics(Observer):
    """Counts for one process, for its supervisors too. Any thread may use it."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._messages = Counter(
            "mnemic_messages",
            "Messages handled; the outcome is ok, the code of an error, or failure.",
            ["actor", "message", "outcome"],
            registry=registry,
        )
        self._handling = Histogram(
            "mnemic_handling_seconds",
            "How long an actor handled a message.",
            ["actor"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._restarts = Counter(
            "mnemic_restarts", "Times an actor failed and was made anew.", ["actor"], registry=registry
        )
        self._dead_letters = Counter(
            "mnemic_dead_letters",
            "Messages that were told and not handled.",
            ["actor", "message", "reason"],
            registry=registry,
        )
        self._requests = Counter(
            "mnemic_requests", "Requests to the faces, by verb and outcome.", ["verb", "outcome"], registry=registry
        )
        self._latency = Histogram(
            "mnemic_request_seconds", "How long a request took, by verb.", ["verb"], buckets=_SECONDS, registry=registry
        )
        self._actor_systems = _ActorSystemCollector()
        registry.register(self._actor_systems)
        ProcessCollector(registry=registry)

    def handled(self, actor: str, message: str, outcome: str, took_s: float) -> None:
        """See `mnemic.runtime.engine.reports.Observer.handled`."""
        self._messages.labels(actor, message, outcome).inc()
        self._handling.labels(actor).observe(took_s)

    def restarted(self, actor: str) -> None:
        """See `mnemic.runtime.engine.reports.Observer.restarted`."""
        self._restarts.labels(actor).inc()

    def dead_lettered(self, actor: str, message: str, reason: str) -> None:
        """See `mnemic.runtime.engine.reports.Observer.dead_lettered`."""
        self._dead_letters.labels(actor, message, reason).inc()

    def request_finished(self, verb: str, outcome: str, took_s: float) -> None:
        """A face has answered a request.

        Args:
            verb: one of the face's own; never what a caller sent.
            outcome: ``ok``, or the code of the error.
        """
        self._requests.labels(verb, outcome).inc()
        self._latency.labels(verb).observe(took_s)

    def add_mind(self, mind: str, report: Callable[[], ActorSystemReport]) -> None:
        """Show how a mind's actor system is, whenever somebody looks."""
        self._actor_systems.reports[mind] = report

    def remove_mind(self, mind: str) -> None:
        """Show a mind's actor system no more: it has stopped."""
        self._actor_systems.reports.pop(mind, None)

    def exposition(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)


class _ActorSystemCollector(Collector):
    """What is looked up when somebody looks."""

    def __init__(self) -> None:
        self.reports: dict[str, Callable[[], ActorSystemReport]] = {}

    def collect(self) -> Iterator[Metric]:
        """Ask each actor system how it is."""
        labels = ["mind", "actor"]
        waiting = GaugeMetricFamily("mnemic_waiting", "Messages that wait for an actor.", labels=labels)
        quarantined = GaugeMetricFamily("mnemic_quarantined", "Whether an actor was set aside.", labels=labels)
        failures = CounterMetricFamily("mnemic_failures", "Failures of an actor.", labels=labels)
        idle = GaugeMetricFamily("mnemic_idle_seconds", "How long nobody has wanted anything.", labels=["mind"])
        for mind, ask in tuple(self.reports.items()):
            report = ask()
            idle.add_metric([mind], report.idle_s)
            for actor in report.actors:
                waiting.add_metric([mind, actor.actor], actor.waiting)
                quarantined.add_metric([mind, actor.actor], actor.quarantined)
                failures.add_metric([mind, actor.actor], actor.failures)
        yield from (waiting, quarantined, failures, idle)


_log = logging.getLogger("mnemic.requests")


class RequestTracker:
    """The requests of one process. Any thread may use it."""

    def __init__(self, clock: Clock, observer: Metrics) -> None:
        """Count nothing yet."""
        self._clock = clock
        self._observer = observer
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._running = 0
        self.last_activity_s = clock.monotonic_s()
        """Monotonic time at which somebody last wanted or got something."""

    def is_quiet(self, for_s: float) -> bool:
        """Whether nobody waits for an answer, nor has for some seconds: between two requests of one command."""
        with self._lock:
            return not self._running and self._clock.monotonic_s() - self.last_activity_s >= for_s

    @contextmanager
    def track_request(self, verb: str, trace: str | None = None, *, idle: bool = False) -> Iterator[None]:
        """Held, in the thread that does the work, for as long as a request takes.

        Args:
            verb: one of the face's own; never what a caller sent.
            trace: the caller's own; one is made where there is none.
            idle: whether it is nobody's wish.
        """
        begun = self._clock.monotonic_s()
        if not idle:
            self._count(1, begun)
        name = trace or f"r{next(self._numbers)}"
        before = TRACE_PREFIX.set(f"{name}.")
        outcome = "ok"
        try:
            yield
        except MnemicError as error:
            outcome = error.code
            raise
        except BaseException as error:
            outcome = "failure"
            _log.error("%s failed: %s", verb, safe_cause(error), extra={"trace": name})
            raise
        finally:
            TRACE_PREFIX.reset(before)
            now = self._clock.monotonic_s()
            if not idle:
                self._count(-1, now)
            self._observer.request_finished(verb, outcome, now - begun)
            extra = {"trace": name, "took_ms": round(1e3 * (now - begun), 3), "code": outcome}
            _log.log(outcome_level(outcome, now - begun), "%s: %s", verb, outcome, extra=extra)

    def _count(self, more: int, now_s: float) -> None:
        with self._lock:
            self._running += more
            self.last_activity_s = now_s
