"""A bot at work on each of the six platforms."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from yarl import URL

from bots.discord.bot import DiscordBot
from bots.mattermost.bot import MattermostBot
from bots.mattermost.connection import Callbacks
from bots.rocketchat.bot import RocketChatBot
from bots.rocketchat.check import Credentials
from bots.slack.bot import SlackApp, SlackBot
from contract.chat import Room, Speaker
from tests.doubles import bluebubbles, discord, mattermost, rocketchat, slack
from tests.doubles.bluebubbles_stage import at_work, make_bot
from tests.doubles.bot_setup import bot_setup
from tests.doubles.grounds import (
    BlueBubblesGround,
    DiscordGround,
    Ground,
    MatrixGround,
    MattermostGround,
    RocketChatGround,
    SlackGround,
)
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.matrix_stage import Stage


def apart(changes: Mapping[str, Any], own: type[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Changes of a bot's setup, and those of the platform's own value."""
    names = {field.name for field in fields(own)}
    mine = {key: value for key, value in changes.items() if key in names}
    return {key: value for key, value in changes.items() if key not in names}, mine


def make_slack_bot(double: slack.SlackDouble, folder: Path, **changes: Any) -> SlackBot:
    app = {
        "token": double.bot_token,
        "app_token": double.app_token,
        "signing_secret": double.signing_secret,
        "api_url": double.api_url,
    }
    setup, of_app = apart(changes, SlackApp)
    return SlackBot(bot_setup("slack", folder, **setup), SlackApp(**(app | of_app)))


def make_discord_bot(double: discord.DiscordDouble, folder: Path, **changes: Any) -> DiscordBot:
    own = ("threads", "token", "api_url", "gateway_url", "commands", "rest_s")
    values: dict[str, Any] = {"token": double.token, "api_url": double.api_url, "rest_s": 0.0}
    values |= {key: changes.pop(key) for key in own if key in changes}
    return DiscordBot(bot_setup("discord", folder, **changes), **values)


def make_rocketchat_bot(
    double: rocketchat.RocketChatDouble, folder: Path, **changes: Any
) -> RocketChatBot:
    login = Credentials(user_id=rocketchat.CLAUDE, token="token-claude")
    values: dict[str, Any] = {"url": double.base, "login": login}
    own = ("url", "login", "timeouts")
    values |= {key: changes.pop(key) for key in own if key in changes}
    return RocketChatBot(bot_setup("rocketchat", folder, **changes), **values)


@asynccontextmanager
async def slack_ground(folder: Path) -> AsyncIterator[Ground]:
    async with slack.SlackDouble.open() as double:
        bot, inbox = make_slack_bot(double, folder), Inbox()
        async with running(bot, inbox):
            async with asyncio.timeout(PATIENCE_S):
                await double.delivery.connected()
            ground = SlackGround(
                bot,
                make_slack_bot(double, folder / "spare"),
                inbox,
                Room(f"slack:{slack.GENERAL}", "general"),
                Room(f"slack:{slack.DM}", "Olivia", "dm"),
                Speaker(f"slack:{slack.OLIVIA}", "Olivia", "human", f"<@{slack.OLIVIA}>"),
                name=f"<@{slack.BOT_USER}>",
                everybody="<!channel> <!here> <!everyone> @channel @here",
                most=12_000,
                idempotent=False,
            )
            ground.double = double
            yield ground


@asynccontextmanager
async def rocketchat_ground(folder: Path) -> AsyncIterator[Ground]:
    async with rocketchat.RocketChatDouble.open() as double:
        bot, inbox = make_rocketchat_bot(double, folder), Inbox()
        async with running(bot, inbox):
            async with asyncio.timeout(PATIENCE_S):
                await double.sockets.listening(rocketchat.CLAUDE)
            ground = RocketChatGround(
                bot,
                make_rocketchat_bot(double, folder / "spare"),
                inbox,
                Room(f"rocketchat:{rocketchat.GENERAL}", "general"),
                Room(f"rocketchat:{rocketchat.DM}", "Olivia", "dm"),
                Speaker(f"rocketchat:{rocketchat.OLIVIA}", "Olivia", "human", "@olivia"),
                name="@claude",
                everybody="@all @here",
                most=5_000,
            )
            ground.double = double
            yield ground


@asynccontextmanager
async def discord_ground(folder: Path) -> AsyncIterator[Ground]:
    async with discord.DiscordDouble.open() as double:
        bot, inbox = make_discord_bot(double, folder), Inbox()
        async with running(bot, inbox):
            await double.gateway.connected()
            ground = DiscordGround(
                bot,
                make_discord_bot(double, folder / "spare"),
                inbox,
                Room(f"discord:{discord.GENERAL}", "general"),
                Room(f"discord:{discord.DM}", "Olivia", "dm"),
                Speaker(f"discord:{discord.OLIVIA}", "Olivia", "human", f"<@{discord.OLIVIA}>"),
                name=f"<@{discord.BOT}>",
                everybody=f"@everyone @here <@&{discord.LEAD}>",
                most=2_000,
            )
            ground.double = double
            yield ground


@asynccontextmanager
async def bluebubbles_ground(folder: Path) -> AsyncIterator[Ground]:
    private = {"private_api": True, "helper_connected": True}
    async with bluebubbles.BlueBubblesDouble.open(**private) as double:
        inbox = Inbox()
        async with at_work(double, folder, inbox) as bot:
            hook = URL(double.webhooks[0]["url"])
            ground = BlueBubblesGround(
                bot,
                make_bot(double, folder, webhook_url=str(hook.origin())),
                inbox,
                Room(f"bluebubbles:{bluebubbles.GROUP}", "Auth team", "gdm"),
                Room(f"bluebubbles:{bluebubbles.DM}", "Olivia", "dm"),
                Speaker(f"bb:{bluebubbles.OLIVIA}", "Olivia", "human"),
                name="@claude",
                everybody="@all @everyone",
                most=8_000,
                threads=False,
                idempotent=False,
                reactions=False,
            )
            ground.double = double
            yield ground


def make_mattermost_bot(
    double: mattermost.MattermostDouble, folder: Path, **changes: Any
) -> MattermostBot:
    token = changes.pop("token", "token-claude")
    callbacks = changes.pop("callbacks", Callbacks())
    return MattermostBot(bot_setup("mattermost", folder, **changes), double.base, token, callbacks)


@asynccontextmanager
async def mattermost_ground(folder: Path) -> AsyncIterator[Ground]:
    async with mattermost.MattermostDouble.open() as double:
        bot, inbox = make_mattermost_bot(double, folder), Inbox()
        async with running(bot, inbox):
            async with asyncio.timeout(PATIENCE_S):
                await double.sockets.listening(mattermost.CLAUDE)
            ground = MattermostGround(
                bot,
                make_mattermost_bot(double, folder / "spare"),
                inbox,
                Room(f"mattermost:{mattermost.GENERAL}", "general"),
                Room(f"mattermost:{mattermost.DM}", "Olivia", "dm"),
                Speaker(f"mattermost:{mattermost.OLIVIA}", "Olivia", "human", "@olivia"),
                name="@claude",
                everybody="@all @here @channel",
                most=mattermost.MOST_CHARS,
            )
            ground.double = double
            yield ground


@asynccontextmanager
async def matrix_ground(stage: Stage) -> AsyncIterator[Ground]:
    bot, inbox = stage.bot(), Inbox()
    async with running(bot, inbox):
        room = await stage.room()
        private = {"is_direct": True, "preset": "trusted_private_chat"}
        dm = await stage.andi.room(stage.bot_id, **private)
        await stage.comes(room)
        await stage.comes(dm)
        shown = stage.andi.name.title()
        ground = MatrixGround(
            bot,
            stage.bot(own_dir=stage.folder / "spare"),
            inbox,
            Room(f"matrix:{room}", "general"),
            Room(f"matrix:{dm}", shown, "dm"),
            Speaker(f"matrix:{stage.andi.user_id}", shown, "human", stage.andi.user_id),
            name=stage.bot_id,
            everybody="@room",
            most=20_000,  # an event has 65,536 bytes, and a text stands there twice or more
        )
        ground.stage = stage
        yield ground
