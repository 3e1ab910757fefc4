"""Checks of agents: is each here, new enough, does it start, is it logged in, does it answer?"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from adapters.agent import Agent, Launch
from adapters.catalog import find_program, profiles
from adapters.cli.command import NullReply
from adapters.cli.hooks import HookListener
from adapters.session.version import find_version, is_older
from contract.errors import AgentError, ConfigError, MootError
from contract.values import dataclass
from gateway.cli.diagnosis.finding import Finding, Installation
from gateway.core.private_folders import make_data_folder
from gateway.sessions.api_programs import API_PROGRAMS
from gateway.sessions.programs import Programs, agent_names, make_profile
from gateway.sessions.sessions import AgentProgram
from gateway.settings.config import Config
from gateway.settings.tables import AgentTable
from gateway.web.listening.listener import serving_hooks

AT_ONCE = 2  # programs that start together; a start takes a processor for seconds
ANSWER_S = 120.0  # for one word, retries of the API included
PROMPT = """\
[SESSION CONTEXT]
Room: direct message with Moot

[RAW TRANSCRIPT — most recent 40 messages]
[00:00 | Moot] This is a test of the line. Use no tool. Reply with the one word: ok

[CURRENT INVOCATION]
Respond to Moot in this direct message.
"""

Told = Callable[[str, str], None]
"""Takes an agent's name and what is being done with it now; "" when it is done."""


@dataclass(frozen=True, slots=True)
class AgentVersion:
    """found: as the program reports it; tested: the one that Moot was tested with. too_old: Moot
    can't work with it."""

    found: str | None = None
    tested: str = ""
    too_old: bool = False


@dataclass(frozen=True, slots=True)
class Trial:
    """An agent was to answer. started_s, answered_s: seconds, None: it didn't. logged_in: None: not
    found out."""

    started_s: float | None = None
    answered_s: float | None = None
    logged_in: bool | None = None


@dataclass(frozen=True, slots=True)
class AgentHealth:
    """Findings about one agent.

    trial: None: it was only looked for. trouble: one sentence with what to do; "": it is well.
    """

    name: str
    title: str
    installed: bool = False
    version: AgentVersion = AgentVersion()
    trial: Trial | None = None
    trouble: str = ""

    @property
    def well(self) -> bool:
        """True if it answered."""
        return self.trial is not None and self.trial.answered_s is not None

    @property
    def fine(self) -> bool:
        """True if nothing is wrong with it, as far as it was to be found out."""
        return self.well if self.trial else self.installed and not self.version.too_old

    def __str__(self) -> str:
        mark = "✗" if not self.fine else "·" if self.trial is None else "✓"
        version, trial = self.version, self.trial or Trial()
        facts = [version.found or ("installed" if self.installed else "not here")]
        if version.found and version.tested and version.found != version.tested:
            facts.append(f"tested with {version.tested}")
        if trial.started_s is not None:
            facts.append(f"starts in {trial.started_s:.1f} s")
        if trial.logged_in is not None:
            facts.append("logged in" if trial.logged_in else "not logged in")
        if trial.answered_s is not None:
            facts.append(f'answers "ok" in {trial.answered_s:.1f} s')
        line = f"{mark} {self.name:<12} {self.title}: {', '.join(facts)}"
        return f"{line}\n  {self.trouble}" if self.trouble else line


class Preflight:
    """Tries agents, each in a HOME of its own that is gone afterwards."""

    def __init__(
        self, config: Config, environment: Mapping[str, str], programs: Programs, folder: Path
    ) -> None:
        self._config = config
        self._environment = environment
        self._programs = programs
        self._folder = folder
        self._turnstile = asyncio.Semaphore(AT_ONCE)

    @classmethod
    @asynccontextmanager
    async def open(cls, config: Config, environment: Mapping[str, str]) -> AsyncIterator[Preflight]:
        """Ready to try; nothing is left behind."""
        make_data_folder(config.gateway.data_dir)
        folder = Path(tempfile.mkdtemp(prefix="preflight-", dir=config.gateway.data_dir))
        try:
            async with HookListener.open(serving_hooks()) as hooks:
                programs = Programs(config.agents, environment, hooks)
                yield cls(config, environment, programs, folder)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def names(self) -> list[str]:
        """Every agent that can be named, those of moot.toml first."""
        return agent_names(self._config.agents)

    async def examine(self, name: str, told: Told, *, asks: bool = True) -> AgentHealth:
        """Try one agent. asks: start it and let it answer; else only look for it."""
        async with self._turnstile:
            try:
                return await self._examine(name, told, asks)
            finally:
                told(name, "")

    async def _examine(self, name: str, told: Told, asks: bool) -> AgentHealth:
        program = self._programs(name)
        health = AgentHealth(
            name, program.title, program.available, trial=Trial() if asks else None
        )
        if not program.available:
            return replace(health, trouble=str(program.hint))
        told(name, "asking its version")
        health = await self._with_version(name, health)
        return await self._asked(health, program, told) if asks else health

    async def _with_version(self, name: str, health: AgentHealth) -> AgentHealth:
        table = self._config.agents.get(name, AgentTable(profile=name))
        try:
            profile = make_profile(name, table)
        except ConfigError:
            return health  # it is no program
        path = find_program(profile, table.command, self._environment.get("PATH", ""))
        if path is None or not profile.setup.version:
            return health
        command = str(path), *table.command[1:]
        home = self._folder / "version"
        home.mkdir(exist_ok=True, mode=0o700)
        env = {**self._programs.environment_of(profile, table), "HOME": str(home)}
        found = await find_version(profile, command, env, home)
        least = profile.setup.at_least
        too_old = bool(found and least and is_older(found, least))
        say = f"Moot needs {least} or newer: update it." if too_old else ""
        version = AgentVersion(found, profile.setup.tested, too_old)
        return replace(health, version=version, trouble=say)

    async def _asked(self, health: AgentHealth, program: AgentProgram, told: Told) -> AgentHealth:
        told(health.name, "starting")
        folder = self._folder / health.name
        began = time.monotonic()
        agent: Agent | None = None
        try:
            agent = await program.open(Launch(home=folder / "home", workspace=folder / "work"))
            started_s = time.monotonic() - began
            health = replace(health, trial=Trial(started_s))
            told(health.name, "asking it")
            began = time.monotonic()
            async with asyncio.timeout(ANSWER_S):
                answer = await agent.ask(PROMPT, NullReply())
        except AgentError as error:
            say = error.say.replace("\n", " ")
            trial = health.trial or Trial()
            if error.kind == "login":
                trial = replace(trial, logged_in=False)
            return replace(health, trial=trial, trouble=health.trouble or say)
        except TimeoutError:
            return replace(health, trouble=f"It gave no answer within {ANSWER_S:.0f} s.")
        finally:
            if agent:
                await agent.close()
        trial = Trial(started_s, time.monotonic() - began, logged_in=True)
        answered = replace(health, trial=trial)
        if "ok" not in answer.text.lower():
            words = " ".join(answer.text.split())[:80]
            return replace(answered, trouble=f"It answered something else: {words}")
        return answered


async def check_agents(of: Installation) -> list[Finding]:
    """The agents that personas name; the others are `moot agents`' business."""
    named = {persona.front.agent for persona in of.personas.good.values()}
    known = sorted(named & {*profiles(), *API_PROGRAMS, *of.config.agents})
    if not known:
        return []
    try:
        tried = await try_agents(of.config, of.environment, known, asks=of.asks_agents)
    except MootError as error:
        return [Finding("✗", "agents", error.say)]
    return [_finding(health, asked=of.asks_agents) for health in tried]


def _finding(health: AgentHealth, *, asked: bool) -> Finding:
    what, text = f"agent {health.name}", f"{health.title} {health.version.found or ''}".rstrip()
    if not health.installed:
        return Finding("⚠", what, f"{text} is not here", health.trouble)
    if health.version.too_old:
        return Finding("✗", what, f"{text} is too old", health.trouble)
    if not asked:
        return Finding("✓", what, f"{text} is here")
    if not health.well:
        return Finding("✗", what, f"{text} does not answer", health.trouble)
    return Finding("⚠" if health.trouble else "✓", what, f"{text} answers", health.trouble)


async def try_agents(
    config: Config, environment: Mapping[str, str], names: Sequence[str] = (), *, asks: bool
) -> list[AgentHealth]:
    """Each of these agents, or all that can be named; nothing is left behind on disk."""
    with tempfile.TemporaryDirectory(prefix="moot-init-") as folder:
        gateway = config.gateway.model_copy(update={"data_dir": Path(folder)})
        elsewhere = config.model_copy(update={"gateway": gateway})
        async with Preflight.open(elsewhere, environment) as preflight:
            return [
                await preflight.examine(name, lambda name, what: None, asks=asks)
                for name in names or preflight.names()
            ]


def wanted(preflight: Preflight, names: Sequence[str]) -> list[str]:
    """The agents that were asked for, or all. Raises ConfigError."""
    known = preflight.names()
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(f"there is no agent {unknown[0]!r}; known: {', '.join(known)}")
    return list(names) or known
