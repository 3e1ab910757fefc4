"""Streams and uploads: they may take as long as they like, so each person has only so many."""

from __future__ import annotations

from collections import Counter

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from contract.language import later
from gateway.web.signin.caller import RequestRefused, caller_of

LONG = frozenset(
    {
        ("GET", "/api/events"),
        ("GET", "/api/sessions/{session_id}/terminal"),
        ("POST", "/api/files"),
    }
)


class HeldOpen:
    """Counts the requests of each person, or token, that stay open for long."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[tuple[str, str]] = Counter()

    def middleware(self) -> Middleware:
        """Comes after the one that knows the caller. Raises RequestRefused for one too many."""

        @web.middleware
        async def held(request: web.Request, handler: Handler) -> web.StreamResponse:
            resource = request.match_info.route.resource
            if resource is None or (request.method, resource.canonical) not in LONG:
                return await handler(request)
            caller = caller_of(request)
            key = (caller.person.id, caller.token)
            if self._held[key] >= self._most:
                raise RequestRefused(
                    429,
                    later(
                        "you have {most} streams and uploads open already: close some",
                        most=self._most,
                    ),
                    5,
                )
            self._held[key] += 1
            try:
                return await handler(request)
            finally:
                self._held[key] -= 1
                if not self._held[key]:
                    del self._held[key]

        return held
