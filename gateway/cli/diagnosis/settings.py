"""Checks that moot.toml is as it is where Moot leads, if several may know the database."""

from __future__ import annotations

from contract.errors import ConfigError
from gateway.app.platforms import make_table_follower
from gateway.cli.diagnosis.finding import Finding, Installation
from gateway.core.redaction import Redactor
from store.database import Store
from store.health import StoreRefusal

REMEDY = (
    "an edit by hand counts once this Moot starts and leads, unless the same table is changed "
    "where it leads before"
)


async def check_tables(of: Installation) -> list[Finding]:
    """Tables that differ from the database's, and bots of it that can't run here."""
    if of.config.store_url.startswith("sqlite"):
        return []
    try:
        async with Store.open(of.config.store_url, read_only=True) as store:
            known = dict(of.environment)
            follower = make_table_follower(of.config, store, known, Redactor(), of.personas)
            apart = await follower.apart() if follower is not None else {}
    except (ConfigError, StoreRefusal, OSError):  # others check the database and the files
        return []
    told = "of this moot.toml is not as it is where Moot leads"
    return [
        Finding("⚠", "settings", f"[{name}] {told}" + (f": {fault}" if fault else ""), REMEDY)
        for name, fault in apart.items()
    ]
