"""[logs], [alerts] and [telemetry] in moot.toml: what operators are told."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from bots.kit.platform_spec import Url
from gateway.settings.person_ids import room_fault
from gateway.settings.tables import Table

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
LogFormat = Literal["auto", "human", "json"]


class LogsTable(Table):
    """[logs] in moot.toml; see docs/logs.md."""

    level: LogLevel = "INFO"
    format: LogFormat = "auto"


WEBHOOK = "MOOT_ALERTS_WEBHOOK"
"""The variable of the webhook's address, which is a secret where it holds one."""


class AlertsTable(Table):
    """[alerts] in moot.toml; see docs/alerts.md. Without a room and a webhook nothing is told."""

    room: str | None = None
    webhook: Url | None = None
    bot_down_s: Annotated[float, Field(gt=0)] = 60.0
    question_minutes: Annotated[float, Field(gt=0)] = 5.0
    disk_free_gb: Annotated[float, Field(ge=0)] = 1.0

    @field_validator("room")
    @classmethod
    def _room(cls, value: str | None) -> str | None:
        if value is not None and (fault := room_fault(value)):
            raise ValueError(fault)
        return value


class TelemetryTable(Table):
    """[telemetry] in moot.toml; see docs/telemetry.md."""

    otlp_endpoint: Url | None = None
    metrics: bool = True
