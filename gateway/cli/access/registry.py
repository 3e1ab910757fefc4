"""Roles and codes for the command line: of the Moot that runs, by its API; else of the database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from typing import Any, Protocol
from urllib.parse import quote

from contract.chat import Speaker
from contract.errors import ConfigError
from contract.values import dataclass
from gateway.access.grants import GrantSpan
from gateway.access.service import AccessService
from gateway.cli.page.client import RunningMoot, client_of
from gateway.cli.stored_access import open_stored_access
from gateway.core.lock import InUse, address_of, hold
from gateway.settings.config import Config
from gateway.web.access.api import DECISIONS, GrantBody
from gateway.web.access.views import access_json, grant_json, pairing_json
from gateway.web.body import parse
from gateway.web.signin.names import SHELL


class Registry(Protocol):
    """JSON as the API has it (docs/api.md). Raises MootError."""

    async def overview(self) -> dict[str, Any]:
        """Everything that is listed."""

    async def grant(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Give a role."""

    async def revoke(self, seq: int) -> None:
        """Take one back."""

    async def decide(self, code: str, decision: str) -> dict[str, Any] | None:
        """Approve or refuse; None: no such code waits."""


@asynccontextmanager
async def open_registry(config: Config, environment: Mapping[str, str]) -> AsyncIterator[Registry]:
    """Whichever can be had; while it is the database, no Moot starts. Raises MootError."""
    folder = config.gateway.data_dir
    with ExitStack() as held:
        try:
            held.enter_context(hold(folder))
        except InUse as in_use:
            url = address_of(folder)
            if url is None:
                say = f"{in_use.say}, or try again in a moment: it doesn't serve its page yet"
                raise ConfigError(say) from None
            yield _Running(client_of(config, url, environment))
            return
        async with open_stored_access(config) as found:
            yield _Stored(AccessService(found.access, found.admissions, found.transcript))


@dataclass(frozen=True, slots=True)
class _Stored:
    """The database. What a decision makes is posted by the next start of Moot."""

    service: AccessService

    async def overview(self) -> dict[str, Any]:
        return access_json(await self.service.overview())

    async def grant(self, body: Mapping[str, Any]) -> dict[str, Any]:
        given = parse(GrantBody, body)
        name = given.person_name or ""
        person = Speaker(given.person_id, name or given.person_id.partition(":")[2])
        span = GrantSpan(given.room_id, given.persona, given.where)
        kept = await self.service.grant(person, given.role, span, SHELL, named=bool(name))
        return grant_json(kept)

    async def revoke(self, seq: int) -> None:
        await self.service.revoke(seq, SHELL)

    async def decide(self, code: str, decision: str) -> dict[str, Any] | None:
        found = await self.service.decide(code, DECISIONS[decision], SHELL)
        return pairing_json(found) if found else None


@dataclass(frozen=True, slots=True)
class _Running:
    """The Moot that runs."""

    moot: RunningMoot

    async def overview(self) -> dict[str, Any]:
        return self.moot.ask("GET", "/api/access")

    async def grant(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return self.moot.ask("POST", "/api/access/grants", {**body, "by": _BY})

    async def revoke(self, seq: int) -> None:
        self.moot.ask("DELETE", f"/api/access/grants/{seq}", {"by": _BY})

    async def decide(self, code: str, decision: str) -> dict[str, Any] | None:
        at = f"/api/access/pairings/{quote(code, safe='')}"
        try:
            return self.moot.ask("POST", at, {"decision": decision, "by": _BY})
        except LookupError:
            return None


_BY = {"id": SHELL.id, "name": SHELL.name}
