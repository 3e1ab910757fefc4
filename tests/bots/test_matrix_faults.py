"""What goes wrong between the bot and its homeserver, and rooms that move."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bots.matrix.bot import MatrixBot
from bots.matrix.invites import Welcome
from contract.agent import Option, Question
from contract.chat import Destination, Inbound
from contract.errors import PlatformError
from tests.doubles.inbox import Inbox, running
from tests.doubles.matrix_faults import Fault, Faults
from tests.doubles.matrix_stage import Stage, said, until

SEND = "/send/m.room.message/"


@pytest.fixture
async def faults(stage: Stage) -> AsyncIterator[Faults]:
    async with Faults.open(stage.homeserver.url) as opened:
        yield opened


async def place(stage: Stage, inbox: Inbox) -> Destination:
    """A room in which the bot has heard something."""
    room = await stage.room()
    await stage.andi.say(room, "hi")
    (message, *_) = await until(inbox, Inbound)
    return Destination(message.room)


async def posts(stage: Stage, where: Destination) -> list[dict[str, object]]:
    events = await stage.andi.events(where.room.external_id)
    return [
        event["content"]
        for event in events
        if event["type"] == "m.room.message" and event["sender"] == stage.bot_id
    ]


@pytest.mark.parametrize("fault", ["before", "after"])
async def test_a_post_of_unknown_outcome_is_there_once(
    stage: Stage, inbox: Inbox, faults: Faults, fault: Fault
) -> None:
    bot: MatrixBot = stage.bot(url=faults.url)
    async with running(bot, inbox):
        where = await place(stage, inbox)
        faults.next("PUT", SEND, fault)
        with pytest.raises(PlatformError) as unknown:
            await bot.post(where, "answer", "k")
        assert unknown.value.outcome == "unknown"
        since = inbox.messages[0].sent_at
        found = await bot.find(where, "k", since, ())
        again = await bot.post(where, "answer", "k")
    assert found == (None if fault == "before" else again)
    assert [post["body"] for post in await posts(stage, where)] == ["answer"]


async def test_a_connection_cut_after_the_post_makes_no_second_one(
    stage: Stage, inbox: Inbox, faults: Faults
) -> None:
    bot = stage.bot(url=faults.url)
    async with running(bot, inbox):
        where = await place(stage, inbox)
        faults.next("PUT", SEND, "cut after")
        await bot.post(where, "answer", "k")  # aiohttp repeats a PUT over a lost connection
    assert faults.went_wrong
    assert [post["body"] for post in await posts(stage, where)] == ["answer"]


async def test_what_the_server_finds_too_large_goes_plain_and_then_as_a_file(
    stage: Stage, inbox: Inbox, faults: Faults
) -> None:
    bot = stage.bot(url=faults.url)
    async with running(bot, inbox):
        where = await place(stage, inbox)
        faults.next("PUT", SEND, "too large")
        await bot.post(where, "**one**", "k1")
        faults.next("PUT", SEND, "too large", 2)
        await bot.post(where, "**two**", "k2")
    plain, file = await posts(stage, where)
    assert (plain["body"], "formatted_body" in plain) == ("**one**", False)
    assert (file["msgtype"], file["filename"]) == ("m.file", "answer.md")


async def test_a_question_waits_until_it_can_be_asked(
    stage: Stage, inbox: Inbox, faults: Faults
) -> None:
    bot = stage.bot(url=faults.url)
    async with running(bot, inbox):
        where = await place(stage, inbox)
        faults.next("PUT", SEND, "slow down", 2)
        question = Question("q", "Run it?", "", (Option("Yes"), Option("No", refuses=True)))
        await bot.ask(where, question, "k")
    assert len(faults.went_wrong) == 2
    assert [str(post["body"])[:8] for post in await posts(stage, where)] == ["**Run it"]


async def test_a_sync_that_fails_costs_nothing(stage: Stage, inbox: Inbox, faults: Faults) -> None:
    async with running(stage.bot(url=faults.url), inbox):
        where = await place(stage, inbox)
        faults.next("GET", "/sync$", "after")
        faults.next("GET", "/sync$", "cut after")
        for number in range(3):
            await stage.andi.say(where.room.external_id, f"more {number}")
            await said(inbox, f"more {number}")
    texts = [message.content for message in inbox.messages]
    assert texts == ["hi", "more 0", "more 1", "more 2"]


@pytest.mark.parametrize("preset", ["public_chat", "private_chat"])
async def test_the_bot_goes_along_when_its_room_moves(
    stage: Stage, inbox: Inbox, preset: str
) -> None:
    listed = f"matrix:{stage.andi.user_id}"
    async with running(stage.bot(invites=Welcome(lambda by: by == listed)), inbox):
        room = await stage.room(preset=preset)
        await stage.comes(room)
        moved = await stage.andi.call("POST", f"/rooms/{room}/upgrade", {"new_version": "10"})
        new_room = moved["replacement_room"]
        if preset == "private_chat":
            invite = f"/rooms/{new_room}/invite"
            await stage.andi.call("POST", invite, {"user_id": stage.budi.user_id})
            await stage.budi.join(new_room)
            await stage.budi.call("POST", invite, {"user_id": stage.bot_id})
        await stage.comes(new_room)
        await stage.andi.say(new_room, "here we are")
        assert (await said(inbox, "here we are")).room.external_id == new_room
