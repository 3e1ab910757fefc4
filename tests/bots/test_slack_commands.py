"""`/moot ...`: taken within three seconds, said as if it was typed, private where it should be."""

import asyncio
import time
from collections.abc import Callable

import pytest

from bots.slack.bot import SlackBot
from bots.slack.events import Account, Channel, CommandUse, commander, parse_event
from contract.chat import Destination, Room
from tests.bots.test_slack_http import posted, served, settled, stamped
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.slack import DM, GENERAL, OLIVIA, SlackDouble

MakeSlackBot = Callable[..., SlackBot]
ROOM = Room(f"slack:{GENERAL}", "general")
OWN = Account("U0BOT", "B0BOT")


async def test_a_slash_command_is_what_one_would_type(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot()
    async with running(bot, inbox):
        await slack.delivery.connected()
        given = slack.command("status")
        await inbox.kept(1)
        async with asyncio.timeout(PATIENCE_S):
            await given.over.wait()
        (message,) = inbox.messages
        await bot.post(Destination(message.room), "All is well.", "k1")
        private = Destination(message.room, only_for=message.message_id)
        await bot.post(private, "What I know of you", "k2")
    assert (message.content, message.mentioned) == ("/moot status", True)
    assert message.room == ROOM
    assert message.meta.sender_id == f"slack:{OLIVIA}"
    assert message.thread_id is None, "there is no message that could begin a thread"
    assert given.answer == {"response_type": "ephemeral", "text": "`/moot status`"}
    assert slack.texts() == ["All is well."]
    assert slack.whispers == [(GENERAL, OLIVIA, "What I know of you")]


async def test_a_slash_command_in_a_direct_message_is_one_there(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        await slack.delivery.connected()
        slack.command("memory", channel=DM)
        await inbox.kept(1)
    (message,) = inbox.messages
    assert (message.room.kind, message.room.name) == ("dm", "Olivia")


async def test_over_http_it_is_signed_and_acknowledged_in_time(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with served(slack, slack_bot(mode="http"), inbox) as url:
        given = slack.command("why")
        await inbox.kept(1)
        await settled(slack)
        assert given.statuses == [200]
        headers, body = slack.delivery.request(given)
        forged = {**headers, "X-Slack-Signature": "v0=" + "0" * 64}
        assert (await posted(url, body, forged))[0] == 401
        changed = body.replace(b"text=why", b"text=new")
        assert (await posted(url, changed, headers))[0] == 401
        stale = stamped(slack, body, str(int(time.time()) - 400))
        old = {**stale, "Content-Type": headers["Content-Type"]}
        assert (await posted(url, body, old))[0] == 401
        status, answered = await posted(url, body, headers)
    assert (status, answered) == (200, '{"response_type": "ephemeral", "text": "`/moot why`"}')
    assert {message.content for message in inbox.messages} == {"/moot why"}
    assert len({message.message_id for message in inbox.messages}) == 1


@pytest.mark.parametrize(
    ("command", "text", "content"),
    [
        ("/moot", "", "/moot"),
        ("/moot", "pin a &lt; b", "/moot pin a < b"),
        ("/status", "", "/moot status"),
        ("/pin", "this", "/moot pin this"),
    ],
)
def test_any_command_of_the_app_is_read(command: str, text: str, content: str) -> None:
    payload = {
        "command": command,
        "text": text,
        "user_id": "U1",
        "channel_id": "C1",
        "trigger_id": "1.2.x",
    }
    assert parse_event(payload, OWN) == CommandUse(
        Channel("C1", None), "U1", "slash:U1:1.2.x", content
    )
    assert commander("slash:U1:1.2.x") == "U1"
    assert commander("1700000000.000100") == ""


def test_a_command_without_a_channel_is_said_to_be_unreadable() -> None:
    with pytest.raises(ValueError, match="channel_id"):
        parse_event({"command": "/moot", "user_id": "U1", "trigger_id": "1.2.x"}, OWN)
