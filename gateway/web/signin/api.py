"""Signing in and out, and what people see of their own account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

from contract.errors import Rejected
from contract.language import say
from contract.values import dataclass
from gateway.web import auth
from gateway.web.auth import Credentials
from gateway.web.body import answer, parse, read_object
from gateway.web.plain_json import error
from gateway.web.signin.attempts import Attempts
from gateway.web.signin.caller import Caller, RequestRefused, caller_of
from gateway.web.signin.people import (
    SESSION_FOR,
    Device,
    Entry,
    NameWanted,
    PagePeople,
)
from gateway.web.signin.rows import PageSession
from gateway.web.signin.tokens import NOT_IT, tell_failed


class SignInBody(BaseModel):
    """A proof, and how somebody is called who has no account yet. switch: also in a browser in
    which somebody else is signed in."""

    model_config = ConfigDict(strict=True, extra="forbid")

    code: str | None = Field(None, max_length=200)
    token: str | None = Field(None, max_length=1_000)
    name: str | None = Field(None, max_length=200)
    switch: bool = False


@dataclass(frozen=True, slots=True)
class SignInApi:
    """The routes."""

    credentials: Credentials
    attempts: Attempts

    @property
    def _people(self) -> PagePeople:
        return self.credentials.people

    def routes(self) -> list[web.RouteDef]:
        """Every route of it but the form's."""
        return [
            web.post("/api/sign-in", self.sign_in),
            web.post("/api/sign-out", self.sign_out),
            web.get("/api/me", self.me),
            web.get("/api/me/sessions", self.sessions),
            web.delete("/api/me/sessions/{id}", self.end),
        ]

    async def sign_in(self, request: web.Request) -> web.Response:
        body = parse(SignInBody, await read_object(request))
        try:
            entry, how = self._entry(request, body)
        except NameWanted:
            told = {"error": {"field": "name", "message": "how are you called?"}, "needs": "name"}
            return answer(told, 409)
        other = signed_in_already(self._people, request, entry.user.id)
        if other is not None and not body.switch:
            return ask_to_switch(other.person.name, entry.user.name)
        signed_in = await self._people.enter(entry, self._device(request), how)
        if other is not None:
            await self._end(other)
        person = Caller(signed_in.user.speaker, signed_in.session.id)
        response = answer(self.who(person))
        secure = self.credentials.access.is_secure(request)
        set_session(response, request, signed_in.cookie, secure=secure)
        return response

    def _device(self, request: web.Request) -> Device:
        address = self.credentials.access.proxies.address(request)
        return Device(request.headers.get("User-Agent", ""), address)

    def _entry(self, request: web.Request, body: SignInBody) -> tuple[Entry, str]:
        """Whom the proof lets in, and how; nothing is used up by that."""
        address = self.credentials.access.proxies.address(request)
        if body.code is not None:
            try:
                how = "invitation" if self._people.link(body.code).role else "link"
                return self._people.admitted(body.code, body.name), how
            except RequestRefused:
                tell_failed(self.attempts, address, "link")
                raise
        if body.token is None:
            raise Rejected("token", "is required: a token, or the code of a link")
        if self.credentials.tokens.by_bearer(body.token, address).reads:
            tell_failed(self.attempts, address, "token")
            raise RequestRefused(401, NOT_IT)
        return self._people.owner_entry(body.name), "token"

    async def sign_out(self, request: web.Request) -> web.Response:
        caller = caller_of(request)
        if caller.is_person:
            await self._end(caller)
        response = answer({"signed_out": True})
        response.del_cookie(name := auth.cookie_name(request))
        response.del_cookie(auth.ROOM)
        if f"{auth.HOST}{name}" in request.cookies:
            response.del_cookie(f"{auth.HOST}{name}", secure=True)
        return response

    async def _end(self, caller: Caller) -> None:
        await self._people.end_sessions(caller.person, lambda one: one.id == caller.session_id)

    async def me(self, request: web.Request) -> web.Response:
        return answer(self.who(caller_of(request)))

    def who(self, caller: Caller) -> dict[str, Any]:
        """Who somebody is, as the page shows it."""
        person = caller.person
        role = self._people.role(person.id) if caller.is_person else "owner"
        house = self._people.house_owner()
        return {
            "id": person.id,
            "name": person.name,
            "role": caller.reads or role,
            "owner": self.credentials.rooms.is_owner(caller),
            "person": caller.is_person,
            "house_owner": {"id": house.id, "name": house.name} if house else None,
        }

    async def sessions(self, request: web.Request) -> web.Response:
        caller = caller_of(request)
        mine = self._people.sessions(caller.person.id)
        return answer({"sessions": sessions_json(self._people, mine, caller)})

    async def end(self, request: web.Request) -> web.Response:
        caller, wanted = caller_of(request), request.match_info["id"]
        gone = await self._people.end_sessions(
            caller.person, lambda one: one.id == wanted and one.person_id == caller.person.id
        )
        return answer({"ended": len(gone)}) if gone else error(404, "there is no such session")


def signed_in_already(people: PagePeople, request: web.Request, person_id: str) -> Caller | None:
    """Somebody else who is signed in in this browser; None: nobody is, or the same person."""
    here = people.by_cookie(auth.session_cookie(request))
    return None if here is None or here.person.id == person_id else here


def ask_to_switch(here: str, person: str) -> web.Response:
    """Nobody becomes somebody else by opening a link: the form asks first. Names of both."""
    asked = say(
        "you are signed in as {here} in this browser: go on as {person}?", here=here, person=person
    )
    told = {"error": {"field": "switch", "message": asked}, "needs": "switch"}
    return answer(told | {"here": here, "person": person}, 409)


def set_session(response: web.Response, request: web.Request, cookie: str, *, secure: bool) -> None:
    """Let the browser keep a session's cookie as long as the session lasts."""
    plain = auth.cookie_name(request)
    if secure and plain in request.cookies:
        response.del_cookie(plain)
    response.set_cookie(
        f"{auth.HOST}{plain}" if secure else plain,
        cookie,
        max_age=int(SESSION_FOR.total_seconds()),
        httponly=True,
        samesite="Lax",
        secure=secure,
    )


def sessions_json(
    people: PagePeople, sessions: Sequence[PageSession], caller: Caller
) -> list[dict[str, Any]]:
    """Sessions as JSON. here: the one that asks."""
    names = {user.id: user.name for user in people.users()}
    return [
        {
            "id": one.id,
            "person_id": one.person_id,
            "person_name": names.get(one.person_id, ""),
            "created_at": one.created_at,
            "seen_at": one.seen_at,
            "expires_at": one.expires_at,
            "user_agent": one.user_agent,
            "address": one.address,
            "here": one.id == caller.session_id,
        }
        for one in sessions
    ]
