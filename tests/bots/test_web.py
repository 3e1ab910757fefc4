"""The page as a platform: everything goes to the sink, and a key makes one message."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from bots.bot import Bot
from bots.web import (
    Changed,
    Delivery,
    Posted,
    Questioned,
    Removed,
    Uploaded,
    WebBot,
    Working,
    message_id,
)
from contract import Option, Place, PlatformError, Question, Room, Speaker

PLACE = Place(Room("web:general", "general"), "m1")
SINCE = datetime(2026, 4, 21, tzinfo=UTC)
ASKED = Question("q1", "Run it?", "ls", (Option("Yes"), Option("No", refuses=True)))


class Sink:
    def __init__(self) -> None:
        self.got: list[Delivery] = []
        self.fails = False

    async def deliver(self, delivery: Delivery) -> None:
        if self.fails:
            raise PlatformError("the store is closed", outcome="retry")
        self.got.append(delivery)

    async def holds(self, place: Place, wanted: str) -> bool:
        return any(
            isinstance(d, Posted | Uploaded | Questioned)
            and (d.place, d.message_id) == (place, wanted)
            for d in self.got
        )


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def bot(sink: Sink) -> Bot:
    async def members(room: Room) -> Sequence[Speaker]:
        return (Speaker("web:ana", f"Ana in {room.name}"),)

    return WebBot(["claude", "demo"], deliver=sink.deliver, holds=sink.holds, members=members)


async def test_it_posts_edits_and_deletes_through_the_sink(bot: Bot, sink: Sink) -> None:
    posted = await bot.post(PLACE, "Hello", "t1/0")
    await bot.edit(PLACE, posted, "Hello there")
    await bot.delete(PLACE, posted)
    assert sink.got == [
        Posted(PLACE, posted, "Hello"),
        Changed(PLACE, posted, "Hello there"),
        Removed(PLACE, posted),
    ]


async def test_the_same_key_makes_the_same_message(bot: Bot) -> None:
    assert await bot.post(PLACE, "a", "t1/0") == await bot.post(PLACE, "a", "t1/0")
    assert await bot.post(PLACE, "a", "t1/1") != await bot.post(PLACE, "a", "t1/0")


async def test_it_finds_by_key_what_the_store_holds(bot: Bot) -> None:
    assert await bot.find(PLACE, "t1/0", SINCE, ()) is None
    posted = await bot.post(PLACE, "Hello", "t1/0")
    filed = await bot.upload(PLACE, "a.txt", b"x", "A file", "t1/1")
    asked = await bot.ask(PLACE, ASKED, "t1/q")
    assert await bot.find(PLACE, "t1/0", SINCE, ()) == posted == message_id("t1/0")
    assert await bot.find(PLACE, "t1/1", SINCE, ()) == filed
    assert await bot.find(PLACE, "t1/q", SINCE, ()) == asked


async def test_files_and_questions_reach_the_sink(bot: Bot, sink: Sink) -> None:
    filed = await bot.upload(PLACE, "a.txt", b"bytes", "A file", "t1/1")
    asked = await bot.ask(PLACE, ASKED, "t1/q")
    assert sink.got == [
        Uploaded(PLACE, filed, "A file", "a.txt", b"bytes"),
        Questioned(PLACE, asked, ASKED),
    ]


async def test_an_answer_is_one_piece_however_long(bot: Bot) -> None:
    assert bot.split("x" * 1_000_000) == ["x" * 1_000_000]
    assert bot.manners.buttons
    assert bot.manners.draft_interval_s == 0.1


async def test_a_sink_that_fails_says_so_but_not_for_typing(bot: Bot, sink: Sink) -> None:
    await bot.typing(PLACE, "Reading")
    assert sink.got == [Working(PLACE, "Reading")]
    sink.fails = True
    await bot.typing(PLACE, "")
    await bot.mark(PLACE, "m1", "done")
    with pytest.raises(PlatformError):
        await bot.post(PLACE, "Hello", "t1/0")


async def test_members_are_asked_of_the_gateway(bot: Bot, sink: Sink) -> None:
    assert [s.name for s in await bot.members(PLACE.room)] == ["Ana in general"]
    alone = WebBot(["demo"], deliver=sink.deliver, holds=sink.holds)
    assert await alone.members(PLACE.room) == ()
