"""Matrix on a real homeserver, and the page, as places where approvals are tried; and all of them
by their names."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import quote

import aiohttp

from tests.doubles import bluebubbles, discord, mattermost, rocketchat, slack
from tests.doubles.approvals import Platform, Where
from tests.doubles.approvals_chats import BlueBubbles, Discord, Mattermost, RocketChat, Slack
from tests.doubles.service import Service
from tests.doubles.synapse import SERVER, Person, Synapse

LOOK_S = 0.1  # between two looks at what is written


class Looked(Platform):
    """A place that has to be asked for what stands there."""

    def __init__(self) -> None:
        self._seen: dict[Where, dict[str, str]] = {"here": {}, "there": {}}

    async def look(self) -> None:
        """Ask for ever."""
        while True:
            for where in self._seen:
                with suppress(aiohttp.ClientError):
                    self._seen[where] = await self.found(where)
            await asyncio.sleep(LOOK_S)

    async def found(self, where: Where) -> dict[str, str]:
        raise NotImplementedError

    def posts(self, where: Where = "here") -> dict[str, str]:
        return self._seen[where]


class Matrix(Looked):
    name, mention = "matrix", "@demo "

    def __init__(self, homeserver: Synapse) -> None:
        super().__init__()
        name = f"moot{secrets.token_hex(3)}"
        homeserver.register(name)
        self.bot_id = f"@{name}:{SERVER}"
        self.people_here = {who: Person(homeserver, who) for who in ("olivia", "ash")}
        self.olivia, self.ash = (one.user_id for one in self.people_here.values())
        self.secrets = {"MATRIX_USER": name, "MATRIX_PASSWORD": "pass"}
        self.bot = f'url = "{homeserver.url}"\ninvites = "everybody"'
        self.rooms: dict[Where, str] = {}

    async def listens(self) -> None:
        if self.rooms:
            return
        olivia, ash = self.people_here.values()
        for person, name in ((olivia, "Olivia"), (ash, "Ash")):
            where = f"/profile/{person.user_id}/displayname"
            await person.call("PUT", where, {"displayname": name})
        for where in self._seen:
            room = await ash.room(self.bot_id, olivia.user_id, name=where)
            await olivia.join(room)
            self.rooms[where] = room
            async with asyncio.timeout(60):
                while self.bot_id not in await self._joined(room):
                    await asyncio.sleep(LOOK_S)

    async def _joined(self, room: str) -> Mapping[str, Any]:
        found = await self.people_here["ash"].call("GET", f"/rooms/{room}/joined_members")
        joined: Mapping[str, Any] = found["joined"]
        return joined

    async def say(
        self, text: str, by: str = "olivia", where: Where = "here", *, reply_to: str = ""
    ) -> str:
        relation = {"m.relates_to": {"m.in_reply_to": {"event_id": reply_to}}} if reply_to else {}
        return await self.people_here[by].say(self.rooms[where], text, **relation)

    async def say_unheard(self, text: str) -> None:
        """A homeserver tells of everything in its order: see the test with a key that is late."""

    async def tell(self, unheard: None) -> None: ...

    async def edit(self, message: str, text: str) -> None:
        new = {"msgtype": "m.text", "body": text}
        relation = {"rel_type": "m.replace", "event_id": message}
        more = {"m.new_content": new, "m.relates_to": relation}
        await self.people_here["olivia"].say(self.rooms["here"], f"* {text}", **more)

    async def remove(self, message: str) -> None:
        await self.people_here["olivia"].redact(self.rooms["here"], message)

    async def hand(self, text: str, name: str, data: bytes) -> None:
        """A file is a message of its own; what is said beside it is its caption."""
        olivia = self.people_here["olivia"]
        url = await olivia.upload(data)
        told = {"mimetype": "text/plain", "size": len(data)}
        content = {"msgtype": "m.file", "filename": name, "body": text, "url": url, "info": told}
        await olivia.send(self.rooms["here"], content)

    async def as_bots(self, text: str) -> None:
        """A bot's notice; and an edit of Olivia's words by somebody else."""
        ash = self.people_here["ash"]
        await ash.send(self.rooms["here"], {"msgtype": "m.notice", "body": text})

    async def press(self, question: str, by: str = "olivia") -> None:
        key = "1\ufe0f\u20e3"
        relation = {"rel_type": "m.annotation", "event_id": question, "key": key}
        content = {"m.relates_to": relation}
        person, room = self.people_here[by], self.rooms["here"]
        for event in await person.events(room):
            if (
                event["sender"] == person.user_id
                and event["content"].get("m.relates_to") == relation
            ):
                await person.redact(room, event["event_id"])
        await person.send(room, content, "m.reaction")

    async def found(self, where: Where) -> dict[str, str]:
        if where not in self.rooms:
            return {}
        posts: dict[str, str] = {}
        for event in await self.people_here["ash"].events(self.rooms[where]):
            content = event["content"]
            if event["type"] != "m.room.message" or event["sender"] != self.bot_id or not content:
                continue
            relation = content.get("m.relates_to", {})
            is_edit = relation.get("rel_type") == "m.replace"
            said = content["m.new_content"] if is_edit else content
            posts[relation["event_id"] if is_edit else event["event_id"]] = said["body"]
        return posts


class Page(Looked):
    """What is refused to whoever presses stands beside what Moot says."""

    name, mention, bot = "page", "@demo ", ""
    quotes = replies = False
    closed = "this question is closed already"
    gone = "there is no such question"
    forbidden = "you may not answer th"
    olivia, ash = "olivia", "ash"

    def __init__(self) -> None:
        super().__init__()
        self.secrets = {}
        self.client: aiohttp.ClientSession | None = None
        self.moot: Service | None = None
        self.cookies: dict[str, Mapping[str, str]] = {}
        self._told: list[str] = []
        self._rooms: dict[Where, str] = {}
        self._number = 0

    async def arrives(self, moot: Service) -> None:
        self.moot = moot
        for where in self._seen:
            if where not in self._rooms:
                self._rooms[where] = (await self.call("POST", "/api/rooms", {"name": where}))["id"]
        for name in ("Olivia", "Ash"):
            if name.lower() not in self.cookies:
                self.cookies[name.lower()] = await self.signed_in(name)

    async def listens(self) -> None: ...

    async def close(self) -> None:
        if self.client is not None:
            await self.client.close()

    async def signed_in(self, name: str, role: str = "member") -> Mapping[str, str]:
        """A session of an account, which is made if need be: its headers."""
        made = await self.call("POST", "/api/page/invitations", {"name": name, "role": role})
        code = {"code": made["url"].partition("#")[2]}
        async with self._http().post("/api/sign-in", json=code) as response:
            assert response.status == 200, await response.text()
            return {"Cookie": response.headers["Set-Cookie"].partition(";")[0]}

    def _http(self) -> aiohttp.ClientSession:
        assert self.moot is not None
        if self.client is None:
            jar = aiohttp.DummyCookieJar()
            self.client = aiohttp.ClientSession(self.moot.url, cookie_jar=jar)
        return self.client

    async def call(
        self, method: str, path: str, body: Any = None, by: Mapping[str, str] | None = None
    ) -> Any:
        """A call of the API. by: headers; None: the owner's secret."""
        assert self.moot is not None
        headers = by or self.moot.headers
        async with self._http().request(method, path, json=body, headers=headers) as response:
            told = await response.json()
            if response.status >= 400:
                self._told.append(told["error"]["message"])
            return told

    async def say(
        self, text: str, by: str = "olivia", where: Where = "here", *, reply_to: str = ""
    ) -> str:
        self._number += 1
        id_ = f"said-{self._number}"
        await self._submit("submit", id_, text, by, where)
        return id_

    async def _submit(self, how: str, id_: str, text: str, by: str, where: Where) -> None:
        body = {"content": text, "room": self._rooms[where], "message_id": id_}
        await self.call("POST", f"/api/{how}", body, self.cookies[by])

    async def say_unheard(self, text: str) -> tuple[str, str]:
        """It is stored, and asks nothing: it is sent again later."""
        self._number += 1
        id_ = f"said-{self._number}"
        await self._submit("passive", id_, text, "olivia", "here")
        return id_, text

    async def tell(self, unheard: tuple[str, str]) -> None:
        await self._submit("submit", *unheard, "olivia", "here")

    async def edit(self, message: str, text: str) -> None:
        """Nobody edits here."""

    async def remove(self, message: str) -> None:
        """Nobody takes anything back here."""

    async def hand(self, text: str, name: str, data: bytes) -> None:
        """Files of the page have tests of their own."""

    async def as_bots(self, text: str) -> None:
        """A program that says it is a bot."""
        meta = {"source": "web", "sender_id": "bot:demo", "sender_display_name": "demo"}
        meta["sender_type"] = "bot"
        body = {"content": text, "room": self._rooms["here"], "metadata": meta}
        await self.call("POST", "/api/submit", body)

    async def press(self, question: str, by: str = "olivia") -> None:
        body = {"option": 0, "by": f"web:{by}"}
        await self.call("POST", f"/api/questions/{question}", body, self.cookies[by])

    async def found(self, where: Where) -> dict[str, str]:
        if self.moot is None or where not in self._rooms:
            return {}
        path = f"/api/rooms/{quote(self._rooms[where])}/messages"
        async with self._http().get(path, headers=self.moot.headers) as response:
            if response.status != 200:
                return {}
            page = await response.json()
        posts = {m["id"]: m["text"] for m in page["messages"] if m["by"]["kind"] == "bot"}
        posts |= {one["id"]: f"!1 !2 {one['title']}" for one in page["questions"]}
        return posts | {f"told {n}": line for n, line in enumerate(self._told)}


PLATFORMS = ("slack", "discord", "rocketchat", "matrix", "bluebubbles", "mattermost", "page")


@asynccontextmanager
async def platform(name: str, homeserver: Synapse | None = None) -> AsyncIterator[Platform]:
    """One, and nobody on it yet."""
    match name:
        case "slack":
            async with slack.SlackDouble.open() as workspace:
                yield Slack(workspace)
        case "rocketchat":
            async with rocketchat.RocketChatDouble.open() as rocket:
                yield RocketChat(rocket)
        case "discord":
            async with discord.DiscordDouble.open() as guild:
                yield Discord(guild)
        case "bluebubbles":
            async with bluebubbles.BlueBubblesDouble.open() as mac:
                yield BlueBubbles(mac)
        case "mattermost":
            async with mattermost.MattermostDouble.open() as server:
                yield Mattermost(server)
        case _:
            assert homeserver is not None or name == "page"
            at = Page() if homeserver is None or name == "page" else Matrix(homeserver)
            looking = asyncio.create_task(at.look(), name=f"look at {name}")
            try:
                yield at
            finally:
                looking.cancel()
                await asyncio.gather(looking, return_exceptions=True)
                if isinstance(at, Page):
                    await at.close()
