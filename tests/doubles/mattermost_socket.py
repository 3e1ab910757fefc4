"""The double's websocket: who listens, and what they are told. A connection counts its events."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web

if TYPE_CHECKING:
    from tests.doubles.mattermost import MattermostDouble

Json = dict[str, Any]


class Sockets:
    """refuses: nobody can connect."""

    def __init__(self, double: MattermostDouble) -> None:
        self.double = double
        self.refuses = False
        self._open: dict[web.WebSocketResponse, tuple[str, asyncio.Queue[Json | None]]] = {}
        self._hellos: Counter[str] = Counter()
        self._changed = asyncio.Condition()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self.refuses:
            return web.Response(status=503)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        challenge = await socket.receive()
        told = json.loads(challenge.data) if challenge.type == WSMsgType.TEXT else {}
        user = self.double.tokens.get((told.get("data") or {}).get("token", ""))
        if told.get("action") != "authentication_challenge" or user is None:
            error = {"id": "api.web_socket_router.not_authenticated.app_error", "status_code": 401}
            failed = {"status": "FAIL", "error": error, "seq_reply": told.get("seq", 0)}
            await socket.send_json(failed)
            await socket.close()
            return socket
        await self._serve(socket, user, told["seq"])
        return socket

    async def _serve(self, socket: web.WebSocketResponse, user: str, number: int) -> None:
        queue: asyncio.Queue[Json | None] = asyncio.Queue()
        self._open[socket] = (user, queue)
        hello = {"server_version": "11.9.0", "connection_id": self.double.new_id()}
        queue.put_nowait(_event("hello", hello | {"server_hostname": "double"}, user=user))
        sender = asyncio.create_task(self._send(socket, queue), name="tell")
        await socket.send_json({"status": "OK", "seq_reply": number})
        async with self._changed:
            self._hellos[user] += 1
            self._changed.notify_all()
        try:
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    told = json.loads(message.data)
                    answer = {"text": "pong"} if told["action"] == "ping" else {}
                    reply = {"status": "OK", "seq_reply": told["seq"], "data": answer}
                    await socket.send_json(reply)
        finally:
            self._open.pop(socket, None)
            sender.cancel()

    async def _send(self, socket: web.WebSocketResponse, queue: asyncio.Queue[Json | None]) -> None:
        number = 0
        while True:
            if (event := await queue.get()) is not None:
                await socket.send_json({**event, "seq": number})
            number += 1  # one that is lost on the way has its number too

    def cut(self) -> None:
        """All connections drop."""
        for socket in list(self._open):
            if (request := socket._req) is not None and request.transport is not None:
                request.transport.abort()

    def lose(self) -> None:
        """The next event never comes."""
        for _, queue in self._open.values():
            queue.put_nowait(None)

    async def listening(self, user: str, times: int = 1) -> None:
        """Wait until somebody has connected so many times."""
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(lambda: self._hellos[user] >= times)

    # ── What is told ────────────────────────────────────────────────────────────────────

    def tell(self, event: str, channel: str, data: Json) -> None:
        for user, queue in self._open.values():
            if self.double.is_member(channel, user):
                queue.put_nowait(_event(event, data, channel=channel))

    def tell_post(self, event: str, post: Json) -> None:
        self.tell(event, post["channel_id"], {"post": json.dumps(shown(post))})

    def tell_posted(self, post: Json) -> None:
        """Whom it mentions is told to them alone."""
        channel = self.double.channels[post["channel_id"]]
        data = {"post": json.dumps(shown(post)), "team_id": channel["team_id"], "set_online": True}
        data |= {f"channel_{key}": channel[key] for key in ("type", "name", "display_name")}
        data["sender_name"] = f"@{self.double.users[post['user_id']]['username']}"
        mentioned = self.double.mentions(post)
        for user, queue in self._open.values():
            if self.double.is_member(channel["id"], user):
                own = {"mentions": json.dumps([user])} if user in mentioned else {}
                queue.put_nowait(_event("posted", data | own, channel=channel["id"]))


def shown(post: Json) -> Json:
    """A post as clients get it: where its buttons lead is the server's secret."""
    attachments = post["props"].get("attachments")
    if not attachments:
        return post
    bare = [
        {**one, "actions": [{k: a[k] for k in a if k != "integration"} for a in one["actions"]]}
        if one.get("actions")
        else one
        for one in attachments
    ]
    return {**post, "props": {**post["props"], "attachments": bare}}


def _event(name: str, data: Json, *, channel: str = "", user: str = "") -> Json:
    broadcast = {"omit_users": None, "user_id": user, "channel_id": channel, "team_id": ""}
    return {"event": name, "data": data, "broadcast": broadcast}
