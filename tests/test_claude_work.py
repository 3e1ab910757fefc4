"""The work of the real Claude Code, as people in Slack and on the page are shown it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from tests.doubles.credentials import program_at
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import Message, Text, ToolUse
from tests.doubles.service import service
from tests.doubles.slack import BOT_USER, OLIVIA, SlackDouble
from tests.test_claude_whole import CLAUDE, CONFIG, KEY, installed

APP = "def total(rows):\n    return sum(rows)\n\n\nPRICE = 3\n"
WORK = {
    "summary": "3 tools, 1 file changed, 1 of 2 to-dos done",
    "steps": [
        {"mark": "✓", "text": "Read app.py", "state": "done", "note": "", "changes": []},
        {"mark": "✓", "text": "Edit app.py", "state": "done", "note": "",
         "changes": [{"path": "app.py", "added": 2, "removed": 1}]},
        {"mark": "✗", "text": "Bash exit 3", "state": "failed", "note": "exit 3", "changes": []},
    ],
    "todos": [
        {"mark": "☑", "text": "Raise the price", "state": "done"},
        {"mark": "☐", "text": "Run the tests", "state": "open"},
    ],
    "left_out": 0,
}  # fmt: skip
ANSWER = "The price is 4 now, and the tests fail."


def script(api: MessagesAPI, app: Path) -> None:
    """A turn of three tools, of which one edits and one fails, and a list of what is to do."""
    api.when(
        "raise the price",
        Message((
            ToolUse("TaskCreate", {"subject": "Raise the price", "description": "by one"}),
            ToolUse("TaskCreate", {"subject": "Run the tests", "description": "all"}),
        )),
        ToolUse("Read", {"file_path": str(app)}),
        Message((
            Text("I change it."),
            ToolUse("Edit", {
                "file_path": str(app), "old_string": "PRICE = 3", "new_string": "PRICE = 4\nTAX = 1"
            }),
        )),
        ToolUse("TaskUpdate", {"taskId": "1", "status": "completed"}),
        ToolUse("Bash", {"command": f"cd {app.parent} && exit 3", "description": "Run the tests"}),
        Message((Text(ANSWER),), hold=0),
    )  # fmt: skip


async def allow_all(slack: SlackDouble) -> None:
    """Olivia presses Yes wherever she is asked."""
    pressed: set[str] = set()
    while True:
        for ts, message in list(slack.messages["C0GENERAL"].items()):
            labels = [
                element.get("text", {}).get("text", "")
                for block in message.get("blocks") or ()
                for element in block.get("elements", ())
                if element.get("type") == "button"
            ]
            if labels and ts not in pressed:
                pressed.add(ts)
                await slack.press("C0GENERAL", ts, labels[0], OLIVIA)
        await asyncio.sleep(0.05)


def work_of(timeline: Mapping[str, Any]) -> Mapping[str, Any]:
    """The work of the turn that runs, as far as it is shown."""
    return next((turn["work"] or {} for turn in timeline["turns"]), {})


def is_ended(work: Mapping[str, Any]) -> bool:
    steps = work.get("steps", ())
    return len(steps) == 3 and all(step["state"] != "running" for step in steps)


@dataclass(frozen=True)
class StreamedDraft:
    """What stands in a message that grows: the tasks with their states, and the words."""

    cards: Mapping[str, str]
    words: str


def draft_of(slack: SlackDouble) -> StreamedDraft | None:
    """The one that grows now."""
    for message in slack.messages["C0GENERAL"].values():
        if message.get("streaming_state") == "in_progress":
            cards = (block for block in message["blocks"] if block["type"] == "task_card")
            told = {card["title"]: card["status"] for card in cards}
            return StreamedDraft(told, message["text"])
    return None


DRAFT = StreamedDraft(
    {
        "Read app.py": "complete",
        "Edit app.py +2 −1": "complete",
        "Bash exit 3": "error",
        "Raise the price": "complete",
        "Run the tests": "pending",
    },
    "I change it.",
)


async def timeline(client: aiohttp.ClientSession) -> Mapping[str, Any]:
    async with client.get("/api/rooms/slack:C0GENERAL/messages") as response:
        found: Mapping[str, Any] = await response.json()
    return found


async def test_three_tools_and_an_edit_are_shown_while_they_run_and_with_the_answer(
    tmp_path: Path,
) -> None:
    installed()
    work = tmp_path / "work"
    work.mkdir()
    app = work / "app.py"
    app.write_text(APP)
    async with SlackDouble.open() as slack, MessagesAPI.open() as api:
        script(api, app)
        config = CONFIG.format(slack=slack.api_url, claude=CLAUDE, api=api.url)
        config = config.replace("[access]", f'workspace = "{work}"\n[access]')
        config = config.replace("env = { ", 'env = { CLAUDE_CODE_ENABLE_TODO_TOOLS = "1", ')
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        async with (
            service(tmp_path, config, **secrets, ANTHROPIC_API_KEY=KEY) as moot,
            program_at(moot.url) as client,
            asyncio.timeout(180),
        ):
            await slack.delivery.connected()
            pressing = asyncio.create_task(allow_all(slack))
            await slack.say(f"<@{BOT_USER}> raise the price")
            await api.holding.wait()
            while not is_ended(work_of(await timeline(client))):
                await asyncio.sleep(0.05)
            while not (draft := draft_of(slack)) or draft.cards.get("Bash exit 3") != "error":
                await asyncio.sleep(0.05)
            assert draft == DRAFT
            api.release.set()
            while not (said := (await timeline(client))["messages"])[-1]["turn_id"]:
                await asyncio.sleep(0.05)
            pressing.cancel()
            assert said[-1]["text"] == ANSWER
            assert said[-1]["work"] == WORK
            own = list(slack.messages["C0GENERAL"].values())
            (answer,) = (message for message in own if message["text"] == ANSWER)
            note = own[-1]
            assert answer["blocks"] == []
            assert [block["type"] for block in note["blocks"]] == ["context"]
            assert [m["text"] for m in said if "tools" in m["text"]] == []
            assert note["blocks"][0]["elements"][0]["text"] == WORK["summary"]
