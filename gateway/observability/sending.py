"""Sending spans to a collector: that it is away is told once, and so is that it is back."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import structlog

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

log = structlog.stdlib.get_logger("moot.telemetry")

_LIBRARY = "opentelemetry.exporter.otlp.proto.http"


class Sender:
    """A SpanExporter around the library's, which logs each try that fails, and why."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._away = False
        self._lost = 0
        self._why = ""
        for name in (_LIBRARY, f"{_LIBRARY}.trace_exporter"):
            logging.getLogger(name).addFilter(self._heard)

    def _heard(self, record: logging.LogRecord) -> bool:
        """Keep why it failed; no line of the library's is logged."""
        try:
            self._why = record.getMessage()
        except (TypeError, ValueError):
            self._why = str(record.msg)
        return False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """See SpanExporter; called on the library's thread."""
        self._why = ""
        result = self._exporter.export(spans)
        away = result.name != "SUCCESS"
        self._lost += len(spans) if away else 0
        if away and not self._away:
            log.error("collector.away", reason=self._why or "it takes no spans")
        if self._away and not away:
            log.info("collector.back", lost=self._lost)
            self._lost = 0
        self._away = away
        return result

    def shutdown(self) -> None:
        """See SpanExporter."""
        for name in (_LIBRARY, f"{_LIBRARY}.trace_exporter"):
            logging.getLogger(name).removeFilter(self._heard)
        self._exporter.shutdown()

    def force_flush(self, *given: Any) -> bool:
        """See SpanExporter."""
        return self._exporter.force_flush(*given)
