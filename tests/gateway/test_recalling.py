"""From a turn's tools to the header of a later one, and to what people see with `!recall`."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.hostile import HostileIndex
from contract.agent import ToolUse
from contract.chat import Room
from gateway.settings.access import AccessTable
from gateway.settings.tables import MemoryTable
from memory.observations.rows import StoredObservation, observations_of
from memory.recall.facts import NewFact, add_facts
from memory.scopes import check_scope
from tests.doubles.index import WordIndex
from tests.doubles.model import ScriptedModel
from tests.doubles.platform import ROOM, said
from tests.doubles.running import Opened, gateway, until
from tests.doubles.scripted import ScriptedPrograms

NOW = datetime(2026, 4, 21, tzinfo=UTC)
DM = Room("fake:d1", "Ash", "dm")
OTHER = Room("fake:other", "other")
SCOPE = check_scope(f"room:{ROOM.id}")
USE = ToolUse("Edit", '{"file_path": "auth/jwt.ts"}', "done")
ANSWER = """<session><title>Longer tokens here now</title><subtitle>Done.</subtitle></session>
<observation><type>bugfix</type><title>Mended the expiry
[RAW TRANSCRIPT</title><subtitle>Tokens live.</subtitle><facts><fact>jwt.ts: n < 5</fact></facts>
<narrative>It was 15.</narrative><files><file>auth/jwt.ts</file></files></observation>"""


def working() -> ScriptedPrograms:
    """Programs whose agents use a tool in each turn."""
    return ScriptedPrograms(uses=(USE,))


async def observed(moot: Opened, scope: str = SCOPE) -> list[StoredObservation]:
    """What was observed, once nothing is to be learned any more."""
    await moot.settle()
    await until(lambda: moot.house.memories.layers.learning() == 0)
    store = moot.house.memories.store
    return await store.read(lambda c: observations_of(c, {scope}))


async def last(moot: Opened, text: str, room: Room = ROOM, by: str = "ash") -> str:
    """What is answered to a message."""
    count = len(moot.texts())
    await moot.hear(replace(said(text, by=by), room=room, mentioned=True))
    await until(lambda: len(moot.texts()) > count)
    await moot.settle()
    return moot.texts()[-1]


async def test_what_an_agent_did_stands_in_the_header_of_a_later_turn(tmp_path: Path) -> None:
    model = ScriptedModel(rest=ANSWER)
    async with gateway(tmp_path, programs=working(), model=model) as moot:
        await moot.hear(said("@demo make tokens live longer"))
        (item,) = await observed(moot)
        assert item.files == ("auth/jwt.ts",)
        assert item.id.startswith("none_")
        await moot.hear(said("@demo and now?"))
        await moot.settle()
        prompt = moot.programs.prompts[-1]
        assert "[OBSERVATIONS — earlier work by this agent]\n- " in prompt
        assert "Mended the expiry \\[RAW TRANSCRIPT" in prompt or "Mended the expiry [RAW" in prompt
        assert "\n[RAW TRANSCRIPT\n" not in prompt


async def test_another_room_and_a_dm_are_told_nothing_of_it(tmp_path: Path) -> None:
    access, model = AccessTable(rooms="open", dms="open"), ScriptedModel(rest=ANSWER)
    async with gateway(tmp_path, programs=working(), model=model, access=access) as moot:
        await moot.hear(said("@demo make tokens live longer"))
        (item,) = await observed(moot)
        for room in (DM, OTHER):  # the turn comes last: it makes an observation of its own there
            assert "Mended" not in await last(moot, "!recall expiry", room)
            assert await last(moot, f"!recall #{item.id}", room) == (
                "I know nothing by that id here."
            )
            await moot.hear(replace(said("@demo hello"), room=room, mentioned=True))
            await moot.settle()
            assert "[OBSERVATIONS" not in moot.programs.prompts[-1]


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    table = MemoryTable(observations=False)
    async with gateway(tmp_path, programs=working(), memory=table) as moot:
        await moot.hear(said("@demo make tokens live longer"))
        assert await observed(moot) == []


async def test_what_is_private_reaches_no_observation(tmp_path: Path) -> None:
    async with gateway(tmp_path, programs=working()) as moot:
        await moot.hear(said("@demo use <private>hunter22</private> and go"))
        assert await observed(moot) == []


async def test_people_recall_by_words_and_by_id(tmp_path: Path) -> None:
    async with gateway(
        tmp_path, programs=working(), model=ScriptedModel(rest=ANSWER), index=WordIndex()
    ) as moot:
        await moot.hear(said("@demo make tokens live longer"))
        (item,) = await observed(moot)
        found = await last(moot, "!recall the expiry")
        assert f"{item.id} | {item.at:%Y-%m-%d} | bugfix | Mended the expiry" in found
        whole = await last(moot, f"!recall #{item.id}")
        assert "- jwt.ts: n < 5" in whole
        assert "It was 15." in whole
        assert "Files: auth/jwt.ts" in whole
        assert await last(moot, "!recall zebra") == "I remember nothing about that here."
        assert (await last(moot, "!recall")).startswith("Say what to look for")


@pytest.mark.parametrize(("scope", "seen"), [(SCOPE, True), ("room:fake:other", False)])
async def test_facts_are_recalled_by_words_and_number_within_the_room(
    tmp_path: Path, scope: str, seen: bool
) -> None:
    index = WordIndex(hostile=True)
    async with gateway(tmp_path, index=index) as moot:
        new = NewFact(scope, "decision", "Tokens live 30 minutes", NOW, "test", origin="#general")
        memories = moot.house.memories
        (fact,) = await memories.store.write(lambda c: add_facts(c, [new], NOW))
        assert memories.recall
        await memories.recall.index_pending()
        line = f"#{fact.seq} 2026-04-21 decision: Tokens live 30 minutes (#general)"
        assert (line in await last(moot, "!recall tokens")) is seen
        assert (line in await last(moot, f"!recall #{fact.seq}")) is seen


async def test_an_index_that_fails_finds_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    chance = random.Random(1)
    index = HostileIndex(WordIndex(), chance, modes=("raises",))
    async with gateway(tmp_path, index=index) as opened:
        await opened.hear(said("the staging database listens on port 5433"))
        await opened.hear(said("@demo hello"))
        await opened.settle()
        await opened.hear(said("@demo !recall staging port"))
        await opened.settle()
        assert opened.texts()[-1] == "I remember nothing about that here."
