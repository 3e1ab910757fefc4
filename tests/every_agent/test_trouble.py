"""What goes wrong in every agent gives one helpful line, and the session works again."""

import asyncio
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import psutil
import pytest

from adapters.cli.session import CliAgent
from contract.agent import Answer
from contract.errors import AgentError
from tests.doubles.model_steps import Fault, Message, Text
from tests.doubles.processes import kill_below
from tests.doubles.replies import Replies
from tests.every_agent.stage import HEADER, Stage, asked, failed, held, works_again
from tests.every_agent.test_permission import outcome

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
    assert_is_one_line(error)
    await works_again(stage, agent)


def assert_is_one_line(error: AgentError) -> None:
    """One helpful line, and nothing of the program's screen above it."""
    assert error.partial == ""
    assert re.fullmatch(r"[^\n\u2500-\u25ff\u2b1b-\u2b1e]{20,400}\.", error.say), error.say
    assert ".." not in error.say.replace("...", "")
    assert not re.search(r"…\.|Traceback|Retrying in|\^C|[{}\\]", error.say)


async def test_the_words_of_an_error_are_cut_between_words(stage: Stage, agent: CliAgent) -> None:
    words = [f"word{i}x" for i in range(60)]
    said = " ".join(['The double had an "accident" while', *words])
    stage.api.default = replace(Fault.broken(), message=said)
    error = await failed(agent, "fault: long")
    assert_is_one_line(error)
    told = error.say.partition("while")[2].partition("…")[0]
    assert set(told.split()) <= set(words)
    await works_again(stage, agent)


async def test_an_api_that_is_not_there_is_one_line(stage: Stage) -> None:
    if reason := stage.cli.lacks.get("test_an_api_that_is_not_there_is_one_line"):
        pytest.skip(reason)
    with socket.socket() as listening:  # but nobody answers, once it is closed
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    env = {**stage.env(), **stage.cli.env(f"http://127.0.0.1:{port}")}
    agent = stage.agent("dead", env=tuple(env.items()))
    assert_is_one_line(await failed(agent, "hello"))
    await agent.close()


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


async def test_a_stream_that_breaks_off_leaves_its_words_alone(
    stage: Stage, agent: CliAgent
) -> None:
    stage.api.queue(Message((Text("Half of it, and then no more."),), delta=5, cut=3))
    stage.api.default = "The whole of it."
    end = await outcome(agent, "break it", Replies())
    if isinstance(end, Answer):
        assert end.text.removeprefix("Half of it, and") in ("", "The whole of it.")
    else:
        assert "Half of it, and then".startswith(end.partial)
        assert_is_one_line(AgentError(end.kind, "", say=end.say))
    await works_again(stage, agent)


async def test_a_stop_ends_what_its_command_left_behind(stage: Stage, agent: CliAgent) -> None:
    if stage.cli.shell is None:
        pytest.skip("it runs no commands")
    mark, file = str(100_000 + os.getpid()), stage.work() / "left"
    command = f"setsid -f sleep {mark} >/dev/null 2>&1; touch {file}"
    stage.api.hold()
    stage.api.when("leave it", stage.cli.shell(command), Message((Text("Never."),), hold=0))
    asking = asyncio.create_task(agent.ask(f"{HEADER}leave it", Replies((0,))))
    await held(stage, asking)
    assert file.exists()
    await agent.interrupt()
    with pytest.raises(AgentError):
        await asking
    async with asyncio.timeout(10):
        while any(mark in words for words in commands()):
            await asyncio.sleep(0.05)
    await works_again(stage, agent)


def commands() -> Iterator[list[str]]:
    """Those of all processes."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            yield process.cmdline()


async def test_it_is_resumed_after_a_kill(stage: Stage) -> None:
    agent = stage.agent("killed")
    stage.api.forget()
    await asked(agent, "remember the word heron")
    assert agent.pid
    kill_below(agent.pid)
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
