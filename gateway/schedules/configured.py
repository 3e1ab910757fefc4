"""[[schedules]] of moot.toml as schedules."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

import structlog

from bots.bot import Bot
from contract.chat import Speaker
from gateway.schedules.scheduled import CONFIGURED, Schedule
from gateway.settings.cron import Cron
from gateway.settings.schedules import ScheduleTable, read_configured

log = structlog.stdlib.get_logger("moot.schedules")


def configured(
    table: ScheduleTable, bots: Mapping[str, Bot], zone: ZoneInfo, now: datetime
) -> Schedule | None:
    """A new one; None: no bot can post it. zone: where the table names none."""
    name = table.timezone or zone.key
    source = table.room.partition(":")[0]
    bot = bot_for(bots, source, table.persona)
    if table.bot is not None:
        bot = table.bot if table.bot in bots else None
    if bot is None:
        log.warning("schedule.no_bot", room=table.room, persona=table.persona)
        return None
    words, cron = read_configured(table, ZoneInfo(name), now)
    return Schedule(
        key=key_of(table),
        room_id=table.room,
        thread_id=table.thread,
        bot=bot,
        persona=table.persona,
        words=words,
        cron=cron,
        timezone=name,
        text=table.text,
        missed=table.missed,
        by=Speaker(f"{source}:{CONFIGURED}", CONFIGURED, "human"),
        created_at=now,
        due_at=Cron(cron, ZoneInfo(name)).after(now),
    )


def bot_for(bots: Mapping[str, Bot], source: str, persona: str) -> str | None:
    """The name of the bot that speaks for a persona on a platform, or of any there; or None."""
    served = [bot for bot in bots.values() if bot.platform == source]
    own = [bot for bot in served if persona in bot.personas]
    return next((bot.name for bot in own or served), None)


def key_of(table: ScheduleTable) -> str:
    """The parts whose change makes it another schedule; its bot and `missed` are not among them."""
    parts = (table.room, table.thread or "", table.persona, table.when, table.timezone or "")
    return "\n".join((*parts, table.text))
