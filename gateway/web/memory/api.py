"""The routes below /api/rooms/{id}/memory: what is remembered of a room."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from itertools import groupby
from typing import Any

from aiohttp import web

from contract.errors import Rejected
from contract.language import later
from contract.values import dataclass
from gateway.web.body import answer
from gateway.web.memory.room_memory import Overview, RoomMemoryService
from gateway.web.plain_json import error
from gateway.web.rendering import to_json
from gateway.web.signin.caller import caller_of
from gateway.web.signin.rooms import RoomGuard
from memory.browse.pages import END
from memory.browse.view_rows import ObservationContext, ObservationFilter, TitleRow

MOST_QUERY = 1_000  # characters; a question, not a document


@dataclass(frozen=True, slots=True)
class MemoryApi:
    """The routes."""

    memory: RoomMemoryService
    rooms: RoomGuard

    def routes(self) -> list[web.RouteDef]:
        """Every route below /memory."""
        at = "/api/rooms/{room_id}/memory"
        return [
            web.get(at, self.overview),
            web.get(f"{at}/facts", self.facts),
            web.get(f"{at}/observations", self.observations),
            web.get(f"{at}/observations/{{observation_id}}", self.observation),
            web.get(f"{at}/search", self.search),
        ]

    async def overview(self, request: web.Request) -> web.Response:
        found = await self.memory.overview(await self._room(request))
        if found is None:
            return _no_room()
        caller = caller_of(request)
        if not self.rooms.is_owner(caller):  # what is noted of others is not theirs to read
            own = tuple(note for note in found.insights if note.sender_id == caller.person.id)
            found = replace(found, insights=own)
        return answer(_overview(found))

    async def facts(self, request: web.Request) -> web.Response:
        page = await self.memory.facts(
            await self._room(request), before=_before(request), replaced=_flag(request, "replaced")
        )
        return _no_room() if page is None else answer(page)

    async def observations(self, request: web.Request) -> web.Response:
        sought = ObservationFilter(*(_text(request, name) for name in ("text", "concept", "file")))
        page = await self.memory.observations(
            await self._room(request),
            sought if sought != ObservationFilter() else None,
            before=_before(request),
        )
        return _no_room() if page is None else answer(page)

    async def observation(self, request: web.Request) -> web.Response:
        room_id = await self._room(request)
        found = await self.memory.observation(room_id, request.match_info["observation_id"])
        if found is None:
            return error(404, "there is no such observation in this room")
        return answer({"record": found.record, "timeline": _timeline(found)})

    async def search(self, request: web.Request) -> web.Response:
        query = _text(request, "q")
        if not query:
            raise Rejected("q", "is required")
        found = await self.memory.search(await self._room(request), query)
        return _no_room() if found is None else answer(found)

    async def _room(self, request: web.Request) -> str:
        """The room that is asked for. Raises RequestRefused when it is not for the caller."""
        room_id = request.match_info["room_id"]
        await self.rooms.check(caller_of(request), room_id)
        return room_id


def _overview(found: Overview) -> dict[str, Any]:
    """The first page of every section; insights by person."""
    parts = {field.name: getattr(found, field.name) for field in fields(found)}
    people = [
        {"id": sender_id, "name": notes[0].sender_name, "notes": notes}
        for sender_id, group in groupby(found.insights, key=lambda note: note.sender_id)
        for notes in [list(group)]
    ]
    return parts | {"insights": people}


def _timeline(found: ObservationContext) -> list[dict[str, Any]]:
    """The titles around an observation, oldest first. here: the one that was asked for."""
    here = TitleRow.of(found.record)
    return [
        {**to_json(entry), "here": entry is here} for entry in (*found.earlier, here, *found.later)
    ]


def _no_room() -> web.Response:
    return error(404, "there is no such room")


def _before(request: web.Request) -> int:
    given = request.query.get("before")
    if given is None:
        return END
    if not re.fullmatch(r"[0-9]{1,18}", given):
        raise Rejected("before", "must be a number, as next_before gave it")
    return int(given)


def _flag(request: web.Request, name: str) -> bool:
    given = request.query.get(name, "false")
    if given not in ("true", "false"):
        raise Rejected(name, "must be true or false")
    return given == "true"


def _text(request: web.Request, name: str) -> str:
    given = request.query.get(name, "").strip()
    if len(given) > MOST_QUERY:
        raise Rejected(name, later("may have {most} characters", most=f"{MOST_QUERY:,}"))
    return given
