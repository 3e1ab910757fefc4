"""A client that refuses unsigned devices talks with the bot: a real Synapse, Element's library."""

from __future__ import annotations

import asyncio

import pytest

from bots.matrix.check import Credentials
from bots.matrix.crypto.recovery import RecoveryKey
from bots.matrix.crypto.signing import SigningKey, is_signed
from contract.chat import Destination
from contract.errors import ConfigError
from tests.doubles.inbox import PATIENCE_S, Inbox, running, until
from tests.doubles.matrix_faults import Faults
from tests.doubles.matrix_person import ElementPerson
from tests.doubles.matrix_stage import Stage, said

NO_SHIELD = 0


async def test_a_client_that_refuses_unsigned_devices_talks_with_the_bot(
    stage: Stage, inbox: Inbox
) -> None:
    async with ElementPerson.open(stage.homeserver, "ella", stage.folder) as ella:
        bot = stage.bot()
        async with running(bot, inbox):
            room = await ella.room(stage.bot_id)
            await ella.say(room, "hello")
            message = await said(inbox, "hello")
            posted = await bot.post(Destination(message.room), "hi", "k")
            answer = await ella.sees(lambda e: e["event_id"] == posted and not e["failed"])
            shield = await ella("shield", room=room, event_id=posted)
            known = await ella("devices", user=stage.bot_id)
    assert (answer["was_encrypted"], answer["content"]["body"]) == (True, "hi")
    assert shield["colour"] == NO_SHIELD
    assert [device["signed"] for device in known["devices"].values()] == [True]
    assert await stage.bot().check() == []


async def signed(ella: ElementPerson, user: str, wanted: list[bool]) -> None:
    """Wait until somebody's devices are signed like that, in any order."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await ella("devices", user=user))["devices"]
            if sorted(device["signed"] for device in found.values()) == wanted:
                return
            await asyncio.sleep(0.1)


async def test_the_recovery_key_signs_the_next_device_too(stage: Stage, inbox: Inbox) -> None:
    async with ElementPerson.open(stage.homeserver, "ella", stage.folder) as ella:
        async with running(stage.bot(), inbox):
            room = await ella.room(stage.bot_id)
            await signed(ella, stage.bot_id, [True])
        key = stage.own("recovery-key")
        assert key.stat().st_mode & 0o777 == 0o600
        text = key.read_text()
        stage.lose()
        credentials = Credentials(user=stage.name, password="pass", recovery_key=text)
        async with running(stage.bot(credentials=credentials), inbox):
            await signed(ella, stage.bot_id, [True, True])
            await ella.say(room, "again")
            await said(inbox, "again")
        assert not key.exists()


async def test_without_the_recovery_key_a_new_device_stays_unsigned_and_check_says_so(
    stage: Stage, inbox: Inbox
) -> None:
    async with ElementPerson.open(stage.homeserver, "ella", stage.folder) as ella:
        async with running(stage.bot(), inbox):
            await ella.room(stage.bot_id)
            await signed(ella, stage.bot_id, [True])
        stage.lose()
        async with running(stage.bot(), inbox):
            await signed(ella, stage.bot_id, [False, True])
        (why,) = await stage.bot().check()
        other = str(RecoveryKey.new())
        credentials = Credentials(user=stage.name, password="pass", recovery_key=other)
        (wrong,) = await stage.bot(credentials=credentials).check()
        garbled = Credentials(user=stage.name, password="pass", recovery_key="EsTx 1234")
        with pytest.raises(ConfigError, match="MATRIX_RECOVERY_KEY: there is a slip") as refused:
            await stage.bot(credentials=garbled).check()
    assert "set MATRIX_RECOVERY_KEY to the account's recovery key" in why
    assert "doesn't open" in wrong
    assert "EsTx" not in str(refused.value)


async def test_the_password_is_given_where_the_homeserver_asks_for_it(
    stage: Stage, inbox: Inbox
) -> None:
    """Older homeservers want it for an account's first keys already."""
    where = "/keys/device_signing/upload$"
    async with (
        ElementPerson.open(stage.homeserver, "ella", stage.folder) as ella,
        Faults.open(stage.homeserver.url) as faults,
    ):
        faults.next("POST", where, "asks", 2)
        async with running(stage.bot(url=faults.url), inbox):
            await ella.room(stage.bot_id)
            await signed(ella, stage.bot_id, [True])
        assert len(faults.went_wrong) == 2
        budi = Credentials(token=stage.budi.token)
        faults.next("POST", where, "asks")
        stage.lose()
        async with running(stage.bot(url=faults.url, credentials=budi), Inbox()):
            await ella.room(stage.budi.user_id)
            await until(lambda: len(faults.went_wrong) == 3)
            await signed(ella, stage.budi.user_id, [False])


def test_a_recovery_key_is_written_and_read_as_other_clients_do() -> None:
    # The example of the specification: appendices, Cryptographic key representation.
    raw = bytes.fromhex("77076d0a7318a57d3c16c17251b26645c6c2f6929c0ab4ee9d1a1a0d5a8c1e5e")
    key = RecoveryKey(raw)
    assert RecoveryKey.parse(str(key)) == key
    assert RecoveryKey.parse(str(key).replace(" ", "") + "\n") == key
    assert str(key).startswith("EsT")
    assert raw.hex() not in repr(key)


@pytest.mark.parametrize("wrong", ["", "EsT0", "1" * 50, "EsT" * 30, "EsTc 5rr7 4Xjj pGWH"])
def test_a_recovery_key_with_a_slip_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="recovery key"):
        RecoveryKey.parse(wrong)


def test_a_secret_opens_with_its_key_and_its_name_alone() -> None:
    key = RecoveryKey.new()
    sealed = key.seal("m.one", "secret")
    assert key.open("m.one", sealed) == "secret"
    for other, name, body in (
        (RecoveryKey.new(), "m.one", sealed),
        (key, "m.two", sealed),
        (key, "m.one", sealed | {"mac": "AAAA"}),
        (key, "m.one", {}),
    ):
        with pytest.raises(ValueError, match=r"closed it|no secret"):
            other.open(name, body)
    assert key.fits(key.description())
    assert not RecoveryKey.new().fits(key.description())


def test_a_signature_holds_for_its_object_its_user_and_its_key_alone() -> None:
    key = SigningKey.new()
    body = key.sign({"b": 1, "a": "ü", "unsigned": {"x": 1}}, "@a:x")
    assert is_signed(body | {"unsigned": {"y": 2}}, "@a:x", key.public)
    assert not is_signed(body | {"b": 2}, "@a:x", key.public)
    assert not is_signed(body, "@b:x", key.public)
    assert not is_signed(body, "@a:x", SigningKey.new().public)
    assert not is_signed({}, "@a:x", key.public)
