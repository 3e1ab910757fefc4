"""Acknowledged when on disk, in order, over sockets that break."""

import asyncio
from collections.abc import Callable

from bots.slack.bot import SlackBot
from contract.chat import Room
from contract.errors import Rejected
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.slack import (
    BOT_USER,
    CODEX,
    DM,
    GENERAL,
    OLIVIA,
    Fault,
    SlackDouble,
)

MakeSlackBot = Callable[..., SlackBot]
ROOM = Room(f"slack:{GENERAL}", "general")


async def settled(slack: SlackDouble) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await slack.delivery.settled()


async def test_an_event_is_acknowledged_only_when_it_is_on_disk(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack.delivery.ack_s = 10.0
    inbox.gate.clear()
    async with running(slack_bot(), inbox):
        await slack.say("hello")
        await inbox.knocked(1)
        assert not slack.delivery.envelopes[0].acked.is_set()
        inbox.gate.set()
        await settled(slack)
    assert slack.delivery.envelopes[0].acked.is_set()


async def test_an_event_that_could_not_be_stored_comes_again(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    inbox.failures.append(OSError("no space left on device"))
    async with running(slack_bot(), inbox):
        await slack.say("hello")
        await inbox.kept(1)
        await settled(slack)
    (envelope,) = slack.delivery.envelopes
    assert envelope.sent == 2
    assert [m.content for m in inbox.messages] == ["hello"]


async def test_an_event_that_breaks_the_contract_does_not_come_again(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    inbox.failures.append(Rejected("sender_id", "is wrong"))
    async with running(slack_bot(), inbox):
        await slack.say("hello")
        await settled(slack)
    assert slack.delivery.envelopes[0].sent == 1
    assert inbox.events == []


async def test_an_event_that_cannot_be_read_does_not_come_again(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        slack.delivery.event({"type": "message", "channel": {"odd": 1}})
        slack.delivery.event({"type": "team_join", "user": {"id": "U1"}})
        await settled(slack)
    assert all(envelope.acked.is_set() for envelope in slack.delivery.envelopes)


async def test_an_event_delivered_three_times_over_is_told_once(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        await slack.say(f"<@{BOT_USER}>", times=3)
        await inbox.kept(1)
        await settled(slack)
    assert len(slack.delivery.envelopes) > 1
    assert len(inbox.events) == 1


async def test_messages_of_a_room_keep_their_order_when_one_takes_long(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack.delivery.ack_s = 10.0
    release = asyncio.Event()
    slack.fail("users.info", Fault("hang", release=release))
    async with running(slack_bot(), inbox):
        await slack.delivery.connected()
        first = await slack.say("slow", OLIVIA)
        await slack.say("fast", CODEX, bot_id="B0X", username="codex")
        await slack.say("in another room", CODEX, channel=DM, bot_id="B0X", username="codex")
        await inbox.kept(1)
        release.set()
        await inbox.kept(3)
    assert [m.content for m in inbox.messages] == ["in another room", "slow", "fast"]
    assert inbox.messages[1].message_id == first


async def test_what_is_said_outside_of_threads_waits_for_the_disk_together(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack.delivery.ack_s = 10.0
    inbox.gate.clear()
    async with running(slack_bot(), inbox):
        await slack.delivery.connected()
        root = await slack.say(f"<@{BOT_USER}> 0", times=2)
        for number in range(1, 4):
            await slack.say(f"{number}")
        await inbox.knocked(4)
        await slack.say("below it", thread_ts=root)
        await slack.edit(GENERAL, root, "0, edited")
        await slack.say("in another room", channel=DM)
        await inbox.knocked(5)
        assert not any(envelope.acked.is_set() for envelope in slack.delivery.envelopes)
        inbox.gate.set()
        await inbox.kept(7)
        await settled(slack)
    said = [getattr(event, "content", "") for event in inbox.events]
    here = [text for text in said if text != "in another room"]
    assert here == [f"<@{BOT_USER}> 0", "1", "2", "3", "below it", "0, edited"]
    assert inbox.arrived == 7  # a thread and an edit waited for what they are about
    assert all(envelope.sent == 1 for envelope in slack.delivery.envelopes)


async def test_a_mention_whose_first_delivery_was_not_stored_is_acknowledged_by_neither(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    inbox.gate.clear()
    inbox.failures.append(OSError("no space left on device"))
    async with running(slack_bot(), inbox):
        await slack.delivery.connected()
        await slack.say(f"<@{BOT_USER}> hello")
        await inbox.knocked(1)
        inbox.gate.set()
        await inbox.kept(1)
        await settled(slack)
    assert [envelope.sent for envelope in slack.delivery.envelopes] == [2, 2]
    assert len(inbox.messages) == 1


async def test_a_cut_socket_is_opened_again_and_what_was_not_acknowledged_comes_once_more(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack.delivery.ack_s = 10.0
    async with running(slack_bot(), inbox):
        await slack.delivery.connected()
        inbox.gate.clear()
        await slack.say("caught in the cut")
        await inbox.knocked(1)
        slack.delivery.cut()
        async with asyncio.timeout(PATIENCE_S):
            await slack.delivery.reconnected(2)
        inbox.gate.set()
        await inbox.kept(1)
        await slack.say("after the cut")
        await settled(slack)
    assert {m.content for m in inbox.messages} == {"caught in the cut", "after the cut"}
    assert all(envelope.acked.is_set() for envelope in slack.delivery.envelopes)


async def test_a_socket_that_slack_asks_to_renew_is_renewed(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        await slack.delivery.connected()
        await slack.delivery.disconnect("refresh_requested")
        async with asyncio.timeout(PATIENCE_S):
            await slack.delivery.reconnected(2)
        await slack.say("on the new one")
        await inbox.kept(1)
        await settled(slack)


async def test_slack_out_of_reach_for_a_while_is_tried_again(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack.fail("apps.connections.open", Fault("500"))
    async with running(slack_bot(), inbox):
        await slack.say("hello")
        await inbox.kept(1)


async def test_stopping_lets_an_event_be_acknowledged_that_is_being_stored(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack.delivery.ack_s = 10.0
    inbox.gate.clear()
    async with running(slack_bot(), inbox) as task:
        await slack.say("just in time")
        await inbox.knocked(1)
        task.cancel()
        await asyncio.sleep(0.1)
        inbox.gate.set()
        await asyncio.wait({task})
    await asyncio.wait_for(slack.delivery.envelopes[0].acked.wait(), PATIENCE_S)
    assert [m.content for m in inbox.messages] == ["just in time"]
