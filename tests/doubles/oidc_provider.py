"""Providers of OpenID Connect: a certified one, in Node, and one that lies as it is told to."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import html
import json
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import aiohttp
from aiohttp import web
from joserfc import jwt
from joserfc.jwk import RSAKey
from yarl import URL

from tests.doubles.ports import free_port
from tests.doubles.published_parser import need_node

CLIENT = "moot"
SECRET = "the-secret-of-moot-at-its-provider"
PROOF = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
NODE = Path(__file__).parents[1] / "clients" / "oidc"


@asynccontextmanager
async def certified(accounts: Mapping[str, Any], redirect: str) -> AsyncIterator[str]:
    """oidc-provider with these accounts, by subject; gives its issuer. Any password will do."""
    process = await asyncio.create_subprocess_exec(
        need_node("oidc", "oidc-provider"), "provider.mjs",
        cwd=NODE,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    given = {"port": free_port(), "redirects": [redirect], "accounts": accounts}
    process.stdin.write(json.dumps(given).encode() + b"\n")
    try:
        async with asyncio.timeout(30):
            while not (line := await process.stdout.readline()).startswith(b"http://"):
                assert line, "the provider ended"
        yield line.decode().strip()
    finally:
        process.stdin.close()
        await process.communicate()


@dataclass
class LyingProvider:
    """Says of whoever comes what `claims` has. lies: claims of the ID token that are others. how:
    what else is wrong: none, shared, stranger, mixed, slow, refuses. named: its wrong name."""

    issuer: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    lies: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    how: str = ""
    named: str = ""
    asked: list[str] = field(default_factory=list)
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one"}))
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[LyingProvider]:
        """Serve on loopback."""
        app = web.Application()
        app.add_routes(
            [
                web.get("/.well-known/openid-configuration", self._metadata),
                web.get("/keys", self._keys),
                web.get("/authorize", self._authorize),
                web.post("/token", self._token),
                web.get("/userinfo", self._userinfo),
            ]
        )
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port := free_port()).start()
        self.issuer = f"http://127.0.0.1:{port}"
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _metadata(self, request: web.Request) -> web.Response:
        await self._wait()
        at = self.issuer
        return web.json_response(
            {
                "issuer": self.named or at,
                "authorization_endpoint": f"{at}/authorize",
                "token_endpoint": f"{at}/token",
                "jwks_uri": f"{at}/keys",
                "userinfo_endpoint": f"{at}/userinfo",
                "authorization_response_iss_parameter_supported": True,
            }
        )

    async def _wait(self) -> None:
        if self.how == "slow":
            await asyncio.Event().wait()

    async def _keys(self, request: web.Request) -> web.Response:
        return web.json_response({"keys": [self.key.as_dict(private=False)]})

    async def _authorize(self, request: web.Request) -> web.Response:
        """Nobody is asked: it sends the browser back at once."""
        query = dict(request.query)
        self.asked.append(request.query_string)
        if self.how == "refuses":
            told = {"error": "access_denied", "state": query["state"], "iss": self.issuer}
        else:
            code = f"code-{len(self._codes)}"
            self._codes[code] = query
            issuer = "https://evil.example" if self.how == "mixed" else self.issuer
            told = {"code": code, "state": query["state"], "iss": issuer}
        address = f"{query['redirect_uri']}?{urlencode(told)}"
        return web.Response(status=303, headers={"Location": address})

    async def _token(self, request: web.Request) -> web.Response:
        await self._wait()
        form = {name: of[0] for name, of in parse_qs(await request.text()).items()}
        begun = self._codes.pop(form["code"])
        challenge = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert begun["code_challenge"] == _b64(challenge)
        assert begun["code_challenge_method"] == "S256"
        assert request.headers["Authorization"] == f"Basic {PROOF}"
        now = int(time.time())
        claims = {
            "iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300,
            "nonce": begun["nonce"], **self.claims, **self.lies,
        }  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        token = {"access_token": "a", "token_type": "Bearer", "id_token": self._signed(claims)}
        return web.json_response(token)

    def _signed(self, claims: dict[str, Any]) -> str:
        if self.how == "none":
            return f"{_part({'alg': 'none'})}.{_part(claims)}."
        if self.how == "shared":  # the public key, taken for a secret
            head = f"{_part({'alg': 'HS256', 'kid': 'one'})}.{_part(claims)}"
            public = self.key.as_pem(private=False)
            return f"{head}.{_b64(hmac.digest(public, head.encode(), 'sha256'))}"
        key = RSAKey.generate_key(2048) if self.how == "stranger" else self.key
        return jwt.encode({"alg": "RS256", "kid": "one"}, claims, key)

    async def _userinfo(self, request: web.Request) -> web.Response:
        return web.json_response({"sub": self.claims["sub"], **self.userinfo})


def _part(value: Mapping[str, Any]) -> str:
    return _b64(json.dumps(value).encode())


def _b64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


@dataclass
class Visitor:
    """A browser without a script, at the Moot of an address."""

    moot: str
    client: aiohttp.ClientSession

    @classmethod
    @asynccontextmanager
    async def at(cls, moot: str) -> AsyncIterator[Visitor]:
        """With no cookie yet."""
        jar = aiohttp.CookieJar(unsafe=True)  # unsafe: cookies of an address
        async with aiohttp.ClientSession(cookie_jar=jar, headers={"Accept": "text/html"}) as client:
            yield cls(moot, client)

    async def begin(self, **body: str) -> str:
        """The provider's address to which the page sends us."""
        async with self.client.post(f"{self.moot}api/sign-in/oidc", json=body) as response:
            assert response.status == 200, await response.text()
            return str((await response.json())["url"])

    async def authorized(self, url: str, login: str = "") -> str:
        """Our own address to which the provider sends us back, once its forms are filled in."""
        data = None
        for _ in range(12):
            method = "POST" if data else "GET"
            async with self.client.request(
                method, url, data=data, allow_redirects=False
            ) as response:
                text, data = await response.text(), None
                if "Location" in response.headers:
                    url = str(response.url.join(URL(response.headers["Location"])))
                    if url.startswith(self.moot):
                        return url
                    continue
            [action] = re.findall(r'action="([^"]+)"', text)
            [prompt] = re.findall(r'name="prompt" value="(\w+)"', text)
            data = {"prompt": prompt, "login": login, "password": "any"}
            url = str(response.url.join(URL(action)))
        raise AssertionError(f"the provider goes round in circles: {text}")

    async def back(self, url: str) -> tuple[int, str]:
        """What Moot answers there: the address that it sends us to, or what its form says."""
        async with self.client.get(url, allow_redirects=False) as response:
            text = await response.text()
            said = re.search(r'id="fault" role="alert">(.*?)</p>', text)
            return response.status, response.headers.get(
                "Location", html.unescape(said[1]) if said else text
            )

    async def sign_in(self, login: str = "", **body: str) -> tuple[int, str]:
        """All of it."""
        return await self.back(await self.authorized(await self.begin(**body), login))

    async def me(self) -> dict[str, Any]:
        """Who we are now; {}: nobody."""
        async with self.client.get(f"{self.moot}api/me") as response:
            return await response.json() if response.status == 200 else {}
