"""The bot against the double: what people do there, and what the gateway gets."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from bots.rocketchat.bot import RocketChatBot
from bots.rocketchat.check import Credentials
from contract.agent import Option, Question
from contract.chat import Chosen, Deleted, Destination, Edited, Event, Pinned, Room, Speaker
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.rocketchat import (
    ASH,
    CLAUDE,
    CODEX,
    DISCUSSION,
    DM,
    GENERAL,
    GROUP_DM,
    OLIVIA,
    SECRET,
    Fault,
    RocketChatDouble,
)

MakeBot = Callable[..., RocketChatBot]
ROOM = Room(f"rocketchat:{GENERAL}", "general")


@asynccontextmanager
async def at_work(
    bot: RocketChatBot, inbox: Inbox, rocketchat: RocketChatDouble
) -> AsyncIterator[RocketChatBot]:
    """The bot, once it hears messages."""
    async with running(bot, inbox):
        async with asyncio.timeout(PATIENCE_S):
            await rocketchat.sockets.listening(CLAUDE)
        yield bot


async def test_a_mention_is_told_with_all_that_the_contract_asks_for(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with at_work(rocketchat_bot(), inbox, rocketchat):
        sent = rocketchat.say("@claude  why *15* minutes? <b> :smile:\n")
        await inbox.kept(1)
    (message,) = inbox.messages
    assert message.content == "@claude  why *15* minutes? <b> :smile:\n"
    assert message.mentioned
    assert message.message_id == sent
    assert message.room == ROOM
    assert message.thread_id is None
    assert message.meta.source == "rocketchat"
    assert message.meta.sender_id == f"rocketchat:{OLIVIA}"
    assert message.meta.sender_display_name == "Olivia"
    assert message.meta.sender_type == "human"
    assert message.meta.mention_token == "@olivia"
    assert message.meta.channel_external_id == GENERAL
    assert message.meta.trigger_rag
    assert message.meta.recipient_id == "bot:claude"


async def test_a_message_to_nobody_or_to_all_is_no_mention(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with at_work(rocketchat_bot(), inbox, rocketchat):
        rocketchat.say("lunch?", ASH)
        rocketchat.say("@all @here lunch!", ASH)
        rocketchat.say("@codex lunch?", ASH)
        await inbox.kept(3)
    assert [(m.mentioned, m.meta.trigger_rag) for m in inbox.messages] == [(False, False)] * 3
    assert {m.meta.recipient_id for m in inbox.messages} == {None}


async def test_without_the_need_of_a_mention_recall_may_run_for_every_message(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with at_work(rocketchat_bot(require_mention=False), inbox, rocketchat):
        rocketchat.say("lunch?", ASH)
        await inbox.kept(1)
    assert inbox.messages[0].meta.trigger_rag


@pytest.mark.parametrize(
    ("rid", "kind", "name", "mentioned"),
    [
        (DM, "dm", "Olivia", True),
        (GROUP_DM, "gdm", "olivia, ash", False),
        (SECRET, "room", "secret", False),
        (DISCUSSION, "room", "The red build", False),
    ],
)
@pytest.mark.parametrize("informed", [True, False])
async def test_a_room_is_of_its_kind(
    rocketchat: RocketChatDouble,
    inbox: Inbox,
    rocketchat_bot: MakeBot,
    rid: str,
    kind: str,
    name: str,
    mentioned: bool,
    informed: bool,
) -> None:
    if not informed:  # a server that tells nothing but its subscriptions
        rocketchat.fail("rooms.get", Fault("error", code="x"))
        rocketchat.fail("rooms.info", Fault("error", code="x"))
    async with at_work(rocketchat_bot(), inbox, rocketchat):
        rocketchat.say("hello", rid=rid)
        await inbox.kept(1)
    (message,) = inbox.messages
    assert (message.room.kind, message.mentioned) == (kind, mentioned)
    if informed or kind != "gdm":
        assert message.room.name == name


async def test_the_bot_does_not_hear_itself_but_hears_other_bots(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with at_work(rocketchat_bot(), inbox, rocketchat) as bot:
        await bot.post(Destination(ROOM), "my own words", "k")
        rocketchat.say("mine too", CLAUDE)
        rocketchat.say("from codex", CODEX)
        rocketchat.say("from a hook", ASH, bot={"i": "hook"}, alias="Build server")
        await inbox.kept(2)
    codex, hook = inbox.messages
    assert (codex.meta.sender_type, codex.meta.sender_display_name) == ("bot", "Codex")
    assert codex.meta.mention_token is None
    assert (hook.meta.sender_type, hook.meta.sender_display_name) == ("bot", "Build server")
    assert bot.own_ids == {f"rocketchat:{CLAUDE}"}


async def test_a_public_room_that_it_was_not_invited_to_is_none_of_its_business(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    rocketchat.room("elsewhere", "c", [OLIVIA, ASH], name="elsewhere")
    async with at_work(rocketchat_bot(), inbox, rocketchat):
        rocketchat.say("@claude are you there?", rid="elsewhere")
        rocketchat.say("here")
        await inbox.kept(1)
    assert [m.content for m in inbox.messages] == ["here"]


async def test_an_edit_and_a_deletion_are_told(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with at_work(rocketchat_bot(), inbox, rocketchat):
        sent = rocketchat.say("frist")
        await inbox.kept(1)
        rocketchat.edit(sent, "first & last")
        async with asyncio.timeout(PATIENCE_S):
            await rocketchat.sockets.watched(GENERAL)
        rocketchat.remove(sent)
        _, edited, deleted = await inbox.kept(3)
    assert isinstance(edited, Edited)
    assert (edited.message_id, edited.content, edited.room) == (sent, "first & last", ROOM)
    assert deleted == Deleted(ROOM, sent)


async def test_a_message_that_is_told_again_for_other_reasons_is_no_news(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with at_work(rocketchat_bot(), inbox, rocketchat):
        root = rocketchat.say("root", times=3)
        rocketchat.react(root, "tada", ASH)
        rocketchat.react(root, "tada", ASH)
        rocketchat.change(root, urls=[{"url": "http://x", "meta": {}}])
        rocketchat.change(root, starred=[{"_id": ASH}])
        rocketchat.say("joined", t="uj")
        rocketchat.say("reply", ASH, thread=root)
        rocketchat.say("end")
        await inbox.kept(3)
    assert [m.content for m in inbox.messages] == ["root", "reply", "end"]
    assert len(inbox.events) == 3


async def test_an_old_message_that_is_told_again_is_not_taken_for_a_new_one(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    old = rocketchat.say("@claude long ago")
    rocketchat.age()
    async with at_work(rocketchat_bot(), inbox, rocketchat):
        rocketchat.react(old, "tada", ASH)
        rocketchat.react(old, "tada", ASH)  # gone again, and with it every sign of a second sight
        rocketchat.say("end")
        await inbox.kept(1)
    assert [m.content for m in inbox.messages] == ["end"]


async def test_a_mention_in_a_thread_brings_what_was_said_there(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    root = rocketchat.say("The build is red & dead.", ASH)
    rocketchat.say("Since when?", OLIVIA, thread=root)
    rocketchat.say("elsewhere", ASH)
    rocketchat.age()
    async with at_work(rocketchat_bot(), inbox, rocketchat):
        asked = rocketchat.say("@claude find out", OLIVIA, thread=root)
        rocketchat.say("later", ASH, thread=root)
        await inbox.kept(2)
    told = {m.message_id: m for m in inbox.messages}[asked]
    assert (told.thread_id, told.reply_to) == (root, root)
    assert told.meta.thread_context == (
        "[Thread context — prior messages in this thread, newest last]\n"
        "- Ash (@ash): The build is red & dead.\n"
        "- Olivia (@olivia): Since when?"
    )
    assert {m.meta.thread_context for m in inbox.messages if m.message_id != asked} == {None}


async def test_the_newest_fifteen_of_a_long_thread_are_shown(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    root = rocketchat.say("0.", ASH)
    for n in range(1, 80):
        rocketchat.say(f"{n}.", ASH, thread=root)
    rocketchat.age()
    async with at_work(rocketchat_bot(), inbox, rocketchat):
        asked = rocketchat.say("@claude", thread=root)
        await inbox.kept(1)
    (told,) = inbox.messages
    assert told.message_id == asked
    lines = (told.meta.thread_context or "").split("\n")[1:]
    assert [line.rpartition(" ")[2] for line in lines] == [f"{n}." for n in range(65, 80)]


async def test_what_is_quoted_is_what_is_replied_to(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    text = "[ ](https://chat.example/channel/general?msg=abcDEF123) @claude this"
    async with at_work(rocketchat_bot(), inbox, rocketchat):
        rocketchat.say(text)
        await inbox.kept(1)
    assert (inbox.messages[0].content, inbox.messages[0].reply_to) == (text, "abcDEF123")


async def test_pins_and_pushpins_are_told_and_taken_back(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with at_work(rocketchat_bot(), inbox, rocketchat) as bot:
        ours = await bot.post(Destination(ROOM), "We use Postgres.", "k")
        theirs = rocketchat.say("Or SQLite.")
        await inbox.kept(1)
        rocketchat.pin(ours)
        rocketchat.react(theirs, "pushpin", OLIVIA)
        rocketchat.react(theirs, "tada", ASH)
        rocketchat.react(theirs, "pushpin", OLIVIA)
        rocketchat.pin(ours, OLIVIA, pinned=False)
        await inbox.kept(5)
    ash, olivia = (Speaker(f"rocketchat:{i}", n, "human", f"@{n.lower()}") for i, n in (
        (ASH, "Ash"), (OLIVIA, "Olivia")
    ))  # fmt: skip
    wanted: list[Event] = [
        Pinned(ROOM, ours, ash),
        Pinned(ROOM, theirs, olivia),
        Pinned(ROOM, theirs, olivia, pinned=False),
        Pinned(ROOM, ours, olivia, pinned=False),
    ]
    pins = [event for event in inbox.events if isinstance(event, Pinned)]
    assert sorted(pins, key=str) == sorted(wanted, key=str)


async def test_a_question_has_buttons_that_say_its_choices_until_it_is_decided(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    options = (Option("Yes, and " + "x" * 100), Option("No", refuses=True))
    question = Question("turn 7", "Run?", "rm -rf <x>", options, code="k7")
    place = Destination(ROOM)
    async with at_work(rocketchat_bot(), inbox, rocketchat) as bot:
        asked = await bot.ask(place, question, "k")
        assert await bot.ask(place, question, "k") == asked
        post = rocketchat.buttons(asked)
        assert post is not None
        assert [len(m.get("attachments", ())) for m in rocketchat.messages.values()] == [0, 1]
        (shown,) = post["attachments"]
        assert [len(action["text"]) for action in shown["actions"]] == [60, 2]
        rocketchat.press(asked, "No", ASH)
        await inbox.kept(1)
        await bot.edit(place, asked, "No (Ash)")
        assert post["_id"] not in rocketchat.messages
    assert [m.content for m in inbox.messages] == ["!2 k7"]
    assert "k7" not in rocketchat.messages[asked]["msg"]
    assert not rocketchat.called("chat.react")


async def test_buttons_of_an_earlier_process_go_when_their_question_is_closed(
    rocketchat: RocketChatDouble, rocketchat_bot: MakeBot
) -> None:
    place = Destination(ROOM)
    question = Question("turn 7", "Run?", "", (Option("Yes"), Option("No", refuses=True)))
    before, after = rocketchat_bot(), rocketchat_bot()
    asked = await before.ask(place, question, "k")
    await after.edit(place, asked, "This question is closed.")
    assert list(rocketchat.messages) == [asked]
    drafted = await after.post(place, "a draft", "k2")
    for words in ("one", "two"):
        await after.edit(place, drafted, words)
    assert len(rocketchat.called("chat.delete")) == 1
    await before.close()
    await after.close()


async def test_a_reaction_with_a_digit_on_a_question_is_a_choice(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    options = (Option("Yes"), Option("No", refuses=True))
    async with at_work(rocketchat_bot(), inbox, rocketchat) as bot:
        rocketchat.refuses_attachments = True
        asked = await bot.ask(
            Destination(ROOM), Question("turn 7", "Run?", "rm -rf <x>", options), "k"
        )
        offered = rocketchat.messages[asked]["reactions"]
        rocketchat.react(asked, "nine", ASH)
        rocketchat.react(asked, "two", ASH)
        (chosen,) = await inbox.kept(1)
        other = await bot.post(Destination(ROOM), "no question", "k2")
        rocketchat.react(other, "one", ASH)
        rocketchat.say("end")
        await inbox.kept(2)
    assert offered == {":one:": {"usernames": ["claude"]}, ":two:": {"usernames": ["claude"]}}
    assert isinstance(chosen, Chosen)
    assert (chosen.question_id, chosen.option, chosen.by.id) == ("turn 7", 1, f"rocketchat:{ASH}")
    assert len(inbox.events) == 2


async def test_the_form_of_older_servers_is_read_too(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    rocketchat.sockets.old_form = True
    async with at_work(rocketchat_bot(), inbox, rocketchat):
        rocketchat.say("@claude hello")
        await inbox.kept(1)
    assert inbox.messages[0].mentioned


async def test_a_slow_directory_holds_no_message_back(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    release = asyncio.Event()
    rocketchat.fail("users.info", Fault("hang", release=release))
    rocketchat.fail("chat.getThreadMessages", Fault("hang", release=release))
    root = rocketchat.say("root")
    rocketchat.age()
    async with at_work(rocketchat_bot(), inbox, rocketchat):
        rocketchat.say("@claude hello", thread=root)
        await inbox.kept(1)
        release.set()
    assert inbox.messages[0].meta.sender_display_name == "Olivia"
    assert inbox.messages[0].meta.thread_context is None


async def test_a_room_gets_its_new_name(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with at_work(rocketchat_bot(), inbox, rocketchat):
        rocketchat.say("before")
        await inbox.kept(1)
        event = ("stream-notify-user", f"{CLAUDE}/rooms-changed")
        async with asyncio.timeout(PATIENCE_S):
            while not any(event in c.subs.values() for c in rocketchat.sockets.clients):
                await asyncio.sleep(0.01)
        rocketchat.rooms[GENERAL]["name"] = "auth-team"
        rocketchat.sockets.tell(*event, ["updated", rocketchat.rooms[GENERAL]])
        rocketchat.say("after")
        await inbox.kept(2)
    assert [m.room.name for m in inbox.messages] == ["general", "auth-team"]


async def test_members_come_with_their_roles_and_without_the_bot_itself(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    async with at_work(rocketchat_bot(), inbox, rocketchat) as bot:
        rocketchat.say("so that codex is known", CODEX)
        await inbox.kept(1)
        found = await bot.members(ROOM)
        in_dm = await bot.members(Room(f"rocketchat:{DM}", "Olivia", "dm"))
        nowhere = await bot.members(Room("rocketchat:nowhere", "?"))
    assert [(s.name, s.kind, s.mention, s.role) for s in found] == [
        ("Olivia", "human", "@olivia", None),
        ("Ash", "human", "@ash", "owner"),
        ("Codex", "bot", None, None),
    ]
    assert [s.name for s in in_dm] == ["Olivia"]
    assert nowhere == []


async def test_a_password_will_do_too(
    rocketchat: RocketChatDouble, inbox: Inbox, rocketchat_bot: MakeBot
) -> None:
    bot = rocketchat_bot(login=Credentials(username="claude", password="password-claude"))
    async with at_work(bot, inbox, rocketchat):
        rocketchat.say("@claude hello")
        await inbox.kept(1)
        await bot.post(Destination(ROOM), "hi", "k")
        rocketchat.sockets.cut()
        async with asyncio.timeout(PATIENCE_S):
            await rocketchat.sockets.listening(CLAUDE, 2)
    assert rocketchat.texts() == ["hi"]
