"""`!undo`: an agent takes its last answer back, and nothing says later that it stands."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy import Connection, select

from adapters.agent import Reply
from contract.agent import ToolUse
from contract.errors import AgentError
from gateway.core.ledger import Turn
from gateway.settings.access import AccessTable, GrantTable
from memory.observations.rows import observations_of
from store.schema import tool_uses, turns
from tests.doubles.platform import said
from tests.doubles.running import Opened, gateway, until
from tests.doubles.scripted import ScriptedAgent, ScriptedPrograms

WROTE = (ToolUse("Write", "{'file_path': 'notes.md'}", "written"),)


class Undoing:
    """Does it, and counts."""

    def __init__(self) -> None:
        self.times = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, agent: ScriptedAgent) -> str:
        self.times += 1
        await self.gate.wait()
        return "the files that it had edited"


def able(undoing: Undoing) -> ScriptedPrograms:
    async def script(prompt: str, reply: Reply) -> str:
        if "@demo fail" in prompt and len(made.prompts) == 2:
            raise AgentError("api", "no", say="Failed.")
        return f"answer {len(made.prompts)}"

    made = ScriptedPrograms(script, undoing=undoing, uses=WROTE)
    return made


async def say(moot: Opened, *texts: str, by: str = "ash") -> str:
    for text in texts:
        await moot.hear(said(text, by=by))
        await moot.settle()
    return moot.texts()[-1]


async def asked(moot: Opened) -> list[Turn]:
    def work(connection: Connection) -> list[str]:
        rows = connection.execute(select(turns.c.id).where(turns.c.kind == "ask"))
        return list(rows.scalars())

    ids = await moot.house.context.store.read(work)
    found = [await moot.house.ledger.turn(one) for one in ids]
    return [turn for turn in found if turn is not None]


async def test_what_is_taken_back_stands_nowhere_any_more(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=able(Undoing())) as moot:
        told = await say(moot, "@demo one", "he said in passing", "@demo two", "!undo")
        assert told == '@demo has taken back its answer to "two", and the files that it had edited.'
        first, second = await asked(moot)
        assert ("undone" in first.record, second.record["undone"]["by"]) == (False, "fake:ash")
        await say(moot, "@demo three")
        prompt = moot.programs.prompts[-1]
        assert "(taken back, it stands no more) answer 2" in prompt
        assert "he said in passing" in prompt, "its program knows nothing of that prompt any more"
        assert told in prompt
        assert "demo] answer 1" in prompt

        def known(connection: Connection) -> set[str]:
            scope = second.scope
            rows = observations_of(connection, [scope])
            waiting = connection.execute(select(tool_uses.c.turn_id)).scalars()
            return {str(row.turn_id) for row in rows} | set(waiting)

        remembered = await moot.house.context.store.read(known)
        assert (first.id in remembered, second.id in remembered) == (True, False)
        acts = [row["act"] async for some in moot.house.context.audit.rows() for row in some]
        assert acts.count("undo") == 1


async def test_each_one_goes_a_turn_further_back(tmp_path: Path) -> None:
    undoing = Undoing()
    async with gateway(tmp_path, programs=able(undoing)) as moot:
        assert await say(moot, "!undo") == "Nothing was answered here that could be taken back."
        assert '"two"' in await say(moot, "@demo one", "@demo two", "!undo")
        assert '"one"' in await say(moot, "!undo demo")
        assert await say(moot, "!undo") == "Nothing was answered here that could be taken back."
        assert await say(moot, "!undo nobody") == "There is no persona 'nobody' here."
        assert undoing.times == 2


async def test_who_may_not_ask_may_not_take_back(tmp_path: Path) -> None:
    member = GrantTable(role="member", people=frozenset({"fake:ash"}))
    guest = GrantTable(role="guest", people=frozenset({"fake:cleo"}))
    access = AccessTable(grants=(member, guest), invoke="member")
    undoing = Undoing()
    async with gateway(tmp_path, programs=able(undoing), access=access) as moot:
        await say(moot, "@demo one")
        assert await say(moot, "!undo", by="cleo") == "You may not ask @demo here."
        assert undoing.times == 0


async def test_a_program_that_cannot_says_so_and_nothing_is_marked(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        assert await say(moot, "@demo one", "!undo") == "@demo: Scripted can't."
        [turn] = await asked(moot)
        assert "undone" not in turn.record


async def test_it_waits_for_the_turn_that_runs_and_takes_that_one_back(tmp_path: Path) -> None:
    gate, undoing = asyncio.Event(), Undoing()

    async def slow(prompt: str, reply: Reply) -> str:
        await gate.wait()
        return "done"

    async with gateway(tmp_path, programs=ScriptedPrograms(slow, undoing=undoing)) as moot:
        await moot.hear(said("@demo why?"))
        await until(lambda: bool(moot.programs.prompts))
        await moot.hear(said("@demo !undo"))
        assert undoing.times == 0
        gate.set()
        await moot.settle()
        assert '"why?"' in moot.texts()[-1]


async def test_only_the_end_of_the_conversation_that_goes_on_is_taken_back(tmp_path: Path) -> None:
    undoing = Undoing()
    async with gateway(tmp_path, programs=able(undoing)) as moot:
        assert "last turn failed" in await say(moot, "@demo one", "@demo fail", "!undo")
        assert "of an earlier session" in await say(moot, "@demo two", "!new", "!undo")
        assert undoing.times == 0


async def test_a_process_that_dies_meanwhile_does_it_no_second_time(tmp_path: Path) -> None:
    undoing = Undoing()
    undoing.gate.clear()
    async with gateway(tmp_path, programs=able(undoing)) as moot:
        await say(moot, "@demo one", "@demo two")
        await moot.hear(said("@demo !undo"))
        await until(lambda: undoing.times == 1)
    async with gateway(tmp_path, programs=able(undoing)) as moot:
        await moot.settle()
        assert "I was restarted while @demo took that back" in moot.texts()[-1]
        assert undoing.times == 1
        undoing.gate.set()
        assert '"two"' in await say(moot, "!undo")
