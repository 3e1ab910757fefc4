"""Room keys outlive a device: a real Synapse, and Element's library as the judge."""

from __future__ import annotations

import asyncio

import pytest

from bots.matrix.check import Credentials
from bots.matrix.crypto.backup import BackupKey
from contract.chat import Destination
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.matrix_person import ElementPerson, NioPerson
from tests.doubles.matrix_stage import Stage, said


async def backed_up(stage: Stage, count: int) -> None:
    """Wait until the backup has so many sessions, by what the bot keeps of it."""
    async with asyncio.timeout(PATIENCE_S):
        path = stage.own("backed-up")
        while not path.exists() or len(path.read_text().splitlines()) < 1 + count:
            await asyncio.sleep(0.05)


async def test_a_new_device_reads_what_was_said_before(stage: Stage, inbox: Inbox) -> None:
    async with NioPerson.open(stage.homeserver, "cara", stage.folder) as cara:
        bot = stage.bot()
        async with running(bot, inbox):
            room = await cara.room(stage.bot_id)
            await cara.say(room, "hello")
            message = await said(inbox, "hello")
            posted = await bot.post(Destination(message.room), "hi", "k")
            await cara.say(room, "more")  # the next sync puts both keys there
            await said(inbox, "more")
            await backed_up(stage, 2)
        assert await stage.bot().check() == []
        key = stage.own("recovery-key").read_text()
        stage.lose()
        credentials = Credentials(user=stage.name, password="pass", recovery_key=key)
        later = stage.bot(credentials=credentials)
        async with running(later, Inbox()):
            await backed_up(stage, 2)
            place = Destination(message.room)
            assert await later.find(place, "k", message.sent_at, ()) == posted


async def test_another_client_of_the_account_trusts_the_backup_and_reads_from_it(
    stage: Stage, inbox: Inbox
) -> None:
    async with NioPerson.open(stage.homeserver, "cara", stage.folder) as cara:
        async with running(stage.bot(), inbox):
            room = await cara.room(stage.bot_id)
            event_id = await cara.say(room, "hello")
            await said(inbox, "hello")
            await backed_up(stage, 1)
        key = stage.own("recovery-key").read_text().strip()
        async with ElementPerson.open(
            stage.homeserver, stage.name, stage.folder, recovery=key
        ) as element:
            assert await element("restore") == {"total": 1, "imported": 1, "trusted": True}
            event = await element.sees(lambda e: e["event_id"] == event_id and not e["failed"])
    assert event["content"]["body"] == "hello"


async def test_a_backup_of_another_client_is_left_alone_and_check_says_so(
    stage: Stage, inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    async with NioPerson.open(stage.homeserver, "cara", stage.folder) as cara:
        async with running(stage.bot(), inbox):
            room = await cara.room(stage.bot_id)
        other = BackupKey.new().public
        await stage.call(
            "POST",
            "/room_keys/version",
            {
                "algorithm": "m.megolm_backup.v1.curve25519-aes-sha2",
                "auth_data": {"public_key": other, "signatures": {}},
            },
        )
        async with running(stage.bot(), inbox):
            await cara.say(room, "hello")
            await said(inbox, "hello")
        (line,) = await stage.bot().check()
        kept = await stage.call("GET", "/room_keys/version")
    assert "another client made the account's key backup" in line
    assert "keys.not_backed_up" in caplog.text
    assert (kept["auth_data"]["public_key"], kept["count"]) == (other, 0)


def test_a_room_key_opens_with_its_own_key_alone() -> None:
    key = BackupKey.new()
    sealed = key.seal({"session_key": "x"})
    assert key.open(sealed) == {"session_key": "x"}
    for other, body in (
        (BackupKey.new(), sealed),
        (key, sealed | {"mac": "AAAAAAAAAAA"}),
        (key, sealed | {"ephemeral": "AAAA"}),
        (key, {}),
    ):
        with pytest.raises(ValueError, match=r".+"):
            other.open(body)
