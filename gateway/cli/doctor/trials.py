"""Tries a platform's bot or an agent for real, and leaves nothing behind: for init and doctor."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from adapters.catalog import profiles
from bots.bot import Bot
from contract.errors import MootError
from gateway.app.platforms import make_bots
from gateway.cli.doctor.check import CheckFinding
from gateway.cli.doctor.platform_check import ask_platforms
from gateway.cli.doctor.preflight import AgentHealth, Preflight
from gateway.sessions.api_programs import API_PROGRAMS, KEY
from gateway.settings.config import Config
from gateway.settings.personas.personas import Personas
from gateway.settings.tables import AgentTable


async def try_bot(
    config: Config, number: int, environment: Mapping[str, str]
) -> Sequence[CheckFinding]:
    """The report of one [[bots]] table's platform. A MootError is a finding, too."""
    alone = config.model_copy(update={"bots": (config.bots[number],)})
    try:
        bots: list[Bot] = list(
            make_bots(alone, environment, Personas(config.personas_folder)).values()
        )
    except MootError as error:
        return [CheckFinding(error.say, True)]
    return await ask_platforms([bot for bot in bots if bot.platform != "web"])


async def try_agents(
    config: Config, environment: Mapping[str, str], names: Sequence[str] = (), *, asks: bool
) -> list[AgentHealth]:
    """Each of these agents, or all that can be named; nothing is left behind on disk."""
    with tempfile.TemporaryDirectory(prefix="moot-init-") as folder:
        gateway = config.gateway.model_copy(update={"data_dir": Path(folder)})
        elsewhere = config.model_copy(update={"gateway": gateway})
        async with Preflight.open(elsewhere, environment) as preflight:
            wanted = names or preflight.names()
            return [await preflight.examine(name, _quietly, asks=asks) for name in wanted]


def _quietly(name: str, what: str) -> None:
    """Nobody watches the progress."""


def keys_of(agent: str, config: Config) -> list[str]:
    """The variables with which the agent logs in, the usual one first."""
    profile = config.agents.get(agent, AgentTable(profile=agent)).profile
    if profile in API_PROGRAMS:
        return [KEY]
    passes = profiles()[profile].passes if profile in profiles() else ()
    return [key for key in passes if key.endswith(("_API_KEY", "_AUTH_TOKEN", "_OAUTH_TOKEN"))]
