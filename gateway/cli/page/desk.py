"""Accounts, sessions and tokens for the command line: of the Moot that runs, or in its database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol
from urllib.parse import quote

from contract.errors import ConfigError
from contract.values import dataclass
from gateway.cli.page.client import RunningMoot, running
from gateway.cli.stored_access import open_stored_access
from gateway.core.lock import hold
from gateway.settings.access import Role
from gateway.settings.config import Config
from gateway.web.rendering import to_json
from gateway.web.signin.api import sessions_json
from gateway.web.signin.caller import Caller
from gateway.web.signin.names import SHELL
from gateway.web.signin.owner_api import link_address, token_json
from gateway.web.signin.secret import owner_secret
from gateway.web.signin.visitors import Visitors, visitors_of


class PageDesk(Protocol):
    """JSON as the API has it (docs/api.md). Raises MootError."""

    async def invite(self, name: str, role: Role | None) -> dict[str, Any]:
        """Make somebody's link."""

    async def sessions(self) -> list[dict[str, Any]]:
        """Where people are signed in."""

    async def end(self, session_id: str) -> bool:
        """Sign a browser out."""

    async def tokens(self) -> list[dict[str, Any]]:
        """Programs' tokens."""

    async def token(self, name: str, reads: str) -> str:
        """The salt of a token, which is made if there is none."""

    async def revoke(self, name: str) -> bool:
        """End a token."""


@asynccontextmanager
async def open_desk(config: Config, environment: Mapping[str, str]) -> AsyncIterator[PageDesk]:
    """Whichever can be had; while it is the database, no Moot starts. Raises MootError."""
    if (moot := running(config, environment)) is not None:
        yield RunningDesk(moot)
        return
    with hold(config.gateway.data_dir):
        async with open_stored_access(config) as found:
            secret, grants = owner_secret(config.gateway.data_dir), found.admissions.grants
            visitors = visitors_of(found.store, found.access, grants, found.audit, secret=secret)
            await visitors.load()
            yield StoredDesk(config, visitors)


@dataclass(frozen=True, slots=True)
class RunningDesk:
    """By the API."""

    moot: RunningMoot

    async def invite(self, name: str, role: Role | None) -> dict[str, Any]:
        return self.moot.ask("POST", "/api/page/invitations", {"name": name, "role": role})

    async def sessions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.moot.ask("GET", "/api/page/sessions")["sessions"]
        return found

    async def end(self, session_id: str) -> bool:
        return self._gone(f"/api/page/sessions/{quote(session_id, safe='')}")

    async def tokens(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.moot.ask("GET", "/api/page/tokens")["tokens"]
        return found

    async def token(self, name: str, reads: str) -> str:
        made = self.moot.ask("POST", "/api/page/tokens", {"name": name, "reads": reads})
        return str(made["salt"])

    async def revoke(self, name: str) -> bool:
        return self._gone(f"/api/page/tokens/{quote(name, safe='')}")

    def _gone(self, path: str) -> bool:
        try:
            self.moot.ask("DELETE", path)
        except LookupError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class StoredDesk:
    """In the database."""

    config: Config
    visitors: Visitors

    async def invite(self, name: str, role: Role | None) -> dict[str, Any]:
        gateway = self.config.gateway
        if not gateway.public_url and gateway.port == 0:
            raise ConfigError("start Moot first: nobody knows yet where its page will be")
        made = await self.visitors.people.invite(name, role, SHELL)
        base = gateway.public_url or f"http://{gateway.listen}"
        shown = {"person_id": made.link.person_id, "person_name": made.link.person_name}
        return shown | {"url": link_address(base, made.code)}

    async def sessions(self) -> list[dict[str, Any]]:
        people = self.visitors.people
        shown: list[dict[str, Any]] = to_json(
            sessions_json(people, people.sessions(), Caller(SHELL))
        )
        return shown

    async def end(self, session_id: str) -> bool:
        ended = await self.visitors.people.end_sessions(SHELL, lambda one: one.id == session_id)
        return bool(ended)

    async def tokens(self) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = to_json(list(map(token_json, self.visitors.tokens.listed())))
        return shown

    async def token(self, name: str, reads: str) -> str:
        return (await self.visitors.tokens.get(name, reads, SHELL)).salt

    async def revoke(self, name: str) -> bool:
        return await self.visitors.tokens.revoke(name, SHELL)
