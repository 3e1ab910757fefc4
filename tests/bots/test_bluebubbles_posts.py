"""Own messages: sent once, whatever the answer, and found again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bots.bluebubbles.api import BlueBubblesApi
from bots.bluebubbles.bot import BlueBubblesBot
from contract.agent import Option, Question
from contract.chat import Destination, Room
from contract.errors import PlatformError
from tests.doubles.bluebubbles import DM, PASSWORD, SMS, BlueBubblesDouble, Fault
from tests.doubles.bluebubbles_stage import make_bot

CHAT = Destination(Room(f"bluebubbles:{DM}", "Olivia", "dm"))


@pytest.fixture
async def server() -> AsyncIterator[BlueBubblesDouble]:
    async with BlueBubblesDouble.open() as double:
        yield double


@pytest.fixture
async def bot(server: BlueBubblesDouble, tmp_path: Path) -> AsyncIterator[BlueBubblesBot]:
    made = make_bot(server, tmp_path)
    yield made
    await made.close()


def a_minute_ago() -> datetime:
    return datetime.now(UTC) - timedelta(minutes=1)


async def test_a_post_is_plain_text_under_a_name_of_its_key(
    server: BlueBubblesDouble, bot: BlueBubblesBot
) -> None:
    guid = await bot.post(CHAT, "All **done**.", "turn/0")
    (sent,) = server.called("message/text")
    assert server.messages[guid]["text"] == sent.body["message"]
    assert (sent.body["chatGuid"], sent.body["method"]) == (DM, "apple-script")
    server.private_api = server.helper_connected = True
    await bot.close()
    await bot.post(CHAT, "more", "turn/1")
    first, second = (call.body["tempGuid"] for call in server.called("message/text"))
    assert first != second


async def test_with_the_private_api_it_is_used(server: BlueBubblesDouble, tmp_path: Path) -> None:
    server.private_api = server.helper_connected = True
    bot = make_bot(server, tmp_path)
    guid = await bot.post(CHAT, "draft", "k")
    await bot.edit(CHAT, guid, "final")
    assert server.called("message/text")[0].body["method"] == "private-api"
    assert server.messages[guid]["text"] == "final"
    await bot.delete(CHAT, guid)
    assert not server.messages[guid]["text"]
    await bot.delete(CHAT, "gone")
    await bot.close()


async def test_without_the_private_api_edits_are_refused(
    server: BlueBubblesDouble, bot: BlueBubblesBot
) -> None:
    guid = await bot.post(CHAT, "as it is", "k")
    for change in (bot.edit(CHAT, guid, "changed"), bot.delete(CHAT, guid)):
        with pytest.raises(PlatformError, match="private API") as refused:
            await change
        assert refused.value.outcome == "refused"
    assert server.messages[guid]["text"] == "as it is"


@pytest.mark.parametrize("kind", ["500", "cut", "garbled"])
async def test_after_a_doubt_the_post_is_found_by_its_text(
    server: BlueBubblesDouble, bot: BlueBubblesBot, kind: str
) -> None:
    earlier = await bot.post(CHAT, "Done.", "0")
    server.fail("message/text", Fault(kind, "after"))  # type: ignore[arg-type]
    with pytest.raises(PlatformError) as doubt:
        await bot.post(CHAT, "Done.", "1")
    assert doubt.value.outcome == "unknown"
    found = await bot.find(CHAT, "1", a_minute_ago(), {earlier})
    assert found == server.own()[1]["guid"]
    assert await bot.find(CHAT, "1", a_minute_ago(), {earlier}) == found
    assert await bot.find(CHAT, "never tried", a_minute_ago(), ()) is None


@pytest.mark.parametrize("kind", ["500", "cut"])
async def test_what_never_arrived_is_not_found(
    server: BlueBubblesDouble, bot: BlueBubblesBot, kind: str
) -> None:
    await server.say("Done.", chat_guid=SMS, from_me=True)
    await server.say("Done.")
    server.fail("message/text", Fault(kind))  # type: ignore[arg-type]
    with pytest.raises(PlatformError):
        await bot.post(CHAT, "Done.", "1")
    assert await bot.find(CHAT, "1", a_minute_ago(), ()) is None


async def test_a_post_that_is_under_way_is_not_made_twice(
    server: BlueBubblesDouble, bot: BlueBubblesBot
) -> None:
    release = asyncio.Event()
    server.fail("message/text", Fault("hang", release=release))
    first = asyncio.create_task(bot.post(CHAT, "slow", "k"))
    async with asyncio.timeout(20):
        while not server.in_flight:
            await asyncio.sleep(0.01)
    with pytest.raises(PlatformError) as queued:
        await bot.post(CHAT, "slow", "k")
    assert queued.value.outcome == "unknown"
    release.set()
    assert await bot.find(CHAT, "k", a_minute_ago(), ()) == await first
    assert len(server.own()) == 1


async def test_who_is_not_on_imessage_is_not_tried_for_ever(
    server: BlueBubblesDouble, bot: BlueBubblesBot
) -> None:
    server.fail("message/text", Fault("error", code=22))
    with pytest.raises(PlatformError, match="22") as refused:
        await bot.post(CHAT, "hello", "k")
    assert refused.value.outcome == "refused"


async def test_a_server_that_asks_to_wait_gets_its_time(
    server: BlueBubblesDouble, bot: BlueBubblesBot
) -> None:
    server.fail("message/text", Fault("429"))
    with pytest.raises(PlatformError) as later:
        await bot.post(CHAT, "hello", "k")
    assert (later.value.outcome, later.value.retry_after_s) == ("retry", 0.05)


async def test_a_file_goes_out_after_its_comment_and_is_found_by_its_name(
    server: BlueBubblesDouble, bot: BlueBubblesBot
) -> None:
    server.fail("message/attachment", Fault("cut", "after"))
    with pytest.raises(PlatformError) as doubt:
        await bot.upload(CHAT, "answer.md", b"# \xc3\xa9", "The *whole* answer:", "k")
    assert doubt.value.outcome == "unknown"
    comment, file = server.own()
    assert comment["text"].startswith("The")
    assert server.files[file["attachments"][0]["guid"]] == b"# \xc3\xa9"
    assert await bot.find(CHAT, "k", a_minute_ago(), ()) == file["guid"]
    await bot.upload(CHAT, "answer.md", b"# \xc3\xa9", "The *whole* answer:", "k")
    assert [row["text"] for row in server.own()].count(comment["text"]) == 1


async def test_a_question_says_what_to_type(server: BlueBubblesDouble, bot: BlueBubblesBot) -> None:
    options = (Option("Yes"), Option("No", refuses=True))
    guid = await bot.ask(CHAT, Question("q", "Run a command?", "rm -rf x", options), "k")
    text = server.messages[guid]["text"]
    assert "Run a command?" in text
    assert "rm -rf x" in text
    assert text.index("!1") < text.index("!2")


async def test_the_password_is_in_no_log_and_in_no_error(
    server: BlueBubblesDouble, bot: BlueBubblesBot, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    said = []
    for fault in (Fault("cut"), Fault("500"), Fault("garbled")):
        server.fail("message/text", fault)
        with pytest.raises(PlatformError) as error:
            await bot.post(CHAT, "x", "k")
        said.append(f"{error.value!r} {error.value.say} {error.value.__cause__!r}")
    away = BlueBubblesApi("http://127.0.0.1:9", PASSWORD)
    with pytest.raises(PlatformError) as error:
        await away.get("ping")
    await away.close()
    said.append(f"{error.value!r} {error.value.__cause__!r}")
    assert error.value.outcome == "retry"
    for text in (*said, caplog.text):
        assert PASSWORD not in text
        assert "password=" not in text
