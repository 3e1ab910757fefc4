"""`moot mcp` with the SDK's own client on stdio: one session's memory, and nothing else."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from adapters.hooks import HookListener
from contract import Room
from gateway.librarian import TOOLS, Librarian
from gateway.memory_door import COMMAND, URL, Admission, MemoryDoor
from memory.facts import NewFact, add_facts
from memory.library import Library
from memory.observations import add_observation, open_session
from memory.recall import Recall
from memory.records import Record
from memory.scopes import Invocation, home_scope
from memory.store import Store
from tests.doubles.index import WordIndex

NOW = datetime(2026, 4, 21, tzinfo=UTC)
ROOM = Room("slack:C1", "auth-team")
OTHER = Room("slack:C2", "secret")
DM = Room("slack:D1", "Andi", "dm")


@dataclass
class Opened:
    store: Store
    door: MemoryDoor
    recall: Recall
    folder: Path
    ids: dict[str, str] = field(default_factory=dict)

    async def did(self, scope: str, title: str, persona: str = "claude") -> str:
        """Store an observation."""
        record = Record(
            "bugfix", title, "It ends.", ("loop.py: n < 5 now",), f"Narrative of {title}.",
            ("loops",), ("src/loop.py",),
        )  # fmt: skip

        def work(connection: object) -> str:
            session = open_session(
                self.store, connection, scope=scope, persona=persona, session_id="s1",
                project="x", at=NOW,
            )  # type: ignore[arg-type]  # fmt: skip
            return add_observation(connection, session.id, record, turn_id=None, at=NOW)  # type: ignore[arg-type]

        return await self.store.write(work)

    async def knows(self, scope: str, text: str) -> None:
        """Store a fact."""
        new = NewFact(scope, "fact", text, NOW, "test")
        await self.store.write(lambda c: add_facts(c, [new], NOW))
        await self.recall.index_pending()

    def admission(self, room: Room, sender: str = "slack:U1", persona: str = "claude") -> Admission:
        invocation = Invocation(room, sender, persona)
        return Admission(persona, home_scope(room, sender, persona), invocation)


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    async with (
        Store.open(f"sqlite:///{tmp_path}/data/moot.db") as store,
        HookListener.open() as hooks,
    ):
        recall = Recall(store, WordIndex(hostile=True))
        yield Opened(store, MemoryDoor(hooks, Librarian(Library(store), recall)), recall, tmp_path)


@asynccontextmanager
async def client(env: dict[str, str], *arguments: str, cwd: Path) -> AsyncIterator[Client]:
    """A client of a server that runs as an agent's program starts it."""
    command, *rest = COMMAND
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
    server = opened.door.open(opened.admission(ROOM))
    async with aiohttp.ClientSession() as http:
        payload = {"tool": tool, "arguments": arguments}
        async with http.post(dict(server.env)[URL], json=payload) as response:
            told = await response.json()
    assert told["failed"]
    assert words in told["text"]
    assert "Fixed" not in told["text"]


async def ask(url: str, tool: str = "search") -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as http,
        http.post(url, json={"tool": tool, "arguments": {}}) as response,
    ):
        return response.status, await response.text()


async def test_another_key_opens_another_memory_and_none_opens_nothing(opened: Opened) -> None:
    await opened.did("room:slack:C1", "Fixed the loop")
    room, dm, other = (opened.admission(at) for at in (ROOM, DM, OTHER))
    urls = [dict(opened.door.open(admission).env)[URL] for admission in (room, dm, other)]
    assert len(set(urls)) == 3
    told = [await ask(url) for url in urls]
    assert ["Fixed the loop" in text for _, text in told] == [True, False, False]
    guessed = urls[0][:-1] + ("a" if urls[0][-1] != "a" else "b")
    assert (await ask(guessed))[0] == 404
    opened.door.close(room)
    assert (await ask(urls[0]))[0] == 404


async def test_before_its_first_turn_a_session_sees_nothing(opened: Opened) -> None:
    await opened.did("room:slack:C1", "Fixed the loop")
    unasked = Admission("claude", "room:slack:C1")
    assert "nothing to look into" in (await ask(dict(opened.door.open(unasked).env)[URL]))[1]
    strayed = opened.admission(ROOM)
    strayed.scope = "room:slack:C2"
    assert "nothing to look into" in (await ask(dict(opened.door.open(strayed).env)[URL]))[1]


async def test_without_the_gateway_the_tools_say_so(opened: Opened) -> None:
    admission = opened.admission(ROOM)
    server = opened.door.open(admission)
    async with client(dict(server.env), cwd=opened.folder) as mcp:
        assert (await mcp.list_tools()).tools
        opened.door.close(admission)
        text, failed = await call(mcp, "search")
        assert failed
        assert "does not answer" in text


async def test_an_administrator_looks_into_one_scope_and_changes_nothing(opened: Opened) -> None:
    await opened.did("room:slack:C1", "Fixed the loop")
    await opened.did("room:slack:C2", "Fixed the secret loop")
    (opened.folder / "moot.toml").write_text("")
    arguments = ("--persona", "claude", "--scope", "room:slack:C1")
    async with client({}, *arguments, cwd=opened.folder) as mcp:
        text, failed = await call(mcp, "search", text="loop")
    assert not failed
    assert "Fixed the loop" in text
    assert "secret" not in text
    async with Store.open(f"sqlite:///{opened.folder}/data/moot.db", read_only=True) as store:
        reader = Opened(store, opened.door, opened.recall, opened.folder)
        with pytest.raises(Exception, match="readonly"):
            await reader.did("room:slack:C1", "Written")


async def test_a_module_in_the_workspace_is_not_imported(opened: Opened) -> None:
    for name in ("gateway", "contract", "json", "mcp"):
        (opened.folder / f"{name}.py").write_text("raise SystemExit('taken over')")
    server = opened.door.open(opened.admission(ROOM))
    async with client(dict(server.env), cwd=opened.folder) as mcp:
        assert (await mcp.list_tools()).tools


def test_it_is_started_by_this_interpreter() -> None:
    assert COMMAND[0] == sys.executable
    assert COMMAND[-1] == "mcp"
