"""A new bot from the platform's own form: its table, its secrets, what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bots.kit.platform_spec import Login, PlatformSpec
from bots.platforms import SPECS
from contract.language import say
from gateway.settings.config import Config, own_key
from gateway.web.settings.values import (
    BotSettings,
    LoginView,
    NewBot,
    PlatformView,
    SecretView,
    Unfit,
)

_ADDRESS = re.compile(r"https?://[^\s/]+\S*")
_NAME = re.compile(r"[a-z][a-z0-9_-]*")


def platform_views() -> Sequence[PlatformView]:
    """The form of every platform."""
    return [
        PlatformView(
            name,
            spec.title,
            spec.form.needs_url,
            [LoginView(login.title, _fields(login)) for login in spec.form.logins],
            spec.form.person,
            spec.docs,
        )
        for name, spec in SPECS.items()
    ]


def _fields(login: Login) -> Sequence[SecretView]:
    return [SecretView(one.key, one.title, one.hidden) for one in login.fields]


def bot_views(config: Config) -> Sequence[BotSettings]:
    """The bots that moot.toml names."""
    return [
        BotSettings(bot.own_name, bot.platform, bot.personas, bot.require_mention)
        for bot in config.bots
    ]


def table_of(new: NewBot, config: Config) -> dict[str, Any]:
    """Its [[bots]] table. Raises Unfit."""
    spec, login = _checked(new, config)
    table: dict[str, Any] = {"platform": new.platform}
    if new.name:
        table["name"] = new.name
    table["personas"] = list(new.personas)
    if new.url:
        end = spec.form.url_end
        table[spec.form.url_key] = new.url.rstrip("/").removesuffix(end) + end
    if not new.require_mention:
        table["require_mention"] = False
    if config.access.rooms == "open" and not config.access.owners | config.access.people:
        table |= spec.form.open_to_all
    return table | dict(login.table)


def secrets_of(new: NewBot) -> dict[str, str]:
    """Its secrets, each by the variable that is its own."""
    return {own_key(key, new.name or None): value for key, value in new.secrets.items() if value}


def _checked(new: NewBot, config: Config) -> tuple[PlatformSpec, Login]:
    """The platform and the way in. Raises Unfit: what is wrong with each field."""
    spec = SPECS.get(new.platform)
    if spec is None:
        raise Unfit(
            {"new_bot.platform": say("there is no platform {name}", name=repr(new.platform))}
        )
    faults: dict[str, str] = {}
    taken = {bot.own_name for bot in config.bots}
    if new.name and not _NAME.fullmatch(new.name):
        faults["new_bot.name"] = say("a lower case letter, then letters, digits, - and _")
    elif (new.name or new.platform) in taken:
        faults["new_bot.name"] = say("is taken; give each bot a name of its own")
    if not new.personas:
        faults["new_bot.personas"] = say("choose who answers there")
    if (spec.form.needs_url or new.url) and not _ADDRESS.fullmatch(new.url):
        faults["new_bot.url"] = say("must be an address, e.g. https://chat.example.org")
    if new.login >= len(spec.form.logins):
        raise Unfit({"new_bot.login": say("there is no such way to log in")})
    login = spec.form.logins[new.login]
    faults |= {f"new_bot.secrets.{key}": why for key, why in _of_secrets(new.secrets, login)}
    if faults:
        raise Unfit(faults)
    return spec, login


def _of_secrets(secrets: Mapping[str, str], login: Login) -> Iterator[tuple[str, str]]:
    """The names of those that are wrong, and why."""
    for key in secrets.keys() - {one.key for one in login.fields}:
        yield key, say("is none of its secrets")
    for one in login.fields:
        value = secrets.get(one.key, "")
        if not value:
            yield one.key, say("is needed: {what}", what=one.title)
        elif wrong := one.fault(value):
            yield one.key, wrong
