"""Roles and waiting people as the HTTP API's JSON."""

from __future__ import annotations

from typing import Any

from gateway.access.access import Grant
from gateway.access.admissions import AccessOverview
from gateway.access.claims import Claim
from gateway.access.grants import KeptGrant
from gateway.access.pairing_rows import Pairing
from gateway.web.rendering import to_json


def grant_json(kept: KeptGrant) -> dict[str, Any]:
    """A role that was given. seq: what DELETE takes. room_id, persona: null: everywhere, all."""
    return {
        "seq": kept.seq,
        "person_id": kept.person.id,
        "person_name": kept.person.name,
        "role": kept.role,
        "room_id": kept.span.room_id,
        "room_name": kept.room_name,
        "persona": kept.span.persona,
        "where": kept.span.within,
        "by_name": kept.by.name,
        "at": to_json(kept.at),
    }


def pairing_json(pairing: Pairing) -> dict[str, Any]:
    """A person who waits to be let in, as JSON."""
    return {
        "code": pairing.code,
        "person_id": pairing.person.id,
        "person_name": pairing.person.name,
        "room_id": pairing.room_id,
        "persona": pairing.persona,
        "bot": pairing.bot,
        "at": to_json(pairing.at),
        "expires_at": to_json(pairing.expires_at),
    }


def claim_json(claim: Claim) -> dict[str, Any]:
    """Somebody who may be the owner, as JSON."""
    return {
        "person_id": claim.person.id,
        "person_name": claim.person.name,
        "room_id": claim.room.id,
        "persona": claim.persona,
        "at": to_json(claim.at),
    }


def access_json(overview: AccessOverview) -> dict[str, Any]:
    """The roles of moot.toml, those that were given, and who waits."""
    return {
        "rooms": overview.rooms,
        "dms": overview.dms,
        "grants": [grant_json(one) for one in overview.grants],
        "configured": [_configured(one) for one in overview.configured],
        "pairings": [pairing_json(one) for one in overview.pairings],
        "claim": claim_json(overview.claim) if overview.claim else None,
    }


def _configured(grant: Grant) -> dict[str, Any]:
    return {
        "role": grant.role,
        "people": sorted(grant.people),
        "rooms": sorted(grant.rooms),
        "personas": sorted(grant.personas),
        "where": grant.where,
    }
