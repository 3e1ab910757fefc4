"""What is done once a night, by a clock that the test turns."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from gateway.remembering.nightly import LONGEST_SLEEP_S, next_time, nightly

BERLIN = ZoneInfo("Europe/Berlin")
AT = time(3, 30)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (utc(2026, 5, 1, 0, 0), utc(2026, 5, 1, 1, 30)),  # summer time: 03:30 is 01:30 UTC
        (utc(2026, 5, 1, 1, 30), utc(2026, 5, 2, 1, 30)),
        (utc(2026, 5, 1, 12, 0), utc(2026, 5, 2, 1, 30)),
        (utc(2026, 12, 31, 23, 0), utc(2027, 1, 1, 2, 30)),
    ],
)
def test_the_next_time_is_by_the_clock_of_the_zone(now: datetime, due: datetime) -> None:
    assert next_time(now, AT, BERLIN) == due


def test_every_night_of_a_year_has_exactly_one_time() -> None:
    for at in (time(2, 30), time(3, 0), time(0, 0)):  # 02:30 is skipped in March, twice in October
        now, nights = utc(2026, 1, 1), []
        while now < utc(2027, 1, 1):
            now = next_time(now, at, BERLIN)
            nights.append(now.astimezone(BERLIN).date())
        assert len(set(nights)) == len(nights)
        assert all(b - a == timedelta(days=1) for a, b in pairwise(nights))


@dataclass
class Night:
    """A clock that sleeping moves on."""

    now: datetime
    slept: list[float] = field(default_factory=list)
    worked: list[datetime] = field(default_factory=list)
    fails: bool = False
    nights: int = 3

    def clock(self) -> datetime:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)
        await asyncio.sleep(0)

    async def work(self) -> None:
        self.worked.append(self.now)
        if len(self.worked) == self.nights:
            raise asyncio.CancelledError
        if self.fails:
            raise RuntimeError("no")

    async def run(self) -> None:
        with pytest.raises(asyncio.CancelledError):
            await nightly(self.work, at=AT, zone=BERLIN, clock=self.clock, sleep=self.sleep)


@pytest.mark.parametrize("fails", [False, True])
async def test_it_works_every_night_whatever_became_of_the_last(fails: bool) -> None:
    night = Night(utc(2026, 5, 1, 2), fails=fails)
    await night.run()
    assert night.worked == [utc(2026, 5, day, 1, 30) for day in (2, 3, 4)]
    assert max(night.slept) <= LONGEST_SLEEP_S


async def test_a_night_that_was_missed_is_not_made_up_for() -> None:
    night = Night(utc(2026, 5, 1, 1, 31), nights=1)
    await night.run()
    assert night.worked == [utc(2026, 5, 2, 1, 30)]
