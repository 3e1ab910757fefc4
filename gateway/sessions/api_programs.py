"""Agents that are called by API: nothing to install, a key in the environment."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from adapters.agent import Agent, Launch
from adapters.api.session import TITLE, ApiAgent
from adapters.api.settings import ApiSettings
from contract.errors import AgentError, ConfigError
from contract.language import later
from gateway.sessions.sessions import AgentProgram
from gateway.settings.mistakes.words import place_of, reason_of
from gateway.settings.tables import AgentTable
from llm.client import API, ApiConnections

KEY = "ANTHROPIC_API_KEY"
URL = "ANTHROPIC_BASE_URL"
HINT = later("Set {key} in the environment that Moot is started with.", key=KEY)
SAY = later("I have no key for the {api}: an administrator sets {key}.", api=TITLE, key=KEY)


def anthropic_program(
    name: str,
    table: AgentTable,
    environment: Mapping[str, str],
    connections: ApiConnections | None = None,
) -> AgentProgram:
    """The Anthropic API, as [agents.`name`] has it. Raises ConfigError with the remedy.

    connections: that its sessions share; None: each has its own.
    """
    settings = _settings(name, table)
    env = {**environment, **table.env}
    key = env.get(KEY, "")

    async def start(launch: Launch) -> Agent:
        if not key:
            raise AgentError("login", f"{name}: no {KEY}", say=SAY)
        base_url = settings.base_url or env.get(URL) or API
        return await _started(
            ApiAgent(settings, launch, api_key=key, base_url=base_url, connections=connections)
        )

    return AgentProgram(
        name=name,
        title=TITLE,
        agent=f"{TITLE} agent",
        available=bool(key),
        hint=HINT,
        open=start,
        workspace=table.workspace,
        context_tokens=settings.context_tokens,
        typed=False,
        runs=False,
    )


async def _started(agent: ApiAgent) -> ApiAgent:
    try:
        await agent.start()
    except BaseException:
        await agent.close()
        raise
    return agent


API_PROGRAMS = {"anthropic": anthropic_program}
"""By the name of their profile."""


def _settings(name: str, table: AgentTable) -> ApiSettings:
    for key in ("command", "driver", "login"):
        if getattr(table, key) != AgentTable.model_fields[key].default:
            raise ConfigError(
                f"agents.{name}.{key}: the profile {table.profile!r} runs no program; leave it out"
            )
    try:
        return ApiSettings.model_validate(table.settings)
    except ValidationError as error:
        first = error.errors()[0]
        where = f"settings.{place_of(first)}".rstrip(".")
        known = f"; known here: {', '.join(ApiSettings.model_fields)}"
        hint = known if first["type"] == "extra_forbidden" else ""
        raise ConfigError(f"agents.{name}.{where}: {reason_of(first)}{hint}") from None
