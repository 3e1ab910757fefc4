"""A Rocket.Chat for tests: REST, realtime (DDP), and the faults of a bad day.

It is itself checked by three published clients and by the official schemas
(tests/bots/test_rocketchat_double.py). `rocketchat_rest` and
`rocketchat_routes` hold the REST API, `rocketchat_socket` the realtime API.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.doubles.rocketchat_rest import Rest
from tests.doubles.rocketchat_socket import Sockets
from tests.doubles.rocketchat_wire import Fault, Refusal, checked, iso, parsed

__all__ = ["Call", "Fault", "RocketChatDouble"]

Json = dict[str, Any]

OLIVIA, ASH = "oLiviaoLiviaoLivi", "ashashashashashas"
CLAUDE, CODEX = "cLaudecLaudecLaud", "codexcodexcodexco"
GENERAL, SECRET, DM = "GENERAL", "secretsecretsecre", "".join(sorted([CLAUDE, OLIVIA]))
GROUP_DM, DISCUSSION = "groupgroupgroupgr", "discdiscdiscdiscd"

_MENTION = re.compile(r"(?<![\w@])@([0-9a-zA-Z_.-]*[0-9a-zA-Z_-])")


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    route: str
    args: Json
    user: str


@dataclass(slots=True)
class StoredFile:
    name: str
    mime: str
    data: bytes
    rid: str = ""


@dataclass
class RocketChatDouble:
    """One workspace. The verbs below are what people there do.

    limited: ten calls a minute a route for those without the role.
    """

    limited: bool = False
    most_chars: int = 5_000
    old_uploads: bool = False  # a server before rooms.media
    refuses_attachments: bool = False
    untold_roles: list[str] = field(default_factory=list)  # of users whose roles it keeps to itself
    calls: list[Call] = field(default_factory=list)
    users: dict[str, Json] = field(default_factory=dict)
    rooms: dict[str, Json] = field(default_factory=dict)
    roles: dict[str, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(dict))
    messages: dict[str, Json] = field(default_factory=dict)
    deleted: list[Json] = field(default_factory=list)
    removed: dict[str, Json] = field(default_factory=dict)  # what was deleted, as it was
    files: dict[str, StoredFile] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    passwords: dict[str, str] = field(default_factory=dict)
    permissions: dict[str, list[str]] = field(
        default_factory=lambda: {
            "api-bypass-rate-limit": ["admin", "bot", "app"],
            "send-many-messages": ["admin", "bot", "app"],
            "message-impersonate": ["bot", "app"],
            "bypass-time-limit-edit-and-delete": ["bot", "app"],
        }
    )
    settings: Json = field(
        default_factory=lambda: {"Message_AllowEditing": True, "FileUpload_Enabled": True}
    )
    base: str = ""

    def __post_init__(self) -> None:
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        self._numbers = itertools.count(1)
        self._last_at = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self.sockets = Sockets(self)
        for user, username, name, roles in (
            (OLIVIA, "olivia", "Olivia", ["user"]),
            (ASH, "ash", "Ash", ["user"]),
            (CLAUDE, "claude", "Claude", ["user", "bot"]),
            (CODEX, "codex", "Codex", ["user", "bot"]),
        ):
            told = {"_id": user, "username": username, "name": name, "roles": roles}
            self.users[user] = {**told, "type": "bot" if "bot" in roles else "user"}
            self.tokens[f"token-{username}"] = user
            self.passwords[user] = f"password-{username}"
        everybody = [OLIVIA, ASH, CLAUDE, CODEX]
        self.room(GENERAL, "c", everybody, name="general")
        self.room(SECRET, "p", everybody, name="secret")
        self.room(DM, "d", [CLAUDE, OLIVIA])
        self.room(GROUP_DM, "d", [CLAUDE, OLIVIA, ASH])
        self.room(DISCUSSION, "p", everybody, name="aBcDeF", fname="The red build", prid=GENERAL)
        self.roles[GENERAL][ASH] = ["owner", "moderator"]

    @classmethod
    @asynccontextmanager
    async def open(cls, **changes: Any) -> AsyncIterator[RocketChatDouble]:
        """A double that listens on a free port of the loopback."""
        double = cls(**changes)
        rest = Rest(double)
        app = web.Application(client_max_size=50_000_000)
        app.router.add_get("/websocket", double.sockets.handle)
        app.router.add_route("*", "/api/v1/{route:.+}", rest.handle)
        app.router.add_get("/file-upload/{file}/{name}", rest.download)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        double.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield double
        finally:
            double.sockets.cut()
            for task in list(double._tasks):
                task.cancel()
            await asyncio.gather(*double._tasks, return_exceptions=True)
            await runner.cleanup()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="tell")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ── What people do ──────────────────────────────────────────────────────────────────

    def say(
        self,
        text: str,
        user: str = OLIVIA,
        rid: str = GENERAL,
        *,
        times: int = 1,
        thread: str | None = None,
        files: tuple[str, ...] = (),
        **more: Any,
    ) -> str:
        """Somebody writes; the stream tells it `times` over. files: ids; text goes with them."""
        message = self.message(text, user, rid, **more)
        if files:
            message["files"] = [self._file_info(file) for file in files]
            message["file"] = message["files"][0]
            link = f"/file-upload/{files[0]}/{self.files[files[0]].name}"
            message["attachments"] = [{"type": "file", "title_link": link}]
        if thread:
            message["tmid"] = thread
        self._keep(message, times)
        return str(message["_id"])

    def message(self, text: str, user: str, rid: str, **more: Any) -> Json:
        now = self._now()
        who = {k: self.users[user][k] for k in ("_id", "username", "name")}
        told = {"_id": self.new_id(), "rid": rid, "msg": text, "ts": now, "u": who}
        found = self._mentions(text)
        return {**told, "_updatedAt": now, "mentions": found, "channels": [], "urls": [], **more}

    def _keep(self, message: Json, times: int = 1) -> None:
        self.messages[message["_id"]] = message
        self.rooms[message["rid"]]["lm"] = message["ts"]
        for _ in range(times):
            self.sockets.tell_message(message)
        if root := self.messages.get(message.get("tmid", "")):
            repliers = [*root.get("replies", []), message["u"]["_id"]]
            count = root.get("tcount", 0) + 1
            self.change(root["_id"], tcount=count, tlm=message["ts"], replies=repliers)

    def change(self, message_id: str, **changes: Any) -> None:
        """The message is told again. None takes a field away."""
        message = {**self.messages[message_id], "_updatedAt": self._now(), **changes}
        message = {k: v for k, v in message.items() if v is not None}
        self.messages[message_id] = message
        self.sockets.tell_message(message)

    def edit(self, message_id: str, text: str, user: str = OLIVIA) -> None:
        """Somebody edits what was written."""
        by = {"_id": user, "username": self.users[user]["username"]}
        found = self._mentions(text)
        self.change(message_id, msg=text, editedAt=self._now(), editedBy=by, mentions=found)

    def remove(self, message_id: str) -> None:
        """Somebody deletes what was written."""
        event = f"{self._gone(message_id)}/deleteMessage"
        self.sockets.tell("stream-notify-room", event, [{"_id": message_id}])

    def _gone(self, message_id: str) -> str:
        message = self.removed[message_id] = self.messages.pop(message_id)
        gone = {"_id": message_id, "rid": message["rid"], "_deletedAt": self._now()}
        self.deleted.append(gone)
        return str(message["rid"])

    def prune(self, rid: str, message_ids: list[str], *, named: bool) -> None:
        """A time's messages are removed; only where there was a limit are they named."""
        for message_id in message_ids:
            self._gone(message_id)
        told: Json = {"rid": rid, "excludePinned": False, "ignoreDiscussion": True, "users": []}
        told["ts"] = {"$gte": {"$date": 0}, "$lte": {"$date": int(time.time() * 1000)}}
        told |= {"ids": message_ids} if named else {}
        self.sockets.tell("stream-notify-room", f"{rid}/deleteMessageBulk", [told])

    def react(
        self, message_id: str, emoji: str, user: str = OLIVIA, *, should: bool | None = None
    ) -> None:
        """Somebody reacts, or takes the reaction back (should: None toggles, as the server).

        The server's own trap: on a message without reactions, taking one back puts it there.
        """
        if message_id not in self.messages:
            raise Refusal("error-not-allowed", "Not allowed")
        name, username = f":{emoji}:", self.users[user]["username"]
        reactions = {k: dict(v) for k, v in self.messages[message_id].get("reactions", {}).items()}
        names = list(reactions.get(name, {}).get("usernames", []))
        there = username in names
        if should is not None and should == there and (should or reactions):
            return
        names = [n for n in names if n != username] if there else [*names, username]
        reactions[name] = {"usernames": names}
        kept = {k: v for k, v in reactions.items() if v["usernames"]}
        self.change(message_id, reactions=kept or None)

    def buttons(self, message_id: str) -> Json | None:
        """The message with buttons that followed a message, though it may be gone by now."""
        every = sorted([*self.removed.values(), *self.messages.values()], key=lambda m: m["ts"])
        at = next(at for at, message in enumerate(every) if message["_id"] == message_id)
        rid = every[at]["rid"]
        with_buttons = (
            m
            for m in every[at:]
            if m["rid"] == rid and any(a.get("actions") for a in m.get("attachments", ()))
        )
        return next(with_buttons, None)

    def press(self, message_id: str, label: str, user: str = OLIVIA) -> str:
        """Somebody's client still shows the buttons under a message, and they press one: it says
        the button's words in their name, where it stands."""
        post = self.buttons(message_id)
        assert post is not None
        told = {a["text"]: a["msg"] for one in post["attachments"] for a in one["actions"]}
        return self.say(told[label], user, post["rid"], thread=post.get("tmid"))

    def pin(self, message_id: str, user: str = ASH, *, pinned: bool = True) -> None:
        """Somebody pins a message, which the room is told by a line of its own too."""
        by = {"_id": user, "username": self.users[user]["username"]}
        self.change(message_id, pinned=pinned, pinnedAt=self._now(), pinnedBy=by)
        if pinned:
            rid = self.messages[message_id]["rid"]
            quoted = {"text": self.messages[message_id]["msg"]}
            self._keep(self.message("", user, rid, t="message_pinned", attachments=[quoted]))

    def age(self, seconds: float = 3_600.0) -> None:
        """What was said so far was said so much earlier."""
        for message in self.messages.values():
            for name in ("ts", "_updatedAt"):
                message[name] = iso(parsed(message[name]) - seconds)

    def file(self, name: str, data: bytes, mime: str = "text/plain", rid: str = GENERAL) -> str:
        """A file that somebody uploaded; its id."""
        file_id = self.new_id()
        self.files[file_id] = StoredFile(name, mime, data, rid)
        return file_id

    def room(self, rid: str, kind: str, people: list[str], **more: Any) -> None:
        """A room is made."""
        usernames = [self.users[user]["username"] for user in people]
        told: Json = {"_id": rid, "t": kind, "uids": people, "usernames": usernames}
        self.rooms[rid] = {**told, "usersCount": len(people), "_updatedAt": self._now(), **more}

    def join(self, rid: str, user: str) -> None:
        """Somebody is added to a room."""
        room = self.rooms[rid]
        self.room(rid, room["t"], [*room["uids"], user], **{"name": room.get("name", "")})
        about = self.subscription(rid, user)
        self.sockets.tell(
            "stream-notify-user", f"{user}/subscriptions-changed", ["inserted", about]
        )

    # ── Faults ──────────────────────────────────────────────────────────────────────────

    def fail(self, route: str, fault: Fault, times: int = 1) -> None:
        """Let the next calls of a route go wrong."""
        self.faults[route] += [fault] * times

    def called(self, route: str) -> list[Json]:
        """The arguments of every call of a route so far."""
        return [call.args for call in self.calls if call.route == route]

    # ── State ───────────────────────────────────────────────────────────────────────────

    def _now(self) -> str:
        self._last_at = max(time.time(), self._last_at + 0.001)
        return iso(self._last_at)

    def new_id(self) -> str:
        return f"n{next(self._numbers):016}"

    def token_of(self, user: str) -> str:
        return next(token for token, owner in self.tokens.items() if owner == user)

    def is_member(self, rid: str, user: str) -> bool:
        return user in self.rooms.get(rid, {}).get("uids", ())

    def may(self, user: str, permission: str) -> bool:
        roles = self.users[user].get("roles", self.untold_roles)
        return bool({*roles} & {*self.permissions[permission]})

    def subscription(self, rid: str, user: str) -> Json:
        room = self.rooms[rid]
        others = [other for other in room["uids"] if other != user]
        name = ",".join(self.users[other]["username"] for other in others)
        shown = ", ".join(self.users[other]["name"] for other in others)
        told = {"_id": f"sub-{rid}-{user}", "rid": rid, "t": room["t"], "open": True}
        told |= {"name": room.get("name", name), "fname": room.get("fname", shown)}
        return told | {"prid": room["prid"]} if "prid" in room else told

    def _mentions(self, text: str) -> list[Json]:
        by_name = {user["username"]: user for user in self.users.values()}
        found = []
        for name in dict.fromkeys(_MENTION.findall(text)):
            if name in ("all", "here"):
                found.append({"_id": name, "username": name})
            elif user := by_name.get(name):
                found.append({k: user[k] for k in ("_id", "username", "name")} | {"type": "user"})
        return found

    def _file_info(self, file_id: str) -> Json:
        file = self.files[file_id]
        about = {"name": file.name, "type": file.mime, "size": len(file.data)}
        return {"_id": file_id, **about, "format": file.name.rpartition(".")[2]}

    def texts(self, rid: str = GENERAL, user: str = CLAUDE) -> list[str]:
        """What somebody's messages in a room say, oldest first."""
        told = self.messages.values()
        return [m["msg"] for m in told if m["rid"] == rid and m["u"]["_id"] == user]

    def since(self, rid: str, at: str, field_name: str = "_updatedAt") -> list[Json]:
        """Messages of a room after a time."""
        told = self.messages.values()
        return [m for m in told if m["rid"] == rid and parsed(m[field_name]) > parsed(at)]

    # ── What a program says ─────────────────────────────────────────────────────────────

    def send(self, user: str, given: Json) -> Json | None:
        """functions/sendMessage.ts: an id that is there already inserts nothing."""
        rid = str(given.get("rid") or "")
        if not self.is_member(rid, user):
            raise Refusal("error-not-allowed", "Not allowed")
        if self.rooms[rid].get("encrypted"):  # E2E_Allow_Unencrypted_Messages is off
            raise Refusal("error-not-allowed", "Not allowed")
        if len(str(given.get("msg") or "").encode("utf-16-le")) // 2 > self.most_chars:
            raise Refusal("error-message-size-exceeded", "Message size exceeds the limit")
        speaks_as = {k: given[k] for k in ("alias", "avatar", "emoji") if given.get(k)}
        if speaks_as and not self.may(user, "message-impersonate"):
            raise Refusal("error-not-allowed", "Not enough permission")
        thread = given.get("tmid")
        if thread and thread not in self.messages:
            raise Refusal("error-invalid-message", "Invalid thread")
        if given.get("_id") in self.messages:
            return None
        message = self.message(str(given.get("msg") or "").strip(), user, rid, **speaks_as)
        message["_id"] = given.get("_id") or message["_id"]
        if attachments := given.get("attachments"):
            if self.refuses_attachments:
                raise Refusal("error-not-allowed", "Not allowed")
            message["attachments"] = checked(attachments)
        if thread:  # no thread within a thread
            message["tmid"] = self.messages[thread].get("tmid", thread)
        self._keep(message)
        return message

    def share(self, user: str, rid: str, file_id: str, **more: Any) -> Json:
        """A file becomes a message."""
        told = {k: v for k, v in more.items() if v}
        text, thread = str(told.pop("msg", "")), told.pop("tmid", None)
        made = self.say(text, user, rid, files=(file_id,), thread=thread)
        return self.messages[made]
