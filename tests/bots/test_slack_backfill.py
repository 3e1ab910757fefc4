"""What was said while there was no connection is told afterwards, once."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bots.slack.api import SlackApi
from bots.slack.backfill import Backfill, Cursors
from bots.slack.bot import SlackBot
from bots.slack.directory import Directory
from bots.slack.events import Account
from contract.chat import Deleted, Destination, Edited, Room
from contract.errors import Rejected
from tests.doubles.bot_setup import FileStates
from tests.doubles.inbox import PATIENCE_S, Inbox, running, until
from tests.doubles.slack import (
    ASH,
    BOT_ID,
    BOT_USER,
    CODEX,
    DM,
    GENERAL,
    GROUP_DM,
    OLIVIA,
    PRIVATE,
    Fault,
    SlackDouble,
)

MakeSlackBot = Callable[..., SlackBot]
ROOM = Room(f"slack:{GENERAL}", "general")


@pytest.fixture
def forgetful(slack: SlackDouble) -> SlackDouble:
    """A Slack that repeats nothing which found no socket."""
    slack.delivery.forgetful = True
    return slack


async def caught_up(slack: SlackDouble, times: int = 1) -> None:
    """Until every room was read so many times."""

    def read(channel: str) -> int:
        asked = (args["channel"] for args in slack.called("conversations.history"))
        return list(asked).count(channel)

    await until(lambda: min(map(read, slack.channels)) >= 1 + times)  # twice at the first start


def contents(inbox: Inbox) -> list[str]:
    return [message.content for message in inbox.messages]


async def test_ten_messages_missed_in_a_cut_are_each_told_once_and_in_order(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    async with running(slack_bot(), inbox):
        await caught_up(slack)
        await slack.say("before the cut")
        await inbox.kept(1)
        slack.delivery.cut()
        missed = [await slack.say(f"missed {n}") for n in range(10)]
        await inbox.kept(11)
        await slack.say("after the cut")
        await inbox.kept(12)
        await caught_up(slack, 2)
    assert contents(inbox) == [
        "before the cut",
        *(f"missed {n}" for n in range(10)),
        "after the cut",
    ]
    assert [m.message_id for m in inbox.messages[1:11]] == missed


async def test_a_reply_waits_for_a_missed_message_and_not_for_who_reads_the_history(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack, bot = forgetful, slack_bot()
    async with running(bot, inbox):
        await caught_up(slack)
        root = await slack.say("heard")
        await inbox.kept(1)
        inbox.gate.clear()
        slack.delivery.cut()
        await slack.say("missed")
        await inbox.knocked(2)
        await slack.delivery.connected()
        await slack.say("a reply", thread_ts=root)
        await until(bot._delivery.in_room(GENERAL).locked)
        inbox.gate.set()
        await inbox.kept(3)
    assert contents(inbox) == ["heard", "missed", "a reply"]


async def test_a_cut_before_the_first_look_hides_nothing(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    await slack.say("long ago")
    release = asyncio.Event()
    slack.fail("users.conversations", Fault("hang", release=release))
    async with running(slack_bot(), inbox):
        await until(lambda: bool(slack.called("users.conversations")))
        slack.delivery.cut()
        await slack.say("missed")
        release.set()
        await inbox.kept(1)
        await caught_up(slack, 2)
    assert contents(inbox) == ["missed"]


async def test_what_was_said_while_the_process_was_down_is_told_at_its_next_start(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    root = await slack.say("before the first start")
    await slack.say("as old", thread_ts=root)
    async with running(slack_bot(), inbox):
        await caught_up(slack)
        await slack.say("heard")
        await inbox.kept(1)
    await slack.say("missed")
    await slack.say("in a thread", thread_ts=root)
    await slack.say("privately", channel=DM)
    later = Inbox()
    async with running(slack_bot(), later):
        await later.kept(3)
        await caught_up(slack, 2)
    assert contents(inbox) == ["heard"]
    assert (
        {"missed", "in a thread", "privately"}
        <= set(contents(later))
        <= {
            "heard",  # the gateway knows it already
            "missed",
            "in a thread",
            "privately",
        }
    )


async def test_a_missed_message_reads_like_one_that_was_told(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    file = slack.file("a.txt", b"abc")
    async with running(slack_bot(), inbox):
        await caught_up(slack)
        slack.delivery.cut()
        for channel in (GENERAL, PRIVATE, DM, GROUP_DM):
            await slack.say(f"<@{BOT_USER}> a &amp; b", channel=channel, files=(file,))
        await inbox.kept(4)
    kinds = {m.room.external_id: m.room.kind for m in inbox.messages}
    assert kinds == {GENERAL: "room", PRIVATE: "room", DM: "dm", GROUP_DM: "gdm"}
    for message in inbox.messages:
        assert message.content == f"<@{BOT_USER}> a & b"
        assert message.mentioned
        assert message.meta.sender_id == f"slack:{OLIVIA}"
        assert message.meta.recipient_id == "bot:claude"
        (attachment,) = message.attachments
        assert attachment.path is not None


async def test_missed_bots_and_notices_are_read_by_the_rules_of_live_ones(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    async with running(slack_bot(), inbox):
        await caught_up(slack)
        slack.delivery.cut()
        await slack.say("my own", BOT_USER, bot_id=BOT_ID)
        await slack.say("my own, as somebody", BOT_USER, bot_id=BOT_ID, username="reviewer")
        await slack.say("has joined", subtype="channel_join")
        await slack.say("from codex", CODEX, bot_id="B0CODEX", bot_profile={"name": "codex"})
        await inbox.kept(1)
        await caught_up(slack, 2)
    (message,) = inbox.messages
    assert (message.content, message.meta.sender_type) == ("from codex", "bot")


async def test_replies_missed_in_an_old_thread_are_told(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    """One thread is known by its root, one only because the bot had spoken there."""
    slack = forgetful
    slack.page_size = 2
    old = "1776754000.000001"
    slack.messages[GENERAL][old] = {"type": "message", "ts": old, "user": ASH, "text": "old"}
    bot = slack_bot()
    async with running(bot, inbox):
        await caught_up(slack)
        await bot.post(Destination(ROOM, old), "an answer", "k")
        root = await slack.say("root")
        await inbox.kept(1)
        slack.delivery.cut()
        await slack.say("first", thread_ts=old)
        await slack.say("second", thread_ts=root)
        await slack.say("third", thread_ts=old, subtype="thread_broadcast")
        await inbox.kept(4)
        await caught_up(slack, 2)
    told = [(m.content, m.thread_id) for m in inbox.messages[1:]]
    assert told == [("first", old), ("second", root), ("third", old)]


async def test_threads_in_which_nobody_spoke_are_not_read(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    async with running(slack_bot(), inbox):
        await caught_up(slack)
        root = await slack.say("root")
        await slack.say("reply", thread_ts=root)
        await inbox.kept(2)
    async with running(slack_bot(), inbox):
        await inbox.kept(2)
        await caught_up(slack, 2)
    started = len(slack.called("conversations.replies"))
    slack.delivery.forgetful = False
    async with running(slack_bot(), inbox):
        await caught_up(slack, 3)
    assert len(slack.called("conversations.replies")) == started


async def test_an_edit_that_was_missed_is_told(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    async with running(slack_bot(), inbox):
        await caught_up(slack)
        ts = await slack.say("frist")
        await inbox.kept(1)
        slack.delivery.cut()
        await slack.edit(GENERAL, ts, "first")
        await inbox.kept(2)
    edited = inbox.events[1]
    assert isinstance(edited, Edited)
    assert (edited.message_id, edited.content) == (ts, "first")


async def test_what_was_deleted_during_a_cut_is_told(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    async with running(slack_bot(), inbox):
        await caught_up(slack)
        root = await slack.say("stays")
        gone = await slack.say("goes")
        await slack.say("reply that stays", thread_ts=root)
        reply = await slack.say("reply that goes", thread_ts=root)
        await slack.say("reply that is newer", thread_ts=root)
        await inbox.kept(5)
        slack.delivery.cut()
        await slack.remove(GENERAL, gone)
        await slack.remove(GENERAL, reply)
        await inbox.kept(7)
        slack.delivery.cut()
        await slack.say("goes on")
        await inbox.kept(8)
    assert inbox.events[5:7] == [Deleted(ROOM, gone), Deleted(ROOM, reply)]
    assert contents(inbox)[5:] == ["goes on"]


async def test_a_history_that_shows_nothing_old_proves_no_deletion(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    async with running(slack_bot(), inbox):
        await caught_up(slack)
        for text in ("one", "two"):
            await slack.say(text)
        await inbox.kept(2)
        slack.delivery.cut()
        slack.messages[GENERAL].clear()
        await slack.say("three")
        await inbox.kept(3)
        await caught_up(slack, 2)
    assert contents(inbox) == ["one", "two", "three"]
    assert len(inbox.events) == 3


@pytest.mark.parametrize("code", ["method_not_allowed", "unknown_method", "missing_scope"])
async def test_a_refused_history_is_told_once_and_holds_up_nothing(
    forgetful: SlackDouble,
    inbox: Inbox,
    slack_bot: MakeSlackBot,
    caplog: pytest.LogCaptureFixture,
    code: str,
) -> None:
    slack = forgetful
    slack.fail("conversations.history", Fault("error", code=code), 20)
    async with running(slack_bot(), inbox):
        for number in range(3):
            await slack.delivery.reconnected(number + 1)
            await slack.say(f"heard {number}")
            await inbox.kept(number + 1)
            slack.delivery.cut()
    told = [r.getMessage() for r in caplog.records if "conversations.history" in r.getMessage()]
    assert len(told) == 1
    assert code in told[0]


@pytest.mark.parametrize(
    "fault",
    [
        Fault("429", retry_after_s=0),
        Fault("error", code="ratelimited"),
        Fault("500"),
        Fault("cut"),
    ],
)
@pytest.mark.parametrize("method", ["users.conversations", "conversations.history"])
async def test_reading_goes_on_after_it_was_put_off(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot, method: str, fault: Fault
) -> None:
    slack = forgetful
    async with running(slack_bot(), inbox):
        await caught_up(slack)
        slack.fail(method, fault)
        slack.delivery.cut()
        for n in range(3):
            await slack.say(f"missed {n}")
        await inbox.kept(3)
    assert contents(inbox) == ["missed 0", "missed 1", "missed 2"]


async def test_a_long_gap_is_read_page_by_page(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    slack.page_size = 3
    async with running(slack_bot(), inbox):
        await caught_up(slack)
        slack.delivery.cut()
        for n in range(20):
            await slack.say(f"missed {n}")
        await inbox.kept(20)
    assert contents(inbox) == [f"missed {n}" for n in range(20)]


async def test_a_room_that_the_bot_has_left_does_not_keep_it_from_the_others(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    async with running(slack_bot(), inbox):
        await caught_up(slack)
        await slack.say("in the one it will leave", channel=PRIVATE)
        await inbox.kept(1)
        slack.delivery.cut()
        del slack.channels[PRIVATE]
        await slack.say("missed")
        await inbox.kept(2)
    assert contents(inbox) == ["in the one it will leave", "missed"]


async def test_rooms_that_it_may_not_list_are_known_from_what_was_said_there(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    async with running(slack_bot(), inbox):
        await caught_up(slack)
    slack.scopes.difference_update({"channels:read", "groups:read", "im:read", "mpim:read"})
    await slack.say("missed")
    await slack.say("privately", channel=DM)
    async with running(slack_bot(), inbox):
        await inbox.kept(2)
    assert {(m.content, m.room.kind) for m in inbox.messages} == {
        ("missed", "room"),
        ("privately", "dm"),
    }


async def test_a_server_without_a_list_of_own_rooms_is_asked_for_all_of_them(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    slack.fail("users.conversations", Fault("error", code="unknown_method"), 2)
    slack.channels["C0STRANGE"] = {**slack.channels[GENERAL], "id": "C0STRANGE"}
    slack.members["C0STRANGE"] = [OLIVIA]
    async with running(slack_bot(), inbox):
        await until(lambda: len(slack.called("conversations.history")) == 8)
        slack.delivery.cut()
        await slack.say("missed")
        await inbox.kept(1)
    assert contents(inbox) == ["missed"]
    assert "C0STRANGE" not in [args["channel"] for args in slack.called("conversations.history")]


async def test_what_could_not_be_stored_is_read_again_at_the_next_start(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    async with running(slack_bot(), inbox):
        await caught_up(slack)
    await slack.say("missed")
    inbox.failures.append(OSError("no space left on device"))
    with pytest.raises(OSError, match="no space"):
        async with asyncio.timeout(PATIENCE_S):
            await slack_bot().run(inbox.receive)
    async with running(slack_bot(), inbox):
        await inbox.kept(1)
    assert contents(inbox) == ["missed"]


async def test_a_missed_message_that_breaks_the_contract_does_not_hold_up_the_rest(
    forgetful: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack = forgetful
    async with running(slack_bot(), inbox):
        await caught_up(slack)
        inbox.failures.append(Rejected("content", "is wrong"))
        slack.delivery.cut()
        await slack.say("odd")
        await slack.say("sound")
        await inbox.kept(1)
    assert contents(inbox) == ["sound"]


@pytest.mark.parametrize("state", [b"", b"{", b'{"rooms": {"C1": "yesterday"}}', b"[]"])
async def test_cursors_that_cannot_be_read_count_as_a_first_start(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot, tmp_path: Path, state: bytes
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "slack_cursors.json").write_bytes(state)
    slack.messages[GENERAL]["1776754000.000001"] = {"ts": "1776754000.000001", "text": "old"}
    async with running(slack_bot(), inbox):
        await caught_up(slack)
        await slack.say("new")
        await inbox.kept(1)
    assert contents(inbox) == ["new"]


async def test_a_disk_that_takes_no_cursors_stops_nothing(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot, tmp_path: Path
) -> None:
    (tmp_path / "own").write_text("a file where the folder should be")
    async with running(slack_bot(), inbox):
        await caught_up(slack)
        await slack.say("hello")
        await inbox.kept(1)


async def test_over_http_what_was_said_while_the_process_was_down_is_read(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack.delivery.events_url = f"{slack.base}/nowhere"
    async with running(slack_bot(mode="http"), inbox):
        await caught_up(slack)
    await slack.say("missed")
    async with running(slack_bot(mode="http"), inbox):
        await inbox.kept(1)
    assert contents(inbox) == ["missed"]


async def test_it_asks_thirty_times_a_minute_at_the_most(
    slack: SlackDouble, tmp_path: Path
) -> None:
    for n in range(40):
        slack.channels[f"C0ROOM{n:03}"] = {**slack.channels[GENERAL], "id": f"C0ROOM{n:03}"}
        slack.members[f"C0ROOM{n:03}"] = [BOT_USER]
    clock, rests = [1_000.0], list[float]()
    done = asyncio.Event()

    async def sleep(seconds: float) -> None:
        rests.append(seconds)
        clock[0] += seconds
        if len(rests) == 5:
            done.set()
            await asyncio.Event().wait()

    async def take(payload: object) -> None:
        raise AssertionError("nothing was said")

    api = SlackApi(slack.bot_token, slack.api_url, now=lambda: clock[0])
    directory = Directory(api, now=lambda: clock[0])
    directory.introduce(Account(BOT_USER, BOT_ID))
    cursors = Cursors(FileStates(tmp_path))
    backfill = Backfill(api, directory, cursors, take, now=lambda: clock[0], sleep=sleep)
    backfill.cut()
    backfill.connected()
    task = asyncio.create_task(backfill.run())
    await asyncio.wait_for(done.wait(), PATIENCE_S)
    task.cancel()
    await asyncio.wait({task})
    await directory.close()
    await api.close()
    assert rests == [60.0, 0.0, 0.0, 0.0, 0.0]
    assert len(slack.calls) == 34
