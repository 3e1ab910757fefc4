"""One contract for sessions on this machine and on a worker: the real demo agent, start to end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.agent import Compacting
from contract.chat import Room
from contract.errors import AgentError
from gateway.core.ledger import SessionKey
from gateway.sessions.opener import SessionOpener
from gateway.sessions.sessions import LiveSession
from gateway.settings.personas.personas import FrontMatter, Persona
from tests.doubles.replies import Replies
from tests.doubles.running import until
from tests.doubles.workers import local_opener, remote_opener

DEMO = Persona("demo", FrontMatter(agent="demo"), "You are the demo.")
ROOM = Room("web:general", "general")
KEY = SessionKey("demo", "room:web:general")


@pytest_asyncio.fixture(params=["local", "remote"])
async def opener(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SessionOpener]:
    made = local_opener if request.param == "local" else remote_opener
    async with made(tmp_path) as opener:
        yield opener


async def open_demo(opener: SessionOpener, key: SessionKey = KEY) -> LiveSession:
    async with asyncio.timeout(30):
        return await opener.open(DEMO, key, ROOM)


async def test_a_session_is_asked_shown_compacted_and_closed(opener: SessionOpener) -> None:
    live = await open_demo(opener)
    agent, reply = live.agent, Replies()
    answer = await agent.ask("echo über: `x` <&> 日本語\n\ttab", reply)
    assert answer.text == "über: `x` <&> 日本語\n\ttab"
    assert answer.source == "record"
    assert agent.session_id
    assert agent.alive()
    assert not agent.resumed
    await until(lambda: "demo agent" in str(agent.picture()).lower())
    assert isinstance(agent, Compacting)
    await agent.compact()
    await opener.close(live)
    assert not agent.alive()


async def test_a_question_goes_to_the_room_and_its_choice_back(opener: SessionOpener) -> None:
    live = await open_demo(opener)
    reply = Replies(choices=[0])
    answer = await live.agent.ask("permission", reply)
    [question] = reply.questions
    assert [option.refuses for option in question.options][-1]
    assert "You allowed it" in answer.text
    await opener.close(live)


async def test_a_question_that_is_stopped_is_withdrawn(opener: SessionOpener) -> None:
    live = await open_demo(opener)
    reply = Replies()
    asking = asyncio.create_task(live.agent.ask("permission", reply))
    await reply.asked.wait()
    await live.agent.interrupt()
    with pytest.raises(AgentError) as raised:
        await asking
    assert raised.value.kind == "stopped"
    await until(lambda: reply.withdrawn == 1)
    assert (await live.agent.ask("echo again", Replies())).text == "again"
    await opener.close(live)


async def test_a_failure_says_what_it_says_here(opener: SessionOpener) -> None:
    live = await open_demo(opener)
    with pytest.raises(AgentError) as raised:
        await live.agent.ask("error", Replies())
    assert raised.value.kind == "api"
    assert raised.value.say.startswith("The demo agent failed: ")
    with pytest.raises(AgentError) as raised:
        await live.agent.ask("crash", Replies())
    assert raised.value.kind == "crash"
    await opener.close(live)


async def test_an_agent_that_is_not_there_says_so(opener: SessionOpener) -> None:
    nobody = Persona("nobody", FrontMatter(agent="nonesuch"), "")
    with pytest.raises(AgentError) as raised:
        await opener.open(nobody, SessionKey("nobody", "room:web:general"), ROOM)
    assert raised.value.kind == "missing"


async def test_an_abandoned_question_leaves_the_session_usable(opener: SessionOpener) -> None:
    live = await open_demo(opener)
    reply = Replies()
    asking = asyncio.create_task(live.agent.ask("permission", reply))
    await reply.asked.wait()
    asking.cancel()
    await asyncio.wait({asking})
    assert asking.cancelled()
    assert (await live.agent.ask("echo after", Replies())).text == "after"
    await opener.close(live)
