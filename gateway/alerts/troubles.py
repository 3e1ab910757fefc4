"""The troubles that operators are told of: bots, questions that wait, the disk, backups."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from contract.language import phrase
from gateway.alerts.alerts import Trouble
from gateway.core.views import OpenQuestion
from gateway.observability.bot_health import BotHealth
from gateway.settings.logs import AlertsTable

BOT_DOWN = phrase("The bot {name} is down; `moot doctor` and the log say why.")
BOT_UP = phrase("The bot {name} is up again.")
WAITS = phrase(
    "@{persona} has waited {minutes} minutes for an answer to a permission question in {room}."
)
DISK_FILLS = phrase("The disk of {folder} is filling: {free} GB free; make room.")
DISK_WELL = phrase("The disk of {folder} has room again.")
NO_BACKUP = phrase("No backup could be made last night; the log says why (backup.failed).")
BACKUP = phrase("A backup was made again.")

Clock = Callable[[], datetime]
SPARE = 1.2  # so much more than the bound is free again before the disk counts as well


class DownBots:
    """Bots that have been down for longer than the table allows."""

    def __init__(self, table: AlertsTable, health: Mapping[str, BotHealth], clock: Clock) -> None:
        self._table, self._health, self._clock = table, health, clock
        self._since: dict[str, datetime] = {}

    def __call__(self) -> Iterator[Trouble]:
        now = self._clock()
        for name, one in self._health.items():
            if one.up:
                self._since.pop(name, None)
                continue
            down = now - self._since.setdefault(name, now)
            if down >= timedelta(seconds=self._table.bot_down_s):
                yield Trouble(f"bot:{name}", BOT_DOWN, BOT_UP, {"name": name})


class WaitingQuestions:
    """Permission questions that wait for longer than the table allows."""

    def __init__(
        self, table: AlertsTable, waiting: Callable[[], Sequence[OpenQuestion]], clock: Clock
    ) -> None:
        self._table, self._waiting, self._clock = table, waiting, clock

    def __call__(self) -> Iterator[Trouble]:
        minutes = self._table.question_minutes
        for one in self._waiting():
            if self._clock() - one.at >= timedelta(minutes=minutes):
                values = {
                    "persona": one.persona,
                    "minutes": f"{minutes:g}",
                    "room": one.room_id,
                }
                yield Trouble(f"question:{one.question.id}", WAITS, values=values)


class FullDisk:
    """A disk with less free than the table's bound; it is well again with a little more."""

    def __init__(self, table: AlertsTable, folder: Path) -> None:
        self._bound = table.disk_free_gb * 1e9
        self._folder = folder
        self._little = False

    def __call__(self) -> Iterator[Trouble]:
        free = shutil.disk_usage(self._folder).free
        self._little = free < self._bound * (SPARE if self._little else 1)
        if self._little:
            values = {"folder": str(self._folder), "free": f"{free / 1e9:.1f}"}
            yield Trouble("disk", DISK_FILLS, DISK_WELL, values)


class FailedBackup:
    """The last nightly backup, if it failed."""

    def __init__(self) -> None:
        self._failed = False

    def told(self, fault: str) -> None:
        """Note how one ended; fault: "" if it was made."""
        self._failed = bool(fault)

    def __call__(self) -> Iterator[Trouble]:
        if self._failed:
            yield Trouble("backup", NO_BACKUP, BACKUP)
