"""The agent's part of `moot init`: its program, its login, its folder, one question for real."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from adapters.cli.hooks import HookListener
from contract.errors import ConfigError
from contract.values import dataclass
from gateway.cli.diagnosis.agents import try_agents
from gateway.cli.init.asking import Asker
from gateway.settings.config import Config
from gateway.setup.agents import SHARED_HOME, KnownAgent, known_agent, login_keys
from gateway.setup.connection import Connection
from gateway.setup.folder import look_at, suggested
from gateway.setup.trial import Tried, try_persona
from gateway.web.listening.listener import serving_hooks

NO_FOLDER = "none"
SHARING = (
    "  Its login is copied into each room's HOME; an agent can read the one that it works with, so "
    "let in only people who may use it."
)


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Those of the command line; empty: not given. workspace: NO_FOLDER: none."""

    agent: str = ""
    workspace: str = ""
    share_login: bool = False
    tries: bool = True


class AgentStep:
    """Asks until the agent has answered, or somebody goes on with it as it is."""

    def __init__(
        self,
        ask: Asker,
        options: AgentOptions,
        config: Callable[[], Config],
        environment: Mapping[str, str],
    ) -> None:
        self._ask = ask
        self._options = options
        self._config = config
        self._environment = environment
        self._refused: set[str] = set()

    def run(self, persona: str, text: str | None, usual: str) -> Connection:
        """The connection of the persona whose file has this text; None: it is new."""
        agent = self._options.agent or (usual if self._ask.quiet else self._choose(usual))
        connection = self._connected(Connection(persona, agent))
        while True:
            trouble = self._trouble(connection, text)
            if not trouble:
                return connection
            if self._ask.quiet:
                raise ConfigError(f"agent {connection.agent}: {trouble}")
            self._ask.say(f"  ✗ {connection.agent}: {trouble}")
            again = ("again", "try it again, when you have fixed that")
            others = [("folder", "choose another folder"), ("other", "choose another agent")]
            options = [again, *others, ("keep", "go on with it as it is")]
            match self._ask.choose("What now?", options, "--agent"):
                case "keep":
                    return connection
                case "other":
                    other = Connection(persona, self._choose(usual))
                    connection = self._connected(other)
                case "folder":
                    front = {**connection.front, **self._folder(self._known(connection.agent))}
                    connection = replace(connection, front=front)
                case _:
                    self._refused |= set(login_keys(connection.agent, self._config()))
                    folder = connection.front.get("workspace")
                    connection = self._connected(connection, folder=folder)

    def _connected(self, connection: Connection, *, folder: str | None = None) -> Connection:
        """With a login and a folder, where the agent takes them. folder: chosen already."""
        known = self._known(connection.agent)
        if not known.installed and not self._ask.quiet:
            known = self._installed(known)
        front, secrets = self._login(known)
        front |= {"workspace": folder} if folder else self._folder(known)
        return replace(connection, front=front, secrets=secrets)

    def _known(self, agent: str) -> KnownAgent:
        return known_agent(agent, self._config(), self._environment)

    # ── its program ─────────────────────────────────────────────────────────────────────

    def _choose(self, usual: str) -> str:
        self._ask.say("Looking for agents on this machine ...")
        healths = asyncio.run(try_agents(self._config(), self._environment, asks=False))
        healths.sort(key=lambda health: (health.name != usual, not health.installed))
        options = [
            (
                health.name,
                f"{health.name}: {health.title} {health.version.found or ''}".rstrip()
                + ("" if health.installed else " (not here yet)"),
            )
            for health in healths
        ]
        return self._ask.choose("Which agent runs it?", options, "--agent")

    def _installed(self, known: KnownAgent) -> KnownAgent:
        """Look again once somebody has pasted the line; Enter alone goes on without."""
        self._ask.say(f"{known.title} is not installed here.")
        if not known.install:
            self._ask.say(f"  {known.remedy}")
            return known
        needs = f" (it needs {known.needs})" if known.needs else ""
        self._ask.say(f"Paste this into another terminal{needs}:\n\n    {known.install}\n")
        self._ask.pause("Press Enter when it is done")
        return self._known(known.name)

    # ── its login ───────────────────────────────────────────────────────────────────────

    def _login(self, known: KnownAgent) -> tuple[dict[str, str | None], dict[str, str]]:
        """Keys of the persona's file, and variables."""
        keys = [key for key in known.keys if key not in self._refused]
        found = {key: value for key in keys if (value := self._environment.get(key))}
        if self._options.share_login:
            return {"login": SHARED_HOME}, {}
        if found or self._ask.quiet or not (known.keys or known.shares):
            for key in found:
                self._ask.say(f"  {key}: as in the environment or moot.env")
            return {}, found
        tokens = [key for key in known.keys[1:] if key.endswith("_OAUTH_TOKEN")]
        shared = (SHARED_HOME, f"the login that {known.title} has on this machine (a subscription)")
        options = [
            *([shared] if known.shares else []),
            *((key, f"a key: {key}") for key in known.keys[:1]),
            *((key, f"a subscription's token: {key}") for key in tokens),
            ("", "neither: it is set up already, or I do it later"),
        ]
        chosen = self._ask.choose(f"How does {known.title} log in?", options, "the environment")
        if chosen == SHARED_HOME:
            self._ask.say(SHARING)
            return {"login": SHARED_HOME}, {}
        if not chosen:
            self._ask.say(f"  {known.login}")
            return {}, {}
        return {"login": None}, {chosen: self._ask.secret(chosen, f"{chosen} in the environment")}

    # ── its folder ──────────────────────────────────────────────────────────────────────

    def _folder(self, known: KnownAgent) -> dict[str, str | None]:
        given = self._options.workspace
        if not known.works_in_folder or (self._ask.quiet and not given):
            return {}
        if not given:
            here = suggested(self._config(), Path.cwd())
            self._ask.say("Which folder shall it work on? `none`: an empty one of its own.")
            given = self._ask.path(
                "Folder", "--workspace", default=_short(here) if here else NO_FOLDER,
                fault=self._folder_fault,
            )  # fmt: skip
        elif wrong := self._folder_fault(given):
            raise ConfigError(f"--workspace: {wrong}")
        if given == NO_FOLDER:
            return {"workspace": None}
        folder = look_at(given, self._config(), Path.cwd())
        self._ask.say(f"  {folder.path}: {folder.note}")
        return {"workspace": _short(folder.path)}

    def _folder_fault(self, given: str) -> str:
        return "" if given == NO_FOLDER else look_at(given, self._config(), Path.cwd()).fault

    # ── one question ────────────────────────────────────────────────────────────────────

    def _trouble(self, connection: Connection, text: str | None) -> str:
        """The reason why it doesn't answer; "": it does, or it is not to be tried."""
        if not self._options.tries:
            return ""
        config, environment = self._config(), {**self._environment, **connection.secrets}
        try:
            [health] = asyncio.run(try_agents(config, environment, [connection.agent], asks=False))
        except ConfigError as error:
            return error.say
        if health.trouble:
            return health.trouble
        where = connection.front.get("workspace") or "its folder"
        self._ask.say(f"Asking {connection.agent} to name one file in {where} ...")
        tried = asyncio.run(_tried(connection, text, config, environment))
        for title in tried.asked:
            self._ask.say(f"  it asked for permission, which was refused: {title}")
        if tried.answer:
            self._ask.say(f"  @{connection.persona}: {tried.answer}  ({tried.seconds:.1f} s)")
        return tried.trouble


async def _tried(
    connection: Connection, text: str | None, config: Config, environment: Mapping[str, str]
) -> Tried:
    """Nothing is left behind: there may be no data directory yet."""
    with tempfile.TemporaryDirectory(prefix="moot-init-") as folder:
        gateway = config.gateway.model_copy(update={"data_dir": Path(folder)})
        elsewhere = config.model_copy(update={"gateway": gateway})
        async with HookListener.open(serving_hooks()) as hooks:
            return await try_persona(connection.as_persona(text), elsewhere, environment, hooks)


def _short(path: Path) -> str:
    """The path as people write it: from their home on."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
