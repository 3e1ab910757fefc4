"""Work that is done once a night, at a time of day in the configured zone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import structlog

log = structlog.stdlib.get_logger("moot.nightly")

LONGEST_SLEEP_S = 600.0  # then the clock is looked at again: it may have been set, or have slept


def next_time(now: datetime, at: time, zone: ZoneInfo) -> datetime:
    """The first moment after `now` at which a clock in the zone shows `at`.

    Where the clock jumps over it, the moment after the jump; where it shows it twice, the first.
    """
    day = now.astimezone(zone).date()
    while True:
        moment = datetime.combine(day, at, zone).astimezone(UTC)
        if moment > now:
            return moment
        day += timedelta(days=1)


async def nightly(
    work: Callable[[], Awaitable[object]],
    *,
    at: time,
    zone: ZoneInfo,
    clock: Callable[[], datetime],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Do the work every night, for ever. A night that was missed is not made up for."""
    while True:
        due = next_time(clock(), at, zone)
        while (left_s := (due - clock()).total_seconds()) > 0:
            await sleep(min(left_s, LONGEST_SLEEP_S))
        try:
            await work()
        except Exception as error:  # a memory layer's border: the next night it is tried again
            log.warning("nightly.failed", error=type(error).__name__)
            log.debug("nightly.failed", exc_info=True)
