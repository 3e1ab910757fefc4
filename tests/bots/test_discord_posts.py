"""What the bot says in Discord: replies, drafts, files, and posts whose outcome is in doubt."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

import pytest

from bots.discord.bot import DiscordBot
from bots.discord.buttons import buttons
from bots.discord.posts import nonce_of
from bots.kit.slash import SlashCommand
from contract.agent import Option, Question
from contract.chat import Destination, Room
from contract.errors import PlatformError
from tests.bots.discord_schema import faults
from tests.doubles import discord_objects as objects
from tests.doubles.discord import (
    ASH,
    BOT,
    CODEX,
    DM,
    EDIT,
    GENERAL,
    HISTORY,
    OLIVIA,
    POST,
    DiscordDouble,
    Fault,
)
from tests.doubles.inbox import PATIENCE_S, Inbox, running

MakeDiscordBot = Callable[..., DiscordBot]
ROOM = Room(f"discord:{GENERAL}", "general")
BEGIN = ("POST", "/channels/{channel}/messages/{message}/threads")
LONG_AGO = datetime.now(UTC) - timedelta(hours=1)


@pytest.fixture
async def bot(discord_bot: MakeDiscordBot) -> AsyncIterator[DiscordBot]:
    made = discord_bot()
    yield made
    await made.close()


async def test_an_answer_is_a_reply_that_tells_nobody_but_who_asked_and_who_is_tagged(
    discord_double: DiscordDouble, bot: DiscordBot
) -> None:
    asked = await discord_double.say("?")
    place = Destination(ROOM, asked)
    await bot.post(place, f"@everyone, <@{ASH}> knows: <@&90000000000000201>", "k1")
    await bot.post(place, "and that is all", "k2")
    first, second = discord_double.posts()
    assert first["message_reference"]["message_id"] == asked
    assert [user["id"] for user in first["mentions"]] == [ASH, OLIVIA]
    assert second["message_reference"]["message_id"] == asked
    assert second["mentions"] == []
    body = discord_double.called(POST)[0].body
    assert body["allowed_mentions"] == {"parse": [], "users": [ASH], "replied_user": True}
    assert body["flags"] == 4


async def test_a_reply_to_what_is_gone_is_a_plain_post(
    discord_double: DiscordDouble, bot: DiscordBot
) -> None:
    asked = await discord_double.say("?")
    await discord_double.remove(GENERAL, asked)
    await bot.post(Destination(ROOM, asked), "answer", "k")
    assert "message_reference" not in discord_double.posts()[0]


async def test_the_same_key_twice_is_one_message(
    discord_double: DiscordDouble, bot: DiscordBot
) -> None:
    one = await bot.post(Destination(ROOM), "once", "key")
    assert await bot.post(Destination(ROOM), "once", "key") == one
    assert discord_double.texts() == ["once"]


@pytest.mark.parametrize("fault", [Fault("429"), Fault("500"), Fault("500", "after")])
async def test_a_passing_failure_is_waited_out(
    discord_double: DiscordDouble, bot: DiscordBot, fault: Fault
) -> None:
    discord_double.fail(POST, fault)
    await bot.post(Destination(ROOM), "once", "key")
    assert discord_double.texts() == ["once"]


@pytest.mark.parametrize("fault", [Fault("cut", "after"), Fault("500", "after", status=503)])
@pytest.mark.parametrize("restarted", [False, True])
async def test_a_post_in_doubt_is_found_even_without_its_nonce(
    discord_double: DiscordDouble,
    bot: DiscordBot,
    discord_bot: MakeDiscordBot,
    fault: Fault,
    restarted: bool,
) -> None:
    asked = await discord_double.say("?")
    place = Destination(ROOM, asked)
    since = discord_double.messages[GENERAL][asked]["timestamp"]
    known = [await bot.post(place, "another answer", "other")]
    await bot.ask(place, Question("q", "May I?", "", (Option("Yes"),)), "question")
    discord_double.fail(POST, fault)
    with pytest.raises(PlatformError) as caught:
        await bot.post(place, "answer", "key")
    assert caught.value.outcome == "unknown"
    looking = discord_bot() if restarted else bot
    found = await looking.find(place, "key", datetime.fromisoformat(since), known)
    await looking.close()
    assert found == discord_double.posts()[-1]["id"]


async def test_a_post_that_never_arrived_is_not_found(
    discord_double: DiscordDouble, bot: DiscordBot
) -> None:
    asked = await discord_double.say("?")
    other = await discord_double.say("another question")
    await bot.post(Destination(ROOM, other), "the answer to another question", "other")
    discord_double.fail(POST, Fault("cut"))
    with pytest.raises(PlatformError):
        await bot.post(Destination(ROOM, asked), "answer", "key")
    assert await bot.find(Destination(ROOM, asked), "key", LONG_AGO, ()) is None


async def test_the_history_is_looked_through_page_by_page_and_no_further_than_needed(
    discord_double: DiscordDouble, bot: DiscordBot, discord_bot: MakeDiscordBot
) -> None:
    target = await bot.post(Destination(ROOM), "answer", "key")
    for number in range(150):
        await discord_double.say(f"{number}")
    later = discord_bot(now=lambda: time.time() + 600)
    assert await later.find(Destination(ROOM), "key", LONG_AGO, ()) == target
    await later.close()
    assert len(discord_double.called(HISTORY)) == 2


async def test_where_a_guess_could_be_wrong_a_fresh_post_is_repeated_by_its_nonce(
    discord_double: DiscordDouble, bot: DiscordBot, discord_bot: MakeDiscordBot
) -> None:
    place = Destination(Room(f"discord:{DM}", "Olivia", "dm"))
    first = await bot.post(place, "one answer", "first")
    restarted = discord_bot()
    assert await restarted.find(place, "second", LONG_AGO, ()) is None
    second = await restarted.post(place, "another answer", "second")
    assert await restarted.post(place, "one answer", "first") == first
    await restarted.close()
    assert [post["id"] for post in discord_double.posts(DM)] == [first, second]


async def test_an_echo_tells_the_id_of_a_post_in_doubt(
    discord_double: DiscordDouble, discord_bot: MakeDiscordBot, inbox: Inbox
) -> None:
    bot = discord_bot()
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        discord_double.fail(POST, Fault("cut", "after"))
        with pytest.raises(PlatformError):
            await bot.post(Destination(ROOM), "answer", "key")
        await discord_double.say("next")
        await inbox.kept(1)
        found = await bot.find(Destination(ROOM), "key", datetime.now(UTC), ())
    assert found == discord_double.posts()[0]["id"]
    assert not discord_double.called(HISTORY)[1:]


async def test_a_draft_is_edited_and_deleted(
    discord_double: DiscordDouble, bot: DiscordBot
) -> None:
    draft = await bot.post(Destination(ROOM), "so", "k")
    await bot.edit(Destination(ROOM), draft, "so far")
    assert discord_double.texts() == ["so far"]
    await bot.delete(Destination(ROOM), draft)
    await bot.delete(Destination(ROOM), draft)
    assert discord_double.texts() == []
    with pytest.raises(PlatformError) as caught:
        await bot.edit(Destination(ROOM), draft, "gone")
    assert caught.value.outcome == "refused"


async def test_a_file_is_posted_once_and_its_name_is_kept(
    discord_double: DiscordDouble, bot: DiscordBot
) -> None:
    asked = await discord_double.say("?")
    data = "# Täble\n".encode() * 1000
    discord_double.fail(POST, Fault("500", "after"))
    await bot.upload(Destination(ROOM, asked), "answer.md", data, "The whole answer.", "k")
    (posted,) = discord_double.posts()
    assert posted["content"] == "The whole answer."
    assert posted["message_reference"]["message_id"] == asked
    (file,) = posted["attachments"]
    assert file["filename"] == "answer.md"
    assert discord_double.files[file["id"]] == data


async def test_481_lines_of_code_arrive_without_a_torn_fence_or_a_changed_line(
    discord_double: DiscordDouble, bot: DiscordBot
) -> None:
    code = [f"    value[{n}] = compute({n}) < {n * 3}  # {'x' * (n % 40)}" for n in range(481)]
    for number, piece in enumerate(bot.split("```python\n" + "\n".join(code) + "\n```")):
        await bot.post(Destination(Room(f"discord:{DM}", "Olivia", "dm")), piece, f"k{number}")
    texts = discord_double.texts(DM)
    assert all(len(text) <= 2000 for text in texts)
    assert all(text.startswith("```python\n") and text.endswith("\n```") for text in texts)
    assert [line for text in texts for line in text.split("\n")[1:-1]] == code


async def test_what_is_refused_is_said_and_not_repeated(
    discord_double: DiscordDouble, bot: DiscordBot
) -> None:
    with pytest.raises(PlatformError, match="gone, or the bot may not see it") as caught:
        await bot.post(Destination(Room("discord:1", "nowhere")), "x", "k")
    assert caught.value.outcome == "refused"
    discord_double.hidden.add(GENERAL)
    with pytest.raises(PlatformError, match="let the bot's role view the channel"):
        await bot.post(Destination(ROOM), "x", "k")
    assert len(discord_double.called(POST)) == 2


async def test_a_sign_that_fails_is_left_out(
    discord_double: DiscordDouble, bot: DiscordBot
) -> None:
    sent = await discord_double.say("x")
    discord_double.hidden.add(GENERAL)
    for _ in range(3):
        await bot.typing(Destination(ROOM), "is working")
        await bot.react(Destination(ROOM), sent, "working")
    await bot.react(Destination(ROOM), sent, "done")
    await bot.typing(Destination(ROOM), "")
    signs = [a for a in discord_double.calls if a.method in ("PUT", "POST")]
    assert len(signs) == 2


def test_a_nonce_fits_and_differs_by_key() -> None:
    made = {nonce_of(f"key {n}") for n in range(1000)}
    assert len(made) == 1000
    assert {len(nonce) for nonce in made} == {24}


def test_more_choices_than_discord_has_room_for_can_still_be_typed() -> None:
    many = Question("q", "Which?", "", tuple(Option(f"{'x' * 90} {n}") for n in range(30)))
    rows = buttons(many)
    assert [len(row["components"]) for row in rows] == [5] * 5
    assert all(len(b["label"]) <= 80 for row in rows for b in row["components"])
    assert buttons(Question("q" * 100, "Which?", "", many.options)) == []


async def test_what_is_sent_is_what_discord_describes(
    discord_double: DiscordDouble, discord_bot: MakeDiscordBot, inbox: Inbox
) -> None:
    bot = discord_bot(commands=(SlashCommand("stop", "interrupt"),))
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        async with asyncio.timeout(PATIENCE_S):
            while not discord_double.commands:
                await asyncio.sleep(0.01)
        asked = await discord_double.say("?")
        place = Destination(ROOM, asked)
        question = Question("q", "May I?", "rm", (Option("Yes"), Option("No", refuses=True)))
        posted = await bot.ask(place, question, "k1")
        await bot.edit(place, posted, f"answered <@{CODEX}>")
        await bot.upload(place, "a.md", b"x", "", "k2")
        await discord_double.command("stop")
        await inbox.kept(2)
    checked = set()
    for call in discord_double.calls:
        found = faults(call.method, call.route, call.body, answer=False)
        assert not found, (call.method, call.route, found)
        checked |= {(call.method, call.route)} if found is not None else set()
    assert checked >= {POST, EDIT}
    assert len(checked) == 4


# ── Threads of its own ──────────────────────────────────────────────────────────────────────


async def test_a_question_is_answered_in_a_thread_of_its_own_and_who_asked_is_in_it(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    double, bot = discord_double, discord_bot(threads=True)
    async with running(bot, inbox):
        await double.gateway.connected()
        asked = await double.say(f"<@{BOT}> how old\nis it? {'really ' * 20}")
        await inbox.kept(1)
        place = Destination(ROOM, asked, is_answer=True)
        await bot.typing(place, "works")
        assert asked not in double.channels
        first, second = [await bot.post(place, text, text) for text in ("one", "two")]
        await bot.edit(place, first, "1")
        await bot.upload(place, "a.txt", b"a", "a file", "file")
        await bot.delete(place, second)
        reply = await bot.post(Destination(ROOM, await double.say("!status")), "fine", "k")
    assert double.channels[asked]["name"].startswith("how old is it? really")
    assert len(double.channels[asked]["name"]) == 100
    assert double.thread_members == {asked: {OLIVIA}}
    assert double.texts(asked) == ["1", "a file"]
    assert [post["id"] for post in double.posts()] == [reply]


async def test_a_thread_that_is_there_or_may_not_be_begun_loses_no_answer(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    double, bot = discord_double, discord_bot(threads=True)
    async with running(bot, inbox):
        await double.gateway.connected()
        asked = [await double.say(f"<@{BOT}> {n}") for n in range(2)]
        await inbox.kept(2)
        places = [Destination(ROOM, one, is_answer=True) for one in asked]
        double.fail(BEGIN, Fault("500", "after"))  # repeated, when the thread is there
        assert await bot.find(places[0], "k", LONG_AGO, ()) is None
        await bot.post(places[0], "in the thread", "k")
        double.permissions &= ~objects.BEGIN_THREADS
        await bot.post(places[1], "in the channel", "k2")
        (lacks,) = await bot.check()
    assert double.texts(asked[0]) == ["in the thread"]
    (post,) = double.posts()
    assert post["message_reference"]["message_id"] == asked[1]
    assert "create_public_threads (begin threads)" in lacks
