"""The page's document and the route /api/start: all that the page begins with, in one answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import structlog
from aiohttp import web

from contract.errors import MootError
from contract.language import current
from contract.values import dataclass
from gateway.core.views import TimelineView
from gateway.web import auth
from gateway.web.body import answer
from gateway.web.chat_api import MESSAGES, ChatApi
from gateway.web.front.first_view import Beginning
from gateway.web.front.front import Front
from gateway.web.messages.api import MessagesApi
from gateway.web.rendering import to_json
from gateway.web.schedules_api import commands
from gateway.web.signin.api import SignInApi, set_session
from gateway.web.signin.caller import Caller, caller_of

log = structlog.stdlib.get_logger("moot.gateway")

LOBBY = "web:general"  # where one is who was in no room before
DOCUMENT = "index.html"


@dataclass(frozen=True, slots=True)
class StartApi:
    """The routes. On a slow network each request of its own would cost a second and more, so the
    document has all of it in itself. clean: takes secrets out of a text."""

    chat: ChatApi
    signin: SignInApi
    messages: MessagesApi
    front: Front
    clean: Callable[[str], str]

    def routes(self) -> list[web.RouteDef]:
        """Both."""
        return [web.get("/", self.index), web.get("/api/start", self.start)]

    async def start(self, request: web.Request) -> web.Response:
        response = answer(await self._begun(request), file_id=self.chat.files.id_of)
        response.enable_compression()
        return response

    async def index(self, request: web.Request) -> web.Response:
        try:
            told = to_json(await self._begun(request), self.chat.files.id_of)
        except MootError as fault:  # the page asks again, and says what is wrong
            log.warning("request.failed", method=request.method, path=request.path, reason=fault)
            response = self.front.document(request, DOCUMENT, str)
        else:
            ahead = self.front.assets.catalog(DOCUMENT, current())
            shows_room = request.cookies.get(auth.ROOM) != ""
            begin = Beginning(told, self.clean)
            response = self.front.document(
                request,
                DOCUMENT,
                lambda page: begin.filled(page, shows_room=shows_room, ahead=ahead),
            )
        response.enable_compression()
        if caller_of(request).is_person:  # the browser keeps it as long as the session lasts
            secure = self.front.credentials.access.is_secure(request)
            set_session(response, request, auth.session_cookie(request), secure=secure)
        return response

    async def _begun(self, request: web.Request) -> dict[str, Any]:
        caller, chat = caller_of(request), self.chat
        position = chat.hub.position()  # before the rest: what happens meanwhile is heard
        room_id, timeline = await self._newest(caller, unquote(request.cookies.get(auth.ROOM, "")))
        return {
            "position": position,
            "me": self.signin.who(caller),
            "rooms": await chat.rooms_of(caller),
            "personas": await chat.agents.personas(),
            "people": await chat.people_of(caller),
            "commands": commands(),
            "unread": await self.messages.unread_of(request),
            "room_id": room_id,
            "timeline": timeline,
        }

    async def _newest(self, caller: Caller, wanted: str) -> tuple[str, TimelineView]:
        """The room that the page begins with, and its newest messages."""
        chat, rooms = self.chat.chat, self.chat.credentials.rooms
        for room_id in (wanted, LOBBY) if wanted else (LOBBY,):
            room = await chat.room(room_id)
            if room is None:  # nobody has spoken there yet, or it is another Moot's
                return room_id, TimelineView(())
            if rooms.may_read(caller, room):
                newest = await chat.messages(room_id, before=None, limit=MESSAGES)
                return room_id, newest or TimelineView(())
        return LOBBY, TimelineView(())
