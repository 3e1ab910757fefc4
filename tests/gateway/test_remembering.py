"""A whole gateway that remembers: with a model, and without."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from contract.briefing import Budget
from contract.chat import Deleted, Edited
from contract.errors import ModelError
from gateway.remembering.ingest import MemoryIngest
from gateway.remembering.memories import BackgroundLearning, Memories, MemoryParts
from gateway.settings.tables import MemoryTable
from memory.pace import LearningPace
from memory.recall.facts import facts_in
from tests.doubles.chat import open_chat
from tests.doubles.index import WordIndex
from tests.doubles.model import ScriptedModel
from tests.doubles.platform import ROOM, said
from tests.doubles.running import Opened, gateway, until

SCOPE = f"room:{ROOM.id}"
EMPTY: dict[str, Any] = {"decisions": [], "discussions": [], "attempts": [], "requests": []}
FOUND = {
    **EMPTY,
    "decisions": [{"options": [], "chosen": "port 5433", "rationale": "5432 is taken"}],
}


async def learned(opened: Opened) -> None:
    await opened.settle()
    await until(lambda: not opened.house.memories.layers.learning())


async def known(opened: Opened) -> list[tuple[str, str]]:
    store = opened.house.memories.store
    facts = await store.read(lambda c: facts_in(c, [SCOPE]))
    return [(fact.kind, fact.text) for fact in facts]


async def test_without_a_model_recall_works_from_peoples_own_words(tmp_path: Path) -> None:
    index = WordIndex()
    async with gateway(tmp_path, index=index) as opened:
        await opened.hear(said("the staging database listens on port 5433"))
        await opened.hear(said("@demo hello"))
        await learned(opened)
        assert await known(opened) == [
            ("message", "Ash: the staging database listens on port 5433")
        ]
        found = [entry.text for entry in index.entries.values()]
        assert found == ["the staging database listens on port 5433"]


async def test_a_message_that_is_edited_or_deleted_is_not_recalled_as_it_was(
    tmp_path: Path,
) -> None:
    index = WordIndex()
    async with gateway(tmp_path, index=index) as opened:
        await opened.hear(said("the staging port is 5433", message_id="m-a"))
        await opened.hear(said("the production port is 5434", message_id="m-b"))
        await opened.hear(said("@demo hello"))
        await learned(opened)
        event = Edited(ROOM, "m-a", "the staging port is 5999", said("x").sent_at)
        await opened.house.intake.receive(event, opened.bot)
        await opened.house.intake.receive(Deleted(ROOM, "m-b"), opened.bot)
        await until(
            lambda: [e.text for e in index.entries.values()] == ["the staging port is 5999"]
        )
        assert await known(opened) == [("message", "Ash: the staging port is 5999")]


@pytest.mark.parametrize(
    ("remember", "kinds"),
    [
        ("auto", {"decision"}),
        ("extracted", {"decision"}),
        ("messages", {"message"}),
        ("both", {"decision", "message"}),
    ],
)
async def test_with_a_model_facts_are_extracted_after_the_reply(
    tmp_path: Path, remember: str, kinds: set[str]
) -> None:
    model = ScriptedModel(rest=FOUND)
    table = MemoryTable.model_validate({"remember": remember, "extract_tokens": 100})
    index = WordIndex()
    async with gateway(tmp_path, memory=table, index=index, model=model) as opened:
        await opened.hear(said("staging does not listen on port 5432, it seems. " * 10))
        await opened.hear(said("@demo since 5432 is taken, right?"))
        await learned(opened)
        assert {kind for kind, _ in await known(opened)} == kinds
        assert {entry.kind for entry in index.entries.values()} == kinds


async def test_the_models_calls_are_among_the_figures(tmp_path: Path) -> None:
    table = MemoryTable(extract_tokens=100)
    async with gateway(tmp_path, memory=table, model=ScriptedModel(rest=FOUND)) as opened:
        await opened.hear(said("staging does not listen on port 5432, it seems. " * 10))
        await opened.hear(said("@demo since 5432 is taken, right?"))
        await learned(opened)
        told = (await opened.house.services.monitor.metrics()).decode()
    assert 'moot_model_calls_total{fault="none",model="scripted",purpose="extraction"} 1.0' in told


async def test_a_model_that_fails_changes_no_reply(tmp_path: Path) -> None:
    model = ScriptedModel(rest=ModelError("no such key", passing=False))
    table = MemoryTable(extract_tokens=100)
    async with gateway(tmp_path, memory=table, index=WordIndex(), model=model) as opened:
        await opened.hear(said("staging does not listen on port 5432, it seems. " * 10))
        for _ in range(3):
            await opened.hear(said("@demo hello"))
            await learned(opened)
        assert len(opened.texts()) == 3
        assert len(model.asked) == 1  # and then it waits
        assert await known(opened) == []


async def test_what_people_say_among_themselves_is_taken_in_without_any_turn(
    tmp_path: Path,
) -> None:
    async with open_chat(tmp_path) as chat, asyncio.TaskGroup() as group:
        index = WordIndex()
        memories = Memories(
            MemoryTable(remember="both", extract_tokens=100),
            MemoryParts(
                store=chat.store,
                clock=chat.clock,
                zone=UTC,
                budget=Budget(),
                index=index,
                model=ScriptedModel(rest=FOUND),
            ),
            BackgroundLearning(
                spawn=lambda work, name: group.create_task(work, name=name), heard_s=0.01
            ),
        )
        hearing = group.create_task(memories.hearing.run())
        for n in range(20):
            await chat.say(f"{n}: staging can't have port 5432, which is taken")
            memories.hearing.heard(SCOPE)
        await until(lambda: len(index.entries) == 21)
        hearing.cancel()


async def test_rooms_wait_to_be_taken_in_while_questions_do_and_each_once(tmp_path: Path) -> None:
    busy, began = True, list[str]()
    async with open_chat(tmp_path) as chat, asyncio.TaskGroup() as group:
        memories = Memories(
            MemoryTable(),
            MemoryParts(store=chat.store, clock=chat.clock, zone=UTC, budget=Budget()),
            BackgroundLearning(spawn=lambda work, name: group.create_task(work, name=name)),
        )

        def spawn(work: Coroutine[Any, Any, None], name: str) -> None:
            began.append(name)
            group.create_task(work, name=name)

        pace = LearningPace(lambda: busy, patience_s=3600.0)
        ingest = MemoryIngest(memories.messages, None, None, spawn, pace=pace, heard_s=0.0)
        hearing = group.create_task(ingest.run())
        for _ in range(2):
            for room in ("room:a", "room:b", SCOPE):
                ingest.heard(room)
            await asyncio.sleep(0.1)
            assert began == []
        await chat.say("staging can't have port 5432, which is taken")
        busy = False
        await until(lambda: len(began) == 3)
        assert [name.partition(" hears ")[2] for name in began] == ["room:a", "room:b", SCOPE]
        async with asyncio.timeout(30):
            while not await chat.facts():
                await asyncio.sleep(0.01)
        hearing.cancel()


async def test_what_is_declared_private_later_is_taken_out_of_what_was_learned(
    tmp_path: Path,
) -> None:
    index = WordIndex()
    async with gateway(tmp_path, index=index) as opened:
        text = "the door of the lab opens with a1b2c3d4"
        await opened.hear(said(text, message_id="m-a"))
        await opened.hear(said("!pin a1b2c3d4 is the lab, budi.", by="budi"))
        await opened.hear(said("@demo the lab opens with a1b2c3d4, note it.", by="budi"))
        await learned(opened)
        assert len(await known(opened)) == 2
        await opened.house.intake.receive(
            Edited(ROOM, "m-a", f"<private>{text}</private>", said("x").sent_at), opened.bot
        )
        await until(lambda: not index.entries)
        assert await known(opened) == []
        [pinned] = await opened.house.memories.landmarks.listed(SCOPE)
        assert pinned.text == "[withheld] is the lab, budi."
