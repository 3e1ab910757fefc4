"""The routes below /api/personas, over a real gateway."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from yarl import URL

from contract.language import speaking
from gateway.settings.personas.personas import FrontMatter
from gateway.web.page import PageSettings, open_page
from tests.doubles.credentials import bearer
from tests.doubles.running import PERSONA, Opened, gateway
from tests.gateway.conftest import get, post

FILES = "/api/personas/files"
BY = "web:ana"


@pytest.fixture
async def moot(tmp_path: Path) -> AsyncIterator[Opened]:
    async with gateway(tmp_path, personas=("ada", "bob")) as opened:
        yield opened


@pytest.fixture
async def client(moot: Opened, tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    settings = PageSettings(tmp_path / "files")
    async with (
        open_page(moot.house.services, settings) as url,
        aiohttp.ClientSession(url, headers=bearer(tmp_path)) as session,
    ):
        yield session


async def put(client: aiohttp.ClientSession, path: str, body: object, status: int = 200) -> Any:
    async with client.put(path, json=body) as response:
        assert response.status == status, await response.text()
        return await response.json()


async def test_the_schema_is_that_of_the_front_matter_and_the_one_that_comes_along(
    client: aiohttp.ClientSession,
) -> None:
    schema = await get(client, "/api/personas/schema")
    assert set(schema["properties"]) == set(FrontMatter.model_fields)
    assert schema["additionalProperties"] is False
    assert all(key["description"] for key in schema["properties"].values())
    shipped = Path(__file__).parents[2] / "personas" / "persona.schema.json"
    assert json.loads(shipped.read_text("utf-8")) == schema


async def test_a_text_is_checked_without_being_saved(
    client: aiohttp.ClientSession, tmp_path: Path
) -> None:
    text = "---\nagent: scripted\nmodle: x\n---\nHi\n"
    told = await post(client, "/api/personas/check", {"name": "eve", "text": text})
    assert told == {
        "usable": False,
        "findings": [
            {
                "severity": "error", "line": 3, "column": 1, "end_line": 3, "end_column": 6,
                "message": "modle: there is no such key", "suggestion": "did you mean `model`?",
                "key": "modle",
            }
        ],
        "values": {
            "agent": "scripted", "model": "", "workspace": "", "sandbox": "", "description": "",
        },
    }  # fmt: skip
    assert not (tmp_path / "personas" / "eve.md").exists()


async def test_faults_are_told_in_the_language_of_who_asks_and_kept_in_english(
    moot: Opened, client: aiohttp.ClientSession, tmp_path: Path
) -> None:
    body = {"name": "ada", "text": "---\nagent: scripted\nmodel: [x]\n---\nHi\n"}
    headers = {"Accept-Language": "de"}
    async with client.post("/api/personas/check", json=body, headers=headers) as response:
        [finding] = (await response.json())["findings"]
    assert finding["message"].startswith("model: muss ein Text in Anführungszeichen sein")
    async with client.get("/api/nowhere", headers=headers) as response:
        assert (await response.json())["error"]["message"] == "hier ist nichts"
    (tmp_path / "personas" / "eve.md").write_text(body["text"])
    with speaking("de"):
        moot.house.personas.refresh()
    assert "must be a text" in moot.house.personas.problems["eve"]


async def test_a_field_changes_its_key_alone_and_the_text_is_checked_with_it(
    client: aiohttp.ClientSession,
) -> None:
    text = "---\nagent: scripted # mine\nworkspace: /\n---\nHi\n"
    change = {"key": "workspace", "value": "/no/such/folder"}
    body = {"name": "eve", "text": text, "change": change}
    told = await post(client, "/api/personas/check", body)
    assert told["text"] == text.replace("workspace: /", "workspace: /no/such/folder")
    assert told["values"]["workspace"] == "/no/such/folder"
    assert [(one["key"], one["severity"]) for one in told["findings"]] == [("workspace", "error")]
    refused = await post(
        client, "/api/personas/check", {**body, "text": "---\nagent: [\n---\n"}, 400
    )
    assert "edit the text" in refused["error"]["message"]
    await post(
        client, "/api/personas/check", {**body, "change": {"key": "login", "value": "x"}}, 400
    )


async def test_the_agents_that_a_file_can_name_are_listed_with_what_they_offer(
    client: aiohttp.ClientSession, tmp_path: Path
) -> None:
    keys = f"model: opus\nworkspaces: {{docs: {tmp_path}}}\n"
    text = PERSONA.format("eve").replace("agent: scripted\n", f"agent: claude-code\n{keys}")
    await post(client, FILES, {"name": "eve", "text": text, "by": BY}, 201)
    agents = {one["name"]: one for one in (await get(client, FILES))["agents"]}
    assert {"claude-code", "codex", "demo"} <= set(agents)
    assert agents["claude-code"]["models"] == ["opus"]
    assert agents["claude-code"]["folders"] == [{"name": "docs", "path": str(tmp_path)}]
    assert agents["codex"]["models"] == []


async def test_a_persona_is_made_read_changed_and_taken_away(
    client: aiohttp.ClientSession, moot: Opened
) -> None:
    new = {"name": "eve", "text": PERSONA.format("eve"), "by": {"id": BY, "name": "Ana"}}
    made = await post(client, FILES, new, 201)
    assert (made["state"], made["version"]["number"]) == ("good", 1)
    await post(client, FILES, new, 409)
    edit = {"text": PERSONA.format("new"), "base": made["base"], "by": BY}
    saved = await put(client, f"{FILES}/eve", edit)
    assert saved["description"] == "new"
    conflict = await put(client, f"{FILES}/eve", edit, 409)
    assert conflict["base"] == saved["base"]
    diff = await get(client, f"{FILES}/eve/diff?from=1&to=2")
    assert "-You are eve.\n+You are new." in diff["diff"]
    first = await get(client, f"{FILES}/eve/versions/1")
    assert first["text"] == PERSONA.format("eve")
    async with client.delete(f"{FILES}/eve", json={"base": saved["base"], "by": BY}) as response:
        assert (await response.json())["state"] == "deleted"
    assert moot.house.personas.good.get("eve") is None
    back = await post(client, f"{FILES}/eve/rollback", {"number": 1, "by": BY})
    assert (back["state"], back["version"]["number"]) == ("good", 4)
    listed = (await get(client, FILES))["personas"]
    assert [card["name"] for card in listed] == ["ada", "bob", "eve"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("GET", f"{FILES}/zoe", None, 404, "no persona 'zoe'"),
        ("GET", f"{FILES}/..%2Fada", None, 400, "a persona's name"),
        ("GET", f"{FILES}/%2Fetc%2Fpasswd", None, 400, "a persona's name"),
        ("GET", f"{FILES}/ada%00", None, 400, "a persona's name"),
        ("GET", f"{FILES}/ada/versions/9", None, 404, "no version 9"),
        ("GET", f"{FILES}/ada/versions/x", None, 400, "number of a version"),
        ("GET", f"{FILES}/ada/diff?from=", None, 400, "number of a version"),
        ("PUT", f"{FILES}/..%2F..%2Fx", {"text": "x", "base": "", "by": BY}, 400, "name"),
        ("PUT", f"{FILES}/ada", {"text": "x", "base": "", "by": BY}, 422, "begin with ---"),
        ("PUT", f"{FILES}/ada", {"text": "x", "by": BY}, 400, "base: is required"),
        ("PUT", f"{FILES}/ada", {"text": "x", "base": "", "by": "*"}, 400, "by"),
        ("POST", f"{FILES}/ada/rollback", {"number": 0, "by": BY}, 400, "number"),
        ("POST", f"{FILES}/ada/rollback", {"number": 1, "by": BY, "x": 1}, 400, "x"),
        ("POST", FILES, {"name": "README", "text": "x", "by": BY}, 400, "a persona's name"),
        (
            "POST", "/api/personas/preview",
            {"name": "ada", "message": "hi", "by": BY, "room_id": "web:nowhere"}, 400, "no room",
        ),
    ],
)  # fmt: skip
async def test_what_cannot_be_done_says_why(
    client: aiohttp.ClientSession, method: str, path: str, body: Any, status: int, words: str
) -> None:
    async with client.request(method, URL(path, encoded=True), json=body) as response:
        assert response.status == status, await response.text()
        assert words in (await response.json())["error"]["message"]


async def test_another_web_site_changes_no_persona(
    client: aiohttp.ClientSession, tmp_path: Path
) -> None:
    body = {"text": PERSONA.format("evil"), "base": "", "by": BY}
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        async with client.put(f"{FILES}/eve", json=body, headers=headers) as response:
            assert response.status == 403
    assert not (tmp_path / "personas" / "eve.md").exists()


async def test_a_preview_and_a_dry_run_show_what_the_agent_gets(
    client: aiohttp.ClientSession,
) -> None:
    sample = {"name": "ada", "message": "hello", "by": BY, "text": PERSONA.format("new")}
    shown = await post(client, "/api/personas/preview", sample)
    assert shown["system"] == "You are new."
    assert "Room: direct message with ana" in shown["header"]
    assert "hello" in shown["header"]
    done = await post(client, "/api/personas/dry-run", sample)
    assert (done["answer"], done["trouble"]) == ("Respond to ana in this direct message.", "")
