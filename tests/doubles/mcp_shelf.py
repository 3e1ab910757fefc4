"""A memory server on stdio with one tool, `search`; it fails when it is asked for a failure."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from adapters.agent import MemoryServer

HOUSE = Path(__file__).parents[2]
SERVER = MemoryServer(
    (sys.executable, "-m", "tests.doubles.mcp_shelf"), (("PYTHONPATH", str(HOUSE)),)
)


async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    tool = types.Tool(name="search", description="Looks.", input_schema=schema)
    return types.ListToolsResult(tools=[tool])


async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    text = str((params.arguments or {}).get("text"))
    if text == "end":
        os._exit(1)
    content: list[types.ContentBlock] = [types.TextContent(text=f"found {text}")]
    return types.CallToolResult(content=content, is_error=text == "failure")


async def main() -> None:
    server = Server("shelf", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
