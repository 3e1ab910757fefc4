"""Keeps bots running: one malformed event must not silence a platform for good."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from bots.bot import Bot
from contract import Chosen, Event, MootError
from gateway.subject import Subject, about, about_also

log = logging.getLogger("moot.app")

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0  # before a restart; doubles
STEADY_S = 60.0  # who ran so long may be restarted at once again


async def supervise(
    bot: Bot,
    receive: Callable[[Event, Bot], Awaitable[None]],
    restarted: Callable[[str], None] = lambda bot: None,
) -> None:
    """Run a bot, for ever. Its log lines tell which it is, and of which room they are.

    restarted: told its name each time it is begun anew.
    """
    with about(Subject(bot=bot.name)):
        await _supervise(bot, receive, restarted)


async def _supervise(
    bot: Bot, receive: Callable[[Event, Bot], Awaitable[None]], restarted: Callable[[str], None]
) -> None:
    async def take(event: Event) -> None:
        room = "" if isinstance(event, Chosen) else event.room.id
        with about_also(room=room):
            await receive(event, bot)

    wait_s = FIRST_WAIT_S
    while True:
        began = asyncio.get_running_loop().time()
        try:
            await bot.run(take)
            reason = "it returned"
        except MootError as error:
            reason = str(error)
        except Exception:  # a bot's supervisor restarts it whatever it died of
            log.exception("bot.crashed bot=%s", bot.name)
            reason = "it crashed"
        if asyncio.get_running_loop().time() - began > STEADY_S:
            wait_s = FIRST_WAIT_S
        log.error("bot.restart bot=%s in_s=%g reason=%s", bot.name, wait_s, reason)
        restarted(bot.name)
        await asyncio.sleep(wait_s)
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)
