"""Waits and repetitions, where a platform is away or asks to wait."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import structlog

from contract.errors import PlatformError

T = TypeVar("T")

log = structlog.stdlib.get_logger("moot.bots")


def backoff_s(
    failures: int, *, first_s: float = 1.0, longest_s: float = 30.0, jitter: float = 0.5
) -> float:
    """The rest before the next try: it doubles with each failure in a row, 0 counts as none.

    jitter: the smallest part of it that is waited, so that many bots don't come back at once.
    """
    rest_s = min(first_s * 2.0**failures, longest_s)
    return rest_s * random.uniform(jitter, 1.0)  # noqa: S311 - no secret depends on it


def retry_after_s(headers: Mapping[str, str], *others: str) -> float:
    """The seconds that an answer asks to wait, 1 where it names none.

    others: headers that some servers send instead of Retry-After.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    for name in ("retry-after", *others):
        if (value := lowered.get(name.lower(), "")).replace(".", "", 1).isdecimal():
            return float(value)
    return 1.0


async def stay_connected(
    platform: str, connect: Callable[[Callable[[], None]], Awaitable[None]]
) -> None:
    """Keep one connection after the other, for ever.

    connect: opens one, calls what it is given once it stands, and returns or raises PlatformError
    when it is lost. Raises what it raises, but for a PlatformError that isn't "refused".
    """
    failures = 0

    def stands() -> None:
        nonlocal failures
        failures = 0

    while True:
        try:
            await connect(stands)
            log.info("bot.disconnected", platform=platform)
        except PlatformError as error:
            if error.outcome == "refused":
                raise
            log.warning("bot.unreachable", attempt=failures + 1, reason=error)
        await asyncio.sleep(backoff_s(failures, first_s=0.5, longest_s=15.0, jitter=0.2))
        failures += 1


class PatientCalls:
    """Calls that nobody waits for: at a pace that leaves room for people, and tried again.

    first_s: before the second try, where the platform asks for nothing else; it doubles. pace: so
    many calls in so many seconds, None: as fast as answers come. now: seconds since 1970.
    """

    def __init__(
        self,
        *,
        tries: int,
        longest_s: float,
        first_s: float = 1.0,
        pace: tuple[int, float] | None = None,
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._tries, self._pace = tries, pace
        self._first_s, self._longest_s = first_s, longest_s
        self._now, self._sleep = now, sleep
        self._calls: deque[float] = deque(maxlen=pace[0] if pace else 0)

    async def answered(self, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer; asked again when the platform put it off or gave none.

        Raises PlatformError when it is refused, and after the last try.
        """
        for attempt in range(self._tries):
            await self._keep_pace()
            try:
                return await ask()
            except PlatformError as error:
                if error.outcome == "refused" or attempt == self._tries - 1:
                    raise
                rest_s = (
                    error.retry_after_s
                    if error.outcome == "retry"
                    else self._first_s * 2.0**attempt
                )
                log.info("history.retry", in_s=round(rest_s), reason=error)
                await self._sleep(min(rest_s, self._longest_s))
        raise AssertionError("the last try returns or raises")

    async def _keep_pace(self) -> None:
        if self._pace is None:
            return
        calls, per_s = self._pace
        if len(self._calls) == calls:
            rest_s = self._calls[0] + per_s - self._now()
            await self._sleep(min(max(rest_s, 0.0), per_s))
        self._calls.append(self._now())
