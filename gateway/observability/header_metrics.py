"""What Prometheus is told of the headers that agents were given."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from composer import headings

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


class HeaderMetrics:
    """What a prompt costs, and which section costs it."""

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
        self._share = Gauge(
            "moot_header_section_share",
            "A section's part of all characters of all headers since the start, from 0 to 1",
            ["section"],
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

    def measure(self, header: str, record: dict[str, Any]) -> None:
        """Take in a header with the record of how it was made."""
        self._chars.observe(len(header))
        self._all_chars += len(header)
        given = {item["name"]: item["text"] for item in record.get("sections", [])}
        shown = {name: given[name] for name in headings.HEADINGS if name in given}
        for name, text in shown.items():
            self._section_chars.labels(name).observe(len(text))
            self._chars_of[name] += len(text)
        for name, chars in self._chars_of.items():
            self._share.labels(name).set(chars / self._all_chars)
        for name in _LISTS:
            self._items.labels(name).observe(shown.get(name, "").count("\n"))
        for trim in record.get("trims", []):
            self._trim(trim["section"], trim["chars"])

    def _trim(self, section: str, chars: int) -> None:
        if section in headings.HEADINGS:
            self._trims.labels(section).inc()
            self._trimmed.labels(section).inc(chars)
        else:
            self._over.inc()
