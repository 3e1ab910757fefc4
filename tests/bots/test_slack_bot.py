"""The bot in Socket Mode against the double: what people do there, and what the gateway gets."""

import asyncio
from collections.abc import Callable

import pytest

from bots.slack.bot import SlackBot
from contract.agent import Option, Question
from contract.chat import Chosen, Deleted, Destination, Edited, Pinned, Room
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.slack import (
    ASH,
    BOT_ID,
    BOT_USER,
    CODEX,
    DM,
    GENERAL,
    GROUP_DM,
    OLIVIA,
    Fault,
    SlackDouble,
)

MakeSlackBot = Callable[..., SlackBot]
ROOM = Room(f"slack:{GENERAL}", "general")


async def settled(slack: SlackDouble) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await slack.delivery.settled()


async def test_a_mention_comes_twice_and_is_told_once(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        ts = await slack.say(f"<@{BOT_USER}> why &lt;15 minutes?")
        await inbox.kept(1)
        await settled(slack)
    assert [envelope.sent for envelope in slack.delivery.envelopes] == [1, 1]
    (message,) = inbox.messages
    assert message.content == f"<@{BOT_USER}> why <15 minutes?"
    assert message.mentioned
    assert message.message_id == ts
    assert message.room == ROOM
    assert message.meta.sender_id == f"slack:{OLIVIA}"
    assert message.meta.sender_display_name == "Olivia"
    assert message.meta.mention_token == f"<@{OLIVIA}>"
    assert message.meta.channel_external_id == GENERAL
    assert message.meta.trigger_rag
    assert message.meta.recipient_id == "bot:claude"


async def test_a_message_to_nobody_is_told_without_a_recipient(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        await slack.say("lunch?", ASH)
        await inbox.kept(1)
    (message,) = inbox.messages
    assert (message.mentioned, message.meta.trigger_rag) == (False, False)
    assert message.meta.recipient_id is None


async def test_without_the_need_of_a_mention_recall_may_run_for_every_message(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(require_mention=False), inbox):
        await slack.say("lunch?", ASH)
        await inbox.kept(1)
    assert inbox.messages[0].meta.trigger_rag


@pytest.mark.parametrize(
    ("channel", "kind", "name"),
    [
        (DM, "dm", "Olivia"),
        (GROUP_DM, "gdm", "mpdm-olivia--ash--claude-1"),
        ("G0PRIVATE", "room", "secret"),
    ],
)
async def test_a_room_is_of_its_kind_by_either_delivery(
    slack: SlackDouble,
    inbox: Inbox,
    slack_bot: MakeSlackBot,
    channel: str,
    kind: str,
    name: str,
) -> None:
    async with running(slack_bot(), inbox):
        mention = {"type": "app_mention", "user": OLIVIA, "channel": channel, "ts": "1.000001"}
        slack.delivery.event({**mention, "text": f"<@{BOT_USER}>"})
        await inbox.kept(1)
        await slack.say("plain", channel=channel)
        await inbox.kept(2)
    assert {(m.room.kind, m.room.name) for m in inbox.messages} == {(kind, name)}


async def test_the_bot_does_not_hear_itself_but_hears_other_bots(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot()
    async with running(bot, inbox):
        await slack.delivery.connected()
        await bot.post(Destination(ROOM), "my own words", "k")
        await slack.say("echo", BOT_USER, bot_id=BOT_ID)
        await slack.say("from codex", CODEX, bot_id="B0CODEX", bot_profile={"name": "codex"})
        await inbox.kept(1)
        await settled(slack)
    (message,) = inbox.messages
    assert message.meta.sender_type == "bot"
    assert message.meta.sender_display_name == "codex"
    assert message.meta.mention_token is None


async def test_an_account_of_a_bot_is_a_bot_even_where_the_event_does_not_say_so(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        await slack.say("hello", CODEX)
        await inbox.kept(1)
    assert inbox.messages[0].meta.sender_type == "bot"


async def test_an_edit_and_a_deletion_are_told(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        ts = await slack.say("frist")
        await inbox.kept(1)
        await slack.edit(GENERAL, ts, "first &amp; last")
        await slack.remove(GENERAL, ts)
        _, edited, deleted = await inbox.kept(3)
    assert isinstance(edited, Edited)
    assert (edited.message_id, edited.content, edited.room) == (ts, "first & last", ROOM)
    assert deleted == Deleted(ROOM, ts)


async def test_a_mention_in_a_thread_brings_what_was_said_there(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        root = await slack.say("The build is red &amp; dead.", ASH)
        await slack.say("Since when?", OLIVIA, thread_ts=root)
        await slack.say("elsewhere", ASH)
        asked = await slack.say(f"<@{BOT_USER}> find out", OLIVIA, thread_ts=root)
        await slack.say("later", ASH, thread_ts=root)
        await inbox.kept(5)
    (first,) = (m for m in inbox.messages if m.message_id == asked)
    assert (first.thread_id, first.reply_to) == (root, root)
    assert first.meta.thread_context == (
        "[Thread context — prior messages in this thread, newest last]\n"
        f"- Ash (<@{ASH}>): The build is red & dead.\n"
        f"- Olivia (<@{OLIVIA}>): Since when?"
    )
    assert all(m.meta.thread_context is None for m in inbox.messages if m.message_id != asked)
    assert len(slack.called("conversations.replies")) == 1


async def test_a_persona_named_by_its_alias_in_a_thread_hears_what_was_said_there(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(is_named=lambda text: "@clod" in text), inbox):
        root = await slack.say("The build is red.", ASH)
        await slack.say("@clod find out", OLIVIA, thread_ts=root)
        await inbox.kept(2)
    meta = inbox.messages[1].meta
    assert meta.trigger_rag
    assert meta.recipient_id == "bot:claude"
    assert meta.thread_context is not None
    assert "The build is red." in meta.thread_context


async def test_a_long_thread_is_read_by_pages_and_its_newest_fifteen_are_shown(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack.page_size = 10
    root = "1776754000.000001"
    slack.messages[GENERAL][root] = {"ts": root, "user": ASH, "text": "root"}
    for n in range(2, 40):
        ts = f"1776754000.{n:06}"
        slack.messages[GENERAL][ts] = {"ts": ts, "thread_ts": root, "user": ASH, "text": f"{n}."}
    async with running(slack_bot(), inbox):
        await slack.say(f"<@{BOT_USER}>", thread_ts=root)
        await inbox.kept(1)
    context = inbox.messages[0].meta.thread_context
    assert context is not None
    assert [line.rpartition(" ")[2] for line in context.split("\n")[1:]] == [
        f"{n}." for n in range(25, 40)
    ]


async def test_a_message_without_its_thread_is_better_than_none(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack.fail("conversations.replies", Fault("500"))
    slack.fail("users.info", Fault("error", code="user_not_found"))
    slack.fail("conversations.info", Fault("cut"))
    slack.fail("users.conversations", Fault("error", code="access_denied"))
    async with running(slack_bot(), inbox):
        await slack.say(f"<@{BOT_USER}>", thread_ts="1776754000.000001")
        await inbox.kept(1)
        await settled(slack)
    message = inbox.messages[0]
    assert message.meta.thread_context is None
    assert message.meta.sender_display_name == OLIVIA
    assert message.room.name == GENERAL


async def test_a_slow_directory_holds_no_message_back(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    release = asyncio.Event()
    slack.delivery.ack_s = 10.0
    slack.fail("users.info", Fault("hang", release=release))
    slack.fail("conversations.replies", Fault("hang", release=release))
    async with running(slack_bot(), inbox):
        await slack.say(f"<@{BOT_USER}>", thread_ts="1776754000.000001")
        await inbox.kept(1)
        await settled(slack)
        release.set()
    assert inbox.messages[0].meta.sender_display_name == OLIVIA
    assert [envelope.sent for envelope in slack.delivery.envelopes] == [1, 1]
    assert len(slack.called("users.info")) == 1  # one question for both deliveries


async def test_a_pressed_button_is_a_choice(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot()
    options = (Option("Yes"), Option("No", refuses=True))
    question = Question("turn 7", "Run a command?", "rm -rf <x>", options)
    async with running(bot, inbox):
        await slack.delivery.connected()
        asked = await bot.ask(Destination(ROOM), question, "k")
        await slack.press(GENERAL, asked, "No", ASH)
        (chosen,) = await inbox.kept(1)
        await settled(slack)
    assert isinstance(chosen, Chosen)
    assert (chosen.question_id, chosen.option) == ("turn 7", 1)
    assert (chosen.by.id, chosen.by.name, chosen.by.mention) == (f"slack:{ASH}", "Ash", f"<@{ASH}>")


async def test_a_pin_and_a_pushpin_are_told_and_so_is_their_end(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        ts = await slack.say("we use Postgres")
        await inbox.kept(1)
        for added in (True, False):
            await slack.pin(GENERAL, ts, ASH, added=added)
            await settled(slack)
            await slack.react(GENERAL, ts, "pushpin", added=added)
            await settled(slack)
        await inbox.kept(5)
    pins = [event for event in inbox.events if isinstance(event, Pinned)]
    assert [(pin.room, pin.message_id) for pin in pins] == [(ROOM, ts)] * 4
    assert [(pin.by.name, pin.pinned) for pin in pins] == [
        ("Ash", True),
        ("Olivia", True),
        ("Ash", False),
        ("Olivia", False),
    ]


async def test_other_reactions_and_own_ones_are_no_pins(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot()
    async with running(bot, inbox):
        ts = await slack.say("hello")
        await inbox.kept(1)
        await bot.react(Destination(ROOM), ts, "working")
        await slack.react(GENERAL, ts, "heart")
        await slack.react(GENERAL, ts, "pushpin", BOT_USER)
        await slack.pin(GENERAL, ts, BOT_USER)
        await settled(slack)
    assert len(inbox.events) == 1


async def test_a_channel_gets_its_new_name(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        await slack.say("before")
        await inbox.kept(1)
        async with asyncio.timeout(PATIENCE_S):
            while not slack.called("conversations.history"):  # it has listed its channels
                await asyncio.sleep(0.01)
        slack.channels[GENERAL]["name"] = "auth-team"
        slack.delivery.event({"type": "channel_rename", "channel": {"id": GENERAL, "name": "x"}})
        await settled(slack)
        await slack.say("after")
        await inbox.kept(2)
    assert [m.room.name for m in inbox.messages] == ["general", "auth-team"]
