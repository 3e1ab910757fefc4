"""The part of `moot check` that asks the platforms. It changes nothing there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from bots.bot import Bot
from contract.errors import ConfigError, MootError
from gateway.app.platforms import make_bots
from gateway.cli.doctor.check import CheckFinding
from gateway.settings.config import Config
from gateway.settings.personas.personas import Personas

ASKED_S = 10.0
LETS_IN = "it lets Moot in"


async def check_platforms(config: Config, environment: Mapping[str, str]) -> list[CheckFinding]:
    """Missing rights and settings, as every configured bot's platform reports them.

    Nothing where a bot can't even be made: the configuration's own check has said why.
    """
    try:
        bots = make_bots(config, environment, Personas(config.personas_folder))
    except ConfigError:
        return []
    return await ask_platforms([bot for bot in bots.values() if bot.platform != "web"])


async def ask_platforms(bots: Iterable[Bot], *, within_s: float = ASKED_S) -> list[CheckFinding]:
    """Ask them all at once; a refusal, or no answer within the time, is a mistake."""
    asked = await asyncio.gather(*(_ask(bot, within_s) for bot in bots))
    return [finding for found in asked for finding in found]


async def _ask(bot: Bot, within_s: float) -> list[CheckFinding]:
    try:
        async with asyncio.timeout(within_s):
            lines = await bot.check()
    except TimeoutError:
        return [CheckFinding(f"{bot.name}: no answer within {within_s:g} s", True)]
    except MootError as error:
        return [CheckFinding(f"{bot.name}: {error.say}", True)]
    return [
        CheckFinding(f"{bot.name}: {line}", warning=line != LETS_IN) for line in lines or (LETS_IN,)
    ]
