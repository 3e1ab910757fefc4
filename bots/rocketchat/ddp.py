"""Rocket.Chat's realtime API: one DDP connection over a websocket.

Frames are JSON texts; `msg` names their kind. Both sides may ping. Nothing is sent again after a
connection is lost: whoever opens the next one asks for what it missed.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import structlog

from contract.errors import PlatformError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")

_LARGEST_FRAME = 16 * 1024 * 1024  # a message with its attachments; nobody sends more


class DdpRefused(PlatformError):
    """A method or a subscription was refused. code, reason: the server's words for why."""

    def __init__(self, what: str, error: Mapping[str, Any]) -> None:
        self.code = str(error.get("error") or error.get("errorType") or "refused")
        self.reason = str(error.get("reason") or error.get("message") or self.code)[:200]
        super().__init__(f"Rocket.Chat refused {what}: {self.reason}", outcome="refused")


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """Something that a stream tells. stream: e.g. "stream-room-messages"."""

    stream: str
    event: str
    args: Sequence[Any]


@dataclass(frozen=True, slots=True)
class DdpTimeouts:
    """connect_s: for the socket and for each answer; quiet_s: after so long without a frame we
    ping; dead_s: and after so long more the connection counts as lost."""

    connect_s: float = 10.0
    quiet_s: float = 25.0
    dead_s: float = 15.0


class Ddp:
    """An open connection. Its methods raise PlatformError, outcome "retry", when it is lost."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, patience: DdpTimeouts) -> None:
        self._socket, self._patience = socket, patience
        self._ids = itertools.count(1)
        self._asked: dict[str, asyncio.Future[Any]] = {}
        self._told: asyncio.Queue[StreamEvent | None] = asyncio.Queue()
        self._lost = False

    @classmethod
    @asynccontextmanager
    async def open(
        cls, session: aiohttp.ClientSession, url: str, patience: DdpTimeouts
    ) -> AsyncIterator[Ddp]:
        """Connected, not logged in. url: the server's (http or https)."""
        target = f"ws{url.removeprefix('http')}/websocket"
        try:
            async with asyncio.timeout(patience.connect_s):
                socket = await session.ws_connect(target, max_msg_size=_LARGEST_FRAME)
        except (aiohttp.ClientError, OSError) as error:
            why = f"Rocket.Chat's socket can't be opened: {type(error).__name__}: {error}"
            raise PlatformError(why, outcome="retry") from error
        ddp = cls(socket, patience)
        reader = asyncio.create_task(ddp._read(), name="read Rocket.Chat's frames")
        try:
            hello = {"msg": "connect", "version": "1", "support": ["1", "pre2", "pre1"]}
            await ddp._ask("connect", "the connection", hello)
            yield ddp
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            await socket.close()

    # ── What is asked ───────────────────────────────────────────────────────────────────

    async def login(self, credentials: Mapping[str, Any]) -> tuple[str, str]:
        """The account's user id and its token for the next time. Raises DdpRefused."""
        answer = await self.call("login", [credentials])
        told = answer if isinstance(answer, dict) else {}
        return str(told.get("id") or ""), str(told.get("token") or "")

    async def call(self, method: str, params: Sequence[Any]) -> Any:
        """A method's result. Raises DdpRefused."""
        id_ = str(next(self._ids))
        frame = {"msg": "method", "method": method, "id": id_, "params": list(params)}
        return await self._ask(id_, method, frame)

    async def subscribe(self, stream: str, event: str) -> None:
        """Returns when the stream is ready. Raises DdpRefused."""
        id_ = f"s{next(self._ids)}"
        params = [event, {"useCollection": False, "args": []}]
        frame = {"msg": "sub", "id": id_, "name": stream, "params": params}
        await self._ask(id_, f"{stream} {event}", frame)

    async def tell(self, method: str, params: Sequence[Any]) -> None:
        """Call a method whose result nobody waits for."""
        id_ = str(next(self._ids))
        frame = {"msg": "method", "method": method, "id": id_, "params": list(params)}
        await self._send(frame)

    async def next(self) -> StreamEvent | None:
        """The next event of a stream; None when the connection is lost."""
        if self._lost and self._told.empty():
            return None
        return await self._told.get()

    async def _ask(self, id_: str, what: str, frame: Mapping[str, Any]) -> Any:
        future = self._asked[id_] = asyncio.get_running_loop().create_future()
        try:
            await self._send(frame)
            async with asyncio.timeout(self._patience.connect_s):
                return await future
        except TimeoutError as error:
            why = f"Rocket.Chat doesn't answer: {what}"
            raise PlatformError(why, outcome="retry") from error
        except DdpRefused as error:
            raise DdpRefused(what, {"error": error.code, "reason": error.reason}) from None
        finally:
            self._asked.pop(id_, None)

    async def _send(self, frame: Mapping[str, Any]) -> None:
        try:
            if self._lost:
                raise ConnectionResetError("closed")
            await self._socket.send_str(json.dumps(frame))
        except (aiohttp.ClientError, ConnectionError) as error:
            raise PlatformError("Rocket.Chat's socket is closed", outcome="retry") from error

    # ── What comes ──────────────────────────────────────────────────────────────────────

    async def _read(self) -> None:
        try:
            while (frame := await self._frame()) is not None:
                await self._take(frame)
        except PlatformError as error:
            log.info("socket.failed", reason=error)
        finally:
            self._lost = True
            self._told.put_nowait(None)
            for future in self._asked.values():
                if not future.done():
                    future.set_exception(
                        PlatformError("Rocket.Chat's socket was closed", outcome="retry")
                    )

    async def _frame(self) -> Mapping[str, Any] | None:
        """The next frame; None when the connection is closed or dead."""
        while True:
            message = await self._received()
            if message is None or message.type in (
                aiohttp.WSMsgType.CLOSE,
                aiohttp.WSMsgType.CLOSING,
                aiohttp.WSMsgType.CLOSED,
                aiohttp.WSMsgType.ERROR,
            ):
                return None
            try:
                frame = json.loads(message.data)
            except (ValueError, TypeError):
                continue
            if isinstance(frame, dict):
                return frame

    async def _received(self) -> aiohttp.WSMessage | None:
        try:
            return await self._socket.receive(timeout=self._patience.quiet_s)
        except TimeoutError:
            await self._send({"msg": "ping", "id": f"p{next(self._ids)}"})
        try:
            return await self._socket.receive(timeout=self._patience.dead_s)
        except TimeoutError:
            log.warning("socket.silent", platform="rocketchat")
            return None

    async def _take(self, frame: Mapping[str, Any]) -> None:
        match frame.get("msg"):
            case "ping":
                await self._send({"msg": "pong", **{k: frame[k] for k in ("id",) if k in frame}})
            case "connected":
                self._answer("connect", None)
            case "failed":
                reason = f"it speaks DDP version {frame.get('version')}"
                self._refuse("connect", {"error": "version", "reason": reason})
            case "result" if "error" in frame:
                self._refuse(str(frame.get("id")), frame["error"])
            case "result":
                self._answer(str(frame.get("id")), frame.get("result"))
            case "ready":
                for id_ in frame.get("subs") or ():
                    self._answer(str(id_), None)
            case "nosub":
                error = frame.get("error") or {"error": "nosub", "reason": "it is not there"}
                self._refuse(str(frame.get("id")), error)
            case "changed":
                self._tell(frame)
            case "error":
                log.warning("socket.frame_refused", reason=str(frame.get("reason"))[:200])

    def _answer(self, id_: str, result: Any) -> None:
        future = self._asked.get(id_)
        if future is not None and not future.done():
            future.set_result(result)

    def _refuse(self, id_: str, error: Any) -> None:
        future = self._asked.get(id_)
        if future is not None and not future.done():
            told = error if isinstance(error, dict) else {"error": str(error)}
            future.set_exception(DdpRefused("a call", told))

    def _tell(self, frame: Mapping[str, Any]) -> None:
        fields = frame.get("fields")
        stream = str(frame.get("collection") or "")
        if not stream.startswith("stream-") or not isinstance(fields, dict):
            return
        args = fields.get("args")
        if isinstance(args, list):
            self._told.put_nowait(StreamEvent(stream, str(fields.get("eventName") or ""), args))
