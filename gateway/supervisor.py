"""Keeps bots running: one malformed event must not silence a platform for good."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from bots.bot import Bot
from contract import Event, MootError

log = logging.getLogger("moot.app")

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0  # before a restart; doubles
STEADY_S = 60.0  # who ran so long may be restarted at once again


async def supervise(bot: Bot, receive: Callable[[Event, Bot], Awaitable[None]]) -> None:
    """Run a bot, for ever."""
    wait_s = FIRST_WAIT_S
    while True:
        began = asyncio.get_running_loop().time()
        try:
            await bot.run(lambda event: receive(event, bot))
            reason = "it returned"
        except MootError as error:
            reason = str(error)
        except Exception:  # a bot's supervisor restarts it whatever it died of
            log.exception("bot.crashed bot=%s", bot.name)
            reason = "it crashed"
        if asyncio.get_running_loop().time() - began > STEADY_S:
            wait_s = FIRST_WAIT_S
        log.error("bot.restart bot=%s in_s=%g reason=%s", bot.name, wait_s, reason)
        await asyncio.sleep(wait_s)
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)
