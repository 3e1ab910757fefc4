"""Roles and waiting people as the HTTP API's JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from gateway.access.access import Grant
from gateway.access.admissions import AccessOverview
from gateway.access.grants import KeptGrant
from gateway.access.pairing_rows import Pairing
from gateway.web.views import View


class GrantView(View):
    """seq: what DELETE takes. room_id, persona: null: everywhere, all."""

    seq: int
    person_id: str
    person_name: str
    role: str
    room_id: str | None
    room_name: str | None
    persona: str | None
    where: str
    by_name: str
    at: datetime


class ConfiguredView(View):
    role: str
    people: list[str]
    rooms: list[str]
    personas: list[str]
    where: str


class PairingView(View):
    code: str
    person_id: str
    person_name: str
    room_id: str
    persona: str | None
    bot: str
    at: datetime
    expires_at: datetime


def grant_view(kept: KeptGrant) -> GrantView:
    """A role that was given."""
    return GrantView(
        seq=kept.seq,
        person_id=kept.person.id,
        person_name=kept.person.name,
        role=kept.role,
        room_id=kept.span.room_id,
        room_name=kept.room_name,
        persona=kept.span.persona,
        where=kept.span.within,
        by_name=kept.by.name,
        at=kept.at,
    )


def pairing_view(pairing: Pairing) -> PairingView:
    """Somebody who waits."""
    return PairingView(
        code=pairing.code,
        person_id=pairing.person.id,
        person_name=pairing.person.name,
        room_id=pairing.room_id,
        persona=pairing.persona,
        bot=pairing.bot,
        at=pairing.at,
        expires_at=pairing.expires_at,
    )


def _configured_view(grant: Grant) -> ConfiguredView:
    return ConfiguredView(
        role=grant.role,
        people=sorted(grant.people),
        rooms=sorted(grant.rooms),
        personas=sorted(grant.personas),
        where=grant.where,
    )


def access_view(overview: AccessOverview) -> dict[str, Any]:
    """All of it."""
    return {
        "rooms": overview.rooms,
        "dms": overview.dms,
        "grants": [grant_view(one).json_ready() for one in overview.grants],
        "configured": [_configured_view(one).json_ready() for one in overview.configured],
        "pairings": [pairing_view(one).json_ready() for one in overview.pairings],
    }
