"""Connects agents while Moot runs: tried for real, then written, without a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Literal

from adapters.cli.hooks import HookListener
from contract.chat import Room, Speaker
from contract.errors import Busy, ConfigError, Rejected
from contract.language import later
from contract.values import dataclass
from gateway.personas.service import PersonaService
from gateway.settings.config import Config
from gateway.settings.editing.files import File, read, write_all
from gateway.settings.env_file import env_file, set_values
from gateway.settings.personas.faults import Unknown
from gateway.settings.personas.files import check_name
from gateway.setup.agents import SHARED_HOME, KnownAgent, known_agent, known_agents
from gateway.setup.connection import Connection
from gateway.setup.folder import look_at, suggested
from gateway.setup.trial import Tried, try_persona

Way = Literal["key", "shared", "own"]
"""How an agent logs in: by a key, by a copy of the login of this account's HOME, or as it does."""


@dataclass(frozen=True, slots=True)
class Connected:
    """A persona as it is connected now; "": none."""

    name: str
    agent: str
    workspace: str
    shares_login: bool


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody filled in. key, value: a variable, where the way is a key. workspace: "": an
    empty folder of its own."""

    persona: str
    agent: str
    way: Way
    key: str = ""
    value: str = ""
    workspace: str = ""


class Connecting:
    """environment: that agents are started with; a key that is kept is put into it, so that the
    next session has it. learn: told what is never to be shown. kept: called after that, for other
    machines."""

    def __init__(
        self,
        config: Config,
        environment: MutableMapping[str, str],
        hooks: HookListener,
        personas: PersonaService,
        learn: Callable[[str], None],
        kept: Callable[[], Awaitable[None]],
    ) -> None:
        self._config = config
        self._environment = environment
        self._hooks = hooks
        self._personas = personas
        self._learn = learn
        self._kept = kept
        self._trial = asyncio.Lock()

    def agents(self) -> list[KnownAgent]:
        """Every agent that a persona can be given."""
        return known_agents(self._config, self._environment)

    async def personas(self) -> list[Connected]:
        """Every persona whose file can be used."""
        fronts = [(one.name, one.checked.front) for one in await self._personas.sheets()]
        return [
            Connected(name, front.agent, str(front.workspace or ""), front.login is not None)
            for name, front in fronts
            if front is not None
        ]

    def folder(self) -> str:
        """The folder that is proposed; "": none."""
        return str(suggested(self._config, Path.cwd()) or "")

    async def try_out(self, wish: Wish) -> Tried:
        """Ask one question for real; nothing is written. Raises Rejected, ConfigError, Busy."""
        if self._trial.locked():
            raise Busy("another agent is being tried; wait for its answer")
        async with self._trial:
            connection, (now, _) = self._checked(wish), await self._file(wish.persona)
            environment = {**self._environment, **connection.secrets}
            persona = connection.as_persona(now)
            return await try_persona(persona, self._config, environment, self._hooks)

    async def save(self, wish: Wish, by: Speaker, room: Room) -> str:
        """Write the persona's file, and the key into moot.env; the text of the file.

        Raises Rejected, ConfigError.
        """
        connection, (now, base) = self._checked(wish), await self._file(wish.persona)
        text = connection.text(now)
        if connection.secrets:
            await asyncio.to_thread(self._keep, connection)
            await self._kept()
        if text != now:
            await self._personas.save(wish.persona, text, base, by, room=room)
        return text

    def _checked(self, wish: Wish) -> Connection:
        try:
            check_name(wish.persona)
        except ConfigError as error:
            raise Rejected("persona", error.say) from None
        try:
            known = known_agent(wish.agent, self._config, self._environment)
        except ConfigError as error:
            raise Rejected("agent", error.say) from None
        if not known.installed:
            raise Rejected(
                "agent",
                later("{title} is not here. {remedy}", title=known.title, remedy=known.remedy),
            )
        secrets = {wish.key: self._value(wish, known)} if wish.way == "key" else {}
        front: dict[str, str | None] = {}
        if wish.way != "own":
            front["login"] = SHARED_HOME if wish.way == "shared" else None
        if wish.way == "shared" and not known.shares:
            raise Rejected(
                "way",
                later("{title} has no login in the HOME of Moot's account", title=known.title),
            )
        if known.works_in_folder:
            front["workspace"] = wish.workspace or None
            if wish.workspace and (fault := look_at(wish.workspace, self._config).fault):
                raise Rejected("workspace", fault)
        return Connection(wish.persona, wish.agent, front, secrets)

    def _value(self, wish: Wish, known: KnownAgent) -> str:
        if wish.key not in known.keys:
            raise Rejected(
                "key", later("{title} takes no {key}", title=known.title, key=repr(wish.key))
            )
        if not wish.value or not wish.value.isascii() or not wish.value.isprintable():
            raise Rejected(
                "value", later("{key} is one line of letters, digits and signs", key=wish.key)
            )
        self._learn(wish.value)
        return wish.value

    async def _file(self, name: str) -> tuple[str | None, str]:
        """The persona's text and its base; None: there is none."""
        try:
            sheet = await self._personas.sheet(name)
        except Unknown:
            return None, ""
        return (None, "") if sheet.state == "deleted" else (sheet.text, sheet.base)

    def _keep(self, connection: Connection) -> None:
        """Raises ConfigError."""
        path = env_file(self._config.file, self._config.gateway.data_dir.parent)
        before = read(path)
        text = set_values(before or "", connection.secrets)
        write_all([File(path, text, before, mode=0o600)])
        self._environment.update(connection.secrets)
