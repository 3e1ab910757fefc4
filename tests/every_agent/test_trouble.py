"""What goes wrong in every agent gives one helpful line, and the session works again."""

import asyncio
import os
import signal

import psutil
import pytest

from adapters.cli.session import CliAgent
from contract.errors import AgentError
from tests.doubles.model_steps import Fault, Message, Text
from tests.doubles.replies import Replies
from tests.every_agent.stage import HEADER, Stage, asked, failed, held, works_again

pytestmark = pytest.mark.asyncio(loop_scope="session")

FAULTS = {
    "invalid": (Fault.invalid(), {"api"}),
    "no login": (Fault.unauthorized(), {"login"}),
    "limit": (Fault.limited(), {"limit"}),
    "broken": (Fault.broken(), {"api"}),
    "context": (Fault.too_long(), {"context"}),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_of_the_api_is_one_line(stage: Stage, agent: CliAgent, name: str) -> None:
    fault, kinds = FAULTS[name]
    stage.api.default = fault
    error = await failed(agent, f"fault: {name}")
    assert error.kind in kinds
    assert error.say
    assert "\n" not in error.say
    assert len(error.say) < 400
    await works_again(stage, agent)


async def test_a_stop_ends_it_within_a_second(stage: Stage, agent: CliAgent) -> None:
    stage.api.hold()
    stage.api.when("slow", Message((Text("One line.\n\nNever said."),), delta=4, hold=4))
    asking = asyncio.create_task(agent.ask(f"{HEADER}slow", Replies()))
    await held(stage, asking)
    async with asyncio.timeout(2):  # a second, on a busy machine
        await agent.interrupt()
    with pytest.raises(AgentError) as caught:
        await asking
    assert caught.value.kind == "stopped"
    assert "said" not in caught.value.partial
    await works_again(stage, agent)


async def test_it_is_resumed_after_a_kill(stage: Stage) -> None:
    agent = stage.agent("killed")
    stage.api.forget()
    await asked(agent, "remember the word heron")
    assert agent.pid
    for process in psutil.Process(agent.pid).children(recursive=True):
        process.kill()  # the program, and what it started in groups of its own
    while agent.alive():
        await asyncio.sleep(0.01)
    await asked(agent, "which word?")
    resumes = bool(stage.cli.profile.program.resume)
    assert agent.resumed == resumes
    assert any("heron" in prompt for prompt in stage.api.turns[-1].history) == resumes
    await agent.close()

    again = stage.agent("killed", session_id=agent.session_id)
    stage.api.when("and now", "Exactly **this**.")
    assert (await asked(again, "and now?")).text == "Exactly **this**."
    assert again.resumed == resumes
    assert any("heron" in prompt for prompt in stage.api.turns[-1].history) == resumes
    await again.close()


async def test_a_crash_in_mid_answer_is_one_line(stage: Stage) -> None:
    agent = stage.agent("crashed")
    stage.api.forget()
    stage.api.hold()
    stage.api.when("crash", Message((Text("One line.\n\nNever said."),), delta=4, hold=4))
    asking = asyncio.create_task(agent.ask(f"{HEADER}crash", Replies()))
    await held(stage, asking)
    assert agent.pid
    os.killpg(agent.pid, signal.SIGKILL)
    with pytest.raises(AgentError) as caught:
        await asking
    assert caught.value.kind == "crash"
    await works_again(stage, agent)
    await agent.close()


async def test_two_scopes_share_nothing(stage: Stage) -> None:
    stage.api.forget()
    one, other = stage.agent("one"), stage.agent("other")
    await asked(one, "the word is osprey")
    await asked(other, "which word?")
    assert "osprey" not in str(stage.api.turns[-1].body)
    await one.close()
    await other.close()
