"""The routes below /api/access: who may do what, and who waits to be let in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

from contract.chat import Speaker
from contract.errors import Rejected
from gateway.access.access import Where
from gateway.access.grants import GrantSpan
from gateway.access.pairing_rows import Decision
from gateway.access.service import AccessService
from gateway.settings.access import Role
from gateway.settings.person_ids import is_person_id
from gateway.web.access.views import access_json, grant_json, pairing_json
from gateway.web.body import Chooser, answer, error, parse, read_object

PAGE = Speaker("web:page", "the page")  # who did it, when the caller doesn't say
_PERSONA = r"^[a-z][a-z0-9_-]{0,63}$"


class ByBody(BaseModel):
    """by: who does it, for the record: a sender id, or an object with one."""

    model_config = ConfigDict(strict=True, extra="forbid")

    by: str | Chooser | None = None

    def speaker(self) -> Speaker:
        """The person who did it. Raises Rejected when the id is none."""
        if self.by is None:
            return PAGE
        by = Chooser(id=self.by, name="") if isinstance(self.by, str) else self.by
        if not is_person_id(by.id):
            raise Rejected("by", "must be <source>:<external id>, without blanks or *")
        return Speaker(by.id, by.name.strip() or by.id.partition(":")[2])


class GrantBody(ByBody):
    """A role to be given."""

    person_id: str = Field(max_length=512)
    person_name: str | None = Field(None, max_length=200)
    role: Role
    room_id: str | None = Field(None, max_length=512)
    persona: str | None = Field(None, pattern=_PERSONA)
    where: Where = ""


class DecisionBody(ByBody):
    """A decision on a code."""

    decision: Literal["approve", "refuse"]


DECISIONS: dict[str, Decision] = {"approve": "approved", "refuse": "refused"}


@dataclass(frozen=True, slots=True)
class AccessApi:
    """The routes. Whoever reaches them is an owner: see web/auth.py."""

    access: AccessService

    def routes(self) -> list[web.RouteDef]:
        """Every route below /api/access."""
        at = "/api/access"
        return [
            web.get(at, self.overview),
            web.post(f"{at}/grants", self.grant),
            web.delete(f"{at}/grants/{{seq}}", self.revoke),
            web.post(f"{at}/pairings/{{code}}", self.decide),
        ]

    async def overview(self, request: web.Request) -> web.Response:
        return answer(access_json(await self.access.overview()))

    async def grant(self, request: web.Request) -> web.Response:
        body = parse(GrantBody, await read_object(request))
        name = " ".join((body.person_name or "").split())
        person = Speaker(body.person_id, name or body.person_id.partition(":")[2])
        span = GrantSpan(body.room_id, body.persona, body.where)
        given = await self.access.grant(person, body.role, span, body.speaker(), named=bool(name))
        return answer(grant_json(given), 201)

    async def revoke(self, request: web.Request) -> web.Response:
        seq = request.match_info["seq"]
        body = ByBody()
        if request.can_read_body:
            body = parse(ByBody, await read_object(request))
        known = re.fullmatch(r"[0-9]{1,18}", seq)
        gone = await self.access.revoke(int(seq), body.speaker()) if known else None
        if gone is None:
            return error(404, "no such role was given; moot.toml's are changed there")
        return answer(grant_json(gone))

    async def decide(self, request: web.Request) -> web.Response:
        body = parse(DecisionBody, await read_object(request))
        code, decision = request.match_info["code"], DECISIONS[body.decision]
        found = await self.access.decide(code, decision, body.speaker())
        if found is None:
            return error(404, "no such code waits: a code is good for 24 hours, and once")
        return answer(pairing_json(found))
