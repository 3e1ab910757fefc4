"""Keeps bots running: one malformed event must not silence a platform for good."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime

import structlog

from bots.bot import Bot
from contract.chat import Chosen, Event
from contract.errors import MootError
from gateway.core.clock import clock as system_clock
from gateway.core.log_context import LogContext, log_context, own_log_context
from gateway.observability.bot_health import BotHealth
from store.health import StoreRefusal

log = structlog.stdlib.get_logger("moot.app")

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0  # before a restart; doubles
LOOK_S = 0.1
STEADY_S = 60.0  # who ran so long may be restarted at once again


class Supervisor:
    """Starts bots again, and knows how each of them fares."""

    def __init__(
        self,
        bots: Iterable[Bot],
        *,
        changed: Callable[[], None] = lambda: None,
        clock: Callable[[], datetime] = system_clock,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """changed: told when a bot was started or has ended."""
        self.health: Mapping[str, BotHealth] = {bot.name: BotHealth(bot) for bot in bots}
        self._runs: dict[str, asyncio.Future[None]] = {}
        self._refused: set[str] = set()  # names of bots
        self._again: set[str] = set()  # those that are about to read again
        self._changed = changed
        self._clock = clock
        self._sleep = sleep

    async def connected(self, within_s: float) -> None:
        """Return once every bot has connected, at the latest after so long."""
        for _ in range(round(within_s / LOOK_S)):
            if all(one.up for one in self.health.values()):
                return
            await self._sleep(LOOK_S)

    async def run(self, bot: Bot, receive: Callable[[Event, Bot], Awaitable[None]]) -> None:
        """Run a bot, for ever. Its log lines tell which it is, and of which room they are."""
        with log_context(LogContext(bot=bot.name)):
            await self._run(bot, receive)

    async def _run(self, bot: Bot, receive: Callable[[Event, Bot], Awaitable[None]]) -> None:
        health = self.health[bot.name]

        async def hear(event: Event) -> None:
            health.event_at = self._clock()
            room = "" if isinstance(event, Chosen) else event.room.id
            try:
                with own_log_context(room=room):
                    await receive(event, bot)
            except StoreRefusal:
                self._refused.add(bot.name)
                raise

        wait_s = FIRST_WAIT_S
        while True:
            began = asyncio.get_running_loop().time()
            health.since = self._clock()
            self._changed()
            if (reason := await self._ran(bot, hear)) is None:
                continue
            if asyncio.get_running_loop().time() - began > STEADY_S:
                wait_s = FIRST_WAIT_S
            log.error("bot.restart", bot=bot.name, in_s=round(wait_s, 3), reason=reason)
            self._ended(health, reason)
            await self._sleep(wait_s)
            health.restarts += 1
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)

    async def _ran(self, bot: Bot, hear: Callable[[Event], Awaitable[None]]) -> str | None:
        """Run a bot until it ends; return why it did. None: it is to read again."""
        self._again.discard(bot.name)
        run = self._runs[bot.name] = asyncio.ensure_future(bot.run(hear))
        try:
            await run
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if bot.name not in self._again or (task is not None and task.cancelling()):
                raise
            log.info("bot.reads_again", bot=bot.name)
            return None
        except MootError as error:
            return str(error)
        except Exception:  # a bot's supervisor restarts it whatever it died of
            log.exception("bot.crashed", bot=bot.name)
            return "it crashed; the log says where"
        return "it returned"

    def read_again(self) -> None:
        """The database is back: a bot whose messages it refused connects again, and reads what was
        said after the last that was taken. Platforms give up telling it."""
        for name in self._refused:
            if (run := self._runs.get(name)) is not None and not run.done():
                self._again.add(name)
                run.cancel()
        self._refused.clear()

    def _ended(self, health: BotHealth, reason: str) -> None:
        health.since = None
        health.error = reason.splitlines()[0] if reason else "it ended"
        health.error_at = self._clock()
        self._changed()
