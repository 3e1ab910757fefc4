"""A server that serves the least: by another hand, an older one, or with a proxy before it."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contract.chat import Destination, Edited, Room
from tests.doubles.bluebubbles import ASH, DM, GROUP, OLIVIA, BlueBubblesDouble
from tests.doubles.bluebubbles_stage import at_work, make_bot
from tests.doubles.inbox import Inbox
from tests.doubles.ports import free_port

CHAT = Destination(Room(f"bluebubbles:{DM}", "Olivia", "dm"))
SECRET = "set_by_the_administrator"
BARE = frozenset({"webhook", "contact/query", "contact", r"message/([^/]+)", r"chat/([^/]+)"})


@pytest.fixture
async def server() -> AsyncIterator[BlueBubblesDouble]:
    async with BlueBubblesDouble.open(lacks=BARE) as double:
        yield double


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


async def test_a_webhook_entered_by_hand_is_heard(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    async with at_work(server, tmp_path, inbox, port=port, secret=SECRET, poll_s=60.0):
        url = f"{base}/bluebubbles/bluebubbles/{SECRET}"
        server.webhooks.append({"id": 1, "url": url, "events": ["*"]})
        guid = await server.say("@claude hello", ASH, GROUP)
        await inbox.kept(1)
        await server.edit(guid, "@claude hello there")
        events = await inbox.kept(2)
    (message,) = inbox.messages
    assert message.meta.sender_display_name == ASH
    assert isinstance(events[1], Edited)
    assert events[1].content == "@claude hello there"
    ours = [r for r in caplog.records if r.name.startswith("moot.")]
    (told,) = [r.getMessage() for r in ours if r.levelno >= logging.WARNING]
    assert f"{base}/bluebubbles/bluebubbles/<secret>" in told
    assert not any(SECRET in record.getMessage() for record in ours)


async def test_check_says_where_the_server_must_call(
    server: BlueBubblesDouble, tmp_path: Path
) -> None:
    port = free_port()
    found = await make_bot(server, tmp_path, listen_port=port).check()
    assert any(
        f"http://127.0.0.1:{port}/bluebubbles/bluebubbles/<secret>" in line for line in found
    )


async def test_who_is_in_a_group_is_told_with_all_chats(
    server: BlueBubblesDouble, tmp_path: Path
) -> None:
    bot = make_bot(server, tmp_path)
    people = await bot.members(Room(f"bluebubbles:{GROUP}", "Auth team", "gdm"))
    assert [person.id for person in people] == [f"bb:{OLIVIA}", f"bb:{ASH}"]
    await bot.close()


async def test_a_history_that_knows_no_dates_brings_what_is_new_and_comes_to_an_end(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    server.is_blunt = True
    for number in range(100):
        await server.say(f"old {number}")
    async with at_work(server, tmp_path, inbox):
        for number in range(3):
            await server.say(f"new {number}")
        await inbox.kept(3)
    assert [message.content for message in inbox.messages] == ["new 0", "new 1", "new 2"]
    assert len(server.called("message/query")) < 50


async def test_without_any_history_the_webhook_is_all_there_is(
    inbox: Inbox, tmp_path: Path
) -> None:
    lacks = frozenset({"message/query"})
    async with (
        BlueBubblesDouble.open(lacks=lacks) as server,
        at_work(server, tmp_path, inbox),
    ):
        await server.say("hello")
        await inbox.kept(1)
    assert [message.content for message in inbox.messages] == ["hello"]


async def test_a_post_whose_guid_is_not_told_is_known_when_it_comes_back(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    server.tells_guids = False
    async with at_work(server, tmp_path, inbox) as bot:
        posted = await bot.post(CHAT, "It is red.", "k")
        await server.say("hello")
        await inbox.kept(1)
    assert posted
    assert len(server.own()) == 1
    assert [message.content for message in inbox.messages] == ["hello"]
