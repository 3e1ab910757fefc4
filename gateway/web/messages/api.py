"""The HTTP API of what people do with messages that are there: edit and delete their own, find and
read those of all."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

from aiohttp import web
from pydantic import BaseModel, ConfigDict

from contract.chat import Room
from contract.errors import Rejected
from contract.language import later
from contract.values import dataclass
from gateway.core.views import RoomView
from gateway.web.body import answer, parse, read_object
from gateway.web.messages.own import OwnMessages
from gateway.web.messages.reads import ReadMarks, Unread
from gateway.web.messages.search import MessageSearch
from gateway.web.rendering import FileId
from gateway.web.signin.caller import caller_of
from gateway.web.signin.rooms import RoomGuard
from gateway.web.submission import instant

HITS, MOST_HITS = 20, 100
_NUMBER = re.compile("[0-9]{1,15}")


class TextBody(BaseModel):
    """A message's new text."""

    model_config = ConfigDict(strict=True)

    content: str


class ReadBody(BaseModel):
    """Up to when a room was read: the time of its newest message that was seen."""

    model_config = ConfigDict(strict=True)

    until: str


@dataclass(frozen=True, slots=True)
class TalkServices:
    """What the routes ask. rooms: all of them."""

    own: OwnMessages
    search: MessageSearch
    reads: ReadMarks
    rooms: Callable[[], Awaitable[Sequence[RoomView]]]


@dataclass(frozen=True, slots=True)
class MessagesApi:
    """The routes. file_id: see FileId."""

    talk: TalkServices
    guard: RoomGuard
    file_id: FileId

    def routes(self) -> list[web.RouteDef]:
        """Every route."""
        one = "/api/rooms/{room_id}/messages/{message_id}"
        return [
            web.put(one, self.edit),
            web.delete(one, self.delete),
            web.get("/api/search", self.search),
            web.get("/api/unread", self.unread),
            web.put("/api/rooms/{room_id}/read", self.read),
        ]

    async def edit(self, request: web.Request) -> web.Response:
        content = parse(TextBody, await read_object(request)).content
        by, (room_id, message_id) = caller_of(request).person, await self._place(request)
        edited = await self.talk.own.edit(room_id, message_id, content, by)
        return answer(edited, file_id=self.file_id)

    async def delete(self, request: web.Request) -> web.Response:
        by, (room_id, message_id) = caller_of(request).person, await self._place(request)
        await self.talk.own.delete(room_id, message_id, by)
        return answer({"deleted": message_id})

    async def search(self, request: web.Request) -> web.Response:
        query = request.query
        limit, before = query.get("limit", str(HITS)), query.get("before")
        if not _NUMBER.fullmatch(limit) or not 1 <= int(limit) <= MOST_HITS:
            raise Rejected("limit", later("must be {least} to {most}", least=1, most=MOST_HITS))
        if before is not None and not _NUMBER.fullmatch(before):
            raise Rejected("before", "is not a number: give the `next_before` of a page")
        rooms = await self._rooms(request)
        found = await self.talk.search.find(
            query.get("q", ""), rooms, None if before is None else int(before), int(limit)
        )
        return answer(found)

    async def unread(self, request: web.Request) -> web.Response:
        return answer({"rooms": await self.unread_of(request)})

    async def unread_of(self, request: web.Request) -> list[Unread]:
        """What is new to whoever asks."""
        rooms = [room.id for room in await self._rooms(request)]
        return await self.talk.reads.unread(caller_of(request).person, rooms)

    async def read(self, request: web.Request) -> web.Response:
        given = parse(ReadBody, await read_object(request)).until
        room_id, caller = request.match_info["room_id"], caller_of(request)
        await self.guard.check(caller, room_id, there=True)
        try:
            until = instant(given)
        except ValueError as fault:
            raise Rejected("until", str(fault)) from None
        if caller.is_person:
            await self.talk.reads.read(caller.person, room_id, until)
        return answer({"until": until})

    async def _rooms(self, request: web.Request) -> list[Room]:
        """Those that the caller may read, as in the list of rooms."""
        caller = caller_of(request)
        return [
            one.room for one in await self.talk.rooms() if self.guard.may_read(caller, one.room)
        ]

    async def _place(self, request: web.Request) -> tuple[str, str]:
        """The room, which the caller may read, and the message."""
        room_id = request.match_info["room_id"]
        await self.guard.check(caller_of(request), room_id)
        return room_id, request.match_info["message_id"]
