"""[logs] and [telemetry] in moot.toml."""

from __future__ import annotations

from typing import Literal

from bots.kit.platform_spec import Url
from gateway.settings.tables import Table

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
LogFormat = Literal["auto", "human", "json"]


class LogsTable(Table):
    """[logs] in moot.toml; see docs/logs.md."""

    level: LogLevel = "INFO"
    format: LogFormat = "auto"


class TelemetryTable(Table):
    """[telemetry] in moot.toml; see docs/telemetry.md."""

    otlp_endpoint: Url | None = None
    metrics: bool = True
