"""A post whose outcome is unknown is looked for before it is made again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from bots.slack.bot import SlackBot
from contract.chat import Destination, Room
from contract.errors import PlatformError
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.slack import BOT_USER, GENERAL, Fault, SlackDouble

MakeSlackBot = Callable[..., SlackBot]
ROOM = Room(f"slack:{GENERAL}", "general")
HERE = Destination(ROOM)


def long_ago() -> datetime:
    return datetime.now(UTC) - timedelta(minutes=10)


@pytest.fixture
async def bot(slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot) -> AsyncIterator[SlackBot]:
    bot = slack_bot()
    async with running(bot, inbox):
        async with asyncio.timeout(PATIENCE_S):
            await slack.delivery.connected()
        yield bot


async def in_doubt(slack: SlackDouble, post: Callable[[], Awaitable[str]]) -> None:
    slack.fail("chat.postMessage", Fault("cut", "after"))
    with pytest.raises(PlatformError):
        await post()


@pytest.mark.parametrize("threaded", [False, True])
async def test_a_post_in_doubt_is_found_by_its_key(
    slack: SlackDouble, bot: SlackBot, threaded: bool
) -> None:
    slack.page_size = 3
    root = await slack.say("root")
    place = Destination(ROOM, root) if threaded else HERE
    others = [await bot.post(place, f"other {n}", f"other-{n}") for n in range(5)]
    await in_doubt(slack, lambda: bot.post(place, "the one", "key"))
    found = await bot.find(place, "key", long_ago(), others)
    assert found is not None
    assert slack.messages[GENERAL][found]["text"] == "the one"


async def test_a_post_that_never_was_is_not_found(slack: SlackDouble, bot: SlackBot) -> None:
    await bot.post(HERE, "made by another key", "other")
    await slack.say("somebody else's")
    slack.fail("chat.postMessage", Fault("cut"))
    with pytest.raises(PlatformError):
        await bot.post(HERE, "the one", "key")
    assert await bot.find(HERE, "key", long_ago(), []) is None


async def test_a_message_without_a_key_is_taken_for_it_when_nobody_knows_it(
    slack: SlackDouble, bot: SlackBot
) -> None:
    before = await slack.say("an old one", BOT_USER)
    since = datetime.now(UTC)
    known = await slack.say("known", BOT_USER)
    strange = await slack.say("strange", BOT_USER)
    await slack.say("strange too", BOT_USER)
    assert await bot.find(HERE, "key", since, [known]) == strange
    assert before != strange


async def test_an_upload_in_doubt_is_found(slack: SlackDouble, bot: SlackBot) -> None:
    since = long_ago()
    slack.fail("files.completeUploadExternal", Fault("cut", "after"))
    with pytest.raises(PlatformError):
        await bot.upload(HERE, "a.md", b"x", "see", "k")
    found = await bot.find(HERE, "k", since, [])
    assert found is not None
    assert slack.messages[GENERAL][found]["text"] == "see"


async def test_nothing_is_found_in_a_thread_that_is_gone(bot: SlackBot) -> None:
    assert await bot.find(Destination(ROOM, "1776754000.000001"), "key", long_ago(), []) is None


async def test_a_search_that_fails_is_no_finding(slack: SlackDouble, bot: SlackBot) -> None:
    slack.fail("conversations.history", Fault("500"))
    with pytest.raises(PlatformError):
        await bot.find(HERE, "key", long_ago(), [])


async def test_a_post_and_a_search_work_before_the_bot_runs(
    slack: SlackDouble, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot()
    posted = await bot.post(HERE, "x", "k")
    assert await bot.find(HERE, "k", long_ago(), []) == posted
    await bot.close()
