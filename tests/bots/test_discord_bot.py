"""The bot against the double: what people do in Discord, and what the gateway gets."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bots.discord.bot import DiscordBot
from bots.discord.posts import TOO_LATE
from bots.kit.slash import SlashCommand, SlashOption
from contract.agent import Option, Question
from contract.chat import Chosen, Deleted, Destination, Edited, Pinned, Room, Speaker, stands
from tests.doubles import discord_objects as objects
from tests.doubles.discord import (
    ASH,
    BOT,
    BOT_ROLE,
    CODEX,
    DM,
    GENERAL,
    GUILD,
    OLIVIA,
    SECRET,
    DiscordDouble,
    Fault,
)
from tests.doubles.inbox import PATIENCE_S, Inbox, running

MakeDiscordBot = Callable[..., DiscordBot]
CALLBACK = ("POST", "/interactions/{interaction}/{token}/callback")
REGISTER = ("PUT", "/applications/{application}/commands")
ROOM = Room(f"discord:{GENERAL}", "general")


async def registered(double: DiscordDouble, calls: int) -> None:
    """Until so many sets of commands were registered, and no more."""
    async with asyncio.timeout(PATIENCE_S):
        while len(double.called(REGISTER)) < calls:
            await asyncio.sleep(0.01)
    assert len(double.called(REGISTER)) == calls


async def test_a_mention_comes_with_all_that_the_contract_wants(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot()
    text = f"<@{BOT}> why  <15 minutes?\n\t**really** &amp; \\*\n"
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        sent = await discord_double.say(text, ASH)
        await inbox.kept(1)
        assert bot.own_ids == {f"discord:{BOT}"}
    (message,) = inbox.messages
    assert message.content == text
    assert message.mentioned
    assert (message.message_id, message.room, message.thread_id) == (sent, ROOM, None)
    assert message.meta.source == "discord"
    assert message.meta.sender_id == f"discord:{ASH}"
    assert message.meta.sender_display_name == "Ash"
    assert message.meta.sender_type == "human"
    assert message.meta.mention_token == f"<@{ASH}>"
    assert message.meta.channel_external_id == GENERAL
    assert message.meta.trigger_rag
    assert message.meta.recipient_id == "bot:claude"


async def test_a_message_to_nobody_is_told_without_a_recipient(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        await discord_double.say("lunch?")
        await inbox.kept(1)
    (message,) = inbox.messages
    assert (message.mentioned, message.meta.trigger_rag) == (False, False)
    assert message.meta.recipient_id is None
    assert message.meta.sender_display_name == "Olivia"


async def test_who_is_in_a_guild_is_told_with_their_highest_role(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot()
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        await discord_double.say("hello")
        await inbox.kept(1)
        people = {person.id: person for person in await bot.members(ROOM)}
        assert await bot.members(Room(f"discord:{SECRET}", "secret")) == []
        assert await bot.members(Room(f"discord:{DM}", "Olivia", "dm")) == []
    assert people.keys() == {f"discord:{user}" for user in (OLIVIA, ASH, CODEX)}
    assert people[f"discord:{OLIVIA}"].role == "backend lead"
    assert (people[f"discord:{ASH}"].name, people[f"discord:{ASH}"].role) == ("Ash", None)
    assert people[f"discord:{CODEX}"].kind == "bot"


async def test_a_direct_message_is_for_us_and_has_no_thread(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot()
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        await discord_double.say("hello", channel=DM)
        await inbox.kept(1)
        (message,) = inbox.messages
        await bot.post(Destination(message.room, message.thread_id), "good day", "k")
    assert message.mentioned
    assert message.room == Room(f"discord:{DM}", "Olivia", "dm")
    (posted,) = discord_double.posts(DM)
    assert "message_reference" not in posted


async def test_a_mention_of_our_role_is_for_us_and_a_reply_says_to_what(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot()
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        ours = await bot.post(Destination(ROOM), "ours", "k")
        theirs = await discord_double.say("theirs")
        await discord_double.say(f"<@&{BOT_ROLE}>?", roles=(BOT_ROLE,))
        await discord_double.say("<@&1>?", roles=("90000000000000201",))
        await discord_double.say("and then?", reply_to=ours)
        await discord_double.say("why?", ASH, reply_to=theirs)
        await inbox.kept(5)
    assert [m.mentioned for m in inbox.messages] == [False, True, False, False, False]
    assert [m.reply_to for m in inbox.messages] == [None, None, None, ours, theirs]
    assert all(m.thread_id is None for m in inbox.messages)


async def test_the_bot_does_not_hear_itself_but_hears_other_bots_and_webhooks(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot()
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        await bot.post(Destination(ROOM), "my own words", "k")
        await discord_double.say("from codex", CODEX)
        await discord_double.say("from a hook", OLIVIA, webhook_id="90000000000000300")
        await discord_double.say("joined", ASH, type=7)
        await discord_double.say("a link", CODEX)
        await inbox.kept(3)
    assert [m.content for m in inbox.messages] == ["from codex", "from a hook", "a link"]
    assert {m.meta.sender_type for m in inbox.messages} == {"bot"}
    assert {m.meta.mention_token for m in inbox.messages} == {None}


async def test_an_edit_and_deletions_are_told_and_a_preview_is_no_edit(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        sent = await discord_double.say("frist https://example.org")
        other = await discord_double.say("other")
        third = await discord_double.say("third")
        await discord_double.unfold(GENERAL, sent)
        await discord_double.edit(GENERAL, sent, "first")
        await discord_double.unfold(GENERAL, sent)
        await discord_double.remove(GENERAL, sent)
        await discord_double.remove(GENERAL, other, third)
        events = await inbox.kept(7)
    edited = events[3]
    assert isinstance(edited, Edited)
    assert (edited.message_id, edited.content, edited.room) == (sent, "first", ROOM)
    assert events[4:] == [Deleted(ROOM, sent), Deleted(ROOM, other), Deleted(ROOM, third)]


async def test_what_is_said_in_a_thread_belongs_to_its_channel_and_is_answered_in_it(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot()
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        root = await discord_double.say("The build is red.", ASH)
        thread = await discord_double.open_thread(GENERAL, "red", under=root)
        await discord_double.say("Since when?", OLIVIA, thread)
        asked = await discord_double.say(f"<@{BOT}> find out", OLIVIA, thread)
        await inbox.kept(3)
        message = inbox.messages[-1]
        place = Destination(message.room, message.thread_id)
        posted = await bot.post(place, "It was a typo.", "k")
        await bot.edit(place, posted, "It is a typo.")
        await bot.react(place, asked, "working")
        await bot.react(Destination(ROOM, root), root, "done")
        await bot.typing(place, "is working")
    assert message.room == ROOM
    assert message.thread_id == thread == root
    assert message.meta.channel_external_id == GENERAL
    assert message.meta.thread_context == (
        "[Thread context — prior messages in this thread, newest last]\n"
        f"- Ash (<@{ASH}>): The build is red.\n"
        f"- Olivia (<@{OLIVIA}>): Since when?"
    )
    assert discord_double.texts(thread) == ["It is a typo."]
    assert discord_double.texts() == []
    assert discord_double.reactions[asked] == {"👀": {BOT}}
    assert discord_double.reactions[root]["✅"] == {BOT}
    assert discord_double.typed == [thread]


async def test_a_long_thread_shows_its_newest_fifteen_and_a_chain_of_replies_all_of_it(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        thread = await discord_double.open_thread(GENERAL, "long")
        for number in range(20):
            await discord_double.say(f"{number}.", ASH, thread)
        await discord_double.say(f"<@{BOT}>", OLIVIA, thread)
        first = await discord_double.say("one", ASH)
        second = await discord_double.say("two", OLIVIA, reply_to=first)
        third = await discord_double.say("three", ASH, reply_to=second)
        await discord_double.say(f"<@{BOT}> four", OLIVIA, reply_to=third)
        await inbox.kept(25)
    told = [m.meta.thread_context for m in inbox.messages if m.mentioned]
    by_thread, by_reply = (context.split("\n")[1:] for context in told if context)
    assert [line.rpartition(" ")[2] for line in by_thread] == [f"{n}." for n in range(5, 20)]
    assert [line.rpartition(" ")[2] for line in by_reply] == ["one", "two", "three"]


async def test_an_unknown_thread_is_looked_up_before_anything_is_told(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot()
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        old = objects.thread("80000000000000001", GUILD, GENERAL, ASH, "archived")
        discord_double.channels[old["id"]] = old
        await discord_double.say(f"<@{BOT}>", channel=old["id"])
        await inbox.kept(1)
    assert (inbox.messages[0].room, inbox.messages[0].thread_id) == (ROOM, old["id"])


async def test_after_a_restart_an_answer_finds_its_thread(
    discord_double: DiscordDouble, discord_bot: MakeDiscordBot
) -> None:
    thread = await discord_double.open_thread(GENERAL, "t")
    asked = await discord_double.say(f"<@{BOT}>")
    bot = discord_bot()
    await bot.post(Destination(ROOM, thread), "in the thread", "k1")
    await bot.post(Destination(ROOM, asked), "in the channel", "k2")
    await bot.close()
    assert discord_double.texts(thread) == ["in the thread"]
    (reply,) = discord_double.posts()
    assert reply["message_reference"]["message_id"] == asked


async def test_a_pin_is_told_once_with_who_did_it(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        sent = await discord_double.say("We keep JWT.", ASH)
        await inbox.kept(1)
        await discord_double.pin(GENERAL, sent)
        await inbox.kept(2)
        await discord_double.react(GENERAL, sent, "📌", CODEX)
        await discord_double.react(GENERAL, sent, "👍")
        await discord_double.react(GENERAL, sent, "📌", ASH, add=False)
        _, pinned, unpinned = await inbox.kept(3)
    assert isinstance(pinned, Pinned)
    assert (pinned.room, pinned.message_id, pinned.pinned) == (ROOM, sent, True)
    assert (pinned.by.id, pinned.by.role) == (f"discord:{OLIVIA}", "backend lead")
    assert isinstance(unpinned, Pinned)
    assert (unpinned.by.id, unpinned.pinned) == (f"discord:{ASH}", False)


async def test_a_pin_of_which_only_the_update_tells_is_heard_too(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        sent = await discord_double.say("We keep JWT.", ASH)
        written = discord_double.messages[GENERAL][sent]
        written["pinned"] = True
        await discord_double.tell_message("MESSAGE_UPDATE", written)
        await inbox.kept(2)
        await discord_double.unpin(GENERAL, sent)
        events = await inbox.kept(3)
    assert [e.pinned for e in events if isinstance(e, Pinned)] == [True, False]


async def test_a_pressed_button_is_a_choice_and_is_acknowledged(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot()
    options = (Option("Yes"), Option("No", refuses=True))
    question = Question("turn 7", "Run a command?", "rm -rf <x>", options)
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        asked = await bot.ask(Destination(ROOM), question, "k")
        press = await discord_double.press(GENERAL, asked, "No", ASH)
        (chosen,) = await inbox.kept(1)
        async with asyncio.timeout(PATIENCE_S):
            await press.acked.wait()
        (posted,) = discord_double.posts()
        assert "!2" in posted["content"]
        await bot.edit(Destination(ROOM), asked, "Answered: No")
    assert isinstance(chosen, Chosen)
    assert (chosen.question_id, chosen.option) == ("turn 7", 1)
    assert (chosen.by.id, chosen.by.name, chosen.by.mention) == (
        f"discord:{ASH}",
        "Ash",
        f"<@{ASH}>",
    )
    assert press.answer == {"type": 6}
    assert posted["components"] == []


@pytest.mark.parametrize("fault", [Fault("cut"), Fault("cut", "after"), Fault("429")])
async def test_a_choice_counts_even_when_it_can_not_be_acknowledged(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot, fault: Fault
) -> None:
    bot = discord_bot()
    discord_double.fail(CALLBACK, fault)
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        asked = await bot.ask(Destination(ROOM), Question("q", "May I?", "", (Option("Yes"),)), "k")
        await discord_double.press(GENERAL, asked, "Yes")
        (chosen,) = await inbox.kept(1)
    assert isinstance(chosen, Chosen)


async def test_a_slash_command_is_what_one_would_type(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    persona = SlashOption("persona", "whose `agent`", required=True, choices=("codex", "demo"))
    bot = discord_bot(
        commands=(
            SlashCommand("stop", "interrupt `it`"),
            SlashCommand("new", "begin again", (persona,)),
            SlashCommand("1", "no name"),
        )
    )
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        await registered(discord_double, 1)
        new, stop, *menu = discord_double.commands
        told = {c["name"]: c["description"] for c in (new, stop)}
        assert told == {"new": "begin again", "stop": "interrupt it"}
        assert menu == [{"name": f"Ask {bot.personas[0]}", "type": 3}]
        assert new["options"] == [
            {
                "type": 3,
                "name": "persona",
                "description": "whose agent",
                "required": True,
                "choices": [{"name": one, "value": one} for one in ("codex", "demo")],
            }
        ]
        run = await discord_double.command("new", "codex")
        await inbox.kept(1)
        async with asyncio.timeout(PATIENCE_S):
            await run.acked.wait()
        (message,) = inbox.messages
        await bot.react(Destination(ROOM, message.message_id), message.message_id, "working")
        await bot.post(Destination(ROOM, message.message_id), "done", "k")
    assert (message.content, message.mentioned) == ("!new codex", True)
    assert message.room == ROOM
    assert run.answer is not None
    assert run.answer["data"]["flags"] == 64
    assert "message_reference" not in discord_double.posts()[0]
    assert len(discord_double.called(REGISTER)) == 1


async def test_an_option_that_is_a_persona_offers_those_of_the_bot(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    options = (SlashOption("persona", "whose"), SlashOption("model", "which"))
    bot = discord_bot(commands=(SlashCommand("model", "x", options),), personas=("demo", "ada"))
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        await registered(discord_double, 1)
    whose, which = discord_double.commands[0]["options"]
    assert whose["choices"] == [{"name": one, "value": one} for one in ("demo", "ada")]
    assert "choices" not in which


async def test_what_is_being_written_is_completed_and_is_no_message(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    asked: list[tuple[str, str]] = []

    def models(room: Room, by: Speaker) -> list[str]:
        asked.append((room.id, by.id))
        return ["gpt-6", "claude-opus-5", "opus", "x" * 101, *(f"m{n}" for n in range(40))]

    options = (SlashOption("persona", "whose"), SlashOption("model", "which", suggest=models))
    async with running(discord_bot(commands=(SlashCommand("model", "x", options),)), inbox):
        await discord_double.gateway.connected()
        await registered(discord_double, 1)
        assert await discord_double.write("model", "model", "OP") == ["opus", "claude-opus-5"]
        assert await discord_double.write("model", "model", "no such") == []
        assert len(await discord_double.write("model", "model", "")) == 25
    assert asked == [(ROOM.id, f"discord:{OLIVIA}")] * 3
    assert inbox.messages == []


async def test_a_message_is_asked_about_in_its_menu(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot(commands=(SlashCommand("stop", "x"),))
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        await registered(discord_double, 1)
        menu = [c["name"] for c in discord_double.commands if c.get("type") == 3]
        assert menu == [f"Ask {persona}" for persona in bot.personas]
        thread = await discord_double.open_thread(GENERAL, "t")
        for channel in (GENERAL, thread):
            first = await discord_double.say("how old is it?", OLIVIA, channel)
            about = await discord_double.say("12 years", OLIVIA, channel, reply_to=first)
            await discord_double.say("whatever", OLIVIA, channel)
            ask = await discord_double.ask_about(menu[0], about, ASH, channel)
            await inbox.kept(4 if channel == GENERAL else 8)
            async with asyncio.timeout(PATIENCE_S):
                await ask.acked.wait()
            asked = [one for one in inbox.messages if not stands(one.message_id)][-1]
            assert asked.content == f"@{bot.personas[0]} Please answer this message."
            assert (asked.reply_to, asked.mentioned) == (about, True)
            assert asked.meta.sender_id == f"discord:{ASH}"
            lines = (asked.meta.thread_context or "").splitlines()
            assert [line.rpartition(": ")[2] for line in lines[1:]] == [
                "how old is it?",
                "12 years",
            ]
            if channel == GENERAL:
                await bot.post(Destination(ROOM, about), "an old one", "k")
    (post,) = discord_double.posts()
    assert post["message_reference"]["message_id"] in [one.reply_to for one in inbox.messages]
    assert post["mentions"] == []  # Olivia didn't ask


async def test_who_presses_a_button_can_be_told_something_alone(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot()
    question = Question(
        "turn 7", "Run a command?", "ls", (Option("Yes"), Option("No", refuses=True))
    )
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        asked = await bot.ask(Destination(ROOM), question, "k")
        press = await discord_double.press(GENERAL, asked, "Yes", ASH)
        (chosen,) = await inbox.kept(1)
        assert isinstance(chosen, Chosen)
        assert chosen.place is not None
        await bot.post(chosen.place, "You may not.", "k1")
    assert press.answer == {"type": 6}
    assert press.whispers == ["You may not."]
    assert len(discord_double.posts()) == 1


async def test_options_stand_in_the_commands_order_however_they_were_filled_in(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    options = tuple(SlashOption(name, name) for name in ("what", "persona", "version"))
    async with running(discord_bot(commands=(SlashCommand("persona", "x", options),)), inbox):
        await discord_double.gateway.connected()
        await registered(discord_double, 1)
        await discord_double.command("persona", version="2", what="diff", persona="codex")
        await inbox.kept(1)
        await discord_double.command("persona", version="2", persona="codex")
        await inbox.kept(2)
    told = [message.content for message in inbox.messages]
    assert told == ["!persona diff codex 2", "!persona codex 2"]


async def test_a_private_answer_is_seen_by_who_asked_alone(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot(commands=(SlashCommand("memory", "what is known"),))
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        await registered(discord_double, 1)
        run = await discord_double.command("memory")
        await inbox.kept(1)
        async with asyncio.timeout(PATIENCE_S):
            await run.acked.wait()
        (message,) = inbox.messages
        assert not stands(message.message_id)
        await bot.post(Destination(ROOM, only_for=message.message_id), "**a** secret", "k1")
        await bot.post(Destination(ROOM, only_for="slash:1"), "another secret", "k2")
    assert run.whispers == ["**a** secret"]
    assert [post["content"] for post in discord_double.posts()] == [TOO_LATE]


async def test_slash_commands_are_registered_when_their_set_has_changed_only(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    x, y = (SlashCommand("stop", "x"),), (SlashCommand("stop", "y"),)
    sets: tuple[tuple[SlashCommand, ...], ...] = (x, x, y, (), ())
    for number, (commands, calls) in enumerate(zip(sets, (1, 1, 2, 3, 3), strict=True), 1):
        async with running(discord_bot(commands=commands), inbox):
            await discord_double.gateway.connected(number)
            await registered(discord_double, calls)
    assert discord_double.commands == []


async def test_an_edit_that_tells_only_the_text_is_an_edit(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    bot = discord_bot()
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        sent = await discord_double.say("frist")
        own = await bot.post(Destination(ROOM), "ours", "k")
        bare = {"channel_id": GENERAL, "guild_id": GUILD}
        for told in ({"id": own, "content": "ours, edited"}, {"id": sent, "content": "first"}):
            frame = {"op": 0, "t": "MESSAGE_UPDATE", "s": 9, "d": {**bare, **told}}
            await discord_double.gateway.raw(frame)
        _, edited = await inbox.kept(2)
    assert isinstance(edited, Edited)
    assert (edited.message_id, edited.content) == (sent, "first")


async def test_json_under_another_content_type_is_read(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    discord_double.content_type = "application/json; charset=utf-8"
    bot = discord_bot()
    async with running(bot, inbox):
        await discord_double.gateway.connected()
        await discord_double.say(f"<@{BOT}> hello")
        await inbox.kept(1)
        posted = await bot.post(Destination(ROOM), "good day", "k")
        await bot.delete(Destination(ROOM), posted)
        await bot.delete(Destination(ROOM), posted)
    assert inbox.messages[0].mentioned


async def test_two_bots_in_one_process_have_a_server_each(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot, tmp_path: Path
) -> None:
    async with DiscordDouble.open(token="another-token") as other:
        second = discord_bot(
            name="codex",
            token=other.token,
            api_url=other.base,  # the version is left out
            gateway_url=other.gateway_url,
            own_dir=tmp_path / "own" / "codex",
        )
        async with running(discord_bot(), inbox), running(second, inbox):
            await discord_double.gateway.connected()
            await other.gateway.connected()
            await discord_double.say("here")
            await inbox.kept(1)
            await other.say("there")
            await inbox.kept(2)
            await second.post(Destination(ROOM), "to the other", "k")
    assert [m.content for m in inbox.messages] == ["here", "there"]
    assert (discord_double.texts(), other.texts()) == ([], ["to the other"])


async def test_what_can_not_be_read_of_a_message_is_left_out_of_it(
    discord_double: DiscordDouble, inbox: Inbox, discord_bot: MakeDiscordBot
) -> None:
    strange = {
        "id": 1574012836911251557,  # a number
        "channel_id": GENERAL,
        "guild_id": GUILD,
        "author": {"id": ASH, "username": "ash"},
        "content": f"<@{BOT}> hello",
        "mentions": [{"name": "no id"}],
        "embeds": None,
        "attachments": [{"id": "x"}, {"id": "7", "filename": "a.txt", "url": "nowhere"}],
        "referenced_message": {"nothing": "known"},
        "member": "no object",
    }
    async with running(discord_bot(), inbox):
        await discord_double.gateway.connected()
        frame = {"op": 0, "t": "MESSAGE_CREATE", "s": 9, "d": strange}
        await discord_double.gateway.raw(frame)
        await inbox.kept(1)
    (message,) = inbox.messages
    assert (message.message_id, message.content) == ("1574012836911251557", f"<@{BOT}> hello")
    assert message.mentioned
    assert message.meta.sender_display_name == "Ash"  # who is a member was asked
    assert [a.name for a in message.attachments] == ["a.txt"]
