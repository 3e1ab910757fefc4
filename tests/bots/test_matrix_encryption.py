"""Encrypted rooms on a real Synapse, with other people's clients in processes of their own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from contract.chat import Destination, Inbound, Room
from contract.errors import PlatformError
from tests.doubles.inbox import Inbox, running
from tests.doubles.matrix_person import NioPerson
from tests.doubles.matrix_stage import Stage, said


async def test_an_encrypted_conversation_goes_both_ways_and_over_a_restart(
    stage: Stage, inbox: Inbox
) -> None:
    async with NioPerson.open(stage.homeserver, "cara", stage.folder) as cara:
        bot = stage.bot()
        async with running(bot, inbox):
            room = (await cara("create", invite=[stage.bot_id], name="secret", direct=False))[
                "room"
            ]
            await cara("comes", room=room, user=stage.bot_id)
            await cara.say(room, f"{stage.name}: hello")
            message = await said(inbox, f"{stage.name}: hello")
            posted = await bot.post(Destination(message.room, message.message_id), "**hi**", "k")
            assert (
                await bot.post(Destination(message.room, message.message_id), "**hi**", "k")
                == posted
            )
            assert await bot.find(Destination(message.room), "k", message.sent_at, ()) == posted
            await bot.edit(Destination(message.room), posted, "changed")
        first = await cara.sees(lambda e: e["event_id"] == posted)
        edit = await cara.sees(lambda e: "m.new_content" in (e["content"] or {}))
        await cara.say(room, "are you back?")
        again = stage.bot()
        async with running(again, inbox):
            back = await said(inbox, "are you back?")
            late = await again.post(Destination(back.room), "I am", "k2")
            assert await again.find(Destination(back.room), "k", message.sent_at, ()) == posted
        answer = await cara.sees(lambda e: e["event_id"] == late)
    assert message.mentioned
    assert first["was_encrypted"]
    assert first["content"]["body"] == "**hi**"
    assert first["content"]["m.relates_to"]["rel_type"] == "m.thread"
    assert edit["content"]["m.new_content"]["body"] == "changed"
    assert (answer["was_encrypted"], answer["content"]["body"]) == (True, "I am")


async def test_a_key_that_comes_late_brings_its_message_also_after_a_restart(
    stage: Stage, inbox: Inbox
) -> None:
    async with NioPerson.open(stage.homeserver, "cara", stage.folder) as cara:
        async with running(stage.bot(), inbox):
            room = (await cara("create", invite=[stage.bot_id], name="secret", direct=False))[
                "room"
            ]
            await cara("comes", room=room, user=stage.bot_id)
            content = {"msgtype": "m.text", "body": "closed"}
            event_id = (await cara("send_before_key", room=room, content=content))["event_id"]
            async with asyncio.timeout(20):
                while event_id not in stage.waiting():
                    await asyncio.sleep(0.05)
        later = Inbox()
        async with running(stage.bot(), later):
            assert await cara("hand_over") == {"bodies": 1}
            message = await said(later, "closed")
            async with asyncio.timeout(20):
                while stage.waiting():
                    await asyncio.sleep(0.05)
    assert message.message_id == event_id
    assert not inbox.messages


async def test_who_joins_later_reads_what_is_said_from_then_on(stage: Stage, inbox: Inbox) -> None:
    async with (
        NioPerson.open(stage.homeserver, "cara", stage.folder) as cara,
        NioPerson.open(stage.homeserver, "dana", stage.folder) as dana,
    ):
        bot = stage.bot()
        async with running(bot, inbox):
            room = (await cara("create", invite=[stage.bot_id], name="secret", direct=False))[
                "room"
            ]
            await cara("comes", room=room, user=stage.bot_id)
            await cara.say(room, "one")
            place = Destination((await said(inbox, "one")).room)
            before = await bot.post(place, "before", "k1")
            await cara("invite", room=room, user=dana.user_id)
            await dana.sees(lambda e: e["room"] == room)
            await dana.say(room, "here I am")
            await said(inbox, "here I am")
            after = await bot.post(place, "after", "k2")
        unread = await dana.sees(lambda e: e["event_id"] == after)
        first = await cara.sees(lambda e: e["event_id"] == before)
    assert (unread["was_encrypted"], unread["content"]["body"]) == (True, "after")
    assert first["content"]["body"] == "before"


async def test_encrypted_files_come_in_and_go_out(stage: Stage, inbox: Inbox) -> None:
    async with NioPerson.open(stage.homeserver, "cara", stage.folder) as cara:
        bot = stage.bot()
        async with running(bot, inbox):
            room = await cara.room(stage.bot_id, name="", direct=True)
            await cara("upload", room=room, name="t.csv", text="a,b\n")
            (message, *_) = await inbox.kept(1)
            assert isinstance(message, Inbound)
            posted = await bot.upload(Destination(message.room), "answer.md", b"# long", "", "k")
        event = await cara.sees(lambda e: e["event_id"] == posted)
        assert await cara("download", file=event["content"]["file"]) == {"text": "# long"}
    (attachment,) = message.attachments
    assert attachment.path is not None
    assert Path(attachment.path).read_bytes() == b"a,b\n"
    assert message.room.kind == "dm"
    assert event["was_encrypted"]


async def test_30_kb_fit_an_encrypted_edit(stage: Stage, inbox: Inbox) -> None:
    async with NioPerson.open(stage.homeserver, "cara", stage.folder) as cara:
        bot = stage.bot()
        async with running(bot, inbox):
            room = (await cara("create", invite=[stage.bot_id], name="secret", direct=False))[
                "room"
            ]
            await cara("comes", room=room, user=stage.bot_id)
            await cara.say(room, "one")
            place = Destination((await said(inbox, "one")).room)
            code = "\n".join(f'    print("<{n}>\\t\\"quoted\\"", flush=True)' for n in range(700))
            pieces = bot.split(f"```python\n{code}\n```\n")
            for number, piece in enumerate(pieces):
                event_id = await bot.post(place, piece, f"k/{number}")
                await bot.edit(place, event_id, piece + "\nend")
        last = await cara.sees(
            lambda e: e["content"].get("m.new_content", {}).get("body") == pieces[-1] + "\nend"
        )
    assert last["was_encrypted"]


async def test_without_encryption_nothing_is_said_openly_in_a_closed_room(
    stage: Stage, inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    async with NioPerson.open(stage.homeserver, "cara", stage.folder) as cara:
        bot = stage.bot(encryption=False)
        async with running(bot, inbox):
            room = (await cara("create", invite=[stage.bot_id], name="secret", direct=False))[
                "room"
            ]
            await cara("comes", room=room, user=stage.bot_id)
            await cara.say(room, "one")
            with pytest.raises(PlatformError, match="encryption = true") as refused:
                await bot.post(Destination(Room(f"matrix:{room}", "secret")), "hi", "k")
            async with asyncio.timeout(20):
                while "can't read the encrypted room" not in caplog.text:
                    await asyncio.sleep(0.05)
    assert refused.value.outcome == "refused"
    assert not inbox.messages
