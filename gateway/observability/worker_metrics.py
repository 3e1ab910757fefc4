"""Figures of the workers on which agents run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from contract.values import dataclass

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)


@dataclass(frozen=True, slots=True)
class WorkerFigures:
    """A worker at one moment. sessions: that live there. losses: how often it was given up since
    the gateway started."""

    name: str
    up: bool
    seats: int
    sessions: int
    losses: int


class WorkerMetrics(Collector):
    """Asks at each scrape. hop: given the seconds until a worker had taken a prompt."""

    def __init__(
        self, registry: CollectorRegistry, figures: Callable[[], Iterable[WorkerFigures]]
    ) -> None:
        self._figures = figures
        hop = Histogram(
            "moot_worker_hop_seconds",
            "How long a prompt took to a worker, and its word that it has it",
            buckets=_SECONDS,
            registry=registry,
        )
        self.hop = hop.observe
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """The figures of this scrape."""
        up = GaugeMetricFamily("moot_worker_up", "Whether a worker is heard", labels=("worker",))
        seats = GaugeMetricFamily(
            "moot_worker_seats", "How many programs a worker may run", labels=("worker",)
        )
        sessions = GaugeMetricFamily(
            "moot_worker_sessions", "Sessions that live on a worker", labels=("worker",)
        )
        losses = CounterMetricFamily(
            "moot_worker_losses", "How often a worker was given up", labels=("worker",)
        )
        for one in self._figures():
            up.add_metric((one.name,), float(one.up))
            seats.add_metric((one.name,), one.seats)
            sessions.add_metric((one.name,), one.sessions)
            losses.add_metric((one.name,), one.losses)
        yield from (up, seats, sessions, losses)
