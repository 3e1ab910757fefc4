"""A double of the Matrix Authentication Service's OAuth 2.0, to which a real Synapse delegates.

Its endpoints are those of MAS: registration (RFC 7591), device authorization grant (RFC 8628),
tokens that are refreshed once each (RFC 6749), introspection (RFC 7662). Nobody clicks: the test
allows a code as the person in the browser would.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from tests.doubles.inbox import PATIENCE_S

SECRET = "of-mas-and-synapse"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_API = "urn:matrix:client:api:*"
_DEVICE = "urn:matrix:client:device:"


@dataclass
class _Session:
    client_id: str
    scope: str
    user: str = ""  # localpart; "" until somebody allowed it
    refused: bool = False
    ended: bool = False

    @property
    def device_id(self) -> str:
        return next(one for one in self.scope.split() if one.startswith(_DEVICE))[len(_DEVICE) :]


@dataclass
class Mas:
    """url: its address. lifetime_s: a token's. asked: what came to the token endpoint."""

    lifetime_s: float = 300.0
    url: str = ""
    homeserver_url: str = ""
    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    slow_down: int = 0  # so many times
    _codes: dict[str, _Session] = field(default_factory=dict)  # by device code
    _by_user_code: dict[str, _Session] = field(default_factory=dict)
    _tokens: dict[str, tuple[_Session, float]] = field(default_factory=dict)
    _refresh: dict[str, _Session] = field(default_factory=dict)

    @classmethod
    @asynccontextmanager
    async def open(cls, lifetime_s: float = 300.0) -> AsyncIterator[Mas]:
        made = cls(lifetime_s)
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", made._metadata)
        app.router.add_post("/oauth2/registration", made._register)
        app.router.add_post("/oauth2/device", made._device)
        app.router.add_post("/oauth2/token", made._token)
        app.router.add_post("/oauth2/introspect", made._introspect)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        made.url = f"http://{host}:{port}"
        try:
            yield made
        finally:
            await runner.cleanup()

    def settings(self) -> dict[str, Any]:
        """The settings of a Synapse that delegates to it."""
        return {
            "matrix_authentication_service": {
                "enabled": True,
                "endpoint": self.url,
                "secret": SECRET,
            },
            "password_config": {"enabled": False},
        }

    # ── The person in the browser, and the administrator ────────────────────────────────

    async def allow(self, user: str, user_code: str = "") -> str:
        """Somebody signs in and allows a code; "": the first that was asked for. Returns it."""
        code, session = await self._shown(user_code)
        await self._tell("provision_user", {"localpart": user})
        device = {"localpart": user, "device_id": session.device_id}
        await self._tell("upsert_device", device)
        session.user = user
        return code

    async def refuse(self) -> None:
        """Somebody says no to the first code that was asked for."""
        (await self._shown(""))[1].refused = True

    def end(self, user: str) -> None:
        """An administrator ends somebody's sessions."""
        for session in self._codes.values():
            session.ended = session.ended or session.user == user

    async def token(self, user: str, device_id: str) -> str:
        """A token for a person who signs in by other ways."""
        session = _Session("somebody's", f"{_API} {_DEVICE}{device_id}")
        self._by_user_code[device_id] = session
        await self.allow(user, device_id)
        return str(self._given(session, 3600.0)["access_token"])

    async def _shown(self, user_code: str) -> tuple[str, _Session]:
        async with asyncio.timeout(PATIENCE_S):
            while not self._by_user_code:
                await asyncio.sleep(0.05)
        code = user_code or next(iter(self._by_user_code))
        return code, self._by_user_code.pop(code)

    async def _tell(self, what: str, body: dict[str, Any]) -> None:
        headers = {"Authorization": f"Bearer {SECRET}"}
        url = f"{self.homeserver_url}/_synapse/mas/{what}"
        async with (
            aiohttp.ClientSession() as http,
            http.post(url, json=body, headers=headers) as answer,
        ):
            assert answer.status in (200, 201), await answer.text()

    # ── Its endpoints ───────────────────────────────────────────────────────────────────

    async def _metadata(self, _request: web.Request) -> web.Response:
        return web.json_response(
            {
                "issuer": f"{self.url}/",
                "account_management_uri": f"{self.url}/account/",
                "authorization_endpoint": f"{self.url}/authorize",
                "registration_endpoint": f"{self.url}/oauth2/registration",
                "device_authorization_endpoint": f"{self.url}/oauth2/device",
                "token_endpoint": f"{self.url}/oauth2/token",
                "grant_types_supported": [DEVICE_GRANT, "refresh_token"],
            }
        )

    async def _register(self, request: web.Request) -> web.Response:
        body = await request.json()
        needed = ("client_name", "client_uri", "grant_types")
        if any(not body.get(name) for name in needed) or body.get("redirect_uris"):
            return _error("invalid_client_metadata")
        client_id = secrets.token_hex(8)
        self.clients[client_id] = body
        return web.json_response({**body, "client_id": client_id}, status=201)

    async def _device(self, request: web.Request) -> web.Response:
        form = await request.post()
        scope = str(form.get("scope")).split()
        if form.get("client_id") not in self.clients:
            return _error("invalid_client", 401)
        if len(scope) != 2 or scope[0] != _API or not scope[1].startswith(_DEVICE):
            return _error("invalid_scope")
        device_code, user_code = secrets.token_hex(16), secrets.token_hex(3).upper()
        session = _Session(str(form["client_id"]), " ".join(scope))
        self._codes[device_code] = self._by_user_code[user_code] = session
        return web.json_response(
            {
                "device_code": device_code,
                "user_code": user_code,
                "verification_uri": f"{self.url}/link",
                "verification_uri_complete": f"{self.url}/link?code={user_code}",
                "expires_in": 1200,
                "interval": 0.1,
            }
        )

    async def _token(self, request: web.Request) -> web.Response:
        form = await request.post()
        grant = str(form.get("grant_type"))
        self.asked.append(grant)
        if grant == "refresh_token":
            session = self._refresh.pop(str(form.get("refresh_token")), None)
        elif grant == DEVICE_GRANT:
            session = self._codes.get(str(form.get("device_code")))
        else:
            return _error("unsupported_grant_type")
        if session is None or session.ended or session.client_id != form.get("client_id"):
            return _error("invalid_grant")
        if self.slow_down:
            self.slow_down -= 1
            return _error("slow_down")
        if session.refused:
            return _error("access_denied")
        if not session.user:
            return _error("authorization_pending")
        return web.json_response(self._given(session, self.lifetime_s))

    def _given(self, session: _Session, lifetime_s: float) -> dict[str, Any]:
        token, refresh = f"mat_{secrets.token_hex(16)}", f"mar_{secrets.token_hex(16)}"
        self._tokens[token] = session, time.time() + lifetime_s
        self._refresh[refresh] = session
        return {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": int(lifetime_s),
            "refresh_token": refresh,
            "scope": session.scope,
        }

    async def _introspect(self, request: web.Request) -> web.Response:
        form = await request.post()
        if request.headers.get("Authorization") != f"Bearer {SECRET}":
            return _error("invalid_client", 401)
        session, until = self._tokens.get(str(form.get("token")), (None, 0.0))
        left_s = int(until - time.time())
        if session is None or session.ended or left_s <= 0:
            return web.json_response({"active": False})
        return web.json_response(
            {
                "active": True,
                "scope": session.scope,
                "username": session.user,
                "sub": session.user,
                "device_id": session.device_id,
                "expires_in": left_s,
            }
        )


def _error(code: str, status: int = 400) -> web.Response:
    return web.json_response({"error": code}, status=status)
