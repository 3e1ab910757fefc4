"""Roles in the database, for the command line while no Moot runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from contract.errors import ConfigError
from contract.values import dataclass
from gateway.access.access import Access
from gateway.access.admissions import Admissions
from gateway.audit.audit import Audit
from gateway.audit.chain import ANCHOR
from gateway.core.clock import clock
from gateway.core.sql_ledger import SqlLedger
from gateway.settings.config import Config
from store.database import Store
from store.transcript import Transcript


@dataclass(frozen=True, slots=True)
class StoredAccess:
    """The roles, and what stands beside them."""

    store: Store
    transcript: Transcript
    access: Access
    audit: Audit
    admissions: Admissions


async def check_alone(store: Store) -> None:
    """Raises ConfigError while a gateway leads elsewhere: it would not hear of a change."""
    if leader := await store.leader():
        raise ConfigError(f"{leader} leads on this database: run this on its machine")


@asynccontextmanager
async def open_stored_access(config: Config) -> AsyncIterator[StoredAccess]:
    """Read them. Whoever opens them holds the data directory's lock. Raises ConfigError."""
    async with Store.open(config.store_url) as store:
        await check_alone(store)
        transcript, access = Transcript(store), Access(config.access)
        ledger = SqlLedger(store, transcript)
        audit = Audit(store, clock, config.gateway.data_dir / ANCHOR)
        admissions = Admissions.over(store, ledger, access, audit, clock)
        await admissions.load()
        yield StoredAccess(store, transcript, access, audit, admissions)
