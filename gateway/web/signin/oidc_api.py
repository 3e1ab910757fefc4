"""Signing in at a provider of OpenID Connect: the way there, and the way back."""

from __future__ import annotations

import re
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import structlog
from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

from contract.chat import Speaker
from contract.errors import Rejected
from contract.language import later
from contract.values import dataclass
from gateway.web import auth
from gateway.web.body import answer, parse, read_object
from gateway.web.page_address import PageAuth
from gateway.web.plain_json import error
from gateway.web.signin.api import ask_to_switch, set_session, signed_in_already
from gateway.web.signin.caller import RequestRefused
from gateway.web.signin.people import Device, Noted, SignedIn
from gateway.web.signin.secret import hashed
from gateway.web.signin.subjects import PageSubjects, ProviderAway, ProviderRefused

if TYPE_CHECKING:
    from gateway.web.signin.provider import Begun, OidcProvider

log = structlog.stdlib.get_logger("moot.page")

BACK = "/sign-in/oidc"
LASTS_S = 600.0
MOST, MOST_OF_ADDRESS = 2_000, 50  # sign-ins that began
NOTED, NOTED_WITHIN_S = 100, 600.0  # refusals in the audit log of whom nobody vouched for
NEXT = re.compile(r"#[A-Za-z0-9/?&=._:%@-]{0,300}")
VISITOR = Speaker("moot:visitor", "somebody unknown")
LOST = "this sign-in began too long ago, or in another browser, or is over: sign in again"


class OidcBody(BaseModel):
    """next: what the page shows then, from the #. code: of the link that was opened. switch: see
    SignInBody."""

    model_config = ConfigDict(strict=True, extra="forbid")

    next: str = Field("", max_length=310)
    code: str | None = Field(None, max_length=200)
    switch: bool = False


@dataclass(frozen=True, slots=True)
class SignInFlow:
    """A sign-in that began. browser: the hash of its cookie."""

    begun: Begun
    browser: str
    address: str
    next: str
    code: str | None
    at: float


@dataclass(slots=True)
class Oidc:
    """A provider, and who of its people is whom here."""

    provider: OidcProvider
    subjects: PageSubjects


@dataclass(slots=True)
class OidcApi:
    """The routes. oidc: None: nothing is configured."""

    access: PageAuth
    audit: Noted
    oidc: Oidc | None = None
    clock: Callable[[], float] = time.monotonic
    _flows: dict[str, SignInFlow] = field(default_factory=dict)  # by their state
    _noted: deque[float] = field(default_factory=lambda: deque(maxlen=NOTED))

    def routes(self) -> list[web.RouteDef]:
        """Every route of it."""
        return [
            web.get("/api/sign-in", self.ways),
            web.post("/api/sign-in/oidc", self.begin),
            web.get(BACK, self.back),
        ]

    async def ways(self, request: web.Request) -> web.Response:
        label = self.oidc.subjects.table.shown if self.oidc else None
        return answer({"oidc": {"label": label} if label else None})

    async def begin(self, request: web.Request) -> web.Response:
        """Where to go, and a cookie: whoever comes back must be the browser that went."""
        if self.oidc is None:
            return error(404, "no provider is configured: [oidc] in moot.toml")
        body = parse(OidcBody, await read_object(request))
        if body.next and not NEXT.fullmatch(body.next):
            raise Rejected("next", "is the part of the page's own address from the # on")
        if body.code is not None:
            people = self.oidc.subjects.people
            link = people.link(body.code)
            other = signed_in_already(people, request, link.person_id) if link.person_id else None
            if other is not None and not body.switch:
                return ask_to_switch(other.person.name, link.person_name)
        address = self.access.proxies.address(request)
        try:
            begun = await self.oidc.provider.begin(f"{self.access.url(request)}{BACK}")
        except (ProviderAway, ProviderRefused) as fault:
            raise await self._refused(address, *self._put(fault)) from None
        browser = secrets.token_urlsafe(32)
        self._make_room(address)
        self._flows[begun.state] = SignInFlow(
            begun, hashed(browser), address, body.next, body.code, self.clock()
        )
        response = answer({"url": begun.url})
        response.set_cookie(
            _cookie(request),
            browser,
            max_age=int(LASTS_S),
            path=BACK,
            httponly=True,
            samesite="Lax",
            secure=self.access.is_secure(request),
        )
        return response

    async def back(self, request: web.Request) -> web.Response:
        """The browser comes back. A form with the reason where that is of no use."""
        if self.oidc is None:
            return error(404, "no provider is configured: [oidc] in moot.toml")
        flow, address = self._taken(request), self.access.proxies.address(request)
        if flow is None:
            raise await self._refused(address, RequestRefused(401, LOST), "no such sign-in")
        signed_in = await self._signed_in(self.oidc, flow, request, address)
        response = web.Response(status=303, headers={"Location": f"/{flow.next}"})
        secure = self.access.is_secure(request)
        set_session(response, request, signed_in.cookie, secure=secure)
        response.del_cookie(_cookie(request), path=BACK)
        return response

    async def _signed_in(
        self, oidc: Oidc, flow: SignInFlow, request: web.Request, address: str
    ) -> SignedIn:
        try:
            claims = await oidc.provider.finish(flow.begun, request.query_string)
        except (ProviderAway, ProviderRefused) as fault:
            raise await self._refused(address, *self._put(fault)) from None
        device = Device(request.headers.get("User-Agent", ""), address)
        try:
            return await oidc.subjects.sign_in(claims, flow.code, device)
        except RequestRefused as refused:
            raise await self._refused(address, refused, str(refused), claims) from None

    def _taken(self, request: web.Request) -> SignInFlow | None:
        """What this browser began; it can come back once."""
        state = request.query.get("state", "")
        flow = self._flows.get(state)
        if flow is None or flow.browser != hashed(request.cookies.get(_cookie(request), "")):
            return None
        del self._flows[state]
        return flow if self.clock() - flow.at <= LASTS_S else None

    def _make_room(self, address: str) -> None:
        """Forget what is too old, and the oldest of whoever begins too often."""
        since = self.clock() - LASTS_S
        for state in [state for state, flow in self._flows.items() if flow.at < since]:
            del self._flows[state]
        mine = [state for state, flow in self._flows.items() if flow.address == address]
        if len(mine) >= MOST_OF_ADDRESS:
            del self._flows[mine[0]]
        elif len(self._flows) >= MOST:
            del self._flows[next(iter(self._flows))]

    def _put(self, fault: ProviderAway | ProviderRefused) -> tuple[RequestRefused, str]:
        """A failure as a refusal, and the reason for the log."""
        assert self.oidc is not None
        shown = self.oidc.subjects.table.shown
        if isinstance(fault, ProviderAway):
            told = later(
                "{provider} does not answer as it should: try again, or use a link (`moot open`)",
                provider=shown,
            )
            return RequestRefused(503, told), str(fault)
        told = later("{provider} did not sign you in: {why}", provider=shown, why=fault.phrase)
        return RequestRefused(401, told), str(fault)

    async def _refused(
        self,
        address: str,
        refused: RequestRefused,
        reason: str,
        claims: Mapping[str, Any] | None = None,
    ) -> RequestRefused:
        """Write a refusal down. claims: of whom the provider vouched for; others could fill the
        audit log, so only so many of theirs stand in it."""
        log.warning("signin.failed", address=address, how="oidc", reason=reason)
        known, now = claims or {}, self.clock()
        few = len(self._noted) < NOTED or now - self._noted[0] > NOTED_WITHIN_S
        if known or few:
            await self.audit.note(
                "sign_in_refused",
                VISITOR,
                how="oidc",
                reason=reason,
                address=address,
                issuer=known.get("iss"),
                subject=known.get("sub"),
            )
        if not known and few:
            self._noted.append(now)
        return refused


def _cookie(request: web.Request) -> str:
    return f"{auth.cookie_name(request)}-oidc"
