"""Permission prompts of every agent that has them."""

import asyncio
from pathlib import Path

import pytest

from adapters.agent import Agent
from adapters.cli.session import CliAgent
from contract.agent import Answer
from contract.errors import AgentError
from tests.doubles.model_steps import Message, ToolUse
from tests.doubles.replies import Replies
from tests.every_agent.stage import HEADER, TURN_S, Stage, works_again

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Person(Replies):
    """Answers every question: allows it once, or refuses it."""

    def __init__(self, *, allows: bool) -> None:
        super().__init__()
        self._allows = allows

    async def choose(self, question):  # type: ignore[no-untyped-def]  # see Replies
        self.questions.append(question)
        refusing = [option.refuses for option in question.options]
        return refusing.index(not self._allows)


def touch(stage: Stage, path: Path) -> ToolUse:
    """The model's call of a shell command that creates a file."""
    if stage.cli.shell is None:
        pytest.skip("it asks for no permission")
    return stage.cli.shell(f"touch {path}")


async def outcome(agent: Agent, prompt: str, reply: Replies) -> Answer | AgentError:
    """The answer, or why there is none: a refusal may end a turn."""
    try:
        return await agent.ask(f"{HEADER}{prompt}", reply)
    except AgentError as error:
        return error


async def test_an_allowed_command_runs(stage: Stage, agent: CliAgent) -> None:
    file, person = stage.work() / "allowed", Person(allows=True)
    stage.api.when("allowed please", touch(stage, file), "It is **there**.")
    answer = await agent.ask(f"{HEADER}allowed please", person)
    assert (answer.text, file.exists()) == ("It is **there**.", True)
    (question,) = person.questions
    assert f"touch {file}".replace(" ", "") in f"{question.title}{question.detail}".replace(
        "\n", ""
    ).replace(" ", "")
    assert [option.refuses for option in question.options].count(True) >= 1
    assert len({option.label for option in question.options}) == len(question.options) >= 2
    assert len(answer.tools) == 1


async def test_a_refused_command_does_not_run(stage: Stage, agent: CliAgent) -> None:
    file, person = stage.work() / "refused", Person(allows=False)
    stage.api.when("refused please", touch(stage, file), "Then I won't.")
    end = await outcome(agent, "refused please", person)
    assert (len(person.questions), file.exists()) == (1, False)
    if isinstance(end, Answer):
        assert end.text == "Then I won't."
    else:
        assert end.kind == "stopped"
    await works_again(stage, agent)


async def test_several_are_asked_one_after_the_other(stage: Stage, agent: CliAgent) -> None:
    files = [stage.work() / f"several-{n}" for n in range(3)]
    person = Person(allows=True)
    first, *others = [touch(stage, file) for file in files]
    stage.api.when("several please", Message((first, others[0])), others[1], "All of them.")
    answer = await agent.ask(f"{HEADER}several please", person)
    assert (answer.text, [file.exists() for file in files]) == ("All of them.", [True] * 3)
    assert len(person.questions) == 3


async def test_a_stop_takes_the_question_back(stage: Stage, agent: CliAgent) -> None:
    file, reply = stage.work() / "stopped", Replies()
    stage.api.when("stop it", touch(stage, file), "Never said.")
    asking = asyncio.create_task(agent.ask(f"{HEADER}stop it", reply))
    async with asyncio.timeout(TURN_S):
        await reply.asked.wait()
    await agent.interrupt()
    with pytest.raises(AgentError) as caught:
        await asking
    assert (caught.value.kind, reply.withdrawn, file.exists()) == ("stopped", 1, False)
    await works_again(stage, agent)
