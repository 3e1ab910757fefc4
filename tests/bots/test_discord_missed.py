"""What the bot missed in Discord is told when it is back, and a refusal is one clear sentence."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bots.discord.api import ARCHIVES
from bots.discord.bot import DiscordBot
from contract.chat import Inbound
from contract.errors import ConfigError, PlatformError
from tests.doubles import discord_objects as objects
from tests.doubles.discord import (
    ASH,
    BOT,
    DM,
    FORUM,
    GENERAL,
    GUILD,
    HISTORY,
    SECRET,
    DiscordDouble,
    Fault,
)
from tests.doubles.inbox import PATIENCE_S, Inbox, running

MakeDiscordBot = Callable[..., DiscordBot]


async def miss_ten(double: DiscordDouble, channel: str = GENERAL) -> list[str]:
    return [await double.say(f"missed {n}", channel=channel) for n in range(10)]


def ids(inbox: Inbox) -> list[str]:
    return [message.message_id for message in inbox.messages]


async def test_a_resumed_session_brings_what_was_missed_by_itself(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        await discord_double.gateway.cut()
        missed = await miss_ten(discord_double)
        await discord_double.gateway.back()
        await inbox.kept(10)
    assert ids(inbox) == missed
    assert not [a for a in discord_double.called(HISTORY) if "after" in a.query]


async def test_after_a_new_session_every_channel_thread_and_dm_is_read_on(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    double = discord_double
    thread = await double.open_thread(GENERAL, "t")
    await double.say("long ago")
    async with running(discord_bot(), inbox):
        await double.gateway.connected()
        await double.say("hello", channel=DM)
        await inbox.kept(1)
        await double.gateway.cut(forget=True)
        missed = await miss_ten(double)
        missed += [await double.say("in a thread", channel=thread)]
        missed += [await double.say("in a channel where nobody spoke", channel=SECRET)]
        missed += [await double.say("in a dm", channel=DM)]
        fresh = await double.open_thread(GENERAL, "begun meanwhile")
        missed += [await double.say("in a new thread", channel=fresh)]
        await double.gateway.connected(2)
        later = await double.say("later")
        async with asyncio.timeout(PATIENCE_S):
            while set(ids(inbox)[1:]) < {*missed, later}:
                await inbox.kept(len(inbox.events) + 1)
    assert set(ids(inbox)[1:]) == {*missed, later}
    told = list(dict.fromkeys(ids(inbox)))  # "later" may come by the history, too
    assert [i for i in told if i in missed[:10] or i == later] == [*missed[:10], later]
    assert {m.thread_id for m in inbox.messages} == {None, thread, fresh}
    assert {m.meta.sender_display_name for m in inbox.messages} == {"Olivia"}


async def test_what_was_said_while_the_process_was_gone_is_told_when_it_is_back(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    await discord_double.say("before we came")
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        seen = await discord_double.say("seen")
        await inbox.kept(1)
    missed = await miss_ten(discord_double)
    async with running(discord_bot(), inbox):
        await inbox.kept(11)
    assert ids(inbox) == [seen, *missed]


@pytest.mark.parametrize("private", [False, True])
async def test_threads_that_were_begun_and_archived_meanwhile_are_read_too(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot, private: bool
) -> None:
    double = discord_double
    old = await double.open_thread(GENERAL, "old")
    await double.say("long ago", channel=old)
    await double.archive(old)
    async with running(discord_bot(), inbox):
        await double.gateway.connected()
        await double.say("seen")
        await inbox.kept(1)
    begun = [await double.open_thread(GENERAL, f"{n}", private=private) for n in range(3)]
    missed = [await double.say("missed", channel=thread) for thread in begun]
    for thread in begun:
        await double.archive(thread)
    async with running(discord_bot(), inbox):
        await inbox.kept(4)
        (asked,) = double.called(("GET", f"/channels/{{channel}}/{ARCHIVES[private]}"))[-1:]
    assert asked.ids["channel"] in (GENERAL, FORUM, SECRET)
    assert set(ids(inbox)[1:]) == set(missed)
    assert {m.thread_id for m in inbox.messages[1:]} == set(begun)
    assert {m.room.external_id for m in inbox.messages} == {GENERAL}


async def test_a_look_through_the_archive_that_was_cut_short_is_begun_again(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    double = discord_double
    async with running(discord_bot(), inbox):
        await double.gateway.connected()
        await double.say("seen")
        await inbox.kept(1)
    thread = await double.open_thread(GENERAL, "begun")
    missed = await double.say("missed", channel=thread)
    await double.archive(thread)
    held = asyncio.Event()
    archive = ("GET", f"/channels/{{channel}}/{ARCHIVES[False]}")
    double.fail(archive, Fault("hang", release=held), times=9)
    async with running(discord_bot(), inbox):
        await double.gateway.connected(2)
        later = await double.say("later")
        await inbox.kept(2)
    held.set()
    async with running(discord_bot(), inbox):
        await inbox.kept(3)
    assert ids(inbox)[1:] == [later, missed]


async def test_what_was_said_in_a_private_thread_before_the_bot_was_let_in_counts(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    double = discord_double
    async with running(discord_bot(), inbox):
        await double.gateway.connected()
        await double.say("seen")
        await inbox.kept(1)
        thread = objects.thread(objects.snowflake(), GUILD, GENERAL, ASH, "private")
        double.channels[thread["id"]] = thread
        written = objects.message(thread["id"], double.users[ASH], f"<@{BOT}> hello")
        double.messages[thread["id"]][written["id"]] = written
        told = {**thread, "type": 12, "last_message_id": written["id"]}
        await double.gateway.tell("THREAD_CREATE", told)
        await inbox.kept(2)
    assert ids(inbox)[1:] == [written["id"]]
    assert inbox.messages[1].mentioned


async def test_a_long_absence_is_read_page_by_page(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        await discord_double.say("seen")
        await inbox.kept(1)
    missed = [await discord_double.say(f"missed {n}", ASH) for n in range(230)]
    async with running(discord_bot(), inbox):
        await inbox.kept(231)
    assert ids(inbox)[1:] == missed


async def test_a_server_that_tells_no_guilds_is_read_on_all_the_same(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        await discord_double.say("seen")
        await inbox.kept(1)
        discord_double.gateway.tells_guilds = False
        await discord_double.gateway.cut(forget=True)
        missed = await miss_ten(discord_double)
        await inbox.kept(11)
    assert ids(inbox)[1:] == missed


async def test_reading_on_waits_and_tries_again_when_the_history_fails(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        await discord_double.say("seen")
        await inbox.kept(1)
        discord_double.fail(HISTORY, Fault("cut"))
        discord_double.fail(HISTORY, Fault("429"))
        await discord_double.gateway.cut(forget=True)
        missed = await miss_ten(discord_double)
        await inbox.kept(11)
    assert ids(inbox)[1:] == missed


async def test_what_could_not_be_kept_ends_the_run_and_comes_again(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        await discord_double.say("seen")
        await inbox.kept(1)
    inbox.failures.append(OSError("the disk is full"))
    with pytest.raises(OSError, match="full"):  # noqa: PT012 - the run ends where it waits
        async with running(discord_bot(), inbox) as task:
            await discord_double.gateway.connected(2)
            await miss_ten(discord_double)
            await asyncio.wait({task})
    async with running(discord_bot(), inbox):
        await inbox.kept(11)
    assert len(set(ids(inbox))) == 11


@pytest.mark.parametrize(
    "frame",
    [
        {"op": 0, "t": "MESSAGE_UPDATE", "s": 7, "d": {"id": "x"}},
        {"op": 0, "t": "MESSAGE_CREATE", "s": 7, "d": {"id": [], "channel_id": None}},
        {"op": 0, "t": "GUILD_CREATE", "s": 7, "d": {"channels": 5}},
        {"op": 0, "t": "RESUMED", "s": 7, "d": None},
        {"op": 0, "t": "READY", "s": 7, "d": {}},
    ],
)
async def test_an_event_that_nobody_can_read_costs_no_message(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot, frame: objects.Json
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        first = await discord_double.say("first")
        await discord_double.gateway.raw(frame)
        missed = await miss_ten(discord_double)
        await inbox.kept(11)
    assert list(dict.fromkeys(ids(inbox))) == [first, *missed]


async def test_a_message_that_is_told_twice_comes_twice_and_the_same(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        await discord_double.say(f"<@{BOT}> hello", times=2)
        first, second = await inbox.kept(2)
    assert isinstance(first, Inbound)
    assert first == second


# ── Refusals ────────────────────────────────────────────────────────────────────────────────


async def test_a_missing_intent_is_one_sentence_with_its_remedy(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    discord_double.forbidden_intents = 1 << 15
    with pytest.raises(ConfigError, match=r"MESSAGE CONTENT is off: switch it on at https://"):
        await discord_bot().run(inbox.receive)


async def test_a_refused_token_is_one_sentence_with_its_remedy(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot(token="wrong")
    with pytest.raises(ConfigError, match=r"the token is refused: take a new one"):
        await bot.run(inbox.receive)
    with pytest.raises(ConfigError, match=r"the token is refused"):
        await bot.check()


async def test_a_bot_without_a_token_is_a_mistake(discord_bot: MakeDiscordBot) -> None:
    with pytest.raises(ConfigError, match="token is missing"):
        discord_bot(token=" ")


async def test_the_members_intent_is_asked_for_where_it_was_granted_only(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
    discord_double.flags = 1 << 18
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected(2)
    with_members, without = (asked["intents"] for asked in discord_double.gateway.identifies)
    assert with_members & ~without == 1 << 1


async def test_check_tells_everything_that_is_missing(
    discord_double: DiscordDouble, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot()
    assert await bot.check() == []
    discord_double.flags = 0
    discord_double.permissions = objects.VIEW | objects.SEND
    intent, permissions = await bot.check()
    assert "MESSAGE CONTENT is off" in intent
    assert "read_message_history" in permissions
    assert f"client_id={BOT}" in permissions
    discord_double.invited = False
    _, invite = await bot.check()
    assert "is in no guild: invite it: https://discord.com/oauth2/authorize" in invite


async def test_a_server_that_is_not_there_is_tried_again(
    inbox: Inbox, discord_bot: MakeDiscordBot, unused_tcp_port: int
) -> None:
    bot = discord_bot(api_url=f"http://127.0.0.1:{unused_tcp_port}")
    with pytest.raises(PlatformError) as caught:
        await bot.run(inbox.receive)
    assert caught.value.outcome == "retry"


async def test_cursors_that_can_not_be_read_are_begun_anew(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot, tmp_path: Path
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "cursors.json").write_text('{"account": 5, "chan')
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        await discord_double.say("hello")
        await inbox.kept(1)
    assert GUILD in (tmp_path / "own" / "cursors.json").read_text()
