"""[logs] and [telemetry] in moot.toml."""

from __future__ import annotations

from typing import Literal

from bots.kit.platform_spec import Url
from gateway.settings.tables import Table

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
LogFormat = Literal["auto", "human", "json"]


class LogsTable(Table):
    """[logs]: see docs/logs.md. format: auto is human on a terminal, else json."""

    level: LogLevel = "INFO"
    format: LogFormat = "auto"


class TelemetryTable(Table):
    """[telemetry]: see docs/telemetry.md.

    otlp_endpoint: an OTLP collector's address for HTTP, e.g. http://127.0.0.1:4318; None: no
    traces. metrics: serve /metrics.
    """

    otlp_endpoint: Url | None = None
    metrics: bool = True
