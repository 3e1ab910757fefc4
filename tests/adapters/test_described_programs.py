"""Programs that are described in TOML and nowhere else: of very different kinds."""

import asyncio
import re
import sys
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.agent import Launch
from adapters.cli.session import CliAgent
from adapters.profiles.generic import GenericSettings, generic_profile
from contract.agent import Question
from contract.errors import AgentError
from tests.doubles.programs import changed
from tests.doubles.replies import Replies

TUIS = Path(__file__).parent.parent / "doubles" / "tuis"
TOML = {
    "repl": r"""
        ready = '^you> ?$'
        echo = 'you> (.+)'
        reply = 'bot: '
        aside = 'thinking'
        permission = 'Run .*\[y/N\]'
        interrupt = ["ctrl-c"]
        quiet_s = 0.5
    """,
    "fullscreen": r"""
        ready = '^ready'
        busy = '^. working'
        echo = 'you: (.+)'
        box = '\+-+\+'
        reply = '\* '
        margin = 2
        aside = 'ready|. working'
        permission = 'Run this command\?'
        quiet_s = 0.3
    """,
    "boxed": r"""
        ready = '^│ ›'
        busy = 'esc to interrupt'
        echo = '› (.+)'
        box = '│ ›'
        reply = '● '
        margin = 2
        permission = '^Allow .*\?$'
        quiet_s = 0.3
    """,
}


@pytest.fixture(params=TOML)
async def agent(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[CliAgent]:
    settings = tomllib.loads(TOML[request.param])
    command = [sys.executable, "-u", str(TUIS / f"{request.param}.py")]
    profile = generic_profile("mine", GenericSettings(command=command, **settings))
    agent = CliAgent(changed(profile, timeout_s=30), Launch(tmp_path / "home", tmp_path / "work"))
    yield agent
    await agent.close()


AT_WORK = re.compile("(?i)working|thinking")


class Person(Replies):
    def __init__(self, wants: str) -> None:
        super().__init__()
        self._wants = wants

    async def choose(self, question: Question) -> int:
        self.questions.append(question)
        return [option.label for option in question.options].index(self._wants)


def words(text: str) -> list[str]:
    """Without fences, and without the joiners that curses drops."""
    return text.replace("```py", "").replace("```", "").replace("\u200d", "").split()


@pytest.mark.parametrize("kind", ["short", "code", "wide", "long"])
async def test_its_replies_are_read_without_its_chrome(agent: CliAgent, kind: str) -> None:
    sys.path.insert(0, str(TUIS))
    from replies import reply_to  # type: ignore[import-not-found]

    for _ in range(2):
        answer = await agent.ask(f"[HEADER]\nRoom: #lab\n\n{kind}", Replies())
        assert words(answer.text) == words(reply_to(kind))


async def test_an_answer_is_that_of_its_own_prompt(agent: CliAgent) -> None:
    for word in ("heron", "heron", "osprey"):
        assert (await agent.ask(f"say {word}", Replies())).text == f"You said {word}."


@pytest.mark.parametrize("allows", [True, False])
async def test_it_may_ask(agent: CliAgent, tmp_path: Path, allows: bool) -> None:
    labels = {"fullscreen": ("Allow", "Deny")}
    yes, no = labels.get(Path(agent._profile.program.begin[-1]).stem, ("Yes", "No"))
    person = Person(yes if allows else no)
    answer = await agent.ask("touch it", person)
    assert answer.text == ("It is there." if allows else "Then not.")
    assert (tmp_path / "work" / "x").exists() == allows
    (question,) = person.questions
    assert "touch x" in f"{question.title} {question.detail}"


async def test_it_can_be_stopped(agent: CliAgent) -> None:
    asking = asyncio.create_task(agent.ask("slow please", Replies()))
    async with asyncio.timeout(20):
        while not any(AT_WORK.search(text) for row in agent.picture() for text, _ in row):
            await asyncio.sleep(0.05)
    await agent.interrupt()
    with pytest.raises(AgentError) as caught:
        await asking
    assert caught.value.kind == "stopped"
    assert (await agent.ask("say again", Replies())).text == "You said again."
