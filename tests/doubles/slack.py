"""A Slack for tests: Web API, Socket Mode, HTTP events, and the faults of a bad day.

It is itself checked by two published clients (tests/bots/test_slack_double.py). `slack_web`
and `slack_rooms` hold the methods of the Web API, `slack_delivery` how events reach an app.
"""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.doubles.slack_app import APP, BOT_ID, BOT_USER, TEAM, App, user_of
from tests.doubles.slack_delivery import Delivery, Envelope
from tests.doubles.slack_server import Server, carried_out
from tests.doubles.slack_wire import Call, Fault, StoredFile

__all__ = ["APP", "BOT_ID", "BOT_USER", "TEAM", "App", "Call", "Fault", "SlackDouble"]

Json = dict[str, Any]

OLIVIA, ASH, CODEX = "U0OLIVIA1", "U0ASH0001", "U0CODEX01"
GENERAL, PRIVATE, DM, GROUP_DM = "C0GENERAL", "G0PRIVATE", "D0OLIVIA1", "C0GROUPDM"


@dataclass
class SlackDouble:
    """One workspace with one app, or more. The verbs below are what people there do."""

    apps: list[App] = field(default_factory=lambda: [App()])
    calls: list[Call] = field(default_factory=list)
    users: dict[str, Json] = field(default_factory=dict)
    channels: dict[str, Json] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)
    messages: dict[str, dict[str, Json]] = field(default_factory=lambda: defaultdict(dict))
    files: dict[str, StoredFile] = field(default_factory=dict)
    statuses: dict[tuple[str, str], str] = field(default_factory=dict)
    sessions: dict[tuple[str, str], str] = field(default_factory=dict)
    prompts: dict[str, list[Json]] = field(default_factory=dict)
    homes: dict[str, Json] = field(default_factory=dict)
    views: list[Json] = field(default_factory=list)
    no_streams: set[str] = field(default_factory=set)  # channels
    session_channels: set[str] = field(default_factory=set)  # streams need no thread there
    faults: dict[str, list[Fault]] = field(default_factory=lambda: defaultdict(list))
    downloads: list[str] = field(default_factory=list)  # the tokens they came with
    whispers: list[tuple[str, str, str]] = field(default_factory=list)  # channel, user, text
    echo_own: bool = True
    page_size: int = 1000
    base: str = ""

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)
        self._last_micros = 0
        for user, name in ((OLIVIA, "Olivia"), (ASH, "Ash")):
            self.users[user] = user_of(user, name)
        self.users[CODEX] = user_of(CODEX, "codex", is_bot=True)
        self.users[BOT_USER] = user_of(BOT_USER, "claude", is_bot=True)
        for channel, name, kind in (
            (GENERAL, "general", "channel"),
            (PRIVATE, "secret", "group"),
            (DM, "", "im"),
            (GROUP_DM, "mpdm-olivia--ash--claude-1", "mpim"),
        ):
            self.channels[channel] = _channel(channel, name, kind)
            self.members[channel] = [OLIVIA, BOT_USER] if kind == "im" else list(self.users)

    @classmethod
    @asynccontextmanager
    async def open(cls, **changes: Any) -> AsyncIterator[SlackDouble]:
        """A double that listens on a free port of the loopback."""
        double = cls(**changes)
        app = web.Application(client_max_size=50_000_000)
        app.add_routes(Server(double).routes())
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        assert site._server is not None
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
        double.base = f"http://127.0.0.1:{port}"
        try:
            yield double
        finally:
            for one in double.apps:
                await one.delivery.close()
            await runner.cleanup()

    @property
    def api_url(self) -> str:
        return f"{self.base}/api/"

    @property
    def secrets(self) -> dict[str, str]:
        """The environment of a Moot that the app's admin set up."""
        return {"SLACK_BOT_TOKEN": self.bot_token, "SLACK_APP_TOKEN": self.app_token}

    def install(self, name: str) -> App:
        """One more app, invited to every channel."""
        number = f"{len(self.apps) + 1:04}"
        app = App(name, f"A0APP{number}", f"U0BOT{number}", f"B0BOT{number}")
        app.bot_token, app.app_token = f"xoxb-{name}", f"xapp-{name}"
        self.apps.append(app)
        self.users[app.user] = user_of(app.user, name, is_bot=True)
        for channel in self.channels:
            if self.channel_type(channel) != "im":
                self.members[channel].append(app.user)
        return app

    # ── The first app ───────────────────────────────────────────────────────────────────

    @property
    def delivery(self) -> Delivery:
        return self.apps[0].delivery

    @property
    def scopes(self) -> set[str]:
        return self.apps[0].scopes

    @property
    def bot_token(self) -> str:
        return self.apps[0].bot_token

    @property
    def app_token(self) -> str:
        return self.apps[0].app_token

    @property
    def signing_secret(self) -> str:
        return self.apps[0].signing_secret

    # ── What people do ──────────────────────────────────────────────────────────────────

    async def say(
        self,
        text: str,
        user: str = OLIVIA,
        channel: str = GENERAL,
        *,
        thread_ts: str | None = None,
        files: tuple[str | Json, ...] = (),
        subtype: str | None = None,
        times: int = 1,
        **more: Any,
    ) -> str:
        """Somebody writes; Slack delivers it `times` over. text: escaped as Slack escapes it.

        files: ids, or what the event says of them.
        """
        message: Json = {"type": "message", "user": user, "text": text, "ts": self.new_ts()}
        message |= {"team": TEAM, "client_msg_id": f"client-{next(self._numbers)}", **more}
        if thread_ts:
            parent = self.messages[channel].get(thread_ts, {})
            message |= {"thread_ts": thread_ts, "parent_user_id": parent.get("user", "")}
        if files:
            message["files"] = [f if isinstance(f, dict) else self.file_info(f) for f in files]
            message |= {"upload": True, "subtype": "file_share"}
        if subtype:
            message["subtype"] = subtype
        self.messages[channel][message["ts"]] = message
        for _ in range(times):
            self.tell(channel, message)
        return str(message["ts"])

    def tell(self, channel: str, message: Json) -> None:
        """Deliver a message as Slack does: a mention twice, under two event ids."""
        event = {**message, "channel": channel, "event_ts": message["ts"]}
        for app in self.hearers(channel):
            app.delivery.event({**event, "channel_type": self.channel_type(channel)})
            mentioned = f"<@{app.user}>" in message.get("text", "")
            if mentioned and self.channel_type(channel) != "im" and not message.get("subtype"):
                app.delivery.event({**event, "type": "app_mention"})

    def hearers(self, channel: str, event_type: str = "message") -> list[App]:
        """The apps that Slack tells what happens in a channel."""
        here = self.members[channel]
        return [app for app in self.apps if app.user in here and app.hears(event_type)]

    async def edit(self, channel: str, ts: str, text: str, **changes: Any) -> None:
        """Somebody edits what they wrote."""
        old = self.messages[channel][ts]
        new = {**old, "text": text, "edited": {"user": old["user"], "ts": self.new_ts()}, **changes}
        self.messages[channel][ts] = new
        self.changed(channel, "message_changed", message=new, previous_message=old)

    async def remove(self, channel: str, ts: str) -> None:
        """Somebody deletes what they wrote."""
        old = self.messages[channel].pop(ts)
        self.changed(channel, "message_deleted", deleted_ts=ts, previous_message=old)

    def changed(self, channel: str, subtype: str, **more: Any) -> None:
        stamp = self.new_ts()
        event = {"type": "message", "subtype": subtype, "hidden": True, "channel": channel}
        event |= {"ts": stamp, "event_ts": stamp, "channel_type": self.channel_type(channel)}
        for app in self.hearers(channel):
            app.delivery.event({**event, **more})

    async def react(
        self, channel: str, ts: str, name: str, user: str = OLIVIA, *, added: bool = True
    ) -> None:
        """Somebody reacts to a message, or takes it back."""
        self.reacted("reaction_added" if added else "reaction_removed", channel, ts, name, user)

    def reacted(self, kind: str, channel: str, ts: str, name: str, user: str) -> None:
        author = self.messages[channel][ts].get("user", "")
        item = {"type": "message", "channel": channel, "ts": ts}
        event = {"type": kind, "user": user, "reaction": name, "item_user": author, "item": item}
        for app in self.hearers(channel, kind):
            app.delivery.event({**event, "event_ts": self.new_ts()})

    async def pin(self, channel: str, ts: str, user: str = OLIVIA, *, added: bool = True) -> None:
        """Somebody pins a message to its channel, or takes the pin off."""
        self.pinned("pin_added" if added else "pin_removed", channel, ts, user)

    def pinned(self, kind: str, channel: str, ts: str, user: str) -> None:
        message = self.messages[channel][ts]
        message["pinned_to"] = [channel] if kind == "pin_added" else []
        item: Json = {"type": "message", "channel": channel, "created_by": user}
        item |= {"message": {**message, "permalink": f"{self.base}/archives"}, "created": 1}
        event = {"type": kind, "user": user, "channel_id": channel, "item": item}
        for app in self.hearers(channel, kind):
            app.delivery.event({**event, "event_ts": self.new_ts()})

    async def press(self, channel: str, ts: str, label: str, user: str = OLIVIA) -> None:
        """Somebody presses the button with this label."""
        message = self.messages[channel][ts]
        buttons = [e for b in message["blocks"] for e in b.get("elements", ())]
        button = next(b for b in buttons if b["text"]["text"] == label)
        app = next(app for app in self.apps if app.bot == message["bot_id"])
        app.delivery.interactive(
            {
                "type": "block_actions",
                "api_app_id": app.id,
                "team": {"id": TEAM, "domain": "test"},
                "user": {"id": user, "username": user.lower(), "team_id": TEAM},
                "channel": {"id": channel, "name": self.channels[channel]["name"]},
                "container": {"type": "message", "message_ts": ts, "channel_id": channel},
                "message": message,
                "trigger_id": "1.2.abc",
                "response_url": f"{self.base}/respond",
                "actions": [
                    {
                        "type": "button",
                        "action_id": button["action_id"],
                        "block_id": "b1",
                        "text": button["text"],
                        "value": button.get("value"),
                        "action_ts": self.new_ts(),
                    }
                ],
            }
        )

    def open_home(self, user: str = OLIVIA, channel: str = DM, tab: str = "home") -> Envelope:
        """Somebody opens a tab of the app."""
        event = {"type": "app_home_opened", "user": user, "channel": channel, "tab": tab}
        return self.apps[0].delivery.event({**event, "event_ts": self.new_ts()})

    def stop(self, channel: str, thread_ts: str, user: str = OLIVIA) -> Envelope:
        """Somebody presses Slack's stop button under the work of an agent: its streams end."""
        open_ = [
            message
            for message in self.messages[channel].values()
            if message.get("thread_ts") == thread_ts
            and message.get("streaming_state") == "in_progress"
        ]
        for message in open_:
            message["streaming_state"] = "stopped_by_user"
        event: Json = {"type": "agent_session_stopped", "channel": channel, "thread_ts": thread_ts}
        stopped = [message["ts"] for message in open_]
        event |= {"user": user, "event_ts": self.new_ts(), "streaming_message_ts": stopped}
        return self.apps[0].delivery.event(event)

    def shortcut(self, channel: str, ts: str, user: str = OLIVIA) -> Envelope:
        """Somebody chooses "Ask Moot" at a message."""
        (app, *_) = self.apps
        return app.delivery.interactive(
            {
                "type": "message_action",
                "callback_id": "moot_ask",
                "trigger_id": f"{next(self._numbers)}.3.abc",
                "message_ts": ts,
                "message": self.messages[channel][ts],
                "channel": {"id": channel, "name": self.channels[channel]["name"]},
                "user": {"id": user, "name": user.lower()},
                "team": {"id": TEAM, "domain": "test"},
                "response_url": f"{self.base}/respond",
            }
        )

    def submit(self, view: Json, text: str, user: str = OLIVIA) -> Envelope:
        """Somebody fills the only box of a modal, and sends it off."""
        (block,) = view["blocks"]
        values = {block["block_id"]: {block["element"]["action_id"]: {"value": text}}}
        sent = {**view, "id": f"V0VIEW{next(self._numbers):04}", "state": {"values": values}}
        who = {"user": {"id": user, "name": user.lower()}, "team": {"id": TEAM}}
        return self.apps[0].delivery.interactive({"type": "view_submission", "view": sent, **who})

    def command(
        self, text: str, channel: str = GENERAL, user: str = OLIVIA, command: str = "/moot"
    ) -> Envelope:
        """Somebody gives a slash command; nothing of it is to be seen in the channel."""
        (app, *_) = self.apps
        return app.delivery.slash(
            {
                "token": "verification",
                "team_id": TEAM,
                "team_domain": "test",
                "channel_id": channel,
                "channel_name": self.channels[channel]["name"],
                "user_id": user,
                "user_name": user.lower(),
                "command": command,
                "text": text,
                "api_app_id": app.id,
                "is_enterprise_install": "false",
                "response_url": f"{self.base}/respond",
                "trigger_id": f"{next(self._numbers)}.2.abc",
            }
        )

    def file(self, name: str, data: bytes, mime: str = "text/plain") -> str:
        """A file that somebody uploaded; its id."""
        file_id = f"F0FILE{next(self._numbers):04}"
        self.files[file_id] = StoredFile(name, mime, data)
        return file_id

    # ── Faults ──────────────────────────────────────────────────────────────────────────

    def fail(self, method: str, fault: Fault, times: int = 1) -> None:
        """Let the next calls of a method go wrong."""
        self.faults[method] += [fault] * times

    def called(self, method: str) -> list[Json]:
        """The arguments of every call of a method so far."""
        return [call.args for call in self.calls if call.method == method]

    def answer(self, method: str, args: Json, token: str) -> Json:
        """Carry a call out, as it came over the wire."""
        return carried_out(self, method, args, token)

    # ── State ───────────────────────────────────────────────────────────────────────────

    def new_ts(self) -> str:
        self._last_micros = max(int(time.time() * 1_000_000), self._last_micros + 1)
        return f"{self._last_micros // 1_000_000}.{self._last_micros % 1_000_000:06}"

    def channel_type(self, channel: str) -> str:
        found = self.channels[channel]
        kinds = (("is_im", "im"), ("is_mpim", "mpim"), ("is_private", "group"))
        return next((kind for flag, kind in kinds if found[flag]), "channel")

    def file_info(self, file_id: str) -> Json:
        file = self.files[file_id]
        url = f"{self.base}/files/{file_id}/{file.name.replace('/', '%2F')}"
        sizes = {"size": len(file.data), "mode": "hosted", "is_external": False}
        named = {"id": file_id, "name": file.name, "title": file.name, "mimetype": file.mime}
        return {**named, **sizes, "url_private": url, "url_private_download": url}

    def texts(self, channel: str = GENERAL, user: str = BOT_USER) -> list[str]:
        """What somebody's messages in a channel say."""
        return [shown(m) for m in self.messages[channel].values() if m.get("user") == user]


def shown(message: Json) -> str:
    """What people read of a message: its text stands in notifications where it has Markdown."""
    blocks = message.get("blocks") or ()
    written = [block["text"] for block in blocks if block["type"] == "markdown"]
    return "\n".join(written) or str(message["text"])


def _channel(channel: str, name: str, kind: str) -> Json:
    private = kind in ("group", "mpim")
    flags = {"is_im": kind == "im", "is_mpim": kind == "mpim", "is_private": private}
    if kind == "im":
        flags |= {"user": OLIVIA}  # type: ignore[dict-item]
    return {"id": channel, "name": name, "is_channel": kind == "channel", **flags}
