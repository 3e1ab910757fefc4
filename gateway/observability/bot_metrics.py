"""What Prometheus is told of the bots."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gateway.core.bot_health import BotHealth


class BotMetrics(Collector):
    """Asks at each scrape how they fare."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._health: dict[str, BotHealth] = {}
        registry.register(self)

    def watch(self, name: str, health: BotHealth) -> None:
        """One more."""
        self._health[name] = health

    def collect(self) -> Iterator[Metric]:
        """The figures of this scrape."""
        up = GaugeMetricFamily(
            "moot_bot_up", "Whether a bot runs and knows its account", labels=("bot",)
        )
        restarts = CounterMetricFamily(
            "moot_bot_restarts", "Starts of a bot after its first", labels=("bot",)
        )
        for name, health in self._health.items():
            up.add_metric((name,), float(health.up))
            restarts.add_metric((name,), float(health.restarts))
        yield up
        yield restarts
