"""Who may do what, told by the caller; records what it was asked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from contract.chat import Speaker
from gateway.access.admissions import AccessOverview
from gateway.access.grants import GrantSpan, KeptGrant
from gateway.access.pairing_rows import Decision, Pairing
from gateway.settings.access import Role

NOBODY = AccessOverview("closed", "pairing", (), (), ())


@dataclass
class FakeRoles:
    """Stands for AccessService."""

    now: AccessOverview = NOBODY
    asked: list[tuple[object, ...]] = field(default_factory=list)

    async def overview(self) -> AccessOverview:
        return self.now

    async def grant(
        self, person: Speaker, role: Role, span: GrantSpan, by: Speaker, *, named: bool
    ) -> KeptGrant:
        self.asked.append(("grant", person.id, role, span, by.id))
        seq = len(self.now.grants) + 1
        kept = KeptGrant(seq, role, person, span, None, by, datetime.now(UTC))
        self.now = replace(self.now, grants=(*self.now.grants, kept))
        return kept

    async def revoke(self, seq: int, by: Speaker) -> KeptGrant | None:
        self.asked.append(("revoke", seq, by.id))
        gone = next((one for one in self.now.grants if one.seq == seq), None)
        self.now = replace(self.now, grants=tuple(g for g in self.now.grants if g is not gone))
        return gone

    async def decide(self, code: str, decision: Decision, by: Speaker) -> Pairing | None:
        self.asked.append(("decide", code, decision, by.id))
        found = next((one for one in self.now.pairings if one.code == code), None)
        self.now = replace(self.now, pairings=tuple(p for p in self.now.pairings if p is not found))
        return found
