"""Rocket.Chat, Discord, iMessage, Mattermost and Slack as places where approvals are tried."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from tests.doubles import bluebubbles, discord, mattermost, rocketchat, slack
from tests.doubles.approvals import Platform, Where, until
from tests.doubles.ports import free_port
from tests.doubles.rocketchat_wire import iso


class RocketChat(Platform):
    name, mention, quotes = "rocketchat", "@claude ", False
    gone, stale = "Ash, say which question you mean", "code"
    persona = "@claude @{} "
    olivia, ash = rocketchat.OLIVIA, rocketchat.ASH

    def __init__(self, double: rocketchat.RocketChatDouble) -> None:
        self.double = double
        self.secrets = {"ROCKETCHAT_TOKEN": "token-claude", "ROCKETCHAT_USER_ID": rocketchat.CLAUDE}
        self.bot = f'url = "{double.base}"'

    async def listens(self) -> None:
        await self.double.sockets.listening(rocketchat.CLAUDE)

    async def say(
        self, text: str, by: str = "olivia", where: Where = "here", *, reply_to: str = ""
    ) -> str:
        user = {"olivia": self.olivia, "ash": self.ash}.get(by, by)
        return self.double.say(text, user, self._rid(where), thread=reply_to or None)

    async def say_unheard(self, text: str) -> str:
        """Olivia's clock is ahead, and the server takes her program's time."""
        return self.double.say(text, times=0, ts=iso(time.time() + 9))

    async def tell(self, unheard: str) -> None:
        self.double.sockets.tell_message(self.double.messages[unheard])

    async def edit(self, message: str, text: str) -> None:
        self.double.edit(message, text, self.ash)

    async def remove(self, message: str) -> None:
        self.double.remove(message)

    async def hand(self, text: str, name: str, data: bytes) -> None:
        self.double.say(text, files=(self.double.file(name, data),))

    async def as_bots(self, text: str) -> None:
        await self.say(text, rocketchat.CODEX)
        await self.say(text, rocketchat.CLAUDE)
        self.double.say(text, rocketchat.CODEX, alias="Olivia", bot={"i": "x"})

    async def press(self, question: str, by: str = "olivia") -> None:
        """Somebody's client may still show the buttons."""
        await until(lambda: self.double.buttons(question))
        self.double.press(question, "Yes", {"olivia": self.olivia, "ash": self.ash}[by])

    def posts(self, where: Where = "here") -> dict[str, str]:
        told, rid = self.double.messages.values(), self._rid(where)
        ours = [m for m in told if m["u"]["_id"] == rocketchat.CLAUDE and m["rid"] == rid]
        return {m["_id"]: m["msg"] for m in ours}

    def _rid(self, where: Where) -> str:
        return rocketchat.GENERAL if where == "here" else rocketchat.SECRET


class Discord(Platform):
    name, mention = "discord", f"<@{discord.BOT}> "
    persona = f"<@{discord.BOT}> @{{}} "
    olivia, ash = discord.OLIVIA, discord.ASH

    def __init__(self, double: discord.DiscordDouble) -> None:
        self.double = double
        self.secrets = {"DISCORD_TOKEN": double.token}
        self.bot = f'api_url = "{double.api_url}"'
        self._components: dict[str, Any] = {}

    async def listens(self) -> None:
        await self.double.gateway.connected()

    async def say(
        self, text: str, by: str = "olivia", where: Where = "here", *, reply_to: str = ""
    ) -> str:
        user = {"olivia": self.olivia, "ash": self.ash}.get(by, by)
        return await self.double.say(text, user, self._channel(where), reply_to=reply_to or None)

    async def say_unheard(self, text: str) -> str:
        return await self.double.say(text, times=0)

    async def tell(self, unheard: str) -> None:
        written = self.double.messages[discord.GENERAL][unheard]
        await self.double.tell_message("MESSAGE_CREATE", written)

    async def edit(self, message: str, text: str) -> None:
        await self.double.edit(discord.GENERAL, message, text)

    async def remove(self, message: str) -> None:
        await self.double.remove(discord.GENERAL, message)

    async def hand(self, text: str, name: str, data: bytes) -> None:
        await self.double.say(text, files=((name, data),))

    async def as_bots(self, text: str) -> None:
        await self.say(text, discord.CODEX)
        await self.say(text, discord.BOT)
        await self.double.say(text, webhook_id="90000000000000999")  # under Olivia's id and name

    def note_card(self, question: str) -> None:
        self._components[question] = self.double.messages[discord.GENERAL][question]["components"]

    async def press(self, question: str, by: str = "olivia") -> None:
        """Somebody's client may still show the buttons."""
        user = {"olivia": self.olivia, "ash": self.ash}[by]
        post = self.double.messages[discord.GENERAL][question]
        now, post["components"] = post["components"], self._components[question]
        await self.double.press(discord.GENERAL, question, "Yes", user)
        post["components"] = now

    def posts(self, where: Where = "here") -> dict[str, str]:
        return {m["id"]: m["content"] for m in self.double.posts(self._channel(where))}

    def texts(self, where: Where = "here") -> list[str]:
        """What one person alone is told among them."""
        whispered = [
            text
            for one in self.double.interactions.values()
            if one.channel == self._channel(where)
            for text in one.whispers
        ]
        return [*super().texts(where), *whispered]

    def _channel(self, where: Where) -> str:
        return discord.GENERAL if where == "here" else discord.SECRET


class BlueBubbles(Platform):
    name, mention = "bluebubbles", "@demo "
    buttons = edits = False
    olivia, ash = bluebubbles.OLIVIA, bluebubbles.ASH

    def __init__(self, double: bluebubbles.BlueBubblesDouble) -> None:
        self.double = double
        self.secrets = {"BLUEBUBBLES_PASSWORD": bluebubbles.PASSWORD}
        self.bot = f'url = "{double.url}"'

    async def listens(self) -> None:
        await until(lambda: self.double.webhooks)

    async def say(
        self, text: str, by: str = "olivia", where: Where = "here", *, reply_to: str = ""
    ) -> str:
        user = {"olivia": self.olivia, "ash": self.ash}.get(by, by)
        root = reply_to or None
        return await self.double.say(text, user, self._chat(where), threadOriginatorGuid=root)

    async def say_unheard(self, text: str) -> dict[str, Any]:
        """It isn't in the Mac's history yet either: that is asked for often."""
        by = bluebubbles.handle(self.olivia)
        return self.double.row(text, bluebubbles.GROUP, from_me=False, handle=by)

    async def tell(self, unheard: dict[str, Any]) -> None:
        self.double.messages[unheard["guid"]] = unheard
        await self.double.tell("new-message", unheard)

    async def edit(self, message: str, text: str) -> None:
        await self.double.edit(message, text)

    async def remove(self, message: str) -> None:
        await self.double.edit(message, "")

    async def hand(self, text: str, name: str, data: bytes) -> None:
        file = (name, "text/plain", data)
        await self.double.say(text, self.olivia, bluebubbles.GROUP, files=(file,))

    async def as_bots(self, text: str) -> None:
        """Moot's own words come back as its account's: see the posts of the platform's tests."""

    async def press(self, question: str, by: str = "olivia") -> None:
        await self.say("!1", by)

    def posts(self, where: Where = "here") -> dict[str, str]:
        return {row["guid"]: row["text"] or "" for row in self.double.own(self._chat(where))}

    def _chat(self, where: Where) -> str:
        return bluebubbles.GROUP if where == "here" else bluebubbles.DM


class Mattermost(Platform):
    name, mention, replies, quotes = "mattermost", "@claude ", False, False
    persona = "@claude @{} "
    olivia, ash = mattermost.OLIVIA, mattermost.ASH

    def __init__(self, double: mattermost.MattermostDouble) -> None:
        self.double = double
        self.secrets = {"MATTERMOST_TOKEN": "token-claude"}
        self._actions: dict[str, Any] = {}
        self._connected = 0
        self._port = free_port()
        self.bot = f'url = "{double.base}"\nwebhook_url = "http://127.0.0.1:{self._port}"'

    async def listens(self) -> None:
        self._connected += 1
        await self.double.sockets.listening(mattermost.CLAUDE, self._connected)

    async def say(
        self, text: str, by: str = "olivia", where: Where = "here", *, reply_to: str = ""
    ) -> str:
        user = {"olivia": self.olivia, "ash": self.ash}.get(by, by)
        thread = self.double.posts[reply_to]["root_id"] or reply_to if reply_to else None
        return self.double.say(text, user, self._channel(where), thread=thread)

    async def say_unheard(self, text: str) -> str:
        return self.double.say(text, times=0)

    async def tell(self, unheard: str) -> None:
        self.double.sockets.tell_posted(self.double.posts[unheard])

    async def edit(self, message: str, text: str) -> None:
        self.double.edit(message, text)

    async def remove(self, message: str) -> None:
        self.double.remove(message)

    async def hand(self, text: str, name: str, data: bytes) -> None:
        self.double.say(text, files=(self.double.file(name, data),))

    async def as_bots(self, text: str) -> None:
        await self.say(text, mattermost.CODEX)
        await self.say(text, mattermost.CLAUDE)
        self.double.say(text, props={"from_webhook": "true", "override_username": "Olivia"})

    def note_card(self, question: str) -> None:
        (shown,) = self.double.posts[question]["props"]["attachments"]
        self._actions[question] = shown["actions"]

    async def press(self, question: str, by: str = "olivia") -> None:
        """Somebody's client may still show the buttons."""
        user = {"olivia": self.olivia, "ash": self.ash}[by]
        assert await self.double.act(question, self._actions[question][0], user) == 200

    def cards(self) -> Sequence[str]:
        return [post["id"] for post in self.double.own() if _buttons(post)]

    def posts(self, where: Where = "here") -> dict[str, str]:
        return {post["id"]: post["message"] for post in self.double.own(self._channel(where))}

    def _channel(self, where: Where) -> str:
        return mattermost.GENERAL if where == "here" else mattermost.SECRET


def _buttons(post: dict[str, Any]) -> bool:
    return any("actions" in shown for shown in post["props"].get("attachments") or ())


class Slack(Platform):
    name, mention, replies, quotes = "slack", f"<@{slack.BOT_USER}> ", True, False
    persona = f"<@{slack.BOT_USER}> @{{}} "
    olivia, ash = slack.OLIVIA, slack.ASH

    def __init__(self, double: slack.SlackDouble) -> None:
        self.double = double
        self.secrets = {"SLACK_BOT_TOKEN": double.bot_token, "SLACK_APP_TOKEN": double.app_token}
        self.bot = f'api_url = "{double.api_url}"'
        self._blocks: dict[str, Any] = {}

    async def listens(self) -> None:
        await self.double.delivery.connected()

    async def say(
        self, text: str, by: str = "olivia", where: Where = "here", *, reply_to: str = ""
    ) -> str:
        user = {"olivia": self.olivia, "ash": self.ash}.get(by, by)
        root = reply_to or None
        return await self.double.say(text, user, self._channel(where), thread_ts=root)

    async def say_unheard(self, text: str) -> str:
        return await self.double.say(text, times=0)

    async def tell(self, unheard: str) -> None:
        self.double.tell(slack.GENERAL, self.double.messages[slack.GENERAL][unheard])

    async def edit(self, message: str, text: str) -> None:
        await self.double.edit(slack.GENERAL, message, text)

    async def remove(self, message: str) -> None:
        await self.double.remove(slack.GENERAL, message)

    async def hand(self, text: str, name: str, data: bytes) -> None:
        await self.double.say(text, files=(self.double.file(name, data),))

    async def as_bots(self, text: str) -> None:
        await self.say(text, slack.CODEX)
        await self.say(text, slack.BOT_USER)

    def note_card(self, question: str) -> None:
        self._blocks[question] = deepcopy(self.double.messages[slack.GENERAL][question]["blocks"])

    async def press(self, question: str, by: str = "olivia") -> None:
        """Somebody's client may still show the buttons."""
        user = {"olivia": self.olivia, "ash": self.ash}[by]
        post = self.double.messages[slack.GENERAL][question]
        now, post["blocks"] = post["blocks"], self._blocks[question]
        await self.double.press(slack.GENERAL, question, "Yes", user)
        post["blocks"] = now

    def cards(self) -> Sequence[str]:
        told = self.double.messages[slack.GENERAL].items()
        return [ts for ts, post in told if len(post.get("blocks") or ()) > 1]

    def posts(self, where: Where = "here") -> dict[str, str]:
        told = self.double.messages[self._channel(where)].items()
        return {ts: post["text"] for ts, post in told if post.get("bot_id") == slack.BOT_ID}

    def texts(self, where: Where = "here") -> list[str]:
        """What one person alone is told among them."""
        told = self.double.whispers
        whispered = [text for channel, _, text in told if channel == self._channel(where)]
        return [*super().texts(where), *whispered]

    def _channel(self, where: Where) -> str:
        return slack.GENERAL if where == "here" else slack.PRIVATE
