"""The routes below /api/admin: all of Moot, for whoever administers it."""

from __future__ import annotations

import re
from dataclasses import replace

from aiohttp import web

from contract.errors import Rejected
from contract.language import later
from contract.values import dataclass
from gateway.web.admin.service import AdminServices
from gateway.web.admin.values import SessionAct, WantedTurns
from gateway.web.body import ChoosingBody, answer, parse, read_object
from gateway.web.plain_json import error
from gateway.web.rendering import to_json
from gateway.web.signin.caller import acting, caller_of
from gateway.web.signin.rooms import RoomGuard, Sight

END = 2**62  # after every turn
PAGE, MOST_PAGE = 50, 200
DAYS, MOST_DAYS = 14, 90
STATES = ("open", "queued", "running", "answered", "posted", "failed", "stopped")
MOST_SLOW_MS = 24 * 3_600_000


class ActBody(ChoosingBody):
    """An act on a session, and who asks for it."""

    act: SessionAct


@dataclass(frozen=True, slots=True)
class AdminApi:
    """The routes."""

    admin: AdminServices
    guard: RoomGuard

    def routes(self) -> list[web.RouteDef]:
        """Every route below /api/admin."""
        return [
            web.get("/api/admin/overview", self.overview),
            web.get("/api/admin/bots", self.bots),
            web.get("/api/admin/rooms", self.rooms),
            web.get("/api/admin/sessions", self.sessions),
            web.post("/api/admin/sessions/{session_id}", self.act),
            web.get("/api/admin/turns", self.turns),
            web.get("/api/admin/statistics", self.statistics),
            web.get("/api/admin/embedder", self.embedder),
            web.post("/api/admin/embedder", self.install_embedder),
        ]

    async def overview(self, request: web.Request) -> web.Response:
        summary = await self.admin.overview.summary()
        sight = Sight(self.guard, caller_of(request))
        shown = [one for one in summary.questions if sight.sees_room(one.room_id)]
        summary = replace(summary, questions=shown)
        well = not any(problem.grave for problem in summary.problems)
        return answer({"ok": well, **to_json(summary)})

    async def bots(self, request: web.Request) -> web.Response:
        return answer({"bots": self.admin.overview.bots()})

    async def rooms(self, request: web.Request) -> web.Response:
        return answer({"rooms": await self.admin.activity.rooms()})

    async def sessions(self, request: web.Request) -> web.Response:
        return answer({"sessions": await self.admin.sessions.all()})

    async def act(self, request: web.Request) -> web.Response:
        body = parse(ActBody, await read_object(request))
        acted = await self.admin.sessions.act(
            request.match_info["session_id"], body.act, acting(request, body.by)
        )
        match acted:
            case "unknown":
                return error(404, "there is no such session")
            case "busy":
                return error(409, "it works, or would lose its conversation")
            case "nothing":
                return error(409, "it does nothing that could be stopped")
            case "done":
                return answer({"acted": body.act})

    async def turns(self, request: web.Request) -> web.Response:
        query = request.query
        state = query.get("state") or None
        if state is not None and state not in STATES:
            raise Rejected("state", later("must be one of {listed}", listed=", ".join(STATES)))
        wanted = WantedTurns(
            room_id=query.get("room") or None,
            persona=query.get("persona") or None,
            person_id=query.get("person") or None,
            state=state,
            slow_ms=_number(request, "slow_ms", 0, MOST_SLOW_MS),
        )
        before = _number(request, "before", 0, END) or END
        limit = _number(request, "limit", 1, MOST_PAGE) or PAGE
        page = await self.admin.activity.turns(wanted, before=before, limit=limit)
        return answer(page)

    async def statistics(self, request: web.Request) -> web.Response:
        count = _number(request, "days", 1, MOST_DAYS) or DAYS
        return answer({"days": await self.admin.activity.days(count)})

    async def embedder(self, request: web.Request) -> web.Response:
        if (admin := self.admin.embedder) is None:
            return error(404, "there is no index that it could serve")
        return answer(await admin.state())

    async def install_embedder(self, request: web.Request) -> web.Response:
        if (admin := self.admin.embedder) is None:
            return error(404, "there is no index that it could serve")
        if not admin.install():
            return error(409, "it is being fetched")
        return answer(await admin.state())


def _number(request: web.Request, name: str, least: int, most: int) -> int | None:
    """A parameter; None when it is not given."""
    given = request.query.get(name)
    if not given:
        return None
    if not re.fullmatch(r"[0-9]{1,19}", given) or not least <= int(given) <= most:
        raise Rejected(name, later("must be {least} to {most}", least=least, most=f"{most:,}"))
    return int(given)
