"""The tools of a session's memory server, for an agent that has no MCP client of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from adapters.agent import MemoryServer

if TYPE_CHECKING:
    from mcp.client import Client

log = structlog.stdlib.get_logger("moot.tools")

PREFIX = "mcp__moot__"  # as programs with an MCP client call them: the memory knows its own by it
START_S = 20.0  # the server starts in 0.05 s and answers from the gateway
CALL_S = 60.0
END_S = 5.0


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's answer."""

    text: str
    failed: bool


class MemoryClient:
    """Runs the server while the session lives. offered: in the form of the Messages API."""

    def __init__(self, server: MemoryServer, *, path: str, start_s: float = START_S) -> None:
        self.offered: tuple[Mapping[str, Any], ...] = ()
        self._server = server
        self._path = path
        self._start_s = start_s
        self._client: Client | None = None
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the server; without it there are no tools, and the agent answers all the same."""
        ready = asyncio.Event()
        self._task = asyncio.create_task(self._run(ready), name="memory tools")
        waiting = asyncio.create_task(ready.wait(), name="memory tools ready")
        try:
            await asyncio.wait(
                {waiting, self._task}, timeout=self._start_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            waiting.cancel()
        if not self.offered:
            log.warning("tools.missing")

    async def call(self, name: str, given: Mapping[str, Any]) -> ToolResult:
        """Use a tool. Whatever goes wrong is a result too: the model can go on without."""
        if self._client is None or name not in {tool["name"] for tool in self.offered}:
            return ToolResult(f"There is no tool {name[:60]!r}.", True)
        from mcp import MCPError

        try:
            async with asyncio.timeout(CALL_S):
                result = await self._client.call_tool(name.removeprefix(PREFIX), dict(given))
        except (MCPError, TimeoutError, OSError) as error:
            log.warning("tools.failed", tool=name[:60], error=type(error).__name__)
            return ToolResult("The memory does not answer.", True)
        texts = [block.text for block in result.content if block.type == "text"]
        return ToolResult("\n".join(texts), bool(result.is_error))

    async def close(self) -> None:
        """End the server."""
        self._closing.set()
        if self._task is None:
            return
        if self._client is None:  # it is still starting, or over
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=END_S)
        self._task.cancel()

    async def _run(self, ready: asyncio.Event) -> None:
        """The client's whole life: it must be opened and closed by one task."""
        try:
            await asyncio.to_thread(_import)
            await self._serve(ready)
        except* Exception as group:  # the memory is an extra: without it there is still an answer
            names = {type(error).__name__ for error in group.exceptions}
            log.warning("tools.ended", errors=", ".join(sorted(names)))
            log.debug("tools.ended", exc_info=True)
        finally:
            self._client = None

    async def _serve(self, ready: asyncio.Event) -> None:
        from mcp.client import Client
        from mcp.client.stdio import StdioServerParameters

        command, *args = self._server.command
        env = {**dict(self._server.env), "PATH": self._path}
        parameters = StdioServerParameters(command=command, args=args, env=env)
        async with Client(parameters) as client:
            listed = await client.list_tools()
            self.offered = tuple(
                {
                    "name": f"{PREFIX}{tool.name}",
                    "description": tool.description or "",
                    "input_schema": tool.input_schema,
                }
                for tool in listed.tools
            )
            self._client = client
            ready.set()
            await self._closing.wait()


def _import() -> None:
    import mcp.client.stdio  # noqa: F401  # half a second
