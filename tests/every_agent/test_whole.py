"""The whole way, for every agent: a Slack and a page, `moot run`, the real program, its model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.doubles.credentials import program_at
from tests.doubles.scripted_api import ScriptedAPI
from tests.doubles.service import Service, service
from tests.doubles.slack import BOT_USER, OLIVIA, SlackDouble
from tests.every_agent.stage import Cli

pytestmark = pytest.mark.asyncio(loop_scope="session")

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
[[bots]]
platform = "slack"
personas = ["helper"]
api_url = "{slack}"
[agents.tried]
profile = "{profile}"
command = "{program}"
env = {{ {env} }}
[access]
rooms = "open"
approvers = ["slack:U0OLIVIA1"]
"""
LONG = "\n".join(
    [
        "# The expiry",
        "",
        "It is **15 minutes** because `auth/jwt.ts` says so: 漢字かな 한국어 é.",
        "",
        "| who | wants |",
        "|---|---:|",
        *(f"| person {n} | {n} min |" for n in range(20)),
        "",
        "```ts",
        *(f"export const ttl{n} = {n} * 60; // {'wide ' * (n % 30)}&<>" for n in range(120)),
        "```",
        "",
        "It ends like a prompt: >",
    ]
)
TURN_S = 90.0


def configured(cli: Cli, api: ScriptedAPI[Any], slack: SlackDouble) -> str:
    """moot.toml for the agent, as an administrator would write it."""
    env = ", ".join(f"{name} = '{value}'" for name, value in cli.env(api.url).items())
    return CONFIG.format(
        slack=slack.api_url, profile=cli.profile.name, program=cli.program, env=env
    )


@asynccontextmanager
async def room(
    cli: Cli, folder: Path
) -> AsyncIterator[tuple[SlackDouble, ScriptedAPI[Any], Service]]:
    """A running Moot with the agent in a Slack."""
    (folder / "personas").mkdir()
    model = f"model: {cli.model}\n" if cli.model else ""
    (folder / "personas" / "helper.md").write_text(f"---\nagent: tried\n{model}---\nYou help.\n")
    async with SlackDouble.open() as slack, cli.api.open() as api:
        tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        async with service(folder, configured(cli, api, slack), **tokens) as moot:
            await slack.delivery.connected()
            yield slack, api, moot


async def answer_of(url: str, room_id: str, count: int) -> Mapping[str, Any]:
    """The record of a room's `count`-th turn, once it is over."""
    async with (
        program_at(url) as client,
        asyncio.timeout(TURN_S),
    ):
        while True:
            async with client.get(f"/api/rooms/{room_id}/messages") as response:
                messages = (await response.json()).get("messages", [])
            turns = list(dict.fromkeys(m["turn_id"] for m in messages if m["turn_id"]))
            if len(turns) >= count:
                async with client.get(f"/api/turns/{turns[count - 1]}") as response:
                    turn: Mapping[str, Any] = await response.json()
                if turn["state"] == "posted":
                    return turn
            await asyncio.sleep(0.2)


async def said_on_the_page(url: str, text: str) -> list[str]:
    """What is answered to a message in a room of the page."""
    message = {
        "content": text,
        "metadata": {
            "source": "web",
            "sender_id": "web:andi",
            "sender_display_name": "Andi",
            "sender_type": "human",
        },
        "room": {"id": "web:lab", "name": "lab"},
        "wait": TURN_S,
    }
    async with (
        program_at(url) as client,
        client.post("/api/submit", json=message) as response,
    ):
        return [reply["text"] for reply in (await response.json())["replies"]]


async def asked(slack: SlackDouble) -> Mapping[str, Any]:
    """The message whose buttons wait."""
    async with asyncio.timeout(TURN_S):
        while True:
            for message in slack.messages["C0GENERAL"].values():
                if len(message.get("blocks") or ()) > 1:
                    return message
            await asyncio.sleep(0.05)


async def test_a_room_gets_the_models_words_and_a_killed_house_goes_on(
    cli: Cli, tmp_path: Path
) -> None:
    async with room(cli, tmp_path) as (slack, api, moot):
        api.when("expiry", LONG)
        await slack.say(f"<@{BOT_USER}> why is the token expiry only 15 minutes?")
        turn = await answer_of(moot.url, "slack:C0GENERAL", 1)
        assert turn["answer"]["text"] == LONG
        posted = "\n".join(slack.texts())
        assert [n for n in range(120) if f"export const ttl{n} = " not in posted] == []
        assert all(text.count("```") % 2 == 0 for text in slack.texts())

        api.when("on the page", "Here too.")
        assert await said_on_the_page(moot.url, "@helper on the page?") == ["Here too."]

        await moot.kill()
        await moot.start()
        await slack.delivery.connected()
        api.when("once more", "As I said.")
        await slack.say(f"<@{BOT_USER}> say it once more")
        turn = await answer_of(moot.url, "slack:C0GENERAL", 2)
        assert turn["answer"]["text"] == "As I said."
        if cli.profile.program.resume:
            assert "It ends like a prompt" in str(api.turns[-1].body)


async def test_a_button_allows_a_command(cli: Cli, tmp_path: Path) -> None:
    if cli.shell is None:
        pytest.skip("it asks for no permission")
    async with room(cli, tmp_path) as (slack, api, _):
        api.when("touch", cli.shell("touch made.txt"), "It is there.")
        await slack.say(f"<@{BOT_USER}> please touch the file")
        question = await asked(slack)
        assert "touch made.txt" in question["text"]
        assert list(tmp_path.rglob("made.txt")) == []
        options = [
            element["text"]["text"]
            for block in question["blocks"]
            for element in block.get("elements", [])
            if "text" in element and isinstance(element["text"], dict)
        ]
        await slack.press("C0GENERAL", question["ts"], options[0], OLIVIA)
        async with asyncio.timeout(TURN_S):
            while "It is there." not in slack.texts():
                await asyncio.sleep(0.05)
        assert len(list(tmp_path.rglob("made.txt"))) == 1
