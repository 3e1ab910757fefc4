"""The route /api/start: all that the page begins with, in one answer."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from gateway.core.views import TimelineView
from gateway.web.body import answer
from gateway.web.chat_api import MESSAGES, ChatApi
from gateway.web.messages.api import MessagesApi
from gateway.web.schedules_api import commands
from gateway.web.signin.api import SignInApi
from gateway.web.signin.caller import Caller, caller_of

LOBBY = "web:general"  # where one is who names no room


@dataclass(frozen=True, slots=True)
class StartApi:
    """The route. On a slow network each request of its own would cost a second and more."""

    chat: ChatApi
    signin: SignInApi
    messages: MessagesApi

    def routes(self) -> list[web.RouteDef]:
        """The one route."""
        return [web.get("/api/start", self.start)]

    async def start(self, request: web.Request) -> web.Response:
        caller, chat = caller_of(request), self.chat
        told = {
            "position": chat.hub.position(),  # before the rest: what happens meanwhile is heard
            "me": self.signin.who(caller),
            "rooms": await chat.rooms_of(caller),
            "personas": await chat.agents.personas(),
            "people": await chat.people_of(caller),
            "commands": commands(),
            "unread": await self.messages.unread_of(request),
            "timeline": await self._lobby(caller),
        }
        response = answer(told, file_id=chat.files.id_of)
        response.enable_compression()
        return response

    async def _lobby(self, caller: Caller) -> TimelineView:
        room = await self.chat.chat.room(LOBBY)
        if room is None or not self.chat.credentials.rooms.may_read(caller, room):
            return TimelineView(())
        newest = await self.chat.chat.messages(LOBBY, before=None, limit=MESSAGES)
        return newest or TimelineView(())
