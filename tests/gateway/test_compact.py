"""`!compact`: the agent condenses what it holds of a conversation, and the room goes on."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from adapters.agent import Reply
from contract.chat import Room
from contract.errors import AgentError
from gateway.settings.tables import SessionsTable
from tests.doubles.index import WordIndex
from tests.doubles.platform import said
from tests.doubles.running import Opened, gateway, until
from tests.doubles.scripted import ScriptedAgent, ScriptedPrograms, echo


class Compacting:
    """Does it, and remembers for whom."""

    def __init__(self) -> None:
        self.agents: list[ScriptedAgent] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, agent: ScriptedAgent) -> None:
        self.agents.append(agent)
        await self.gate.wait()


async def tell(moot: Opened, text: str) -> str:
    await moot.hear(said(text))
    await moot.settle()
    return moot.texts()[-1]


async def test_it_is_done_and_the_next_prompt_brings_what_the_summary_tells(
    tmp_path: Path,
) -> None:
    compacting = Compacting()
    async with gateway(tmp_path, programs=ScriptedPrograms(compacting=compacting)) as moot:
        await tell(moot, "@demo hello")
        told = await tell(moot, "@demo !compact")
        assert told == "@demo has compacted its conversation; it goes on from its summary."
        assert compacting.agents == moot.programs.agents
        assert [live.context.compacted for live in moot.house.sessions.all()] == [True]
        await tell(moot, "@demo and now?")
        assert len(moot.programs.agents) == 1


@pytest.mark.parametrize("text", ["@demo !compact", "!compact @demo"])
async def test_without_a_conversation_there_is_nothing_to_compact(
    tmp_path: Path, text: str
) -> None:
    programs = ScriptedPrograms(compacting=Compacting())
    async with gateway(tmp_path, programs=programs) as moot:
        assert await tell(moot, text) == (
            "@demo holds no conversation here that could be compacted."
        )
        assert programs.agents == []


async def test_one_that_sleeps_is_woken_for_it(tmp_path: Path) -> None:
    compacting = Compacting()
    async with gateway(tmp_path, programs=ScriptedPrograms(compacting=compacting)) as moot:
        await tell(moot, "@demo hello")
        for live in moot.house.sessions.all():
            live.used_at -= timedelta(seconds=901)
        assert moot.house.sessions.look() == 1
        await tell(moot, "@demo !compact")
        assert compacting.agents == moot.programs.agents[1:]
        assert moot.programs.launches[1].session_id == "s1"


async def test_an_agent_that_cannot_do_it_says_so_in_a_line(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await tell(moot, "@demo hello")
        told = await tell(moot, "@demo !compact")
        assert told == "@demo: Scripted has no command for that."


async def test_a_persona_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        assert await tell(moot, "!compact @nobody") == "There is no persona '@nobody' here."


async def test_stop_ends_it_and_the_session_goes_on(tmp_path: Path) -> None:
    compacting = Compacting()
    compacting.gate.clear()
    async with gateway(tmp_path, programs=ScriptedPrograms(compacting=compacting)) as moot:
        await tell(moot, "@demo hello")
        await moot.hear(said("@demo !compact"))
        await until(lambda: len(compacting.agents) == 1)
        await moot.hear(said("@demo !stop"))
        await moot.settle()
        assert "@demo: Stopped." in moot.texts()
        assert [live.context.compacted for live in moot.house.sessions.all()] == [False]
        await tell(moot, "@demo and now?")
        assert len(moot.programs.agents) == 1


async def test_it_waits_for_the_turn_before_it_and_keeps_its_session_awake(
    tmp_path: Path,
) -> None:
    compacting, answering = Compacting(), asyncio.Event()
    compacting.gate.clear()

    async def script(prompt: str, reply: Reply) -> str:
        await answering.wait()
        return await echo(prompt, reply)

    programs = ScriptedPrograms(script, compacting=compacting)
    async with gateway(tmp_path, programs=programs, sessions=SessionsTable(most=1)) as moot:
        await moot.hear(said("@demo hello"))
        await until(lambda: len(programs.prompts) == 1)
        await moot.hear(said("@demo !compact"))
        for _ in range(20):
            await asyncio.sleep(0)
        assert compacting.agents == []
        answering.set()
        await until(lambda: len(compacting.agents) == 1)
        await moot.hear(said("@demo elsewhere", room=Room("fake:b", "b")))
        await until(lambda: moot.house.sessions.waiting == 1)
        assert not programs.agents[0].closed
        compacting.gate.set()
        await moot.settle()
        assert programs.agents[0].closed
        assert len(moot.texts()) == 3


async def test_what_it_was_given_before_can_be_recalled_again(tmp_path: Path) -> None:
    fact, asked = "the staging database listens on port 5433", "@demo which port has staging?"
    programs = ScriptedPrograms(compacting=Compacting())
    async with gateway(tmp_path, programs=programs, index=WordIndex()) as moot:
        await moot.hear(said(fact, by="budi"))
        await tell(moot, "@demo hello")
        await until(lambda: moot.house.memories.layers.learning() == 0)
        await tell(moot, asked)
        assert "[RECALL" not in programs.prompts[-1]
        await tell(moot, "@demo !compact")
        await tell(moot, asked)
        assert fact in programs.prompts[-1].partition("[RECALL")[2].partition("\n\n")[0]
        await tell(moot, asked)
        assert fact not in programs.prompts[-1]


async def test_a_full_context_brings_the_whole_window_again(tmp_path: Path) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        if len(programs.prompts) == 2:
            raise AgentError("context", "too long", say="I had it compacted: ask again.")
        return await echo(prompt, reply)

    programs = ScriptedPrograms(script)
    async with gateway(tmp_path, programs=programs) as moot:
        await tell(moot, "@demo one")
        assert await tell(moot, "@demo two") == "⚠️ I had it compacted: ask again."
        assert "since your last reply" in programs.prompts[1]
        await tell(moot, "@demo three")
        assert "most recent 40 messages" in programs.prompts[2]
        assert "@demo two\n" in programs.prompts[2]


async def test_what_was_shown_before_it_can_be_recalled_again(tmp_path: Path) -> None:
    programs = ScriptedPrograms(compacting=Compacting())
    async with gateway(tmp_path, programs=programs, index=WordIndex()) as moot:
        memories = moot.house.memories
        await moot.hear(said("the staging database listens on port 5433", by="budi"))
        await tell(moot, "@demo hello")
        assert "5433" in programs.prompts[-1]
        await memories.messages.run("room:fake:general")
        question = "@demo which port has the staging database?"
        await tell(moot, question)
        assert "5433" not in programs.prompts[-1]  # its agent was given it
        await tell(moot, "@demo !compact")
        await tell(moot, question)
        recalled = programs.prompts[-1].partition("[RECALL")[2].partition("\n\n")[0]
        assert "the staging database listens on port 5433" in recalled
        await tell(moot, question)
        assert "5433" not in programs.prompts[-1]
