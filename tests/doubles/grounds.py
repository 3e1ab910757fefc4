"""The six platforms behind one face: a bot at work on each, and what people do around it."""

from __future__ import annotations

import asyncio
import html
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

from bots.bot import Bot
from contract.chat import Inbound, Room, Speaker
from tests.doubles import bluebubbles, discord, mattermost, rocketchat, slack, slack_scopes
from tests.doubles.inbox import PATIENCE_S, Inbox
from tests.doubles.matrix_stage import Stage

Where = Literal["room", "dm"]


@dataclass
class Ground(ABC):
    """A bot at work in a room and in a direct message with Olivia.

    spare: one of the same account that is not at work. name: what makes a message the bot's.
    everybody: what calls all, in the platform's own writing. most: the units that a post may have,
    as `size` counts them. threads: a reply stands in a thread of its own. idempotent: a key that is
    posted twice is one post; elsewhere `find` tells. reactions: it has any.
    """

    bot: Bot
    spare: Bot
    inbox: Inbox
    room: Room
    dm: Room
    olivia: Speaker
    name: str
    everybody: str
    most: int
    threads: bool = True
    idempotent: bool = True
    reactions: bool = True

    @abstractmethod
    async def say(
        self, text: str, where: Where = "room", *, thread: str | None = None, times: int = 1
    ) -> str:
        """Olivia types it, and the platform tells it so often. thread: the message it is under."""

    @abstractmethod
    async def edit(self, message_id: str, text: str) -> None:
        """Olivia edits what she said in the room."""

    @abstractmethod
    async def remove(self, message_id: str) -> None:
        """Olivia takes back what she said in the room."""

    @abstractmethod
    async def posts(self, where: Where = "room") -> list[str]:
        """What the bot has said, as it stands now, in the platform's own markup."""

    @abstractmethod
    async def told(self) -> list[str]:
        """Whom the bot's last post in the room notifies."""

    @abstractmethod
    async def marks(self, message_id: str) -> set[str]:
        """The bot's reactions on a message in the room, as the platform has them."""

    @abstractmethod
    async def push_pin(self, message_id: str) -> None:
        """Olivia puts a 📌 on a message in the room."""

    def size(self, post: str) -> int:
        return len(post.encode("utf-16-le")) // 2

    async def heard(self, message_id: str) -> Inbound:
        """The message, once it has come in."""
        while True:
            for message in self.inbox.messages:
                if message.message_id == message_id:
                    return message
            await self.inbox.kept(len(self.inbox.events) + 1)


class SlackGround(Ground):
    double: slack.SlackDouble

    async def say(
        self, text: str, where: Where = "room", *, thread: str | None = None, times: int = 1
    ) -> str:
        channel = slack.GENERAL if where == "room" else slack.DM
        typed = html.escape(text, quote=False).replace(html.escape(self.name), self.name)
        return await self.double.say(typed, channel=channel, thread_ts=thread, times=times)

    async def edit(self, message_id: str, text: str) -> None:
        await self.double.edit(slack.GENERAL, message_id, text)

    async def remove(self, message_id: str) -> None:
        await self.double.remove(slack.GENERAL, message_id)

    async def posts(self, where: Where = "room") -> list[str]:
        return self.double.texts(slack.GENERAL if where == "room" else slack.DM)

    async def marks(self, message_id: str) -> set[str]:
        return set(self.double.messages[slack.GENERAL][message_id].get("reactions") or ())

    async def push_pin(self, message_id: str) -> None:
        await self.double.react(slack.GENERAL, message_id, "pushpin")

    async def told(self) -> list[str]:
        (*_, last) = self.double.texts()
        return re.findall(r"<[@!][^>|]+>", last)

    def size(self, post: str) -> int:
        return slack_scopes.utf16(post)


class RocketChatGround(Ground):
    double: rocketchat.RocketChatDouble

    async def say(
        self, text: str, where: Where = "room", *, thread: str | None = None, times: int = 1
    ) -> str:
        rid = rocketchat.GENERAL if where == "room" else rocketchat.DM
        return self.double.say(text, rid=rid, thread=thread, times=times)

    async def edit(self, message_id: str, text: str) -> None:
        self.double.edit(message_id, text)

    async def remove(self, message_id: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.double.sockets.watched(rocketchat.GENERAL)
        self.double.remove(message_id)

    async def posts(self, where: Where = "room") -> list[str]:
        return self.double.texts(rocketchat.GENERAL if where == "room" else rocketchat.DM)

    async def marks(self, message_id: str) -> set[str]:
        given = self.double.messages[message_id].get("reactions") or {}
        return {name.strip(":") for name, who in given.items() if "claude" in who["usernames"]}

    async def push_pin(self, message_id: str) -> None:
        self.double.react(message_id, "pushpin")

    async def told(self) -> list[str]:
        own = [m for m in self.double.messages.values() if m["u"]["_id"] == rocketchat.CLAUDE]
        return [f"@{user['username']}" for user in own[-1]["mentions"]]


class DiscordGround(Ground):
    double: discord.DiscordDouble

    async def say(
        self, text: str, where: Where = "room", *, thread: str | None = None, times: int = 1
    ) -> str:
        channel = discord.GENERAL if where == "room" else discord.DM
        if thread is not None:
            if thread not in self.double.channels:
                await self.double.open_thread(channel, "a thread", under=thread)
            channel = thread
        return await self.double.say(text, channel=channel, times=times)

    async def edit(self, message_id: str, text: str) -> None:
        await self.double.edit(discord.GENERAL, message_id, text)

    async def remove(self, message_id: str) -> None:
        await self.double.remove(discord.GENERAL, message_id)

    async def posts(self, where: Where = "room") -> list[str]:
        return self.double.texts(discord.GENERAL if where == "room" else discord.DM)

    async def marks(self, message_id: str) -> set[str]:
        given = self.double.reactions[message_id].items()
        return {emoji for emoji, who in given if discord.BOT in who}

    async def push_pin(self, message_id: str) -> None:
        await self.double.react(discord.GENERAL, message_id, "📌")

    async def told(self) -> list[str]:
        asked = self.double.called(discord.POST)[-1].body["allowed_mentions"]
        everybody = [f"@{kind}" for kind in asked.get("parse", ())]
        return everybody + [f"<@{u['id']}>" for u in self.double.posts()[-1]["mentions"]]


class BlueBubblesGround(Ground):
    double: bluebubbles.BlueBubblesDouble

    async def say(
        self, text: str, where: Where = "room", *, thread: str | None = None, times: int = 1
    ) -> str:
        self.double.times = times
        chat = bluebubbles.GROUP if where == "room" else bluebubbles.DM
        return await self.double.say(text, chat_guid=chat, threadOriginatorGuid=thread)

    async def edit(self, message_id: str, text: str) -> None:
        await self.double.edit(message_id, text)

    async def remove(self, message_id: str) -> None:
        await self.double.edit(message_id, "")

    async def posts(self, where: Where = "room") -> list[str]:
        chat = bluebubbles.GROUP if where == "room" else bluebubbles.DM
        return [row["text"] for row in self.double.own(chat) if row["text"] is not None]

    async def marks(self, message_id: str) -> set[str]:
        return set()

    async def push_pin(self, message_id: str) -> None:
        """There is none."""

    async def told(self) -> list[str]:
        return []


class MattermostGround(Ground):
    double: mattermost.MattermostDouble

    async def say(
        self, text: str, where: Where = "room", *, thread: str | None = None, times: int = 1
    ) -> str:
        channel = mattermost.GENERAL if where == "room" else mattermost.DM
        return self.double.say(text, channel=channel, thread=thread, times=times)

    async def edit(self, message_id: str, text: str) -> None:
        self.double.edit(message_id, text)

    async def remove(self, message_id: str) -> None:
        self.double.remove(message_id)

    async def posts(self, where: Where = "room") -> list[str]:
        return self.double.texts(mattermost.GENERAL if where == "room" else mattermost.DM)

    async def marks(self, message_id: str) -> set[str]:
        given = [one for one in self.double.reactions if one["post_id"] == message_id]
        return {one["emoji_name"] for one in given if one["user_id"] == mattermost.CLAUDE}

    async def push_pin(self, message_id: str) -> None:
        self.double.react(message_id, "pushpin")

    async def told(self) -> list[str]:
        last = self.double.own()[-1]
        called = self.double.mentions(last) if last["message"] else ()
        return [f"@{self.double.users[user]['username']}" for user in called]


class MatrixGround(Ground):
    stage: Stage

    async def say(
        self, text: str, where: Where = "room", *, thread: str | None = None, times: int = 1
    ) -> str:
        room = self.room if where == "room" else self.dm
        more: dict[str, Any] = {}
        if self.name in text:
            more["m.mentions"] = {"user_ids": [self.name]}
        if thread is not None:
            more["m.relates_to"] = {"rel_type": "m.thread", "event_id": thread}
        return await self.stage.andi.say(room.external_id, text, **more)

    async def edit(self, message_id: str, text: str) -> None:
        relation = {"rel_type": "m.replace", "event_id": message_id}
        new = {"msgtype": "m.text", "body": text}
        more = {"m.new_content": new, "m.relates_to": relation}
        await self.stage.andi.say(self.room.external_id, f"* {text}", **more)

    async def remove(self, message_id: str) -> None:
        await self.stage.andi.redact(self.room.external_id, message_id)

    async def _own(self, where: Where) -> list[dict[str, Any]]:
        room = self.room if where == "room" else self.dm
        events = await self.stage.andi.events(room.external_id)
        own = [e for e in events if e["sender"] == self.stage.bot_id]
        return [e for e in own if e["type"] == "m.room.message" and e["content"]]

    async def posts(self, where: Where = "room") -> list[str]:
        told: dict[str, str] = {}
        for event in await self._own(where):
            content = event["content"]
            edited = content.get("m.relates_to", {}).get("event_id", "")
            if "m.new_content" not in content:
                told[event["event_id"]] = content["body"]
            elif edited in told:  # nobody is shown the edit of what is gone
                told[edited] = content["m.new_content"]["body"]
        return list(told.values())

    async def marks(self, message_id: str) -> set[str]:
        events = await self.stage.andi.events(self.room.external_id)
        given = [e["content"].get("m.relates_to", {}) for e in events if _is_mark(e, self.stage)]
        return {one["key"] for one in given if one.get("event_id") == message_id}

    async def push_pin(self, message_id: str) -> None:
        relation = {"rel_type": "m.annotation", "event_id": message_id, "key": "📌"}
        content = {"m.relates_to": relation}
        await self.stage.andi.send(self.room.external_id, content, "m.reaction")

    async def told(self) -> list[str]:
        mentions = (await self._own("room"))[-1]["content"].get("m.mentions") or {}
        return [*mentions.get("user_ids", ()), *(["@room"] if mentions.get("room") else [])]


def _is_mark(event: dict[str, Any], stage: Stage) -> bool:
    return bool(event["type"] == "m.reaction" and event["sender"] == stage.bot_id)
