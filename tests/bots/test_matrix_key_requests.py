"""Room keys go between the account's own signed devices, and to no others."""

from __future__ import annotations

from tests.doubles.inbox import Inbox, running
from tests.doubles.matrix_person import ElementPerson, NioPerson
from tests.doubles.matrix_stage import Stage, said


async def test_a_key_that_is_missing_comes_from_another_device_of_the_account(
    stage: Stage, inbox: Inbox
) -> None:
    async with (
        NioPerson.open(stage.homeserver, "cara", stage.folder) as cara,
        running(stage.bot(), inbox),
    ):
        room = await cara.room(stage.bot_id)
        await cara.say(room, "hello")
        await said(inbox, "hello")
        recovery = stage.own("recovery-key").read_text().strip()
        async with ElementPerson.open(
            stage.homeserver, stage.name, stage.folder, recovery=recovery
        ) as other:
            await other("be_lenient")
            device = await other("own_device")
            await cara("sync")
            assert await cara("key_for", room=room, user=stage.bot_id, **device) == {"bodies": 1}
            await cara.say(room, "for one device")
            await said(inbox, "for one device")


async def test_a_signed_device_is_given_a_key_and_an_unsigned_one_is_not(
    stage: Stage, inbox: Inbox
) -> None:
    async with (
        ElementPerson.open(stage.homeserver, "ella", stage.folder) as ella,
        running(stage.bot(), inbox),
    ):
        room = await ella.room(stage.bot_id)
        event_id = await ella.say(room, "hello")
        await said(inbox, "hello")
        recovery = stage.own("recovery-key").read_text().strip()
        async with (
            NioPerson.open(
                stage.homeserver, stage.name, stage.folder / "unsigned", own="yes"
            ) as unsigned,
            ElementPerson.open(
                stage.homeserver, stage.name, stage.folder, recovery=recovery
            ) as signed,
        ):
            closed = (await stage.call("GET", f"/rooms/{room}/event/{event_id}"))["content"]
            await unsigned("ask_for_key", room=room, event=closed)
            opened = await signed.sees(
                lambda e: e["event_id"] == event_id and not e["failed"] and e["was_encrypted"]
            )
            await unsigned("sync")
            held = await unsigned("has_key", session=closed["session_id"])
    assert opened["content"]["body"] == "hello"
    assert held == {"held": False}
