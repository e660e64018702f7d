"""Metrics: counters and latencies per actor and per verb, in the text that Prometheus reads.

The one module that imports prometheus_client; only the process that serves a home imports it. The registry is its own,
so that nothing of the host's or of another home's is in it. Labels are names of actors, messages, verbs and codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

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

from mnemic.runtime.reports import SocietyReport

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""What `Metrics.exposition` is."""

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)


class Metrics:
    """Counts for one process; an `Observer` for its supervisors. Any thread may use it."""

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
        self._societies = _Societies()
        registry.register(self._societies)
        ProcessCollector(registry=registry)

    def handled(self, actor: str, message: str, outcome: str, took_s: float) -> None:
        """See `mnemic.runtime.reports.Observer.handled`."""
        self._messages.labels(actor, message, outcome).inc()
        self._handling.labels(actor).observe(took_s)

    def restarted(self, actor: str) -> None:
        """See `mnemic.runtime.reports.Observer.restarted`."""
        self._restarts.labels(actor).inc()

    def buried(self, actor: str, message: str, reason: str) -> None:
        """See `mnemic.runtime.reports.Observer.buried`."""
        self._dead_letters.labels(actor, message, reason).inc()

    def requested(self, verb: str, outcome: str, took_s: float) -> None:
        """A face has answered a request.

        Args:
            verb: one of the face's own; never what a caller sent.
            outcome: ``ok``, or the code of the error.
        """
        self._requests.labels(verb, outcome).inc()
        self._latency.labels(verb).observe(took_s)

    def show(self, mind: str, report: Callable[[], SocietyReport]) -> None:
        """Show how a mind's society is, whenever somebody looks."""
        self._societies.reports[mind] = report

    def hide(self, mind: str) -> None:
        """Show a mind's society no more: it has stopped."""
        self._societies.reports.pop(mind, None)

    def exposition(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)


class _Societies(Collector):
    """What is looked up when somebody looks."""

    def __init__(self) -> None:
        self.reports: dict[str, Callable[[], SocietyReport]] = {}

    def collect(self) -> Iterator[Metric]:
        """Ask each society how it is."""
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
