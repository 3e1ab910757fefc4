"""Checks that persona files are as they are where Moot leads, if several may know the database."""

from __future__ import annotations

from contract.errors import ConfigError
from gateway.app.sessions import make_persona_follower
from gateway.cli.diagnosis.finding import Finding, Installation
from gateway.settings.personas.files import kept_aside
from store.database import Store
from store.health import StoreRefusal

REMEDY = (
    "make the same edit there, or copy that file here; else this one counts once this Moot leads, "
    "unless that one is edited before"
)


async def check_followed(of: Installation) -> list[Finding]:
    """Files that differ from the database's."""
    if of.config.store_url.startswith("sqlite"):
        return []
    try:
        async with Store.open(of.config.store_url, read_only=True) as store:
            follower = make_persona_follower(of.config, of.personas, store)
            names = await follower.apart() if follower is not None else []
    except (ConfigError, StoreRefusal, OSError):  # others check the database and the folder
        return []
    told = "is not as it is where Moot leads"
    found = [Finding("⚠", "personas", f"{name}.md {told}", REMEDY) for name in names]
    for file in kept_aside(of.personas.folder):
        text = f"{file.name} keeps an edit that did not come into use"
        found.append(Finding("⚠", "personas", text, "take over what you want of it, and delete it"))
    return found
