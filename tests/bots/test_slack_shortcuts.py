"""What people do at a message or under an agent's work, beside typing: "Ask Moot", and stop."""

import asyncio
from collections.abc import Callable

import pytest

from bots.slack.bot import SlackBot
from contract.agent import Option, Question
from contract.chat import Chosen, Destination, Room
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.slack import ASH, BOT_USER, DM, GENERAL, OLIVIA, SlackDouble

MakeSlackBot = Callable[..., SlackBot]
ROOM = Room(f"slack:{GENERAL}", "general")


async def asked_about(slack: SlackDouble, ts: str, question: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await slack.delivery.connected()
        await slack.shortcut(GENERAL, ts).over.wait()
        await slack.submit(slack.views[-1], question).over.wait()


@pytest.mark.parametrize("within", [True, False], ids=["in a thread", "in the channel"])
async def test_a_question_of_a_message_is_asked_in_its_thread(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot, *, within: bool
) -> None:
    async with running(slack_bot(), inbox):
        await slack.delivery.connected()
        root = await slack.say("The build is red.", ASH)
        ts = await slack.say("Since Monday.", ASH, thread_ts=root) if within else root
        await inbox.kept(2 if within else 1)
        await asked_about(slack, ts, "Why?  <b>")
        await inbox.kept(3 if within else 2)
    message = inbox.messages[-1]
    assert (message.content, message.mentioned) == ("Why?  <b>", True)
    assert (message.meta.sender_id, message.room) == (f"slack:{OLIVIA}", ROOM)
    assert (message.thread_id, message.reply_to) == (root, ts)
    assert "The build is red." in (message.meta.thread_context or "")
    (note,) = (m for m in slack.messages[GENERAL].values() if m.get("user") == BOT_USER)
    assert note["text"] == "Olivia asked: Why? &lt;b&gt;"
    assert (note["thread_ts"], note["blocks"][0]["type"]) == (root, "context")


async def test_a_question_that_comes_twice_is_asked_once_on_disk(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        await slack.delivery.connected()
        await asked_about(slack, await slack.say("The build is red.", ASH), "Why?")
        sent = [one for one in slack.delivery.envelopes if one.kind == "interactive"]
        await slack.delivery.again(sent[-1]).over.wait()
        await inbox.kept(3)
    assert len({message.message_id for message in inbox.messages}) == 2
    assert len(slack.texts()) == 1


async def test_where_the_bot_is_not_the_person_alone_is_told(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    ts = await slack.say("The build is red.", ASH)
    slack.members[GENERAL].remove(BOT_USER)
    async with running(slack_bot(), inbox):
        await asked_about(slack, ts, "Why?")
    assert slack.texts(GENERAL) == []
    assert ["/invite" in text for text in slack.texts(DM)] == [True]


async def test_another_apps_modal_asks_nothing(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        ts = await slack.say("The build is red.", ASH)
        await asked_about(slack, ts, "Why?")
        await slack.submit({**slack.views[-1], "callback_id": "other"}, "Why?").over.wait()
        await slack.submit({**slack.views[-1], "private_metadata": "C0 x"}, "Why?").over.wait()
        await inbox.kept(2)
    assert len(inbox.messages) == 2


async def test_slacks_stop_button_is_the_command(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack.apps[0].is_agent = True
    bot = slack_bot()
    async with running(bot, inbox):
        await slack.delivery.connected()
        root = await slack.say(f"<@{BOT_USER}> why?")
        await inbox.kept(1)
        place = Destination(ROOM, root)
        for _ in range(3):
            await bot.typing(place, "is working")
        assert slack.sessions == {(GENERAL, root): "processing"}
        slack.stop(GENERAL, root, ASH)
        await inbox.kept(2)
        await bot.typing(place, "")
    stop = inbox.messages[-1]
    assert (stop.content, stop.thread_id, stop.mentioned) == ("/moot stop", root, True)
    assert stop.meta.sender_id == f"slack:{ASH}"
    assert slack.sessions == {(GENERAL, root): "active"}
    assert len(slack.called("agents.sessions.setStatus")) == 2
    assert slack.statuses == {}


async def test_an_app_that_is_no_agent_has_the_status_under_the_thread(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot()
    async with running(bot, inbox):
        await slack.delivery.connected()
        root = await slack.say(f"<@{BOT_USER}> why?")
        for _ in range(2):
            await bot.typing(Destination(ROOM, root), "is working")
    assert slack.statuses == {(GENERAL, root): "is working"}
    assert len(slack.called("agents.sessions.setStatus")) == 1


async def test_who_pressed_a_button_can_be_told_something_alone(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot()
    question = Question("q1", "Run?", "", (Option("Yes"), Option("No", refuses=True)))
    async with running(bot, inbox):
        await slack.delivery.connected()
        posted = await bot.ask(Destination(ROOM), question, "k1")
        await slack.press(GENERAL, posted, "Yes", ASH)
        await inbox.kept(1)
        (chosen,) = inbox.events
        assert isinstance(chosen, Chosen)
        assert chosen.place is not None
        await bot.post(chosen.place, "Ash, you may not.", "k2")
    assert slack.whispers == [(GENERAL, ASH, "Ash, you may not.")]
    assert len(slack.texts()) == 1
