"""Personas through `moot run`: edited by its API, used by the next turn of the real programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp

from tests.doubles.messages_api import MessagesAPI
from tests.doubles.service import service
from tests.test_claude_whole import CLAUDE, KEY, installed

PAGE = '[gateway]\nlisten = "127.0.0.1:0"\n'
AGENT = """
[agents.claude-code]
profile = "claude-code"
command = "{claude}"
env = {{ ANTHROPIC_BASE_URL = "{api}", CLAUDE_CODE_MAX_RETRIES = "2" }}
"""
BY = {"id": "web:ana", "name": "Ana"}
FILE = "/api/personas/files"


async def ask(client: aiohttp.ClientSession, text: str) -> dict[str, Any]:
    """Say it in #general and wait for the one answer."""
    metadata = {
        "source": "web", "sender_id": BY["id"], "sender_display_name": BY["name"],
        "sender_type": "human", "channel_external_id": "general",
    }  # fmt: skip
    body = {"content": text, "metadata": metadata, "wait": 120}
    async with client.post("/api/submit", json=body) as response:
        [reply] = (await response.json())["replies"]
        found: dict[str, Any] = reply
        return found


async def call(
    client: aiohttp.ClientSession, method: str, path: str, body: object = None, status: int = 200
) -> Any:
    async with client.request(method, path, json=body) as response:
        assert response.status == status, await response.text()
        return await response.json()


async def test_claude_code_goes_on_with_the_edited_persona(tmp_path: Path) -> None:
    installed()
    async with MessagesAPI.open() as api:
        api.when("first", "One.")
        api.when("second", "Two.")
        api.when("dry", "Three.")
        config = PAGE + AGENT.format(claude=CLAUDE, api=api.url)
        async with (
            service(tmp_path, config, ANTHROPIC_API_KEY=KEY) as moot,
            aiohttp.ClientSession(moot.url, headers=moot.headers) as client,
        ):
            assert (await ask(client, "@claude first"))["text"] == "One."
            sheet = await call(client, "GET", f"{FILE}/claude")
            text = sheet["text"] + "\nAlways name the moon.\n"
            edit = {"text": text, "base": sheet["base"], "by": BY}
            saved = await call(client, "PUT", f"{FILE}/claude", edit)
            assert saved["version"]["number"] == 2
            reply = await ask(client, "@claude second")
            assert reply["text"] == "Two."
            asked = [request for request in api.requests if request.asks]
            assert "name the moon" not in asked[0].system
            assert "name the moon" in asked[-1].system
            assert any("first" in said for said in asked[-1].history[:-1])
            record = await call(client, "GET", f"/api/turns/{reply['turn_id']}")
            assert record["persona_version"] == 2

            sample = {"name": "claude", "message": "dry", "by": BY, "room_id": "web:general"}
            tried = await call(client, "POST", "/api/personas/dry-run", sample)
            assert (tried["answer"], tried["trouble"]) == ("Three.", "")
            last = next(request for request in reversed(api.requests) if request.asks)
            assert len(last.history) == 1
            assert list((tmp_path / "data").glob("dry-run-*")) == []


async def test_a_persona_that_comes_with_moot_is_edited_and_its_history_survives_a_kill(
    tmp_path: Path,
) -> None:
    async with service(tmp_path, PAGE) as moot:
        async with aiohttp.ClientSession(moot.url, headers=moot.headers) as client:
            listed = await call(client, "GET", FILE)
            assert listed["folder"]["moves_to"] is None
            sheet = await call(client, "GET", f"{FILE}/demo")
            edit = {"text": sheet["text"] + "More.\n", "base": sheet["base"], "by": BY}
            await call(client, "PUT", f"{FILE}/demo", edit)
            stale = await call(client, "PUT", f"{FILE}/demo", edit, 409)
            assert stale["error"]["field"] == "base"
        await moot.kill()
        assert (tmp_path / "personas" / "demo.md").read_text().endswith("More.\n")
        assert (tmp_path / "personas" / "persona.schema.json").exists()
        await moot.start()
        async with aiohttp.ClientSession(moot.url, headers=moot.headers) as client:
            history = await call(client, "GET", f"{FILE}/demo/history")
            assert [version["number"] for version in history["versions"]] == [2, 1]
            await call(client, "POST", f"{FILE}/demo/rollback", {"number": None, "by": BY})
        assert (tmp_path / "personas" / "demo.md").read_text() == sheet["text"]
