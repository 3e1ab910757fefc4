"""Cron lines: when the next run is. This is the one file that imports CronSim.

CronSim counts a line's times on a clock without a zone; which moment such a time is, is decided
here. In two points crontab's rules are not ours: a day and a weekday must both fit, and a line
that names hours runs once in the night in which the clock goes back, whatever its minutes are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

BETWEEN = "; "  # several lines in one text
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_WEEKDAYS = re.compile(r"\*|[\w-]+(,[\w-]+)*")
_STEP = re.compile(r"(?:\*|(\d+)(?:-(\d+))?)/(\d+)")
_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12))  # of minutes, hours, days and months
_TRIED = 60  # runs that are looked at for the shortest time between two
_DAY = timedelta(days=1)


class Cron:
    """Cron lines in a time zone. Raises ValueError for text that is none."""

    def __init__(self, lines: str, zone: ZoneInfo) -> None:
        """lines: five fields each, in crontab's order and counting, joined by BETWEEN."""
        self._zone = zone
        self._lines = [_checked(line) for line in lines.split(BETWEEN)]

    def after(self, moment: datetime) -> datetime | None:
        """The next run after a moment, in UTC; None: never again.

        A time of day that the clock shows twice is its first; one that it jumps over is after the
        jump. What runs every hour or oftener runs in both.
        """
        found = (self._next(line, moment) for line in self._lines)
        return min((run for run in found if run is not None), default=None)

    def shortest(self, since: datetime) -> timedelta | None:
        """The shortest time between two of the next runs; None: it runs once at most."""
        runs = [since]
        while len(runs) <= _TRIED and (run := self.after(runs[-1])) is not None:
            runs.append(run)
        waits = [later - earlier for earlier, later in pairwise(runs[1:])]
        return min(waits, default=None)

    def _next(self, line: str, moment: datetime) -> datetime | None:
        moment = moment.astimezone(UTC)
        offsets = [self._offset(moment + near) for near in (-_DAY, timedelta(), _DAY)]
        names_hours = not line.split()[1].startswith("*")
        best = latest = None
        for shown in _shown(line, moment.replace(tzinfo=None) + min(offsets)):
            if latest is not None and shown > latest:
                break
            for run in self._moments(shown, once=names_hours):
                if run > moment and (best is None or run < best):
                    best = run
                    # Where the clock jumps, a time that is shown later may come earlier.
                    jump = self._offset(run + _DAY) - self._offset(run - _DAY)
                    latest = latest or shown + abs(jump)
        return best

    def _moments(self, shown: datetime, *, once: bool) -> Iterator[datetime]:
        """The moments at which the clock shows that: two in the night when it goes back, unless
        `once`. One that it jumps over is as far behind the jump as it was behind its start."""
        yield shown.replace(tzinfo=self._zone).astimezone(UTC)
        again = shown.replace(tzinfo=self._zone, fold=1).astimezone(UTC)
        if not once and again.astimezone(self._zone).replace(tzinfo=None) == shown:
            yield again

    def _offset(self, moment: datetime) -> timedelta:
        return moment.astimezone(self._zone).utcoffset() or timedelta()


def _shown(line: str, since: datetime) -> Iterator[datetime]:
    """The line's times on a clock without a zone."""
    simulation = CronSim(line, since)
    simulation.day_and = True
    return simulation


def _checked(line: str) -> str:
    """The line as CronSim reads it. Raises ValueError."""
    fields = line.lower().split()
    if len(fields) != 5:
        raise ValueError("it needs five fields: minute hour day month weekday")
    for field, (least, most) in zip(fields, _RANGES, strict=False):
        for first, last, step in _STEP.findall(field):
            if int(step) > int(last or most) - int(first or least):
                raise ValueError(f"the step in {field!r} is longer than what it steps through")
    minute, hour, day, month, weekday = fields
    day = "1-31" if day == "*" else day.replace("last", "l")
    line = f"{minute} {hour} {day} {month} {_weekdays(weekday)}"
    try:
        CronSim(line, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise ValueError(str(error)) from None
    return line


def _weekdays(field: str) -> str:
    """A weekday field in numbers, with which a range may end on Sunday."""
    if not _WEEKDAYS.fullmatch(field):
        raise ValueError(f"weekdays are written like mon-fri or 1,3,5, not {field!r}")
    if field == "*":
        return "0-6"
    return ",".join(_range(part) for part in field.split(","))


def _range(part: str) -> str:
    first, dash, last = part.partition("-")
    begins, ends = _number(first) % 7, _number(last if dash else first) % 7
    return f"{begins}-{ends or 7 if begins else ends}"


def _number(day: str) -> int:
    if day in _DAYS:
        return _DAYS.index(day)
    if day.isdecimal() and int(day) <= 7:
        return int(day)
    raise ValueError(f"there is no weekday {day!r}")
