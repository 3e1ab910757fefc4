"""The gateway of the double: sessions, resuming, and how a connection goes wrong."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web

if TYPE_CHECKING:
    from tests.doubles.discord import DiscordDouble

Json = dict[str, Any]

_MEMBERS, _PRESENCES, _CONTENT = 1 << 1, 1 << 8, 1 << 15
_OF_EVENT = {
    "MESSAGE_REACTION_ADD": 1 << 10 | 1 << 13,
    "MESSAGE_REACTION_REMOVE": 1 << 10 | 1 << 13,
    "GUILD_MEMBER_UPDATE": _MEMBERS,
}
_MESSAGES = {"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK"}


@dataclass
class Session:
    """seq: of the newest event. sent: every event, for who resumes."""

    id: str
    intents: int
    seq: int = 0
    sent: list[Json] = field(default_factory=list)
    socket: web.WebSocketResponse | None = None


class Gateway:
    def __init__(self, discord: DiscordDouble) -> None:
        self._discord = discord
        self.sessions: dict[str, Session] = {}
        self.identified = self.resumed = 0
        self.identifies: list[Json] = []
        self.tells_guilds = True
        self.tells_where_to_resume = True
        self.refusals = 0
        self._changed = asyncio.Condition()

    # ── What goes wrong ─────────────────────────────────────────────────────────────────

    async def cut(self, *, forget: bool = False) -> None:
        """The connection breaks. forget: and the session can't be resumed."""
        sockets = [s.socket for s in self.sessions.values() if s.socket is not None]
        if forget:
            self.sessions.clear()
        for session in self.sessions.values():
            session.socket = None
        for socket in sockets:
            request = socket._req
            if request is not None and request.transport is not None:
                request.transport.abort()

    def refuse(self, times: int) -> None:
        """The next connections find nobody."""
        self.refusals = times

    async def ask_to_reconnect(self) -> None:
        """op 7."""
        await self._everybody({"op": 7, "d": None})

    async def invalidate(self, *, resumable: bool) -> None:
        """op 9."""
        sockets = [s.socket for s in self.sessions.values() if s.socket is not None]
        if not resumable:
            self.sessions.clear()
        for socket in sockets:
            await socket.send_str(json.dumps({"op": 9, "d": resumable}))

    async def _everybody(self, frame: Json) -> None:
        for session in list(self.sessions.values()):
            if session.socket is not None:
                await session.socket.send_str(json.dumps(frame))

    # ── Events ──────────────────────────────────────────────────────────────────────────

    async def tell(self, name: str, data: Json, *, times: int = 1) -> None:
        """Tell every session that asked for it; who is away gets it when it resumes."""
        for session in list(self.sessions.values()):
            if not self._wants(session, name, data):
                continue
            for _ in range(times):
                session.seq += 1
                shown = self._shown(session, name, data)
                frame = {"op": 0, "t": name, "s": session.seq, "d": shown}
                session.sent.append(frame)
                await self._send(session, frame)

    async def raw(self, frame: Json) -> None:
        """A frame as it is."""
        await self._everybody(frame)

    def _wants(self, session: Session, name: str, data: Json) -> bool:
        if name in _MESSAGES:
            return bool(session.intents & (1 << 9 if data.get("guild_id") else 1 << 12))
        return bool(session.intents & _OF_EVENT.get(name, -1))

    def _shown(self, session: Session, name: str, data: Json) -> Json:
        """Who didn't ask for the content of messages gets it in a few cases only."""
        if name not in ("MESSAGE_CREATE", "MESSAGE_UPDATE") or session.intents & _CONTENT:
            return data
        own = self._discord.bot["id"]
        ours = data["author"]["id"] == own or any(u["id"] == own for u in data["mentions"])
        if ours or not data.get("guild_id"):
            return data
        return {**data, "content": "", "attachments": [], "embeds": [], "components": []}

    async def _send(self, session: Session, frame: Json) -> None:
        if session.socket is None:
            return
        try:
            await session.socket.send_str(json.dumps(frame))
        except (ConnectionError, RuntimeError):
            session.socket = None

    # ── Connections ─────────────────────────────────────────────────────────────────────

    async def connected(self, sessions: int = 1) -> None:
        """Until so many sessions were begun."""
        async with asyncio.timeout(20), self._changed:
            await self._changed.wait_for(lambda: self.identified >= sessions)

    async def back(self, times: int = 1) -> None:
        """Until so many sessions were resumed."""
        async with asyncio.timeout(20), self._changed:
            await self._changed.wait_for(lambda: self.resumed >= times)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self.refusals:
            self.refusals -= 1
            return web.Response(status=503)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str(json.dumps({"op": 10, "d": {"heartbeat_interval": 41_250}}))
        session: Session | None = None
        async for told in socket:
            if told.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                break
            frame = json.loads(told.data)
            if frame["op"] == 1:
                await socket.send_str(json.dumps({"op": 11}))
            elif frame["op"] == 2:
                session = await self._identify(socket, frame["d"])
            elif frame["op"] == 6:
                session = await self._resume(socket, frame["d"])
        if session is not None and session.socket is socket:
            session.socket = None
        if socket.close_code == 1000 and session is not None:
            self.sessions.pop(session.id, None)  # who says goodbye can't resume
        return socket

    async def _identify(self, socket: web.WebSocketResponse, asked: Json) -> Session | None:
        self.identifies.append(asked)
        if asked["token"] != self._discord.token:
            await socket.close(code=4004, message=b"Authentication failed.")
            return None
        if self._discord.forbidden_intents & asked["intents"]:
            await socket.close(code=4014, message=b"Disallowed intent(s).")
            return None
        session = Session(f"session{len(self.identifies)}", asked["intents"], socket=socket)
        self.sessions[session.id] = session
        guild = self._discord.guild
        ready = {
            "v": 10,
            "user": self._discord.bot,
            "guilds": [{"id": guild["id"], "unavailable": True}],
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": self._discord.gateway_url,
            "application": {"id": self._discord.application_id, "flags": self._discord.flags},
            "private_channels": [],
            "relationships": [],
            "user_settings": {},
            "shard": [0, 1],
        }
        if not self.tells_where_to_resume:
            del ready["resume_gateway_url"]
        for name, data in (("READY", ready), ("GUILD_CREATE", self._discord.guild_create())):
            if name == "READY" or self.tells_guilds:
                session.seq += 1
                await self._send(session, {"op": 0, "t": name, "s": session.seq, "d": data})
        async with self._changed:
            self.identified += 1
            self._changed.notify_all()
        return session

    async def _resume(self, socket: web.WebSocketResponse, asked: Json) -> Session | None:
        session = self.sessions.get(asked["session_id"] or "")
        if session is None or asked["token"] != self._discord.token:
            await socket.send_str(json.dumps({"op": 9, "d": False}))
            return None
        for frame in [f for f in session.sent if f["s"] > asked["seq"]]:
            await socket.send_str(json.dumps(frame))
        session.socket = socket
        session.seq += 1
        await self._send(session, {"op": 0, "t": "RESUMED", "s": session.seq, "d": {"_trace": []}})
        async with self._changed:
            self.resumed += 1
            self._changed.notify_all()
        return session
