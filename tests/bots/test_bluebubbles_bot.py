"""The bot against the double: what people do there, and what the gateway gets."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contract.chat import Deleted, Destination, Edited, Room
from tests.doubles.bluebubbles import (
    ASH,
    DM,
    GROUP,
    NOTES,
    OLIVIA,
    OWNER,
    SMS,
    STRANGER,
    BlueBubblesDouble,
    Fault,
)
from tests.doubles.bluebubbles_stage import at_work, make_bot
from tests.doubles.inbox import PATIENCE_S, Inbox

CHAT = Destination(Room(f"bluebubbles:{DM}", "Olivia", "dm"))


@pytest.fixture
async def server() -> AsyncIterator[BlueBubblesDouble]:
    async with BlueBubblesDouble.open() as double:
        yield double


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


async def test_a_direct_message_has_every_field_of_the_contract(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox):
        guid = await server.say("why *15*  minutes?")
        await inbox.kept(1)
    (message,) = inbox.messages
    assert message.content == "why *15*  minutes?"
    assert message.mentioned
    assert message.message_id == message.meta.message_guid == guid
    assert message.room == Room(f"bluebubbles:{DM}", "Olivia", "dm")
    assert message.meta.source == "bluebubbles"
    assert message.meta.sender_id == f"bb:{OLIVIA}"
    assert message.meta.sender_display_name == "Olivia"
    assert message.meta.sender_type == "human"
    assert message.meta.channel_external_id == DM
    assert message.meta.mention_token is None
    assert message.meta.trigger_rag
    assert message.meta.recipient_id == "bot:claude"
    assert (message.meta.is_from_me, message.meta.passive) == (False, False)


async def test_in_a_group_a_persona_is_named(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox):
        await server.say("lunch?", ASH, GROUP)
        await server.say("@Claude, find out", ASH, GROUP)
        await inbox.kept(2)
    by_text = {message.content: message for message in inbox.messages}
    lunch, asked = by_text["lunch?"], by_text["@Claude, find out"]
    assert lunch.room == Room(f"bluebubbles:{GROUP}", "Auth team", "gdm")
    assert (lunch.mentioned, lunch.meta.recipient_id, lunch.meta.trigger_rag) == (
        False,
        None,
        False,
    )
    assert (asked.mentioned, asked.meta.recipient_id) == (True, "bot:claude")
    assert asked.meta.sender_display_name == "Ash K."


async def test_a_group_without_a_name_is_called_by_its_people(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    server.chats[GROUP]["displayName"] = ""
    async with at_work(server, tmp_path, inbox) as bot:
        await server.say("hello", OLIVIA, GROUP)
        await inbox.kept(1)
        room = inbox.messages[0].room
        members = await bot.members(room)
    assert room.name == "Olivia, Ash K."
    assert [(person.id, person.name) for person in members] == [
        (f"bb:{OLIVIA}", "Olivia"),
        (f"bb:{ASH}", "Ash K."),
    ]


async def test_a_stranger_is_called_by_their_number(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox):
        await server.say("hello", STRANGER, SMS)
        await inbox.kept(1)
    assert inbox.messages[0].meta.sender_display_name == STRANGER


async def test_what_is_no_message_is_left_out(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox):
        first = await server.say("one")
        await inbox.kept(1)
        await server.say(
            "Loved “one”", associatedMessageGuid=f"p:0/{first}", associatedMessageType="love"
        )
        await server.say("", OLIVIA, GROUP, itemType=2, groupTitle="New name")
        await server.say("not sent", error=22)
        await server.read_receipt(first)
        await server.say("two")
        await inbox.kept(2)
        await server.settled()
    assert [event.message_id for event in inbox.messages] == [first, inbox.messages[1].message_id]
    assert len(inbox.events) == 2


async def test_our_own_posts_never_come_in(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox) as bot:
        release = asyncio.Event()
        server.fail("message/text", Fault("hang", release=release))
        posting = asyncio.create_task(bot.post(CHAT, "“quoted” — words", "k"))
        async with asyncio.timeout(PATIENCE_S):
            while len([d for d in server.delivered if d[1] == 200]) < 2:  # before the answer
                await asyncio.sleep(0.01)
        release.set()
        guid = await posting
        await bot.upload(CHAT, "answer.md", b"# all", "see here", "f")
        await server.say("thanks")
        await inbox.kept(1)
        await server.settled()
    assert server.own()[0]["guid"] == guid
    assert [message.content for message in inbox.messages] == ["thanks"]


async def test_a_restarted_bot_knows_its_posts_again(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox) as bot:
        server.deaf = True
        await bot.post(CHAT, "known by its guid", "1")
        server.fail("message/text", Fault("cut", "after"))
        with pytest.raises(Exception, match="message/text"):
            await bot.post(CHAT, "known by its text", "2")
        await server.say("a question")
    async with at_work(server, tmp_path, inbox):
        await inbox.kept(1)
        server.deaf = False
        await server.say("another")
        await inbox.kept(2)
    assert [message.content for message in inbox.messages] == ["a question", "another"]


async def test_what_the_owner_types_is_theirs_and_wakes_nobody_unless_it_names_somebody(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox) as bot:
        await bot.post(CHAT, "Done.", "k")
        await server.settled()
        for text in ("see you at 8", "@claude when?", "!1", "!wow", "Done."):
            await server.say(text, chat_guid=DM, from_me=True)
            await server.settled()
        await server.say("!recall 8", chat_guid=GROUP, from_me=True)
        await inbox.kept(6)
    aside, asked, chosen, wow, same, command = inbox.messages
    assert aside.meta.sender_id == asked.meta.sender_id == f"bb:me/{OLIVIA}"
    assert {m.meta.sender_display_name for m in inbox.messages} == {"Me"}
    assert all(message.meta.is_from_me for message in inbox.messages)
    assert [m.meta.passive for m in inbox.messages] == [True, False, False, True, True, False]
    assert (asked.mentioned, asked.meta.recipient_id) == (True, "bot:claude")
    assert (aside.meta.trigger_rag, aside.meta.recipient_id) == (False, None)
    assert (chosen.content, wow.content, same.content) == ("!1", "!wow", "Done.")
    assert command.meta.sender_id == "bb:me"
    assert aside.room.name == "Olivia"


async def test_in_the_chat_with_oneself_each_message_comes_once(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    notes = Destination(Room(f"bluebubbles:{NOTES}", "Me", "dm"))
    async with at_work(server, tmp_path, inbox) as bot:
        await server.say("remember the milk", chat_guid=NOTES, from_me=True)
        await server.say("remember the milk", OWNER, NOTES)
        await inbox.kept(1)
        await bot.post(notes, "Noted.", "k")
        await server.say("Noted.", OWNER, NOTES)  # our post, as a message to ourselves
        await server.settled()
        await server.say("thanks", OWNER, NOTES)
        await inbox.kept(2)
    assert [message.content for message in inbox.messages] == ["remember the milk", "thanks"]
    message = inbox.messages[0]
    assert (message.meta.sender_id, message.meta.sender_display_name) == ("bb:me", "Me")
    assert (message.mentioned, message.meta.passive, message.meta.is_from_me) == (True, False, True)


async def test_under_an_address_that_nobody_told_it_does_not_answer_itself(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    words = "The build is green again."
    async with at_work(server, tmp_path, inbox) as bot:
        await bot.post(CHAT, words, "k")
        await bot.post(CHAT, "ok", "l")
        await server.say(words, OLIVIA, DM)  # what an unknown address of our own would look like
        await server.settled()
        await server.say("ok", OLIVIA, DM)
        await inbox.kept(1)
        await server.settled()
    assert [message.content for message in inbox.messages] == ["ok"]


async def test_an_edit_and_a_removal_are_told(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox):
        guid = await server.say("frist")
        await inbox.kept(1)
        await server.edit(guid, "first")
        await inbox.kept(2)
        await server.edit(guid, "")
        _, edited, deleted = await inbox.kept(3)
    room = Room(f"bluebubbles:{DM}", "Olivia", "dm")
    assert isinstance(edited, Edited)
    assert (edited.room, edited.message_id, edited.content) == (room, guid, "first")
    assert deleted == Deleted(room, guid)


async def test_a_reply_brings_the_messages_of_its_thread(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    place = Destination(Room(f"bluebubbles:{GROUP}", "Auth team", "gdm"))
    async with at_work(server, tmp_path, inbox) as bot:
        ours = await bot.post(place, "It is red.", "k")
        await server.say("Since when?", ASH, GROUP, threadOriginatorGuid=ours)
        root = await server.say("The build is red.", OLIVIA, GROUP)
        await inbox.kept(2)
        await server.say("Which one?", OLIVIA, GROUP, threadOriginatorGuid=root)
        await server.say("And elsewhere:", OLIVIA, GROUP)
        await server.say("Really", from_me=True, chat_guid=GROUP, threadOriginatorGuid=root)
        await server.say("@claude find out", ASH, GROUP, threadOriginatorGuid=root)
        await inbox.kept(6)
    by_text = {message.content: message for message in inbox.messages}
    to_us, asked = by_text["Since when?"], by_text["@claude find out"]
    assert (to_us.mentioned, to_us.reply_to) == (False, ours), "the gateway knows whose that is"
    assert asked.reply_to == root
    heading = "[Thread context — prior messages in this thread, newest last]\n"
    thread = "- Olivia: The build is red.\n- Olivia: Which one?\n- Me: Really"
    assert asked.meta.thread_context == f"{heading}{thread}"
    assert to_us.meta.thread_context == f"{heading}- claude: It is red."


async def test_a_persona_is_named_by_its_alias_in_a_group(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox, is_named=lambda text: "@clod" in text):
        await server.say("@clod are you there?", ASH, GROUP)
        await server.say("@claud are you there?", ASH, GROUP)
        await inbox.kept(2)
    assert {message.content[:6]: message.meta.trigger_rag for message in inbox.messages} == {
        "@clod ": True,
        "@claud": False,
    }


async def test_the_accounts_own_addresses_are_known_once_it_runs(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    assert make_bot(server, tmp_path).own_ids == frozenset()
    async with at_work(server, tmp_path, inbox) as bot:
        assert bot.own_ids == {f"bb:{OWNER}", "bb:owner@example.org"}


async def test_a_file_is_kept_byte_for_byte(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    data = bytes(range(256)) * 300
    async with at_work(server, tmp_path, inbox):
        await server.say("\ufffcsee", files=(("../plan.pdf", "application/pdf", data),))
        await inbox.kept(1)
    (message,) = inbox.messages
    (file,) = message.attachments
    assert message.content == "see"
    assert (file.name, file.mime, file.size_bytes) == ("../plan.pdf", "application/pdf", len(data))
    assert file.path is not None
    assert Path(file.path).read_bytes() == data
    assert tmp_path / "files" in Path(file.path).parents


async def test_a_picture_that_the_server_turned_is_called_what_it_is(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    server.deaf = True
    async with at_work(server, tmp_path, inbox):
        guid = await server.say("", files=(("IMG_1.HEIC", "image/heic", b"\xff\xd8 jpeg"),))
        server.file_types[server.messages[guid]["attachments"][0]["guid"]] = "image/jpeg"
        await inbox.kept(1)
    (file,) = inbox.messages[0].attachments
    assert (file.name, file.mime, file.size_bytes) == ("IMG_1.HEIC.jpeg", "image/jpeg", 7)
    async with at_work(server, tmp_path, inbox):
        await inbox.kept(2)
    assert inbox.messages[1].attachments == (file,)
    assert len([call for call in server.calls if call.path.endswith("/download")]) == 1


async def test_a_file_comes_as_soon_as_the_mac_has_it(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox):
        attachment = server.new_file("late.txt", "text/plain", b"at last")
        server.fail(f"attachment/{attachment['guid']}/download", Fault("500"))
        await server.say("here", attachments=[attachment])
        await inbox.kept(1)
    (file,) = inbox.messages[0].attachments
    assert file.path is not None
    assert Path(file.path).read_bytes() == b"at last"


async def test_a_file_that_is_too_large_is_told_without_its_bytes(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, inbox, max_file_bytes=10):
        await server.say("", files=(("big.bin", "application/octet-stream", b"x" * 11),))
        await inbox.kept(1)
    (file,) = inbox.messages[0].attachments
    assert (file.name, file.size_bytes, file.path) == ("big.bin", 11, None)


async def test_a_webhook_that_comes_twice_is_told_once(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    server.times = 3
    async with at_work(server, tmp_path, inbox):
        await server.say("once")
        await server.settled()
        await server.say("and again")
        await inbox.kept(2)
        await server.settled()
    assert [message.content for message in inbox.messages] == ["once", "and again"]


async def test_typing_shows_only_with_the_private_api(
    server: BlueBubblesDouble, inbox: Inbox, tmp_path: Path
) -> None:
    bot = make_bot(server, tmp_path)
    await bot.typing(CHAT, "is working")
    assert server.typing == []
    await bot.close()
    server.private_api = server.helper_connected = True
    bot = make_bot(server, tmp_path)
    await bot.typing(CHAT, "is working")
    await bot.typing(CHAT, "")
    assert server.typing == [("POST", DM), ("DELETE", DM)]
    server.fail(f"chat/{DM}/typing", Fault("500"))
    await bot.typing(CHAT, "is working")
    await bot.close()
