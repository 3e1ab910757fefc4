"""A session's look into the memory from a worker: what its program asks goes to the gateway."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from adapters.agent import MemoryServer, Tools
from adapters.cli.hooks import HookListener
from gateway.mcp.endpoint import McpGrant, server_at
from gateway.workers.held import call
from gateway.workers.link import Link
from gateway.workers.messages import Memory, OfSession, Remembered


class RemoteDoor:
    """A `MemoryDoor` for one lease of a session."""

    def __init__(self, link: Link, name: str, hooks: HookListener, lease: OfSession) -> None:
        self._link = link
        self._subject = f"moot.from.{name}.memory"
        self._hooks = hooks
        self._lease = lease
        self._numbers = itertools.count(1)

    def open(self, admission: McpGrant) -> MemoryServer:
        """See MemoryDoor."""
        admission.url = self._hooks.register(self._receive)
        return server_at(admission.url)

    def tools(self, admission: McpGrant) -> Tools | None:
        """See MemoryDoor; no agent runs in a worker's process."""
        return None

    def close(self, admission: McpGrant) -> None:
        """See MemoryDoor."""
        self._hooks.release(admission.url)

    async def _receive(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        asked = Memory(
            session=self._lease.session,
            epoch=self._lease.epoch,
            number=next(self._numbers),
            payload=dict(payload),
        )
        told = await call(self._link, self._subject, asked.encoded())
        return Remembered.model_validate_json(told).payload
