"""The whole way: `moot run`, the demo agent, and a model that extracts what happened."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import aiohttp
import pytest

from tests.doubles.claude_stage import KEY, claude_command
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import ToolUse
from tests.doubles.service import Service, service

FOUND = {
    "decisions": [{"options": [], "chosen": "port 5433", "rationale": "5432 is taken"}],
    "discussions": [],
    "attempts": [],
    "requests": [],
}
FACT = ("room:web:general", "decision", "Chose port 5433: 5432 is taken", "#general", "web:andi")
GATEWAY = '[gateway]\nlisten = "127.0.0.1:0"\n[agents.demo]\nprofile = "demo"\n'
DEMO = 'env = { MOOT_DEMO_PACE = "0" }\n'


@pytest.fixture
async def api() -> AsyncIterator[MessagesAPI]:
    async with MessagesAPI.open() as api:
        yield api


async def tell(moot: Service, content: str) -> None:
    meta = {
        "source": "web",
        "sender_id": "web:andi",
        "sender_display_name": "Andi",
        "sender_type": "human",
    }
    room = {"id": "web:general", "name": "general"}
    body = {"content": content, "metadata": meta, "room": room, "wait": 20}
    async with (
        aiohttp.ClientSession(moot.url, headers=moot.headers) as client,
        client.post("/api/submit", json=body) as answer,
    ):
        assert answer.status == 200, await answer.text()


async def rows(moot: Service, query: str) -> list[tuple[object, ...]]:
    """What the query finds, once it finds something."""
    async with asyncio.timeout(30):
        while True:
            with closing(sqlite3.connect(moot.folder / "data" / "moot.db")) as database:
                if found := database.execute(query).fetchall():
                    return found
            await asyncio.sleep(0.05)


FACTS = "SELECT scope, kind, text, origin, person FROM facts"
CALLS = "SELECT purpose, scope, model, input_tokens, cost_usd, fault FROM model_calls"


async def test_the_api_extracts_what_was_said(tmp_path: Path, api: MessagesAPI) -> None:
    config = (
        f'{GATEWAY}{DEMO}[memory]\nmodel = "anthropic"\nextract_tokens = 100\n'
        "insights = false\nobservations = false\n"
        f'[memory.anthropic]\nbase_url = "{api.url}"\ninput_price = 1.0\noutput_price = 5.0\n'
    )
    api.queue(ToolUse("write_extracted", FOUND))
    async with service(tmp_path, config, ANTHROPIC_API_KEY="k-secret") as moot:
        await tell(moot, "@demo " + "staging can't have port 5432, which is taken. " * 12)
        assert await rows(moot, FACTS) == [FACT]
        [call] = await rows(moot, CALLS)
        assert call == ("extraction", "room:web:general", "claude-haiku-5-5", 1000, 0.001005, None)
        log = moot.log()
    assert "k-secret" not in log
    assert "5432" not in log
    assert "Traceback" not in log


async def test_a_borrowed_claude_code_extracts_what_was_said(
    tmp_path: Path, api: MessagesAPI
) -> None:
    config = (
        f'{GATEWAY}{DEMO}[agents.claude-code]\nprofile = "claude-code"\n'
        f'command = "{claude_command()}"\n'
        f'env = {{ ANTHROPIC_BASE_URL = "{api.url}", CLAUDE_CODE_MAX_RETRIES = "1" }}\n'
        '[memory]\nmodel = "claude-code"\nextract_tokens = 100\n'
    )
    api.aside = f"```json\n{json.dumps(FOUND)}\n```"
    async with service(tmp_path, config, ANTHROPIC_API_KEY=KEY) as moot:
        await tell(moot, "@demo " + "staging can't have port 5432, which is taken. " * 12)
        assert await rows(moot, FACTS) == [FACT]
    assert not list((tmp_path / "data" / "model").rglob("call-*"))
    assert api.unknown == []


async def test_a_missing_key_ends_the_start_with_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "moot.toml").write_text('[memory]\nmodel = "anthropic"\n')
    moot = Service(tmp_path)
    with pytest.raises(AssertionError, match=r"moot: memory\.model"):
        await moot.start()
    assert "Traceback" not in moot.log()
    assert not (tmp_path / "data" / "moot.db").exists()
