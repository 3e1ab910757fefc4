"""Files that people share in Slack."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bots.slack.bot import SlackBot
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.slack import SlackDouble

MakeSlackBot = Callable[..., SlackBot]


async def test_a_shared_file_is_on_disk_when_the_message_comes(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot, tmp_path: Path
) -> None:
    file = slack.file("../../q3 numbers.csv", b"a,b\n1,2\n", "text/csv")
    async with running(slack_bot(), inbox):
        await slack.say("see", files=(file,), times=2)
        await inbox.kept(1)
        async with asyncio.timeout(PATIENCE_S):
            await slack.delivery.settled()
    (message,) = inbox.messages
    (attachment,) = message.attachments
    assert (attachment.name, attachment.mime, attachment.size_bytes) == (
        "../../q3 numbers.csv",
        "text/csv",
        8,
    )
    assert attachment.path is not None
    path = Path(attachment.path)
    assert path.read_bytes() == b"a,b\n1,2\n"
    assert path.resolve().is_relative_to(tmp_path / "files")


@pytest.mark.parametrize("trouble", ["too large", "no scope", "broken"])
async def test_a_file_that_cannot_be_had_is_told_without_a_path(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot, tmp_path: Path, trouble: str
) -> None:
    file = slack.file("data.bin", b"x" * 2_000, "application/octet-stream")
    info = slack.file_info(file)
    if trouble == "no scope":
        slack.scopes.discard("files:read")
    if trouble == "broken":
        info["url_private_download"] = f"{slack.base}/no/such/file"
    bot = slack_bot(max_file_bytes=1_000 if trouble == "too large" else 10_000)
    async with running(bot, inbox):
        await slack.say("see", files=(info,))
        await inbox.kept(1)
        await asyncio.wait_for(slack.delivery.settled(), PATIENCE_S)
    (attachment,) = inbox.messages[0].attachments
    assert (attachment.name, attachment.path) == ("data.bin", None)
    assert not [path for path in (tmp_path / "files").rglob("*") if path.is_file()]


@pytest.mark.parametrize("url", ["{thief}/files/{file}/x", "//x", "https://slack.com.evil/x", ""])
async def test_the_token_does_not_travel_to_other_hosts(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot, url: str
) -> None:
    async with SlackDouble.open() as thief:
        file = thief.file("x", b"x")
        target = url.format(thief=thief.base, file=file)
        info = {"id": file, "name": "x", "size": 1, "url_private": target}
        async with running(slack_bot(), inbox):
            await slack.say("see", files=(info,))
            await inbox.kept(1)
        assert thief.downloads == []
    assert inbox.messages[0].attachments[0].path is None


async def test_a_file_from_a_shared_channel_is_looked_up(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    file = slack.file("plan.txt", b"plan")
    stub = {"id": file, "mode": "file_access", "file_access": "check_file_info"}
    async with running(slack_bot(), inbox):
        await slack.say("see", files=(stub,))
        await inbox.kept(1)
    (attachment,) = inbox.messages[0].attachments
    assert (attachment.name, attachment.size_bytes) == ("plan.txt", 4)
