"""Cron lines against a second way to find their runs: every minute is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.settings.cron import Cron

MINUTE = timedelta(minutes=1)
BERLIN = ZoneInfo("Europe/Berlin")
# Where the clock is changed, in UTC: by an hour, by half an hour, at midnight, by a whole day.
CHANGES = [
    ("Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 15, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    ("America/Santiago", datetime(2026, 9, 6, 4, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2026, 10, 29, 21, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
    ("UTC", datetime(2026, 1, 1, tzinfo=UTC)),
]


def numbers(field: str, least: int, most: int) -> set[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        low = least if span == "*" else int(first)
        high = int(last) if dash else most if span == "*" or step else low
        found |= set(range(low, high + 1, int(step or 1)))
    return found


class Looked:
    """A line's runs, found by looking at every minute for two days."""

    def __init__(self, line: str, zone: ZoneInfo) -> None:
        minute, self.hour, day, month, weekday = line.split()
        self.zone = zone
        self.minutes, self.hours = numbers(minute, 0, 59), numbers(self.hour, 0, 23)
        self.days, self.months = numbers(day, 1, 31), numbers(month, 1, 12)
        self.weekdays = {number % 7 for number in numbers(weekday, 0, 7)}

    def fits(self, shown: datetime) -> bool:
        return (
            shown.minute in self.minutes
            and shown.hour in self.hours
            and shown.day in self.days
            and shown.month in self.months
            and shown.isoweekday() % 7 in self.weekdays
        )

    def after(self, moment: datetime) -> list[datetime]:
        return sorted({run for run in self._runs(moment) if run > moment})

    def _runs(self, moment: datetime) -> Iterator[datetime]:
        at = moment.replace(second=0) - timedelta(hours=26)
        before = at.astimezone(self.zone).utcoffset() or timedelta()
        while at < moment + timedelta(hours=48):
            here = at.astimezone(self.zone)
            offset = here.utcoffset() or timedelta()
            for minute in range(int((offset - before) / MINUTE)):  # what it jumps over
                if self.fits((at + before).replace(tzinfo=None) + minute * MINUTE):
                    yield at + minute * MINUTE
            before = offset
            named = not self.hour.startswith("*")
            if self.fits(here.replace(tzinfo=None)) and not (named and here.fold):
                yield at
            at += MINUTE


minutes = st.sampled_from(["0", "30", "5", "15,45", "*/10", "*", "20-40/5", "59"])
hours = st.sampled_from(
    ["*", "0", "1", "2", "3", "2,3", "1-3", "*/2", "*/3", "23", "0-23/2", "4/6"]
)
days = st.sampled_from(["*", "*", "*", "1-28", "*/2", "25,29,30,31", "3-10"])
months = st.sampled_from(["*", "*", "1-12", "3,4,9-12"])
weekdays = st.sampled_from(["*", "*", "*", "0", "7", "1-5", "6,0-2", "5-7"])


@given(
    st.sampled_from(CHANGES),
    st.integers(-400, 400),
    st.integers(0, 59),
    st.tuples(minutes, hours, days, months, weekdays).map(" ".join),
)
@settings(max_examples=150)
def test_every_run_is_found_whatever_the_clock_does(
    change: tuple[str, datetime], ahead: int, seconds: int, line: str
) -> None:
    zone = ZoneInfo(change[0])
    moment = change[1] + ahead * MINUTE + timedelta(seconds=seconds)
    cron, expected = Cron(line, zone), Looked(line, zone).after(moment)[:12]
    found: list[datetime] = []
    for _ in expected:
        run = cron.after(found[-1] if found else moment)
        assert run is not None
        found.append(run)
    assert found == expected


@pytest.mark.parametrize(
    "line",
    [
        "* * * *",
        "0 0 * * * *",
        "60 * * * *",
        "0 24 * * *",
        "0 0 0 * *",
        "0 0 * 13 *",
        "0 0 * * 8",
        "0 0 * * mon/2",
        "0 0 * * tuesday-fri",
        "0 0 * * fri-tue",
        "*/90 * * * *",
        "0 9-11/6 * * *",
        "a b c d e",
        "",
    ],
)
def test_a_line_that_says_nothing_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Cron(line, BERLIN)


def test_a_day_that_never_comes_has_no_run() -> None:
    assert Cron("0 0 30 2 *", BERLIN).after(CHANGES[0][1]) is None


def test_a_day_and_a_weekday_must_both_fit() -> None:
    assert Cron("0 9 1-7 * mon", BERLIN).after(datetime(2026, 11, 22, tzinfo=UTC)) == datetime(
        2026, 12, 7, 8, tzinfo=UTC
    )


def test_the_last_day_of_a_month_has_a_name() -> None:
    february = datetime(2028, 2, 1, tzinfo=UTC)
    for day in ("last", "L"):
        assert Cron(f"0 9 {day} * *", BERLIN).after(february) == datetime(
            2028, 2, 29, 8, tzinfo=UTC
        )
