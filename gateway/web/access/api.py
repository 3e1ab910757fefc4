"""The routes below /api/access: who may do what, and who waits to be let in."""

from __future__ import annotations

import re
from typing import Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

from contract.chat import Speaker
from contract.values import dataclass
from gateway.access.access import Where
from gateway.access.claims import Claim
from gateway.access.grants import GrantSpan
from gateway.access.pairing_rows import Decision
from gateway.access.service import AccessService
from gateway.settings.access import Role
from gateway.web.access.views import access_json, claim_json, grant_json, pairing_json
from gateway.web.body import answer, parse, read_object
from gateway.web.plain_json import error
from gateway.web.signin.caller import acting
from gateway.web.signin.speaker import Chooser

_PERSONA = r"^[a-z][a-z0-9_-]{0,63}$"


class ByBody(BaseModel):
    """by: whose decision a program brings: a sender id, or an object with one."""

    model_config = ConfigDict(strict=True, extra="forbid")

    by: str | Chooser | None = None


class GrantBody(ByBody):
    """A role to be given."""

    person_id: str = Field(max_length=512)
    person_name: str | None = Field(None, max_length=200)
    role: Role
    room_id: str | None = Field(None, max_length=512)
    persona: str | None = Field(None, pattern=_PERSONA)
    where: Where = ""


class ClaimBody(ByBody):
    """Whether somebody who mentioned a persona first is the owner."""

    person_id: str = Field(max_length=512)
    accepts: bool


class DecisionBody(ByBody):
    """A decision on a code."""

    decision: Literal["approve", "refuse"]


DECISIONS: dict[str, Decision] = {"approve": "approved", "refuse": "refused"}


@dataclass(frozen=True, slots=True)
class AccessApi:
    """The routes. They are for owners: see web/auth.py."""

    access: AccessService

    def routes(self) -> list[web.RouteDef]:
        """Every route below /api/access."""
        at = "/api/access"
        return [
            web.get(at, self.overview),
            web.post(f"{at}/grants", self.grant),
            web.delete(f"{at}/grants/{{seq}}", self.revoke),
            web.post(f"{at}/pairings/{{code}}", self.decide),
            web.post(f"{at}/claim", self.confirm),
        ]

    async def overview(self, request: web.Request) -> web.Response:
        return answer(access_json(await self.access.overview()))

    async def grant(self, request: web.Request) -> web.Response:
        body = parse(GrantBody, await read_object(request))
        name = " ".join((body.person_name or "").split())
        person = Speaker(body.person_id, name or body.person_id.partition(":")[2])
        span = GrantSpan(body.room_id, body.persona, body.where)
        given = await self.access.grant(
            person, body.role, span, acting(request, body.by), named=bool(name)
        )
        return answer(grant_json(given), 201)

    async def revoke(self, request: web.Request) -> web.Response:
        seq = request.match_info["seq"]
        body = ByBody()
        if request.can_read_body:
            body = parse(ByBody, await read_object(request))
        known = re.fullmatch(r"[0-9]{1,18}", seq)
        by = acting(request, body.by)
        gone = await self.access.revoke(int(seq), by) if known else None
        if gone is None:
            return error(404, "no such role was given; moot.toml's are changed there")
        return answer(grant_json(gone))

    async def confirm(self, request: web.Request) -> web.Response:
        body = parse(ClaimBody, await read_object(request))
        by = acting(request, body.by)
        found = await self.access.confirm(body.person_id, by, accepts=body.accepts)
        if found is None:
            return error(404, "nobody of this id waits to be the owner")
        return answer(claim_json(found) if isinstance(found, Claim) else grant_json(found))

    async def decide(self, request: web.Request) -> web.Response:
        body = parse(DecisionBody, await read_object(request))
        code, decision = request.match_info["code"], DECISIONS[body.decision]
        found = await self.access.decide(code, decision, acting(request, body.by))
        if found is None:
            return error(404, "no such code waits: a code is good for 24 hours, and once")
        return answer(pairing_json(found))
