"""Figures of agents' work for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

from gateway.core.turn_usage import TurnUsage


class UsageMetrics:
    """Counts what turns took, by persona."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._tokens = Counter(
            "moot_agent_tokens",
            "Tokens that agents told of: input, output, cached",
            ["persona", "kind"],
            registry=registry,
        )
        self._cost = Counter(
            "moot_agent_cost_usd",
            "US dollars of agents' turns, where they are known",
            ["persona"],
            registry=registry,
        )
        self._seconds = Counter(
            "moot_agent_seconds", "Seconds of agents' work", ["persona"], registry=registry
        )

    def took(self, took: TurnUsage) -> None:
        """Take in a turn."""
        self._seconds.labels(took.persona).inc(took.seconds)
        if took.usage is None:
            return
        self._tokens.labels(took.persona, "input").inc(took.usage.input_tokens)
        self._tokens.labels(took.persona, "output").inc(took.usage.output_tokens)
        self._tokens.labels(took.persona, "cached").inc(took.usage.cached_tokens)
        if took.usage.cost_usd is not None:
            self._cost.labels(took.persona).inc(took.usage.cost_usd)
