"""The route /api/audit: who let which agent do what, newest first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from aiohttp import web
from pydantic import AwareDatetime, TypeAdapter, ValidationError

from contract.errors import Rejected
from contract.language import later
from contract.values import dataclass
from gateway.audit.audit import Audit, AuditEntry, AuditFilter
from gateway.web.body import answer

ENTRIES, MOST_ENTRIES = 50, 200
MOST_WORD = 300  # characters of an id
_AT = TypeAdapter(AwareDatetime)


@dataclass(frozen=True, slots=True)
class AuditApi:
    """The routes."""

    audit: Audit

    def routes(self) -> list[web.RouteDef]:
        """Every route below /api/audit."""
        return [
            web.get("/api/audit", self.entries),
            web.get("/api/audit/verify", self.verify),
        ]

    async def entries(self, request: web.Request) -> web.Response:
        wish = AuditFilter(
            room_id=_word(request, "room"),
            person_id=_word(request, "person"),
            persona=_word(request, "persona"),
            act=_word(request, "act"),
            turn_id=_word(request, "turn"),
            since=_since(request),
        )
        limit = _number(request, "limit", ENTRIES)
        if not 1 <= limit <= MOST_ENTRIES:
            raise Rejected("limit", later("must be {least} to {most}", least=1, most=MOST_ENTRIES))
        before = _number(request, "before", 0) or None
        found = await self.audit.page(wish, before=before, limit=limit + 1)
        return answer(page_of(found, limit))

    async def verify(self, request: web.Request) -> web.Response:
        verdict = await self.audit.verify()
        broken = verdict.broken
        shown = {
            "ok": broken is None,
            "rows": verdict.rows,
            "erased": verdict.erased,
            "head": verdict.head,
            "broken": broken.reason if broken else None,
            "broken_seq": broken.seq if broken else None,
        }
        return answer(shown)


def page_of(found: Sequence[AuditEntry], limit: int) -> dict[str, Any]:
    """One row more than the limit means that there is a next page."""
    items = found[:limit]
    return {"items": items, "next_before": items[-1].seq if len(found) > limit else None}


def _word(request: web.Request, name: str) -> str | None:
    given = request.query.get(name, "").strip()
    if len(given) > MOST_WORD:
        raise Rejected(name, later("may have {most} characters", most=MOST_WORD))
    return given or None


def _number(request: web.Request, name: str, default: int) -> int:
    given = request.query.get(name)
    if given is None:
        return default
    if not re.fullmatch(r"[0-9]{1,18}", given):
        raise Rejected(name, "must be a number")
    return int(given)


def _since(request: web.Request) -> datetime | None:
    given = request.query.get("since")
    if not given:
        return None
    try:
        return _AT.validate_python(given)
    except ValidationError:
        raise Rejected("since", "must be a time with its zone, e.g. 2026-04-21T14:00:00Z") from None
