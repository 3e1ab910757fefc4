"""The real Claude Code on a stage: a double of its API, a HOME of its own, no other host."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from adapters.agent import Launch
from adapters.cli.hooks import HookListener
from adapters.cli.session import CliAgent
from adapters.profiles.claude_code import CLAUDE_CODE
from contract.agent import Answer
from contract.errors import AgentError
from gateway.web.listening.listener import serving_hooks
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.programs import changed
from tests.doubles.replies import Replies

AGENTS = Path(__file__).parent.parent / "agents"
TURN_S = 60.0  # a lost end is a failure, not an hour
HEADER = "[SESSION CONTEXT]\nRoom: #lab\nYou are: @claude\n\n[CURRENT INVOCATION]\n"
KEY = "sk-ant-dummy-0000000000000000000000000000"


def claude_command() -> str:
    """The program of the tests: `MOOT_TEST_CLAUDE`, else the one that npm installed.

    Without either a test is skipped; where `CI` is set it fails.
    """
    if chosen := os.environ.get("MOOT_TEST_CLAUDE"):
        return chosen
    for program in (AGENTS / "node_modules" / "@anthropic-ai").glob("claude-code-*/claude"):
        return str(program)
    reason = "Claude Code is not installed: run `npm ci` in tests/agents"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass
class Stage:
    """What the agents of a test file share. strangers: hosts that somebody tried to reach."""

    api: MessagesAPI
    hooks: HookListener
    folder: Path
    command: str
    proxy: str
    strangers: list[str]
    agents: list[CliAgent] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def open(cls, folder: Path) -> "AsyncIterator[Stage]":
        """Everything but the agents; they are closed with it."""
        command, strangers = claude_command(), list[str]()

        async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            strangers.append((await reader.readline()).decode("latin-1").strip())
            writer.close()

        async with (
            MessagesAPI.open() as api,
            HookListener.open(serving_hooks()) as hooks,
            await asyncio.start_server(refuse, "127.0.0.1") as server,
        ):
            proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            stage = cls(api, hooks, folder, command, proxy, strangers)
            try:
                yield stage
            finally:
                for agent in stage.agents:
                    await agent.close()
        assert (strangers, api.unknown) == ([], [])

    def work(self, scope: str = "shared") -> Path:
        """The scope's workspace."""
        return self.folder / scope / "work"

    def launch(self, scope: str) -> Launch:
        """A scrubbed environment in a HOME of the scope's own."""
        env = {
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_MAX_RETRIES": "2",
            "HTTP_PROXY": self.proxy,
            "HTTPS_PROXY": self.proxy,
        }
        home = self.folder / scope
        return Launch(
            home=home,
            workspace=self.work(scope),
            command=(self.command,),
            env=tuple(env.items()),
        )

    def agent(self, scope: str, **changes: Any) -> CliAgent:
        """An agent that is not started yet."""
        launch = replace(self.launch(scope), **changes)
        profile = changed(CLAUDE_CODE, timeout_s=TURN_S)
        agent = CliAgent(profile, launch, self.hooks)
        self.agents.append(agent)
        return agent


async def held(stage: Stage, asking: "asyncio.Task[Any]") -> None:
    """Wait until the answer is held back in the API; what went wrong before that is raised."""
    holding = asyncio.create_task(stage.api.holding.wait())
    await asyncio.wait({asking, holding}, return_when=asyncio.FIRST_COMPLETED)
    if not holding.done():
        holding.cancel()
        raise AssertionError(f"it was over before: {asking}") from asking.exception()


async def asked(agent: CliAgent, prompt: str, *choices: int) -> Answer:
    """The answer to a prompt; questions are answered with the choices in turn."""
    return await agent.ask(prompt, Replies(choices))


async def failed(agent: CliAgent, prompt: str) -> AgentError:
    """The error of a prompt that gets no answer."""
    with pytest.raises(AgentError) as caught:
        await asked(agent, prompt)
    return caught.value


async def works_again(stage: Stage, claude: CliAgent) -> bool:
    """Whether the session answers, and the prompt arrives alone."""
    stage.api.when("are you there?", "Still here.")
    prompt = f"{HEADER}are you there?"
    answer = await asked(claude, prompt)
    return answer.text == "Still here." and stage.api.prompt == prompt


# ── Fixtures: a test file shares one session, since a start costs a second ──────────────


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with Stage.open(tmp_path_factory.mktemp("claude")) as stage:
        yield stage


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_claude(stage: Stage) -> CliAgent:
    """The session that most tests share."""
    return stage.agent("shared", persona="You are Ash, of the lab.", model="sonnet")


@pytest.fixture
def claude(stage: Stage, shared_claude: CliAgent) -> CliAgent:
    """The shared session; whatever a test left over for the API to say is forgotten."""
    stage.api.forget()
    return shared_claude
