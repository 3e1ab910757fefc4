"""What the webhook missed: read from the history, once, in its order, also over a restart."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contract.chat import Deleted, Edited
from contract.errors import ConfigError, PlatformError
from tests.doubles.bluebubbles import GROUP, BlueBubblesDouble, Fault
from tests.doubles.bluebubbles_stage import at_work, make_bot
from tests.doubles.inbox import PATIENCE_S, Inbox, running


@pytest.fixture
async def server() -> AsyncIterator[BlueBubblesDouble]:
    async with BlueBubblesDouble.open() as double:
        yield double


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


async def looks(server: BlueBubblesDouble, more: int) -> None:
    """Wait for so many looks at the history."""
    wanted = len(server.called("message/query")) + more
    async with asyncio.timeout(PATIENCE_S):
        while len(server.called("message/query")) < wanted:
            await asyncio.sleep(0.01)


async def test_a_first_start_begins_now(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    await server.say("long ago")
    async with at_work(server, tmp_path, inbox):
        await looks(server, 2)
        server.deaf = True
        await server.say("now")
        await inbox.kept(1)
    assert [message.content for message in inbox.messages] == ["now"]


async def test_two_hundred_and_fifty_lost_messages_come_in_their_order(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox):
        server.deaf = True
        for number in range(250):
            await server.say(str(number))
        await inbox.kept(250)
        await looks(server, 4)
    assert [message.content for message in inbox.messages] == [str(n) for n in range(250)]


async def test_what_was_said_while_the_bot_was_away_comes_at_its_start(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox):
        await server.say("one")
        await inbox.kept(1)
    await server.say("two")
    async with at_work(server, tmp_path, inbox):
        await inbox.kept(3)  # the first one again: the gateway knows it by its guid
    assert [message.content for message in inbox.messages] == ["one", "one", "two"]
    assert len({message.message_id for message in inbox.messages}) == 2


async def test_a_message_that_could_not_be_stored_is_read_again(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    inbox.failures = [PlatformError("the disk is full", outcome="retry")] * 2
    async with at_work(server, tmp_path, inbox, poll_s=3600):
        await server.say("keep me")
        await inbox.kept(1)
    assert (inbox.messages[0].content, server.delivered) == ("keep me", [("new-message", 503)])


async def test_the_place_in_the_history_moves_only_behind_what_is_stored(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    place = tmp_path / "own" / "history.json"
    async with at_work(server, tmp_path, inbox):
        await looks(server, 1)
        before = json.loads(place.read_text())["read_ms"]
        server.deaf = True
        inbox.gate.clear()
        guid = await server.say("wait")
        await inbox.knocked(1)
        assert json.loads(place.read_text())["read_ms"] == before
        inbox.gate.set()
        await inbox.kept(1)
        await looks(server, 2)
    assert json.loads(place.read_text())["read_ms"] == server.messages[guid]["dateCreated"]


async def test_a_message_from_the_future_takes_the_place_nowhere(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox):
        server.deaf = True
        await server.say("tomorrow", dateCreated=server.now_ms() + 86_400_000)
        await inbox.kept(1)
        await looks(server, 2)
        await server.say("today")
        await inbox.kept(2)
    assert [message.content for message in inbox.messages] == ["tomorrow", "today"]


async def test_an_edit_and_a_removal_are_found_in_the_history(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox):
        edited = await server.say("frist")
        gone = await server.say("oops")
        await inbox.kept(2)
        server.deaf = True
        await server.edit(edited, "first")
        await server.edit(gone, "")
        await inbox.kept(4)
        await looks(server, 2)
    changed, removed = inbox.events[2:]
    assert isinstance(changed, Edited)
    assert (changed.message_id, changed.content) == (edited, "first")
    assert isinstance(removed, Deleted)
    assert removed.message_id == gone


async def test_one_message_that_cannot_be_read_holds_up_no_other(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with at_work(server, tmp_path, inbox):
        server.deaf = True
        await server.say("secret words", isFromMe=["?"])
        nobody = server.chats[GROUP]
        await server.say("more secret words", handle=None, chats=[nobody])
        await server.say("fine", attachments="none", dateEdited="when?", dateCreated=None)
        await inbox.kept(1)
        await looks(server, 2)
    assert [message.content for message in inbox.messages] == ["fine"]
    assert "secret words" not in caplog.text
    assert caplog.text.count("left out") == 2  # each once, however often it is read


async def test_a_server_that_is_away_for_a_while_is_asked_again(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with at_work(server, tmp_path, inbox):
        server.deaf = True
        server.fail("message/query", Fault("500"), Fault("cut"), Fault("garbled"), Fault("429"))
        await server.say("after all")
        await inbox.kept(1)
    assert inbox.messages[0].content == "after all"
    assert "Traceback" not in caplog.text


async def test_a_wrong_password_is_told_with_its_remedy_and_never_shown(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    bot = make_bot(server, tmp_path, password="not-it")
    with pytest.raises(ConfigError, match="BLUEBUBBLES_PASSWORD") as refused:
        async with running(bot, inbox) as task:
            await asyncio.wait({task}, timeout=PATIENCE_S)
    assert "not-it" not in str(refused.value)


async def test_without_a_port_the_history_is_all_there_is(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(make_bot(server, tmp_path, listen_port=0), inbox):
        await looks(server, 2)
        await server.say("heard all the same")
        await inbox.kept(1)
    assert server.webhooks == []
    assert "webhook_url" in caplog.text
