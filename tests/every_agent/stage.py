"""A real command-line agent on a stage: a double of its API, a HOME of its own, no other host."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from adapters.agent import Agent, Launch
from adapters.cli.hooks import HookListener
from adapters.cli.session import CliAgent
from adapters.cli_profile import Profile
from contract.agent import Answer
from contract.errors import AgentError
from gateway.web.listening.listener import serving_hooks
from tests.doubles.model_steps import ToolUse
from tests.doubles.programs import changed
from tests.doubles.replies import Replies
from tests.doubles.scripted_api import ScriptedAPI

FOLDER = Path(__file__).parent
# node_modules and venvs, of other releases where it is set
INSTALLED = Path(os.environ.get("MOOT_TEST_AGENTS") or FOLDER)
NODE_BIN = INSTALLED / "node_modules" / ".bin"
# for those that need a newer Node than the machine's
NODE_22 = next(iter(INSTALLED.glob("node_modules/node-*/bin")), INSTALLED / "no-node")
TURN_S = 120.0  # a lost end is a failure, not an hour; Qwen Code tries again for up to 100 s
HEADER = "[SESSION CONTEXT]\nRoom: #lab\nYou are: @agent\n\n[CURRENT INVOCATION]\n"
PERSONA = "You are Ash, of the lab. Your word for everything is `quokka`."
NO_PROXY = "127.0.0.1,localhost,::1"


@dataclass(frozen=True)
class Cli:
    """One command-line agent of the tests: `tests/every_agent/cli_*.py` each define a `CLI`.

    program: where it is installed. api: the dialect that it speaks. env: what an administrator
    would set so that it speaks to that API, given the API's URL. shell: the model's call of its
    tool that runs a command; None: it has none, or asks nobody. edit: that of its tool that writes
    a file, given its path; None: it does so by commands. typed: the prompt as it arrives
    at the API. inexact: names of replies that its own record does not hold exactly, and why.
    record: False when it keeps none. resumes: whether it can. model: one that it accepts.
    lacks: what it cannot do, by the test's name, and why. calls: hosts beside its API that it
    looks up whatever its settings say, and why. merges: it puts the prompts that got no answer
    before the next one. silence: its own words for an answer without any. again: those with which
    it asks the model once more after one.
    """

    profile: Profile
    program: Path
    api: type[ScriptedAPI[Any]]
    env: Callable[[str], Mapping[str, str]]
    shell: Callable[[str], ToolUse] | None = None
    edit: Callable[[str], ToolUse] | None = None
    typed: Callable[[str], str] = lambda prompt: prompt.replace("\t", "    ")
    inexact: Mapping[str, str] = field(default_factory=dict)
    record: bool = True
    model: str = ""
    lacks: Mapping[str, str] = field(default_factory=dict)
    calls: Mapping[str, str] = field(default_factory=dict)
    merges: bool = False
    silence: tuple[str, ...] = ()
    again: str = ""

    @property
    def name(self) -> str:
        """The profile's."""
        return self.profile.name


def clis() -> list[Cli]:
    """All of them, by name."""
    modules = (f"tests.every_agent.{path.stem}" for path in FOLDER.glob("cli_*.py"))
    found = [importlib.import_module(module).CLI for module in modules]
    return sorted(found, key=lambda cli: cli.name)


def require(cli: Cli) -> None:
    """Skip what is not installed; where `CI` is set it fails."""
    if cli.program.exists():
        return
    reason = f"{cli.profile.title} is not installed: run `make .venv/agents`"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass
class Stage:
    """What the tests of one agent share. strangers: hosts that somebody tried to reach."""

    cli: Cli
    api: ScriptedAPI[Any]
    hooks: HookListener
    folder: Path
    proxy: str
    strangers: list[str]
    agents: list[CliAgent] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def open(cls, cli: Cli, folder: Path) -> AsyncIterator[Stage]:
        """Everything but the agents; they are closed with it."""
        strangers: list[str] = []

        async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            line = (await reader.readline()).decode("latin-1").strip()
            if not any(f" {host}:" in line for host in cli.calls):
                strangers.append(line)
            writer.close()

        async with (
            cli.api.open() as api,
            HookListener.open(serving_hooks()) as hooks,
            await asyncio.start_server(refuse, "127.0.0.1") as server,
        ):
            proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            stage = cls(cli, api, hooks, folder, proxy, strangers)
            try:
                yield stage
            finally:
                for agent in stage.agents:
                    await agent.close()
        assert (strangers, api.unknown) == ([], [])

    def work(self, scope: str = "shared") -> Path:
        """The scope's workspace."""
        return self.folder / scope / "work"

    def env(self) -> dict[str, str]:
        """A scrubbed environment in which only loopback answers."""
        proxies = {
            name: value
            for key, value in (("HTTP_PROXY", self.proxy), ("HTTPS_PROXY", self.proxy))
            for name, value in ((key, value), (key.lower(), value))
        }
        base = {"NO_PROXY": NO_PROXY, "no_proxy": NO_PROXY}
        return {**proxies, **base, **self.cli.env(self.api.url)}

    def agent(self, scope: str = "shared", **changes: Any) -> CliAgent:
        """An agent that is not started yet; `changes` of its Launch."""
        launch = Launch(
            home=self.folder / scope,
            workspace=self.work(scope),
            persona=PERSONA,
            model=self.cli.model or None,
            command=(str(self.cli.program),),
            env=tuple(self.env().items()),
        )
        profile = changed(self.cli.profile, timeout_s=TURN_S)
        agent = CliAgent(profile, replace(launch, **changes), self.hooks)
        self.agents.append(agent)
        return agent


async def held(stage: Stage, asking: asyncio.Task[Any]) -> None:
    """Wait until the answer is held back in the API; what went wrong before that is raised."""
    holding = asyncio.create_task(stage.api.holding.wait())
    await asyncio.wait({asking, holding}, return_when=asyncio.FIRST_COMPLETED)
    if not holding.done():
        holding.cancel()
        raise AssertionError(f"it was over before: {asking}") from asking.exception()


async def asked(agent: Agent, prompt: str, *choices: int) -> Answer:
    """The answer to a prompt; questions are answered with the choices in turn."""
    return await agent.ask(f"{HEADER}{prompt}", Replies(choices))


async def failed(agent: Agent, prompt: str, *choices: int) -> AgentError:
    """The error of a prompt that gets no answer; nothing more is asked than the choices answer."""
    reply = Replies(choices)
    with pytest.raises(AgentError) as caught:
        await agent.ask(f"{HEADER}{prompt}", reply)
    assert len(reply.questions) <= len(choices)
    return caught.value


async def works_again(stage: Stage, agent: Agent) -> None:
    """The session answers, and the prompt arrives alone."""
    stage.api.forget()
    stage.api.when("are you there?", "Still here.")
    answer = await asked(agent, "are you there?")
    assert answer.text == "Still here."
    arrived, typed = stage.api.prompt.strip(), stage.cli.typed(f"{HEADER}are you there?")
    if stage.cli.merges:
        arrived = arrived[-len(typed) :]
    assert arrived == typed
