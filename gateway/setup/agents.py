"""The agents that a persona can be given, and how each comes in: its program and its login."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from adapters.api.session import TITLE
from adapters.catalog import find_program, profiles
from adapters.profiles.demo import DEMO
from contract.errors import ConfigError
from contract.language import say
from contract.values import dataclass
from gateway.sessions.api_programs import API_PROGRAMS, HINT, KEY
from gateway.sessions.programs import agent_names, make_profile
from gateway.settings.config import Config
from gateway.settings.env_file import LOGIN_ENDS
from gateway.settings.tables import AgentTable

SHARED_HOME = "~"
"""The HOME of this account, as `login` names it."""


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """An agent, for whoever connects it.

    install: the line to paste; needs: what must be there for it. remedy: a sentence that says how
    to get the program. keys: variables that it logs in with, the usual one first. has_key: one of
    them is known. shares: a login of its program was found in this account's HOME. login: a
    sentence about its logins. works_in_folder: it opens files.
    """

    name: str
    title: str
    installed: bool
    install: str = ""
    needs: str = ""
    remedy: str = ""
    keys: tuple[str, ...] = ()
    has_key: bool = False
    shares: bool = False
    login: str = ""
    works_in_folder: bool = True


def known_agents(config: Config, environment: Mapping[str, str]) -> list[KnownAgent]:
    """Every agent that can be named; those that can't be used as they stand are left out."""
    found = []
    for name in agent_names(config.agents):
        try:
            found.append(known_agent(name, config, environment))
        except ConfigError:
            continue
    return found


def known_agent(name: str, config: Config, environment: Mapping[str, str]) -> KnownAgent:
    """The agent of that name. Raises ConfigError."""
    table = config.agents.get(name, AgentTable(profile=name))
    keys = tuple(login_keys(name, config))
    has_key = any(environment.get(key) or table.env.get(key) for key in keys)
    if table.profile in API_PROGRAMS:
        return KnownAgent(
            name, TITLE, True, keys=keys, has_key=has_key, login=str(HINT), works_in_folder=False
        )
    profile = make_profile(name, table)
    setup, home = profile.setup, environment.get("HOME", "")
    path = find_program(profile, table.command, environment.get("PATH", ""))
    return KnownAgent(
        name,
        profile.title,
        installed=path is not None,
        install="" if table.command else setup.install,
        needs=setup.needs,
        remedy=str(setup.remedy),
        keys=keys,
        has_key=has_key,
        shares=bool(home) and any((Path(home) / file).is_file() for file in setup.logins),
        login=say(setup.login),
        works_in_folder=profile is not DEMO,
    )


def login_keys(agent: str, config: Config) -> list[str]:
    """The variables with which the agent logs in, the usual one first."""
    profile = config.agents.get(agent, AgentTable(profile=agent)).profile
    if profile in API_PROGRAMS:
        return [KEY]
    passes = profiles()[profile].environment.passes if profile in profiles() else ()
    return [key for key in passes if key.endswith(LOGIN_ENDS)]
