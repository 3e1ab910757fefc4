"""The double's realtime API: DDP over websockets, as the server's streamer and Meteor speak it."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp import web

from tests.doubles.rocketchat_wire import Refusal, ddp_form

if TYPE_CHECKING:
    from tests.doubles.rocketchat import RocketChatDouble

Json = dict[str, Any]


@dataclass(eq=False)
class Client:
    """One open socket. subs: id to (stream, event)."""

    socket: web.WebSocketResponse
    transport: asyncio.Transport
    connected: bool = False
    user: str | None = None
    subs: dict[str, tuple[str, str]] = field(default_factory=dict)
    heard: list[Json] = field(default_factory=list)


class Sockets:
    def __init__(self, double: RocketChatDouble) -> None:
        self._double = double
        self.clients: list[Client] = []
        self.connections = 0  # logins made so far
        self.typing: list[Json] = []
        self.refuses = False  # connections
        self.deaf = False  # answers nothing, as a half-open connection
        self.silent = False  # tells nothing
        self.login_error: Json | None = None
        self.old_form = False  # a message in a list of its own, as servers before 4.0
        self._ids = itertools.count(1)
        self._changed = asyncio.Condition()

    # ── Its life ────────────────────────────────────────────────────────────────────────

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self.refuses:
            return web.Response(status=503)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        assert isinstance(request.transport, asyncio.Transport)
        client = Client(socket, request.transport)
        self.clients.append(client)
        try:
            await socket.send_str('{"server_id":"0"}')
            async for message in socket:
                if message.type == aiohttp.WSMsgType.TEXT and not self.deaf:
                    await self._take(client, json.loads(message.data))
        except ConnectionError:
            pass
        finally:
            self._drop(client)
        return socket

    def _drop(self, client: Client) -> None:
        if client in self.clients:
            self.clients.remove(client)

    async def listening(self, user: str | None = None, connections: int = 1) -> None:
        """Until so many logins were made, and the user hears messages."""
        async with self._changed:
            await self._changed.wait_for(
                lambda: self.connections >= connections and self._hears(user)
            )

    async def watched(self, rid: str, what: str = "deleteMessage") -> None:
        """Until somebody hears of deletions in the room."""
        wanted = ("stream-notify-room", f"{rid}/{what}")
        async with self._changed:
            await self._changed.wait_for(
                lambda: any(wanted in client.subs.values() for client in self.clients)
            )

    def _hears(self, user: str | None) -> bool:
        mine = ("stream-room-messages", "__my_messages__")
        return any(
            mine in client.subs.values() and user in (None, client.user) for client in self.clients
        )

    def cut(self) -> None:
        """Every connection breaks in the middle."""
        for client in list(self.clients):
            self._drop(client)
            client.transport.abort()

    async def ping(self) -> None:
        for client in list(self.clients):
            await client.socket.send_json({"msg": "ping", "id": "from-server"})

    async def _note(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    # ── What a client says ──────────────────────────────────────────────────────────────

    async def _take(self, client: Client, frame: Json) -> None:
        client.heard.append(frame)
        match frame.get("msg"):
            case "connect":
                client.connected = frame.get("version") == "1" and "1" in frame.get("support", ())
                kind = "connected" if client.connected else "failed"
                extra = {"session": f"s{next(self._ids)}"} if client.connected else {"version": "1"}
                await client.socket.send_json({"msg": kind, **extra})
            case "ping":
                await client.socket.send_json({**frame, "msg": "pong"})
            case "pong":
                pass
            case "sub" if client.connected:
                await self._sub(client, frame)
            case "unsub":
                client.subs.pop(frame["id"], None)
                await client.socket.send_json({"msg": "nosub", "id": frame["id"]})
            case "method" if client.connected:
                await self._method(client, frame)
            case _:
                await client.socket.send_json(
                    {"msg": "error", "reason": "Bad request", "offendingMessage": frame}
                )
        await self._note()

    async def _sub(self, client: Client, frame: Json) -> None:
        stream, params = frame["name"], frame.get("params") or []
        event = params[0] if params and isinstance(params[0], str) else ""
        if not self._may_read(client, stream, event):
            error = {"error": "not-allowed", "reason": "Not allowed", "isClientSafe": True}
            await client.socket.send_json({"msg": "nosub", "id": frame["id"], "error": error})
            return
        client.subs[frame["id"]] = (stream, event)
        await client.socket.send_json({"msg": "ready", "subs": [frame["id"]]})

    def _may_read(self, client: Client, stream: str, event: str) -> bool:
        if client.user is None or not event:
            return False
        subject, _, what = event.partition("/")
        if stream == "stream-notify-user":
            return subject == client.user and bool(what)
        if stream == "stream-notify-room":
            return self._double.is_member(subject, client.user)
        if stream == "stream-room-messages" and event != "__my_messages__":
            return self._double.is_member(event, client.user)
        return stream == "stream-room-messages"

    async def _method(self, client: Client, frame: Json) -> None:
        method, params, id_ = frame["method"], frame.get("params") or [], frame["id"]
        try:
            result = await self._called(client, method, params)
            answer = {"msg": "result", "id": id_, "result": result}
        except Refusal as refusal:
            error = {"isClientSafe": True, "error": refusal.code, "reason": refusal.text}
            error |= {"message": f"{refusal.text} [{refusal.code}]", "errorType": "Meteor.Error"}
            answer = {"msg": "result", "id": id_, "error": error}
        await client.socket.send_json(answer)
        await client.socket.send_json({"msg": "updated", "methods": [id_]})

    async def _called(self, client: Client, method: str, params: list[Any]) -> Any:
        if method == "login":
            return await self._login(client, params[0])
        if client.user is None:
            raise Refusal("not-authorized", "Not authorized")
        if method == "stream-notify-room":
            return self._activity(client, params)
        if method == "rooms/get":
            return [r for r in self._double.rooms.values() if client.user in r["uids"]]
        if method == "sendMessage":
            return self._double.send(client.user, params[0])
        if method == "setReaction":
            self._double.react(params[1], params[0].strip(":"), client.user)
            return None
        raise Refusal("404", f"Method '{method}' not found")

    async def _login(self, client: Client, given: Json) -> Json:
        if self.login_error:
            raise Refusal(self.login_error["error"], self.login_error["reason"])
        user = self._by_token(given) or self._by_password(given)
        if user is None:
            raise Refusal("403", "You've been logged out by the server. Please log in again.")
        client.user = user
        name = self._double.users[user]["username"]
        await client.socket.send_json(
            {"msg": "added", "collection": "users", "id": user, "fields": {"username": name}}
        )
        self.connections += 1
        expires = {"$date": 1_900_000_000_000}
        kind = "resume" if "resume" in given else "password"
        token = self._double.token_of(user)
        return {"id": user, "token": token, "tokenExpires": expires, "type": kind}

    def _by_token(self, given: Json) -> str | None:
        return self._double.tokens.get(str(given.get("resume") or ""))

    def _by_password(self, given: Json) -> str | None:
        username = (given.get("user") or {}).get("username")
        for user, password in self._double.passwords.items():
            digest = hashlib.sha256(password.encode()).hexdigest()
            named = self._double.users[user]["username"] == username
            if named and given.get("password") == {"digest": digest, "algorithm": "sha-256"}:
                return user
        return None

    def _activity(self, client: Client, params: list[Any]) -> None:
        event, username, doing, about = params
        rid, _, what = event.partition("/")
        shown = "name" if self._double.settings.get("UI_Use_Real_Name") else "username"
        own = self._double.users[str(client.user)][shown]
        if what != "user-activity" or username != own or not isinstance(doing, list):
            raise Refusal("not-allowed", "Not allowed")
        self.typing.append({"rid": rid, "username": username, "doing": doing, **about})

    # ── What it tells ───────────────────────────────────────────────────────────────────

    def tell(self, stream: str, event: str, args: list[Any]) -> None:
        for client in list(self.clients):
            if (stream, event) in client.subs.values():
                self._send(client, stream, event, args)

    def tell_message(self, message: Json) -> None:
        """A message, to those who hear its room, and those who hear all of theirs."""
        room = self._double.rooms[message["rid"]]
        told = ddp_form(message)
        self.tell("stream-room-messages", message["rid"], [told])
        for client in list(self.clients):
            member = client.user in room["uids"]
            if ("stream-room-messages", "__my_messages__") not in client.subs.values():
                continue
            if not member and room["t"] != "c":
                continue
            about = {"roomParticipant": member, "roomType": room["t"]}
            about |= {"roomName": room["name"]} if "name" in room else {}
            args: list[Any] = [[told], about] if self.old_form else [told, about]
            self._send(client, "stream-room-messages", "__my_messages__", args)

    def _send(self, client: Client, stream: str, event: str, args: list[Any]) -> None:
        if self.silent:
            return
        fields = {"eventName": event, "args": args}
        frame = {"msg": "changed", "collection": stream, "id": "id", "fields": fields}
        data = json.dumps(frame)
        writer = client.socket._writer
        assert writer is not None
        self._double.spawn(self._sent(client, data))

    async def _sent(self, client: Client, data: str) -> None:
        try:
            await client.socket.send_str(data)
        except ConnectionError:
            self._drop(client)
