"""The routes below /api/page: accounts, invitations, sessions and tokens, for owners."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

from contract.values import dataclass
from gateway.settings.access import Role
from gateway.web.body import answer, parse, read_object
from gateway.web.page_address import PageAuth
from gateway.web.plain_json import error
from gateway.web.signin.api import sessions_json
from gateway.web.signin.caller import RequestRefused, caller_of
from gateway.web.signin.links import NewLink
from gateway.web.signin.people import PagePeople
from gateway.web.signin.rows import PageLink, PageToken
from gateway.web.signin.tokens import PageTokens


class InvitationBody(BaseModel):
    """Somebody who is to have an account."""

    model_config = ConfigDict(strict=True, extra="forbid")

    name: str = Field(max_length=200)
    role: Role | None = None


class TokenBody(BaseModel):
    """A program that is to have a token."""

    model_config = ConfigDict(strict=True, extra="forbid")

    name: str = Field(max_length=100)
    reads: str = Field("", max_length=20)


class LinkBody(BaseModel):
    """Which owner signs in; the oldest account's by default."""

    model_config = ConfigDict(strict=True, extra="forbid")

    person: str | None = Field(None, max_length=200)


@dataclass(frozen=True, slots=True)
class PagePeopleApi:
    """The routes."""

    access: PageAuth
    people: PagePeople
    tokens: PageTokens

    def routes(self) -> list[web.RouteDef]:
        """Every route below /api/page."""
        at = "/api/page"
        return [
            web.get(f"{at}/users", self.users),
            web.delete(f"{at}/users/{{id}}", self.close),
            web.post(f"{at}/invitations", self.invite),
            web.delete(f"{at}/invitations/{{id}}", self.withdraw),
            web.get(f"{at}/sessions", self.sessions),
            web.delete(f"{at}/sessions/{{id}}", self.end),
            web.get(f"{at}/tokens", self.listed),
            web.post(f"{at}/tokens", self.token),
            web.delete(f"{at}/tokens/{{name}}", self.revoke),
            web.post(f"{at}/links", self.link),
        ]

    async def users(self, request: web.Request) -> web.Response:
        users = [
            {
                "id": user.id,
                "name": user.name,
                "role": self.people.role(user.id),
                "created_at": user.created_at,
                "sessions": len(self.people.sessions(user.id)),
            }
            for user in self.people.users()
        ]
        invitations = [_invitation(link) for link in self.people.invitations()]
        return answer({"users": users, "invitations": invitations})

    async def close(self, request: web.Request) -> web.Response:
        gone = await self.people.close(request.match_info["id"], caller_of(request).person)
        if gone is None:
            return error(404, "there is no such account")
        return answer({"closed": gone.id})

    async def invite(self, request: web.Request) -> web.Response:
        body = parse(InvitationBody, await read_object(request))
        made = await self.people.invite(body.name, body.role, caller_of(request).person)
        shown = _invitation(made.link) | {"url": self._address(request, made)}
        return answer(shown, 201)

    async def withdraw(self, request: web.Request) -> web.Response:
        done = await self.people.withdraw(request.match_info["id"], caller_of(request).person)
        return answer({"withdrawn": True}) if done else error(404, "there is no such invitation")

    async def sessions(self, request: web.Request) -> web.Response:
        found = self.people.sessions(request.query.get("person") or None)
        return answer({"sessions": sessions_json(self.people, found, caller_of(request))})

    async def end(self, request: web.Request) -> web.Response:
        wanted = request.match_info["id"]
        gone = await self.people.end_sessions(
            caller_of(request).person, lambda one: one.id == wanted
        )
        return answer({"ended": len(gone)}) if gone else error(404, "there is no such session")

    async def listed(self, request: web.Request) -> web.Response:
        return answer({"tokens": [token_json(one) for one in self.tokens.listed()]})

    async def token(self, request: web.Request) -> web.Response:
        """The salt: who can read the owner's secret makes the value of it."""
        body = parse(TokenBody, await read_object(request))
        made = await self.tokens.get(body.name, body.reads, caller_of(request).person)
        return answer(token_json(made) | {"salt": made.salt})

    async def revoke(self, request: web.Request) -> web.Response:
        done = await self.tokens.revoke(request.match_info["name"], caller_of(request).person)
        return answer({"revoked": True}) if done else error(404, "there is no such token")

    async def link(self, request: web.Request) -> web.Response:
        """A link that makes its bearer an owner: for who can read the owner's secret."""
        if caller_of(request).is_person:
            raise RequestRefused(403, "invite people; this is for `moot open`")
        body = parse(LinkBody, await read_object(request))
        made = await self.people.owner_link(body.person, caller_of(request).person)
        told = {"url": self._address(request, made), "expires_at": made.link.expires_at}
        return answer(told, 201)

    def _address(self, request: web.Request, made: NewLink) -> str:
        return link_address(self.access.url(request), made.code)


def link_address(base: str, code: str) -> str:
    """The address that signs in. What follows a # is sent to no server and is in no Referer."""
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc}/sign-in#{code}"


def _invitation(link: PageLink) -> dict[str, Any]:
    return {
        "id": link.id,
        "person_id": link.person_id,
        "person_name": link.person_name,
        "role": link.role,
        "created_at": link.created_at,
        "expires_at": link.expires_at,
        "by_name": link.by_name or None,
    }


def token_json(token: PageToken) -> dict[str, Any]:
    """A token as JSON, without its value."""
    return {
        "name": token.name,
        "reads": token.reads or "all",
        "created_at": token.created_at,
        "used_at": token.used_at,
    }
