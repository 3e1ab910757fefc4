"""A picture that somebody attaches reaches the model as a picture, by every driver that can."""

from __future__ import annotations

import base64
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adapters.images import MOST_BYTES
from tests.doubles.api_stage import KEY, BareAPI
from tests.doubles.credentials import program_at
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.pictures import RED_DOT
from tests.doubles.service import HOUSE, Service, service
from tests.doubles.slack import BOT_USER, SlackDouble
from tests.test_api_whole import CONFIG, folder, get
from tests.test_claude_whole import CLAUDE, installed, posts
from tests.test_claude_whole import CONFIG as CLAUDE_CONFIG

BLOCK = {
    "type": "image",
    "source": {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(RED_DOT).decode(),
    },
}


async def attached(moot: Service, number: int, text: str, files: Mapping[str, bytes]) -> Any:
    """Say it on the page with files, and wait for the answer."""
    async with program_at(moot.url) as client:
        ids = []
        for name, data in files.items():
            form = aiohttp.FormData()
            form.add_field("file", io.BytesIO(data), filename=name)
            async with client.post("/api/files", data=form) as response:
                assert response.status == 201, await response.text()
                ids += [{"id": kept["id"]} for kept in (await response.json())["files"]]
        who = {"source": "web", "sender_id": "web:andi", "sender_display_name": "Andi"}
        body = {
            "content": text,
            "metadata": {**who, "sender_type": "human"},
            "room": "web:general",
            "message_id": f"m{number}",
            "attachments": ids,
            "wait": 60,
        }
        async with client.post("/api/submit", json=body) as response:
            assert response.status in (200, 202), await response.text()
            [reply] = (await response.json())["replies"]
            return reply


def pictures(body: Mapping[str, Any]) -> list[Any]:
    """The picture blocks of a request to the Messages API."""
    blocks = [
        block
        for message in body["messages"]
        for block in message["content"]
        if isinstance(message["content"], list)
    ]
    return [{k: b[k] for k in ("type", "source")} for b in blocks if b["type"] == "image"]


async def test_the_api_is_sent_the_picture_and_keeps_it_in_the_conversation(
    tmp_path: Path,
) -> None:
    async with BareAPI.open() as api:
        api.when("what is this", "A red dot.")
        environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        async with service(folder(tmp_path), CONFIG, **environment) as moot:
            files = {"dot.png": RED_DOT, "notes.txt": b"notes"}
            reply = await attached(moot, 1, "@claude what is this?", files)
            assert reply["text"] == "A red dot."
            [first] = [request.body for request in api.requests]
            header, picture, context = first["messages"][0]["content"]
            turn = await get(moot.url, f"/api/turns/{reply['turn_id']}")
            assert header["text"] == turn["header"]
            assert picture == BLOCK
            assert context["text"].startswith("[Context: ")

            await moot.kill()
            await moot.start()
            await attached(moot, 2, "@claude and its colour?", {})
            assert pictures(api.requests[-1].body) == [BLOCK]

            wrong = {"large.png": RED_DOT + bytes(MOST_BYTES), "fake.png": b"GIF8, no"}
            await attached(moot, 3, "@claude and these?", wrong)
            assert pictures(api.requests[-1].body) == [BLOCK]
            said = json.dumps(api.requests[-1].body["messages"][-1])
            assert f"(large.png is not shown: it has more than {MOST_BYTES:,} bytes. It is" in said
            assert "(fake.png is not shown: it is no PNG, JPEG, GIF or WebP. It is at /" in said

            [kept] = (tmp_path / "data" / "files").rglob("dot.png")
            kept.unlink()
            await attached(moot, 4, "@claude still there?", {})
            assert pictures(api.requests[-1].body) == []
            assert "(dot.png is not shown: it is not there any more.)" in json.dumps(
                api.requests[-1].body["messages"][0]
            )


@pytest.mark.parametrize("sees", [True, False])
async def test_an_agent_over_acp_gets_it_where_it_says_that_it_takes_pictures(
    tmp_path: Path, sees: bool
) -> None:
    command = [sys.executable, "-m", "tests.doubles.acp_agent", *(["sees"] if sees else [])]
    config = (
        f"{CONFIG}[agents.double]\ndriver = 'acp'\ncommand = {json.dumps(command)}\n"
        f"env = {{ PYTHONPATH = {json.dumps(str(HOUSE))} }}\n"
        f"[sandbox]\nmounts = [{json.dumps(str(HOUSE))}]\n"
    )
    persona = folder(tmp_path) / "personas" / "claude.md"
    persona.write_text("---\nagent: double\n---\n", encoding="utf-8")
    async with service(tmp_path, config) as moot:
        reply = await attached(moot, 1, "@claude what is this?", {"dot.png": RED_DOT})
        assert "I respond" in reply["text"]
        [record] = (tmp_path / "data" / "scopes").rglob("acp.jsonl")
        rows = map(json.loads, record.read_text(encoding="utf-8").splitlines())
        [prompt] = [row for row in rows if row["type"] == "prompt"]
        assert "[attachment: dot.png, image/png, " in prompt["texts"][-1]
        shown = [["image/png", base64.b64encode(RED_DOT).decode()]]
        assert prompt.get("shown", []) == (shown if sees else [])


async def test_claude_code_gets_it_from_slack(tmp_path: Path) -> None:
    installed()
    async with SlackDouble.open() as slack, MessagesAPI.open() as api:
        api.when("what is this", "A red dot.")
        config = CLAUDE_CONFIG.format(slack=slack.api_url, claude=CLAUDE, api=api.url)
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        async with service(tmp_path, config, **secrets, ANTHROPIC_API_KEY=KEY) as moot:
            await slack.delivery.connected()
            file = slack.file("my red dot.png", RED_DOT, "image/png")
            await slack.say(f"<@{BOT_USER}> what is this?", files=(file,))
            assert len(await posts(slack, 1)) == 1
            assert pictures(api.turns[-1].body) == [BLOCK]
            assert "picture.not_taken" not in moot.log()
