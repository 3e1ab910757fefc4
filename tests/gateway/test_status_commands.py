"""`!status` and `!agents`: what happens here, and who can be asked."""

import asyncio
from dataclasses import replace
from pathlib import Path

from adapters.agent import Reply
from gateway.sessions.sessions import AgentProgram
from gateway.settings.access import AccessTable
from tests.doubles.platform import said
from tests.doubles.running import gateway, until
from tests.doubles.scripted import ScriptedPrograms


async def test_status_tells_who_works_on_what_and_what_waits(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def slow(prompt: str, reply: Reply) -> str:
        await gate.wait()
        return "done"

    async with gateway(tmp_path, programs=ScriptedPrograms(slow)) as moot:
        await moot.hear(said("@demo why is\nit red?"))
        await until(lambda: bool(moot.programs.prompts))
        await moot.hear(said("@demo and now?", by="budi"))
        await moot.hear(said("!status"))
        await until(lambda: bool(moot.texts()))
        await moot.hear(said("!agents"))
        await until(lambda: len(moot.texts()) == 2)
        status, agents = moot.texts()
        gate.set()
        await moot.settle()
    first, *rest = status.split("\n")
    assert first.startswith('@demo: works on what Ash said: "why is it red?", for ')
    assert rest[0] == '- waits: what Budi said: "and now?"'
    assert rest[1].startswith(
        "- session: Scripted, model its own default, working, 0 turns, open for "
    )
    assert "The bots" not in status, "of no use to those who can't fix them"
    assert agents == "Who can be asked here:\n- @demo (demo): Scripted, working, 1 waiting"


async def test_an_owner_is_told_of_the_bots(tmp_path: Path) -> None:
    access = AccessTable(owners=frozenset({"fake:ash"}))
    async with gateway(tmp_path, access=access) as moot:
        await moot.hear(said("!status"))
        await moot.settle()
        (status,) = moot.texts()
        assert status.startswith("@demo: nothing to do\n- session: Scripted, ")
        assert "not started yet" in status
        assert "- fake (fake): not connected" in status
        moot.bot.own_ids = frozenset({"fake:me"})
        await moot.hear(said("!status"))
        await moot.settle()
        assert "- fake (fake): connected" in moot.texts()[1]


async def test_agents_says_why_one_cannot_be_asked(tmp_path: Path) -> None:
    scripted = ScriptedPrograms()

    def programs(name: str) -> AgentProgram:
        return replace(scripted(name), available=False, hint="Install it.")

    async with gateway(tmp_path, programs=programs) as moot:
        await moot.hear(said("!agents"))
        await moot.settle()
        assert moot.texts() == [
            "Who can be asked here:\n- @demo (demo): Scripted, not available: Install it."
        ]


async def test_a_session_that_sleeps_is_said_to_and_turns_are_counted(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("@demo one"))
        await moot.settle()
        await moot.hear(said("!status"))
        await moot.settle()
        assert ", idle, 1 turn, open for " in moot.texts()[-1]
    async with gateway(tmp_path) as moot:
        await moot.hear(said("!agents"))
        await moot.settle()
        assert moot.texts() == ["Who can be asked here:\n- @demo (demo): Scripted, asleep"]
