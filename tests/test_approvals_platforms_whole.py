"""Approvals from outside on Rocket.Chat, Discord and iMessage: answers that are late, replayed,
of other rooms, and of nobody who may give them. Slack's are in test_approvals_whole."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.doubles import bluebubbles, discord, rocketchat
from tests.doubles.bluebubbles_stage import free_port
from tests.doubles.rocketchat_wire import iso
from tests.doubles.service import Service, service
from tests.test_approvals_whole import answers, until

Where = Literal["here", "there"]

CONFIG = """
[gateway]
listen = "127.0.0.1:{port}"
data_dir = "data"
[access]
rooms = "open"
dms = "open"
approvers = {approvers}
[turns]
marks = "off"
[[bots]]
platform = "{platform}"
personas = ["demo"]
{bot}
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""
EARLY = "Olivia, your answer stands before that question: read it, and answer again."
CLOSED = "Olivia, that question is closed already."
ELSEWHERE = "Olivia, that question stands in another room: answer it there."
NOTHING = "Nothing is being asked here."
FORBIDDEN = "you may not answer that"
ALLOWED = "You allowed it. Time passes, and the clock is fine."


class Platform(ABC):
    """A platform where Olivia and Ash may answer, and nobody else.

    name: the config's. olivia, ash: their ids. mention: before what is for Moot. buttons: it has
    something to press. quotes: a reply can name a message of another room.
    """

    name: str
    olivia: str
    ash: str
    mention: str
    secrets: dict[str, str]
    bot: str
    buttons = True
    quotes = True

    @abstractmethod
    async def listens(self) -> None:
        """Wait until Moot hears what is said."""

    @abstractmethod
    async def say(
        self, text: str, by: str = "olivia", where: Where = "here", *, reply_to: str = ""
    ) -> str: ...

    @abstractmethod
    async def say_unheard(self, text: str) -> Any:
        """Olivia says it, and no event tells of it."""

    @abstractmethod
    async def tell(self, unheard: Any) -> None:
        """The event comes."""

    @abstractmethod
    async def edit(self, message: str, text: str) -> None: ...

    @abstractmethod
    async def as_bots(self, text: str) -> None:
        """Another bot says it, and Moot's own account."""

    @abstractmethod
    async def press(self, question: str, by: str = "olivia") -> None: ...

    @abstractmethod
    def posts(self, where: Where = "here") -> dict[str, str]:
        """Moot's posts by their ids."""

    def texts(self, where: Where = "here") -> list[str]:
        return list(self.posts(where).values())

    async def asked(self, count: int) -> str:
        """The `count`-th question's id, once Ash has had the agent ask it."""
        before = set(self.posts())
        await self.say(f"{self.mention}permission", "ash")

        def new() -> list[str]:
            told = self.posts().items()
            return [id_ for id_, text in told if id_ not in before and "!1" in text]

        await until(new)
        return new()[-1]

    async def told(self, line: str, where: Where = "here", count: int = 1) -> None:
        await until(lambda: sum(line in text for text in self.texts(where)) >= count)

    def allowed(self) -> int:
        return sum(ALLOWED in text for text in self.texts())


class RocketChat(Platform):
    name, mention, quotes = "rocketchat", "@claude ", False
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

    async def as_bots(self, text: str) -> None:
        await self.say(text, rocketchat.CODEX)
        await self.say(text, rocketchat.CLAUDE)
        self.double.say(text, rocketchat.CODEX, alias="Olivia", bot={"i": "x"})

    async def press(self, question: str, by: str = "olivia") -> None:
        user = {"olivia": self.olivia, "ash": self.ash}[by]
        self.double.react(question, "one", user, should=False)
        self.double.react(question, "one", user, should=True)

    def posts(self, where: Where = "here") -> dict[str, str]:
        told, rid = self.double.messages.values(), self._rid(where)
        ours = [m for m in told if m["u"]["_id"] == rocketchat.CLAUDE and m["rid"] == rid]
        return {m["_id"]: m["msg"] for m in ours}

    def _rid(self, where: Where) -> str:
        return rocketchat.GENERAL if where == "here" else rocketchat.SECRET


class Discord(Platform):
    name, mention = "discord", f"<@{discord.BOT}> "
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

    async def as_bots(self, text: str) -> None:
        await self.say(text, discord.CODEX)
        await self.say(text, discord.BOT)
        await self.double.say(text, webhook_id="90000000000000999")  # under Olivia's id and name

    async def asked(self, count: int) -> str:
        question = await super().asked(count)
        self._components[question] = self.double.messages[discord.GENERAL][question]["components"]
        return question

    async def press(self, question: str, by: str = "olivia") -> None:
        """Somebody's client may still show the buttons."""
        user = {"olivia": self.olivia, "ash": self.ash}[by]
        post = self.double.messages[discord.GENERAL][question]
        now, post["components"] = post["components"], self._components[question]
        await self.double.press(discord.GENERAL, question, "Yes", user)
        post["components"] = now

    def posts(self, where: Where = "here") -> dict[str, str]:
        return {m["id"]: m["content"] for m in self.double.posts(self._channel(where))}

    def _channel(self, where: Where) -> str:
        return discord.GENERAL if where == "here" else discord.SECRET


class BlueBubbles(Platform):
    name, mention, buttons = "bluebubbles", "@demo ", False
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

    async def as_bots(self, text: str) -> None:
        """Moot's own words come back as its account's: see the posts of the platform's tests."""

    async def press(self, question: str, by: str = "olivia") -> None:
        await self.say("!1", by)

    def posts(self, where: Where = "here") -> dict[str, str]:
        return {row["guid"]: row["text"] or "" for row in self.double.own(self._chat(where))}

    def _chat(self, where: Where) -> str:
        return bluebubbles.GROUP if where == "here" else bluebubbles.DM


@asynccontextmanager
async def platform(name: str) -> AsyncIterator[Platform]:
    """One, and nobody on it yet."""
    if name == "rocketchat":
        async with rocketchat.RocketChatDouble.open() as rocket:
            yield RocketChat(rocket)
    elif name == "discord":
        async with discord.DiscordDouble.open() as guild:
            yield Discord(guild)
    else:
        async with bluebubbles.BlueBubblesDouble.open() as mac:
            yield BlueBubbles(mac)


@asynccontextmanager
async def house(at: Platform, folder: Path) -> AsyncIterator[Service]:
    prefix = "bb" if at.name == "bluebubbles" else at.name
    approvers = [f"{prefix}:{at.olivia}", f"{prefix}:{at.ash}"]
    config = CONFIG.format(
        port=free_port(), approvers=approvers, platform=at.name, bot=at.bot
    ).replace("'", '"')
    async with service(folder, config, **at.secrets) as moot:
        await at.listens()
        yield moot


async def noted(folder: Path, wanted: list[tuple[str, str, str]]) -> None:
    """The audit log has these answers and refusals, and no others."""
    await until(lambda: len(answers(folder)) >= len(wanted))
    assert answers(folder) == wanted


def by(at: Platform, who: str) -> str:
    prefix = "bb" if at.name == "bluebubbles" else at.name
    return f"{prefix}:{at.olivia if who == 'olivia' else at.ash}"


@pytest.mark.parametrize("name", ["rocketchat", "discord", "bluebubbles"])
async def test_late_replayed_and_foreign_answers_allow_nothing(name: str, tmp_path: Path) -> None:
    async with platform(name) as at, house(at, tmp_path):
        harmless = await at.say("nothing to add")
        first = await at.asked(1)
        late = await at.say_unheard("!1")
        await at.press(first, "ash")
        await until(lambda: at.allowed() == 1)
        second = await at.asked(2)
        for _ in range(3):
            await at.tell(late)
        await at.told(EARLY)
        if at.buttons:
            await at.press(first)
        else:
            await at.say("!1", reply_to=first)
        await at.told(CLOSED)
        if at.quotes:
            await at.say("!1", where="there", reply_to=second)
            await at.told(ELSEWHERE, "there")
        await at.say("!1", where="there")
        await at.told(NOTHING, "there")
        await at.edit(harmless, "!1")
        await at.as_bots("!1")
        await at.say("!1 but not in production")
        await at.told("say which question you mean")
        assert at.allowed() == 1
        reasons = ["early", "closed", *["elsewhere"] * at.quotes, "code"]
        refused = [("deny", by(at, "olivia"), reason) for reason in reasons]
        await noted(tmp_path, [("answer", by(at, "ash"), ""), *refused])
        await at.say("!1")
        await until(lambda: at.allowed() == 2)
        assert at.texts().count(EARLY) == 1


async def test_on_rocketchat_nobody_answers_in_words_or_a_name_that_were_another_persons(
    tmp_path: Path,
) -> None:
    """A moderator may edit what Olivia wrote; and a name that she gave up can be taken."""
    async with rocketchat.RocketChatDouble.open() as double:
        at = RocketChat(double)
        async with house(at, tmp_path):
            first = await at.asked(1)
            double.sockets.refuses = True
            double.sockets.cut()
            words = double.say("let me read it first", times=0)
            double.edit(words, "!1", rocketchat.ASH)
            double.sockets.refuses = False
            await double.sockets.listening(rocketchat.CLAUDE, 2)
            await at.say("!9")
            await at.told("There is no choice")
            assert at.allowed() == 0
            await at.press(first)
            await until(lambda: at.allowed() == 1)

            second = await at.asked(2)
            mallory = "malmalmalmalmalma"
            olivia = double.users[rocketchat.OLIVIA]
            double.users[mallory] = {**olivia, "_id": mallory, "name": "Mallory"}
            olivia["username"] = "olivia.b"
            double.react(second, "one", mallory, should=True)
            await at.told(FORBIDDEN)
            assert at.allowed() == 1
            denied = ("deny", f"rocketchat:{mallory}", "")
            await noted(tmp_path, [("answer", by(at, "olivia"), ""), denied])
