"""A session's tools for an agent that has no MCP client: they run in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import structlog

from adapters.agent import ToolReply, Tools

log = structlog.stdlib.get_logger("moot.tools")

PREFIX = "mcp__moot__"  # as programs with an MCP client call them: the memory knows its own by it
CALL_S = 60.0


class NamedTools:
    """Tools under these names. offered: in the form of the Messages API; none without a memory."""

    def __init__(self, tools: Tools | None) -> None:
        self._tools = tools
        told = tools.offered() if tools is not None else ()
        self.offered = tuple({**tool, "name": f"{PREFIX}{tool['name']}"} for tool in told)

    async def call(self, name: str, given: Mapping[str, Any]) -> ToolReply:
        """Use a tool. Whatever goes wrong is an answer too: the model can go on without."""
        if self._tools is None or name not in {tool["name"] for tool in self.offered}:
            return ToolReply(f"There is no tool {name[:60]!r}.", True)
        try:
            async with asyncio.timeout(CALL_S):
                return await self._tools.call(name.removeprefix(PREFIX), given)
        except Exception as error:  # the memory is an extra: without it there is still an answer
            log.warning("tools.failed", tool=name[:60], error=type(error).__name__)
            log.debug("tools.failed", exc_info=True)
            return ToolReply("The memory does not answer.", True)
