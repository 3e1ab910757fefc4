"""The route /api/usage: what agents took, grouped for plots."""

from __future__ import annotations

import re

from aiohttp import web

from contract.errors import Rejected
from contract.language import later
from contract.values import dataclass
from gateway.limits.usage import UsageBook
from gateway.web.body import answer

DAYS, MOST_DAYS = 30, 366


@dataclass(frozen=True, slots=True)
class UsageApi:
    """The route."""

    book: UsageBook

    def routes(self) -> list[web.RouteDef]:
        """The one route."""
        return [web.get("/api/usage", self.usage)]

    async def usage(self, request: web.Request) -> web.Response:
        given = request.query.get("days", str(DAYS))
        if not re.fullmatch(r"[0-9]{1,3}", given) or not 1 <= int(given) <= MOST_DAYS:
            raise Rejected("days", later("must be {least} to {most}", least=1, most=MOST_DAYS))
        return answer(await self.book.report(int(given)))
