"""A door before a homeserver that goes wrong on request, as reverse proxies and bad days do."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

import aiohttp
from aiohttp import web

Fault = Literal["before", "after", "cut after", "slow down", "too large", "asks"]
"""before, after: HTTP 502 instead of the call, or of its answer. cut after: the connection ends
instead of the answer. slow down: 429. too large: 413, as a proxy says it. asks: for the password
before it is done (user-interactive authentication)."""

_OWN = {"host", "content-length", "transfer-encoding", "connection", "content-encoding"}


@dataclass
class Rule:
    """The next `times` calls of `method` whose path holds a match of `path`."""

    method: str
    path: str
    fault: Fault
    times: int = 1


@dataclass
class Faults:
    """url: the door's address. went_wrong: what was done to which path."""

    behind: str
    url: str = ""
    rules: list[Rule] = field(default_factory=list)
    went_wrong: list[tuple[Fault, str]] = field(default_factory=list)

    def next(self, method: str, path: str, fault: Fault, times: int = 1) -> None:
        self.rules.append(Rule(method, path, fault, times))

    def _due(self, request: web.Request) -> Fault | None:
        for rule in self.rules:
            if rule.times and rule.method == request.method and re.search(rule.path, request.path):
                rule.times -= 1
                self.went_wrong.append((rule.fault, request.path))
                return rule.fault
        return None

    @classmethod
    @asynccontextmanager
    async def open(cls, behind: str) -> AsyncIterator[Faults]:
        """behind: the homeserver's address."""
        made = cls(behind)
        async with aiohttp.ClientSession() as http:

            async def handle(request: web.Request) -> web.StreamResponse:
                return await made._answer(request, http)

            app = web.Application(client_max_size=2**26)
            app.router.add_route("*", "/{path:.*}", handle)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            host, port = runner.addresses[0][:2]
            made.url = f"http://{host}:{port}"
            try:
                yield made
            finally:
                await runner.cleanup()

    async def _answer(self, request: web.Request, http: aiohttp.ClientSession) -> web.Response:
        body, fault = await request.read(), self._due(request)
        if fault == "before":
            return web.Response(status=502, text="<html>Bad Gateway</html>")
        if fault == "too large":
            return web.Response(status=413, text="<html>Request Entity Too Large</html>")
        if fault == "asks" and not _has_password(body):
            flows = [{"stages": ["m.login.password"]}]
            return web.json_response({"flows": flows, "session": "s"}, status=401)
        if fault == "slow down":
            wait = {"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 50}
            return web.json_response(wait, status=429)
        headers = {
            name: value for name, value in request.headers.items() if name.lower() not in _OWN
        }
        url = self.behind + request.raw_path
        async with http.request(request.method, url, data=body, headers=headers) as answer:
            data, status, kind = await answer.read(), answer.status, answer.content_type
        if fault == "after":
            return web.Response(status=502, text="<html>Bad Gateway</html>")
        if fault == "cut after" and request.transport:
            request.transport.abort()
        return web.Response(status=status, body=data, content_type=kind)


def _has_password(body: bytes) -> bool:
    auth = json.loads(body).get("auth") or {}
    return (auth.get("type"), auth.get("session"), auth.get("password")) == (
        "m.login.password",
        "s",
        "pass",
    )
