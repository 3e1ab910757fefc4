"""`moot mcp` with the SDK's own client on stdio: one session's memory, and nothing else."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import aiohttp
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import TextContent
from sqlalchemy import Connection

from adapters.cli.hooks import HookListener
from contract.chat import Room
from gateway.mcp.endpoint import COMMAND, MOST_PIPES, McpEndpoint, McpGrant
from gateway.mcp.pipe import URL
from gateway.mcp.tools import TOOLS, MemoryTools
from gateway.web.listening.listener import serving_hooks
from memory.observations.records import NewObservation
from memory.observations.rows import add_observation, open_session
from memory.observations.work_log import WorkLog, WorkReader
from memory.recall.facts import NewFact, add_facts
from memory.recall.recall import Recall
from memory.scopes import Gate, Invocation, home_scope
from store.database import Store
from tests.doubles.index import WordIndex

NOW = datetime(2026, 4, 21, tzinfo=UTC)
ROOM = Room("slack:C1", "auth-team")
OTHER = Room("slack:C2", "secret")
DM = Room("slack:D1", "Andi", "dm")


@dataclass
class Opened:
    store: Store
    door: McpEndpoint
    tools: MemoryTools
    recall: Recall
    folder: Path
    ids: dict[str, str] = field(default_factory=dict)

    async def did(self, scope: str, title: str, persona: str = "claude") -> str:
        """Store an observation."""
        record = NewObservation(
            "bugfix", title, "It ends.", ("loop.py: n < 5 now",), f"Narrative of {title}.",
            ("loops",), ("src/loop.py",),
        )  # fmt: skip

        def work(connection: Connection) -> str:
            session = open_session(
                self.store, connection, scope=scope, persona=persona, session_id="s1",
                project="x", at=NOW,
            )  # fmt: skip
            return add_observation(connection, session.id, record, turn_id=None, at=NOW)

        return await self.store.write(work)

    async def knows(self, scope: str, text: str) -> None:
        """Store a fact."""
        new = NewFact(scope, "fact", text, NOW, "test")
        await self.store.write(lambda c: add_facts(c, [new], NOW))
        await self.recall.index_pending()

    def admission(self, room: Room, sender: str = "slack:U1", persona: str = "claude") -> McpGrant:
        invocation = Invocation(room, sender, persona)
        return McpGrant(persona, home_scope(room, sender, persona), invocation)


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    async with (
        Store.open(f"sqlite:///{tmp_path}/data/moot.db") as store,
        HookListener.open(serving_hooks()) as hooks,
    ):
        recall = Recall(store, WordIndex(hostile=True))
        tools = MemoryTools(WorkLog(store), recall)
        tasks: list[asyncio.Task[None]] = []

        def spawn(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
            tasks.append(asyncio.create_task(work, name=name))
            return tasks[-1]

        yield Opened(store, McpEndpoint(hooks, tools, spawn), tools, recall, tmp_path)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


MOOT = (sys.executable, "-P", "-c", COMMAND[-1].replace("mcp.pipe", "main"), "mcp")


@asynccontextmanager
async def client(
    env: dict[str, str], *arguments: str, cwd: Path, moot: Sequence[str] = COMMAND
) -> AsyncIterator[Client]:
    """A client of a server that runs as an agent's program starts it."""
    command, *rest = moot
    server = StdioServerParameters(command=command, args=[*rest, *arguments], env=env, cwd=str(cwd))
    async with Client(server) as connected:
        yield connected


async def call(mcp: Client, tool: str, **arguments: object) -> tuple[str, bool]:
    result = await mcp.call_tool(tool, arguments)
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text, result.is_error


async def test_an_agent_searches_in_three_steps_within_its_session(opened: Opened) -> None:
    first = await opened.did("room:slack:C1", "Fixed the loop")
    second = await opened.did("room:slack:C1", "Renamed things")
    hidden = await opened.did("room:slack:C2", "Fixed the secret loop")
    await opened.did("room:slack:C1", "Loop of another persona", persona="codex")
    await opened.knows("room:slack:C1", "Andi wants a shorter loop")
    await opened.knows("room:slack:C2", "the secret loop")
    await opened.knows("dm:slack:U1:claude", "the private loop")
    server = opened.door.open(opened.admission(ROOM))
    async with client(dict(server.env), cwd=opened.folder) as mcp:
        listed = (await mcp.list_tools()).tools
        assert [tool.name for tool in listed] == list(TOOLS)
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed)
        text, failed = await call(mcp, "search", text="loops")
        assert not failed
        assert text.splitlines()[0].startswith(
            f"{first} | 2026-04-21 | bugfix | Fixed the loop | ~"
        )
        assert "secret" not in text
        assert "another" not in text
        around, _ = await call(mcp, "timeline", id=first)
        assert [line.split(" | ")[0] for line in around.splitlines()] == [first, second]
        whole = json.loads((await call(mcp, "read", ids=[second, hidden]))[0])
        assert [(item["id"], item["facts"]) for item in whole] == [(second, ["loop.py: n < 5 now"])]
        for unseen in (hidden, "nothing", "%", "*"):
            assert await call(mcp, "read", ids=[unseen]) == ("Nothing was found.", False)
            assert await call(mcp, "timeline", id=unseen) == ("Nothing was found.", False)
        facts, _ = await call(mcp, "recall", text="loop")
        assert "Andi wants a shorter loop" in facts
        assert "secret" not in facts
        assert "private" not in facts


async def test_a_conversation_goes_on_with_one_who_did_not_begin_it(opened: Opened) -> None:
    """As where another gateway leads by now."""
    await opened.did("room:slack:C1", "Fixed the loop")
    admission = opened.admission(ROOM)
    server = opened.door.open(admission)
    async with client(dict(server.env), cwd=opened.folder) as mcp:
        assert (await call(mcp, "search", text="loop"))[1] is False
        for pipe in admission.pipes.values():
            pipe.close()
        admission.pipes.clear()
        text, failed = await call(mcp, "search", text="loop")
        assert not failed
        assert "Fixed the loop" in text


@pytest.mark.parametrize(("tool", "arguments", "words"), [
    ("search", {"scope": "room:slack:C2"}, "scope"),
    ("search", {"persona": "codex"}, "persona"),
    ("search", {"limit": 5000}, "limit"),
    ("search", {"type": ["chore"]}, "type"),
    ("read", {"ids": []}, "ids"),
    ("read", {}, "ids"),
    ("forget", {}, "no tool"),
])  # fmt: skip
async def test_a_call_that_asks_for_more_is_refused(
    opened: Opened, tool: str, arguments: dict[str, object], words: str
) -> None:
    await opened.did("room:slack:C1", "Fixed the loop")
    reader = opened.admission(ROOM).reader()
    assert reader
    told = await opened.tools.answer(tool, arguments, reader)
    assert told.failed
    assert words in told.text
    assert "Fixed" not in told.text


async def status(url: str) -> int:
    async with aiohttp.ClientSession() as http, http.post(url, json={}) as response:
        return response.status


async def test_another_key_opens_another_memory_and_none_opens_nothing(opened: Opened) -> None:
    await opened.did("room:slack:C1", "Fixed the loop")
    admissions = [opened.admission(at) for at in (ROOM, DM, OTHER)]
    urls = [dict(opened.door.open(admission).env)[URL] for admission in admissions]
    assert len(set(urls)) == 3
    told = []
    for url in urls:
        async with client({URL: url}, cwd=opened.folder) as mcp:
            told.append((await call(mcp, "search"))[0])
    assert ["Fixed the loop" in text for text in told] == [True, False, False]
    guessed = urls[0][:-1] + ("a" if urls[0][-1] != "a" else "b")
    assert (await status(urls[0]), await status(guessed)) == (200, 404)
    opened.door.close(admissions[0])
    assert await status(urls[0]) == 404


async def test_before_its_first_turn_a_session_sees_nothing(opened: Opened) -> None:
    await opened.did("room:slack:C1", "Fixed the loop")
    strayed = opened.admission(ROOM)
    strayed.scope = "room:slack:C2"
    for admission in (McpGrant("claude", "room:slack:C1"), strayed):
        server = opened.door.open(admission)
        async with client(dict(server.env), cwd=opened.folder) as mcp:
            assert await call(mcp, "search") == ("There is nothing to look into yet.", True)


async def test_what_a_turn_may_see_is_what_it_asks_for(opened: Opened) -> None:
    await opened.knows("profile:slack:U1", "Andi likes short loops")
    admission = opened.admission(ROOM, "slack:U2")
    server = opened.door.open(admission)
    async with client(dict(server.env), cwd=opened.folder) as mcp:
        assert "Andi" not in (await call(mcp, "recall", text="loops"))[0]
        admission.invocation = Invocation(ROOM, "slack:U1", "claude")
        assert "Andi likes short loops" in (await call(mcp, "recall", text="loops"))[0]


async def test_moot_mcp_is_the_same(opened: Opened) -> None:
    await opened.did("room:slack:C1", "Fixed the loop")
    server = opened.door.open(opened.admission(ROOM))
    async with client(dict(server.env), cwd=opened.folder, moot=MOOT) as mcp:
        assert "Fixed the loop" in (await call(mcp, "search"))[0]


async def test_a_program_that_starts_it_again_and_again_is_served(opened: Opened) -> None:
    admission = opened.admission(ROOM)
    server = opened.door.open(admission)
    for _ in range(MOST_PIPES + 1):
        async with client(dict(server.env), cwd=opened.folder) as mcp:
            assert (await mcp.list_tools()).tools
    assert len(admission.pipes) == MOST_PIPES


@pytest.mark.parametrize("message", [{}, {"id": 1}, {"method": 3}, [], "x", {"jsonrpc": "2.0"}])
async def test_what_is_no_message_gets_no_answer(opened: Opened, message: object) -> None:
    url = dict(opened.door.open(opened.admission(ROOM)).env)[URL]
    payload = {"pipe": "p", "message": message}
    async with aiohttp.ClientSession() as http, http.post(url, json=payload) as response:
        assert await response.json() == {"message": None}


async def test_without_the_gateway_the_tools_say_so(opened: Opened) -> None:
    admission = opened.admission(ROOM)
    server = opened.door.open(admission)
    async with client(dict(server.env), cwd=opened.folder) as mcp:
        assert (await mcp.list_tools()).tools
        opened.door.close(admission)
        with pytest.raises(MCPError, match="does not answer"):
            await call(mcp, "search")


async def test_an_administrator_looks_into_one_scope_and_changes_nothing(opened: Opened) -> None:
    await opened.did("room:slack:C1", "Fixed the loop")
    await opened.did("room:slack:C2", "Fixed the secret loop")
    (opened.folder / "moot.toml").write_text("")
    arguments = ("--persona", "claude", "--scope", "room:slack:C1")
    async with client({}, *arguments, cwd=opened.folder, moot=MOOT) as mcp:
        text, failed = await call(mcp, "search", text="loop")
    assert not failed
    assert "Fixed the loop" in text
    assert "secret" not in text
    async with Store.open(f"sqlite:///{opened.folder}/data/moot.db", read_only=True) as store:
        reader = replace(opened, store=store)
        with pytest.raises(Exception, match="readonly"):
            await reader.did("room:slack:C1", "Written")


async def test_a_module_in_the_workspace_is_not_imported(opened: Opened) -> None:
    for name in ("gateway", "contract", "json", "mcp"):
        (opened.folder / f"{name}.py").write_text("raise SystemExit('taken over')")
    server = opened.door.open(opened.admission(ROOM))
    async with client(dict(server.env), cwd=opened.folder) as mcp:
        assert (await mcp.list_tools()).tools


def test_the_pipe_imports_the_standard_library_alone() -> None:
    code = "import sys; from gateway.mcp import pipe; print(*sys.modules)"
    house = Path(__file__).parent.parent.parent
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=house, capture_output=True, text=True, check=True
    )
    ours = {"gateway", "gateway.mcp.pipe"}
    imported = {name.partition(".")[0] for name in ran.stdout.split()} - {"gateway"}
    assert ours <= set(ran.stdout.split())
    assert not imported & {"mcp", "mcp_types", "pydantic", "contract", "aiohttp", "anyio"}


async def test_times_are_told_and_asked_for_in_the_zone_of_the_header(opened: Opened) -> None:
    tools = MemoryTools(WorkLog(opened.store), None, ZoneInfo("America/New_York"))
    id = await opened.did("room:slack:C1", "saw it")  # at midnight, UTC
    reader = WorkReader(Gate(frozenset({"room:slack:C1"})), None)
    told = await tools.answer("read", {"ids": [id]}, reader)
    assert json.loads(told.text)[0]["date"] == "2026-04-20 20:00"
    for day, found in (("2026-04-20", True), ("2026-04-21", False)):
        query = {"text": "saw it", "since": day, "until": day}
        said = await tools.answer("search", query, reader)
        assert ("| 2026-04-20 |" in said.text) == found
