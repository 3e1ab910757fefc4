"""Servers that tell less, that show people otherwise, or whose tokens run out."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bots.kit.cursor import Cursor
from bots.rocketchat.bot import RocketChatBot
from bots.rocketchat.check import Credentials
from bots.rocketchat.wire import moment
from contract.chat import Deleted, Destination, PersonaIdentity, Room
from contract.errors import PlatformError
from tests.doubles.bot_setup import FileStates
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.rocketchat import CLAUDE, GENERAL, OLIVIA, Fault, RocketChatDouble

MakeBot = Callable[..., RocketChatBot]
ROOM = Room(f"rocketchat:{GENERAL}", "general")
HERE = Destination(ROOM)


async def listening(rocketchat: RocketChatDouble) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await rocketchat.sockets.listening(CLAUDE)


@pytest.mark.parametrize("named", [True, False])
async def test_what_is_pruned_is_told_whether_or_not_the_server_names_it(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot, named: bool
) -> None:
    async with running(rocketchat_bot(), inbox):
        await listening(rocketchat)
        gone = [rocketchat.say(f"words {n}") for n in range(2)]
        await inbox.kept(2)
        async with asyncio.timeout(PATIENCE_S):
            await rocketchat.sockets.watched(GENERAL, "deleteMessageBulk")
        rocketchat.prune(GENERAL, gone, named=named)
        await inbox.kept(4)
    assert inbox.events[2:] == [Deleted(ROOM, id_) for id_ in gone]


async def test_a_token_that_runs_out_while_the_socket_stays_open_is_made_anew(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    bot = rocketchat_bot(login=Credentials(username="claude", password="password-claude"))
    async with running(bot, inbox):
        await listening(rocketchat)
        rocketchat.tokens = {"another": CLAUDE}
        await asyncio.gather(*(bot.post(HERE, f"hi {n}", f"k{n}") for n in range(3)))
        await bot.upload(HERE, "a.txt", b"words", "", "k")
    assert sorted(rocketchat.texts()) == ["", "hi 0", "hi 1", "hi 2"]
    assert len(rocketchat.called("login")) == 1
    assert rocketchat.sockets.connections == 1


async def test_where_the_password_is_no_longer_taken_the_post_waits_and_says_why(
    rocketchat: RocketChatDouble,
    inbox: Inbox,
    rocketchat_bot: MakeBot,
    caplog: pytest.LogCaptureFixture,
) -> None:
    bot = rocketchat_bot(login=Credentials(username="claude", password="password-claude"))
    async with running(bot, inbox):
        await listening(rocketchat)
        rocketchat.tokens, rocketchat.passwords = {}, {}
        with pytest.raises(PlatformError) as caught:
            await bot.post(HERE, "hi", "k")
    assert (caught.value.outcome, caught.value.retry_after_s) == ("retry", 30.0)
    assert "check ROCKETCHAT_USER and ROCKETCHAT_PASSWORD" in caplog.text
    assert "password-claude" not in caplog.text


async def test_where_people_are_shown_by_their_names_the_bot_types_by_its_own(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    rocketchat.settings["UI_Use_Real_Name"] = True
    bot = rocketchat_bot()
    async with running(bot, inbox):
        await listening(rocketchat)
        async with asyncio.timeout(PATIENCE_S):
            while not rocketchat.sockets.typing:
                await bot.typing(HERE, "is working")
                await asyncio.sleep(0.01)
    assert rocketchat.sockets.typing[0]["username"] == "Claude"


@pytest.mark.parametrize(("limited", "interval_s"), [(False, 1.0), (True, 15.0)])
async def test_an_account_whose_roles_are_not_told_is_counted_where_the_answers_say_so(
    rocketchat: RocketChatDouble,
    inbox: Inbox,
    rocketchat_bot: MakeBot,
    limited: bool,
    interval_s: float,
) -> None:
    rocketchat.limited = limited
    rocketchat.permissions["api-bypass-rate-limit"] = []
    rocketchat.permissions["message-impersonate"] = ["user"]
    bot = rocketchat_bot()
    del rocketchat.users[CLAUDE]["roles"]
    rocketchat.untold_roles = ["user"]
    async with running(bot, inbox):
        await listening(rocketchat)
        posted = await bot.post(replace(HERE, voice=PersonaIdentity("codex", "")), "hi", "k")
        assert bot.capabilities.draft_interval_s == interval_s
    assert rocketchat.messages[posted]["alias"] == "codex"


async def test_somebody_s_name_is_looked_up_where_the_message_has_only_the_user_name(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with running(rocketchat_bot(), inbox):
        await listening(rocketchat)
        rocketchat.say("hello", u={"_id": OLIVIA, "username": "olivia"})
        await inbox.kept(1)
    assert inbox.messages[0].meta.sender_display_name == "Olivia"


async def test_a_thread_that_can_not_be_read_is_logged_without_what_was_said(
    rocketchat: RocketChatDouble,
    inbox: Inbox,
    rocketchat_bot: MakeBot,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    async with running(rocketchat_bot(), inbox):
        await listening(rocketchat)
        root = rocketchat.say("a root")
        rocketchat.fail("chat.getThreadMessages", Fault("error"))
        rocketchat.say("@claude a secret", thread=root)
        await inbox.kept(2)
    assert f"thread's messages of {root} is not known" in caplog.text
    assert "a secret" not in caplog.text


async def test_a_cursor_that_is_saved_twice_at_once_is_kept_whole(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cursor = Cursor(FileStates(tmp_path))
    for second in range(20):
        cursor.begin(moment(second * 1000))
        first = asyncio.create_task(cursor.save())
        await asyncio.sleep(0)
        first.cancel()
        cursor.begin(moment(second * 1000 + 500))
        await cursor.save()
        kept = Cursor(FileStates(tmp_path))
        await kept.load()
        assert kept.since == moment(second * 1000 + 500)
    assert caplog.text == ""
