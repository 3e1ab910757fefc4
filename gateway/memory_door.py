"""The loopback door through which one agent's session looks into the memory."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.agent import MemoryServer
from adapters.hooks import HookListener
from gateway.librarian import Librarian, Reply
from memory.gate import Gate
from memory.library import Reader
from memory.scopes import Invocation, home_scope

URL = "MOOT_MEMORY_URL"
_HOUSE = str(Path(__file__).parent.parent)
COMMAND = (
    sys.executable,
    "-P",  # the agent's working directory is no place to import from
    "-c",
    f"import sys; sys.path.insert(0, {_HOUSE!r}); from gateway.main import main; main()",
    "mcp",
)
"""What runs `moot mcp` wherever it is started."""


@dataclass(slots=True)
class Admission:
    """What one session may see: what its newest turn may, and nothing before its first.

    url: where it is served, "" when it is not.
    """

    persona: str = ""
    scope: str = ""
    invocation: Invocation | None = None
    url: str = ""

    def reader(self) -> Reader | None:
        """Who looks; None while there is nothing to be seen."""
        asked = self.invocation
        if asked is None or home_scope(asked.room, asked.sender_id, asked.persona) != self.scope:
            return None
        return Reader(Gate.of(asked), frozenset({self.persona}))


class MemoryDoor:
    """Gives each session an address that nobody can guess, behind which its own memory is."""

    def __init__(self, listener: HookListener, librarian: Librarian) -> None:
        self._listener = listener
        self._librarian = librarian

    def open(self, admission: Admission) -> MemoryServer:
        """Serve a session until it is closed."""

        async def receive(payload: Mapping[str, Any]) -> Mapping[str, Any]:
            return await self._answer(payload, admission)

        admission.url = self._listener.register(receive)
        return MemoryServer(COMMAND, ((URL, admission.url),))

    def close(self, admission: Admission) -> None:
        """Forget a session: its address answers no more."""
        self._listener.release(admission.url)
        admission.url, admission.invocation = "", None

    async def _answer(self, payload: Mapping[str, Any], admission: Admission) -> Mapping[str, Any]:
        tool, arguments = payload.get("tool"), payload.get("arguments", {})
        if tool is None:
            return {"tools": self._librarian.tools()}
        if not isinstance(tool, str) or not isinstance(arguments, dict):
            return _told(Reply("Not a call of a tool.", failed=True))
        reader = admission.reader()
        if reader is None:
            return _told(Reply("There is nothing to look into yet.", failed=True))
        return _told(await self._librarian.answer(tool, arguments, reader))


def _told(reply: Reply) -> Mapping[str, Any]:
    return {"text": reply.text, "failed": reply.failed}
