"""A file that an agent hands over, the real Claude Code or one by API: in Slack, on the page, and
once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.doubles.api_stage import BareAPI
from tests.doubles.credentials import program_at
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import ToolUse
from tests.doubles.service import Service, service
from tests.doubles.slack import BOT_USER, SlackDouble
from tests.doubles.slack_wire import Fault
from tests.test_claude_whole import CLAUDE, CONFIG, KEY, installed
from tests.test_claude_work import timeline

PLOT = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
SAID = "Here is the plot."
LAST_STEP = "files.completeUploadExternal"


@asynccontextmanager
async def claude(tmp_path: Path) -> AsyncIterator[tuple[SlackDouble, MessagesAPI, Service]]:
    """Claude Code in a Slack, with a plot in its workspace."""
    installed()
    work = tmp_path / "work"
    work.mkdir()
    (work / "plot.png").write_bytes(PLOT)
    async with SlackDouble.open() as slack, MessagesAPI.open() as api:
        api.when(
            "plot it",
            ToolUse("mcp__moot__send_file", {"path": "plot.png", "comment": "The prices"}),
            ToolUse("mcp__moot__send_file", {"path": "/etc/passwd"}),
            SAID,
        )
        config = CONFIG.format(slack=slack.api_url, claude=CLAUDE, api=api.url)
        config = config.replace("[access]", f'workspace = "{work}"\n[access]')
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        async with (
            service(tmp_path, config, **secrets, ANTHROPIC_API_KEY=KEY) as moot,
            asyncio.timeout(120),
        ):
            await slack.delivery.connected()
            yield slack, api, moot


def shared(slack: SlackDouble) -> list[Any]:
    """The files that were posted, with their comments, and the thread each is in."""
    return [
        (message["text"], [file["name"] for file in message["files"]], message["thread_ts"])
        for message in slack.messages["C0GENERAL"].values()
        if message.get("subtype") == "file_share"
    ]


async def answer(moot: Service) -> dict[str, Any]:
    """The answer's message, as the page has it."""
    async with program_at(moot.url) as client:
        while True:
            messages = (await timeline(client)).get("messages", ())
            if found := [message for message in messages if message["turn_id"]]:
                return dict(found[-1])
            await asyncio.sleep(0.05)


async def test_a_file_in_its_workspace_is_posted_with_the_answer_and_no_other(
    tmp_path: Path,
) -> None:
    async with claude(tmp_path) as (slack, api, moot):
        asked = await slack.say(f"<@{BOT_USER}> plot it")
        said = await answer(moot)
        assert said["text"] == SAID
        assert shared(slack) == [("The prices", ["plot.png"], asked)]
        assert [file.data for file in slack.files.values()] == [PLOT]
        (file,) = said["attachments"]
        assert (file["name"], file["mime"], file["image"]) == ("plot.png", "image/png", True)
        async with program_at(moot.url) as client, client.get(file["url"]) as response:
            assert await response.read() == PLOT
        told = str(api.turns[-1].body["messages"])
        assert "plot.png (10,248 bytes) is posted with your answer." in told
        assert "Not sent: only files in your working directory can be sent" in told


async def test_where_the_platform_refuses_the_file_people_are_told(tmp_path: Path) -> None:
    async with claude(tmp_path) as (slack, _, moot):
        slack.fail(LAST_STEP, Fault("error", code="file_sharing_disabled"))
        await slack.say(f"<@{BOT_USER}> plot it")
        said = await answer(moot)
        assert [file["name"] for file in said["attachments"]] == ["plot.png"]
        line = "(plot.png could not be posted here; it is on the page, with this answer.)"
        assert slack.texts()[:2] == [SAID, line]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_file_is_posted_once_through_a_kill(
    tmp_path: Path, when: Literal["before", "after"]
) -> None:
    """Slack takes the upload, or doesn't, and Moot is killed before it knows."""
    async with claude(tmp_path) as (slack, api, moot):
        release = asyncio.Event()
        if when == "before":
            slack.fail(LAST_STEP, Fault("hang", release=release))
        else:
            slack.fail(LAST_STEP, Fault("cut", "after"))
            slack.fail("conversations.replies", Fault("500"), times=1000)
        asked = await slack.say(f"<@{BOT_USER}> plot it")
        while not slack.called(LAST_STEP):
            await asyncio.sleep(0.05)
        await moot.kill()
        release.set()
        slack.faults.clear()
        turns = len(api.turns)
        await moot.start()
        said = await answer(moot)
        assert said["text"] == SAID
        assert [file["name"] for file in said["attachments"]] == ["plot.png"]
        assert shared(slack) == [("The prices", ["plot.png"], asked)]
        assert slack.texts().count(SAID) == 1
        assert len(api.turns) == turns


async def test_an_agent_by_api_hands_over_a_file_of_its_workspace_once(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "plot.png").write_bytes(PLOT)
    send = "mcp__moot__send_file"
    async with SlackDouble.open() as slack, BareAPI.open() as api:
        uses = {"path": "plot.png", "comment": "The prices"}, {"path": "/etc/passwd"}
        api.when("plot it", *(ToolUse(send, use) for use in uses), SAID)
        agent = f"""profile = "anthropic"\nworkspace = "{work}"\n[access]"""
        config = CONFIG.format(slack=slack.api_url, claude="", api=api.url)
        before, _, after = config.partition('profile = "claude-code"')
        config = before + agent + after.partition("[access]")[2]
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        secrets |= {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        async with service(tmp_path, config, **secrets) as moot, asyncio.timeout(60):
            await slack.delivery.connected()
            asked = await slack.say(f"<@{BOT_USER}> plot it")
            said = await answer(moot)
            assert said["text"] == SAID
            assert shared(slack) == [("The prices", ["plot.png"], asked)]
            assert [file.data for file in slack.files.values()] == [PLOT]
            (file,) = said["attachments"]
            async with program_at(moot.url) as client, client.get(file["url"]) as response:
                assert await response.read() == PLOT
            told = str(api.requests[-1].body["messages"])
            assert "plot.png (10,248 bytes) is posted with your answer." in told
            assert "Not sent: only files in your working directory can be sent" in told
            await moot.kill()
            await moot.start()
            assert (await answer(moot))["attachments"] == [file]
            assert len(shared(slack)) == 1
