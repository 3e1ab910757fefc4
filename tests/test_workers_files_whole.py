"""Files of messages reach an agent on a worker, and what it hands over reaches the room."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.doubles.credentials import headers_of, program_at
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import ToolUse
from tests.doubles.obedience import say
from tests.test_claude_whole import CLAUDE, KEY, installed
from tests.test_workers_whole import House, house

NOTES = bytes(range(256)) * 4000  # of four pieces
PLOT = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4000
SAID = "Here is the plot."
SEND = "mcp__moot__send_file"


@asynccontextmanager
async def claude(folder: Path) -> AsyncIterator[tuple[House, MessagesAPI]]:
    installed()
    async with MessagesAPI.open() as api:
        described = (
            f'[agents.claude-code]\nprofile = "claude-code"\ncommand = "{CLAUDE}"\n'
            f'env = {{ ANTHROPIC_BASE_URL = "{api.url}" }}\n'
        )
        async with house(folder, "claude-code", described, ANTHROPIC_API_KEY=KEY) as moot:
            yield moot, api


async def uploaded(url: str, name: str, data: bytes) -> Any:
    form = aiohttp.FormData()
    form.add_field("file", data, filename=name)
    async with (
        aiohttp.ClientSession(url, headers=headers_of(url)) as client,
        client.post("/api/files", data=form) as response,
    ):
        [kept] = (await response.json())["files"]
        return kept


async def handed_over(url: str) -> list[tuple[str, bytes]]:
    """The files that stand beside the agent's answers."""
    found = []
    async with program_at(url) as client:
        async with client.get("/api/rooms/web:dm-ana/messages") as response:
            messages = (await response.json())["messages"]
        for file in [file for one in messages if one["turn_id"] for file in one["attachments"]]:
            async with client.get(file["url"]) as response:
                found.append((file["name"], await response.read()))
    return found


def there(moot: House, api: MessagesAPI, name: str) -> Path:
    """The path of a file that the newest prompt names, which lies at the worker's."""
    prompt = str(api.turns[-1].body["messages"])
    folder = re.escape(str(moot.folder / moot.busy().name / "data" / "scopes"))
    [path] = set(re.findall(rf"{folder}/\S+?/ash/files/[0-9a-f]{{16}}/{re.escape(name)}", prompt))
    return Path(path)


async def test_an_agent_on_a_worker_opens_what_a_message_brought_and_the_whole_of_a_long_one(
    tmp_path: Path,
) -> None:
    async with claude(tmp_path) as (moot, api):
        api.when("see this", "I see.")
        kept = await uploaded(moot.moot.url, "notes.bin", NOTES)
        long = "see this " + "and a line that goes on for a while\n" * 2000
        told = await say(moot.moot.url, "ana", long, attachments=[{"id": kept["id"]}])
        assert told["replies"][-1]["text"] == "I see."
        assert there(moot, api, "notes.bin").read_bytes() == NOTES
        assert there(moot, api, "whole-message.txt").read_text() == long


async def test_a_file_that_it_hands_over_is_posted_and_no_other(tmp_path: Path) -> None:
    async with claude(tmp_path) as (moot, api):
        api.when("hello", "Hi.")
        api.when(
            "plot it",
            ToolUse(SEND, {"path": "plot.png", "comment": "The prices"}),
            ToolUse(SEND, {"path": "key.txt"}),
            ToolUse(SEND, {"path": "/etc/passwd"}),
            SAID,
        )
        assert await moot.ask("hello") == "Hi."
        [work] = (tmp_path / moot.busy().name / "data" / "scopes").glob("*/ash/work")
        (work / "plot.png").write_bytes(PLOT)
        (work / "key.txt").write_text(f"the key is {KEY}")
        assert await moot.ask("plot it") == SAID
        assert await handed_over(moot.moot.url) == [("plot.png", PLOT)]
        told = str(api.turns[-1].body["messages"])
        assert f"plot.png ({len(PLOT):,} bytes) is posted with your answer." in told
        assert "the file holds a secret of this installation" in told
        assert "Not sent: only files in your working directory can be sent" in told
        kept = [path for path in (tmp_path / "data" / "files").rglob("*") if path.is_file()]
        assert await asyncio.to_thread(lambda: [path.read_bytes() for path in kept]) == [PLOT]
