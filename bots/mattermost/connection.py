"""The websocket of a Mattermost server, what it didn't bring, and the webhook.

One connection after the other. Each asks for what was missed since the last one, and a channel's
events wait until that is handed on, so that they come in their order.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import structlog
from aiohttp import ClientWebSocketResponse, WSMsgType, web
from pydantic import ValidationError

from bots.kit.cursor import Cursor
from bots.kit.events import EditedMessage, RenamedRoom
from bots.kit.http_pool import call_errors
from bots.kit.inbound import Delivery
from bots.kit.lanes import first_failure
from bots.kit.retry import stay_connected
from bots.kit.webhook import SecretPath, answer, body_of
from bots.mattermost.api import MattermostApi
from bots.mattermost.backfill import Backfill
from bots.mattermost.directory import Directory
from bots.mattermost.events import (
    ButtonPress,
    CommandUse,
    NewMessage,
    parse_command,
    parse_event,
    parse_press,
)
from bots.mattermost.inbound import EventConverter
from bots.mattermost.wire import WireFrame
from contract.errors import MootError, PlatformError

log = structlog.stdlib.get_logger("moot.bots")

# Posts are told in no strict order, and the first start knows the server's time to a second.
OVERLAP = timedelta(seconds=15)

_HELLO_S = 20.0
_HEARTBEAT_S = 20.0
_SAVE_S = 1.0
_ABREAST = 8  # channels that are asked side by side
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
        self._missed, self._cursor = missed, cursor
        self._delivery, self._directory = delivery, directory
        self._abreast = asyncio.Semaphore(_ABREAST)

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
        """One connection, until it is lost. What is under way then comes again with the next."""
        since = await self._since()
        waiting = set(rooms := await self._missed.rooms())
        for room in rooms:
            await self._delivery.in_room(room).acquire()  # free: nothing runs between two
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._save(), name="save Mattermost's cursor")
                log.info("bot.connected", rooms=len(rooms))
                missed = self._catch_up(rooms, waiting, since)
                group.create_task(missed, name="ask Mattermost for what was missed")
                async for frame in frames:
                    group.create_task(self._take(frame), name="take an event")
        except BaseExceptionGroup as failed:
            raise first_failure(failed) from failed
        finally:
            for room in waiting:
                self._delivery.in_room(room).release()
            self._cursor.settle(self._cursor.since)
            await self._cursor.save()

    async def _since(self) -> datetime:
        """The time from which messages count, by the server's clock."""
        if self._cursor.since is None:
            at = datetime.now(UTC)
            with suppress(ValueError, TypeError):
                at = parsedate_to_datetime(self._api.server_date)
            self._cursor.begin(at)
            await self._cursor.save()
        return (self._cursor.since or datetime.now(UTC)) - OVERLAP

    async def _save(self) -> None:
        while True:
            await self._cursor.save()
            await asyncio.sleep(_SAVE_S)

    async def _catch_up(self, rooms: Sequence[str], waiting: set[str], since: datetime) -> None:
        with self._cursor.taking(since + OVERLAP, moves=False):
            async with asyncio.TaskGroup() as group:
                for room in rooms:
                    group.create_task(self._hand_on(room, waiting, since), name=f"missed in {room}")

    async def _hand_on(self, room: str, waiting: set[str], since: datetime) -> None:
        """What was missed in a channel, before what is told there meanwhile."""
        async with self._abreast:
            for found in await self._missed.of(room, since):
                if (event := await self._converter.event(found)) is not None:
                    await self._delivery.give(event)
        waiting.discard(room)
        self._delivery.in_room(room).release()

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
        match found:
            case None:
                return
            case RenamedRoom():
                self._directory.forget_room(found.room)
                return
            case NewMessage() | EditedMessage():
                at, moves = found.at, True
            case _:
                at, moves = self._cursor.since or datetime.now(UTC), False
        with self._cursor.taking(at, moves=moves):
            async with self._delivery.in_room(found.room):
                if (event := await self._converter.event(found)) is not None:
                    await self._delivery.give(event)


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

    def __init__(self, bot: str, token: str, take: Callable[..., Awaitable[None]]) -> None:
        super().__init__("mattermost", bot)
        self._token, self._take = token, take

    async def handle(self, request: web.Request) -> web.Response:
        body = await body_of(request)
        if body is None:
            log.warning("webhook.refused", bot=self._bot, reason="its body is too large")
            return answer(413, "the body is too large")
        try:
            await self._take(self._read(request.content_type, body))
        except ValueError as error:
            log.warning("webhook.failed", bot=self._bot, reason=error)
            return answer(400, "the body is no event of Mattermost")
        except MootError as error:
            log.warning("webhook.waiting", bot=self._bot, reason=error)
            return answer(503, "not now")
        return web.json_response({})

    def _read(self, mime: str, body: bytes) -> ButtonPress | CommandUse:
        if mime == "application/json":
            return parse_press(body)
        found, token = parse_command(body)
        if self._token and not hmac.compare_digest(token.encode(), self._token.encode()):
            raise ValueError("the command's token is not MATTERMOST_COMMAND_TOKEN")
        return found
