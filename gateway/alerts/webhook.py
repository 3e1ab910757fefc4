"""Posts a line to a webhook, as Slack's, Mattermost's and Rocket.Chat's take it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import structlog

from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.alerts")

TRIES = 6
FIRST_WAIT_S = 1.0  # doubles: half a minute in all
ASKED_S = 10.0


@dataclass(frozen=True, slots=True)
class Webhook:
    """url: may hold its secret, and is told to nobody."""

    url: str
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def __call__(self, line: str) -> None:
        """Post it; tried again while the server is away. What it refuses is a line in the log."""
        wait_s, reason = FIRST_WAIT_S, ""
        for tries in range(1, TRIES + 1):
            status, reason = await self._post(line)
            if 200 <= status < 300:
                return
            if tries == TRIES or (400 <= status < 500 and status != 429):
                break
            await self.sleep(wait_s)
            wait_s *= 2
        log.error("alert.not_sent", reason=reason)

    async def _post(self, line: str) -> tuple[int, str]:
        """The status of the answer, 0 for none; and the reason in words without the address."""
        timeout = aiohttp.ClientTimeout(total=ASKED_S)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as client,
                client.post(self.url, json={"text": line}) as answer,
            ):
                return answer.status, f"the webhook answers {answer.status}"
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return 0, f"the webhook doesn't answer: {type(error).__name__}"
