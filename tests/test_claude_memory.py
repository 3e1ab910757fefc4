"""The real Claude Code looks into the memory of its session, by itself and without asking."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from adapters.cli.session import CliAgent
from contract.chat import Room
from gateway.mcp.endpoint import McpEndpoint, McpGrant
from gateway.mcp.tools import MemoryTools
from memory.observations.records import NewObservation
from memory.observations.rows import add_observation, open_session
from memory.observations.work_log import WorkLog
from memory.scopes import Invocation
from store.database import Store
from tests.doubles.claude_stage import HEADER, Stage
from tests.doubles.model_steps import ToolUse
from tests.doubles.replies import Replies

NOW = datetime(2026, 4, 21, tzinfo=UTC)
RECORD = NewObservation("bugfix", "Fixed the loop", "It ends.", (), "It ran too long.", (), ())
SCOPE = "room:slack:C1"


@dataclass
class Shelf:
    stage: Stage
    store: Store
    door: McpEndpoint

    async def did(self, scope: str, title: str) -> str:
        """Store an observation."""
        record = NewObservation("bugfix", title, "It ends.", (), f"About {title}.", (), ())

        def work(connection: Connection) -> str:
            session = open_session(
                self.store, connection, scope=scope, persona="claude", session_id="s",
                project="x", at=NOW,
            )  # fmt: skip
            return add_observation(connection, session.id, record, turn_id=None, at=NOW)

        return await self.store.write(work)

    def claude(self, scope: str) -> CliAgent:
        """An agent of a room."""
        room = Room(scope.removeprefix("room:"), "lab")
        admission = McpGrant("claude", scope, Invocation(room, "slack:U1", "claude"))
        return self.stage.agent(scope.replace(":", "-"), memory=self.door.open(admission))


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Shelf]:
    async with (
        Store.open(f"sqlite:///{tmp_path}/moot.db") as store,
        Stage.open(tmp_path) as stage,
    ):
        tasks: list[asyncio.Task[None]] = []

        def spawn(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
            tasks.append(asyncio.create_task(work, name=name))
            return tasks[-1]

        yield Shelf(
            stage, store, McpEndpoint(stage.hooks, MemoryTools(WorkLog(store), None), spawn)
        )
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_it_searches_its_own_memory_without_asking(library: Shelf) -> None:
    mine = await library.did(SCOPE, "Fixed the loop")
    await library.did("room:slack:C2", "Fixed the secret loop")
    library.stage.api.when(
        "loop",
        ToolUse("mcp__moot__search", {"text": "loop"}),
        ToolUse("mcp__moot__read", {"ids": [mine]}),
        "It was mended in April.",
    )
    claude = library.claude(SCOPE)
    reply = Replies()
    answer = await asyncio.wait_for(claude.ask(f"{HEADER}what of the loop?", reply), 60)
    assert answer.text == "It was mended in April."
    assert reply.questions == []
    told = json.dumps(library.stage.api.turns[-1].body["messages"], ensure_ascii=False)
    assert "Fixed the loop | ~" in told
    assert "About Fixed the loop." in told
    assert "secret" not in told
    assert [use.tool for use in answer.uses] == ["mcp__moot__search", "mcp__moot__read"]
    offered = [tool["name"] for tool in library.stage.api.turns[-1].body["tools"]]
    assert {"mcp__moot__search", "mcp__moot__timeline", "mcp__moot__read"} <= set(offered)


async def test_the_key_stands_in_no_command_line(library: Shelf) -> None:
    claude = library.claude(SCOPE)
    await claude.start()
    argv = Path(f"/proc/{claude.pid}/cmdline").read_bytes()
    assert b"/hook/" not in argv
    assert b"mcp.json" in argv
