"""The sandbox: the sessions that run in it, what it shows, and whether this machine has one."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import structlog

from adapters.agent import Sandbox
from adapters.profiles import DEMO
from adapters.pty.process_group import OutputTooLarge, run_once
from adapters.sandbox.account import no_accounts
from adapters.sandbox.bubblewrap import SYSTEM, SandboxView, wrap
from contract.errors import AgentError
from contract.language import Phrase, later, phrase, say
from contract.values import dataclass
from gateway.sessions.accounts import SessionAccounts
from gateway.sessions.api_programs import API_PROGRAMS
from gateway.settings.config import Config
from gateway.settings.personas.personas import Persona
from gateway.settings.sandbox import GONE, Mode, parse_mount

log = structlog.stdlib.get_logger("moot.sandbox")

BWRAP = "bwrap"
TRY_S = 10.0  # 25 ms on an idle machine
TRY_BYTES = 4096
NO_REASON = Phrase("")
NOWHERE = phrase(
    "no sandbox can be made here ({why}); install bubblewrap (0.8 or newer) and allow user "
    'namespaces, or write `sandbox = "off"`, with which they may do whatever Moot\'s own account '
    "may"
)


@dataclass(frozen=True, slots=True)
class SandboxRequest:
    """A persona's wish for a sandbox, and what it shows.

    runs: its agent is a program on this machine. harmless: it is the demo agent as it comes with
    Moot, which runs no command, opens no file but its own record, and calls nobody.
    """

    mode: Mode
    mounts: tuple[str, ...]
    network: Literal["host", "none"]
    runs: bool = True
    harmless: bool = False

    @property
    def open(self) -> bool:
        """True if its sessions need not be kept apart."""
        return self.mode == "off" or (self.mode == "auto" and self.harmless)


def wanted(config: Config, persona: Persona) -> SandboxRequest:
    """The persona's own settings, else its agent's, else those of [sandbox]."""
    name = persona.front.agent
    agent = config.agents.get(name)
    profile = agent.profile if agent else name
    own = [table for table in (persona.front.sandbox, agent.sandbox if agent else None) if table]
    everyone = config.sandbox
    return SandboxRequest(
        next((table.mode for table in own if table.mode), everyone.mode),
        tuple(dict.fromkeys(m for table in (everyone, *reversed(own)) for m in table.mounts)),
        next((table.network for table in own if table.network), everyone.network),
        runs=profile not in API_PROGRAMS,
        harmless=profile == DEMO and not (agent and agent.command),
    )


def dated(config: Config, personas: Iterable[Persona]) -> list[str]:
    """Sentences about files that still name the mode that is gone."""
    places = {
        "[sandbox] mode": config.sandbox,
        **{f"[agents.{name}] sandbox": agent.sandbox for name, agent in config.agents.items()},
        **{f"{persona.name}.md sandbox": persona.front.sandbox for persona in personas},
    }
    return [
        f'{place}: "{GONE}" is gone, as it kept no direct message from a room\'s agent; it is read '
        'as "on": every session runs in a sandbox; write "on" or "auto"'
        for place, table in places.items()
        if table and table.dated
    ]


@dataclass(frozen=True, slots=True)
class Confinement:
    """A session's sandbox, or its account; at most one of them."""

    sandbox: Sandbox | None = None
    account: int | None = None

    def __bool__(self) -> bool:
        return self.sandbox is not None or self.account is not None


@dataclass(frozen=True, slots=True)
class Prospect:
    """Where a persona's sessions would run now. reason: why not in a sandbox, or nowhere."""

    persona: str
    asked: SandboxRequest
    way: Literal["sandbox", "account", "open", "nowhere"]
    reason: Phrase = NO_REASON

    def __str__(self) -> str:
        match self.way:
            case "sandbox":
                shown = f", shows {', '.join(self.asked.mounts)}" if self.asked.mounts else ""
                return f"@{self.persona} runs in a sandbox, network: {self.asked.network}{shown}"
            case "account":
                return (
                    f"@{self.persona} runs under an account of each session's own, as {self.reason}"
                )
            case "open":
                return say(
                    '@{persona} runs without a sandbox (`sandbox = "off"`): whoever may ask '
                    "it can have it read and change whatever Moot's own account can",
                    persona=self.persona,
                )
        return f"@{self.persona} can't answer: {self.reason}"


def unconfined(config: Config, personas: Iterable[Persona]) -> list[Prospect]:
    """Those whose agents run without a sandbox, as somebody wrote."""
    asked = [(persona.name, wanted(config, persona)) for persona in personas]
    return [Prospect(name, one, "open") for name, one in asked if one.runs and one.mode == "off"]


class Sandboxing:
    """The sandboxes of one gateway. path: the PATH where bubblewrap is looked for."""

    def __init__(self, config: Config, path: str) -> None:
        self._config = config
        self._path = path
        self._trouble: str | None = None  # "" once it has worked
        self._accounts = SessionAccounts(config.gateway.data_dir)

    async def of(self, persona: Persona, folder: Path, workspace: Path) -> Confinement:
        """The confinement of a session; a false one: none. folder: the session's own.

        Raises AgentError where there can be none.
        """
        asked = wanted(self._config, persona)
        found = await self._prospect(persona.name, asked)
        if found.way == "nowhere":
            line = later("I run in a sandbox only, and {reason}.", reason=found.reason)
            raise AgentError("missing", found.reason.in_english, say=line)
        if found.way == "account":
            give = self._accounts.give
            return Confinement(account=await asyncio.to_thread(give, folder, workspace))
        await asyncio.to_thread(self._accounts.take_back, folder, workspace)
        return Confinement(self.make(asked) if found.way == "sandbox" else None)

    async def prospects(self, personas: Iterable[Persona]) -> list[Prospect]:
        """Where each persona's sessions would run; none of those that need no sandbox."""
        asked = [(persona.name, wanted(self._config, persona)) for persona in personas]
        return [
            await self._prospect(name, one)
            for name, one in asked
            if one.runs and not (one.mode == "auto" and one.harmless)
        ]

    async def _prospect(self, name: str, asked: SandboxRequest) -> Prospect:
        if asked.open:
            return Prospect(name, asked, "open")
        if self._trouble != "":
            self._trouble = await trouble(self._path)
        if not self._trouble:
            return Prospect(name, asked, "sandbox")
        if asked.mode == "on":
            return Prospect(name, asked, "nowhere", later(NOWHERE, why=self._trouble))
        lacking = no_accounts(self._config.gateway.data_dir)
        if not lacking and asked.network == "none":
            lacking = 'network = "none" needs bubblewrap'
        if lacking:
            why = f"{self._trouble}, and {lacking}"
            return Prospect(name, asked, "nowhere", later(NOWHERE, why=why))
        missing = later("no sandbox can be made here ({why})", why=self._trouble)
        return Prospect(name, asked, "account", missing)

    def make(self, asked: SandboxRequest) -> Sandbox:
        """The sandbox that was asked for."""
        bwrap = shutil.which(BWRAP, path=self._path)
        assert bwrap is not None
        return Sandbox(
            Path(bwrap).absolute(),
            mounts=tuple(parse_mount(text) for text in asked.mounts),
            network=asked.network,
            forbidden=own_places(self._config),
            fixed=changeless_places(),
        )

    async def tell(self, personas: Iterable[Persona]) -> None:
        """Log what an administrator should know at the start, a line for each kind of it."""
        everyone = list(personas)
        for sentence in dated(self._config, everyone):
            log.warning("sandbox.dated", reason=sentence)
        found = await self.prospects(everyone)
        for way in ("open", "account", "nowhere"):
            of_it = [one for one in found if one.way == way]
            if of_it:
                names = ", ".join(f"@{one.persona}" for one in of_it)
                log.warning(
                    "sandbox.none",
                    personas=names,
                    way=way,
                    reason=of_it[0].reason.in_english or OPEN,
                )


OPEN = (
    'they run without a sandbox (`sandbox = "off"`): whoever may ask them can have them read and '
    "change whatever Moot's own account can"
)


def changeless_places() -> tuple[Path, ...]:
    """The programs that Moot runs: a sandbox may show them, and lets nobody change them."""
    return Path(__file__).parents[1], Path(sys.prefix)


def own_places(config: Config) -> tuple[Path, ...]:
    """Moot's own files: its data, its database, and the files that say what it does."""
    places = [config.gateway.data_dir, config.gateway.personas_dir, config.gateway.personas_folder]
    if config.file is not None:
        places.append(config.file)
    url = urlsplit(config.store_url)
    if url.scheme.startswith("sqlite"):
        places.append(Path(url.path.removeprefix("/")))
    return tuple(dict.fromkeys(place.absolute() for place in places))


def _least() -> SandboxView:
    """The paths that any program of the system needs."""
    return SandboxView(
        reads=tuple(path for name in ("/usr", *SYSTEM) if (path := Path(name)).exists())
    )


async def trouble(path: str) -> str:
    """The reason why no sandbox can be made here; "": one can. Makes one, for real."""
    found = shutil.which(BWRAP, path=path)
    if sys.platform != "linux":
        return "bubblewrap is for Linux"
    if found is None:
        return "bubblewrap is not installed"
    sandbox = Sandbox(Path(found))
    argv = (*wrap(sandbox, _least(), cwd=Path("/")), "/usr/bin/true")
    try:
        ran = await run_once(
            argv, env={}, cwd=Path("/"), given=b"", timeout_s=TRY_S, most_bytes=TRY_BYTES
        )
    except (TimeoutError, OutputTooLarge, OSError) as error:
        return f"bubblewrap can't be run: {error!r}"
    if ran.code:
        said = " ".join(ran.err.decode("utf-8", "replace").split())[:160]
        log.warning("sandbox.unavailable", code=ran.code, said=said)
        return said or f"bubblewrap ended with code {ran.code}"
    return ""
