"""Roles as the page and the command line see and change them."""

from __future__ import annotations

from dataclasses import replace

from contract.chat import Speaker
from contract.values import dataclass
from gateway.access.access import Access
from gateway.access.admissions import AccessOverview, Admissions
from gateway.access.claims import Claim
from gateway.access.grants import GrantSpan, KeptGrant
from gateway.access.pairing_rows import Decision, Pairing
from gateway.settings.access import Role
from gateway.settings.person_ids import unaliased
from store.transcript import Transcript


@dataclass(frozen=True, slots=True)
class AccessService:
    """Roles and codes in the database. Whoever reaches it is an owner."""

    access: Access
    admissions: Admissions
    transcript: Transcript

    async def overview(self) -> AccessOverview:
        """Everything that the page lists of it."""
        return AccessOverview(
            self.access.table.rooms,
            self.access.table.dms,
            self.access.configured,
            tuple(await self.admissions.grants.listed()),
            tuple(await self.admissions.pairings.waiting()),
            self.admissions.claims.waiting,
        )

    async def grant(
        self, person: Speaker, role: Role, span: GrantSpan, by: Speaker, *, named: bool
    ) -> KeptGrant:
        """Give a role. named: the person's name was told, too; else it is the one they spoke
        under. Raises Rejected."""
        if not named:
            person = await self._known(person)
        return await self.admissions.grants.grant(person, role, span, by)

    async def _known(self, person: Speaker) -> Speaker:
        same = unaliased(person.id)
        people = await self.transcript.people()
        found = (one for one in people if unaliased(one.id) == same)
        return replace(next(found, person), id=person.id)

    async def revoke(self, seq: int, by: Speaker) -> KeptGrant | None:
        """Take a kept role back. None: there is none of this number."""
        gone = await self.admissions.grants.revoke(by, lambda held: held.seq == seq)
        return gone[0] if gone else None

    async def decide(self, code: str, decision: Decision, by: Speaker) -> Pairing | None:
        """Let somebody in who waits, or don't. None: no such code waits."""
        return await self.admissions.pairings.decide(code, decision, by)

    async def confirm(
        self, person_id: str, by: Speaker, *, accepts: bool
    ) -> KeptGrant | Claim | None:
        """Make the one who waits for it the owner, or don't. None: they don't wait."""
        return await self.admissions.claims.decide(person_id, by, accepts=accepts)
