"""Mem0's hosted platform and Mem0's own server, as far as they are read; on loopback.

The platform: api.mem0.ai, `POST /v3/memories/search/`, docs/openapi.json; the server:
`POST /search`, server/main.py; both of mem0ai/mem0, read 2026-11.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

IDS = ("user_id", "agent_id", "run_id")


def memory(number: int, text: str, **ids: Any) -> dict[str, Any]:
    """A memory as both return it."""
    at = f"2026-04-{number % 28 + 1:02}T10:00:00Z"
    return {
        "id": f"00000000-0000-4000-8000-{number:012}",
        "memory": text,
        "hash": "",
        "metadata": None,
        "created_at": at,
        "updated_at": at,
        **dict.fromkeys(IDS),
        **ids,
    }


@dataclass
class Mem0Services:
    """Both at one address. key: that of whoever may ask. lying: rows that it returns to everybody.
    answering: cleared, it lets everybody wait. seen: what was asked, as "METHOD path"."""

    memories: list[dict[str, Any]]
    key: str = "m0-key-of-the-tests"
    lying: list[Any] = field(default_factory=list)
    failing: bool = False
    seen: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    answering: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    def __post_init__(self) -> None:
        self.answering.set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Mem0Services]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        server = TestServer(app)
        await server.start_server()
        self.url = str(server.make_url("")).rstrip("/")
        try:
            yield self
        finally:
            self.answering.set()
            await server.close()

    async def _handle(self, request: web.Request) -> web.Response:
        asked = f"{request.method} {request.path}"
        self.seen.append(asked)
        await self.answering.wait()
        if self.failing:
            return web.json_response({"detail": "broken"}, status=503)
        hosted = request.path.startswith("/v")
        given = request.headers.get("Authorization" if hosted else "X-API-Key")
        if given != (f"Token {self.key}" if hosted else self.key):
            return web.json_response({"detail": "Authentication required."}, status=401)
        if asked == "GET /v1/ping/":
            known = {"org_id": "org", "project_id": "project", "user_email": "team@example.org"}
            return web.json_response({"status": "ok", **known})
        if asked in ("POST /v3/memories/search/", "POST /search"):
            return self._found(await request.json())
        return web.json_response({"detail": "Not found."}, status=404)

    def _found(self, body: dict[str, Any]) -> web.Response:
        filters = {key: value for key, value in body.get("filters", {}).items() if key in IDS}
        if not filters or set(IDS) & body.keys():
            return web.json_response({"detail": "filters must name somebody"}, status=400)
        self.queries.append(body["query"])
        asked = set(re.findall(r"\w+", body["query"].lower()))
        found = []
        for one in self.memories:
            share = len(asked & set(re.findall(r"\w+", one["memory"].lower()))) / len(asked)
            belongs = all(one[key] == value for key, value in filters.items())
            if belongs and share >= body["threshold"]:
                found.append({**one, "score": share})
        found.sort(key=lambda one: -one["score"])
        return web.json_response({"results": [*self.lying, *found[: body["top_k"]]]})
