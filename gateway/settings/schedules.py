"""[[schedules]] and [scheduling] in moot.toml: what personas are asked again and again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator

from gateway.settings.mistakes.zones import zone_fault
from gateway.settings.tables import PersonaName, Table
from gateway.settings.when import WhenError, read_when

TEXT_CHARS = 4_000
_ROOM = r"^[a-z][a-z0-9_-]{0,31}:[^\s*\x00-\x1f\x7f]{1,255}$"
Missed = Literal["once", "skip"]


class SchedulingTable(Table):
    """[scheduling] in moot.toml."""

    shortest_minutes: Annotated[float, Field(ge=1)] = 5.0
    most: Annotated[int, Field(ge=0)] = 20
    grace_s: Annotated[float, Field(ge=1)] = 300.0

    @property
    def shortest(self) -> timedelta:
        """The shortest time between two runs."""
        return timedelta(minutes=self.shortest_minutes)

    @property
    def grace(self) -> timedelta:
        """The delay with which a run may begin at most."""
        return timedelta(seconds=self.grace_s)


class ScheduleTable(Table):
    """[[schedules]] in moot.toml; see docs/schedules.md."""

    room: Annotated[str, Field(pattern=_ROOM)]
    persona: PersonaName
    when: str
    text: Annotated[str, Field(min_length=1, max_length=TEXT_CHARS)]
    timezone: str | None = None
    missed: Missed = "once"
    thread: str | None = None
    bot: str | None = None

    @field_validator("timezone")
    @classmethod
    def _zone(cls, value: str | None) -> str | None:
        if value is not None and (fault := zone_fault(value)):
            raise ValueError(fault)
        return value

    @field_validator("when")
    @classmethod
    def _when(cls, value: str) -> str:
        now = datetime(2026, 1, 1, tzinfo=UTC)  # any: whether it can be read depends on none
        try:
            _, rest = read_when(_as_typed(value), zone=ZoneInfo("UTC"), now=now, least=_LEAST)
        except WhenError as error:
            raise ValueError(error.say) from None
        if rest:
            raise ValueError(
                f"I don't know what {rest[:40]!r} means here; `text` says what is asked"
            )
        return value

    @field_validator("text")
    @classmethod
    def _text(cls, value: str) -> str:
        if value.lstrip()[:1] in "!\uff01":
            raise ValueError("a schedule asks an agent; it can't give a command")
        return value


_LEAST = timedelta(minutes=1)


def _as_typed(when: str) -> str:
    """A cron line needs no quotes of its own in a file."""
    return f'"{when}"' if len(when.split()) == 5 and not when[:1].isalpha() else when


def read_configured(table: ScheduleTable, zone: ZoneInfo, now: datetime) -> tuple[str, str]:
    """The words and the cron lines of a schedule in moot.toml."""
    when, _ = read_when(_as_typed(table.when), zone=zone, now=now, least=_LEAST)
    return when.words, when.cron
