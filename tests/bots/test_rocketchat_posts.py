"""What the bot does in Rocket.Chat, and how honestly it tells when that went wrong."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bots.rocketchat.bot import RocketChatBot
from bots.rocketchat.check import Credentials
from bots.rocketchat.posts import message_id
from contract.agent import Option, Question
from contract.chat import Destination, PersonaIdentity, Room
from contract.errors import PlatformError
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.rocketchat import ASH, CLAUDE, GENERAL, Fault, RocketChatDouble

MakeBot = Callable[..., RocketChatBot]
ROOM = Room(f"rocketchat:{GENERAL}", "general")
HERE = Destination(ROOM)
LONG_AGO = datetime.now(UTC) - timedelta(minutes=10)


@pytest.fixture
async def bot(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> AsyncIterator[RocketChatBot]:
    bot = rocketchat_bot()
    async with running(bot, inbox):
        async with asyncio.timeout(PATIENCE_S):
            await rocketchat.sockets.listening(CLAUDE)
        yield bot


async def test_a_post_goes_into_its_thread_under_an_id_of_its_key(
    rocketchat: RocketChatDouble, bot: RocketChatBot
) -> None:
    root = rocketchat.say("root")
    posted = await bot.post(Destination(ROOM, root), "hi", "key-1")
    assert posted == message_id("key-1", GENERAL, CLAUDE)
    assert rocketchat.messages[posted]["tmid"] == root
    (sent,) = rocketchat.called("chat.sendMessage")
    assert sent == {"message": {"_id": posted, "rid": GENERAL, "msg": "hi", "tmid": root}}


async def test_the_same_key_twice_is_one_message(
    rocketchat: RocketChatDouble, bot: RocketChatBot
) -> None:
    first = await bot.post(HERE, "hi", "k")
    assert await bot.post(HERE, "hi", "k") == first
    rocketchat.fail("chat.sendMessage", Fault("error", code="error-duplicate"))
    assert await bot.post(HERE, "hi", "k") == first
    assert rocketchat.texts() == ["hi"]


def test_an_id_is_one_that_the_server_could_have_made() -> None:
    ids = [message_id(f"k{n}", GENERAL, CLAUDE) for n in range(200)]
    assert all(len(i) == 17 and i.isalnum() and i.isascii() for i in ids)
    assert len({*ids, message_id("k1", "other", CLAUDE), message_id("k1", GENERAL, ASH)}) == 202


@pytest.mark.parametrize(
    ("fault", "outcome", "there"),
    [
        (Fault("500"), "unknown", False),
        (Fault("500", "after"), "unknown", True),
        (Fault("cut"), "unknown", False),
        (Fault("cut", "after"), "unknown", True),
        (Fault("garbled", "after"), "unknown", True),
        (Fault("error", code="error-not-allowed"), "refused", False),
        (Fault("429", retry_after_s=7), "retry", False),
    ],
)
async def test_a_failed_post_tells_whether_it_may_have_happened_and_find_knows(
    rocketchat: RocketChatDouble, bot: RocketChatBot, fault: Fault, outcome: str, there: bool
) -> None:
    rocketchat.fail("chat.sendMessage", fault)
    with pytest.raises(PlatformError) as caught:
        await bot.post(HERE, "hi", "k")
    assert caught.value.outcome == outcome
    found = await bot.find(HERE, "k", LONG_AGO, ())
    assert found == (message_id("k", GENERAL, CLAUDE) if there else None)


async def test_a_put_off_call_is_not_made_again_before_its_time(
    rocketchat: RocketChatDouble, bot: RocketChatBot
) -> None:
    rocketchat.fail("chat.sendMessage", Fault("429", retry_after_s=7))
    for _ in range(3):
        with pytest.raises(PlatformError) as caught:
            await bot.post(HERE, "hi", "k")
        assert 6 < caught.value.retry_after_s <= 7
    assert len(rocketchat.called("chat.sendMessage")) == 1
    await bot.delete(HERE, "nothing")  # another route is open


async def test_nothing_is_found_where_nobody_can_tell(
    rocketchat: RocketChatDouble, bot: RocketChatBot
) -> None:
    rocketchat.fail("chat.getMessage", Fault("500"))
    with pytest.raises(PlatformError):
        await bot.find(HERE, "k", LONG_AGO, ())


async def test_an_edit_replaces_the_text_and_a_deletion_of_what_is_gone_is_no_error(
    rocketchat: RocketChatDouble, bot: RocketChatBot
) -> None:
    posted = await bot.post(HERE, "…", "k")
    await bot.edit(HERE, posted, "done")
    assert rocketchat.texts() == ["done"]
    await bot.delete(HERE, posted)
    await bot.delete(HERE, posted)
    assert rocketchat.texts() == []
    theirs = rocketchat.say("mine")
    with pytest.raises(PlatformError):
        await bot.delete(HERE, theirs)


async def test_pieces_fit_the_server_s_own_limit(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    rocketchat.most_chars = 1_000
    bot = rocketchat_bot()
    async with running(bot, inbox):
        async with asyncio.timeout(PATIENCE_S):
            await rocketchat.sockets.listening(CLAUDE)
        pieces = bot.split("Some **words** 🎉 and more.\n\n" * 200)
        for number, piece in enumerate(pieces):
            await bot.edit(HERE, await bot.post(HERE, "…", f"k{number}"), piece)
    assert len(pieces) > 5
    assert all(len(t.encode("utf-16-le")) // 2 <= 1_000 for t in rocketchat.texts())


async def test_each_persona_speaks_under_its_own_name_where_that_is_permitted(
    rocketchat: RocketChatDouble, bot: RocketChatBot
) -> None:
    as_codex = replace(HERE, voice=PersonaIdentity("codex", "https://x.example/c.png"))
    posted = await bot.post(as_codex, "hi", "k1")
    assert rocketchat.messages[posted]["alias"] == "codex"
    assert rocketchat.messages[posted]["avatar"] == "https://x.example/c.png"
    rocketchat.permissions["message-impersonate"] = []
    for key in ("k2", "k3"):
        assert "alias" not in rocketchat.messages[await bot.post(as_codex, "hi", key)]
    tried = [c["message"].get("alias") for c in rocketchat.called("chat.sendMessage")]
    assert tried == ["codex", "codex", None, None]


async def test_a_question_says_what_to_type(
    rocketchat: RocketChatDouble, bot: RocketChatBot
) -> None:
    options = (Option("Yes"), Option("No", refuses=True))
    asked = await bot.ask(HERE, Question("turn 7", "Run *this*?", "rm -rf ~", options), "k")
    text = rocketchat.messages[asked]["msg"]
    assert "rm -rf ~" in text
    assert "!1" in text
    assert "!2" in text


async def test_marks_follow_one_another(rocketchat: RocketChatDouble, bot: RocketChatBot) -> None:
    sent = rocketchat.say("hello")
    seen = []
    for mark in ("waiting", "working", "working", "done"):
        await bot.react(HERE, sent, mark)
        seen.append(list(rocketchat.messages[sent]["reactions"]))
    assert seen == [
        [":hourglass_flowing_sand:"],
        [":eyes:"],
        [":eyes:"],
        [":white_check_mark:"],
    ]
    rocketchat.fail("chat.react", Fault("500"))
    await bot.react(HERE, "nowhere", "failed")


async def test_typing_is_shown_and_ended(rocketchat: RocketChatDouble, bot: RocketChatBot) -> None:
    root = rocketchat.say("root")
    shown = rocketchat.sockets.typing
    async with asyncio.timeout(PATIENCE_S):
        while not shown:
            await bot.typing(Destination(ROOM, root), "is working")
            await asyncio.sleep(0.01)
        await bot.typing(HERE, "")
        while shown[-1]["doing"]:
            await asyncio.sleep(0.01)
    about = {"rid": GENERAL, "username": "claude"}
    assert shown[0] == {**about, "doing": ["user-typing"], "tmid": root}
    assert shown[-1] == {**about, "doing": []}
    rocketchat.sockets.cut()
    await bot.typing(HERE, "is working")


async def test_an_account_whose_calls_are_counted_edits_seldom_and_says_so_once(
    rocketchat: RocketChatDouble,
    inbox: Inbox,
    rocketchat_bot: MakeBot,
    caplog: pytest.LogCaptureFixture,
) -> None:
    rocketchat.users[CLAUDE]["roles"] = ["user"]
    bot = rocketchat_bot()
    async with running(bot, inbox):
        async with asyncio.timeout(PATIENCE_S):
            await rocketchat.sockets.listening(CLAUDE)
            rocketchat.sockets.cut()
            await rocketchat.sockets.listening(CLAUDE, 2)
        assert bot.capabilities.draft_interval_s == 15.0
    assert caplog.text.count("lacks the role bot") == 1


async def test_an_account_with_the_role_edits_every_second(bot: RocketChatBot) -> None:
    assert bot.capabilities.draft_interval_s == 1.0


async def test_a_sign_that_was_refused_leaves_the_one_before_it_alone(
    rocketchat: RocketChatDouble, bot: RocketChatBot
) -> None:
    sent = rocketchat.say("hello")
    rocketchat.fail("chat.react", Fault("500"), times=2)
    await bot.react(HERE, sent, "waiting")
    await bot.react(HERE, sent, "done")
    assert not rocketchat.messages[sent].get("reactions")


async def test_check_tells_what_is_missing_with_its_remedy(
    rocketchat: RocketChatDouble, rocketchat_bot: MakeBot
) -> None:
    assert list(await rocketchat_bot(personas=["a", "b"]).check()) == []
    rocketchat.permissions["message-impersonate"] = []
    rocketchat.settings = {"Message_AllowEditing": False, "FileUpload_Enabled": False}
    told = list(await rocketchat_bot(personas=["a", "b"]).check())
    assert [line.split(":")[0] for line in told] == [
        "@claude lacks the permission message-impersonate (each persona under its own name)",
        "messages can't be edited, so there are no drafts",
        "files are refused",
    ]
    assert list(await rocketchat_bot().check()) == told[1:]
    rocketchat.settings = {"Message_AllowEditing_BlockEditInMinutes": 5}
    assert list(await rocketchat_bot().check()) == []
    rocketchat.permissions["bypass-time-limit-edit-and-delete"] = ["admin"]
    [late] = await rocketchat_bot().check()
    assert late.startswith("messages can be edited for 5 minutes only")
    rocketchat.users[CLAUDE]["roles"] = ["user"]
    (role, *_) = await rocketchat_bot().check()
    assert "Administration → Workspace → Users → @claude → Edit → Roles" in role
    assert {call.method for call in rocketchat.calls} == {"GET"}


async def test_a_post_before_the_bot_runs_is_made_or_put_off(
    rocketchat: RocketChatDouble, rocketchat_bot: MakeBot
) -> None:
    ready, early = (
        rocketchat_bot(),
        rocketchat_bot(login=Credentials(username="claude", password="x")),
    )
    assert await ready.post(HERE, "hi", "k") == message_id("k", GENERAL, CLAUDE)
    with pytest.raises(PlatformError) as caught:
        await early.post(HERE, "hi", "k2")
    assert caught.value.outcome == "retry"
    await ready.close()
