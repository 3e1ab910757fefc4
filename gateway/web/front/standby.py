"""The page of a gateway that stands by: everybody reads what they may, and nobody changes anything.

Whoever leads decides who may do what. So what is known of that is read again before a request, if
it is older than FRESH_S; where that can't be done, nothing is shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import field

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from contract.language import later
from contract.values import dataclass
from gateway.web.listening.listener import HEALTH
from gateway.web.plain_json import plain_answer
from gateway.web.signin.caller import RequestRefused
from gateway.web.signin.oidc_api import BACK

FRESH_S = 0.5
AGAIN_S = 5  # until a client that was refused asks once more
READS = frozenset({"GET", "HEAD", "OPTIONS"})
LEADERS = frozenset(
    {
        *("/api/events", "/api/sessions", "/api/sessions/{session_id}/terminal"),
        *("/api/admin/overview", "/api/admin/bots", "/api/admin/sessions", "/api/admin/embedder"),
        *("/metrics", BACK),
    }
)
"""Routes that tell of the process that leads, or sign somebody in, though their method reads."""


@dataclass(slots=True)
class Standby:
    """leader: gives the name of the gateway that leads. load: reads again who may do what."""

    leader: Callable[[], str]
    load: Callable[[], Awaitable[object]]
    _loaded_at: float | None = None
    _loading: asyncio.Lock = field(default_factory=asyncio.Lock)

    def middleware(self) -> Middleware:
        """Comes before the one that asks who the caller is."""

        @web.middleware
        async def standing_by(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.path == HEALTH:
                return self._health(request)
            if not _can_be_read(request):
                told = later(
                    "this Moot stands by and changes nothing: another one leads ({leader}); ask "
                    "that one, or try again when this one has taken over",
                    leader=self.leader() or "?",
                )
                raise RequestRefused(503, told, AGAIN_S)
            await self._fresh()
            return await handler(request)

        return standing_by

    def _health(self, request: web.Request) -> web.Response:
        well = request.query.get("standby") == "ok"
        told = {"ok": well, "standby": True, "leader": self.leader()}
        return plain_answer(told, 200 if well else 503)

    async def _fresh(self) -> None:
        async with self._loading:
            now = asyncio.get_running_loop().time()
            if self._loaded_at is None or now - self._loaded_at > FRESH_S:
                await self.load()
                self._loaded_at = now  # of its beginning: what came later is not in it


def _can_be_read(request: web.Request) -> bool:
    resource = request.match_info.route.resource
    pattern = resource.canonical if resource is not None else request.path
    return request.method in READS and pattern not in LEADERS
