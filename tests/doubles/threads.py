"""A thread of two people and a bot on each platform, for `moot run`: what they say there, and what
it answers."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Literal

from tests.doubles import discord, mattermost, rocketchat, slack
from tests.doubles.synapse import SERVER, Person, Synapse

Who = Literal["olivia", "ash"]


@dataclass
class Thread(ABC):
    """bot: the lines of its table in moot.toml. me, ash: what mentions the bot, and Ash. olivia:
    her sender id."""

    bot: str
    secrets: dict[str, str]
    me: str
    ash: str
    olivia: str
    root: str = field(init=False, default="")

    @abstractmethod
    async def begin(self) -> None:
        """Wait until the bot listens, and let Olivia say what the thread begins with."""

    @abstractmethod
    async def say(self, text: str, by: Who = "olivia") -> str:
        """Somebody says it in the thread."""

    @abstractmethod
    async def posts(self) -> list[str]:
        """All that the bot has said."""

    async def answered(self, *words: str) -> None:
        """Wait until just these stand there, and nothing more is said."""
        async with asyncio.timeout(60):
            while not set(await self.posts()) >= set(words):
                await asyncio.sleep(0.05)
        assert sorted(await self.posts()) == sorted(words)


class SlackThread(Thread):
    double: slack.SlackDouble

    async def begin(self) -> None:
        await self.double.delivery.connected()
        self.root = await self.double.say("hello")

    async def say(self, text: str, by: Who = "olivia") -> str:
        user = slack.OLIVIA if by == "olivia" else slack.ASH
        return await self.double.say(text, user, thread_ts=self.root)

    async def posts(self) -> list[str]:
        told = self.double.messages[slack.GENERAL].values()
        return [message["text"] for message in told if "bot_id" in message]


class RocketChatThread(Thread):
    double: rocketchat.RocketChatDouble

    async def begin(self) -> None:
        await self.double.sockets.listening(rocketchat.CLAUDE)
        self.root = self.double.say("hello")

    async def say(self, text: str, by: Who = "olivia") -> str:
        user = rocketchat.OLIVIA if by == "olivia" else rocketchat.ASH
        return self.double.say(text, user, thread=self.root)

    async def posts(self) -> list[str]:
        return self.double.texts()


class DiscordThread(Thread):
    double: discord.DiscordDouble

    async def begin(self) -> None:
        await self.double.gateway.connected()
        root = await self.double.say("hello")
        self.root = await self.double.open_thread(discord.GENERAL, "a thread", under=root)

    async def say(self, text: str, by: Who = "olivia") -> str:
        user = discord.OLIVIA if by == "olivia" else discord.ASH
        return await self.double.say(text, user, self.root)

    async def posts(self) -> list[str]:
        return [*self.double.texts(self.root), *self.double.texts()]


class MattermostThread(Thread):
    double: mattermost.MattermostDouble

    async def begin(self) -> None:
        await self.double.sockets.listening(mattermost.CLAUDE)
        self.root = self.double.say("hello")

    async def say(self, text: str, by: Who = "olivia") -> str:
        user = mattermost.OLIVIA if by == "olivia" else mattermost.ASH
        return self.double.say(text, user, thread=self.root)

    async def posts(self) -> list[str]:
        return self.double.texts()


class MatrixThread(Thread):
    bot_id: str
    andi: Person
    person: Person
    room: str = ""

    async def begin(self) -> None:
        self.room = await self.andi.room(self.bot_id, self.person.user_id, name="a")
        await self.person.join(self.room)
        async with asyncio.timeout(60):
            while self.bot_id not in await self._joined():
                await asyncio.sleep(0.05)
        self.root = await self.andi.say(self.room, "hello")

    async def _joined(self) -> dict[str, object]:
        found = await self.andi.call("GET", f"/rooms/{self.room}/joined_members")
        joined: dict[str, object] = found["joined"]
        return joined

    async def say(self, text: str, by: Who = "olivia") -> str:
        person = self.andi if by == "olivia" else self.person
        told = {"rel_type": "m.thread", "event_id": self.root, "is_falling_back": True}
        relation = {**told, "m.in_reply_to": {"event_id": self.root}}
        called = {self.me: self.bot_id, self.ash: self.person.user_id}
        mentions = {"user_ids": [user for shown, user in called.items() if shown in text]}
        more = {"m.relates_to": relation, "m.mentions": mentions}
        return await person.say(self.room, text, **more)

    async def posts(self) -> list[str]:
        told: dict[str, str] = {}
        for event in await self.andi.events(self.room):
            content = event["content"]
            if event["type"] != "m.room.message" or event["sender"] != self.bot_id:
                continue
            relation = content.get("m.relates_to", {})
            if relation.get("rel_type") == "m.replace":
                told[relation["event_id"]] = content["m.new_content"]["body"]
            else:
                told[event["event_id"]] = content["body"]
        return list(told.values())


@asynccontextmanager
async def slack_thread() -> AsyncIterator[Thread]:
    async with slack.SlackDouble.open() as double:
        secrets = {"SLACK_BOT_TOKEN": double.bot_token, "SLACK_APP_TOKEN": double.app_token}
        thread = SlackThread(
            f'platform = "slack"\napi_url = "{double.api_url}"',
            secrets,
            f"<@{slack.BOT_USER}>",
            f"<@{slack.ASH}>",
            f"slack:{slack.OLIVIA}",
        )
        thread.double = double
        yield thread


@asynccontextmanager
async def rocketchat_thread() -> AsyncIterator[Thread]:
    async with rocketchat.RocketChatDouble.open() as double:
        secrets = {"ROCKETCHAT_TOKEN": "token-claude", "ROCKETCHAT_USER_ID": rocketchat.CLAUDE}
        thread = RocketChatThread(
            f'platform = "rocketchat"\nurl = "{double.base}"',
            secrets,
            "@claude",
            "@ash",
            f"rocketchat:{rocketchat.OLIVIA}",
        )
        thread.double = double
        yield thread


@asynccontextmanager
async def discord_thread() -> AsyncIterator[Thread]:
    async with discord.DiscordDouble.open() as double:
        thread = DiscordThread(
            f'platform = "discord"\napi_url = "{double.api_url}"',
            {"DISCORD_TOKEN": double.token},
            f"<@{discord.BOT}>",
            f"<@{discord.ASH}>",
            f"discord:{discord.OLIVIA}",
        )
        thread.double = double
        yield thread


@asynccontextmanager
async def mattermost_thread() -> AsyncIterator[Thread]:
    async with mattermost.MattermostDouble.open() as double:
        thread = MattermostThread(
            f'platform = "mattermost"\nurl = "{double.base}"',
            {"MATTERMOST_TOKEN": "token-claude"},
            "@claude",
            "@ash",
            f"mattermost:{mattermost.OLIVIA}",
        )
        thread.double = double
        yield thread


@asynccontextmanager
async def matrix_thread(homeserver: Synapse) -> AsyncIterator[Thread]:
    name = f"moot{token_hex(3)}"
    homeserver.register(name)
    andi = Person(homeserver, "andi")
    thread = MatrixThread(
        f'platform = "matrix"\nurl = "{homeserver.url}"\ninvites = "everybody"',
        {"MATRIX_USER": name, "MATRIX_PASSWORD": "pass"},
        f"@{name}:{SERVER}",
        "Ash Lee",  # as Element writes a mention of Ash into the text
        f"matrix:{andi.user_id}",
    )
    thread.bot_id, thread.andi, thread.person = thread.me, andi, Person(homeserver, "ash")
    yield thread
