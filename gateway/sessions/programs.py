"""Programs that a persona's `agent` stands for: a profile or an API, with moot.toml's settings."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from adapters.agent import ACP_SESSION, Agent, Driver, Launch
from adapters.catalog import find_program, names, profile_named, profiles
from adapters.profiles import GENERIC
from adapters.sandbox.relay import Allowed
from contract.errors import AgentError, ConfigError
from contract.language import Phrase, later
from gateway.sessions.api_programs import API_PROGRAMS
from gateway.sessions.sessions import AgentProgram
from gateway.settings.env_file import passed_on
from gateway.settings.mistakes.words import place_of, reason_of
from gateway.settings.tables import AgentTable

if TYPE_CHECKING:  # what drives a program is imported when the first one starts
    from adapters.acp.session import AcpAgent
    from adapters.cli.hooks import HookListener
    from adapters.cli.session import CliAgent
    from adapters.cli_profile import Profile
    from llm.client import ApiConnections


class Programs:
    """Agents by name: those of [agents.NAME], and every profile under its own name."""

    def __init__(
        self,
        tables: Mapping[str, AgentTable],
        environment: Mapping[str, str],
        hooks: HookListener,
        connections: ApiConnections | None = None,
    ) -> None:
        """connections: that agents share which are called by API; None: each has its own."""
        self._connections = connections
        self._tables = tables
        self._environment = environment
        self._hooks = hooks
        self._not_ready: dict[str, float] = {}  # when a start failed last for want of its signs

    def __call__(self, name: str) -> AgentProgram:
        """The program of that name. One that can't be had says why in its hint."""
        table = self._tables.get(name, AgentTable(profile=name))
        try:
            if by_api := API_PROGRAMS.get(table.profile):
                return by_api(name, table, self._environment, self._connections)
            profile = make_profile(name, table)
        except ConfigError as error:
            return _unknown(name, str(error))
        environment = self.environment_of(profile, table)
        path = find_program(profile, table.command, self._environment.get("PATH", ""))

        async def start(launch: Launch) -> Agent:
            filled = replace(
                launch,
                command=() if table.profile == GENERIC else table.command,
                env=tuple(environment.items()),
                login=launch.login or table.login,
            )
            return await self._started(name, profile, filled, launch.driver or table.driver)

        return AgentProgram(
            name=name,
            title=profile.title,
            agent=profile.agent,
            available=path is not None,
            hint=profile.setup.remedy,
            open=start,
            workspace=table.workspace,
            context_tokens=profile.model.context_tokens,
            resumes=bool(profile.program.resume) or table.driver == "acp",
            takes_model=profile.takes_model or table.driver == "acp",
            own_model="" if table.driver == "acp" else profile.model.own,
            hosts=_hosts(profile, environment),
            modes=frozenset() if table.driver == "acp" else frozenset(profile.modes),
            keeps=_kept(profile),
            upstream=next((environment[key] for key in PROXIES if environment.get(key)), ""),
        )

    async def _started(self, name: str, profile: Profile, launch: Launch, driver: Driver) -> Agent:
        """The agent, which takes prompts now."""
        agent = await self._agent(self._as_patient(name, profile), launch, driver)
        try:
            await agent.start()
        except BaseException as error:
            from adapters.cli.ready import NotReady

            if isinstance(error, NotReady):
                self._not_ready[name] = time.monotonic()
            await agent.close()
            raise
        self._not_ready.pop(name, None)
        return agent

    def _as_patient(self, name: str, profile: Profile) -> Profile:
        """The profile; after a start that stood still, the next ones are not waited for so long."""
        ready = profile.program.ready
        failed = self._not_ready.get(name, float("-inf"))
        if ready.still_s is None or time.monotonic() > failed + NOT_READY_S:
            return profile
        hasty = replace(ready, still_s=ready.still_s / 4)
        return replace(profile, program=replace(profile.program, ready=hasty))

    async def _agent(self, profile: Profile, launch: Launch, driver: Driver) -> CliAgent | AcpAgent:
        if driver == "acp":
            if say := without_acp(profile):
                raise AgentError("missing", f"{profile.name}: no ACP", say=say)
            acp_agent = await asyncio.to_thread(_import_acp)  # 0.3 s and 9 MB, where it is used
            return acp_agent(profile, launch)
        begun = launch.session_id or ""
        own = None if begun.startswith(ACP_SESSION) else launch.session_id
        cli_agent = await asyncio.to_thread(_import_cli)  # 60 modules
        return cli_agent(profile, replace(launch, session_id=own), self._hooks)

    def environment_of(self, profile: Profile, table: AgentTable) -> dict[str, str]:
        """See `environment_for`."""
        return environment_for(profile, table, self._environment)


def environment_for(
    profile: Profile, table: AgentTable, environment: Mapping[str, str]
) -> dict[str, str]:
    """The gateway's own variables that a program gets, and those that moot.toml adds."""
    return passed_on(environment, *profile.environment.passes) | table.env


def _kept(profile: Profile) -> tuple[str, ...]:
    """Its record, where that is files of one session's: a database can't be copied as it lies."""
    record = profile.signs.record
    own = record is not None and record.format == "jsonl" and "{session_id}" in record.glob
    return (record.glob,) if record is not None and own else ()


NOT_READY_S = 120.0  # a start that failed tells so long how the next one will go
PROXIES = ("HTTPS_PROXY", "https_proxy")


def _hosts(profile: Profile, environment: Mapping[str, str]) -> frozenset[Allowed]:
    """The hosts of its model's API: the profile's, and those of addresses in its variables."""
    named = {Allowed.parse(host) for host in profile.environment.hosts}
    urls = (value for key, value in environment.items() if not key.lower().endswith("_proxy"))
    return frozenset(named | {host for url in urls if (host := Allowed.of_url(url))})


def agent_names(tables: Mapping[str, AgentTable]) -> list[str]:
    """Every agent that a persona can name, those of moot.toml first."""
    known = [name for name in (*names(), *API_PROGRAMS) if name != GENERIC]
    return list(dict.fromkeys([*tables, *known]))


def make_profile(name: str, table: AgentTable) -> Profile:
    """The profile of [agents.`name`]. Raises ConfigError with the remedy."""
    if table.profile == GENERIC:
        return _described(name, table)
    profile = profile_named(table.profile)
    if profile is None:
        raise ConfigError(
            f"agents.{name}.profile: there is no {table.profile!r}; "
            f"known: {', '.join((*names(), *API_PROGRAMS))} "
            f"({GENERIC}: any terminal program, by its `command`)"
        )
    if table.settings:
        raise ConfigError(f"agents.{name}.settings: only the profile {GENERIC!r} has settings")
    return profile


def _import_cli() -> type[CliAgent]:
    from adapters.cli.session import CliAgent

    return CliAgent


def _import_acp() -> type[AcpAgent]:
    from adapters.acp.session import AcpAgent

    return AcpAgent


def without_acp(profile: Profile) -> Phrase | None:
    """The error when the program does not speak the Agent Client Protocol; None: it does."""
    if profile.acp.command:
        return None
    speaking = ", ".join(name for name, known in profiles().items() if known.acp.command)
    return later(
        "{title} does not speak the Agent Client Protocol: an administrator sets "
        '`driver` to "terminal" (those that speak it: {speaking}).',
        title=profile.title,
        speaking=speaking,
    )


def _described(name: str, table: AgentTable) -> Profile:
    """A program that moot.toml describes."""
    from adapters.profiles.generic import GenericSettings, generic_profile  # few describe one

    try:
        settings = GenericSettings.model_validate({"command": table.command, **table.settings})
    except ValidationError as error:
        first = error.errors()[0]
        where = place_of(first)
        inside = "command" if where == "command" else f"settings.{where}"
        raise ConfigError(f"agents.{name}.{inside}: {reason_of(first)}") from None
    return generic_profile(name, settings, str(table.settings.get("ready", "")))


def _unknown(name: str, reason: str) -> AgentProgram:
    hint = later(
        "Describe it under [agents.{name}] in moot.toml: {reason}.", name=name, reason=reason
    )
    say = later(
        "My agent {agent} is not set up: an administrator describes it under [agents.{name}].",
        agent=repr(name),
        name=name,
    )

    async def refuse(_launch: Launch) -> Agent:
        raise AgentError("missing", reason, say=say)

    return AgentProgram(name, name, f"{name} agent", False, hint, refuse)
