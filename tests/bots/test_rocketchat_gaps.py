"""Nothing is lost over a gap: a cut socket, a server that is away, a process that was down."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bots.rocketchat.bot import RocketChatBot
from bots.rocketchat.check import Credentials
from bots.rocketchat.ddp import DdpTimeouts
from contract.chat import Deleted, Edited, Room
from contract.errors import ConfigError, Rejected
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.rocketchat import (
    ASH,
    CLAUDE,
    DM,
    GENERAL,
    OLIVIA,
    SECRET,
    Fault,
    RocketChatDouble,
)

MakeBot = Callable[..., RocketChatBot]
ROOM = Room(f"rocketchat:{GENERAL}", "general")


async def listening(rocketchat: RocketChatDouble, connections: int = 1) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await rocketchat.sockets.listening(CLAUDE, connections)


def contents(inbox: Inbox) -> list[str]:
    """Each message once, as the gateway keeps them."""
    return list({m.message_id: m.content for m in inbox.messages}.values())


async def test_ten_messages_missed_while_the_socket_was_cut_come_in_their_order(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with running(rocketchat_bot(), inbox):
        await listening(rocketchat)
        rocketchat.say("before")
        await inbox.kept(1)
        rocketchat.sockets.refuses = True
        rocketchat.sockets.cut()
        for n in range(10):
            rocketchat.say(f"missed {n}", rid=(GENERAL, SECRET, DM)[n % 3])
        rocketchat.sockets.refuses = False
        await listening(rocketchat, 2)
        rocketchat.say("after")
        await inbox.kept(12)
    by_room = [m.content for m in inbox.messages if m.room.id == ROOM.id]
    assert by_room == ["before", "missed 0", "missed 3", "missed 6", "missed 9", "after"]
    assert sorted(contents(inbox)) == sorted(
        ["before", *(f"missed {n}" for n in range(10)), "after"]
    )


async def test_what_is_told_while_the_missed_is_fetched_comes_after_it(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    release = asyncio.Event()
    async with running(rocketchat_bot(), inbox):
        await listening(rocketchat)
        rocketchat.say("before")
        await inbox.kept(1)
        rocketchat.sockets.cut()
        rocketchat.say("missed")
        rocketchat.fail("chat.syncMessages", Fault("hang", release=release))
        await listening(rocketchat, 2)
        rocketchat.say("live")
        release.set()
        await inbox.kept(3)
    assert contents(inbox) == ["before", "missed", "live"]


async def test_what_was_said_while_the_process_was_down_is_told_by_the_next_one(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with running(rocketchat_bot(), inbox):
        await listening(rocketchat)
        gone, reworded, _ = (rocketchat.say(text) for text in ("gone", "frist", "kept"))
        await inbox.kept(3)
    rocketchat.say("@claude while down")
    rocketchat.remove(gone)
    rocketchat.edit(reworded, "first")
    rocketchat.room("new", "p", [OLIVIA, CLAUDE], name="new")
    rocketchat.say("@claude in a new room", rid="new")
    second = Inbox()
    async with running(rocketchat_bot(), second):
        async with asyncio.timeout(PATIENCE_S):
            while not {"@claude while down", "@claude in a new room"} <= {*contents(second)}:
                await second.kept(len(second.events) + 1)
            while not any(isinstance(e, Deleted) for e in second.events):
                await second.kept(len(second.events) + 1)
    assert Deleted(ROOM, gone) in second.events
    edits = [e for e in second.events if isinstance(e, Edited)]
    assert [(e.message_id, e.content) for e in edits] == [(reworded, "first")]
    assert all(m.mentioned for m in second.messages if "while down" in m.content)


async def test_what_was_said_long_before_the_first_start_is_nobody_s_business(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    rocketchat.say("@claude years ago")
    rocketchat.age()
    async with running(rocketchat_bot(), inbox):
        await listening(rocketchat)
        rocketchat.say("now")
        await inbox.kept(1)
    assert contents(inbox) == ["now"]


async def test_without_syncmessages_the_room_s_history_is_asked(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with running(rocketchat_bot(), inbox):
        await listening(rocketchat)
        rocketchat.sockets.cut()
        for n in range(3):
            rocketchat.say(f"missed {n}", rid=DM)
        rocketchat.fail("chat.syncMessages", Fault("error", code="x"), 9)
        await inbox.kept(3)
    assert contents(inbox) == ["missed 0", "missed 1", "missed 2"]
    assert rocketchat.called("im.history")


async def test_rate_limits_and_outages_on_the_way_back_lose_nothing(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with running(rocketchat_bot(), inbox):
        await listening(rocketchat)
        for route in ("me", "subscriptions.get", "chat.syncMessages"):
            rocketchat.fail(route, Fault("429", retry_after_s=0))
            rocketchat.fail(route, Fault("500"))
            rocketchat.fail(route, Fault("cut"))
        rocketchat.sockets.cut()
        rocketchat.say("missed")
        await inbox.kept(1)
    assert contents(inbox) == ["missed"]


def many_rooms(rocketchat: RocketChatDouble, said_at: str) -> None:
    for n in range(60):
        rocketchat.room(f"r{n}", "c", [OLIVIA, CLAUDE], name=f"r{n}")
        rocketchat.rooms[f"r{n}"]["lm"] = said_at


async def asked_first(rocketchat: RocketChatDouble) -> None:
    """Until the first eight rooms are asked."""
    async with asyncio.timeout(PATIENCE_S):
        while len(rocketchat.called("chat.syncMessages")) < 8:
            await asyncio.sleep(0.01)


async def test_a_room_in_which_nothing_was_missed_waits_for_no_other(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    many_rooms(rocketchat, "2020-01-01T00:00:00.000Z")
    release = asyncio.Event()
    rocketchat.fail("chat.syncMessages", Fault("hang", release=release), times=8)
    async with running(rocketchat_bot(), inbox):
        await asked_first(rocketchat)
        rocketchat.say("@claude hello", rid="r59")
        await inbox.kept(1)
        assert len(rocketchat.called("chat.syncMessages")) == 8
        release.set()


async def test_a_room_with_a_live_message_is_caught_up_before_the_others(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    many_rooms(rocketchat, "2999-01-01T00:00:00.000Z")
    release = asyncio.Event()
    rocketchat.fail("chat.syncMessages", Fault("hang", release=release), times=8)
    async with running(rocketchat_bot(), inbox):
        await asked_first(rocketchat)
        rocketchat.say("@claude hello", rid="r50")
        async with asyncio.timeout(PATIENCE_S):
            await rocketchat.sockets.watched("r50")
        release.set()
        await inbox.kept(1)
    asked = [args["roomId"] for args in rocketchat.called("chat.syncMessages")]
    assert "r50" in asked[8:16]


async def test_an_account_whose_calls_are_counted_asks_only_where_something_was_said(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    rocketchat.limited = True
    rocketchat.users[CLAUDE]["roles"] = ["user"]
    for n in range(30):
        rocketchat.room(f"r{n}", "c", [OLIVIA, CLAUDE], name=f"r{n}")
        rocketchat.rooms[f"r{n}"]["lm"] = "2020-01-01T00:00:00.000Z"
    async with running(rocketchat_bot(), inbox):
        await listening(rocketchat)
        rocketchat.sockets.cut()
        rocketchat.say("missed", rid="r7")
        await inbox.kept(1)
    assert len(rocketchat.called("chat.syncMessages")) < 15


async def test_a_message_that_could_not_be_kept_comes_again(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    bot = rocketchat_bot()
    inbox.failures.append(OSError("disk full"))
    run = asyncio.create_task(bot.run(inbox.receive))
    await listening(rocketchat)
    rocketchat.say("first")
    with pytest.raises(OSError, match="disk full"):
        await asyncio.wait_for(run, PATIENCE_S)
    assert inbox.events == []
    async with running(bot, inbox):
        await inbox.kept(1)
    assert contents(inbox) == ["first"]


async def test_a_message_that_breaks_the_contract_is_left_out_and_the_next_one_is_heard(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    inbox.failures.append(Rejected("content", "is strange"))
    async with running(rocketchat_bot(), inbox):
        await listening(rocketchat)
        rocketchat.say("strange")
        rocketchat.sockets.tell("stream-room-messages", "__my_messages__", [{"_id": 1}, {}])
        rocketchat.sockets.tell("stream-room-messages", "__my_messages__", ["?"])
        rocketchat.say("next")
        await inbox.kept(1)
    assert contents(inbox) == ["next"]


async def test_a_silent_socket_is_pinged_and_then_given_up(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    patience = DdpTimeouts(connect_s=5.0, quiet_s=0.1, dead_s=0.1)
    async with running(rocketchat_bot(timeouts=patience), inbox):
        await listening(rocketchat)
        async with asyncio.timeout(PATIENCE_S):
            while not any(f["msg"] == "ping" for f in rocketchat.sockets.clients[0].heard):
                await asyncio.sleep(0.01)
        rocketchat.sockets.deaf = True
        async with asyncio.timeout(PATIENCE_S):
            while rocketchat.sockets.clients:
                await asyncio.sleep(0.01)
        rocketchat.sockets.deaf = False
        rocketchat.say("missed")
        await inbox.kept(1)


async def test_a_ping_is_answered(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with running(rocketchat_bot(), inbox):
        await listening(rocketchat)
        (client,) = rocketchat.sockets.clients
        await rocketchat.sockets.ping()
        async with asyncio.timeout(PATIENCE_S):
            while {"msg": "pong", "id": "from-server"} not in client.heard:
                await asyncio.sleep(0.01)


async def test_a_broken_cursor_is_told_and_no_reason_to_stop(
    rocketchat: RocketChatDouble,
    inbox: Inbox,
    rocketchat_bot: MakeBot,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "cursor.json").write_text('{"since": "yesterday"', encoding="utf-8")
    async with running(rocketchat_bot(), inbox):
        await listening(rocketchat)
        rocketchat.say("hello")
        await inbox.kept(1)
    assert "cursor of the bot can't be read" in caplog.text
    kept = json.loads((tmp_path / "own" / "cursor.json").read_text(encoding="utf-8"))
    assert kept["rooms"][GENERAL] == "c"


@pytest.mark.parametrize(
    ("login", "remedy"),
    [
        (Credentials(user_id=CLAUDE, token="wrong"), "Personal Access Tokens"),
        (Credentials(username="claude", password="wrong"), "ROCKETCHAT_PASSWORD"),
        (Credentials(user_id=ASH, token="token-claude"), "isn't that of ROCKETCHAT_USER_ID"),
    ],
)
async def test_a_refused_login_is_one_sentence_with_its_remedy(
    inbox: Inbox, rocketchat_bot: MakeBot, login: Credentials, remedy: str
) -> None:
    bot = rocketchat_bot(login=login)
    with pytest.raises(ConfigError, match=remedy) as caught:
        async with asyncio.timeout(PATIENCE_S):
            await bot.run(inbox.receive)
    assert str(caught.value).count("refused") <= 1
    with pytest.raises(ConfigError, match=remedy):
        await bot.check()


def test_without_secrets_there_is_no_bot(rocketchat_bot: MakeBot) -> None:
    with pytest.raises(ConfigError, match="ROCKETCHAT_TOKEN and ROCKETCHAT_USER_ID"):
        rocketchat_bot(login=Credentials(user_id=CLAUDE))
