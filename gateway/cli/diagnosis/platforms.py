"""Checks that ask the bots' platforms. They change nothing there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from bots.bot import Bot
from contract.errors import ConfigError, MootError
from gateway.app.platforms import make_bots
from gateway.cli.diagnosis.finding import Finding, Installation
from gateway.settings.config import Config
from gateway.settings.personas.personas import Personas

ASKED_S = 10.0
LETS_IN = "it lets Moot in"


async def check_platforms(of: Installation) -> list[Finding]:
    """Every configured bot's platform is asked for what the bot lacks there.

    Nothing is found where a bot can't be made: the configuration's own check has said why.
    """
    try:
        bots = make_bots(of.config, of.environment, of.personas)
    except ConfigError:
        return []
    return await ask_platforms(bots.values())


async def try_bot(config: Config, number: int, environment: Mapping[str, str]) -> list[Finding]:
    """Ask the platform of one [[bots]] table; that the bot can't be made is a finding too."""
    alone = config.model_copy(update={"bots": (config.bots[number],)})
    try:
        bots = make_bots(alone, environment, Personas(config.gateway.personas_folder))
    except MootError as error:
        return [Finding("✗", "platform", error.say)]
    return await ask_platforms(bots.values())


async def ask_platforms(bots: Iterable[Bot], *, within_s: float = ASKED_S) -> list[Finding]:
    """Ask all but the page at once; a refusal, or no answer within the time, is a mistake."""
    asked = await asyncio.gather(*(_ask(bot, within_s) for bot in bots if bot.platform != "web"))
    return [finding for found in asked for finding in found]


async def _ask(bot: Bot, within_s: float) -> list[Finding]:
    try:
        async with asyncio.timeout(within_s):
            lines = await bot.check()
    except TimeoutError:
        return [Finding("✗", "platform", f"{bot.name}: no answer within {within_s:g} s")]
    except MootError as error:
        return [Finding("✗", "platform", f"{bot.name}: {error.say}")]
    return [
        Finding("✓" if line == LETS_IN else "⚠", "platform", f"{bot.name}: {line}")
        for line in lines or (LETS_IN,)
    ]
