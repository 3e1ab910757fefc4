"""Lets people in: roles that were given, codes, and the lines for unknown people."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from contract.values import dataclass
from gateway.access.access import Access, Grant
from gateway.access.claims import Claim, Claims
from gateway.access.grants import Grants, KeptGrant
from gateway.access.pairing_rows import Pairing
from gateway.access.pairings import Pairings, Start
from gateway.access.refusals import Refusals
from gateway.access.unknown_users import UnknownUsers
from gateway.audit.audit import Audit
from gateway.core.sql_ledger import SqlLedger
from store.database import Store


@dataclass(frozen=True, slots=True)
class AccessOverview:
    """Roles: moot.toml's, those that were given, and the people who wait to be let in,
    or to be the owner."""

    rooms: str
    dms: str
    configured: tuple[Grant, ...]
    grants: tuple[KeptGrant, ...]
    pairings: tuple[Pairing, ...]
    claim: Claim | None = None


@dataclass(frozen=True, slots=True)
class Admissions:
    """The parts of access share what is in memory: load it before the first message."""

    refusals: Refusals
    grants: Grants
    pairings: Pairings
    unknown_users: UnknownUsers
    claims: Claims

    @classmethod
    def over(
        cls,
        store: Store,
        ledger: SqlLedger,
        access: Access,
        audit: Audit,
        clock: Callable[[], datetime],
        *,
        start: Start = lambda *_: None,
        changed: Callable[[], None] = lambda: None,
    ) -> Admissions:
        """start: see Pairings. changed: told whenever the page's list would differ."""
        refusals = Refusals(store)
        grants = Grants(store, access, refusals, audit, clock, changed)
        pairings = Pairings(store, ledger, grants, audit, clock, start, changed)
        unknown_users = UnknownUsers(access, refusals, pairings, audit, clock, changed)
        claims = Claims(access, grants, clock, changed)
        return cls(refusals, grants, pairings, unknown_users, claims)

    async def load(self) -> None:
        """Read what an earlier process left."""
        await self.refusals.load()
        await self.grants.load()
