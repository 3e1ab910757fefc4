"""The routes /api/schedules and /api/commands: what is asked by itself, and what can be typed."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

from contract.errors import Rejected
from contract.values import dataclass
from gateway.core.command_spec import CommandSpec, usage
from gateway.core.command_table import TABLE
from gateway.schedules.scheduled import Schedule
from gateway.schedules.service import ScheduleRequest, ScheduleService
from gateway.settings.schedules import TEXT_CHARS
from gateway.web.body import answer, parse, read_object
from gateway.web.plain_json import error
from gateway.web.signin.caller import acting, caller_of
from gateway.web.signin.rooms import RoomGuard, Sight
from gateway.web.signin.speaker import Chooser


class ScheduleBody(BaseModel):
    """A new schedule. when: as behind `!every`. by: a sender id, or an object with one."""

    model_config = ConfigDict(strict=True, extra="forbid")

    room_id: str
    persona: str
    when: str = Field(min_length=1, max_length=200)
    text: str = Field(min_length=1, max_length=TEXT_CHARS)
    missed: Literal["once", "skip"] = "once"
    thread_id: str | None = Field(None, pattern=r"^[^\x00-\x1f\x7f]{1,255}$")
    by: str | Chooser | None = None


class PausedBody(BaseModel):
    """A wish to pause or resume a schedule."""

    model_config = ConfigDict(strict=True, extra="forbid")

    paused: bool


@dataclass(frozen=True, slots=True)
class SchedulesApi:
    """The routes."""

    schedules: ScheduleService
    rooms: RoomGuard

    def routes(self) -> list[web.RouteDef]:
        """Every route of both."""
        return [
            web.get("/api/commands", self.commands),
            web.get("/api/schedules", self.all),
            web.post("/api/schedules", self.create),
            web.post("/api/schedules/{id}", self.pause),
            web.delete("/api/schedules/{id}", self.end),
        ]

    async def commands(self, request: web.Request) -> web.Response:
        return answer({"commands": commands()})

    async def all(self, request: web.Request) -> web.Response:
        found = await self.schedules.all(request.query.get("room") or None)
        sight = Sight(self.rooms, caller_of(request))
        shown = [schedule_view(one) for one in found if sight.sees_room(one.room_id)]
        return answer({"schedules": shown})

    async def create(self, request: web.Request) -> web.Response:
        body = parse(ScheduleBody, await read_object(request))
        by = acting(request, body.by)
        await self.rooms.check(caller_of(request), body.room_id)
        wish = ScheduleRequest(
            body.room_id, body.persona, body.when, body.text, by, body.missed, body.thread_id
        )
        return answer(schedule_view(await self.schedules.create(wish)))

    async def pause(self, request: web.Request) -> web.Response:
        body = parse(PausedBody, await read_object(request))
        by = acting(request, None)
        one = await self.schedules.pause(_id(request), by, paused=body.paused)
        return _none() if one is None else answer(schedule_view(one))

    async def end(self, request: web.Request) -> web.Response:
        ended = await self.schedules.end(_id(request), acting(request, None))
        return answer({"ended": True}) if ended else _none()


def commands() -> list[dict[str, Any]]:
    """Every command, for those who type one."""
    return [command_view(entry) for entry in TABLE]


def command_view(entry: CommandSpec) -> dict[str, Any]:
    """An entry of the table, for whoever completes what is typed."""
    return {
        "name": entry.name,
        "aliases": list(entry.aliases),
        "usage": usage(entry),
        "says": entry.says,
        "example": entry.example,
        "group": entry.group,
        "role": entry.role,
        "arguments": [{**asdict(one), "choices": list(one.choices)} for one in entry.arguments],
    }


def schedule_view(one: Schedule) -> dict[str, Any]:
    """A schedule as JSON. next_at: null where it rests."""
    return {
        "id": one.seq,
        "room_id": one.room_id,
        "thread_id": one.thread_id,
        "bot": one.bot,
        "persona": one.persona,
        "when": one.words,
        "once": not one.cron,
        "timezone": one.timezone,
        "text": one.text,
        "missed": one.missed,
        "by": {"id": one.by.id, "name": one.by.name},
        "configured": one.key is not None,
        "paused": one.paused,
        "why": one.why,
        "next_at": None if one.paused else _time(one.due_at),
        "ran_at": _time(one.ran_at),
    }


def _time(at: datetime | None) -> str | None:
    return None if at is None else f"{at:%Y-%m-%dT%H:%M:%SZ}"


def _id(request: web.Request) -> int:
    given = request.match_info["id"]
    if not re.fullmatch(r"[0-9]{1,15}", given):
        raise Rejected("id", "must be a number")
    return int(given)


def _none() -> web.Response:
    return error(404, "there is no such schedule")
