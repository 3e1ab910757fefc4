"""A Mattermost for tests: REST, websocket, buttons and slash commands, and the faults of a bad day.

It is itself checked by the server's own client and by its published types
(tests/bots/test_mattermost_double.py). `mattermost_rest` holds the REST API, `mattermost_socket`
the websocket.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from tests.doubles.mattermost_rest import Refusal, Rest
from tests.doubles.mattermost_socket import Sockets
from tests.doubles.slack_wire import Fault

__all__ = ["Call", "Fault", "MattermostDouble"]

Json = dict[str, Any]


def _id(name: str) -> str:
    """An id as the server makes them: 26 letters and digits."""
    return (name * 26)[:26]


OLIVIA, ASH, CLAUDE, CODEX = map(_id, ("olivia", "ash", "claude", "codex"))
TEAM = _id("team")
GENERAL, SECRET, DM, GROUP = map(_id, ("general", "secret", "dm", "group"))
MOST_CHARS = 16_383
_SEEN_S = 30.0  # how long a pending_post_id is known
_HOOK_USES = 5
_MENTION = re.compile(r"(?<![\w@])@([a-z0-9._-]*[a-z0-9_-])", re.IGNORECASE)
_CALLS_ALL = {"all", "channel", "here"}


@dataclass(frozen=True, slots=True)
class Call:
    route: str
    args: Json
    user: str


@dataclass(slots=True)
class StoredFile:
    info: Json
    data: bytes


@dataclass
class MattermostDouble:
    """One server with one team. The verbs below are what people there do.

    command_url, command_token: of the slash command /moot, as an admin has set it up.
    """

    calls: list[Call] = field(default_factory=list)
    users: dict[str, Json] = field(default_factory=dict)
    channels: dict[str, Json] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)
    posts: dict[str, Json] = field(default_factory=dict)
    history: list[Json] = field(default_factory=list)  # earlier versions of edited posts
    reactions: list[Json] = field(default_factory=list)
    files: dict[str, StoredFile] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    ephemeral: list[tuple[str, str, str]] = field(default_factory=list)  # to whom, where, what
    typed: list[tuple[str, str]] = field(default_factory=list)  # who typed, and where
    config: dict[str, str] = field(
        default_factory=lambda: {
            "MaxPostSize": str(MOST_CHARS),
            "MaxFileSize": "104857600",
            "PostEditTimeLimit": "-1",
            "EnableFileAttachments": "true",
            "EnablePostUsernameOverride": "true",
            "Version": "11.9.0",
        }
    )
    command_url: str = ""
    command_token: str = "token-of-the-command"
    base: str = ""

    def __post_init__(self) -> None:
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        self.hooks: dict[str, Json] = {}
        self.pressed: list[int] = []  # HTTP status of what a button's press came to
        self._seen: dict[str, tuple[str, float]] = {}
        self._numbers = itertools.count(1)
        self._last_at = 0
        self.sockets = Sockets(self)
        for user, name, is_bot in (
            (OLIVIA, "olivia", False),
            (ASH, "ash", False),
            (CLAUDE, "claude", True),
            (CODEX, "codex", True),
        ):
            self.user(user, name, is_bot=is_bot)
        everybody = [OLIVIA, ASH, CLAUDE, CODEX]
        self.channel(GENERAL, "O", everybody, "general")
        self.channel(SECRET, "P", everybody, "secret")
        self.channel(DM, "D", [CLAUDE, OLIVIA], "")
        self.channel(GROUP, "G", [CLAUDE, OLIVIA, ASH], "ash, claude, olivia")

    @classmethod
    @asynccontextmanager
    async def open(cls, **changes: Any) -> AsyncIterator[MattermostDouble]:
        """A double that listens on a free port of the loopback."""
        double = cls(**changes)
        rest = Rest(double)
        app = web.Application(client_max_size=50_000_000)
        app.router.add_get("/api/v4/websocket", double.sockets.handle)
        app.router.add_route("*", "/api/v4/{route:.+}", rest.handle)
        app.router.add_post("/hooks/commands/{hook}", rest.respond)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        double.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield double
        finally:
            double.sockets.cut()
            await runner.cleanup()

    # ── What people do ──────────────────────────────────────────────────────────────────

    def say(
        self,
        text: str,
        user: str = OLIVIA,
        channel: str = GENERAL,
        *,
        thread: str | None = None,
        times: int = 1,
        files: tuple[str, ...] = (),
        **more: Any,
    ) -> str:
        """Somebody writes; the websocket tells it `times` over. files: ids."""
        given = {"channel_id": channel, "message": text, "root_id": thread or ""}
        post = self.make(user, {**given, "file_ids": list(files), **more})
        for _ in range(times):
            self.sockets.tell_posted(post)
        return str(post["id"])

    def edit(self, post_id: str, text: str) -> None:
        """Somebody edits what was written."""
        self.patch(post_id, {"message": text})

    def remove(self, post_id: str) -> None:
        """A post goes, and its thread with it; the event has it as it was before."""
        post, now = self.posts[post_id], self.now()
        before = dict(post)
        for one in self.posts.values():
            if post_id in (one["id"], one["root_id"]) and not one["delete_at"]:
                one |= {"delete_at": now, "update_at": now}
        self.sockets.tell_post("post_deleted", before)

    def react(self, post_id: str, emoji: str, user: str = OLIVIA, *, back: bool = False) -> Json:
        """Somebody reacts, or takes the reaction back."""
        self.reactions = [
            one
            for one in self.reactions
            if (one["post_id"], one["user_id"], one["emoji_name"]) != (post_id, user, emoji)
        ]
        post, now = self.posts[post_id], self.now()
        made = {"user_id": user, "post_id": post_id, "emoji_name": emoji, "create_at": now}
        made |= {
            "update_at": now,
            "delete_at": 0,
            "remote_id": "",
            "channel_id": post["channel_id"],
        }
        if not back:
            self.reactions.append(made)
        has = any(one["post_id"] == post_id for one in self.reactions)
        post |= {"update_at": now, "has_reactions": has}
        event = "reaction_removed" if back else "reaction_added"
        self.sockets.tell(event, post["channel_id"], {"reaction": json.dumps(made)})
        return made

    def pin(self, post_id: str) -> None:
        """The server's own pin: nobody is told whose it is."""
        self.posts[post_id] |= {"is_pinned": True, "update_at": self.now()}
        self.sockets.tell_post("post_edited", self.posts[post_id])

    async def press(self, post_id: str, label: str, user: str = OLIVIA) -> int:
        """Somebody presses a button; the server tells the integration, and waits for it."""
        attachments = self.posts[post_id]["props"]["attachments"]
        actions = [action for one in attachments for action in one.get("actions", ())]
        (action,) = [action for action in actions if action["name"] == label]
        return await self.act(post_id, action, user)

    async def act(self, post_id: str, action: Json, user: str) -> int:
        channel = self.posts[post_id]["channel_id"]
        told = {"user_id": user, "user_name": self.users[user]["username"], "post_id": post_id}
        told |= {"channel_id": channel, "channel_name": self.channels[channel]["name"]}
        told |= {"team_id": TEAM, "team_domain": "team", "trigger_id": "dHJpZ2dlcg==", "type": ""}
        told |= {"data_source": "", "context": action["integration"]["context"]}
        async with (
            aiohttp.ClientSession() as session,
            session.post(action["integration"]["url"], json=told) as answer,
        ):
            self.pressed.append(answer.status)
            if answer.status == 200:
                await answer.json()
            return answer.status

    async def command(self, text: str, user: str = OLIVIA, channel: str = GENERAL) -> int:
        """Somebody types `/moot …`; the server tells the integration in a form."""
        hook = self.new_id()
        self.hooks[hook] = {"user": user, "channel": channel, "uses": 0}
        words = text.removeprefix("/moot").strip()
        told = {"channel_id": channel, "channel_name": self.channels[channel]["name"]}
        told |= {"command": "/moot", "text": words, "token": self.command_token}
        told |= {"team_id": TEAM, "team_domain": "team", "trigger_id": "dHJpZ2dlcg=="}
        told |= {"user_id": user, "user_name": self.users[user]["username"]}
        told["response_url"] = f"{self.base}/hooks/commands/{hook}"
        headers = {"Authorization": f"Token {self.command_token}", "Accept": "application/json"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.command_url, data=told, headers=headers) as answer,
        ):
            if answer.status == 200:
                await answer.json()
            return answer.status

    def respond(self, hook: str, given: Json) -> None:
        """The answer of a slash command, by its hook."""
        told = self.hooks.get(hook)
        if told is None or told["uses"] >= _HOOK_USES:
            raise Refusal("web.command_webhook.invalid.app_error", 400)
        told["uses"] += 1
        if given.get("response_type") == "in_channel":
            self.say(given["text"], told["user"], told["channel"])
        else:
            self.ephemeral.append((told["user"], told["channel"], given["text"]))

    def file(self, name: str, data: bytes, mime: str = "text/plain", by: str = OLIVIA) -> str:
        """A file that somebody uploaded; its id."""
        id_, now = self.new_id(), self.now()
        info = {"id": id_, "user_id": by, "post_id": "", "channel_id": "", "create_at": now}
        info |= {"update_at": now, "delete_at": 0, "name": name, "size": len(data)}
        info |= {"extension": name.rpartition(".")[2], "mime_type": mime}
        self.files[id_] = StoredFile(
            info | {"width": 0, "height": 0, "has_preview_image": False, "archived": False}, data
        )
        return id_

    def user(self, user: str, username: str, *, is_bot: bool = False) -> None:
        now = self.now()
        told: Json = {
            "id": user,
            "username": username,
            "first_name": username.title(),
            "nickname": "",
        }
        told |= {"last_name": "", "is_bot": is_bot, "create_at": now, "update_at": now}
        told |= {"delete_at": 0, "roles": "system_user", "locale": "en", "position": ""}
        self.users[user] = told | {"email": f"{username}@example.org", "auth_service": ""}
        self.tokens[f"token-{username}"] = user

    def channel(self, channel: str, kind: str, people: list[str], name: str) -> None:
        """A channel is made."""
        now, shown = self.now(), name or "__".join(people)
        told: Json = {
            "id": channel,
            "type": kind,
            "name": shown,
            "display_name": name,
            "header": "",
        }
        told |= {"team_id": TEAM if kind in "OP" else "", "create_at": now, "update_at": now}
        told |= {"delete_at": 0, "last_post_at": now, "last_root_post_at": now, "purpose": ""}
        told |= {"creator_id": "", "scheme_id": "", "group_constrained": False}
        self.channels[channel], self.members[channel] = told, people

    # ── Faults ──────────────────────────────────────────────────────────────────────────

    def fail(self, route: str, fault: Fault, times: int = 1) -> None:
        """Let the next calls of a route ("POST posts") go wrong."""
        self.faults[route] += [fault] * times

    def called(self, route: str) -> list[Json]:
        """The arguments of every call of a route so far."""
        return [call.args for call in self.calls if call.route == route]

    # ── State ───────────────────────────────────────────────────────────────────────────

    def now(self) -> int:
        """Milliseconds, no two the same."""
        self._last_at = max(int(time.time() * 1000), self._last_at + 1)
        return self._last_at

    def new_id(self) -> str:
        return f"{next(self._numbers):026}"

    def is_member(self, channel: str, user: str) -> bool:
        return user in self.members.get(channel, ())

    def mentions(self, post: Json) -> list[str]:
        """The ids of those whom it notifies. A direct message notifies the other one."""
        people = self.members[post["channel_id"]]
        if self.channels[post["channel_id"]]["type"] == "D":
            return [user for user in people if user != post["user_id"]]
        called = {name.lower() for name in _MENTION.findall(_without_code(post["message"]))}
        if called & _CALLS_ALL:
            return list(people)
        return [user for user in people if self.users[user]["username"] in called]

    def own(self, channel: str = GENERAL, user: str = CLAUDE) -> list[Json]:
        """Somebody's posts in a channel that still stand, oldest first."""
        found = [post for post in self.posts.values() if post["channel_id"] == channel]
        return [post for post in found if post["user_id"] == user and not post["delete_at"]]

    def texts(self, channel: str = GENERAL, user: str = CLAUDE) -> list[str]:
        """What they say; that of notes is in their attachments."""
        return [post["message"] for post in self.own(channel, user) if post["message"]]

    # ── What a program says ─────────────────────────────────────────────────────────────

    def create(self, user: str, given: Json) -> Json:
        """app/post.go, CreatePost: a pending_post_id that was seen makes no second post."""
        channel = str(given.get("channel_id") or "")
        if given.get("id"):
            raise Refusal("app.post.save.existing.app_error", 400)
        if channel not in self.channels:
            raise Refusal("api.context.invalid_param.app_error", 400)
        if not self.is_member(channel, user):
            raise Refusal("api.context.permissions.app_error", 403)
        if len(given.get("message") or "") > MOST_CHARS:
            raise Refusal("model.post.is_valid.message_length.app_error", 400)
        root = self.posts.get(given.get("root_id") or "")
        if given.get("root_id") and (root is None or root["root_id"] or root["delete_at"]):
            raise Refusal("api.post.create_post.root_id.app_error", 400)
        if root and root["channel_id"] != channel:
            raise Refusal("api.post.create_post.channel_root_id.app_error", 400)
        pending = str(given.get("pending_post_id") or "")
        known, at = self._seen.get(pending, ("", 0.0))
        if pending and known and time.monotonic() - at < _SEEN_S:
            return self.posts[known]
        post = self.make(user, given)
        self._seen[pending] = (post["id"], time.monotonic())
        self.sockets.tell_posted({**post, "pending_post_id": pending})
        return {**post, "pending_post_id": pending}

    def make(self, user: str, given: Json) -> Json:
        """A post is there, and nobody is told yet."""
        now = self.now()
        post: Json = {"id": self.new_id(), "create_at": now, "update_at": now, "edit_at": 0}
        post |= {"delete_at": 0, "is_pinned": False, "user_id": user, "original_id": "", "type": ""}
        post |= {"channel_id": given["channel_id"], "root_id": given.get("root_id") or ""}
        post |= {"message": given.get("message") or "", "hashtags": "", "pending_post_id": ""}
        post |= {"props": dict(given.get("props") or {}), "reply_count": 0, "last_reply_at": 0}
        post |= {"file_ids": given.get("file_ids") or [], "participants": None, "metadata": {}}
        post |= {key: given[key] for key in ("type", "create_at") if key in given}
        if self.users[user]["is_bot"]:
            post["props"]["from_bot"] = "true"
        if post["file_ids"]:
            infos = [self.files[file].info for file in post["file_ids"]]
            for info in infos:
                info |= {"post_id": post["id"], "channel_id": post["channel_id"]}
            post["metadata"] = {"files": infos}
        self.posts[post["id"]] = post
        self.channels[post["channel_id"]]["last_post_at"] = now
        if root := self.posts.get(post["root_id"]):
            root |= {"update_at": now, "reply_count": root["reply_count"] + 1}
        return post

    def patch(self, post_id: str, given: Json) -> Json:
        """A post has another text; the earlier one is kept as a row of its own."""
        post, now = self.posts[post_id], self.now()
        earlier = {**post, "id": self.new_id(), "original_id": post_id}
        self.history.append(earlier | {"delete_at": now, "update_at": now})
        post |= {key: given[key] for key in ("message", "props") if given.get(key) is not None}
        post |= {"edit_at": now, "update_at": now}
        self.sockets.tell_post("post_edited", post)
        return post


def _without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


async def settled(double: MattermostDouble) -> None:
    """Wait until nothing more is posted."""
    before = -1
    while before != (before := len(double.called("POST posts"))):
        await asyncio.sleep(0.7)
