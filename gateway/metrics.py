"""What Prometheus is told."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from gateway import show
from gateway.happenings import Happening, Said, TurnChanged
from gateway.ledger import Turn

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)


class Metrics:
    """Counts what is published, and measures turns as they end."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._messages = Counter(
            "moot_messages", "Messages stored", ["by"], registry=self._registry
        )
        self._turns = Counter(
            "moot_turns", "Turns ended", ["persona", "state"], registry=self._registry
        )
        self._steps = Histogram(
            "moot_turn_step_seconds",
            "How long the steps of a turn took",
            ["step"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._header = Histogram(
            "moot_header_chars",
            "Size of the header",
            buckets=(500, 1000, 2000, 5000, 10_000, 20_000, 40_000, 60_000),
            registry=self._registry,
        )
        self._waiting = Gauge(
            "moot_turns_waiting", "Turns queued or running", registry=self._registry
        )
        self._living = Gauge("moot_sessions", "Living agent sessions", registry=self._registry)

    def heard(self, happening: Happening) -> None:
        """Count a happening."""
        if isinstance(happening, Said):
            self._messages.labels(happening.message.by.kind).inc()
        elif isinstance(happening, TurnChanged) and happening.turn.state in show.ENDED:
            self._turns.labels(happening.turn.persona, happening.turn.state).inc()

    def ended(self, turn: Turn) -> None:
        """Measure a turn."""
        for step, ms in turn.record.get("timings", {}).items():
            self._steps.labels(step).observe(ms / 1000)
        if turn.header is not None:
            self._header.observe(len(turn.header))

    def text(self, *, waiting: int, living: int) -> bytes:
        """The exposition format."""
        self._waiting.set(waiting)
        self._living.set(living)
        return generate_latest(self._registry)
