"""A model that says nothing has nothing posted in its name, in every agent."""

import asyncio

import pytest

from adapters.cli.session import CliAgent
from contract.errors import AgentError
from tests.doubles.matrix import sampled
from tests.doubles.model_steps import Message, Text, Thinking
from tests.doubles.replies import Replies
from tests.every_agent.stage import HEADER, Stage, asked, clis, held

pytestmark = pytest.mark.asyncio(loop_scope="session")

SILENCE = {
    "empty": Message(()),
    "whitespace": Message((Text("  \n\t\u00a0\n"),)),
    "only-thinking": Message((Thinking("I wonder."),)),
    "cut-off": Message((), stop="max_tokens"),
}
QUOTED = f"""I was asked this:

{HEADER}[RAW TRANSCRIPT — most recent 40 messages]
@aider (bot), @claude (bot): what do you think?"""


async def outcome(agent: CliAgent, prompt: str) -> tuple[str, str, list[str]]:
    """What is posted of a turn: the agent's words, and the line behind them; and its drafts."""
    reply = Replies((0,))
    try:
        answer = await agent.ask(f"{HEADER}{prompt}", reply)
    except AgentError as error:
        return error.partial, error.say, reply.drafts
    return answer.text, "", reply.drafts


@pytest.mark.parametrize("kind", sampled(SILENCE, "empty"))
async def test_nothing_is_posted_for_nothing(stage: Stage, agent: CliAgent, kind: str) -> None:
    stage.api.when("say it", "The answer before.")
    assert (await asked(agent, "say it")).text == "The answer before."
    stage.api.default = SILENCE[kind]
    text, line, drafts = await outcome(agent, f"say nothing: {kind}")
    assert text.strip() in ("", *stage.cli.silence)
    assert "\n" not in line
    assert not [draft for draft in drafts if "before" in draft or "SESSION" in draft]
    stage.api.default = "ok"
    assert (await asked(agent, "say it")).text == "The answer before."


async def test_nothing_is_posted_for_a_tool_s_use(stage: Stage, agent: CliAgent) -> None:
    if stage.cli.shell is None:
        pytest.skip("it has no tool")
    stage.api.when("say it", "The answer before.")
    await asked(agent, "say it")
    stage.api.when("use it", stage.cli.shell("echo done"), SILENCE["empty"])
    stage.api.default = SILENCE["empty"]  # some ask once more
    text, line, _ = await outcome(agent, "use it")
    assert text.strip() in ("", *stage.cli.silence)
    assert "\n" not in line


@pytest.mark.parametrize(
    "cli", [cli for cli in clis() if cli.again], ids=lambda cli: cli.name, indirect=True
)
async def test_what_comes_when_it_asks_again_by_itself_is_the_answer(
    stage: Stage, agent: CliAgent
) -> None:
    assert stage.cli.shell
    stage.api.when("use it", stage.cli.shell("echo done"), SILENCE["empty"])
    stage.api.when(stage.cli.again, "It is done.")
    assert (await asked(agent, "use it")).text == "It is done."
    stage.api.when("say it", "The next answer.")
    assert (await asked(agent, "say it")).text == "The next answer."


async def test_a_quoted_header_is_posted_as_it_is(stage: Stage, agent: CliAgent) -> None:
    stage.api.when("what was", QUOTED)
    assert (await asked(agent, "what was I asked?")).text == QUOTED


async def test_an_answer_may_be_the_prompt(stage: Stage, agent: CliAgent) -> None:
    stage.api.when("repeat me", f"{HEADER}repeat me")
    assert (await asked(agent, "repeat me")).text == f"{HEADER}repeat me"


async def test_a_stop_before_a_word_posts_none(stage: Stage, agent: CliAgent) -> None:
    stage.api.when("say it", "The answer before.")
    await asked(agent, "say it")
    stage.api.hold()
    stage.api.when("wait", Message((Text("Never said."),), hold=0))
    reply = Replies()
    asking = asyncio.create_task(agent.ask(f"{HEADER}wait", reply))
    await held(stage, asking)
    async with asyncio.timeout(20):
        while not any("wait" in text for row in agent.picture() for text, _ in row):
            await asyncio.sleep(0.05)
    await agent.interrupt()
    with pytest.raises(AgentError) as caught:
        await asking
    assert (caught.value.kind, caught.value.partial) == ("stopped", "")
    assert not [draft for draft in reply.drafts if "before" in draft]
    stage.api.forget()
    stage.api.when("say it", "The answer before.")
    assert (await asked(agent, "say it")).text == "The answer before."
