"""Figures for Prometheus about prompts, the memory, and the model behind it."""

from __future__ import annotations

from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from composer import headings
from contract.agent import Usage

_MOST_VALUES = 30  # then "other"
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
_BRIEF_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2)
_HEADER_CHARS = (500, 1000, 2000, 5000, 10_000, 20_000, 40_000, 60_000)
_SECTION_CHARS = (100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 60_000)
_ITEMS = (0, 1, 2, 3, 5, 10)
_LISTS = (  # below the heading they have a line an item
    headings.RECALL,
    headings.PINS,
    headings.RECOMMENDATIONS,
    headings.LANDMARKS,
    headings.OBSERVATIONS,
)


class BoundedLabel:
    """The known values of one label: a server that invents names must not fill the registry."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def bounded(self, value: str) -> str:
        """The value, or "other" when there are too many already."""
        if len(self._known) < _MOST_VALUES:
            self._known.add(value)
        return value if value in self._known else "other"


class HeaderMetrics:
    """Measures the headers of prompts: their sizes, and each section's part of them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._chars = Histogram(
            "moot_header_chars", "Size of the header", buckets=_HEADER_CHARS, registry=registry
        )
        self._section_chars = Histogram(
            "moot_header_section_chars",
            "Size of a section where it was shown, its heading included",
            ["section"],
            buckets=_SECTION_CHARS,
            registry=registry,
        )
        self._items = Histogram(
            "moot_header_section_items",
            "How many hits, notes, landmarks or titles a header showed",
            ["section"],
            buckets=_ITEMS,
            registry=registry,
        )
        self._trims = Counter(
            "moot_header_trims", "Times a section was trimmed", ["section"], registry=registry
        )
        self._trimmed = Counter(
            "moot_header_trimmed_chars",
            "Characters that the budgets took away",
            ["section"],
            registry=registry,
        )
        self._over = Counter(
            "moot_header_over",
            "Headers over the total though everything that may go was trimmed",
            registry=registry,
        )
        self._all_chars = 0
        self._chars_of = dict.fromkeys(headings.HEADINGS, 0)
        self._show_shares(registry)

    def measure(self, header: str, record: dict[str, Any]) -> None:
        """Take in a header with the record of how it was made."""
        self._chars.observe(len(header))
        self._all_chars += len(header)
        given = {item["name"]: item["text"] for item in record.get("sections", [])}
        shown = {name: given[name] for name in headings.HEADINGS if name in given}
        for name, text in shown.items():
            self._section_chars.labels(name).observe(len(text))
            self._chars_of[name] += len(text)
        for name in _LISTS:
            self._items.labels(name).observe(shown.get(name, "").count("\n"))
        for trim in record.get("trims", []):
            self._trim(trim["section"], trim["chars"])

    def _show_shares(self, registry: CollectorRegistry) -> None:
        share = Gauge(
            "moot_header_section_share",
            "A section's part of all characters of all headers since the start, from 0 to 1",
            ["section"],
            registry=registry,
        )
        for name in self._chars_of:
            share.labels(name).set_function(partial(self._share_of, name))

    def _share_of(self, name: str) -> float:
        return self._chars_of[name] / max(self._all_chars, 1)

    def _trim(self, section: str, chars: int) -> None:
        if section in headings.HEADINGS:
            self._trims.labels(section).inc()
            self._trimmed.labels(section).inc(chars)
        else:
            self._over.inc()


class MemoryMetrics:
    """Measures how long the layers take to answer, and counts what still waits to be learned."""

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
        """Take in what a turn's record says of the layers."""
        for layer, ms in memory.get("ms", {}).items():
            self._briefs.labels(layer).observe(ms / 1000)
        for layer in memory.get("missing", []):
            why = "late" if layer in memory.get("late", []) else "failed"
            self._missing.labels(layer, why).inc()


class CallMetrics:
    """Counts the calls of the model behind the memory: purposes, tokens, money, seconds."""

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
