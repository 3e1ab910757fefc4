"""The HTTP API of what people do with messages that are there: edit and delete their own."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web
from pydantic import BaseModel, ConfigDict

from gateway.web.body import answer, parse, read_object
from gateway.web.messages.own import OwnMessages
from gateway.web.rendering import FileId
from gateway.web.signin.caller import caller_of
from gateway.web.signin.rooms import RoomGuard


class TextBody(BaseModel):
    """A message's new text."""

    model_config = ConfigDict(strict=True)

    content: str


@dataclass(frozen=True, slots=True)
class MessagesApi:
    """The routes. file_id: see FileId."""

    own: OwnMessages
    guard: RoomGuard
    file_id: FileId

    def routes(self) -> list[web.RouteDef]:
        """Every route."""
        one = "/api/rooms/{room_id}/messages/{message_id}"
        return [web.put(one, self.edit), web.delete(one, self.delete)]

    async def edit(self, request: web.Request) -> web.Response:
        content = parse(TextBody, await read_object(request)).content
        by, (room_id, message_id) = caller_of(request).person, await self._place(request)
        edited = await self.own.edit(room_id, message_id, content, by)
        return answer(edited, file_id=self.file_id)

    async def delete(self, request: web.Request) -> web.Response:
        by, (room_id, message_id) = caller_of(request).person, await self._place(request)
        await self.own.delete(room_id, message_id, by)
        return answer({"deleted": message_id})

    async def _place(self, request: web.Request) -> tuple[str, str]:
        """The room, which the caller may read, and the message."""
        room_id = request.match_info["room_id"]
        await self.guard.check(caller_of(request), room_id)
        return room_id, request.match_info["message_id"]
