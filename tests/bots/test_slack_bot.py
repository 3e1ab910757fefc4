"""The bot in Socket Mode against the double: what people do there, and what the gateway gets."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bots.slack import SlackBot
from contract import Chosen, ConfigError, Deleted, Edited, Option, Place, Question, Rejected, Room
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


async def test_a_mention_comes_twice_and_both_times_the_same(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        ts = await slack.say(f"<@{BOT_USER}> why &lt;15 minutes?")
        first, second = await inbox.kept(2)
        await settled(slack)
    assert first == second
    message = inbox.messages[0]
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
        await bot.post(Place(ROOM), "my own words", "k")
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
        await inbox.kept(6)
    first, second = (m for m in inbox.messages if m.message_id == asked)
    assert first == second
    assert (first.thread_id, first.reply_to) == (root, root)
    assert first.meta.thread_context == (
        "[Thread context — prior messages in this thread, newest last]\n"
        f"- Ash (<@{ASH}>): The build is red & dead.\n"
        f"- Olivia (<@{OLIVIA}>): Since when?"
    )
    assert all(m.meta.thread_context is None for m in inbox.messages if m.message_id != asked)
    assert len(slack.called("conversations.replies")) == 1


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
        await inbox.kept(2)
        await settled(slack)
        release.set()
    assert inbox.messages[0].meta.sender_display_name == OLIVIA
    assert [envelope.sent for envelope in slack.delivery.envelopes] == [1, 1]
    assert len(slack.called("users.info")) == 1  # one question for both deliveries


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


async def test_an_event_delivered_three_times_over_is_told_each_time_alike(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        await slack.say(f"<@{BOT_USER}>", times=3)
        await inbox.kept(6)
        await settled(slack)
    assert len(set(map(repr, inbox.events))) == 1


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


async def test_a_pressed_button_is_a_choice(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot()
    options = (Option("Yes"), Option("No", refuses=True))
    question = Question("turn 7", "Run a command?", "rm -rf <x>", options)
    async with running(bot, inbox):
        await slack.delivery.connected()
        asked = await bot.ask(Place(ROOM), question, "k")
        await slack.press(GENERAL, asked, "No", ASH)
        (chosen,) = await inbox.kept(1)
        await settled(slack)
    assert isinstance(chosen, Chosen)
    assert (chosen.question_id, chosen.option) == ("turn 7", 1)
    assert (chosen.by.id, chosen.by.name, chosen.by.mention) == (f"slack:{ASH}", "Ash", f"<@{ASH}>")


async def test_a_channel_gets_its_new_name(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with running(slack_bot(), inbox):
        await slack.say("before")
        await inbox.kept(1)
        slack.channels[GENERAL]["name"] = "auth-team"
        slack.delivery.event({"type": "channel_rename", "channel": {"id": GENERAL, "name": "x"}})
        await settled(slack)
        await slack.say("after")
        await inbox.kept(2)
    assert [m.room.name for m in inbox.messages] == ["general", "auth-team"]


# ── Files ───────────────────────────────────────────────────────────────────────────────────


async def test_a_shared_file_is_on_disk_when_the_message_comes(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot, tmp_path: Path
) -> None:
    file = slack.file("../../q3 numbers.csv", b"a,b\n1,2\n", "text/csv")
    async with running(slack_bot(), inbox):
        await slack.say("see", files=(file,), times=2)
        await inbox.kept(2)
    (attachment,) = inbox.messages[0].attachments
    assert (attachment.name, attachment.mime, attachment.size_bytes) == (
        "../../q3 numbers.csv",
        "text/csv",
        8,
    )
    assert attachment.path is not None
    path = Path(attachment.path)
    assert path.read_bytes() == b"a,b\n1,2\n"
    assert path.resolve().is_relative_to(tmp_path / "files")
    assert inbox.messages[0] == inbox.messages[1]


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
    bot = slack_bot(most_file_bytes=1_000 if trouble == "too large" else 10_000)
    async with running(bot, inbox):
        await slack.say("see", files=(info,))
        await inbox.kept(1)
        await settled(slack)
    (attachment,) = inbox.messages[0].attachments
    assert (attachment.name, attachment.path) == ("data.bin", None)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


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


# ── Tokens ──────────────────────────────────────────────────────────────────────────────────


async def run_briefly(bot: SlackBot, inbox: Inbox) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await bot.run(inbox.receive)


async def test_a_bad_bot_token_is_one_clear_sentence(inbox: Inbox, slack_bot: MakeSlackBot) -> None:
    with pytest.raises(ConfigError, match=r"'slack': the bot token is refused \(invalid_auth\)"):
        await run_briefly(slack_bot(token="xoxb-stale"), inbox)


async def test_a_bad_app_token_is_one_clear_sentence(inbox: Inbox, slack_bot: MakeSlackBot) -> None:
    with pytest.raises(ConfigError, match=r"the app token is refused \(invalid_auth\).*xapp-"):
        await run_briefly(slack_bot(app_token="xapp-stale"), inbox)


async def test_a_bot_token_in_place_of_the_apps_is_one_clear_sentence(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    with pytest.raises(ConfigError, match="connections:write"):
        await run_briefly(slack_bot(app_token=slack.bot_token), inbox)


async def test_a_missing_scope_is_one_clear_sentence(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    slack.scopes.discard("chat:write")
    with pytest.raises(ConfigError, match="lacks the scope chat:write"):
        await run_briefly(slack_bot(), inbox)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"token": ""}, "token"),
        ({"app_token": " "}, "app_token"),
        ({"mode": "http", "signing_secret": ""}, "signing_secret"),
    ],
)
def test_what_the_mode_needs_must_be_there(
    tmp_path: Path, changes: dict[str, str], key: str
) -> None:
    values = {"token": "xoxb", "app_token": "xapp", "signing_secret": "s", **changes}
    with pytest.raises(ConfigError, match=f"{key} is missing"):
        SlackBot(personas=["claude"], files_dir=tmp_path, **values)  # type: ignore[arg-type]
