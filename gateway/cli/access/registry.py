"""Roles and codes for the command line: of the Moot that runs, by its API; else of the database."""

from __future__ import annotations

import http.client
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

from contract.chat import Speaker
from contract.errors import ConfigError, MootError, Rejected
from gateway.access.access import Access
from gateway.access.admissions import Admissions
from gateway.access.grants import GrantSpan
from gateway.access.service import AccessService
from gateway.audit.audit import Audit
from gateway.core.clock import clock
from gateway.core.lock import InUse, address_of, hold
from gateway.core.sql_ledger import SqlLedger
from gateway.settings.config import Config
from gateway.web.access.api import DECISIONS, GrantBody
from gateway.web.access.views import access_json, grant_json, pairing_json
from gateway.web.body import parse
from store.database import Store
from store.transcript import Transcript

WAIT_S = 30.0
SHELL = Speaker("moot:shell", "the command line")
ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  (where it listens, and how it is reached)


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
            yield _Running(url, environment.get("MOOT_TOKEN") or None)
            return
        async with Store.open(config.store_url) as store:
            transcript, access = Transcript(store), Access(config.access)
            ledger, audit = SqlLedger(store, transcript), Audit(store, clock)
            admissions = Admissions.over(store, ledger, access, audit, clock)
            await admissions.load()
            yield _Stored(AccessService(access, admissions, transcript))


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
    """The Moot that runs. Nothing else is to be done meanwhile, so a call may hold the loop."""

    url: str
    token: str | None

    async def overview(self) -> dict[str, Any]:
        return self._ask("GET", "/api/access")

    async def grant(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._ask("POST", "/api/access/grants", {**body, "by": _BY})

    async def revoke(self, seq: int) -> None:
        self._ask("DELETE", f"/api/access/grants/{seq}", {"by": _BY})

    async def decide(self, code: str, decision: str) -> dict[str, Any] | None:
        at = f"/api/access/pairings/{quote(code, safe='')}"
        try:
            return self._ask("POST", at, {"decision": decision, "by": _BY})
        except LookupError:
            return None

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Past any proxy. Raises LookupError for what isn't there, else MootError."""
        at = urlsplit(self.url)
        host = ANY.get(at.hostname or "", at.hostname or "")
        connection = http.client.HTTPConnection(host, at.port, timeout=WAIT_S)
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            given = None if body is None else json.dumps(body)
            connection.request(method, path, given, headers)
            response = connection.getresponse()
            told: dict[str, Any] = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = f"Moot runs, but its page at {self.url} can't be reached: {error}"
            raise MootError(reason) from None
        finally:
            connection.close()
        if response.status == 404:
            raise LookupError(path)
        if response.status == 401:
            raise ConfigError("Moot wants its token: set MOOT_TOKEN as it has it")
        if response.status >= 400:
            fault = told.get("error", {})
            raise Rejected(str(fault.get("field")), str(fault.get("message")))
        return told


_BY = {"id": SHELL.id, "name": SHELL.name}
