"""The websocket of a Mattermost server, what it didn't bring, and the webhook."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import structlog
from aiohttp import ClientWebSocketResponse, WSMsgType
from pydantic import ValidationError

from bots.kit.backfill import CatchUp
from bots.kit.cursor import Cursor
from bots.kit.events import EditedMessage, PinChange, RenamedRoom
from bots.kit.http_pool import call_errors
from bots.kit.inbound import Delivery
from bots.kit.platform_bot import BotSetup
from bots.kit.retry import stay_connected
from bots.kit.webhook import SecretPath
from bots.mattermost.api import MattermostApi
from bots.mattermost.backfill import Backfill
from bots.mattermost.directory import Directory
from bots.mattermost.events import (
    ButtonPress,
    CommandUse,
    NewMessage,
    PostEvent,
    parse_command,
    parse_event,
    parse_press,
)
from bots.mattermost.inbound import EventConverter
from bots.mattermost.wire import WireFrame
from contract.errors import PlatformError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")

_HELLO_S = 20.0
_HEARTBEAT_S = 20.0
_MOST_FRAME_BYTES = 16_000_000


class EventStream:
    """enter: asks the server who we are, and what it allows."""

    def __init__(
        self,
        api: MattermostApi,
        enter: Callable[[], Awaitable[object]],
        converter: EventConverter,
        missed: Backfill,
        cursor: Cursor,
        delivery: Delivery,
        directory: Directory,
    ) -> None:
        self._api, self._enter, self._converter = api, enter, converter
        self._missed, self._order = missed, CatchUp(cursor, delivery)
        self._delivery, self._directory = delivery, directory

    async def listen(self) -> None:
        """Listen for ever. Raises MootError when the account is refused."""
        await stay_connected("mattermost", self._connect)

    async def _connect(self, stands: Callable[[], None]) -> None:
        await self._enter()
        url = f"{self._api.url}/api/v4/websocket"
        with call_errors("Mattermost", "Mattermost: the websocket"):
            async with self._api.http().ws_connect(
                url, heartbeat=_HEARTBEAT_S, max_msg_size=_MOST_FRAME_BYTES
            ) as socket:
                token = {"token": self._api.token}
                await socket.send_json(
                    {"seq": 1, "action": "authentication_challenge", "data": token}
                )
                frames = self._frames(socket)
                async with asyncio.timeout(_HELLO_S):
                    await anext(frames)  # its hello
                stands()
                await self._attend(frames)

    async def _frames(self, socket: ClientWebSocketResponse) -> AsyncIterator[WireFrame]:
        """The events of one connection, in their order. Raises PlatformError when it is lost, or
        one is missing."""
        awaited = 0
        async for message in socket:
            if message.type != WSMsgType.TEXT:
                continue
            try:
                frame = WireFrame.model_validate_json(message.data)
            except ValidationError:
                frame = WireFrame()
            if frame.status == "FAIL":
                raise PlatformError("Mattermost: the websocket refuses us", outcome="retry")
            if frame.status:
                continue
            if frame.seq != awaited:
                raise PlatformError("Mattermost: an event is missing", outcome="retry")
            awaited += 1
            yield frame
        raise PlatformError("Mattermost: the connection is lost", outcome="retry")

    async def _attend(self, frames: AsyncIterator[WireFrame]) -> None:
        """One connection, until it is lost."""
        since = await self._order.since(self._api.server_date)
        rooms = await self._missed.rooms()

        async def ask(room: str) -> Sequence[PostEvent]:
            return await self._missed.of(room, since)

        async with self._order.connected(rooms) as group:
            missed = self._order.missed(rooms, since, ask, self._give)
            group.create_task(missed, name="ask Mattermost for what was missed")
            async for frame in frames:
                group.create_task(self._take(frame), name="take an event")

    async def _give(self, room: str, found: Sequence[PostEvent | PinChange[str, str]]) -> None:
        for one in found:
            if (event := await self._converter.event(one)) is not None:
                await self._delivery.give(event)

    async def _take(self, frame: WireFrame) -> None:
        if frame.event == "user_updated":
            user = frame.told("user")
            self._directory.forget_person(str(user.get("id")) if isinstance(user, dict) else "")
            return
        try:
            found = parse_event(frame, self._directory.own)
        except ValueError as error:
            log.warning("event.unreadable", reason=error)
            return
        if isinstance(found, RenamedRoom):
            self._directory.forget_room(found.room)
        elif found is not None:
            at = found.at if isinstance(found, NewMessage | EditedMessage) else None
            async with self._order.told(found.room, at):
                await self._give(found.room, [found])


# ── By webhook ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Callbacks:
    """How the server calls us. base: our address as it reaches us; "": not at all. secret: of the
    path; None: one is made and kept. token: of the slash command; "": the path is proof enough.
    """

    base: str = ""
    secret: str | None = None
    token: str = ""


class Webhook(SecretPath):
    """Buttons tell in JSON, slash commands in a form."""

    platform = "Mattermost"

    def __init__(
        self,
        setup: BotSetup,
        callbacks: Callbacks,
        take: Callable[[ButtonPress | CommandUse], Awaitable[None]],
    ) -> None:
        super().__init__(setup, callbacks.secret)
        self._token, self._take = callbacks.token, take

    async def take(self, mime: str, body: bytes) -> None:
        found: ButtonPress | CommandUse
        if mime == "application/json":
            found = parse_press(body)
        else:
            found, token = parse_command(body)
            if self._token and not hmac.compare_digest(token.encode(), self._token.encode()):
                raise ValueError("the command's token is not MATTERMOST_COMMAND_TOKEN")
        await self._take(found)
