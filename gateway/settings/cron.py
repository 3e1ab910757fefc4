"""Cron lines: when the next one is. The one file that imports APScheduler.

Of APScheduler 3.11 only its CronTrigger is used: our table is the truth, and a loop over it needs
no second one. Read and measured, November 2026:

- Its weekdays count from Monday; crontab's from Sunday. Names mean the same in both.
- A time that the clock jumps over (02:30 in March) it gives as 02:30 of the zone before: 03:30 on
  the clock. A time that the clock shows twice it gives twice.
- A misfire is its scheduler's idea, not the trigger's.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger

BETWEEN = "; "  # several lines in one text
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY_FIELD = re.compile(r"\*|(\*|[\w-]+)(/\d+)?(,[\w-]+)*")
_TRIED = 60  # runs that are looked at for the shortest time between two
_TICK = timedelta(microseconds=1)


class Cron:
    """Cron lines in a time zone. Raises ValueError for what is none."""

    def __init__(self, lines: str, zone: ZoneInfo) -> None:
        """lines: five fields each, in crontab's order and counting, joined by BETWEEN."""
        self._zone = zone
        self._triggers = [
            (_is_clocked(line), _trigger(line, zone)) for line in lines.split(BETWEEN)
        ]

    def after(self, moment: datetime) -> datetime | None:
        """The next run after a moment, in UTC; None: never again.

        A time of day that the clock shows twice is its first; one that it jumps over is after the
        jump. What runs every hour or oftener runs in both.
        """
        found = (_next(trigger, clocked, moment, self._zone) for clocked, trigger in self._triggers)
        return min((run for run in found if run is not None), default=None)

    def shortest(self, since: datetime) -> timedelta | None:
        """The shortest time between two of the next runs; None: it runs once at most."""
        runs = [since]
        while len(runs) <= _TRIED and (run := self.after(runs[-1])) is not None:
            runs.append(run)
        waits = [later - earlier for earlier, later in pairwise(runs[1:])]
        return min(waits, default=None)


def _next(trigger: CronTrigger, clocked: bool, moment: datetime, zone: ZoneInfo) -> datetime | None:
    while True:
        run = trigger.get_next_fire_time(None, (moment + _TICK).astimezone(zone))
        if run is None:
            return None
        moment = run.astimezone(UTC)
        if not (clocked and moment.astimezone(zone).fold):
            return moment


def _is_clocked(line: str) -> bool:
    """True if it names hours of the day; else it runs every so often."""
    fields = line.split()
    return len(fields) == 5 and not fields[1].startswith("*")


def _trigger(line: str, zone: ZoneInfo) -> CronTrigger:
    fields = line.lower().split()
    if len(fields) != 5:
        raise ValueError("it needs five fields: minute hour day month weekday")
    minute, hour, day, month, weekday = fields
    try:
        return CronTrigger(
            minute=minute,
            hour=hour,
            day=day,
            month=month,
            day_of_week=_weekdays(weekday),
            second=0,
            timezone=zone,
        )
    except (ValueError, TypeError) as error:
        raise ValueError(str(error)) from None


def _weekdays(field: str) -> str:
    """A weekday field with names for its numbers: they count from Sunday, 7 is Sunday, too."""
    if not _DAY_FIELD.fullmatch(field) or "/" in field:
        raise ValueError(f"weekdays are written like mon-fri or 1,3,5, not {field!r}")
    parts = (_weekday_range(part) for part in field.split(","))
    return ",".join(parts)


def _weekday_range(part: str) -> str:
    first, dash, last = part.partition("-")
    if not dash:
        return _named(first)
    from_, to = _named(first), _named(last)
    if from_ != "sun":
        return f"{from_}-{to}"
    return "sun" if to == "sun" else f"sun,mon-{to}"  # APScheduler's weeks begin on Monday


def _named(day: str) -> str:
    return _DAYS[int(day)] if day.isdecimal() and int(day) < len(_DAYS) else day
