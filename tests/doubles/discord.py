"""A Discord for tests: HTTP API, gateway, and the faults of a bad day.

It is itself checked by two published clients and by Discord's own OpenAPI
(tests/bots/test_discord_double.py). `discord_web` holds the methods, `discord_gateway` the sockets.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

from aiohttp import web

from tests.doubles import discord_objects as objects
from tests.doubles.discord_gateway import Gateway
from tests.doubles.discord_objects import Json, snowflake, stamp
from tests.doubles.discord_web import METHODS, OPEN, Asked, Refusal, asked_of, carried_out

GUILD = "90000000000000001"
GENERAL, SECRET, FORUM = "90000000000000010", "90000000000000011", "90000000000000012"
DM = "90000000000000020"
BOT, OLIVIA, ASH, CODEX = (f"9000000000000010{n}" for n in range(4))
LEAD, BOT_ROLE = "90000000000000201", "90000000000000202"
POST = ("POST", "/channels/{channel}/messages")
EDIT = ("PATCH", "/channels/{channel}/messages/{message}")
HISTORY = ("GET", "/channels/{channel}/messages")


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with one call. "429" before anything; "500" (`status`) and "cut" (the
    connection drops) before or after the call was carried out; "hang": no answer until `release`.
    """

    kind: Literal["429", "500", "cut", "hang", "garbled"]
    when: Literal["before", "after"] = "before"
    status: int = 502
    retry_after_s: float = 0.01
    release: asyncio.Event | None = None


@dataclass
class Interaction:
    """A pressed button or a slash command. late: Discord's three seconds are over."""

    token: str
    type: int
    channel: str
    message: str | None = None
    answer: Json | None = None
    late: bool = False
    whispers: list[str] = field(default_factory=list)  # what was said to one person alone
    acked: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class DiscordDouble:
    """One guild with one bot. The verbs below are what people there do."""

    token: str = "a-token-for-tests"
    flags: int = 1 << 18 | 1 << 15  # message content and members are switched on
    forbidden_intents: int = 0
    permissions: int = objects.EVERYTHING
    invited: bool = True
    content_type: str = "application/json"
    calls: list[Asked] = field(default_factory=list)
    answers: list[tuple[str, str, int, Any]] = field(default_factory=list)
    users: dict[str, Json] = field(default_factory=dict)
    members: dict[str, Json] = field(default_factory=dict)
    channels: dict[str, Json] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    messages: dict[str, dict[str, Json]] = field(default_factory=lambda: defaultdict(dict))
    reactions: dict[str, dict[str, set[str]]] = field(default_factory=lambda: defaultdict(dict))
    files: dict[str, bytes] = field(default_factory=dict)
    nonces: dict[tuple[str, str], str] = field(default_factory=dict)
    interactions: dict[str, Interaction] = field(default_factory=dict)
    commands: list[Json] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)
    thread_members: dict[str, set[str]] = field(default_factory=dict)
    keeps_nonces: bool = True  # False: a repeated post is a second one
    base: str = ""

    def __post_init__(self) -> None:
        self._faults: dict[tuple[str, str], list[Fault]] = defaultdict(list)
        self.application_id = BOT
        self.bot = self.users[BOT] = objects.user(BOT, "claude", bot=True)
        self.users[OLIVIA] = objects.user(OLIVIA, "olivia", shown="Olivia")
        self.users[ASH] = objects.user(ASH, "ash", shown="Ashley")
        self.users[CODEX] = objects.user(CODEX, "codex", bot=True)
        self.members = {
            BOT: objects.member(self.bot, BOT_ROLE),
            OLIVIA: objects.member(self.users[OLIVIA], LEAD),
            ASH: objects.member(self.users[ASH], nick="Ash"),
            CODEX: objects.member(self.users[CODEX]),
        }
        roles = [
            objects.role(GUILD, "@everyone", 0),
            objects.role(LEAD, "backend lead", 2),
            objects.role(BOT_ROLE, "claude", 1, managed=True, tags={"bot_id": BOT}),
        ]
        self.guild: Json = {"id": GUILD, "name": "Saga", "roles": roles}
        for channel, name in ((GENERAL, "general"), (SECRET, "secret"), (FORUM, "ideas")):
            self.channels[channel] = objects.text_channel(channel, GUILD, name)
        self.channels[FORUM]["type"] = 15
        closed = {"id": GUILD, "type": 0, "allow": "0", "deny": str(objects.VIEW)}
        self.channels[SECRET]["permission_overwrites"] = [closed]
        self.channels[DM] = objects.dm_channel(DM, self.users[OLIVIA])
        self.gateway = Gateway(self)

    @classmethod
    @asynccontextmanager
    async def open(cls, **changes: Any) -> AsyncIterator[DiscordDouble]:
        """A double that listens on a free port of the loopback."""
        double = cls(**changes)
        app = web.Application(client_max_size=50_000_000)
        for method, route in METHODS:
            app.router.add_route(method, "/api/v10" + route, double._handler(route))
        app.router.add_get("/gateway/", double.gateway.handle)
        app.router.add_get("/", double.gateway.handle)
        app.router.add_get("/attachments/{file}/{name}", double._download)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        double.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield double
        finally:
            await double.gateway.cut(forget=True)
            await runner.cleanup()

    @property
    def api_url(self) -> str:
        return f"{self.base}/api/v10"

    @property
    def gateway_url(self) -> str:
        return f"ws{self.base.removeprefix('http')}/gateway/"

    # ── What people do ──────────────────────────────────────────────────────────────────

    async def say(
        self,
        text: str,
        by: str = OLIVIA,
        channel: str = GENERAL,
        *,
        reply_to: str | None = None,
        files: tuple[tuple[str, bytes], ...] = (),
        roles: tuple[str, ...] = (),
        times: int = 1,
        **more: Any,
    ) -> str:
        """Somebody writes; the gateway tells it `times` over. roles: those that it mentions."""
        tagged = [u for u in self.users if f"<@{u}>" in text or f"<@!{u}>" in text]
        if reply_to is not None:
            told = {"type": 0, "channel_id": channel, "message_id": reply_to}
            more = {"type": 19, "message_reference": told, **more}
        written = objects.message(
            channel,
            self.users[by],
            text,
            mentions=[self.users[u] for u in tagged],
            mention_roles=list(roles),
            attachments=[self.file(name, data) for name, data in files],
            **more,
        )
        await self.publish(written, times=times)
        return str(written["id"])

    async def publish(self, written: Json, *, nonce: Any = None, times: int = 1) -> None:
        """A message is there now, and told."""
        channel = self.channels[written["channel_id"]]
        self.messages[channel["id"]][written["id"]] = written
        channel["last_message_id"] = written["id"]
        if "thread_metadata" in channel:
            channel["thread_metadata"]["archived"] = False
        extra = {"nonce": nonce} if nonce else {}
        await self.tell_message("MESSAGE_CREATE", written, times=times, **extra)

    async def tell_message(self, name: str, written: Json, *, times: int = 1, **more: Any) -> None:
        told = {**self.told(written), **more}
        guild = self.channels[written["channel_id"]].get("guild_id")
        if guild is not None:
            member = self.members.get(written["author"]["id"])
            told["guild_id"] = guild
            if member is not None and "webhook_id" not in written:
                told["member"] = {k: v for k, v in member.items() if k != "user"}
        await self.gateway.tell(name, told, times=times)

    async def edit(self, channel: str, message: str, text: str) -> None:
        written = self.messages[channel][message]
        written |= {"content": text, "edited_timestamp": stamp()}
        await self.tell_message("MESSAGE_UPDATE", written)

    async def unfold(self, channel: str, message: str) -> None:
        """Discord adds the preview of a link: an update that is no edit."""
        written = self.messages[channel][message]
        written["embeds"] = [{"type": "link", "url": "https://example.org", "title": "x"}]
        await self.tell_message("MESSAGE_UPDATE", written)

    async def remove(self, channel: str, *ids: str) -> None:
        for message in ids:
            self.messages[channel].pop(message, None)
        where = self._where(channel)
        if len(ids) == 1:
            await self.gateway.tell("MESSAGE_DELETE", {"id": ids[0], **where})
        else:
            await self.gateway.tell("MESSAGE_DELETE_BULK", {"ids": list(ids), **where})

    async def pin(self, channel: str, message: str, by: str = OLIVIA) -> None:
        """Somebody pins: the message changes, and Discord says who did it."""
        written = self.messages[channel][message]
        written["pinned"] = True
        await self.tell_message("MESSAGE_UPDATE", written)
        told = {"type": 0, "channel_id": channel, "message_id": message}
        notice = objects.message(channel, self.users[by], "", type=6, message_reference=told)
        await self.publish(notice)

    async def unpin(self, channel: str, message: str) -> None:
        written = self.messages[channel][message]
        written["pinned"] = False
        await self.tell_message("MESSAGE_UPDATE", written)

    async def react(
        self, channel: str, message: str, emoji: str, by: str = OLIVIA, *, add: bool = True
    ) -> None:
        data: Json = {
            "user_id": by,
            "message_id": message,
            "emoji": {"id": None, "name": emoji},
            "burst": False,
            "type": 0,
            **self._where(channel),
        }
        if add and "guild_id" in data:
            data["member"] = self.members[by]
        await self.gateway.tell(f"MESSAGE_REACTION_{'ADD' if add else 'REMOVE'}", data)

    async def open_thread(
        self,
        parent: str,
        name: str,
        by: str = OLIVIA,
        *,
        under: str | None = None,
        private: bool = False,
    ) -> str:
        """Somebody opens a thread, under a message or on its own."""
        thread = objects.thread(under or snowflake(), GUILD, parent, by, name)
        thread["type"] = 12 if private else 11
        self.channels[thread["id"]] = thread
        await self.gateway.tell("THREAD_CREATE", {**thread, "newly_created": True})
        if under is not None:
            told = {"type": 0, "channel_id": parent, "message_id": under, "guild_id": GUILD}
            begin = objects.message(
                thread["id"], self.users[by], "", type=21, message_reference=told
            )
            self.messages[thread["id"]][begin["id"]] = begin
        return str(thread["id"])

    async def archive(self, thread: str) -> None:
        """Discord archives a thread, as it does with one in which nobody speaks."""
        told = {"archived": True, "archive_timestamp": stamp()}
        self.channels[thread]["thread_metadata"] |= told
        await self.gateway.tell("THREAD_UPDATE", self.channels[thread])

    async def press(
        self, channel: str, message: str, label: str, by: str = OLIVIA, **more: Any
    ) -> Interaction:
        """Somebody presses the button with this label."""
        written = self.messages[channel][message]
        buttons = [b for row in written["components"] for b in row["components"]]
        button = next(b for b in buttons if b["label"] == label)
        data = {"component_type": 2, "custom_id": button["custom_id"], "id": button["id"]}
        return await self._interact(3, channel, by, data, message=self.told(written), **more)

    async def command(
        self,
        name: str,
        text: str = "",
        by: str = OLIVIA,
        channel: str = GENERAL,
        **filled_in: str,
    ) -> Interaction:
        """Somebody runs a slash command that was registered. filled_in: its options, in this
        order."""
        assert name in [command["name"] for command in self.commands]
        given = filled_in | ({"text": text} if text else {})
        options = [{"name": key, "type": 3, "value": value} for key, value in given.items()]
        data = {"id": snowflake(), "name": name, "type": 1, "options": options}
        return await self._interact(2, channel, by, data)

    async def write(
        self, name: str, option: str, typed: str, by: str = OLIVIA, channel: str = GENERAL
    ) -> list[str]:
        """Somebody writes an option of a slash command; what they are offered."""
        (command,) = [one for one in self.commands if one["name"] == name]
        (spec,) = [one for one in command["options"] if one["name"] == option]
        assert spec["autocomplete"]
        told = {"name": option, "type": 3, "value": typed, "focused": True}
        data = {"id": snowflake(), "name": name, "type": 1, "options": [told]}
        made = await self._interact(4, channel, by, data)
        async with asyncio.timeout(20):
            await made.acked.wait()
        assert made.answer is not None
        return [choice["value"] for choice in made.answer["data"]["choices"]]

    async def ask_about(
        self, name: str, message: str, by: str = ASH, channel: str = GENERAL
    ) -> Interaction:
        """Somebody chooses a command in a message's menu."""
        assert (3, name) in [(command.get("type", 1), command["name"]) for command in self.commands]
        resolved = {"messages": {message: self.told(self.messages[channel][message])}}
        data = {"id": snowflake(), "name": name, "type": 3, "target_id": message}
        return await self._interact(2, channel, by, {**data, "resolved": resolved})

    async def _interact(
        self, kind: int, channel: str, by: str, data: Json, **more: Any
    ) -> Interaction:
        interaction_id, token = snowflake(), f"secret-{snowflake()}"
        pressed_on = (more.get("message") or {}).get("id")
        self.interactions[interaction_id] = made = Interaction(token, kind, channel, pressed_on)
        event: Json = {
            "id": interaction_id,
            "application_id": self.application_id,
            "type": kind,
            "data": data,
            "token": token,
            "version": 1,
            "locale": "en-GB",
            "channel": {**self.channels[channel], "permissions": "0"},
            "app_permissions": str(self.permissions),
            "entitlements": [],
            "authorizing_integration_owners": {},
            "attachment_size_limit": 10_485_760,
            "context": 0,
            **self._where(channel),
            **more,
        }
        if "guild_id" in event:
            event |= {"member": {**self.members[by], "permissions": str(self.permissions)}}
            event |= {"guild": {"id": GUILD, "locale": "en-GB", "features": []}}
        else:
            event["user"] = self.users[by]
        await self.gateway.tell("INTERACTION_CREATE", event)
        return made

    def file(self, name: str, data: bytes) -> Json:
        """An attachment as a message tells it."""
        file_id = snowflake()
        self.files[file_id] = data
        mime = "text/plain; charset=utf-8" if name.endswith((".txt", ".md")) else "image/png"
        url = f"{self.base}/attachments/{file_id}/{quote(name, safe='')}"
        told = {"id": file_id, "filename": name, "size": len(data), "url": url, "proxy_url": url}
        return {**told, "content_type": mime}

    # ── Faults and records ──────────────────────────────────────────────────────────────

    def fail(self, call: tuple[str, str], fault: Fault, times: int = 1) -> None:
        """Let the next calls of a method go wrong."""
        self._faults[call] += [fault] * times

    def called(self, call: tuple[str, str]) -> list[Asked]:
        return [asked for asked in self.calls if (asked.method, asked.route) == call]

    def posts(self, channel: str = GENERAL) -> list[Json]:
        """What the bot said in a channel."""
        return [m for m in self.messages[channel].values() if m["author"]["id"] == BOT]

    def texts(self, channel: str = GENERAL) -> list[str]:
        return [m["content"] for m in self.posts(channel)]

    # ── What Discord tells ──────────────────────────────────────────────────────────────

    def told(self, written: Json) -> Json:
        """A message with the one that it answers."""
        reference = written.get("message_reference")
        if not reference:
            return dict(written)
        quoted = self.messages[reference["channel_id"]].get(reference["message_id"])
        return {**written, "referenced_message": quoted and self._alone(quoted)}

    @staticmethod
    def _alone(quoted: Json) -> Json:
        return dict(quoted)

    def me(self) -> Json:
        more = {"mfa_enabled": False, "locale": "en-GB", "verified": True, "email": None}
        return {**self.bot, **more}

    def application(self) -> Json:
        return objects.application(self.application_id, self.bot, self.flags)

    def guild_create(self) -> Json:
        """The guild as a session is told of it: only the channels that the bot sees."""
        seen = [
            c for c in self.channels.values() if c.get("guild_id") and c["id"] not in self.hidden
        ]
        all_threads = [c for c in seen if c["type"] in (10, 11, 12)]
        threads = [c for c in all_threads if not c["thread_metadata"]["archived"]]
        return {
            **self.guild,
            "owner_id": OLIVIA,
            "unavailable": False,
            "joined_at": stamp(),
            "large": False,
            "member_count": len(self.members),
            "members": [self.members[BOT]],
            "channels": [c for c in seen if c not in all_threads],
            "threads": threads,
            **_EMPTY_GUILD,
        }

    def _where(self, channel: str) -> Json:
        guild = self.channels[channel].get("guild_id")
        return {"channel_id": channel} | ({"guild_id": guild} if guild else {})

    # ── The wire ────────────────────────────────────────────────────────────────────────

    def _handler(self, route: str) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                asked = await asked_of(request, route)
                self.calls.append(asked)
                if (request.method, route) not in OPEN and not self._admits(request):
                    raise Refusal(401, 0, "401: Unauthorized")
                return await self._answered(request, asked)
            except Refusal as refusal:
                return self._json(refusal.body, refusal.status)

        return handle

    def _admits(self, request: web.Request) -> bool:
        return request.headers.get("Authorization") == f"Bot {self.token}"

    async def _answered(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        call = (asked.method, asked.route)
        fault = self._faults[call].pop(0) if self._faults[call] else None
        if fault and (early := await self._failed(request, fault, "before")) is not None:
            return early
        answer = await carried_out(self, asked)
        if not self.keeps_nonces:
            self.nonces.clear()
        if fault and (late := await self._failed(request, fault, "after")) is not None:
            return late
        self.answers.append((asked.method, asked.route, 200 if answer is not None else 204, answer))
        if answer is None:
            return web.Response(status=204)
        return self._json(answer, 200)

    def _json(self, body: Any, status: int, **headers: str) -> web.Response:
        data = json.dumps(body).encode()
        return web.Response(
            body=data, status=status, headers={"Content-Type": self.content_type, **headers}
        )

    async def _failed(
        self, request: web.Request, fault: Fault, when: Literal["before", "after"]
    ) -> web.StreamResponse | None:
        """The answer of a call that goes wrong now, or None when it goes on."""
        if fault.when != when:
            return None
        match fault.kind:
            case "429":
                body = {
                    "message": "You are being rate limited.",
                    "retry_after": fault.retry_after_s,
                    "global": False,
                }
                after = str(max(1, round(fault.retry_after_s)))
                return self._json(body, 429, Via="1.1 google", **{"Retry-After": after})
            case "500":
                return web.Response(status=fault.status, text="<html>oops</html>")
            case "cut":
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            case "hang":
                assert fault.release is not None
                await fault.release.wait()
                return None
            case "garbled":
                return web.Response(body=b"{nonsense", content_type="application/json")

    async def _download(self, request: web.Request) -> web.Response:
        assert "Authorization" not in request.headers
        data = self.files.get(request.match_info["file"])
        return web.Response(body=data) if data is not None else web.Response(status=404)


_EMPTY_GUILD: Json = {
    "icon": None,
    "splash": None,
    "discovery_splash": None,
    "banner": None,
    "description": None,
    "afk_channel_id": None,
    "afk_timeout": 300,
    "system_channel_id": None,
    "system_channel_flags": 0,
    "rules_channel_id": None,
    "public_updates_channel_id": None,
    "safety_alerts_channel_id": None,
    "application_id": None,
    "vanity_url_code": None,
    "verification_level": 0,
    "default_message_notifications": 0,
    "explicit_content_filter": 0,
    "mfa_level": 0,
    "nsfw_level": 0,
    "premium_tier": 0,
    "premium_progress_bar_enabled": False,
    "preferred_locale": "en-US",
    "features": [],
    "emojis": [],
    "stickers": [],
    "voice_states": [],
    "presences": [],
    "stage_instances": [],
    "guild_scheduled_events": [],
    "soundboard_sounds": [],
}
