"""What a turn took, as each agent's own record tells it: what its API's answers told, added up."""

from __future__ import annotations

import pytest

from adapters.cli.session import CliAgent
from contract.agent import Usage
from tests.doubles.model_steps import Fault, Tokens
from tests.every_agent.stage import Cli, Stage, asked, failed

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

TELL_NONE = ("aider", "hermes")  # they keep none, or a sum of the whole session alone


def told(usage: Usage | None) -> tuple[int, int, int]:
    """Read, written, cached."""
    assert usage is not None
    return usage.input_tokens, usage.output_tokens, usage.cached_tokens


async def test_a_turn_took_what_its_api_told_and_a_resumed_one_no_more(
    stage: Stage, cli: Cli
) -> None:
    if cli.name in TELL_NONE:
        pytest.skip("its record tells no turn's tokens")
    stage.api.forget()
    agent = stage.agent("counts")
    stage.api.tokens = Tokens(1234, 56, cached=1000)
    stage.api.when("are you there?", "Here.")
    assert told((await asked(agent, "are you there?")).usage) == (1234, 56, 1000)
    session = agent.session_id
    await agent.close()
    again = stage.agent("counts", session_id=session)
    stage.api.tokens = Tokens(2000, 77, cached=10)
    stage.api.when("once more", "As I said.")
    assert told((await asked(again, "once more")).usage) == (2000, 77, 10)
    assert again.resumed
    if cli.shell:
        await _calls_add_up(stage, cli, again)
    stage.api.forget()
    await again.close()


async def _calls_add_up(stage: Stage, cli: Cli, agent: CliAgent) -> None:
    """Also of a turn that fails at its second call of the model."""
    assert cli.shell
    tool = cli.shell("date > now")
    stage.api.when("what time is it?", tool, "Late.")
    answer = await asked(agent, "what time is it?", *[0] * 4)
    assert told(answer.usage) == (4000, 154, 20)
    stage.api.when("and now?", tool, Fault.invalid())
    error = await failed(agent, "and now?", *[0] * 4)
    assert told(error.usage) == (2000, 77, 10)
