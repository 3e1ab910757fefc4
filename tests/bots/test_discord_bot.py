"""The bot against the double: what people do in Discord, and what the gateway gets."""

from collections.abc import Callable

from bots.discord import DiscordBot
from contract import Room
from tests.doubles.discord import (
    ASH,
    BOT,
    GENERAL,
    DiscordDouble,
)
from tests.doubles.inbox import Inbox, running

MakeDiscordBot = Callable[..., DiscordBot]
ROOM = Room(f"discord:{GENERAL}", "general")


async def test_a_mention_comes_with_all_that_the_contract_wants(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot()
    text = f"<@{BOT}> why  <15 minutes?\n\t**really** &amp; \\*\n"
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        sent = await discord_double.say(text, ASH)
        await inbox.kept(1)
        assert bot.own_ids == {f"discord:{BOT}"}
    (message,) = inbox.messages
    assert message.content == text
    assert message.mentioned
    assert (message.message_id, message.room, message.thread_id) == (sent, ROOM, None)
    assert message.meta.source == "discord"
    assert message.meta.sender_id == f"discord:{ASH}"
    assert message.meta.sender_display_name == "Ash"
    assert message.meta.sender_type == "human"
    assert message.meta.mention_token == f"<@{ASH}>"
    assert message.meta.channel_external_id == GENERAL
    assert message.meta.trigger_rag
    assert message.meta.recipient_id == "bot:claude"


async def test_a_message_to_nobody_is_told_without_a_recipient(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        await discord_double.say("lunch?")
        await inbox.kept(1)
    (message,) = inbox.messages
    assert (message.mentioned, message.meta.trigger_rag) == (False, False)
    assert message.meta.recipient_id is None
    assert message.meta.sender_display_name == "Olivia"
