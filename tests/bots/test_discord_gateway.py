"""How the bot holds Discord's gateway: over outages, and with servers that tell little."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from bots.discord.api import DiscordApi
from bots.discord.bot import DiscordBot
from bots.discord.directory import Directory
from bots.discord.events import Person
from bots.discord.wire import WireGuild
from bots.kit.slash import SlashCommand
from contract.chat import Destination, Room
from tests.doubles import discord_objects as objects
from tests.doubles.discord import BOT, GENERAL, GUILD, HISTORY, DiscordDouble, Fault
from tests.doubles.inbox import Inbox, running

MakeDiscordBot = Callable[..., DiscordBot]

# What discord.py's own client does without; and HTTP's words for "I don't know that".
OPTIONAL = [
    ("GET", "/applications/@me"),
    ("GET", "/gateway"),
    ("GET", "/gateway/bot"),
    ("PUT", "/applications/{application}/commands"),
    ("GET", "/guilds/{guild}/members"),
    ("GET", "/guilds/{guild}/members/{user}"),
    HISTORY,
]


async def say_ten(double: DiscordDouble) -> list[str]:
    return [await double.say(f"missed {n}") for n in range(10)]


def ids(inbox: Inbox) -> list[str]:
    return [message.message_id for message in inbox.messages]


async def test_a_session_is_resumed_though_nobody_told_where(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    discord_double.gateway.tells_where_to_resume = False
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        await discord_double.gateway.cut()
        missed = await say_ten(discord_double)
        await discord_double.gateway.back()
        await inbox.kept(10)
    assert ids(inbox) == missed
    assert discord_double.gateway.identified == 1


async def test_a_session_is_resumed_over_an_outage(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        discord_double.gateway.refuse(2)
        await discord_double.gateway.cut()
        missed = await say_ten(discord_double)
        await discord_double.gateway.back()
        await inbox.kept(10)
    assert ids(inbox) == missed
    assert (discord_double.gateway.refusals, discord_double.gateway.identified) == (0, 1)


@pytest.mark.parametrize("status", [404, 501])
async def test_a_server_with_little_more_than_messages_will_do(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot, status: int
) -> None:
    for call in OPTIONAL:
        discord_double.fail(call, replace(Fault("500"), status=status), times=100)
    bot = discord_bot(commands=(SlashCommand("stop", "stop"),))
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        await discord_double.say("first")
        await inbox.kept(1)
        await discord_double.gateway.cut(forget=True)
        await discord_double.gateway.connected(2)
        asked = await discord_double.say(f"<@{BOT}> why?")
        await inbox.kept(2)
        await bot.members(Room(f"discord:{GENERAL}", "general"))
        await bot.post(Destination(Room(f"discord:{GENERAL}", "general"), asked), "so", "k")
    assert inbox.messages[-1].mentioned
    assert discord_double.texts() == ["so"]


@pytest.mark.parametrize("path", ["", "/", "/api", "/api/v10", "/api/v10/"])
async def test_the_address_may_leave_out_what_is_always_the_same(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot, path: str
) -> None:
    async with running(discord_bot(api_url=discord_double.base + path), inbox):
        await discord_double.gateway.connected()
        await discord_double.say("hello")
        await inbox.kept(1)


async def test_a_large_guild_is_taken_in_a_few_people_at_a_time() -> None:
    """Else everything else in the process would wait for it."""
    people = [
        objects.member(objects.user(str(10**16 + n), f"user{n}"), nick=f"Nick {n}")
        for n in range(2_000)
    ]
    told = objects.member({"id": "nonsense"})
    guild = WireGuild.model_validate({"id": GUILD, "members": [*people, told]})
    directory = Directory(DiscordApi("t", "http://127.0.0.1:9"), now=lambda: 0.0)
    learning = asyncio.create_task(directory.learn_members(guild))
    turns = 0
    while not learning.done():
        await asyncio.sleep(0)
        turns += 1
    await learning
    assert turns > 30
    shown = await directory.speaker(Person(str(10**16 + 1_999), "", False), GUILD)
    assert shown.name == "Nick 1999"
