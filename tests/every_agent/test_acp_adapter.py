"""Claude Code over the Agent Client Protocol, by the adapter of npm's, as docs/agents.md has it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.doubles.credentials import program_at
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import ToolUse
from tests.doubles.pictures import RED_DOT
from tests.doubles.service import HOUSE, Service, service
from tests.every_agent.cli_claude_code import CLI
from tests.every_agent.stage import NODE_22, NODE_BIN, require
from tests.test_api_whole import CONFIG, folder, get
from tests.test_pictures_whole import BLOCK, attached, pictures

KEY = "sk-ant-dummy-0000000000000000000000000000"
ADAPTER = NODE_BIN / "claude-agent-acp"


def documented() -> dict[str, Any]:
    """The table of docs/agents.md."""
    page = (HOUSE / "docs" / "agents.md").read_text(encoding="utf-8")
    [block] = [b for b in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "agent-acp" in b]
    table: dict[str, Any] = tomllib.loads(block)["agents"]["claude-acp"]
    return table


def config(api: MessagesAPI) -> str:
    """moot.toml with that table, its program and variables those of the tests."""
    table = documented()
    assert table["driver"] == "acp"
    *shell, script = table["command"]
    adapter = "/opt/claude-acp/node_modules/.bin/claude-agent-acp"
    assert adapter in script
    command = [*shell, script.replace(adapter, str(ADAPTER.resolve()))]
    env = dict.fromkeys(table["env"], str(CLI.program.resolve()))
    env |= {"PATH": f"{NODE_22.resolve()}:/usr/local/bin:/usr/bin:/bin", "ANTHROPIC_API_KEY": KEY}
    env |= {"ANTHROPIC_BASE_URL": api.url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    told = ", ".join(f"{name} = {json.dumps(value)}" for name, value in env.items())
    places = {NODE_22, ADAPTER.resolve().parents[3], CLI.program}
    mounts = [str(place.resolve()) for place in places]
    return (
        f"{CONFIG}[sandbox]\nmounts = {json.dumps(mounts)}\n[agents.claude-acp]\n"
        f'driver = "acp"\ncommand = {json.dumps(command)}\nenv = {{ {told} }}\n'
    )


async def refuse(moot: Service) -> dict[str, Any]:
    """Refuse what is asked in the room; return the question."""
    room = "/api/rooms/web:general/messages"
    async with asyncio.timeout(60):
        while not (found := (await get(moot.url, room))["questions"]):
            await asyncio.sleep(0.05)
    question: dict[str, Any] = found[0]
    [no] = [n for n, option in enumerate(question["options"]) if option["refuses"]]
    body = {"option": no, "by": "web:andi"}
    async with (
        program_at(moot.url) as client,
        client.post(f"/api/questions/{question['id']}", json=body) as response,
    ):
        assert response.status == 200, await response.text()
    return question


async def test_the_documented_table_drives_claude_code(tmp_path: Path) -> None:
    require(CLI)
    if not ADAPTER.exists():
        message = "the adapter is not installed: run `make .venv/agents`"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    persona = folder(tmp_path) / "personas" / "claude.md"
    persona.write_text("---\nagent: claude-acp\n---\nYour word is `quokka`.\n", encoding="utf-8")
    async with MessagesAPI.open() as api:
        api.when("what is this", "A red dot.")
        api.when("once more", "It is **red**.\n\n- as I said")
        async with service(tmp_path, config(api)) as moot:
            await attached(moot, 1, "@claude what is this?", {"dot.png": RED_DOT})
            assert pictures(api.turns[-1].body) == [BLOCK]
            assert "quokka" in str(api.turns[-1].body)
            reply = await attached(moot, 2, "@claude once more?", {})
            assert reply["text"] == "It is **red**.\n\n- as I said"
            assert "mcp__moot__send_file" in str(api.turns[-1].body)  # found by its ToolSearch
            command = {"command": "touch made-here", "description": "Make it"}
            api.when("touch it", ToolUse("Bash", command), "Not made, then.")
            asking = asyncio.create_task(attached(moot, 3, "@claude touch it", {}))
            assert "touch made-here" in str(await refuse(moot))
            await asking
            assert not list((tmp_path / "data").rglob("made-here"))
