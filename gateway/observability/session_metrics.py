"""What Prometheus is told of the agents' sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gateway.observability.metering import Taken

_LABELS = ("persona", "program", "session")


@dataclass(frozen=True, slots=True)
class Load:
    """What one living session takes. session: stable, and tells nobody who it is with."""

    persona: str
    program: str
    session: str
    taken: Taken


@dataclass(frozen=True, slots=True)
class Counted:
    """The sessions at one moment. waiting: for a place; most: how many may live."""

    living: int = 0
    asleep: int = 0
    waiting: int = 0
    most: int = 0
    taken: Sequence[Load] = ()


class SessionMetrics(Collector):
    """now: the sessions as they are at this scrape; one that ended is not told any more."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.now = Counted()
        self._starts = Counter(
            "moot_session_starts",
            "Programs that got ready: fresh, or resumed with their conversation",
            ["program", "how"],
            registry=registry,
        )
        self._ends = Counter(
            "moot_session_ends",
            "Programs that were ended: idle and cap put a session to sleep",
            ["program", "why"],
            registry=registry,
        )
        registry.register(self)

    def started(self, program: str, *, resumed: bool) -> None:
        """A program is ready."""
        self._starts.labels(program, "resumed" if resumed else "fresh").inc()

    def ended(self, program: str, why: str) -> None:
        """A program is being ended."""
        self._ends.labels(program, why).inc()

    def collect(self) -> Iterator[Metric]:
        """The figures of this scrape."""
        now = self.now
        yield _gauge("moot_sessions", "Living agent sessions", now.living)
        yield _gauge("moot_sessions_asleep", "Put to sleep and not woken yet", now.asleep)
        yield _gauge("moot_sessions_waiting", "Wait until another may be put to sleep", now.waiting)
        yield _gauge("moot_sessions_most", "How many may live at the same time", now.most)
        memory = GaugeMetricFamily(
            "moot_session_memory_bytes", "Resident memory of a session's processes", labels=_LABELS
        )
        cpu = CounterMetricFamily(
            "moot_session_cpu_seconds", "CPU time of a session's processes", labels=_LABELS
        )
        for load in now.taken:
            labels = (load.persona, load.program, load.session)
            memory.add_metric(labels, load.taken.memory_bytes)
            cpu.add_metric(labels, load.taken.cpu_s)
        yield memory
        yield cpu


def _gauge(name: str, about: str, value: int) -> Metric:
    return GaugeMetricFamily(name, about, value)
