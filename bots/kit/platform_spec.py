"""A platform's description of itself: its table in moot.toml, its secrets, its form, its bot."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from bots.bot import Bot
from bots.kit.platform_bot import BotSetup
from bots.kit.slash import SlashCommand
from contract.errors import ConfigError
from contract.values import dataclass


def _address(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError(f"{value!r} is not an address, e.g. https://chat.example.org")
    return value.rstrip("/")


Url = Annotated[str, AfterValidator(_address)]


class BotTable(BaseModel):
    """The keys of every platform's [[bots]] table. Secrets stand in the environment, never here.

    name: default the platform's; each bot has its own. personas: the first one answers when no name
    was said. require_mention: false: it answers every message of its rooms. file_mb: the largest
    file of people's that is kept, in 10^6 bytes; None: what suits the platform.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    platform: str
    name: str | None = None
    personas: Annotated[tuple[str, ...], Field(min_length=1)]
    require_mention: bool = True
    file_mb: Annotated[int, Field(ge=1, le=1000)] | None = None

    @property
    def own_name(self) -> str:
        """The name that no other bot has."""
        return self.name or self.platform


# ── What the gateway hands over ─────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Secrets:
    """A bot's secrets, each by the name of its variable.

    find: KEY_<BOT NAME>, else KEY. find_own: KEY_<BOT NAME> alone, which no other bot has. fields:
    what is known of each by its key.
    """

    bot: str
    find: Callable[[str], str | None]
    find_own: Callable[[str], str | None]
    fields: Mapping[str, SecretField] = field(default_factory=dict)

    def required(self, key: str) -> str:
        """Raises ConfigError when it isn't set, or can't be right."""
        if (value := self.find(key)) is None:
            title = f": {self.fields[key].title}" if key in self.fields else ""
            raise ConfigError(
                f"bots ({self.bot}): set {key} in the environment, or in moot.env beside "
                f"moot.toml{title}"
            )
        return self._sound(key, value)

    def optional(self, key: str) -> str:
        """ "" when it isn't set. Raises ConfigError when it can't be right."""
        value = self.find(key)
        return "" if value is None else self._sound(key, value)

    def _sound(self, key: str, value: str) -> str:
        if key in self.fields and (fault := self.fields[key].fault(value)):
            raise ConfigError(f"bots ({self.bot}): {fault}")
        return value


@dataclass(frozen=True, slots=True)
class Host:
    """The gateway around a bot.

    listen: host and port of its server, 0: not known yet. is_listed: whether somebody, by their
    sender id, is listed under [access]; anyone_listed: whether there is anybody. is_owner: whether
    somebody is an owner of the whole house.
    """

    secrets: Secrets
    commands: Sequence[SlashCommand] = ()
    listen: tuple[str, int] = ("127.0.0.1", 0)
    is_listed: Callable[[str], bool] = field(default=lambda _: False)
    anyone_listed: bool = False
    is_owner: Callable[[str], bool] = field(default=lambda _: False)


# ── `moot init` ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class SecretField:
    """One variable. looks: what a right one matches, so that two are not mixed up."""

    key: str
    title: str
    looks: str = r"\S+"
    hidden: bool = True

    def fault(self, value: str) -> str:
        """The reason why it can't be right, without repeating it; "": it can."""
        if re.fullmatch(self.looks, value):
            return ""
        return f"{self.key} looks wrong: it is {self.title}"


@dataclass(frozen=True, slots=True)
class Login:
    """One way to log in. table: what it adds to the platform's table."""

    title: str
    fields: tuple[SecretField, ...]
    table: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SetupForm:
    """The questions of `moot init`, and its words at the end.

    prefix: begins the ids of its people. person: such an id, and where one finds it. person_looks:
    what it matches after the prefix. invite: how a
    bot comes into a room. url_key: the key of its table that takes an address; needs_url: there is
    no default for it; url_end: the end of an address that people leave out. open_to_all: what its
    table needs where everybody may ask and no one is listed.
    """

    logins: tuple[Login, ...]
    prefix: str
    person: str
    invite: str
    person_looks: str = r"\S+"
    url_key: str = "url"
    needs_url: bool = True
    url_end: str = ""
    open_to_all: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlatformSpec:
    """A platform. name: `platform` in moot.toml. title: its name to people.

    make: its bot. It imports the bot when it is called: a platform's library takes up to 0.5 s.
    sign_in: signs a bot in by somebody's browser, and returns the account's id. It is told how to
    say where; None: secrets alone sign in.
    """

    name: str
    title: str
    table: type[BotTable]
    form: SetupForm
    make: Callable[[BotSetup, Any, Host], Bot]
    sign_in: Callable[[BotSetup, Any, Callable[[str], None]], Awaitable[str]] | None = None

    @property
    def docs(self) -> str:
        """The page that shows its setup step by step."""
        return f"docs/{self.name}.md"
