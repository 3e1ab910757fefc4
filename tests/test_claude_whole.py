"""The whole way: a Slack, `moot run`, the real Claude Code, and a double of its model."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.doubles.credentials import program_at
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import ToolUse
from tests.doubles.service import HOUSE, service
from tests.doubles.slack import ASH, BOT_USER, OLIVIA, SlackDouble

CLAUDE = HOUSE / "tests" / "agents" / "node_modules" / ".bin" / "claude"
CONFIG = """
[gateway]
listen = "127.0.0.1:0"
[[bots]]
platform = "slack"
personas = ["claude"]
api_url = "{slack}"
[agents.claude-code]
profile = "claude-code"
command = "{claude}"
env = {{ ANTHROPIC_BASE_URL = "{api}", CLAUDE_CODE_MAX_RETRIES = "2" }}
[access]
rooms = "open"
approvers = ["slack:U0OLIVIA1"]
"""
KEY = "sk-ant-test-00000000000000000000000000000000"
LONG = "\n".join(
    [
        "# The expiry",
        "",
        "It is **15 minutes** because `auth/jwt.ts` says so: 漢字かな 한국어 👩‍👩‍👧‍👦 🇩🇪 é.",
        "",
        "| who | wants |",
        "|---|---:|",
        *(f"| person {n} | {n} min |" for n in range(40)),
        "",
        "```ts",
        *(f"export const ttl{n} = {n} * 60; // {'wide ' * (n % 30)}&<>" for n in range(150)),
        "```",
        "",
        "It ends like a prompt: >",
    ]
)


def installed() -> None:
    if not CLAUDE.exists():
        message = "Claude Code is not installed in tests/agents: make test does it where npm is"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)


async def posts(slack: SlackDouble, count: int) -> list[str]:
    """What the bot posted, once there is an answer of at least `count` posts and no more come."""
    async with asyncio.timeout(90):
        before = -1
        while len(slack.texts()) < count or before != len(slack.texts()):
            before = len(slack.texts())
            await asyncio.sleep(1)
    return slack.texts()


async def last_turn(url: str) -> dict[str, object]:
    async with program_at(url) as client:
        async with client.get("/api/rooms/slack:C0GENERAL/messages") as response:
            messages = (await response.json())["messages"]
        turn_id = [m["turn_id"] for m in messages if m["turn_id"]][-1]
        async with client.get(f"/api/turns/{turn_id}") as response:
            record: dict[str, object] = await response.json()
            return record


async def test_a_mention_in_slack_gets_the_models_words_and_a_restart_keeps_the_session(
    tmp_path: Path,
) -> None:
    installed()
    async with SlackDouble.open() as slack, MessagesAPI.open() as api:
        api.when("expiry", LONG)
        api.when("again", "As I said.")
        config = CONFIG.format(slack=slack.api_url, claude=CLAUDE, api=api.url)
        async with service(
            tmp_path,
            config,
            SLACK_BOT_TOKEN=slack.bot_token,
            SLACK_APP_TOKEN=slack.app_token,
            ANTHROPIC_API_KEY=KEY,
        ) as moot:
            await slack.delivery.connected()
            await slack.say(f"<@{BOT_USER}> why is the token expiry only 15 minutes?")
            said = await posts(slack, 2)
            turn = await last_turn(moot.url)
            assert turn["answer"]["text"] == LONG  # type: ignore[index]
            assert turn["header"].strip() in api.prompt.replace("\u2060", "")  # type: ignore[attr-defined]
            whole = "\n".join(said)
            assert [n for n in range(150) if f"export const ttl{n} = " not in whole] == []
            assert [n for n in range(40) if not re.search(rf"person {n}\b", whole)] == []
            assert whole.count("```") % 2 == 0
            assert all(text.count("```") % 2 == 0 for text in said)

            await moot.kill()
            await moot.start()
            await slack.delivery.connected()
            await slack.say(f"<@{BOT_USER}> say it again")
            assert (await posts(slack, len(said) + 1))[len(said) :] == ["As I said."]
            assert "It ends like a prompt" in str(api.turns[-1].body["messages"])
            assert "ANTHROPIC" not in moot.log()
            assert "sk-ant-test" not in moot.log()


async def asked(slack: SlackDouble) -> dict[str, Any]:
    """The message whose buttons wait."""
    async with asyncio.timeout(60):
        while True:
            for message in slack.messages["C0GENERAL"].values():
                if len(message.get("blocks") or ()) > 1:
                    return message
            await asyncio.sleep(0.05)


async def test_a_tool_runs_when_somebody_allowed_presses_the_button_and_nobody_else(
    tmp_path: Path,
) -> None:
    installed()
    async with SlackDouble.open() as slack, MessagesAPI.open() as api:
        api.when(
            "touch", ToolUse("Bash", {"command": "touch made.txt && echo made"}), "It is there."
        )
        config = CONFIG.format(slack=slack.api_url, claude=CLAUDE, api=api.url)
        async with service(
            tmp_path,
            config,
            SLACK_BOT_TOKEN=slack.bot_token,
            SLACK_APP_TOKEN=slack.app_token,
            ANTHROPIC_API_KEY=KEY,
        ):
            await slack.delivery.connected()
            await slack.say(f"<@{BOT_USER}> please touch the file", ASH)
            question = await asked(slack)
            assert "touch made.txt &amp;&amp; echo made" in question["text"]
            await slack.press("C0GENERAL", question["ts"], "Yes", ASH)
            await asyncio.sleep(1)
            assert list(tmp_path.rglob("made.txt")) == []
            await slack.press("C0GENERAL", question["ts"], "Yes", OLIVIA)
            async with asyncio.timeout(60):
                while "It is there." not in slack.texts():
                    await asyncio.sleep(0.05)
            assert len(list(tmp_path.rglob("made.txt"))) == 1
            decided = slack.messages["C0GENERAL"][question["ts"]]
            assert "Yes (Olivia)" in decided["text"]
            assert not decided.get("blocks")
