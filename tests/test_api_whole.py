"""The whole way: `moot run` with a key and nothing installed, and a double of the model's API."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import psutil

from tests.doubles.api_stage import KEY, BareAPI
from tests.doubles.credentials import program_at
from tests.doubles.model_steps import Fault, Message, Text, ToolUse
from tests.doubles.service import Service, service

CONFIG = '[gateway]\nlisten = "127.0.0.1:0"\ntimezone = "Asia/Jakarta"\n'
PERSONA = "---\nagent: anthropic\nmodel: claude-haiku-5-5\n---\nYou are Claude, an engineer.\n"
ANSWER = """\
It is **15 minutes**, since `auth/jwt.ts` says so: 漢字 👩‍👩‍👧‍👦

| a | b |
|---|---|
| 1 | 2 |"""


def folder(path: Path) -> Path:
    (path / "personas").mkdir()
    (path / "personas" / "claude.md").write_text(PERSONA, encoding="utf-8")
    return path


async def say(url: str, number: int, text: str, room: str = "web:general") -> dict[str, Any]:
    """Say it on the page as Andi, and wait for the answer."""
    body = {
        "content": text,
        "metadata": {
            "source": "web",
            "sender_id": "web:andi",
            "sender_display_name": "Andi",
            "sender_type": "human",
        },
        "room": room,
        "message_id": f"m{number}",
        "wait": 60,
    }
    async with (
        program_at(url) as client,
        client.post("/api/submit", json=body) as response,
    ):
        assert response.status in (200, 202), await response.text()
        receipt: dict[str, Any] = await response.json()
        return receipt


async def get(url: str, path: str) -> Any:
    async with (
        program_at(url) as client,
        client.get(path) as response,
    ):
        return await response.json()


async def test_a_persona_by_api_answers_on_the_page_and_a_kill_loses_nothing(
    tmp_path: Path,
) -> None:
    async with BareAPI.open() as api:
        api.when("expiry", ANSWER)
        api.when("again", "As I said.")
        environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        async with service(folder(tmp_path), CONFIG, **environment) as moot:
            [card] = (await get(moot.url, "/api/personas"))["personas"]
            assert (card["agent"], card["available"]) == ("Anthropic API", True)

            receipt = await say(moot.url, 1, "@claude why is the token expiry 15 minutes? x@y.z")
            [reply] = receipt["replies"]
            assert reply["text"] == ANSWER
            turn = await get(moot.url, f"/api/turns/{reply['turn_id']}")
            [body] = [request.body for request in api.requests]
            header, context = (block["text"] for block in body["messages"][0]["content"])
            assert header == turn["header"]
            assert context.startswith("[Context: Platform=web, User=Andi, Current time for user: ")
            assert context.endswith(" (WIB)]")
            assert body["model"] == "claude-haiku-5-5"
            assert body["system"][0]["text"] == "You are Claude, an engineer."
            [session] = (await get(moot.url, "/api/sessions"))["sessions"]
            assert session["terminal"] is False

            await moot.kill()
            await moot.start()
            receipt = await say(moot.url, 2, "@claude say it again")
            assert [reply["text"] for reply in receipt["replies"]] == ["As I said."]
            roles = [message["role"] for message in api.requests[-1].body["messages"]]
            assert roles == ["user", "assistant", "user"]

            await say(moot.url, 3, "@claude thanks!")
            assert api.requests[-1].body["thinking"] == {"type": "disabled"}
            assert KEY not in moot.log()
            assert "jwt" not in moot.log()


async def test_sixty_rooms_at_once_wait_for_no_place_and_share_one_client(tmp_path: Path) -> None:
    config = f"{CONFIG}[sessions]\nmost = 2\nsleep_s = 1\n"
    async with BareAPI.open() as api:
        environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        async with service(folder(tmp_path), config, **environment) as moot:

            async def ask(number: int) -> list[str]:
                room = f"web:room-{number}"
                receipt = await say(moot.url, number, f"@claude word {number}", room)
                return [reply["text"] for reply in receipt["replies"]]

            for number in range(5):
                assert await ask(number) == ["ok"]
            assert len(api.clients) == 1

            api.default = Message((Text("Held."),), hold=0)
            asked = [asyncio.create_task(ask(number)) for number in range(5, 65)]
            while len(api.requests) < 65:  # none is answered before all are asked
                assert not any(one.done() for one in asked)
                await asyncio.sleep(0.02)
            metrics = await text_of(moot.url, "/metrics")
            assert "moot_sessions_waiting 0.0" in metrics
            assert "moot_sessions 0.0" in metrics
            api.release.set()
            assert await asyncio.gather(*asked) == [["Held."]] * 60
            assert children(moot) == []

            while (await get(moot.url, "/api/sessions"))["sessions"]:  # idle ones are let go
                await asyncio.sleep(0.1)
            assert "moot_sessions_asleep 0.0" in await text_of(moot.url, "/metrics")
            await say(moot.url, 100, "@claude and now?", "web:room-7")
            roles = [message["role"] for message in api.requests[-1].body["messages"]]
            assert roles == ["user", "assistant", "user"]


async def text_of(url: str, path: str) -> str:
    async with program_at(url) as client, client.get(path) as response:
        return await response.text()


def children(moot: Service) -> list[list[str]]:
    return [one.cmdline() for one in psutil.Process(moot.pid).children(recursive=True)]


async def test_it_looks_into_its_memory_by_the_tools_of_its_session(tmp_path: Path) -> None:
    async with BareAPI.open() as api:
        use = ToolUse("mcp__moot__search", {"text": "expiry"})
        api.when("remember", Message((Text("I look."), use)), "Nothing yet.")
        environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        async with service(folder(tmp_path), CONFIG, **environment) as moot:
            receipt = await say(moot.url, 1, "@claude what do you remember?")
            [reply] = receipt["replies"]
            assert reply["text"] == "Nothing yet."
            first, second = (request.body for request in api.requests)
            assert "mcp__moot__search" in {tool["name"] for tool in first["tools"]}
            assert (
                second["messages"][0]["content"][0]["text"]
                == (first["messages"][0]["content"][0]["text"])
            )
            asked, answered = second["messages"][1:]
            assert [block["type"] for block in asked["content"]] == ["text", "tool_use"]
            [result] = answered["content"]
            assert result["tool_use_id"] == asked["content"][1]["id"]
            assert "is_error" not in result
            turn = await get(moot.url, f"/api/turns/{reply['turn_id']}")
            assert turn["answer"]["tools"] == ['search {"text": "expiry"}']


async def test_a_wrong_key_is_told_in_the_room_and_stop_keeps_what_was_said(
    tmp_path: Path,
) -> None:
    async with BareAPI.open() as api:
        api.when("wrong", Fault.unauthorized())
        api.when("slow", Message((Text("Half of it and then the rest"),), delta=10, hold=1))
        environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        async with service(folder(tmp_path), CONFIG, **environment) as moot:
            receipt = await say(moot.url, 1, "@claude wrong")
            assert "refused the key" in receipt["replies"][0]["text"]

            ready = asyncio.Event()
            shown = asyncio.create_task(drafted(moot.url, "Half of it", ready))
            await ready.wait()
            slow = asyncio.create_task(say(moot.url, 2, "@claude slow"))
            await shown
            await say(moot.url, 3, "!stop")
            [reply] = (await slow)["replies"]
            assert reply["text"] == "Half of it\n\n⏹️ I was stopped."


async def drafted(url: str, text: str, ready: asyncio.Event) -> None:
    """Wait until the page was shown a draft; `ready`: it looks."""
    async with (
        asyncio.timeout(30),
        program_at(url) as client,
        client.get("/api/events") as response,
    ):
        ready.set()
        async for line in response.content:
            if line.startswith(b"data:") and json.loads(line[5:]).get("text") == text:
                return


async def test_without_a_key_the_card_says_what_is_missing(tmp_path: Path) -> None:
    async with service(folder(tmp_path), CONFIG) as moot:
        [card] = (await get(moot.url, "/api/personas"))["personas"]
        assert not card["available"]
        assert "ANTHROPIC_API_KEY" in card["hint"]
        receipt = await say(moot.url, 1, "@claude hello?")
        assert "I have no key for the Anthropic API" in receipt["replies"][0]["text"]
