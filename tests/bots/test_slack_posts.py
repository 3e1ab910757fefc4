"""What the bot does in Slack, and how honestly it tells when that went wrong."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

import pytest

from bots.slack.bot import SlackBot
from contract.agent import Option, Question
from contract.chat import Destination, Room
from contract.errors import PlatformError
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.slack import ASH, CODEX, GENERAL, OLIVIA, Fault, SlackDouble

MakeSlackBot = Callable[..., SlackBot]
ROOM = Room(f"slack:{GENERAL}", "general")
HERE = Destination(ROOM)


def long_ago() -> datetime:
    return datetime.now(UTC) - timedelta(minutes=10)


@pytest.fixture
async def bot(slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot) -> AsyncIterator[SlackBot]:
    bot = slack_bot()
    async with running(bot, inbox):
        async with asyncio.timeout(PATIENCE_S):
            await slack.delivery.connected()
        yield bot


async def test_a_post_is_mrkdwn_in_its_thread_with_its_key_and_no_previews(
    slack: SlackDouble, bot: SlackBot
) -> None:
    root = await slack.say("root")
    posted = await bot.post(Destination(ROOM, root), "**hi** & <b>", "key-1")
    message = slack.messages[GENERAL][posted]
    assert message["text"] == "*hi* &amp; &lt;b&gt;"
    assert message["thread_ts"] == root
    assert message["metadata"] == {"event_type": "moot_post", "event_payload": {"key": "key-1"}}
    (args,) = slack.called("chat.postMessage")
    assert (args["unfurl_links"], args["unfurl_media"]) == ("false", "false")


async def test_an_edit_replaces_the_text_and_takes_the_buttons_away(
    slack: SlackDouble, bot: SlackBot
) -> None:
    question = Question("q", "Run?", "", (Option("Yes"), Option("No", refuses=True)))
    asked = await bot.ask(HERE, question, "k")
    await bot.edit(HERE, asked, "*Run?* No, said Ash.")
    message = slack.messages[GENERAL][asked]
    assert (message["text"], message["blocks"]) == ("_Run?_ No, said Ash.", [])


async def test_a_deletion_of_what_is_gone_is_no_error(slack: SlackDouble, bot: SlackBot) -> None:
    posted = await bot.post(HERE, "x", "k")
    await bot.delete(HERE, posted)
    await bot.delete(HERE, posted)
    assert slack.texts() == []


async def test_a_piece_as_long_as_split_makes_it_can_be_edited(
    slack: SlackDouble, bot: SlackBot
) -> None:
    pieces = bot.split("```\n" + "if a < b && c > d: pass  # é漢字\n" * 1_500 + "```")
    assert len(pieces) > 3
    for number, piece in enumerate(pieces):
        await bot.edit(HERE, await bot.post(HERE, "…", f"k{number}"), piece)
    shown = "".join(slack.texts()).replace("&lt;", "<")
    assert (shown.count("if a < b"), shown.count("…")) == (1_500, 0)


async def test_a_long_answer_is_markdown_that_slack_reads_itself(
    slack: SlackDouble, bot: SlackBot
) -> None:
    answer = "| a | b |\n| --- | --- |\n" + "| 1 < 2 | `x` |\n" * 400 + "\nAsk <@U06STGBF4Q0>."
    posted = await bot.post(HERE, answer, "key-1")
    message = slack.messages[GENERAL][posted]
    assert message["blocks"] == [{"type": "markdown", "text": answer}]
    assert message["text"].startswith("| a | b |\n| --- | --- |\n| 1 &lt; 2")
    assert len(message["text"]) <= 900
    assert message["metadata"]["event_payload"] == {"key": "key-1"}


@pytest.mark.parametrize("code", ["invalid_blocks", "msg_blocks_too_long"])
async def test_a_block_that_slack_refuses_is_a_text(
    slack: SlackDouble, bot: SlackBot, code: str
) -> None:
    answer = "**word** " * 800
    slack.fail("chat.postMessage", Fault("error", code=code))
    first = await bot.post(HERE, answer, "key-1")
    assert slack.texts() == [("*word* " * 800).strip()]
    slack.fail("chat.update", Fault("error", code=code))
    with pytest.raises(PlatformError) as refused:
        await bot.edit(HERE, first, answer)
    assert refused.value.outcome == "refused", "so it is posted anew, and this one goes"


async def test_a_question_has_buttons_and_the_same_to_type(
    slack: SlackDouble, bot: SlackBot
) -> None:
    options = (Option("Yes"), Option("Yes, and <always> " + "x" * 90), Option("No", refuses=True))
    detail = "rm -rf ~/a && echo '```' @here <@U06STGBF4Q0>"
    question = Question("turn 7", "Run *this*?", detail, options)
    asked = await bot.ask(HERE, question, "k")
    message = slack.messages[GENERAL][asked]
    section, actions = message["blocks"]
    assert section["text"]["text"] == message["text"]
    lines = message["text"].replace("\u200b", "¦").split("\n")
    assert lines[:4] == [
        "*Run *this*?*",
        "```",
        "rm -rf ~/a &amp;&amp; echo '``¦`' @here &lt;@U06STGBF4Q0&gt;",
        "```",
    ]
    assert [line[:5] for line in lines[4:]] == ["`!1` ", "`!2` ", "`!3` "]
    values = [f"{number} {question.digest} turn 7" for number in range(3)]
    assert [b["value"] for b in actions["elements"]] == values
    assert message["metadata"]["event_payload"] == {"key": "k"}


async def test_a_question_of_any_length_is_one_that_slack_takes(
    slack: SlackDouble, bot: SlackBot
) -> None:
    options = tuple(Option("&" * 500 + str(n)) for n in range(70))
    question = Question("q", "T" * 900, "<&>\n" * 9_000, options)
    asked = await bot.ask(HERE, question, "k")
    rows = slack.messages[GENERAL][asked]["blocks"][1:]
    assert sum(len(row["elements"]) for row in rows) == 50


async def test_a_file_is_shared_with_its_comment(slack: SlackDouble, bot: SlackBot) -> None:
    root = await slack.say("root")
    file = await bot.upload(Destination(ROOM, root), "answer.md", b"# long", "**Summary**", "k")
    assert (slack.files[file].data, slack.files[file].shared) == (b"# long", True)
    (message,) = (m for m in slack.messages[GENERAL].values() if m.get("files"))
    assert (message["text"], message["thread_ts"]) == ("*Summary*", root)


async def test_the_members_are_people_and_other_bots_but_not_itself(bot: SlackBot) -> None:
    members = await bot.members(ROOM)
    assert [(m.id, m.name, m.kind, m.mention) for m in members] == [
        (f"slack:{OLIVIA}", "Olivia", "human", f"<@{OLIVIA}>"),
        (f"slack:{ASH}", "Ash", "human", f"<@{ASH}>"),
        (f"slack:{CODEX}", "codex", "bot", None),
    ]


async def test_members_have_their_title_or_their_rank_for_a_role(
    slack: SlackDouble, bot: SlackBot
) -> None:
    slack.users[OLIVIA]["profile"]["title"] = "  Backend\nlead " + "x" * 90
    slack.users[OLIVIA]["is_owner"] = True
    slack.users[ASH]["is_admin"] = True
    slack.users[CODEX]["profile"]["title"] = "not for bots"
    roles = {member.name: member.role for member in await bot.members(ROOM)}
    assert roles == {
        "Olivia": ("Backend lead " + "x" * 90)[:64],
        "Ash": "workspace admin",
        "codex": None,
    }


async def test_a_large_room_is_told_up_to_a_hundred(slack: SlackDouble, bot: SlackBot) -> None:
    slack.members[GENERAL] = [f"U{n:08}" for n in range(900)]
    assert len(await bot.members(ROOM)) == 100
    assert len(slack.called("conversations.members")) == 1


async def test_a_room_whose_members_slack_keeps_to_itself_has_none(
    slack: SlackDouble, bot: SlackBot
) -> None:
    slack.fail("conversations.members", Fault("error", code="fetch_members_failed"))
    assert await bot.members(ROOM) == []


# ── Marks and status ────────────────────────────────────────────────────────────────────────


async def test_marks_follow_one_another(slack: SlackDouble, bot: SlackBot) -> None:
    ts = await slack.say("hi")
    seen = []
    for mark in ("waiting", "working", "working", "done"):
        await bot.react(HERE, ts, mark)
        seen.append(list(slack.messages[GENERAL][ts]["reactions"]))
    assert seen == [["hourglass_flowing_sand"], ["eyes"], ["eyes"], ["white_check_mark"]]


async def test_a_mark_on_an_id_that_is_not_slacks_raises_nothing(bot: SlackBot) -> None:
    await bot.react(HERE, "an-id-of-the-api", "working")


async def test_a_mark_of_an_earlier_process_is_taken_back(
    slack: SlackDouble, slack_bot: MakeSlackBot
) -> None:
    ts = await slack.say("hi")
    bot = slack_bot()
    slack.messages[GENERAL][ts]["reactions"] = ["eyes", "heart"]
    await bot.react(HERE, ts, "failed")
    await bot.close()
    assert slack.messages[GENERAL][ts]["reactions"] == ["heart", "x"]


async def test_nothing_is_taken_back_from_what_was_said_after_the_start(
    slack: SlackDouble, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot(now=lambda: time.time() - 60.0)
    await bot.react(HERE, await slack.say("hi"), "done")
    await bot.close()
    assert len(slack.called("reactions.add")) == 1
    assert slack.called("reactions.remove") == []


async def test_marks_that_the_app_may_not_make_are_tried_once(
    slack: SlackDouble, bot: SlackBot
) -> None:
    slack.scopes.discard("reactions:write")
    for _ in range(3):
        await bot.react(HERE, await slack.say("hi"), "working")
    assert len(slack.called("reactions.add")) == 1


@pytest.mark.parametrize(
    "fault", [Fault("500"), Fault("cut"), Fault("429"), Fault("error", code="message_not_found")]
)
async def test_a_mark_that_fails_raises_nothing_and_the_next_is_tried(
    slack: SlackDouble, bot: SlackBot, fault: Fault
) -> None:
    slack.fail("reactions.add", fault)
    slack.fail("reactions.remove", fault)
    await bot.react(HERE, await slack.say("one"), "working")
    other = Destination(Room("slack:G0PRIVATE", "secret"))
    ts = await slack.say("two", channel="G0PRIVATE")
    await bot.react(other, ts, "working")
    assert slack.messages["G0PRIVATE"][ts]["reactions"] == ["eyes"]


async def test_a_status_stands_under_the_thread_and_is_ended(
    slack: SlackDouble, bot: SlackBot
) -> None:
    root = await slack.say("root")
    await bot.typing(Destination(ROOM, root), "is thinking…")
    assert slack.statuses[GENERAL, root] == "is thinking…"
    await bot.typing(Destination(ROOM, root), "")
    assert slack.statuses[GENERAL, root] == ""
    await bot.typing(HERE, "is thinking…")
    assert len(slack.called("assistant.threads.setStatus")) == 2


async def test_a_status_that_is_refused_is_not_tried_again(
    slack: SlackDouble, bot: SlackBot
) -> None:
    slack.scopes.discard("chat:write")
    root = await slack.say("root")
    for _ in range(3):
        await bot.typing(Destination(ROOM, root), "is thinking…")
    assert len(slack.called("assistant.threads.setStatus")) == 1


# ── What went wrong ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("fault", "outcome", "posts"),
    [
        (Fault("429", retry_after_s=7), "retry", 0),
        (Fault("500"), "unknown", 0),
        (Fault("500", "after"), "unknown", 1),
        (Fault("cut"), "unknown", 0),
        (Fault("cut", "after"), "unknown", 1),
        (Fault("garbled", "after"), "unknown", 1),
        (Fault("error", code="internal_error"), "unknown", 0),
        (Fault("error", code="fatal_error"), "unknown", 0),
        (Fault("error", code="request_timeout"), "unknown", 0),
        (Fault("error", code="ratelimited"), "retry", 0),
        (Fault("error", code="channel_not_found"), "refused", 0),
        (Fault("error", code="missing_scope"), "refused", 0),
        (Fault("error", code="token_revoked"), "refused", 0),
    ],
)
async def test_a_failed_post_tells_whether_it_may_have_happened_and_is_not_repeated(
    slack: SlackDouble, bot: SlackBot, fault: Fault, outcome: str, posts: int
) -> None:
    slack.fail("chat.postMessage", fault)
    with pytest.raises(PlatformError) as caught:
        await bot.post(HERE, "hello", "k")
    assert caught.value.outcome == outcome
    assert len(slack.texts()) == posts
    assert len(slack.called("chat.postMessage")) == 1


async def test_a_slack_that_is_not_there_was_told_nothing(
    slack_bot: MakeSlackBot, unused_tcp_port: int
) -> None:
    bot = slack_bot(api_url=f"http://127.0.0.1:{unused_tcp_port}/api/")
    with pytest.raises(PlatformError) as caught:
        await bot.post(HERE, "hello", "k")
    assert caught.value.outcome == "retry"
    await bot.close()


async def test_slack_asks_for_time_and_gets_it_in_that_channel(
    slack: SlackDouble, slack_bot: MakeSlackBot
) -> None:
    time = [1_000.0]
    bot = slack_bot(now=lambda: time[0])
    slack.fail("chat.postMessage", Fault("429", retry_after_s=30))
    with pytest.raises(PlatformError) as first:
        await bot.post(HERE, "hello", "k")
    time[0] += 10
    with pytest.raises(PlatformError) as second:
        await bot.post(HERE, "hello", "k")
    assert (first.value.retry_after_s, second.value.retry_after_s) == (30.0, 20.0)
    assert len(slack.called("chat.postMessage")) == 1
    await bot.post(Destination(Room("slack:G0PRIVATE", "secret")), "elsewhere", "k2")
    time[0] += 21
    await bot.post(HERE, "hello", "k")
    assert slack.texts() == ["hello"]
    await bot.close()


async def test_a_refusal_says_what_to_do(slack: SlackDouble, bot: SlackBot) -> None:
    slack.fail("chat.postMessage", Fault("error", code="not_in_channel"))
    with pytest.raises(PlatformError, match=r"not_in_channel.*invite"):
        await bot.post(HERE, "hello", "k")
    slack.scopes.discard("chat:write")
    with pytest.raises(PlatformError, match=r"missing_scope.*chat:write"):
        await bot.post(HERE, "hello", "k")


async def test_an_upload_is_in_doubt_only_at_its_last_step(
    slack: SlackDouble, bot: SlackBot
) -> None:
    outcomes = []
    steps = ("files.getUploadURLExternal", "files.completeUploadExternal")
    for step in steps:
        slack.fail(step, Fault("cut"))
        with pytest.raises(PlatformError) as caught:
            await bot.upload(HERE, "a.md", b"x", "see", "k")
        outcomes.append(caught.value.outcome)
    assert outcomes == ["retry", "unknown"]
