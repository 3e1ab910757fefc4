"""What Prometheus is told of the memory, and of the model behind it."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from contract.agent import Usage
from gateway.observability.bounded_label import BoundedLabel

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
_BRIEF_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2)


class MemoryMetrics:
    """How the layers answer, and what they have not learned from yet."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._briefs = Histogram(
            "moot_memory_brief_seconds",
            "How long a layer took to answer before a turn",
            ["layer"],
            buckets=_BRIEF_SECONDS,
            registry=registry,
        )
        self._missing = Counter(
            "moot_memory_missing",
            "Times a layer was left out of a header: late or failed",
            ["layer", "why"],
            registry=registry,
        )
        self.learning = Gauge(
            "moot_memory_learning",
            "Turns and session ends that wait to be learned from",
            registry=registry,
        )

    def measure(self, memory: dict[str, Any]) -> None:
        """Take in what a turn's record tells of the layers."""
        for layer, ms in memory.get("ms", {}).items():
            self._briefs.labels(layer).observe(ms / 1000)
        for layer in memory.get("missing", []):
            why = "late" if layer in memory.get("late", []) else "failed"
            self._missing.labels(layer, why).inc()


class CallMetrics:
    """What the model behind the memory is called for, and what it takes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._count = Counter(
            "moot_model_calls",
            "Calls of the model behind the memory; fault is none when it answered",
            ["purpose", "model", "fault"],
            registry=registry,
        )
        self._tokens = Counter(
            "moot_model_tokens",
            "Tokens of these calls: input, output, cached",
            ["purpose", "model", "kind"],
            registry=registry,
        )
        self._cost = Counter(
            "moot_model_cost_usd",
            "US dollars of these calls, where a price is known",
            ["purpose", "model"],
            registry=registry,
        )
        self._seconds = Histogram(
            "moot_model_call_seconds",
            "How long these calls took",
            ["purpose"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._purposes, self._models, self._faults = BoundedLabel(), BoundedLabel(), BoundedLabel()

    def count(
        self, purpose: str, model: str, usage: Usage | None, ms: float, fault: str | None
    ) -> None:
        """Take in a call."""
        purpose, model = self._purposes.bounded(purpose), self._models.bounded(model)
        self._count.labels(purpose, model, self._faults.bounded(fault or "none")).inc()
        self._seconds.labels(purpose).observe(ms / 1000)
        if usage is None:
            return
        self._tokens.labels(purpose, model, "input").inc(usage.input_tokens)
        self._tokens.labels(purpose, model, "output").inc(usage.output_tokens)
        self._tokens.labels(purpose, model, "cached").inc(usage.cached_tokens)
        if usage.cost_usd is not None:
            self._cost.labels(purpose, model).inc(usage.cost_usd)
