"""The bots that moot.toml names, and the page's. A platform is imported when it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bots.bot import Bot, SecretSink, forget
from bots.kit.platform_bot import BotSetup
from bots.kit.platform_spec import BotTable, Host, PlatformSpec, Secrets
from bots.kit.slash import SlashCommand, SlashOption, Suggest
from bots.platforms import SPECS
from bots.web import WebBot
from contract.chat import Room, Speaker
from contract.errors import ConfigError
from contract.values import dataclass
from gateway.access.access import Access
from gateway.app.bot_states import GATEWAY, BotKeys, BotStates
from gateway.commands.model import DEFAULT
from gateway.core.addressing import named
from gateway.core.command_spec import Argument
from gateway.core.command_table import TABLE
from gateway.core.redaction import Redactor
from gateway.settings.access import EVERYBODY
from gateway.settings.config import Config, located, own_key, own_secret, secret
from gateway.settings.env_file import env_file
from gateway.settings.personas.personas import Persona, Personas
from store.database import Store
from store.opening import parsed_address

if TYPE_CHECKING:
    from gateway.settings.editing.following import TableFollower


@dataclass(frozen=True, slots=True)
class ArgumentSuggestions:
    """Values of commands' arguments, as they are now, for somebody in a room.

    served: names of the personas of the account.
    """

    personas: Personas
    access: Access
    served: Sequence[str]

    def commands(self) -> tuple[SlashCommand, ...]:
        """Every command, with what its arguments suggest."""
        return tuple(
            SlashCommand(
                entry.name, entry.says, tuple(self._option(entry.name, a) for a in entry.arguments)
            )
            for entry in TABLE
        )

    def _option(self, command: str, told: Argument) -> SlashOption:
        suggest = None if told.choices else self._suggest(command, told.name)
        return SlashOption(told.name, told.says, told.required, told.choices, suggest)

    def _suggest(self, command: str, argument: str) -> Suggest | None:
        def names(room: Room, by: Speaker) -> list[str]:
            return [persona.name for persona in self._theirs(command, room, by)]

        def models(room: Room, by: Speaker) -> list[str]:
            told = [persona.front.model for persona in self._theirs(command, room, by)]
            return [*dict.fromkeys(filter(None, told)), DEFAULT] if told else []

        return {"persona": names, "model": models}.get(argument)

    def _theirs(self, command: str, room: Room, by: Speaker) -> list[Persona]:
        """The personas with whom somebody may use a command."""
        here = self.personas.of(self.served)
        return [one for one in here if self.access.may(command, room, by, one.name)]


def make_bots(
    config: Config,
    environment: Mapping[str, str],
    personas: Personas,
    access: Access | None = None,
    learned: SecretSink = forget,
    states: BotStates | None = None,
) -> dict[str, Bot]:
    """Every bot by its name; "web" is the page's. Raises ConfigError: a line for each
    secret that is missing or can't be right.

    access: with the roles that are kept; without it moot.toml's are known. learned: told of the
    secrets that a login gives. states: without them no bot can run.
    """
    access = access or Access(config.access)
    bots: dict[str, Bot] = {"web": WebBot(personas.names)}
    mistakes: dict[str, None] = {}
    logins: dict[tuple[str | None, ...], str] = {}
    for number, table in enumerate(config.bots):
        name, spec = table.own_name, SPECS[table.platform]
        if name in bots:
            where = located(config, ("bots", number, "name"))
            mistakes[f"{where}: {name!r} is taken; give each bot its own name"] = None
            continue
        setup = _setup(name, table, config, personas, learned, states)
        commands = ArgumentSuggestions(personas, access, table.personas).commands()
        host = _host(name, spec, config, environment, access, commands)
        login = _login(table, spec, host.secrets)
        if (other := logins.setdefault(login, name)) != name:
            where = located(config, ("bots", number))
            told = f"{where}: {name!r} has the login of {other!r}: {_own_login(host, name)}"
            mistakes[told] = None
            continue
        try:
            bots[name] = spec.make(setup, table, host)
        except ConfigError as error:  # the others' are told as well
            mistakes[error.say] = None
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    return bots


def _login(table: BotTable, spec: PlatformSpec, secrets: Secrets) -> tuple[str | None, ...]:
    """As whom a bot logs in, and where. Without any secret it is one of its own."""
    found = tuple(secrets.find(key) for key in sorted(secrets.fields))
    where = getattr(table, spec.form.url_key or "", None)
    alone = None if any(found) else table.name
    return (table.platform, str(where), alone, *found)


def _own_login(host: Host, name: str) -> str:
    key = own_key(next(iter(host.secrets.fields), "TOKEN"), name)
    return (
        f"give it an account of its own, {key}=… in moot.env, or let one bot have all the personas"
    )


def states_of(config: Config) -> BotStates:
    """What bots keep; on a server also their logins and keys."""
    folder = config.gateway.data_dir / "bots"
    alone = parsed_address(config.store_url).get_backend_name() == "sqlite"
    return BotStates(folder, None if alone else BotKeys(config.store_url, folder))


def make_table_follower(
    config: Config,
    store: Store,
    environment: MutableMapping[str, str] | None,
    redactor: Redactor,
    personas: Personas | None = None,
) -> TableFollower | None:
    """Of a database on which several gateways may lead. environment: what bots and agents are
    made with; None: nothing of that is made.
    personas: see `make_bots`; None: the bots run already."""
    states = states_of(config)
    if states.keys is None or config.file is None or environment is None:
        return None
    from gateway.settings.editing.following import TableFollower, no_fault  # they bring tomlkit
    from gateway.settings.editing.secrets import LoginEnvironment, SecretFollower

    def fault(tables: Mapping[str, Any], known: Personas) -> str:
        try:
            make_bots(config.model_copy(update=dict(tables)), environment, known)
        except ConfigError as error:
            return error.say
        return ""

    states.open(store)
    leads, data_dir = not store.read_only, config.gateway.data_dir
    return TableFollower(
        states.of(GATEWAY),
        SecretFollower(
            states.keys.of(GATEWAY),
            LoginEnvironment(environment, redactor.learn),
            leads=leads,
            file=env_file(config.file, config.file.parent),
            data_dir=data_dir,
        ),
        leads=leads,
        file=config.file,
        data_dir=data_dir,
        fault=no_fault if personas is None else partial(fault, known=personas),
    )


async def sign_in(
    config: Config, name: str, personas: Personas, say: Callable[[str], None], learned: SecretSink
) -> str:
    """Sign a bot in by somebody's browser; return the account's id there. Raises ConfigError."""
    for table in config.bots:
        if table.own_name == name:
            spec = SPECS[table.platform]
            if spec.sign_in is None:
                raise ConfigError(f"{spec.title} needs no sign-in: see {spec.docs}")
            return await spec.sign_in(_setup(name, table, config, personas, learned), table, say)
    raise ConfigError(f"no bot is called {name!r}: see [[bots]] in moot.toml")


def _setup(
    name: str,
    table: BotTable,
    config: Config,
    personas: Personas,
    learned: SecretSink,
    states: BotStates | None = None,
) -> BotSetup:
    data_dir, served = config.gateway.data_dir, table.personas
    states = states or states_of(config)
    return BotSetup(
        name=name,
        personas=served,
        files_dir=data_dir / "files",
        own_dir=data_dir / "bots" / name,
        states=states.of(name),
        kept_secrets=states.keys.of(name) if states.keys is not None else None,
        require_mention=table.require_mention,
        max_file_bytes=table.file_mb and table.file_mb * 1_000_000,
        is_named=lambda text: bool(named(text, personas.of(served))),  # as they are then
        secret_found=learned,
    )


def _host(
    name: str,
    spec: PlatformSpec,
    config: Config,
    environment: Mapping[str, str],
    access: Access,
    commands: Sequence[SlashCommand],
) -> Host:
    secrets = Secrets(
        name,
        find=lambda key: secret(environment, key, name),
        find_own=lambda key: own_secret(environment, key, name),
        fields={one.key: one for login in spec.form.logins for one in login.fields},
    )
    return Host(
        secrets,
        commands=commands,
        listen=config.gateway.webhooks_address or (config.gateway.host, config.gateway.port),
        is_listed=access.is_named,
        is_owner=lambda person_id: access.given(person_id) == "owner",
        anyone_listed=any(grant.people - {EVERYBODY} for grant in access.configured),
    )
